"""Test fetching pages from real HTTP servers on loopback; every fault ends in one line, and in time."""

import gzip
import socket
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

import certifi
import pytest
from support.web_server import WebServer, authority, drip, head, html, loopback, redirect, reply, silence

from local_rag.core import cancel
from local_rag.core.cancel import Cancel
from local_rag.core.errors import DeadlineExceeded, FileSkipped, Stopped
from local_rag.web.addresses import public_addresses, refused_neighbour
from local_rag.web.fetch import fetch

PAGE = b"<html><body><p>Hello from a page.</p></body></html>"
SOON = 20
"""Seconds that no test reaches unless something hangs."""


@pytest.fixture
def web():
    with WebServer() as server:
        server.pages["/page"] = reply(PAGE)
        yield server


def outcome(url, addresses, seconds=SOON):
    """Return the body of a page, or the one line that says why there is none."""
    try:
        return fetch(url, seconds, addresses).body
    except FileSkipped as skipped:
        line = str(skipped)
        assert line and "\n" not in line and line.isprintable() and len(line) < 200
        return line


def packed(body, encoding="gzip"):
    return reply(body, Content_Encoding=encoding)


def raw(said):
    return lambda wire: wire.write(said)


NO_HTTP = "127.0.0.1 broke off or does not speak HTTP"
TOO_LARGE = "127.0.0.1 sends more than 5 MB"
REPLIES = [
    (reply(PAGE), PAGE),
    (reply(b""), b""),
    (reply(PAGE, kind="Text/Plain"), PAGE),
    (reply(PAGE, Content_Length=None), PAGE),
    # redirects
    *((redirect("/page#part", status), PAGE) for status in (301, 302, 303, 307, 308)),
    (drip(b"x", before=head(302, Location="/page")), PAGE),  # its body is not read
    (redirect("/"), "127.0.0.1 redirects more than 5 times"),
    (reply(status=302), "127.0.0.1 answered 302 Found"),
    (redirect("http://127.0.0.1/admin"), "refused: 127.0.0.1 is not a public address"),
    (redirect("http://127.0.0.1:22/"), "refused: 127.0.0.1 on port 22; only 80 and 443 are the web's"),
    (redirect("http://169.254.169.254/latest"), "refused: 169.254.169.254 is not a public address"),
    (redirect("http://[fe80::1]/"), "refused: fe80::1 is not a public address"),
    (redirect("//localhost/"), "refused: localhost is a name of this machine or its network"),
    (redirect("file:///etc/passwd"), "refused: file:///etc/passwd is not http or https"),
    (redirect("http://me:word@example.org/"), "refused: a URL with a user name in it"),
    (redirect("/\x1b[31mred"), "refused: /red is no usable URL"),
    # no page
    (reply(status=403), "127.0.0.1 answered 403 Forbidden"),
    (reply(status=429), "127.0.0.1 answered 429 Too Many Requests"),
    (reply(status=204), "127.0.0.1 answered 204 No Content"),
    (reply(status=799), "127.0.0.1 answered 799"),
    (reply(b"%PDF-1.7", "application/pdf"), "127.0.0.1 sends application/pdf, which is not read from the web"),
    (reply(PAGE, None), "127.0.0.1 sends a page without a content type, which is not read from the web"),
    (raw(b""), NO_HTTP),
    (raw(b"SSH-2.0-OpenSSH_9.9\r\n"), NO_HTTP),
    (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), NO_HTTP),
    (raw(head(Content_Length=500) + b"half"), NO_HTTP),
    (raw(head(Transfer_Encoding="chunked") + b"5\r\nhel"), NO_HTTP),
    # large ones
    (reply(b"x", Content_Length=1_000_000_000), TOO_LARGE),
    (drip(b"x" * 65536, every=0), TOO_LARGE),
    (drip(b"4000\r\n" + b"x" * 0x4000 + b"\r\n", head(Transfer_Encoding="chunked"), every=0), TOO_LARGE),
    (drip(b"X-More: " + b"x" * 1000 + b"\r\n", b"HTTP/1.1 200 OK\r\n", every=0), NO_HTTP),
    # compressed ones
    (packed(gzip.compress(PAGE)), PAGE),
    (packed(zlib.compress(PAGE), "Deflate"), PAGE),
    (packed(zlib.compress(PAGE, wbits=-15), "deflate"), PAGE),
    (packed(PAGE, "identity"), PAGE),
    (packed(b"no gzip at all"), "127.0.0.1 sends a damaged page"),
    (packed(gzip.compress(bytes(30_000_000), 1)), "127.0.0.1 sends more than 20 MB"),
    *(
        (packed(PAGE, name), f"127.0.0.1 sends its page as {name}, which is not read")
        for name in ("br", "zstd", "gzip, gzip")
    ),
]


@pytest.mark.parametrize(("answer", "expected"), REPLIES, ids=[str(expected)[:60] for _, expected in REPLIES])
def test_a_reply_and_what_comes_of_it(web, answer, expected):
    web.pages["/"] = answer
    assert outcome(web.url(), loopback(web)) == expected


REFUSED = """http://127.0.0.1/ http://127.0.0.1./ http://[::1]/ http://[::ffff:7f00:1]/ http://[::]/ http://2130706433/
http://0x7f.1/ http://0177.0.0.1/ http://LOCALHOST./ http://ⓛocalhost/ http://１２７.0.0.1/ http://me@example.org/
http://example.org:22/ https://example.org:0/ http://example.org:99999/ http://example.org\\@127.0.0.1/
http://example.org%00.evil.org/ http:///etc/passwd http://./ http://a..b/ file:///etc/passwd ftp://example.org/
data:text/html,hello //example.org/ example.org""".split()


