"""Fetching one page from the public web, which may be hostile.

A name is looked up once per request, every address of it is checked, and the connection goes to one that was checked:
there is no second look-up that could answer otherwise. Each redirect is a new request. No client keeps anything
between requests: no cookies, no referrer, no connection.
"""

from __future__ import annotations

import ipaddress
import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from local_rag.core import cancel
from local_rag.text.display import printable, shorten
from local_rag.web.addresses import Address, refused_address, refused_name, refused_neighbour
from local_rag.web.body import FetchLimits, FetchRefused, Unpacker

if TYPE_CHECKING:
    import httpx

Resolver = Callable[[str, int], Sequence[str]]
"""Host and port -> addresses. Raises OSError for a name without one."""

PORTS = (80, 443)
KINDS = ("text/html", "application/xhtml+xml", "text/plain", "text/markdown")
HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; local-rag)",
    "Accept": "text/html, application/xhtml+xml, text/plain;q=0.9",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}
"""All that is sent besides Host: nothing about who asks, or why."""

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_ADDRESSES = 3
"""Addresses of one host that are tried; they share the time."""
_POLL = 0.05
"""Seconds between looks at the stop button."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What came back. `charset` is what the header names, unchecked, or empty; `body` is decompressed."""

    url: str
    final_url: str
    content_type: str
    charset: str
    body: bytes


def system_resolver(host: str, port: int) -> list[str]:
    """What the operating system says."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class Fetcher:
    """Fetches pages; one serves several threads."""

    def __init__(
        self,
        limits: FetchLimits | None = None,
        resolve: Resolver = system_resolver,
        allow: Collection[str] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """For tests only: `allow` lists pairs ADDRESS:PORT that are fetched from although they are not public, and
        `tls` trusts another authority than those of certifi.
        """
        self.limits = limits or FetchLimits()
        self._resolve, self._allow, self._tls = resolve, frozenset(allow), tls

    def fetch(self, url: str) -> FetchedPage:
        """The page at `url`, within all limits. Raises FetchRefused with the reason, or Stopped.

        It is read on a thread of its own: a look-up cannot be interrupted, so whoever asked does not wait for it.
        """
        cancel.check()
        call = _Call(time.monotonic() + self.limits.seconds)
        replies: queue.Queue[FetchedPage | Exception] = queue.Queue()
        threading.Thread(target=self._reply, args=(url, call, replies), name="fetch", daemon=True).start()
        try:
            reply = self._wait(url, call, replies)
        except BaseException:
            call.abort()
            raise
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _wait(self, url: str, call: _Call, replies: queue.Queue[FetchedPage | Exception]) -> FetchedPage | Exception:
        while True:
            cancel.check()
            left = call.deadline - time.monotonic()
            with suppress(queue.Empty):
                return replies.get(timeout=max(0.0, min(_POLL, left)))
            if left <= 0:
                raise self._late(call.host or _shown(url))

    def _late(self, host: str) -> FetchRefused:
        return FetchRefused(f"{host} took longer than {self.limits.seconds:g} s")

    def _reply(self, url: str, call: _Call, replies: queue.Queue[FetchedPage | Exception]) -> None:
        import httpx

        try:
            replies.put(self._follow(url, call))
        except FetchRefused as refused:
            replies.put(refused)
        except httpx.TimeoutException:
            replies.put(self._late(call.host))
        except (httpx.HTTPError, OSError, ValueError) as error:
            replies.put(FetchRefused(_trouble(call.host or _shown(url), error)))
        except Exception as error:
            replies.put(error)

    def _follow(self, url: str, call: _Call) -> FetchedPage:
        here = _parsed(url)
        seen = {str(here)}
        for _ in range(self.limits.redirects + 1):
            answer = self._get(here, call)
            if isinstance(answer, FetchedPage):
                return replace(answer, url=url)
            target = _parsed(answer, here)
            if here.scheme == "https" and target.scheme == "http":
                raise FetchRefused(f"refused: {call.host} redirects from https to http")
            if str(target) in seen:
                raise FetchRefused(f"{call.host} redirects in a circle")
            here = target
            seen.add(str(here))
        raise FetchRefused(f"{call.host} redirects more than {self.limits.redirects} times")

    def _get(self, url: httpx.URL, call: _Call) -> FetchedPage | str:
        """One request: the page, or where it redirects to."""
        import httpx

        port = {"http": 80, "https": 443}[url.scheme] if url.port is None else url.port
        call.host = url.raw_host.decode("ascii")
        addresses = self._addresses(call.host, port)[:_MOST_ADDRESSES]
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            request = _request(url, address, call, left)
            with httpx.HTTPTransport(verify=self._tls or _authorities(), trust_env=False) as transport:
                try:
                    response = transport.handle_request(request)
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    if left == 1:
                        raise
                    continue
                try:
                    return self._read(response, url, call.host)
                finally:
                    response.close()
        raise AssertionError("no address was tried")

    def _addresses(self, host: str, port: int) -> list[Address]:
        """The addresses of a host, all of them checked. Raises FetchRefused if only one of them is not public."""
        if port not in PORTS and not any(pair.endswith(f":{port}") for pair in self._allow):
            raise FetchRefused(f"refused: {host} on port {port}; only {PORTS[0]} and {PORTS[1]} are the web's")
        addresses = [literal] if (literal := _literal(host)) else self._looked_up(host, port)
        strange = [address for address in addresses if f"{address}:{port}" not in self._allow]
        for check in (refused_address, lambda _: "" if port in PORTS else f"asked on port {port}", refused_neighbour):
            for address in strange:
                if reason := check(address):
                    raise FetchRefused(f"refused: {host} is {'' if address == literal else f'{address}, '}{reason}")
        return addresses

    def _looked_up(self, host: str, port: int) -> list[Address]:
        if reason := refused_name(host):
            raise FetchRefused(f"refused: {host} is {reason}")
        try:
            addresses = [ipaddress.ip_address(address) for address in self._resolve(host, port)]
        except (OSError, ValueError) as error:  # ValueError: a name that cannot be written in a query
            raise FetchRefused(f"{host} has no address") from error
        if not addresses:
            raise FetchRefused(f"{host} has no address")
        return addresses

    def _read(self, response: httpx.Response, url: httpx.URL, host: str) -> FetchedPage | str:
        if response.status_code in _REDIRECTS:
            if not (target := response.headers.get("location", "")):
                raise FetchRefused(f"{host} redirects to nowhere")
            return str(target)
        if response.status_code != 200:
            raise FetchRefused(f"{host} answered {_status(response.status_code)}")
        kind, _, rest = response.headers.get("content-type", "").partition(";")
        kind = kind.strip().lower()
        if kind not in KINDS:
            shown = shorten(printable(kind), 60)
            raise FetchRefused(f"{shown} is not read from the web" if shown else f"{host} does not say what it sends")
        charset = _CHARSET.search(rest)
        return FetchedPage("", str(url), kind, charset.group(1) if charset else "", self._body(response, host))

    def _body(self, response: httpx.Response, host: str) -> bytes:
        """The body, decompressed as it comes. Raises FetchRefused as soon as a limit is passed."""
        announced = response.headers.get("content-length", "")
        unpacker = Unpacker(response.headers.get("content-encoding", ""), self.limits, host)
        if announced.isascii() and announced.isdigit() and int(announced[:20]) > self.limits.bytes:
            raise unpacker.too_much
        for chunk in response.iter_raw():
            unpacker.feed(chunk)
        return unpacker.whole()


class _Call:
    """One fetch: its deadline, the host it asks now, and its connection, which any thread may abort."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.host = ""
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._aborted = False

    def remaining(self) -> float:
        """Seconds, a little more than none: httpx takes 0 for a socket that never waits."""
        return max(0.01, self.deadline - time.monotonic())

    def abort(self) -> None:
        with self._lock:
            self._aborted = True
            self._shut()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Take the socket as soon as it is connected (the `trace` extension of httpcore)."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self._aborted:
                    self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


