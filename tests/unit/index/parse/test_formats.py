from pathlib import Path

import pytest
from support.hostile import (
    SENTENCE,
    docx_members,
    docx_paragraph,
    docx_styles,
    epub_members,
    make_pdf,
    make_zip,
)
from support.loading import document_of, outline, reason, write

from local_rag.index.parse.parts import load
from local_rag.index.parse.pdf import ranges

# --- PDF -------------------------------------------------------------------------------------------------------


def test_pdf_pages_are_numbered_and_the_missing_ones_named(tmp_path):
    parsed = load(make_pdf(tmp_path / "a.pdf", ["First page.", "", "Third page."], title="The lamp", drawn=True))
    assert [(d.page, d.text, d.title) for d in parsed.documents] == [
        (1, "First page.", "The lamp"),
        (3, "Third page.", "The lamp"),
    ]
    assert parsed.warnings == ("page 2 has no text layer (scanned?)",)


def test_pdf_title_is_not_the_name_of_a_file(tmp_path):
    assert document_of(make_pdf(tmp_path / "a.pdf", ["Text."], title="Microsoft Word - draft7.docx")).title == ""


def test_pdf_lines_become_paragraphs_and_broken_words_whole(tmp_path):
    lines = [
        "Routine",
        "The keeper climbs the tower before dusk and lights the lamp with a long",
        "match; the oil must be warm, and the well-known rule is that no light is ex-",
        "tinguished before dawn. A spare wick lies in the drawer below the old well-",
        "known lens.",
        "1. Trim the wick",
        "2. Fill the oil",
    ]
    text = document_of(make_pdf(tmp_path / "a.pdf", ["\n".join(lines)])).text
    assert text.startswith("Routine\n\nThe keeper climbs")
    assert "a long match; the oil" in text
    assert "no light is extinguished before dawn" in text
    assert "the old well-known lens.\n\n1. Trim the wick\n2. Fill the oil" in text


def test_pdf_forms_keep_their_lines(tmp_path):
    lines = ["Name Gabriel", "Year 2022", "Claim 1008", "Make Jeep", "Colour white", "Odometer 9,800", "Total 5,738"]
    assert document_of(make_pdf(tmp_path / "a.pdf", ["\n".join(lines)])).text == "\n".join(lines)


def test_page_ranges():
    assert ranges([2, 5, 6, 7, 9]) == "pages 2, 5-7, 9"
    assert ranges([4]) == "page 4"


# --- DOCX and EPUB ---------------------------------------------------------------------------------------------


def test_docx_headings_tables_and_title(tmp_path):
    row = "<w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>"
    table = row.format(docx_paragraph("Lamp"), docx_paragraph("Oil")) + row.format(
        docx_paragraph("north"), docx_paragraph("2 l")
    )
    body = (
        docx_paragraph("Ledger of the tower", "Title")
        + docx_paragraph("Oil", "Heading1")
        + docx_paragraph(SENTENCE)
        + docx_paragraph("Gear", "Heading2")
        + f"<w:tbl>{table}</w:tbl>"
    )
    members = docx_members(body) | {"word/styles.xml": docx_styles("Title", "heading 1", "heading 2")}
    members["word/styles.xml"] = members["word/styles.xml"].replace(b'"heading', b'"Heading')
    document = document_of(make_zip(tmp_path / "a.docx", members))
    assert document.title == "Ledger of the tower"
    assert outline(document) == [(1, "Ledger of the tower"), (1, "Oil"), (2, "Gear")]
    assert "Lamp | Oil\nnorth | 2 l" in document.text


def test_docx_equations_are_named_as_not_read(tmp_path):
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    equation = f'<w:p><m:oMath xmlns:m="{math}"><m:r><m:t>x</m:t></m:r></m:oMath></w:p>'
    parsed = load(make_zip(tmp_path / "a.docx", docx_members(docx_paragraph(SENTENCE) + equation)))
    assert parsed.warnings == ("its equations were not read",)


def test_docx_under_a_password_is_named(tmp_path):
    path = tmp_path / "a.docx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"))
    assert "password" in reason(path)


def test_epub_is_read_in_the_order_of_its_spine(tmp_path):
    chapters = {
        "z.xhtml": "<h2>Dusk</h2><p>lit</p>",
        "a.xhtml": "<p>dark &nbsp;&eacute;</p>",
        "m.xhtml": "<h2>Dawn</h2>",
    }
    toc = '<li><a href="z.xhtml">Dusk</a></li><li><a href="a.xhtml#top">Night</a></li>'
    document = document_of(make_zip(tmp_path / "a.epub", epub_members(chapters, toc)))
    assert document.title == "Lamps & Ledgers"
    assert document.text == "Dusk\n\nlit\n\nNight\n\ndark é\n\nDawn"
    assert outline(document) == [(2, "Dusk"), (1, "Night"), (2, "Dawn")]


