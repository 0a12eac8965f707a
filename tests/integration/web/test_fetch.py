"""Pages come from real HTTP servers on loopback; every fault ends in one line, and in time."""

from __future__ import annotations

import ipaddress

import pytest
from support.web_server import Names, WebServer, authority, drip, fetcher, head, html, redirect, refusal, reply

from local_rag.web.addresses import refused_neighbour
from local_rag.web.fetch import Fetcher

PAGE = "<html><body><p>Hello from a page.</p></body></html>"
MAPPED = ipaddress.ip_address("::ffff:127.0.0.1")  # how it is written depends on the version of Python
SOON = 20
"""Seconds that no test comes near, unless something hangs."""


@pytest.fixture
def web():
    with WebServer() as server:
        server.pages["/"] = html(PAGE)
        yield server


def test_a_page(web):
    fetched = fetcher(web).fetch(web.url("/"))
    assert fetched.body == PAGE.encode()
    assert (fetched.url, fetched.final_url, fetched.content_type, fetched.charset) == (
        web.url("/"),
        web.url("/"),
        "text/html",
        "utf-8",
    )


def test_what_is_sent_says_nothing_about_who_asks(web, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    web.pages["/from"] = redirect("/?a=b#part", headers=[("Set-Cookie", "who=you; Path=/")])
    web.pages["/?a=b"] = html(PAGE)
    fetched = fetcher(web).fetch(web.url("/from#part"))
    assert fetched.final_url == web.url("/?a=b")
    assert len(web.requests) == 2
    assert [request.path for request in web.requests] == ["/from", "/?a=b"]
    for request in web.requests:
        assert request.method == "GET"
        assert request.headers == {
            "host": web.netloc,
            "user-agent": "Mozilla/5.0 (compatible; local-rag)",
            "accept": "text/html, application/xhtml+xml, text/plain;q=0.9",
            "accept-encoding": "gzip, deflate",
            "connection": "close",
        }


def test_cookies_are_not_kept_between_pages(web):
    web.pages["/"] = html(PAGE, headers=[("Set-Cookie", "who=you")])
    fetch = fetcher(web)
    fetch.fetch(web.url("/"))
    fetch.fetch(web.url("/"))
    assert "cookie" not in web.requests[1].headers and "referer" not in web.requests[1].headers


# --- where it goes


def test_a_name_is_looked_up_once_and_the_checked_address_is_asked(web):
    names = Names(example_org=[["127.0.0.1"], ["127.0.0.2"]])
    fetched = fetcher(web, names).fetch(web.url("/", "example.org"))
    assert fetched.body == PAGE.encode() and fetched.final_url == web.url("/", "example.org")
    assert names.asked == ["example.org"]
    assert web.requests[0].headers["host"] == f"example.org:{web.port}"


def test_a_redirect_is_checked_anew_even_to_the_same_name(web):
    names = Names(example_org=[["127.0.0.1"], ["169.254.169.254"]])
    web.pages["/from"] = redirect("/")
    assert refusal(fetcher(web, names), web.url("/from", "example.org")) == (
        "refused: example.org is 169.254.169.254, an address of a cloud's metadata service"
    )
    assert names.asked == ["example.org", "example.org"] and len(web.requests) == 1


@pytest.mark.parametrize(
    ("addresses", "line"),
    [
        (["10.0.0.3"], "refused: example.org is 10.0.0.3, an address of a private network"),
        (["93.184.216.34", "192.168.1.1"], "refused: example.org is 192.168.1.1, an address of a private network"),
        (["2606:4700::1", "::1"], "refused: example.org is ::1, an address of this machine"),
        (["::ffff:127.0.0.1"], f"refused: example.org is {MAPPED}, an address of this machine"),
        (
            ["64:ff9b::a9fe:a9fe"],
            "refused: example.org is 64:ff9b::a9fe:a9fe, an address of a cloud's metadata service",
        ),
        (["fe80::1%lo"], "refused: example.org is fe80::1%lo, an address of one network only"),
        ([], "example.org has no address"),
        (["nonsense"], "example.org has no address"),
    ],
)
def test_every_address_of_a_name_must_be_public(addresses, line):
    fetch = Fetcher(resolve=Names(example_org=addresses))
    assert refusal(fetch, "https://example.org/") == line


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1./",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::]/",
        "http://0.0.0.0/",
        "http://10.0.0.3/",
        "http://169.254.169.254/latest/meta-data/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "http://ⓛocalhost/",
        "http://１２７.0.0.1/",
        "http://me@example.org/",
        "http://me:word@example.org/",
        "http://example.org:22/",
        "http://example.org:8080/",
        "https://example.org:0/",
        "http://example.org:99999/",
        "http://example.org\\@127.0.0.1/",
        "http://example.org%00.evil.org/",
        "http://exa mple.org/",
        "http:///etc/passwd",
        "http://./",
        "http://a..b/",
        "file:///etc/passwd",
        "ftp://example.org/",
        "javascript:alert(1)",
        "data:text/html,hello",
        "gopher://example.org/",
        "//example.org/",
        "example.org",
        "",
        "http://example.org/\r\nHost: other",
        "http://example.org/" + "a" * 70_000,
    ],
)
def test_urls_that_lead_elsewhere_are_refused_without_a_look_up(url):
    names = Names()
    line = refusal(Fetcher(resolve=names), url)
    assert names.asked == [] and line.startswith("refused: "), line


