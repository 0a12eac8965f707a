"""How long chats and traces are kept: `threads.keep_days` and `traces.keep_days`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from local_rag.config.settings import Settings
from local_rag.runtime.written import forget_deleted, written
from local_rag.text.display import joined, plural

BEGINS = b'{"event": "asked"'
"""How every trace begins; whatever else lies under its name is not ours to delete."""


def delete_old(settings: Settings) -> Iterator[str]:
    """Delete the chats and traces that are older than the settings keep them; a line for each kind of what went."""
    values = settings.values
    if values.threads.keep_days and (gone := _old_chats(settings, _begin(values.threads.keep_days))):
        yield (
            f"deleted {plural(len(gone), 'chat')} not used for {plural(values.threads.keep_days, 'day')} "
            f"(threads.keep_days): {joined(gone)}"
        )
    if values.traces.keep_days and (count := _old_traces(settings, _begin(values.traces.keep_days))):
        yield f"deleted {plural(count, 'trace')} older than {plural(values.traces.keep_days, 'day')} (traces.keep_days)"


def delete_trace(path: Path) -> bool:
    """Delete a trace; False for what is no trace (any more), which stays."""
    with suppress(OSError):
        if is_trace(path):
            path.unlink()
            return True
    return False


def is_trace(path: Path) -> bool:
    """Whether a trace lies there: a regular file that begins like one, or is still empty. Raises OSError."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(BEGINS)) in (BEGINS, b"")


def _begin(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def _old_chats(settings: Settings, begin: datetime) -> list[str]:
    folder = settings.data_folder
    if not (folder / "threads.sqlite").exists():
        return []
    from local_rag.graphs.threads import Threads

    with Threads.open(folder) as threads:
        old = [thread.name for thread in threads.list() if datetime.fromisoformat(thread.at) < begin]
        for name in old:
            threads.delete(name)
    return sorted(old)


def _old_traces(settings: Settings, begin: datetime) -> int:
    count = 0
    for entry in written(settings.data_folder):
        path = Path(entry.path)
        with suppress(OSError):
            if entry.kind == "trace" and path.stat().st_mtime < begin.timestamp():
                count += delete_trace(path)
    if count:
        forget_deleted(settings.data_folder)
    return count