def test_epub_under_drm_is_skipped_and_one_with_obfuscated_fonts_is_read(tmp_path):
    def protected(algorithm: str) -> Path:
        lock = f'<e><EncryptionMethod xmlns="http://www.w3.org/2001/04/xmlenc#" Algorithm="{algorithm}"/></e>'
        extra = {"META-INF/encryption.xml": lock.encode()}
        return make_zip(tmp_path / "a.epub", epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"}, extra=extra))

    assert reason(protected("http://www.w3.org/2001/04/xmlenc#aes256-cbc")) == "is encrypted (DRM)"
    assert document_of(protected("http://www.idpf.org/2008/embedding")).text == SENTENCE


def test_epub_names_the_chapters_it_lacks(tmp_path):
    members = epub_members({"a.xhtml": "<p>lit</p>", "b.xhtml": "<p>dark</p>"})
    del members["OPS/b.xhtml"]
    assert load(make_zip(tmp_path / "a.epub", members)).warnings == ("chapters not found in the file: b.xhtml",)


def test_a_zip_above_200_mb_is_refused(tmp_path):
    path = make_zip(tmp_path / "a.epub", epub_members({"a.xhtml": "x"}, extra={"OPS/x.bin": bytes(201_000_000)}))
    assert reason(path) == "unzips to more than 200 MB: a zip bomb?"


# --- mail, tables and JSON -------------------------------------------------------------------------------------

MAIL = (
    "From: Ada <ada@example.org>\nTo: Bo <bo@example.org>\nDate: Tue, 3 Mar 2026 08:00:00 +0000\n"
    "Subject: =?utf-8?q?The_l=C3=A4mp?=\nMIME-Version: 1.0\n"
)
MULTIPART = (
    MAIL + 'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/html; charset=iso-8859-1\n'
    "Content-Transfer-Encoding: quoted-printable\n\n<p>It is <b>br=E9ve</b>.</p>\n--b\n"
    'Content-Type: image/png; name="chart.png"\nContent-Disposition: attachment; filename="chart.png"\n'
    "Content-Transfer-Encoding: base64\n\nAAAA\n--b--\n"
)


def test_eml_with_html_and_an_attachment(tmp_path):
    parsed = load(write(tmp_path, "a.eml", MULTIPART))
    (document,) = parsed.documents
    assert document.title == "The lämp"
    assert document.text.startswith(
        "Subject: The lämp\nFrom: Ada <ada@example.org>\nTo: Bo <bo@example.org>\nDate: Tue, 03 "
    )
    assert document.text.endswith("\n\nIt is bréve.")
    assert parsed.warnings == ("attachments were not read: chart.png",)


def test_eml_without_a_header_is_damaged(tmp_path):
    assert reason(write(tmp_path, "a.eml", "just some words\n")) == "is damaged (no header of a mail in it)"


def test_mbox_is_one_document_per_message(tmp_path):
    text = "".join(f"From ada Tue Mar  3 08:00:00 2026\nSubject: Night {n}\n\nLamp {n} was lit.\n\n" for n in (1, 2))
    documents = load(write(tmp_path, "a.mbox", text)).documents
    assert [(d.title, d.text) for d in documents] == [
        (f"Night {n}", f"Subject: Night {n}\n\nLamp {n} was lit.") for n in (1, 2)
    ]
    assert "no message" in reason(write(tmp_path, "b.mbox", "nothing\n"))


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("a.json", '{"lamp": {"oil": 2, "lit": true}, "by": ["Ada", "Bo"]}', "lamp: oil: 2; lit: true\n\nby: Ada, Bo"),
        ("a.json", '[{"a": 1, "b": {"c": "x"}}, {"a": 2, "d": null}]', "a: 1; b.c: x\n\na: 2"),
        ("a.json", '{"nights": [{"n": 1}, {"n": 2}]}', "nights: n: 1\n\nnights: n: 2"),
        ("a.json", '{"lamp": ', '{"lamp": '),
        ("a.jsonl", '{"a": 1}\n{broken\n\n{"a": 2}\n', "a: 1\n\n{broken\n\na: 2"),
    ],
)
def test_records_are_quotable_lines(tmp_path, name, text, read):
    assert document_of(write(tmp_path, name, text)).text == read


def test_a_page_is_headed_by_its_first_line_unless_it_is_a_sentence_or_that_of_other_pages(tmp_path):
    rest = "\n".join(f"the keeper trims the wick on night {night}." for night in range(3))
    lines = [
        "Costs of oil",
        "Wicks and glass",
        "Item 3. Repairs.",
        "It was lit.",
        "1,200 1,400 1,600 (oil)",
        "and so on",
    ]
    pages = [f"Ledger of the tower, page {number}\n{line}\n{rest}" for number, line in enumerate(lines, 1)]
    parsed = load(make_pdf(tmp_path / "a.pdf", pages))
    headings = [document.headings[0].text if document.headings else "" for document in parsed.documents]
    assert headings == ["Costs of oil", "Wicks and glass", "Item 3. Repairs.", "", "", ""]
    first = parsed.documents[0]
    assert first.text[first.headings[0].start :].startswith("Costs of oil")
    assert not document_of(make_pdf(tmp_path / "b.pdf", [pages[0]])).headings, "a title says as much"
