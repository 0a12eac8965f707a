import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from support.hostile import SENTENCE, epub_members, make_good, make_hostile, make_zip
from support.loading import document_of, outline, reason, write

from local_rag.core.documents import Heading, LoadedDocument
from local_rag.index.parse import parsed_file
from local_rag.index.parse.loaders import LOADERS, loader
from local_rag.index.parse.parsed_file import ParsedFile
from local_rag.index.parse.parts import load
from local_rag.text.encoding import decode

# --- text ------------------------------------------------------------------------------------------------------


def test_line_ends_and_control_characters_are_normalised(tmp_path):
    path = write(tmp_path, "a.txt", "one\r\ntwo\rthree\fred\x00 bl\u00adue \x1b[31mgreen\x1b[0m \u202eabc\n")
    assert document_of(path).text == "one\ntwo\nthree\nred blue green abc\n"


def test_lone_surrogates_are_replaced(tmp_path):
    assert document_of(write(tmp_path, "a.json", '{"name": "x\\ud800y"}')).text == "name: x\ufffdy"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "Größe, naïve, 12 €"),
        ("utf-16", "Größe"),
        ("utf-16-le", "The lamp is lit at dusk"),
        ("utf-32-be", "The lamp is lit at dusk"),
        ("cp1252", "L’été dernier, nous avons mangé à la crêperie où l’on sert des galettes très salées."),
        ("cp1251", "Смотритель зажигает маяк каждый вечер на закате и гасит его на рассвете."),
        ("euc_jp", "灯台守は毎晩日没に灯をともし、夜明けに消す。島には他に誰もいない。"),
        ("iso2022_jp", "灯台守は毎晩日没に灯をともす。"),
        ("iso8859-2", "Každý večer za soumraku strážce rozžíhá žárovku majáku a ráno ji opět zháší, že ano."),
    ],
)
def test_encodings(encoding, text):
    assert decode(text.encode(encoding)) == text


def test_a_declared_encoding_is_used_unless_the_bytes_are_utf8():
    assert decode("Zażółć gęślą jaźń".encode("iso8859-2"), "iso-8859-2") == "Zażółć gęślą jaźń"
    assert decode("Zażółć".encode(), "iso-8859-2") == "Zażółć"
    assert decode("“smart” quotes".encode("cp1252"), "latin1") == "“smart” quotes"


def test_a_few_bad_bytes_leave_a_text_utf8():
    damaged = ("Größe und Höhe. " * 50).encode() + b"\xff" + "Größe".encode()
    assert decode(damaged).startswith("Größe und Höhe. ")


# --- headings --------------------------------------------------------------------------------------------------

MARKDOWN = """---
title: "The Lamp"
---
# Keeper's *log* { #log }

Text.

```sh
# not a heading
```

Night watch
-----------

## See [the chart](chart.md) ##

| a | b |
|---|---|
para
---
"""


def test_markdown_headings_and_front_matter(tmp_path):
    document = document_of(write(tmp_path, "a.md", MARKDOWN))
    assert document.title == "The Lamp"
    assert [heading[1] for heading in outline(document)] == ["Keeper's log", "Night watch", "See the chart"]
    assert [heading[0] for heading in outline(document)] == [1, 2, 2]
    assert document.text == MARKDOWN


def test_markdown_title_is_the_outermost_heading(tmp_path):
    assert document_of(write(tmp_path, "a.md", "## Second\n\n# First\n\n# Third\n")).title == "First"


def test_rst_levels_follow_the_order_of_the_adornments(tmp_path):
    wicks = "Wicks of :ref:`cotton <c>`\n~~~~~~~~~~~~~~~~~~~~~~~~~~~"
    text = f"Lamps\n=====\n\nA list::\n\n   x\n   -----\n\nOil\n---\n\n{wicks}\n\nGas\n---\n\n----\n\nend\n"
    document = document_of(write(tmp_path, "a.rst", text))
    assert outline(document) == [(1, "Lamps"), (2, "Oil"), (3, "Wicks of cotton"), (2, "Gas")]
    assert document.title == "Lamps"


def test_rst_overlined_titles_start_at_their_overline(tmp_path):
    document = document_of(write(tmp_path, "a.rst", "=====\nLamps\n=====\n\nOil\n=====\n"))
    assert document.headings == (Heading(0, 1, "Lamps"), Heading(19, 2, "Oil"))


# --- HTML ------------------------------------------------------------------------------------------------------

ARTICLE = " ".join(
    f"Paragraph {n} tells how the keeper of the lighthouse trims the wick on night {n}." for n in range(9)
)
PAGE = f"""<!DOCTYPE html><html><head><title>Night &amp; lamp</title><script>var secret = 1</script></head><body>
<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
<article><h1>The night lamp</h1><p>{ARTICLE}</p><h2>Oil&shy;ing the <em>gear</em></h2>
<p>{ARTICLE.replace("wick", "gear")} Use <code>oilcan</code>, not <b>but</b>ter.</p>
<pre>step one
  step two</pre>
<ul><li>lamp<ul><li>glass</li></ul></li><li>wick</li></ul>
<table><tr><th>Night</th><th>Oil</th></tr><tr><td><p>first</p></td><td>2&nbsp;l</td></tr></table>
<p style="display: none">hidden words</p></article>
<footer>Imprint of the shop</footer></body></html>"""


