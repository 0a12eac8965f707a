"""What handlers return, as responses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio.to_thread
from starlette.responses import JSONResponse, Response

from local_rag.core.reasons import reason_of
from local_rag.core.serialization import to_plain
from local_rag.index.sync.read import open_regular
from local_rag.server.endpoints import File, SignedIn
from local_rag.server.errors import NotFound
from local_rag.server.sse import while_connected

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from local_rag.server.sessions import Sessions

CHUNK = 1 << 16
"""Bytes of a file that are sent at once."""


def response_of(value: Any, sessions: Sessions) -> Response:
    """The response with a value: a file, the cookie of a session, or else JSON. Raises NotFound."""
    if isinstance(value, File):
        return _file(value)
    if isinstance(value, SignedIn):
        response = JSONResponse({"signed_in": bool(value.session)})
        if value.session:
            response.set_cookie(sessions.cookie, value.session, httponly=True, samesite="strict")
        else:
            response.delete_cookie(sessions.cookie, httponly=True, samesite="strict")
        return response
    return JSONResponse(to_plain(value))


def _file(file: File) -> Response:
    how = "inline" if file.inline else "attachment"
    headers = {"Content-Disposition": f"{how}; filename*=UTF-8''{quote(file.name, safe='')}" if file.name else how}
    if file.policy:
        headers["Content-Security-Policy"] = file.policy
    if isinstance(file.content, bytes):
        return Response(file.content, media_type=file.media_type, headers=headers)
    return OpenFile(file.content, media_type=file.media_type, headers=headers)


class OpenFile(Response):
    """A file of this machine, opened now: what happens to its name until it is sent does not matter.

    Raises NotFound for what is gone, is a link, or is no regular file.
    """

    def __init__(self, path: Path, media_type: str, headers: Mapping[str, str]) -> None:
        try:
            self._file = open_regular(path)
        except OSError as error:
            raise NotFound(f"the file cannot be opened any more ({reason_of(error)})") from error
        self._size = os.fstat(self._file.fileno()).st_size
        super().__init__(media_type=media_type, headers={**headers, "Content-Length": str(self._size)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            async with while_connected(receive):
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                left = self._size
                while chunk := await anyio.to_thread.run_sync(self._file.read, min(left, CHUNK)):
                    left -= len(chunk)
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
