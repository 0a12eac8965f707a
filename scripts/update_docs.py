"""Write what the code says of itself into README.md and docs/: diagrams of graphs, the help of commands, the API.

Also the OpenAPI document of the server, docs/openapi.json.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
OPENAPI = ROOT / "docs" / "openapi.json"
BLOCK = re.compile(r"(<!-- generated: (?P<what>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def updated(text: str) -> str:
    """The text with every generated block made anew."""
    return BLOCK.sub(lambda block: f"{block.group(1)}{generated(block.group('what'))}\n{block.group(3)}", text)


def generated(what: str) -> str:
    """The content of one block: "graph NAME", "help COMMAND", "settings", "api" or "errors"."""
    kind, _, name = what.partition(" ")
    tables = {"settings": settings_table, "api": api_table, "errors": errors_table}
    if kind in tables:
        return tables[kind]()
    if kind == "graph":
        from local_rag.graphs.drawing import mermaid_drawing

        return f"```mermaid\n{mermaid_drawing(name)}\n```"
    return f"```text\n{help_text(name)}\n```"


@cache
def commands() -> dict[str, Any]:
    """Every command by what is typed after local-rag: "" for the program itself, "eval" for a group, "eval run"."""
    import typer

    from local_rag.cli.app import app

    program = typer.main.get_command(app)
    known: dict[str, Any] = {"": program}
    for name, command in getattr(program, "commands", {}).items():
        known[name] = command
        known |= {f"{name} {below}": inner for below, inner in getattr(command, "commands", {}).items()}
    return known


def help_text(name: str) -> str:
    """What a command prints with --help in a terminal of 80 columns."""
    path = f"local-rag {name}".strip()
    context = commands()[name].make_context(path, [], resilient_parsing=True, terminal_width=78)
    return str(context.get_help()).strip()


def settings_table() -> str:
    """Every setting with its default and its meaning, as a Markdown table."""
    from local_rag.config.settings import Settings, names
    from local_rag.config.values import Values

    defaults = Settings(Values(), {}, Path(), Path(), Path())
    rows = [f"| `{name}` | {cell(defaults.get(name))} | {meaning} |" for name, meaning in names().items()]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def api_table() -> str:
    """Every endpoint of the API by its path, as a Markdown table."""
    from local_rag.server.app import endpoints

    lines = ["| | who | takes | what |", "|---|---|---|---|"]
    for endpoint in sorted(endpoints(), key=lambda endpoint: endpoint.path):
        if not endpoint.path.startswith("/api/"):
            continue
        who = {"both": "page, key", "session": "page", "open": "anybody"}[endpoint.access]
        taken = ", ".join(f"`{field}`" for field in parameters(endpoint)) or ""
        lines.append(f"| `{endpoint.method} {endpoint.path}` | {who} | {taken} | {endpoint.summary} |")
    return "\n".join(lines)


def parameters(endpoint: Any) -> list[str]:
    """The names of what a client gives besides the path; `?` marks what may be left out."""
    from local_rag.server.endpoints import FROM_GUARD

    fields = endpoint.request.model_fields.items()
    in_path = re.findall(r"{(\w+)", endpoint.path)
    return [
        name if field.is_required() else f"{name}?" for name, field in fields if name not in (*FROM_GUARD, *in_path)
    ]


def errors_table() -> str:
    """Every code of an error that comes from below the server, as a Markdown table."""
    from local_rag.server.openapi import error_codes

    rows = [f"| `{code}` | {status} | {meaning} |" for code, status, meaning in error_codes()]
    return "\n".join(["| code | HTTP status | meaning |", "|---|---|---|", *rows])


def openapi_text() -> str:
    """The OpenAPI document of the server, as docs/openapi.json holds it."""
    from local_rag.server.openapi import document

    return f"{json.dumps(document(), indent=1, sort_keys=True)}\n"


def cell(value: object) -> str:
    """A default as it is written in config.yaml; nothing where it is empty."""
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str("" if value is None else value)
    text = text.lower() if isinstance(value, bool) else text
    return f"`{text}`" if text else ""


def main() -> None:
    """Write each page that has changed."""
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = updated(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
    OPENAPI.write_text(openapi_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