def test_html_keeps_the_article_and_its_structure(tmp_path):
    document = document_of(write(tmp_path, "a.html", PAGE))
    assert document.title == "Night & lamp"
    assert outline(document) == [(1, "The night lamp"), (2, "Oiling the gear")]
    assert "Use oilcan, not butter." in document.text
    assert "step one\n  step two" in document.text
    assert "- lamp\n- glass\n- wick" in document.text
    assert "Night | Oil\nfirst | 2 l" in document.text
    for absent in ("secret", "hidden", "Imprint", "Shop"):
        assert absent not in document.text


def test_html_falls_back_to_all_visible_text(tmp_path):
    rows = "".join(f"<div><span>Lamp {n}</span></div><div><span>{n * 7} candela</span></div>" for n in range(40))
    text = document_of(write(tmp_path, "a.html", f"<html><body>{rows}</body></html>")).text
    assert all(f"Lamp {n}\n\n{n * 7} candela" in text for n in range(40))


def test_html_entities_cannot_smuggle_control_characters(tmp_path):
    text = document_of(write(tmp_path, "a.html", "<p>lamp&#x202e; is &#27;[31mlit&#8288;</p>")).text
    assert text.startswith("lamp is") and "\x1b" not in text and "\u202e" not in text


def test_html_declares_its_encoding(tmp_path):
    path = tmp_path / "a.html"
    path.write_bytes('<meta charset="windows-1250"><p>Zażółć gęślą jaźń</p>'.encode("cp1250"))
    assert document_of(path).text == "Zażółć gęślą jaźń"


def test_xml_entities_are_never_expanded(tmp_path):
    secret = write(tmp_path, "secret.txt", "top secret")
    bomb = f'<!DOCTYPE x [<!ENTITY a "boom"><!ENTITY b "&a;&a;&a;"><!ENTITY s SYSTEM "{secret.as_uri()}">]>'
    page = f'{bomb}<html xmlns="http://www.w3.org/1999/xhtml"><body><p>lamp &b; &s; &eacute;</p></body></html>'
    members = epub_members({"a.xhtml": "x"}) | {"OPS/a.xhtml": page.encode()}
    text = document_of(make_zip(tmp_path / "a.epub", members)).text
    assert text.startswith("lamp") and text.endswith("é")
    assert "boom" not in text and "secret" not in text


# --- all together ----------------------------------------------------------------------------------------------


def test_unknown_suffixes_are_read_when_they_are_text(tmp_path):
    assert document_of(write(tmp_path, "a.lampnotes", SENTENCE)).text == SENTENCE
    (tmp_path / "a.nxt").write_bytes(b"PK\x03\x04" + bytes(200))
    assert reason(tmp_path / "a.nxt").startswith("no loader for .nxt files; it reads .md .txt")


def test_known_names_and_suffixes():
    assert loader(Path("src/Makefile")) and loader(Path("a.PY")) and not loader(Path("a.nxt"))
    assert {".md", ".txt", ".rst", ".html", ".pdf", ".docx", ".epub", ".eml", ".mbox", ".csv", ".jsonl"} <= set(LOADERS)


def test_too_much_text_is_skipped_with_the_numbers(tmp_path, monkeypatch):
    assert parsed_file.MAX_CHARACTERS == 50_000_000
    monkeypatch.setattr(parsed_file, "MAX_CHARACTERS", 50_000)
    path = tmp_path / "a.txt"
    path.write_bytes(b"lamp " * 10_001)
    assert reason(path) == "holds 50,005 characters of text, up to 50,000 are read"


def test_hostile_files_are_skipped_with_a_reason(tmp_path):
    expected = make_hostile(tmp_path)
    for name in expected.keys() - {"circle.txt", "pipe.txt"}:  # the parser and the walk see to these
        assert expected[name] in reason(tmp_path / name), name


def test_odd_files_are_read(tmp_path):
    for path in make_good(tmp_path, huge=10_000_000):
        assert SENTENCE in " ".join(document.text for document in load(path).documents), path.name


@given(
    st.text(), st.text(max_size=20), st.none() | st.integers(1, 99), st.lists(st.tuples(st.integers(0, 9), st.text()))
)
def test_parsed_travels_unchanged(text, title, page, headings):
    document = LoadedDocument(text, title, page, tuple(Heading(start, 1, heading) for start, heading in headings))
    parsed = ParsedFile((document,), (title,))
    assert TypeAdapter(ParsedFile).validate_json(json.dumps(asdict(parsed))) == parsed