def test_names_in_other_scripts_are_looked_up_in_ascii():
    names = Names(xn__bcher_kva_example=[])
    assert refusal(Fetcher(resolve=names), "https://Bücher.example./") == "xn--bcher-kva.example has no address"
    assert names.asked == ["xn--bcher-kva.example"]


def test_a_name_that_nobody_knows():
    assert refusal(Fetcher(resolve=Names()), "https://example.org/") == "example.org has no address"


def test_loopback_needs_the_exact_port(web):
    fetch = Fetcher(allow=[f"127.0.0.1:{web.port + 1}"])
    assert refusal(fetch, web.url("/")) == f"refused: 127.0.0.1 on port {web.port}; only 80 and 443 are the web's"
    names = Names(example_org=["127.0.0.2"], public_org=["93.184.216.34"])
    assert "is 127.0.0.2, an address of this machine" in refusal(fetcher(web, names), web.url("/", "example.org"))
    assert f"asked on port {web.port}" in refusal(fetcher(web, names), web.url("/", "public.org"))
    assert not web.requests


def test_the_next_address_is_tried_when_one_does_not_answer(web):
    names = Names(example_org=["127.0.0.3", "127.0.0.1"])
    fetch = Fetcher(resolve=names, allow=[web.netloc, f"127.0.0.3:{web.port}"])
    assert fetch.fetch(web.url("/", "example.org")).body == PAGE.encode()


def test_nobody_listens():
    with WebServer() as web:
        url, fetch = web.url("/"), fetcher(web)
    assert refusal(fetch, url) == "127.0.0.1 cannot be reached"


# --- redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(web, status):
    web.pages["/from"] = redirect("/", status)
    fetched = fetcher(web).fetch(web.url("/from"))
    assert (fetched.url, fetched.final_url, fetched.body) == (web.url("/from"), web.url("/"), PAGE.encode())


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("http://127.0.0.1/admin", "refused: 127.0.0.1 is an address of this machine"),
        ("http://169.254.169.254/latest", "refused: 169.254.169.254 is an address of a cloud's metadata service"),
        ("//localhost/", "refused: localhost is a name of this machine or its network"),
        ("http://[::ffff:10.0.0.1]/", "refused: ::ffff:10.0.0.1 is an address of a private network"),
        ("http://inside.example.org/", "refused: inside.example.org is 192.168.0.1, an address of a private network"),
        ("file:///etc/passwd", "refused: file:///etc/passwd is not http or https"),
        ("http://me:word@example.org/", "refused: a URL with a user name in it"),
        ("http://example.org:22/", "refused: example.org on port 22; only 80 and 443 are the web's"),
        ("http://[/", "refused: %5b is no name of a host"),
        ("", "127.0.0.1 redirects to nowhere"),
        ("/\x1b[31mred", "refused: /red is no usable URL"),
    ],
)
def test_redirects_to_elsewhere_are_refused(web, target, line):
    web.pages["/from"] = redirect(target)
    assert refusal(fetcher(web, Names(inside_example_org=["192.168.0.1"])), web.url("/from")) == line
    assert len(web.requests) == 1


def test_redirects_in_a_circle_end(web):
    web.pages["/a"], web.pages["/b"] = redirect("/b#x"), redirect("/a#y")
    assert refusal(fetcher(web), web.url("/a")) == "127.0.0.1 redirects in a circle"
    assert len(web.requests) == 2


def test_redirects_without_an_end_end(web):
    for number in range(20):
        web.pages[f"/{number}"] = redirect(f"/{number + 1}")
    assert refusal(fetcher(web, redirects=3), web.url("/0")) == "127.0.0.1 redirects more than 3 times"
    assert len(web.requests) == 4