@pytest.mark.parametrize(
    "url", [*REFUSED, "", "http://exa mple.org/", "http://a.org/\r\nHost: b", "http://a.org/" + "a" * 70_000]
)
def test_urls_that_lead_elsewhere_are_refused_without_a_look_up(monkeypatch, url):
    monkeypatch.setattr(socket, "getaddrinfo", None)
    assert outcome(url, public_addresses).startswith("refused: ")


SLOW = {
    "/connect": silence,
    "/status": drip(b"x", before=b"HTTP/1.1 200 O"),
    "/header": drip(b"x", before=b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "/body": drip(b"x"),
    "/redirects": lambda wire: (wire.wait(0.1), redirect("/redirects")(wire)),
}


def test_a_slow_page_ends_in_time_and_its_connection_with_it(web):
    web.pages |= SLOW
    with ThreadPoolExecutor(len(SLOW)) as at_once:
        lines = at_once.map(lambda path: outcome(web.url(path), loopback(web), 0.3), SLOW)
    assert dict(zip(SLOW, lines, strict=True)) == dict.fromkeys(SLOW, "127.0.0.1 took longer than 0.3 s")
    for thread in threading.enumerate():
        if thread.name == "fetch":
            thread.join(SOON)
            assert not thread.is_alive()


def test_a_handshake_that_never_ends():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://example.org:{silent.getsockname()[1]}/"
        line = outcome(url, lambda host, port: [ip_address("127.0.0.1")], 0.3)
    assert line == "example.org took longer than 0.3 s"


def test_a_look_up_that_hangs_is_left_behind():
    woken = threading.Event()
    line = outcome("https://example.org/", lambda host, port: woken.wait(SOON), 0.3)
    assert line == "example.org took longer than 0.3 s"
    woken.set()


def test_a_stop_and_the_clock_of_the_question_end_a_fetch(web):
    stop, dripping = Cancel(), drip(b"x")
    web.pages["/"] = lambda wire: (stop.stop(), dripping(wire))
    with cancel.scope(stop):
        for _ in range(2):
            with pytest.raises(Stopped):
                fetch(web.url(), SOON, loopback(web))
    assert len(web.requests) == 1, "nothing is asked once stopped"
    with cancel.scope(Cancel(0.1)), pytest.raises(DeadlineExceeded):
        fetch(web.url(), SOON, loopback(web))


def test_what_is_sent_says_nothing_about_who_asks(web, monkeypatch):
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    web.pages |= {"/": redirect("/?a=b#part", Set_Cookie="who=you; Path=/"), "/?a=b": html("text", kind="text/plain")}
    page = fetch(web.url("/#part"), SOON, loopback(web))
    assert (page.url, page.kind, page.charset, page.body) == (web.url("/?a=b"), "text/plain", "", b"text")
    assert [request.path for request in web.requests] == ["/", "/?a=b"]
    for request in web.requests:
        assert request.method == "GET"
        assert request.headers == {
            "host": web.netloc,
            "user-agent": "Mozilla/5.0 (compatible; local-rag)",
            "accept": "text/html, application/xhtml+xml, text/plain;q=0.9",
            "accept-encoding": "gzip, deflate",
            "connection": "close",
        }


def test_each_request_looks_a_name_up_once_and_asks_what_was_found(web):
    """Let a name lead elsewhere the next time (DNS rebinding).

    One address does not answer, so the next one is tried.
    """
    answers, asked = [[ip_address("127.0.0.3"), ip_address("127.0.0.1")]], []

    def addresses(host, port):
        asked.append((host, port))
        if not answers:
            raise FileSkipped("refused")
        return answers.pop()

    web.pages["/"] = redirect("/page")
    assert outcome(web.url(host="Example.ORG."), addresses) == "refused"
    assert asked == [("example.org", web.port)] * 2
    assert [request.headers["host"] for request in web.requests] == [f"example.org:{web.port}"]


def test_a_certificate_is_checked_for_the_name_and_https_is_not_left_again(web, tmp_path, monkeypatch):
    file = tmp_path / "authority.pem"
    with WebServer(authority(file, "example.org")) as safe:
        safe.pages |= {"/": reply(PAGE), "/down": redirect(web.url())}
        addresses = loopback(web, safe, example_org=["127.0.0.1"], other_org=["127.0.0.1"])
        url = safe.url(host="example.org")
        assert outcome(url, addresses) == "example.org has no valid certificate"
        monkeypatch.setattr(certifi, "where", lambda: str(file))
        assert outcome(url, addresses) == PAGE
        assert outcome(f"{url}down", addresses) == "refused: example.org redirects from https to http"
        assert outcome(safe.url(host="other.org"), addresses) == "other.org has no valid certificate"
        assert [request.path for request in safe.requests] == ["/", "/down"] and not web.requests


def test_nobody_listens():
    with WebServer() as web:
        url, addresses = web.url(), loopback(web)
    assert outcome(url, addresses) == "127.0.0.1 cannot be reached"


def test_the_own_network_is_known_without_sending_anything():
    assert refused_neighbour(ip_address("127.0.0.1"))
