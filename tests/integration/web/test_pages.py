"""Test how pages of the web are read, and which addresses are asked."""

import socket
import threading
from contextlib import nullcontext
from dataclasses import replace
from ipaddress import ip_address

import pytest
from support.web_server import WebServer, html, loopback, reply

from local_rag.core import cancel
from local_rag.core.cancel import Cancel
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import DeadlineExceeded, FileSkipped, Stopped
from local_rag.index.parse.parser import Parser
from local_rag.web import addresses, pages
from local_rag.web.addresses import public_addresses, refused_address, refused_name
from local_rag.web.fetch import KINDS, FetchedPage
from local_rag.web.pages import CHARACTERS, SearchResult, documents, page_document, read_page

# --- pages


URL = "https://example.org/a/page"
ARTICLE = """<!doctype html><html><head><title>Otters | Example</title><meta name="author" content="Ann Lee">
<meta property="article:published_time" content="2024-03-05T10:00:00Z"><style>p { color: red }</style>
<link rel="canonical" href="https://example.net/otters"><script>document.write("written by a script")</script></head>
<body><nav><a href="/">Home</a> <a href="/all">All of our pages</a></nav>
<article><h1>Otters</h1><p>Otters hold hands while they sleep, so that the current does not part them.</p>
<h2>Stones</h2><p>They keep a favourite stone in a pouch under the arm, and open mussels with it.</p>
<p>An otter eats a quarter of its weight every day, because it has no layer of fat.</p></article>
<footer>Imprint and other words</footer></body></html>"""
ENDLESS = f"<p {' '.join(f'a{number}=1' for number in range(300_000))}>hello</p>"
"""A page that keeps the parser busy for longer than any test."""


def fetched(body, kind="text/html", charset="utf-8"):
    return FetchedPage(URL, kind, charset, body if isinstance(body, bytes) else body.encode())


@pytest.fixture(scope="module")
def worker():
    with Parser(20) as parser:
        yield parser


@pytest.fixture
def one_worker(worker, monkeypatch):
    """Read all pages in one process, which saves starting one for each."""
    monkeypatch.setattr(pages, "Parser", lambda seconds: nullcontext(worker))


def outcome(page, seconds=20):
    """Return the text of a page, or the one line that says why there is none."""
    try:
        return page_document(page, seconds).text
    except FileSkipped as skipped:
        return str(skipped)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", ARTICLE),
        ("application/xhtml+xml", f'<?xml version="1.0" encoding="utf-8"?>\n{ARTICLE}'),
        ("text/markdown", "# Otters\n\nThey sleep.\n\n## Stones\n\nThey open mussels.\n"),
        ("text/plain", "Otters\n\n<b>not</b> *markup*\n"),
    ],
)
def test_a_page_is_read_as_the_same_page_in_a_file(worker, one_worker, tmp_path, kind, body):
    file = tmp_path / f"otters{KINDS[kind]}"
    file.write_text(body, encoding="utf-8")
    ((saved,),) = (part.documents for part in worker.parse(file))
    page = page_document(fetched(body, kind), 20)
    assert page == replace(saved, url=URL)
    assert [heading.text for heading in page.headings] == ["Otters", "Stones"] * (kind != "text/plain")
    if body is ARTICLE:
        assert (page.title, page.author, page.date) == ("Otters | Example", "Ann Lee", "2024-03-05")
        assert page.text.startswith("Otters\n\nOtters hold hands") and page.text.endswith("no layer of fat.")


TEXT = "Das Café in der Straße öffnet für Gäste täglich um zehn Uhr. " * 5


@pytest.mark.parametrize(
    ("encoded_as", "header", "meta"),
    [
        ("utf-8", "iso-8859-1", "windows-1252"),
        ("utf-16", "utf-8", ""),
        ("cp1252", "windows-1252", "utf-8"),
        ("cp1252", "utf-8", "windows-1252"),
        ("cp1252", "punycode", ""),
        ("koi8-r", "KOI8-R", ""),
    ],
)
def test_what_the_header_says_of_the_encoding_counts_where_it_can_be_true(one_worker, encoded_as, header, meta):
    text = "Выдры спят, держась за руки." if encoded_as == "koi8-r" else TEXT.strip()
    source = f'<html><head><meta charset="{meta}"></head><body><p>{text}</p></body></html>'
    assert outcome(fetched(source.encode(encoded_as), charset=header)) == text


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (fetched(""), "is empty"),
        (fetched("<html></html>"), "is empty"),
        (fetched("<script>var x = 1</script>"), "is empty"),
        (fetched(b"%PDF-1.7\n%\x00...", "text/plain"), "is binary, not text"),
        (fetched(bytes(range(32)) * 50, charset="koi8-r"), "is binary, not text"),
        (fetched("<p>Red \x1b[31mtext\x9b\u202e and&#27;[0m more.</p>"), "Red text and more."),
        (fetched("<!--" * 100_000 + "-->words"), "words"),
    ],
)
def test_what_is_left_of_a_page(one_worker, page, expected):
    assert outcome(page) == expected


def test_a_page_that_takes_too_long_is_given_up_and_reading_can_be_stopped():
    assert outcome(fetched(ENDLESS), 0.3) == "took longer than 0.3 s to read"
    stop = Cancel()
    threading.Timer(0.2, stop.stop).start()
    with cancel.scope(stop), pytest.raises(Stopped):
        page_document(fetched(ENDLESS), 60)


def test_nothing_that_a_page_names_is_fetched(one_worker):
    with WebServer() as web:
        link = web.url("/secret")
        web.pages["/"] = html(
            f'<!DOCTYPE html SYSTEM "{link}"><html><head><base href="{link}"><link rel="canonical" href="{link}">'
            f'<meta http-equiv="refresh" content="0; url={link}"><script src="{link}"></script></head><body>'
            f'<img src="{link}"><iframe src="{link}"></iframe><p>Some words to read here.</p></body></html>'
        )
        assert read_page(web.url(), 20, loopback(web)).text == "Some words to read here."
        assert [request.path for request in web.requests] == ["/"]


