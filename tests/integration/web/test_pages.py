"""A page of the web is read as the same page in a file; one that cannot be read costs one line and nothing else."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import replace

import pytest
from support.web_server import WebServer, html, loopback, reply

from local_rag.core import cancel
from local_rag.core.cancel import Cancel
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import DeadlineExceeded, FileSkipped, Stopped
from local_rag.index.parse.parser import Parser
from local_rag.web import pages
from local_rag.web.fetch import KINDS, FetchedPage
from local_rag.web.pages import CHARACTERS, SearchResult, documents, page_document, read_page

URL = "https://example.org/a/page"
ARTICLE = """<!doctype html><html><head><title>Otters | Example</title><meta name="author" content="Ann Lee">
<meta property="article:published_time" content="2024-03-05T10:00:00Z"><style>p { color: red }</style>
<link rel="canonical" href="https://example.net/otters"><script>document.write("written by a script")</script></head>
<body><nav><a href="/">Home</a> <a href="/all">All of our pages</a></nav>
<article><h1>Otters</h1><p>Otters hold hands while they sleep, so that the current does not part them.</p>
<h2>Stones</h2><p>They keep a favourite stone in a pouch under the arm, and open mussels with it.</p>
<p>An otter eats a quarter of its weight every day, because it has no layer of fat.</p></article>
<footer>Imprint and other words</footer></body></html>"""
ENDLESS = f"<p {' '.join(f'a{number}=1' for number in range(100_000))}>hello</p>".encode()
"""Keeps the parser busy for longer than any test."""


def fetched(body, kind="text/html", charset="utf-8"):
    return FetchedPage(URL, kind, charset, body if isinstance(body, bytes) else body.encode())


@pytest.fixture(scope="module")
def worker():
    with Parser(20) as parser:
        yield parser


@pytest.fixture
def one_worker(worker, monkeypatch):
    """Pages are read by one process, which saves the start of one for each."""
    monkeypatch.setattr(pages, "Parser", lambda seconds: nullcontext(worker))


def outcome(page, seconds=20):
    """What a page is read as: its text, or the one line that says why there is none."""
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
def test_a_page_is_read_as_the_same_page_in_a_file(worker, tmp_path, kind, body):
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


def test_a_page_that_takes_too_long_is_given_up():
    assert outcome(fetched(ENDLESS * 3), 0.5) == "took longer than 0.5 s to read"


def test_reading_can_be_stopped():
    stop = Cancel()
    threading.Timer(0.2, stop.stop).start()
    with cancel.scope(stop), pytest.raises(Stopped):
        page_document(fetched(ENDLESS * 3), 60)


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
