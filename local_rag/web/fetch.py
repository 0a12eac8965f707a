"""Fetch one page from the public web, which may be hostile.

A name is looked up once per request, every address of it is checked, and the connection goes to a checked address: no
second look-up can return another. Each redirect is a new request. Nothing is kept between requests: no cookies, no
referrer, no connection.
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.cancel import Connection
from local_rag.core.errors import FileSkipped
from local_rag.text.display import printable, shorten
from local_rag.web.addresses import Address, public_addresses

if TYPE_CHECKING:
    import httpx

Addresses = Callable[[str, int], Sequence[Address]]
"""A function of host and port that returns the permitted addresses; it raises FileSkipped if there are none."""

KINDS = {"text/html": ".html", "application/xhtml+xml": ".xhtml", "text/plain": ".txt", "text/markdown": ".md"}
"""The content types that are read, with the suffix of such a file."""

HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; local-rag)",
    "Accept": "text/html, application/xhtml+xml, text/plain;q=0.9",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}
"""The only headers besides Host, which tell nothing about the person or the purpose."""

SENT, UNPACKED = 5_000_000, 20_000_000
"""The maximum bytes of a page as sent, and decompressed."""

REDIRECTS = 5
TRIED = 3
"""The maximum number of addresses of one host to try; they share the time."""

_POLL = 0.05
"""Seconds between checks for a stop."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """Hold the page of the last `url`; `charset` is the unchecked value of the header, or empty."""

    url: str
    kind: str
    charset: str
    body: bytes


def fetch(url: str, seconds: float, addresses: Addresses = public_addresses) -> FetchedPage:
    """Return the page at `url`, within all limits; raise FileSkipped with the reason, or Stopped.

    It is fetched on a thread of its own, because a look-up cannot be interrupted and the caller must not wait for it.
    `addresses` decides where a connection may go.
    """
    cancel.check()
    call = _Call(seconds, addresses)
    page: Future[FetchedPage] = Future()
    threading.Thread(target=call.answer, args=(url, page), name="fetch", daemon=True).start()
    try:
        while True:
            cancel.check()
            with suppress(TimeoutError):
                return page.result(timeout=_POLL)
            if time.monotonic() > call.until:
                raise call.late(url)
    finally:
        call.connection.abort()


class _Call:
    """Perform one fetch, and hold its deadline, current host and connection."""

    def __init__(self, seconds: float, addresses: Addresses) -> None:
        self.until = time.monotonic() + seconds
        self._seconds, self._addresses = seconds, addresses
        self._host = ""
        self.connection = Connection()

    def answer(self, url: str, page: Future[FetchedPage]) -> None:
        """Fetch the page, or report why there is none, whatever goes wrong."""
        import httpx

        try:
            page.set_result(self._follow(url))
        except FileSkipped as skipped:
            page.set_exception(skipped)
        except httpx.TimeoutException:
            page.set_exception(self.late(url))
        except Exception as error:  # servers and libraries can fail in any way
            page.set_exception(FileSkipped(f"{self._host or _shown(url)} {_trouble(error)}"))

    def late(self, url: str) -> FileSkipped:
        return FileSkipped(f"{self._host or _shown(url)} took longer than {self._seconds:g} s")

    def _follow(self, url: str) -> FetchedPage:
        here = _parsed(url)
        for _ in range(REDIRECTS + 1):
            answer = self._get(here)
            if isinstance(answer, FetchedPage):
                return answer
            target = _parsed(answer, here)
            if here.scheme == "https" and target.scheme == "http":
                raise FileSkipped(f"refused: {self._host} redirects from https to http")
            here = target
        raise FileSkipped(f"{self._host} redirects more than {REDIRECTS} times")

    def _get(self, url: httpx.URL) -> FetchedPage | str:
        """Send one request, and return the page or the address to which it redirects."""
        import certifi
        import httpx

        self._host = url.raw_host.decode("ascii")
        port = {"http": 80, "https": 443}[url.scheme] if url.port is None else url.port
        addresses = list(self._addresses(self._host, port))[:TRIED]
        with httpx.HTTPTransport(verify=_authorities(certifi.where()), trust_env=False) as transport:
            while True:
                try:
                    response = transport.handle_request(self._request(url, addresses))
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    del addresses[0]
                    if not addresses:
                        raise
                    continue
                with closing(response):
                    return self._read(response, url)

    def _request(self, url: httpx.URL, addresses: Sequence[Address]) -> httpx.Request:
        """Return a request to the first address, with the host of the URL in Host and in TLS."""
        import httpx

        left = max(0.01, self.until - time.monotonic())  # for httpx, 0 means a socket that never waits
        return httpx.Request(
            "GET",
            url.copy_with(host=str(addresses[0])),
            headers={"Host": url.netloc.decode("ascii"), **HEADERS},
            extensions={
                "sni_hostname": self._host,  # the certificate is checked for it
                "timeout": {"connect": left / len(addresses), "read": left, "write": left, "pool": left},
                "trace": self.connection.trace,
            },
        )

    def _read(self, response: httpx.Response, url: httpx.URL) -> FetchedPage | str:
        import httpx

        if response.has_redirect_location:
            return response.headers["location"]
        if response.status_code != 200:
            phrase = httpx.codes.get_reason_phrase(response.status_code)
            raise FileSkipped(f"{self._host} answered {response.status_code} {phrase}".rstrip())
        kind, _, rest = response.headers.get("content-type", "").partition(";")
        kind = kind.strip().lower()
        if kind not in KINDS:
            shown = shorten(printable(kind), 60) or "a page without a content type"
            raise FileSkipped(f"{self._host} sends {shown}, which is not read from the web")
        charset = _CHARSET.search(rest)
        return FetchedPage(str(url), kind, charset.group(1) if charset else "", self._body(response))

    def _body(self, response: httpx.Response) -> bytes:
        """Return the body, decompressed in parts: 64 KB as sent, which are at most 66 MB of zeros."""
        packed = response.headers.get("content-encoding", "").strip().lower()
        if packed not in ("", "identity", "gzip", "deflate"):  # two encodings would multiply the size
            raise FileSkipped(f"{self._host} sends its page as {shorten(printable(packed), 40)}, which is not read")
        self._check_size(int(response.headers.get("content-length", "0")), SENT)
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            self._check_size(response.num_bytes_downloaded, SENT)
            self._check_size(len(body), UNPACKED)
        return bytes(body)

    def _check_size(self, size: int, most: int) -> None:
        if size > most:
            raise FileSkipped(f"{self._host} sends more than {most // 1_000_000} MB")


@cache
def _authorities(file: str) -> ssl.SSLContext:
    """Return a context with the certificate authorities of a file, whatever the environment says."""
    return ssl.create_default_context(cafile=file)


def _parsed(url: str, base: httpx.URL | None = None) -> httpx.URL:
    """Return a valid URL without its fragment and its host's final dot; raise FileSkipped."""
    import httpx

    try:
        parsed = base.join(url) if base else httpx.URL(url)
        if parsed.scheme not in ("http", "https"):
            raise FileSkipped(f"refused: {_shown(url)} is not http or https")
        if parsed.userinfo:
            raise FileSkipped("refused: a URL with a user name in it")
        host = parsed.raw_host.decode("ascii").removesuffix(".")
        if not host:
            raise FileSkipped(f"refused: {_shown(url)} names no host")
        return parsed.copy_with(host=host, fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise FileSkipped(f"refused: {_shown(url)} is no usable URL") from error


def _trouble(error: Exception) -> str:
    import httpx

    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "has no valid certificate"
    if isinstance(error, httpx.ConnectError):
        return "cannot be reached"
    return "sends a damaged page" if isinstance(error, httpx.DecodingError) else "broke off or does not speak HTTP"


def _shown(url: str) -> str:
    return shorten(printable(url), 80)
