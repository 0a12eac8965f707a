"""What a question did, one JSON line per event, with the state of the graph after each node.

Every line has `event`, the kind, and `at`, the seconds since the question was asked; the rest are the fields of that
event in `types`. The first line of a question is `asked`. A passage is written as chunk_id, source, page, heading,
start, end, score, origin and text. The last line is `done`, or `ended` where there is no answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from typing import Any

from local_rag.core.errors import LocalRagError, Stopped
from local_rag.core.events import Done, Event, Step
from local_rag.core.serialization import to_plain

Line = dict[str, Any]

BEGINS = b'{"event": "asked"'
"""How every trace begins; whatever else lies under its name is not ours to delete."""

PASSAGE = ("chunk_id", "source", "page", "heading", "start", "end", "score", "origin")
ADDRESS = ("title", "url", "fallback_corpus")


def follow(
    events: Iterator[Event],
    write: Callable[[Line], None],
    details: Mapping[str, Any],
    data_of: Callable[[Event], Line | None] = lambda event: event_data(event),
) -> Generator[Event, None, None]:
    """The same events, each handed to `write` first; the first line is `asked` with the details.

    A question that ends without an answer ends in the line `ended`, which says whether it was stopped or failed.
    Events of which `data_of` gives None are left out.
    """
    started, answered = time.monotonic(), False
    write({"event": "asked", "at": 0.0} | to_plain(details))
    try:
        for event in events:
            if (data := data_of(event)) is not None:
                write({"event": kind(event), "at": round(time.monotonic() - started, 4)} | data)
            answered = isinstance(event, Done)
            yield event
    except BaseException as error:
        if not answered:
            with suppress(LocalRagError):
                write({"event": "ended", "at": round(time.monotonic() - started, 4)} | _ending(error))
        raise
    finally:
        if isinstance(events, Generator):
            events.close()


def _ending(error: BaseException) -> Line:
    if isinstance(error, GeneratorExit | KeyboardInterrupt) or type(error) is Stopped:
        return {"how": "stopped"}
    return {"how": "failed", "error": str(error) or type(error).__name__, "hint": getattr(error, "hint", "")}


def kind(event: Event) -> str:
    """The name of an event: WebQuery is web_query."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def event_data(event: Event, *, texts: bool = True) -> Line:
    """The fields of an event as JSON knows them; those of the answer are its own."""
    data: Line = shortened(to_plain(event), texts=texts)
    if isinstance(event, Step):
        data["state"] = dict(sorted(data["state"].items()))
    return data


def shortened(value: Any, *, texts: bool = True) -> Any:
    """Plain values with every LangChain document in them as a passage of the trace.

    Without `texts` its text is left out; a page of the web, or of a fallback corpus, has title and address then.
    """
    if isinstance(value, list):
        return [shortened(item, texts=texts) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "Document":
        metadata = value["metadata"]
        of_index = {"index": metadata["index"]} if metadata.get("index") else {}
        if texts:
            return {name: metadata.get(name) for name in PASSAGE} | of_index | {"text": value["page_content"]}
        address = {name: metadata[name] for name in ADDRESS if metadata.get("url") and metadata.get(name)}
        return {name: metadata.get(name) for name in PASSAGE} | of_index | address
    return {key: shortened(item, texts=texts) for key, item in value.items()}