@cache
def _authorities() -> ssl.SSLContext:
    """Those that certifi lists, whatever the environment says."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


def _parsed(url: str, base: httpx.URL | None = None) -> httpx.URL:
    """A URL that may be asked for, its fragment and the final dot of its host dropped. Raises FetchRefused."""
    import httpx

    try:
        parsed = base.join(url) if base else httpx.URL(url)
        if parsed.scheme not in ("http", "https"):
            raise FetchRefused(f"refused: {_shown(url)} is not http or https")
        if parsed.userinfo:
            raise FetchRefused("refused: a URL with a user name in it")
        host = parsed.raw_host.decode("ascii")
        if not host or host == ".":
            raise FetchRefused(f"refused: {_shown(url)} names no host")
        if host.endswith("."):
            parsed = parsed.copy_with(host=host[:-1])
        return parsed.copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise FetchRefused(f"refused: {_shown(url)} is no usable URL") from error


def _request(url: httpx.URL, address: Address, call: _Call, tries: int) -> httpx.Request:
    """A request that goes to `address`, and asks there for the host of the URL, as Host and in TLS."""
    import httpx

    left = call.remaining()
    return httpx.Request(
        "GET",
        url.copy_with(host=str(address)),
        headers={"Host": url.netloc.decode("ascii"), **HEADERS},
        extensions={
            "sni_hostname": call.host,  # httpcore gives it to ssl as server_hostname: the certificate is checked for it
            "timeout": {"connect": left / tries, "read": left, "write": left, "pool": left},
            "trace": call.trace,
        },
    )


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _trouble(host: str, error: Exception) -> str:
    import httpx

    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return f"{host} has no valid certificate"
    if isinstance(error, httpx.ConnectError):
        return f"{host} cannot be reached"
    if isinstance(error, httpx.ProtocolError):
        return f"{host} broke off or does not speak HTTP"
    return f"{host} broke off"


def _status(code: int) -> str:
    with suppress(ValueError):
        return f"{code} {HTTPStatus(code).phrase}"
    return str(code)


def _shown(url: str) -> str:
    return shorten(printable(url), 80)
