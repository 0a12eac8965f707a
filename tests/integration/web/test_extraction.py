"""A fetched page becomes text; a hostile one becomes one line, in time."""

from __future__ import annotations

import subprocess
import threading

import pytest
from support.web_server import WebServer

from local_rag.core import cancel
from local_rag.core.cancel import Cancel
from local_rag.core.errors import Stopped
from local_rag.text.encoding import declared_charset, decode, known_encoding
from local_rag.web.body import FetchRefused
from local_rag.web.extraction import extract, read
from local_rag.web.fetch import FetchedPage

URL = "https://example.org/a/page"
ARTICLE = """<!doctype html><html><head><title>Otters | Example</title>
<meta property="article:published_time" content="2024-03-05T10:00:00Z">
<style>p { color: red }</style><script>document.write("written by a script")</script></head>
<body><nav><a href="/">Home</a> <a href="/all">All of our pages</a></nav>
<article><h1>Otters</h1><p>Otters hold hands while they sleep, so that the current does not part them.</p>
<p>They keep a favourite stone in a pouch under the arm, and open mussels with it.</p>
<p>An otter eats a quarter of its weight every day, because it has no layer of fat.</p></article>
<footer>Imprint and other words</footer></body></html>"""


def fetched(body, kind="text/html", charset="utf-8"):
    return FetchedPage(URL, URL, kind, charset, body.encode() if isinstance(body, str) else body)


def refusal(body, kind="text/html", **more):
    with pytest.raises(FetchRefused) as caught:
        extract(fetched(body, kind), **more)
    line = str(caught.value)
    assert line and "\n" not in line and len(line) < 200
    return line


def test_a_page_in_a_process_of_its_own():
    page = extract(fetched(ARTICLE))
    assert page.url == URL and page.date == "2024-03-05" and page.title.startswith("Otters")
    assert "Otters hold hands while they sleep" in page.text and "a quarter of its weight" in page.text
    for unwanted in ("All of our pages", "Imprint", "written by a script", "color: red"):
        assert unwanted not in page.text


def test_a_page_without_a_title_is_called_by_its_address():
    assert extract(fetched("Just text.", "text/plain")).title == "example.org/a/page"


@pytest.mark.parametrize("kind", ["text/plain", "text/markdown"])
def test_plain_text_is_taken_as_it_is(kind):
    text = "# Title\r\n\r\n<b>not</b> *markup*\n"
    assert read(text.encode(), kind, "") == {
        "title": "",
        "date": "",
        "author": "",
        "text": "# Title\n\n<b>not</b> *markup*",
    }


def test_xhtml_with_its_declaration():
    source = f'<?xml version="1.0" encoding="utf-8"?>\n{ARTICLE}'
    assert "Otters hold hands" in read(source.encode(), "application/xhtml+xml", "")["text"]


@pytest.mark.parametrize("body", ["", " \n ", "<html></html>", "<html><body><script>var x = 1</script></body></html>"])
def test_nothing_to_read(body):
    assert read(body.encode(), "text/html", "") == {"refused": "no readable text"}


def test_the_line_of_an_empty_page():
    assert refusal("") == "no readable text"


@pytest.mark.parametrize(
    "body", [b"%PDF-1.7\n%\x00...", b"PK\x03\x04...", bytes(range(32)) * 50, b"\x1f\x8b\x08\x00..."]
)
def test_what_is_not_text_is_refused_whatever_it_says(body):
    for kind in ("text/html", "text/plain"):
        assert read(body, kind, "utf-8") == {"refused": f"says that it is {kind}, and is not text"}


def test_no_control_characters_come_through():
    hostile = (
        "<html><head><title>A\x1b]0;title\x07 b\u202e</title></head><body><p>Red \x1b[31mtext\x9b and&#27;[0m more.</p>"
    )
    page = read(hostile.encode(), "text/html", "utf-8")
    said = page["title"] + page["text"]
    assert "text" in said and not any(letter in said for letter in "\x1b\x07\x9b\u202e\x00")
    assert "\x1b" not in read(b"a \x1b[2Jb", "text/plain", "")["text"]


def test_where_too_little_is_found_all_visible_text_is_taken():
    rows = "".join(f"<div><b>Term {number}</b><div>meaning of number {number}</div></div>" for number in range(40))
    text = read(f"<html><body><p>Short.</p>{rows}<nav>Menu</nav></body></html>".encode(), "text/html", "")["text"]
    assert "meaning of number 0" in text and "meaning of number 39" in text


def test_a_number_in_the_text_is_no_date():
    text = "<html><body><p>" + "In 1995 there were 12 of them, and a fox jumped over a lazy dog. " * 20 + "</p>"
    assert read(text.encode(), "text/html", "")["date"] == ""


