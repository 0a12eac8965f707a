"""Write generated parts of docs/: diagrams of graphs, tables of commands and settings, and both APIs."""

from __future__ import annotations

import inspect
import re
from functools import cache, cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"(<!-- generated: (?P<what>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def updated(text: str) -> str:
    """Return the text with every generated block made anew."""
    return BLOCK.sub(lambda block: f"{block.group(1)}{generated(block.group('what'))}\n{block.group(3)}", text)


def generated(what: str) -> str:
    """Return the content of one block: "graph NAME", or the name of a table."""
    tables = {
        "commands": commands_table,
        "settings": settings_table,
        "profiles": profiles_table,
        "api": api_table,
        "errors": errors_table,
        "python": python_reference,
    }
    if what in tables:
        return tables[what]()
    from local_rag.graphs.drawing import drawing

    return f"```mermaid\n{drawing(what.removeprefix('graph ')).mermaid()}\n```"


@cache
def commands() -> dict[str, Any]:
    """Return every command by its words after local-rag: "" for the program, "eval" for a group, "eval run"."""
    import typer

    from local_rag.cli.app import app

    program = typer.main.get_command(app)
    known: dict[str, Any] = {"": program}
    for name, command in getattr(program, "commands", {}).items():
        known[name] = command
        known |= {f"{name} {below}": inner for below, inner in getattr(command, "commands", {}).items()}
    return known


def commands_table() -> str:
    """Return every command with the first sentence of its help, as a Markdown table."""
    rows = [f"| `local-rag {name}` | {first_line(command.help)} |" for name, command in commands().items() if name]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def settings_table() -> str:
    """Return every setting with its default and its meaning, as a Markdown table."""
    from local_rag.config.settings import Settings, names
    from local_rag.config.values import Values

    defaults = Settings(Values(), {}, Path(), Path(), Path())
    rows = [f"| `{name}` | {cell(defaults.get(name))} | {meaning} |" for name, meaning in names().items()]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def profiles_table() -> str:
    """Return every profile of models.yaml with its model, as a Markdown table."""
    from local_rag.config.models import load_models
    from local_rag.config.settings import Settings
    from local_rag.config.values import Values

    models = load_models(Settings(Values(), {}, Path(), Path(), Path()))
    rows = [
        f"| `{name}` | `{profile.model}` | {models.spec(profile.model).download:g} GB | {profile.num_ctx:,} tokens |"
        for name, profile in models.profiles.items()
    ]
    return "\n".join(["| profile | model | download | window |", "|---|---|---|---|", *rows])


def api_table() -> str:
    """Return every endpoint of the API by its path, as a Markdown table; `?` marks optional values."""
    from local_rag.server.app import application

    document = application().openapi()
    lines = ["| | takes | what |", "|---|---|---|"]
    for path, methods in sorted(document["paths"].items()):
        for method, about in methods.items():
            taken = ", ".join(parameters(about, document))
            lines.append(f"| `{method.upper()} {path}` | {taken} | {first_line(about['description'])} |")
    return "\n".join(lines)


def parameters(about: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Return the names of the values that a client sends, besides the path."""
    given = {each["name"]: each["required"] for each in about.get("parameters", ()) if each["in"] == "query"}
    if "requestBody" in about:
        name = about["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        body = document["components"]["schemas"][name]
        given |= {each: each in body.get("required", ()) for each in body["properties"]}
    return [
        f"`{name}`" if required else f"`{name}?`"
        for name, required in sorted(given.items(), key=lambda each: not each[1])
    ]


def first_line(text: str) -> str:
    """Return the first paragraph of a description, for a cell of a table."""
    line = text.partition("\n\n")[0].replace("\n", " ").removesuffix(".")
    return line[:1].lower() + line[1:]


def errors_table() -> str:
    """Return every error code that does not come from the server itself, as a Markdown table."""
    from local_rag.core import errors
    from local_rag.server.errors import STATUS

    tree = inspect.getdoc(errors) or ""
    meaning = {name: text for name, text in re.findall(r"(\w+) +(?:exit \d+|-) +(.+)", tree)}
    rows = [f"| `{code}` | {status} | {meaning.get(kind.__name__, '')} |" for kind, (code, status) in STATUS.items()]
    return "\n".join(["| code | HTTP status | meaning |", "|---|---|---|", *rows])


def python_reference() -> str:
    """Return a section for each public name of the package: its docstring, its fields, and a table of its members."""
    import local_rag

    return "\n\n".join(python_section(name, getattr(local_rag, name)) for name in local_rag.__all__)


def python_section(name: str, thing: Any) -> str:
    """Return the section of one public name."""
    if not inspect.isclass(thing):
        return f"## {name}\n\n`{name}({arguments(thing)})`\n\n{inspect.getdoc(thing)}"
    own: dict[str, Any] = {}
    for base in reversed(thing.__mro__):
        if base.__module__.startswith("local_rag"):
            own |= vars(base)
    fields = [each for each in own.get("__annotations__", ()) if not each.startswith("_")]
    rows = []
    for each, member in own.items():
        if each.startswith("_") or each in fields or not inspect.getdoc(member):
            continue
        if isinstance(member, (property, cached_property)):
            rows.append(f"| `{each}` | {first_line(inspect.getdoc(member) or '')} |")
        elif isinstance(member, (classmethod, staticmethod)) or inspect.isfunction(member):
            rows.append(f"| `{each}({arguments(getattr(thing, each))})` | {first_line(inspect.getdoc(member) or '')} |")
    parts = [f"## {name}", inspect.getdoc(thing) or ""]
    parts += ["Fields: " + ", ".join(f"`{each}`" for each in fields) + "."] if fields else []
    parts += ["\n".join(["| member | what |", "|---|---|", *rows])] if rows else []
    return "\n\n".join(parts)


def arguments(function: Any) -> str:
    """Return what a function takes, separated by commas; `?` marks what may be left out, as in the table of the API."""
    names = []
    for each in inspect.signature(function).parameters.values():
        if each.kind is each.VAR_KEYWORD:
            options = re.fullmatch(r"Unpack\[(?!Flags)(\w+)\]", each.annotation)  # flags are the settings
            known = function.__globals__[options.group(1)].__annotations__ if options else ()
            names += [f"{option}?" for option in known] or [f"**{each.name}"]
        elif each.name != "self":
            star = "*" if each.kind is each.VAR_POSITIONAL else ""
            names.append(f"{star}{each.name}" + ("" if each.default is each.empty or star else "?"))
    return ", ".join(names)


def cell(value: object) -> str:
    """Return a default as it is written in config.yaml, or "" if it is empty."""
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


if __name__ == "__main__":
    main()
