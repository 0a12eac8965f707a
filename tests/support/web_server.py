"""An HTTP server on loopback with pages and faults, for tests.

    with WebServer() as web:
        web.pages["/"] = html("<p>Hello</p>")
        web.pages["/slow"] = drip(b"x", 0.02)
        fetcher(web).fetch(web.url("/"))
        assert web.requests[0].headers["host"] == web.netloc

A page is a function of the Wire that it writes to. What nobody wrote ends the connection. Unknown paths answer 404.
"""

from __future__ import annotations

import datetime
import ipaddress
import socket
import socketserver
import ssl
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local_rag.web.body import FetchLimits, FetchRefused
from local_rag.web.fetch import Fetcher


@dataclass(frozen=True)
class Request:
    """What came in. Names of headers in small letters; `name` is what TLS asked for."""

    method: str
    path: str
    headers: dict[str, str]
    client: tuple[str, int]


class Wire:
    """One connection; writing to a client that is gone ends the page."""

    def __init__(self, connection: socket.socket, request: Request, closing: threading.Event) -> None:
        self.request = request
        self._connection, self.closing = connection, closing

    def write(self, data: bytes) -> None:
        self._connection.sendall(data)

    def wait(self, seconds: float) -> None:
        """Raises ConnectionError when the server closes."""
        if self.closing.wait(seconds):
            raise ConnectionAbortedError


Answer = Callable[[Wire], None]


def reply(
    body: bytes = b"",
    kind: str | None = "text/html; charset=utf-8",
    status: int = 200,
    length: int | None = -1,
    headers: Iterable[tuple[str, str]] = (),
) -> Answer:
    """A whole reply; `length` -1 announces the true one, None announces none."""
    announced = len(body) if length == -1 else length
    return lambda wire: wire.write(head(status, kind, announced, headers) + body)


def head(
    status: int = 200,
    kind: str | None = "text/html",
    length: int | None = None,
    headers: Iterable[tuple[str, str]] = (),
) -> bytes:
    """Status line and headers."""
    lines = [f"HTTP/1.1 {status} Whatever"]
    lines += [f"Content-Type: {kind}"] if kind is not None else []
    lines += [f"Content-Length: {length}"] if length is not None else []
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def html(text: str, **more: Any) -> Answer:
    return reply(text.encode(), **more)


def redirect(target: str, status: int = 302, **more: Any) -> Answer:
    return reply(status=status, headers=[("Location", target), *more.pop("headers", ())], **more)


def drip(data: bytes, every: float, before: bytes = b"") -> Answer:
    """`before`, then `data` again and again, without an end."""

    def answer(wire: Wire) -> None:
        wire.write(before or head())
        while True:
            wire.write(data)
            wire.wait(every)

    return answer


def silence(wire: Wire) -> None:
    """Nothing, for a long time."""
    wire.wait(60)


class WebServer(socketserver.ThreadingTCPServer):
    """One server on 127.0.0.1, with TLS if it gets a context."""

    daemon_threads = False
    block_on_close = True
    allow_reuse_address = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.pages: dict[str, Answer] = {}
        self.requests: list[Request] = []
        self.names: list[str | None] = []
        """What each TLS connection asked for as its server's name."""
        self.failures: list[BaseException] = []
        self.closing = threading.Event()
        self._tls = tls
        if tls:
            tls.sni_callback = lambda connection, name, context: self.names.append(name)
        super().__init__(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    @property
    def netloc(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(10)
        if self._tls:
            with self._tls.wrap_socket(request, server_side=True) as inner:
                super().finish_request(inner, client_address)
        else:
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, or does not like the certificate, is no failure."""
        if not isinstance(failure := sys.exc_info()[1], OSError):
            self.failures.append(failure)

    def __exit__(self, *exception: object) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()
        self._thread.join()
        assert not self.failures


class _Handler(socketserver.StreamRequestHandler):
    server: WebServer

    def handle(self) -> None:
        line = self.rfile.readline().decode("latin-1").split()
        if len(line) != 3:  # nothing, or TLS where none is spoken
            return
        headers = {}
        while (field := self.rfile.readline().decode("latin-1")).strip():
            name, _, value = field.partition(":")
            headers[name.strip().lower()] = value.strip()
        request = Request(line[0], line[1], headers, self.client_address)
        self.server.requests.append(request)
        answer = self.server.pages.get(request.path, reply(b"no such page", status=404))
        answer(Wire(self.request, request, self.server.closing))


class Names:
    """A resolver with a book of names; a list of lists is a name that changes its answer."""

    def __init__(self, **book):
        self.book = {name.replace("_", "."): list(found) for name, found in book.items()}
        self.asked = []

    def __call__(self, host, port):
        self.asked.append(host)
        found = self.book.get(host, OSError("no such name"))
        if isinstance(found, OSError):
            raise found
        if found and isinstance(found[0], list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found


def fetcher(web, names=None, tls=None, **limits):
    return Fetcher(FetchLimits(**limits), names or Names(), [web.netloc], tls)


def refusal(fetch, url):
    """The one line of a fetch that must fail."""
    with pytest.raises(FetchRefused) as caught:
        fetch.fetch(url)
    line = str(caught.value)
    assert line and "\n" not in line and len(line) < 200
    return line


def authority(folder: Path, *names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server with a certificate for `names`, and of a client that trusts the one who signed it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    public = signed.public_bytes(serialization.Encoding.PEM)
    (folder / "server.pem").write_bytes(private + public)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem")
    return server, ssl.create_default_context(cadata=public.decode())


def _general(name: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