@pytest.mark.parametrize(
    ("encoded_as", "header", "meta"),
    [
        ("utf-8", "utf-8", "utf-8"),
        ("utf-8", "iso-8859-1", "windows-1252"),
        ("utf-8", "", ""),
        ("utf-8-sig", "iso-8859-1", ""),
        ("utf-16", "utf-8", ""),
        ("utf-16-le", "", ""),
        ("utf-8", "utf-16", "utf-16"),
        ("cp1252", "utf-8", "windows-1252"),
        ("cp1252", "", "iso-8859-1"),
        ("cp1252", "windows-1252", ""),
        ("cp1252", "utf-8", ""),
        ("cp1252", "no-such-charset", "punycode"),
        ("cp1252", "iso-8859-1", "utf-16"),
    ],
)
def test_a_wrong_charset_does_no_harm(encoded_as, header, meta):
    text = "Das Café in der Straße öffnet für Gäste täglich um zehn Uhr – „pünktlich“, schrieb Frau Müller. " * 5
    source = f'<!doctype html><html><head><meta charset="{meta}"></head><body><p>{text}</p></body></html>'
    body = source.encode(encoded_as)
    assert text in decode(body, header, declared_charset(body))


@pytest.mark.parametrize(
    ("encoded_as", "header", "text"),
    [
        ("shift_jis", "Shift_JIS", "カワウソは手をつないで眠る。"),
        ("iso2022_jp", "ISO-2022-JP", "カワウソは手をつないで眠る。"),
        ("euc_jp", "EUC-JP", "カワウソは手をつないで眠る。"),
        ("gbk", "GB2312", "水獭睡觉时手拉手。"),
        ("big5", "Big5", "水獺睡覺時手拉手。"),
        ("cp949", "EUC-KR", "수달은 손을 잡고 잔다."),
        ("koi8-r", "KOI8-R", "Выдры спят, держась за руки."),
        ("cp1251", "windows-1251", "Выдры спят, держась за руки."),
    ],
)
def test_charsets_of_the_web(encoded_as, header, text):
    assert decode(text.encode(encoded_as), header) == text


def test_one_damaged_byte_does_not_change_the_charset():
    text = "Café, Straße, täglich, Müller, über, schön. " * 20
    assert "täglich" in decode(text.encode() + b"\xff" + text.encode())


@pytest.mark.parametrize(
    "label", ["punycode", "idna", "unicode_escape", "utf-7", "zip", "rot13", "hex", "", "\x00", "x" * 999]
)
def test_encodings_that_are_none_of_texts_are_not_used(label):
    assert known_encoding(label) == ""


def test_nothing_is_fetched():
    """Neither what a page names nor a page that is nothing but an address, which htmldate would open as a string."""
    with WebServer() as web:
        link = web.url("/secret")
        for body in (
            link,
            f"<html>{link}</html>",
            f'<!DOCTYPE html SYSTEM "{link}"><html><head><base href="{link}"><link rel="canonical" href="{link}">'
            f'<meta http-equiv="refresh" content="0; url={link}"><script src="{link}"></script></head><body>'
            f'<img src="{link}"><iframe src="{link}"></iframe><p>Some words to read here.</p></body></html>',
            f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "{link}">]><html><body>words &e;</body></html>',
        ):
            for kind in ("text/html", "application/xhtml+xml"):
                read(body.encode(), kind, "")
        assert not web.requests


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 200_000 + "deep",
        "<" * 500_000,
        "<html><body><p>" + "&" * 100_000,
        "<table>" * 5_000,
        "<!--" * 100_000,
        "<html><head><title>" + "a - b | " * 10_000,
    ],
    ids=["deep", "brackets", "ampersands", "tables", "comments", "title"],
)
def test_broken_pages_end_in_text_or_a_line(body):
    assert set(read(body.encode(), "text/html", "")) in ({"title", "date", "author", "text"}, {"refused"})


def test_a_page_that_takes_too_long_is_given_up():
    attributes = " ".join(f"a{number}=1" for number in range(100_000))
    assert (
        refusal(f"<html><body><p {attributes}>hello</p></body></html>", seconds=0.5) == "took longer than 0.5 s to read"
    )


def test_stopping_ends_reading(monkeypatch):
    attributes = " ".join(f"a{number}=1" for number in range(100_000))
    ended, started = [], subprocess.Popen

    def popen(*words, **more):
        ended.append(started(*words, **more))
        return ended[0]

    monkeypatch.setattr(subprocess, "Popen", popen)
    stop = Cancel()
    threading.Timer(0.2, stop.stop).start()
    with cancel.scope(stop), pytest.raises(Stopped):
        extract(fetched(f"<html><body><p {attributes}>hello</p></body></html>"), seconds=60)
    assert ended[0].returncode is not None


def test_a_folder_cannot_put_its_own_modules_in_the_way(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the current folder')")
    monkeypatch.chdir(tmp_path)
    assert extract(fetched("Just text.", "text/plain")).text == "Just text."


def test_tags_that_html_lets_authors_leave_out_hide_nothing():
    page = read(b"<title>Draft</title><article><p>The draft was held in Detroit.</p></article>", "text/html", "")
    assert (page["title"], page["text"]) == ("Draft", "The draft was held in Detroit.")
