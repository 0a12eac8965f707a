"""The body of a response, decompressed as it comes, within limits."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from local_rag.core.errors import LocalRagError
from local_rag.text.display import printable, shorten

_STEP = 1 << 20
"""Bytes unpacked at a time, and from where on the ratio counts: a small page may well be all repetition."""


class FetchRefused(LocalRagError):
    """A page is not read; the message is the reason in one line, and the question goes on without the page."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`seconds` for everything, redirects included; `bytes` as sent, `unpacked` once decompressed.

    `ratio` is the most that a page may grow by decompression, from its second megabyte on.
    """

    seconds: float = 10.0
    bytes: int = 5_000_000
    unpacked: int = 20_000_000
    ratio: int = 100
    redirects: int = 5


class Unpacker:
    """Puts a body together, `identity`, `gzip` or `deflate`, and never holds more than the limits allow."""

    def __init__(self, encoding: str, limits: FetchLimits, host: str) -> None:
        names = {name.strip().lower() for name in encoding.split(",")} - {"", "identity"}
        if not names <= {"gzip", "x-gzip", "deflate"} or len(encoding.split(",")) > 1:
            raise FetchRefused(f"{host} sends its page as {shorten(printable(encoding), 40)}, which is not read")
        self.sent = 0
        self.too_much = FetchRefused(f"{host} sends more than {megabytes(limits.bytes)}")
        self._limits, self._host = limits, host
        self._parts: list[bytes] = []
        self._size = 0
        self._packed, self._head = bool(names), b""
        self._stream: Any = None

    def feed(self, chunk: bytes) -> None:
        """The next part as it was sent. Raises FetchRefused as soon as a limit is passed."""
        if self.sent + len(chunk) > self._limits.bytes:
            raise self.too_much
        self.sent += len(chunk)
        if not self._packed:
            self._keep(chunk)
            return
        if self._stream is None:
            self._head += chunk
            if len(self._head) < 2:
                return
            self._stream, chunk = zlib.decompressobj(_window(self._head)), self._head
        try:
            while chunk and not self._stream.eof:
                self._keep(self._stream.decompress(chunk, _STEP))
                chunk = self._stream.unconsumed_tail
        except zlib.error as error:
            raise FetchRefused(f"{self._host} sends a damaged page") from error

    def whole(self) -> bytes:
        """Everything. Raises FetchRefused if the end of a compressed body is missing."""
        if self.sent and self._packed:
            if self._stream is None:
                raise FetchRefused(f"{self._host} sends a damaged page")
            while not self._stream.eof and (rest := self._stream.decompress(self._stream.unconsumed_tail, _STEP)):
                self._keep(rest)  # output that a full step held back
            if not self._stream.eof:
                raise FetchRefused(f"{self._host} sends a damaged page")
        return b"".join(self._parts)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limits.unpacked:
            raise FetchRefused(f"{self._host} sends a page of more than {megabytes(self._limits.unpacked)}")
        if self._packed and self._size > max(_STEP, self._limits.ratio * self.sent):
            raise FetchRefused(f"{self._host} sends a page that grows more than {self._limits.ratio} times")
        self._parts.append(part)


def _window(head: bytes) -> int:
    """The `wbits` of zlib: gzip, deflate as it is specified, or deflate without its header, as some servers send it."""
    has_header = head[:2] == b"\x1f\x8b" or (head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0)
    return zlib.MAX_WBITS | 32 if has_header else -zlib.MAX_WBITS


def megabytes(count: int) -> str:
    """Bytes as a person set them."""
    return f"{count / 1_000_000:g} MB"
