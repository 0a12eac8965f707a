"""Send values, files and the events of jobs; all JSON is written here, without control characters."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict

from local_rag.config.values import Names
from local_rag.core.documents import CONDITIONS, Narrowing
from local_rag.core.errors import NotFound, reason_of
from local_rag.core.serialization import to_json, to_plain
from local_rag.index.sync.read import open_regular
from local_rag.server.answers import short
from local_rag.server.auth import Limits
from local_rag.server.jobs import Job
from local_rag.text.display import printable

CHUNK = 1 << 16
"""The number of bytes of a file that are sent at once."""


class Body(BaseModel):
    """Hold the JSON object of a POST; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Narrowed(Body):
    """Narrow a question to documents by files, folders or globs, dates (ISO 8601), kinds of files, and authors.

    The fields are the `CONDITIONS`, written out for mypy and the document of the API. A list may be a text with commas.
    """

    within: Names = ()
    after: str = ""
    before: str = ""
    types: Names = ()
    authors: Names = ()

    @property
    def narrowing(self) -> Narrowing:
        return Narrowing(**{name: getattr(self, name) for name in CONDITIONS})


class Json(JSONResponse):
    """Send a value as JSON without control characters and bidirectional overrides, which files and models may hold."""

    def render(self, content: Any) -> bytes:
        return harmless_json(content).encode("utf-8", "replace")


def harmless_json(value: Any) -> str:
    return to_json(harmless(to_plain(value)), indent=None)


def harmless(value: Any) -> Any:
    """Remove control characters and bidirectional overrides from all strings of plain values."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {name: harmless(item) for name, item in value.items()}
    return [harmless(item) for item in value] if isinstance(value, list) else value


def file_headers(name: str, *, inline: bool = False, policy: str = "") -> dict[str, str]:
    """Return the headers of a file: whether a browser shows or saves it, and a policy for a file shown by itself."""
    how = "inline" if inline else "attachment"
    headers = {"Content-Disposition": f"{how}; filename*=UTF-8''{quote(name, safe='')}"}
    return headers | ({"Content-Security-Policy": policy} if policy else {})


def file_response(path: Path, media_type: str, headers: dict[str, str]) -> Response:
    """Send a file of this machine, which is opened at once, so that renaming it meanwhile does not matter.

    Raise NotFound for a file that is gone, a link, or anything but a regular file.
    """
    try:
        file = open_regular(path)
    except OSError as error:
        raise NotFound(f"the file cannot be opened any more ({reason_of(error)})") from error
    size = os.fstat(file.fileno()).st_size

    def chunks() -> Iterator[bytes]:
        left = size
        with file:
            while chunk := file.read(min(left, CHUNK)):
                left -= len(chunk)
                yield chunk

    return StreamingResponse(chunks(), media_type=media_type, headers={**headers, "Content-Length": str(size)})


def event_stream(job: Job, heartbeat: float, *, detail: bool = False) -> Response:
    """Send the events of a job as Server-Sent Events (WHATWG HTML, section 9.2), with comments while none comes."""

    async def lines() -> AsyncIterator[bytes]:
        async for event in job.follow(heartbeat):
            if event is None:
                yield b": still here\n\n"
            else:
                name, value = event
                data = harmless_json(short(value) if name == "answer" and not detail else value)
                yield f"event: {name}\ndata: {data}\n\n".encode("utf-8", "replace")

    return StreamingResponse(lines(), media_type="text/event-stream")


async def job_response(begin: Callable[[], Job], limits: Limits, *, stream: bool, detail: bool = False) -> Response:
    """Begin a job on a thread, and send its events, or without `stream` only its result when it has ended.

    Raise the error with which the job failed.
    """
    job = await asyncio.to_thread(begin)
    if stream:
        return event_stream(job, limits.heartbeat, detail=detail)
    async for _ in job.follow(limits.heartbeat):
        pass
    if job.failure is not None:
        raise job.failure
    name, value = job.events[-1]
    return Json(short(value) if name == "answer" and not detail else value)
