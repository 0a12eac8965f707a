"""`local-rag demo`: the whole way in one command, on a handbook that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config import Settings
from local_rag.indexing import sync
from local_rag.rag import Rag, open_index
from local_rag.show import Live, answer_lines, report_lines, write

if TYPE_CHECKING:
    from rich.console import Console

DOCUMENTS = Path(__file__).parent / "documents"
INDEX = "demo"

ANSWERED = "What does CRAG do when every retrieved document is irrelevant?"
NOT_ANSWERED = "What is the notice period in my rental contract?"
"""The first question is answered by the handbook, the second is not."""


def run_demo(console: Console) -> int:
    """Index the handbook and ask the two questions; 0 if one is answered and the other is not."""
    import sys

    settings = Settings.load(index=INDEX)
    _command(f"local-rag index {_short(DOCUMENTS)} --index {INDEX}")
    with open_index(settings, create=True) as index:
        report = sync(index, [DOCUMENTS], console)
    for line in report_lines(report):
        write(line)
    statuses = []
    with Rag.open(settings) as rag:
        console.print(f"engine: {rag.engine.describe}", style="dim", markup=False, highlight=False, soft_wrap=True)
        for question in (ANSWERED, NOT_ANSWERED):
            _command(f'local-rag ask "{question}" --index {INDEX}')
            answer = Live(console).follow(rag.stream(question))
            statuses.append(answer.status)
            for line in answer_lines(answer, links=sys.stdout.isatty()):
                write(line)
    return 0 if statuses == ["grounded", "abstained"] else 1


def _command(line: str) -> None:
    write()
    write(f"$ {line}")


def _short(path: Path) -> str:
    from local_rag.show import short_path

    return short_path(path)
