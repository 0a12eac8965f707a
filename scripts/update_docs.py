"""Write what the code says of itself into README.md and docs/: the diagrams of the graphs and the help of commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(r"(<!-- generated: (?P<what>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def updated(text: str) -> str:
    """The text with every generated block made anew."""
    return BLOCK.sub(lambda block: f"{block.group(1)}{generated(block.group('what'))}\n{block.group(3)}", text)


def generated(what: str) -> str:
    """The content of one block: "graph NAME" or "help COMMAND"."""
    kind, _, name = what.partition(" ")
    if kind == "graph":
        from local_rag.graphs.drawing import mermaid_drawing

        return f"```mermaid\n{mermaid_drawing(name)}\n```"
    command = [sys.executable, "-m", "local_rag", *name.split(), "--help"]
    environment = os.environ | {"COLUMNS": "100", "TERMINAL_WIDTH": "100"}
    help_text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    return f"```text\n{help_text.strip()}\n```"


def main() -> None:
    """Write each page that has changed."""
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = updated(old)
        if new != old:
            page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
