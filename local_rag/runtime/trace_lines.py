"""Events as the lines of --trace, which a run of an evaluation keeps, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local_rag.core.events import Called, Event, Retrieved, Step
from local_rag.core.usage import Call
from local_rag.core.verdicts import Graded
from local_rag.text.display import joined, plural, printable, short_path, shorten


def trace_line(event: Event) -> str:
    """One line of --trace, empty for events that it leaves out."""
    if isinstance(event, Step):
        return f"  {event.node}: {event.seconds:.2f} s"
    if isinstance(event, Called):
        return f"    {call_line(event.call)}"
    if isinstance(event, Retrieved):
        return f"    {retrieved_line(event)}"
    if isinstance(event, Graded):
        of = " of 5, score" if event.kind == "usefulness" and event.score is not None else ""
        score = f"{of} {event.score:.2f}" if event.score is not None else ""
        passage = f" {short_path(event.source)} ({event.chunk_id[:6]})" if event.chunk_id else ""
        why = f" ({printable(event.why)})" if event.why else ""
        return f"    {event.kind}{passage}: {printable(event.verdict)}{score}{why}"
    return ""


def retrieved_line(event: Retrieved) -> str:
    """What a query brought: each passage by its file, the beginning of its id, and its similarity."""
    passages = joined(_passage(document.metadata) for document in event.documents)
    count = plural(len(event.documents), "passage")
    return f'{count} for "{printable(shorten(event.query, 200))}"{f": {passages}" if passages else ""}'


def _passage(metadata: Mapping[str, Any]) -> str:
    score = f" {metadata['score']:.2f}" if metadata.get("score") is not None else ""
    location = printable(metadata.get("url") or short_path(str(metadata.get("source", ""))))
    return f"{location} ({str(metadata.get('chunk_id', ''))[:6]}){score}"


def call_line(call: Call) -> str:
    """One call to a language model: who was asked, tokens read and written, and where the time went."""
    again = ", asked again" if call.retry else ""
    load = f", {call.load_seconds:.1f} s loading the model" if call.loaded else ""
    times = f"{call.seconds:.2f} s ({call.prompt_seconds:.2f} reading, {call.output_seconds:.2f} writing{load})"
    return f"{call.role} {call.model}: {call.prompt_tokens:,} + {call.output_tokens:,} tokens, {times}{again}"