@pytest.mark.parametrize("error", [OSError(28, "no space"), RuntimeError("a parser\nfell over")])
def test_whatever_goes_wrong_is_one_line(monkeypatch, error):
    monkeypatch.setattr(pages, "Parser", lambda seconds: (_ for _ in ()).throw(error))
    with WebServer() as web, pytest.raises(FileSkipped, match=r"^cannot be read \([ \w]+\)$"):
        web.pages["/"] = reply(b"text")
        read_page(web.url(), 20, loopback(web))


# --- the results of a search

RESULTS = [SearchResult(f"https://a.test/{number}", f"title {number}", f"snippet {number}") for number in range(3)]


def test_a_page_that_cannot_be_read_leaves_its_snippet():
    def read(url):
        if url != RESULTS[0].url:
            raise FileSkipped("a.test answered 404 Not Found")
        return LoadedDocument("Glass\n\ncosts 90.", url="https://a.test/new/", date="2026-05-01", author="Ann Lee")

    made, notes = documents([*RESULTS[:2], replace(RESULTS[2], body="")], read)
    assert [document.page_content for document in made] == ["Glass\n\ncosts 90.", "snippet 1"]
    assert made[0].metadata.pop("chunk_id") != made[1].metadata["chunk_id"]
    assert made[0].metadata == {
        "source": "a.test/new",
        "title": "title 0",
        "page": None,
        "heading": "",
        "start": 0,
        "end": 16,
        "score": 0.0,
        "rank_score": 1 / 61,
        "origin": "web",
        "url": "https://a.test/new/",
        "date": "2026-05-01",
        "author": "Ann Lee",
    }
    assert notes == [
        "https://a.test/1: a.test answered 404 Not Found; its snippet is used",
        "https://a.test/2: a.test answered 404 Not Found; nothing of it is used",
    ]


def test_two_links_to_one_endless_page_are_one_document_cut_with_a_note():
    made, notes = documents(RESULTS[:2], lambda url: LoadedDocument("x" * 200_000, url="https://a.test/"))
    assert [document.metadata["end"] for document in made] == [CHARACTERS]
    assert notes[0] == "https://a.test/0: only its first 100,000 characters are used"


def test_a_stop_that_one_page_saw_is_passed_on():
    def read(url):
        raise DeadlineExceeded("out of time")

    with pytest.raises(DeadlineExceeded):
        documents(RESULTS, read)


# --- only public hosts and addresses are fetched from


PUBLIC = """93.184.216.34 8.8.8.8 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 100.63.255.255 100.128.0.1
223.255.255.254 2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450:4001:81b::200e 64:ff9b::808:808""".split()

REFUSED = """127.0.0.1 127.255.255.254 0.0.0.0 ::1 :: 10.0.0.3 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1
100.64.0.1 100.127.255.255 198.18.0.1 198.19.255.255 0.1.2.3 fc00::1 fd12::1 169.254.1.1 fe80::1 169.254.169.254
169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 224.0.0.1 239.255.255.250 ff02::1 ff05::1:3
192.0.0.8 192.88.99.1 240.0.0.1 255.255.255.255 2001:db8::1 3fff::1 4000::1 5f00::1 fec0::1 ::7f00:1 ::a00:3
::ffff:8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.3 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b::a00:3 64:ff9b::6464:64c8 64:ff9b:1::808:808 2002:7f00:1::1 2002:c0a8:101::1 2002:808:808::1
2001:0:808:808::f5ff:fffc 2606:4700::1%eth0 fe80::1%eth0""".split()

NAMES = {
    "": "example.org www.example.org xn--bcher-kva.example a_b.example.org 1.de",
    "unusual form": "2130706433 0x7f.1 0x7f000001 127.1 0177.0.0.1 017700000001 1.2.3.4.5 a.0x",
    "this machine": "localhost a.localhost printer.local metadata.google.internal router.lan a.home.arpa x.onion",
    "no name": f"a..b .a a. -a.org a-.org a%2eb.org a:b.org a\\b.org ex!ample.org [::1] bücher.example {'a' * 64}.org",
}


@pytest.mark.parametrize(
    ("address", "is_public"), [*((one, True) for one in PUBLIC), *((one, False) for one in REFUSED)]
)
def test_only_public_addresses_are_fetched_from(address, is_public):
    assert bool(refused_address(ip_address(address))) is not is_public


@pytest.mark.parametrize(("name", "reason"), [(name, why) for why, names in NAMES.items() for name in names.split()])
def test_local_names_are_not_looked_up(name, reason):
    assert reason in refused_name(name) and bool(reason) is bool(refused_name(name))


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (["10.0.0.3"], "refused: example.org is 10.0.0.3, not a public address"),
        (["93.184.216.34", "192.168.1.1"], "refused: example.org is 192.168.1.1, not a public address"),
        (["2606:4700::1", "fe80::1%lo"], "refused: example.org is fe80::1%lo, not a public address"),
        (["nonsense"], "example.org has no address"),
        (["93.184.216.34", "2606:4700::1", "93.184.216.34"], "93.184.216.34 2606:4700::1"),
    ],
)
def test_every_address_of_a_name_must_be_public(monkeypatch, found, line):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (text, 443)) for text in found])
    monkeypatch.setattr(addresses, "refused_neighbour", lambda _: "")
    try:
        assert " ".join(map(str, public_addresses("example.org", 443))) == line
    except FileSkipped as skipped:
        assert str(skipped) == line
