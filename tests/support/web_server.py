"""!Serve pages and faults over HTTP on loopback, for tests.

    with WebServer() as web:
        web.pages["/slow"] = drip(b"x")
        fetch(web.url("/slow"), seconds=1, addresses=loopback(web))
        assert web.requests[0].headers["host"] == web.netloc

A page is a function of the Wire that it writes to. A path without a page ends the connection. "*" is the page of any
other path, which answers 404 without it.
"""

import datetime
import json
import socketserver
import ssl
import sys
import threading
from contextlib import nullcontext
from dataclasses import dataclass
from html import escape
from ipaddress import ip_address
from urllib.parse import parse_qs

from local_rag.core import child_process
from local_rag.core.child_process import Finished
from local_rag.web.addresses import public_addresses


@dataclass(frozen=True)
class Request:
    """Hold a request; names of headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


class Wire:
    """Hold one connection; writing to a client that is gone ends the page."""

    def __init__(self, connection, request, closing):
        self.write, self.request, self._closing = connection.sendall, request, closing

    def wait(self, seconds):
        """Wait, and raise ConnectionError when the server closes."""
        if self._closing.wait(seconds):
            raise ConnectionAbortedError


def head(status=200, kind="text/html", **headers):
    """Return the status line and headers; `_` in a name is `-`."""
    fields = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"{name}: {value}\r\n" for name, value in fields.items() if value is not None]
    return f"HTTP/1.1 {status} Whatever\r\n{''.join(lines)}\r\n".encode("latin-1")


def reply(body=b"", kind="text/html; charset=utf-8", status=200, **headers):
    """Return a page with a whole reply; Content_Length=None announces no length."""
    return lambda wire: wire.write(head(status, kind, **{"Content_Length": len(body), **headers}) + body)


def html(text, **more):
    return reply(text.encode(), **more)


def redirect(target, status=302, **headers):
    return reply(status=status, Location=target, **headers)


def drip(data, before=None, every=0.02):
    """Return a page that writes `before`, then `data` again and again, without an end."""

    def answer(wire):
        wire.write(head() if before is None else before)
        while True:
            wire.write(data)
            wire.wait(every)

    return answer


def silence(wire):
    """Write nothing for a long time."""
    wire.wait(60)


class WebServer(socketserver.ThreadingTCPServer):
    """Run one server on 127.0.0.1, with TLS if it gets a context."""

    daemon_threads = False

    def __init__(self, tls=None):
        self.pages, self.requests, self.failures = {}, [], []
        self.closing, self._tls = threading.Event(), tls
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port = self.server_address[1]
        self.netloc = f"127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def url(self, path="/", host="127.0.0.1"):
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def finish_request(self, request, client_address):
        request.settimeout(10)
        with self._tls.wrap_socket(request, server_side=True) if self._tls else nullcontext(request) as connection:
            super().finish_request(connection, client_address)

    def handle_error(self, request, client_address):
        """Ignore a client that hangs up or rejects the certificate; other errors are failures."""
        if not isinstance(failure := sys.exc_info()[1], OSError):
            self.failures.append(failure)

    def __exit__(self, *exception):
        self.closing.set()
        self.shutdown()
        self.server_close()
        self._thread.join()
        assert not self.failures


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().decode("latin-1").split()
        if len(line) != 3:  # nothing, or TLS where none is spoken
            return
        headers = {}
        while (field := self.rfile.readline().decode("latin-1")).strip():
            name, _, value = field.partition(":")
            headers[name.strip().lower()] = value.strip()
        body = self.rfile.read(int(headers.get("content-length", "0"))).decode()
        request = Request(line[0], line[1], headers, body)
        self.server.requests.append(request)
        answer = self.server.pages.get(line[1]) or self.server.pages.get("*") or reply(b"no such page", status=404)
        answer(Wire(self.request, request, self.server.closing))


def loopback(*servers, **names):
    """Return for `fetch` the addresses of these servers, and of `names` on their ports; other hosts must be public."""

    def addresses(host, port):
        found = names.get(host.replace(".", "_"), ["127.0.0.1"] if host == "127.0.0.1" else [])
        if found and port in [server.port for server in servers]:
            return [ip_address(text) for text in found]
        return public_addresses(host, port)

    return addresses


def authority(file, name):
    """Return a server's context with a certificate for `name`, which a client that trusts `file` accepts."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    signed = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number(), now - day, now + day)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(private + signed.public_bytes(pem))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server


class SearchProcess:
    """Take the place of the process that searches: note the requests, and reply with results.

    Each result is (title, link, snippet).
    """

    def __init__(self, *results):
        self.results, self.status, self.requests = [*results], 200, []

    @property
    def queries(self):
        return [request["query"] for request in self.requests]

    def run(self, command, request, seconds, env):
        self.requests.append(json.loads(request))
        results = [[link, title, snippet] for title, link, snippet in self.results] if self.status == 200 else []
        reply = {"status": self.status, "results": results, "error": ""}
        return Finished(0, json.dumps(reply).encode(), b"")


RESULT = """
<div class="result results_links"><div class="links_main links_deep result__body">
  <h2 class="result__title"><a rel="nofollow" class="result__a" href="{href}">{title}</a></h2>
  <div class="result__extras"><a class="result__url" href="{href}">{href}</a></div>
  <a class="result__snippet" href="{href}">{body}</a>
</div></div>"""


class SearchPage(WebServer):
    """Serve a page of search results in a `with`; `statuses` go one per request, then 200.

    `hold` keeps every answer back until the end.
    """

    def __init__(self, *results):
        """Take results, each (title, link, snippet)."""
        super().__init__()
        self.results, self.statuses, self.asked = list(results), [], []
        self.location, self.hold, self.when_asked = None, False, lambda: None
        self.pages["*"] = self.answer

    @property
    def command(self):
        """Return `search.COMMAND` for a process that asks this page for every engine."""
        return child_process.command("support.ddgs_on_page", self.url("/html/"))

    def answer(self, wire):
        form = wire.request.body or wire.request.path.partition("?")[2]
        self.asked.append({name: values[0] for name, values in parse_qs(form, keep_blank_values=True).items()})
        self.when_asked()
        if self.hold:
            wire.wait(20)
        rows = "".join(
            RESULT.format(title=escape(title), href=escape(href), body=escape(body))
            for title, href, body in self.results
        )
        body = f"<!doctype html><html><body><div id='links'>{rows}</div></body></html>".encode()
        reply(body, status=self.statuses.pop(0) if self.statuses else 200, Location=self.location)(wire)
