"""An index of which passages wait for their vectors: what measures it, or carries it away, refuses it or says so."""

from __future__ import annotations

import shlex

from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.index.catalog import IndexStatus
from local_rag.text.display import plural


def part_embedded(settings: Settings, status: IndexStatus, why: str, *, partial: bool) -> str:
    """How much of an index is embedded, "12,400 of 56,000 passages embedded"; "" where all of it is.

    `why` says what that would spoil. Raises UsageError with the command that embeds the rest, unless `partial`.
    """
    if status.embedded >= status.chunks:
        return ""
    part = f"{status.embedded:,} of {plural(status.chunks, 'passage')} embedded"
    if partial:
        return part
    name = status.path.name if status.path.parent == settings.data_folder / "indexes" else str(status.path)
    index = "" if name == "default" else f" --index {shlex.quote(name)}"
    raise UsageError(
        f"the index {name} has only {part}, {why}",
        hint=f"local-rag index --embed-only{index}   or the same command with --partial",
    )
