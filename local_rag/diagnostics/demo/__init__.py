"""`local-rag demo`: the whole way in one command, on a handbook that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMismatch, IndexMissing, UsageError
from local_rag.index.index import Index
from local_rag.runtime.indexing import Request, sync
from local_rag.runtime.rag import Rag, open_embedder, open_index
from local_rag.terminal.live import Live, say_engine
from local_rag.terminal.progress import TerminalDisplay
from local_rag.terminal.show import answer_lines, report_lines, write

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.core.documents import SyncReport

DOCUMENTS = Path(__file__).parent / "documents"
INDEX = "demo"
CASES = Path(__file__).parent / "cases.jsonl"

ANSWERED = "What does CRAG do when every retrieved document is irrelevant?"
NOT_ANSWERED = "What is the notice period in my rental contract?"
"""The first question is answered by the handbook, the second is not."""


def run_demo(console: Console) -> int:
    """Index the handbook and ask the two questions; 0 if one is answered and the other is not."""
    import sys

    _command(f"local-rag index {_short(DOCUMENTS)} --index {INDEX}")
    settings = Settings.load(index=INDEX, web__enabled="off")
    report = indexed(settings, console)
    for line in report_lines(report):
        write(line)
    statuses = []
    with Rag.open(settings) as rag:
        say_engine(console, rag)
        for question in (ANSWERED, NOT_ANSWERED):
            _command(f'local-rag ask "{question}" --index {INDEX}')
            answer = Live(console).follow(rag.stream(question))
            statuses.append(answer.status)
            for line in answer_lines(answer, links=sys.stdout.isatty()):
                write(line)
    return 0 if statuses == ["grounded", "abstained"] else 1


def indexed(settings: Settings, console: Console) -> SyncReport:
    """Index the handbook, or bring its index up to date; `settings` must name the index `INDEX`."""
    _make_room(settings)
    with open_index(settings, open_embedder(settings, TerminalDisplay(console)), create=True) as index:
        return sync(index, Request([DOCUMENTS]), TerminalDisplay(console))


def _make_room(settings: Settings) -> None:
    """An older demo's index is made anew where its model or passages differ; one of other files is left alone."""
    try:
        roots = Index.inspect(settings.index_path).roots
        if set(roots) - {str(DOCUMENTS.resolve())}:
            raise UsageError(
                f"the index '{INDEX}' holds other files, so the demo cannot use that name",
                hint=f"local-rag remove --index {INDEX}",
            )
        open_index(settings).close()
    except IndexMissing:
        return
    except IndexMismatch:
        Index.destroy(settings.index_path)


def _command(line: str) -> None:
    write()
    write(f"$ {line}")


def _short(path: Path) -> str:
    from local_rag.text.display import short_path

    return short_path(path)