def test_the_body_of_a_redirect_is_not_read(web):
    web.pages["/from"] = drip(b"x", 0.01, before=head(302, headers=[("Location", "/")]))
    assert fetcher(web, seconds=SOON).fetch(web.url("/from")).body == PAGE.encode()


# --- what comes back


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (403, "127.0.0.1 answered 403 Forbidden"),
        (404, "127.0.0.1 answered 404 Not Found"),
        (429, "127.0.0.1 answered 429 Too Many Requests"),
        (503, "127.0.0.1 answered 503 Service Unavailable"),
        (204, "127.0.0.1 answered 204 No Content"),
        (304, "127.0.0.1 answered 304 Not Modified"),
        (799, "127.0.0.1 answered 799"),
    ],
)
def test_other_answers_than_a_page(web, status, line):
    web.pages["/"] = reply(b"", status=status)
    assert refusal(fetcher(web), web.url("/")) == line


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("application/pdf", "application/pdf is not read from the web"),
        ("image/png", "image/png is not read from the web"),
        ("application/json; charset=utf-8", "application/json is not read from the web"),
        ("x" * 500, "… is not read from the web"),
        ("", "127.0.0.1 does not say what it sends"),
        (None, "127.0.0.1 does not say what it sends"),
    ],
)
def test_other_kinds_are_refused_by_name(web, kind, line):
    web.pages["/"] = reply(b"%PDF-1.7", kind=kind)
    assert refusal(fetcher(web), web.url("/")).endswith(line)


@pytest.mark.parametrize(
    ("kind", "is_read_as"),
    [
        ("Text/HTML;Charset=ISO-8859-1", ("text/html", "ISO-8859-1")),
        ('text/plain; charset="koi8-r"', ("text/plain", "koi8-r")),
        ("application/xhtml+xml", ("application/xhtml+xml", "")),
        ("text/markdown; variant=GFM", ("text/markdown", "")),
    ],
)
def test_kinds_that_are_read(web, kind, is_read_as):
    web.pages["/"] = reply(b"hello", kind=kind)
    fetched = fetcher(web).fetch(web.url("/"))
    assert (fetched.content_type, fetched.charset) == is_read_as


def test_an_empty_page_is_fetched(web):
    web.pages["/"] = reply(b"")
    assert fetcher(web).fetch(web.url("/")).body == b""


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\x00" * 100,
        b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 500\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
    ],
)
def test_replies_that_are_no_http(web, said):
    web.pages["/"] = lambda wire: wire.write(said)
    line = refusal(fetcher(web, seconds=SOON), web.url("/"))
    assert "broke off" in line or "answered 101" in line


# --- TLS


def test_a_certificate_is_checked_for_the_name(tmp_path):
    server, client = authority(tmp_path, "example.org")
    with WebServer(server) as web:
        web.pages["/"] = html(PAGE)
        names = Names(example_org=["127.0.0.1"], other_org=["127.0.0.1"])
        fetch = fetcher(web, names, client)
        assert fetch.fetch(web.url("/", "example.org")).body == PAGE.encode()
        assert web.requests[0].headers["host"] == f"example.org:{web.port}" and web.names == ["example.org"]
        assert refusal(fetch, web.url("/", "other.org")) == "other.org has no valid certificate"
        assert refusal(fetch, web.url("/")) == "127.0.0.1 has no valid certificate"
        assert web.names[1] == "other.org" and len(web.requests) == 1


def test_an_unknown_authority_is_not_trusted(tmp_path):
    with WebServer(authority(tmp_path, "127.0.0.1")[0]) as web:
        assert refusal(fetcher(web), web.url("/")) == "127.0.0.1 has no valid certificate"
        assert not web.requests


def test_https_is_not_left_again(tmp_path, web):
    server, client = authority(tmp_path, "127.0.0.1")
    with WebServer(server) as safe:
        safe.pages["/"], safe.pages["/down"] = html(PAGE), redirect(web.url("/"))
        web.pages["/up"] = redirect(safe.url("/"))
        fetch = Fetcher(allow=[web.netloc, safe.netloc], tls=client)
        assert fetch.fetch(web.url("/up")).final_url == safe.url("/")
        assert refusal(fetch, safe.url("/down")) == "refused: 127.0.0.1 redirects from https to http"
        assert [request.path for request in web.requests] == ["/up"]


def test_a_handshake_that_never_ends(web):
    url = web.url("/").replace("http:", "https:")
    assert refusal(fetcher(web, seconds=0.4), url).startswith("127.0.0.1 ")


def test_the_own_address_is_known_without_sending_anything():
    assert refused_neighbour(ipaddress.ip_address("127.0.0.1"))
