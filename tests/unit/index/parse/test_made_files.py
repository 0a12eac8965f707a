"""Files of office programs, books, PDFs and containers, made here: what the loaders make of them."""

import io
import re
from datetime import datetime
from pathlib import Path

import pytest
from support.files import document_of, load, reason, shown
from support.hostile import (
    SENTENCE,
    docx_members,
    docx_paragraph,
    docx_styles,
    epub_members,
    make_pdf,
    make_zip,
)

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse import loaders, parsed_file, sheets
from local_rag.index.parse.tables import rows
from local_rag.text.chunking import chunk

# --- tables ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        ("|2023|2022;Sales|46,298|51,761;Cost|1,950|",
         "2023 | 2022;Sales | 2023: 46,298 | 2022: 51,761;Cost | 2023: 1,950"),
        ("Costs||;Item|May|June;Oil|5|6", "Costs;Item | May | June;Oil | May: 5 | June: 6"),
        ("Name|Home|Work;Ada|London|Oslo", "Name | Home | Work;Ada | Home: London | Work: Oslo"),
        ("Born|London;Name|Ada", "Born | London;Name | Ada"),
        ("Born|1815;Died|1852", "Born | 1815;Died | 1852"),
        ("Ada|London|36;Bo|Oslo|40", "Ada | London | 36;Bo | Oslo | 40"),
        ("|2023||2022|;Item|Q1|Q2|Q1|Q2;Oil|1|2|3|4", "2023 | 2022;Item | Q1 | Q2 | Q1 | Q2;"
         "Oil | 2023 Q1: 1 | 2023 Q2: 2 | 2022 Q1: 3 | 2022 Q2: 4"),
        ("Item|2023|2023;Item|Q1|Q2;Oil|1|2", "Item | 2023 | 2023;Item | Q1 | Q2;Oil | 2023 Q1: 1 | 2023 Q2: 2"),
        ("Day|Paid|Paid;Monday|5|6", "Day | Paid | Paid;Monday | Paid: 5 | Paid: 6"),
        ("Item|May|June;Oil|5;;Wages;Wick|1|2|more",
         "Item | May | June;Oil | May: 5;Wages;Wick | May: 1 | June: 2 | more"),
        ("Item|May", "Item | May"),
        ("Item|May;Oil\nlamp|5\n%", "Item | May;Oil lamp | May: 5 %"),
    ],
)  # fmt: skip
def test_rows_carry_their_headers(table, lines):
    assert rows([line.split("|") for line in table.split(";")]) == lines.split(";")


def test_a_row_is_cut_only_where_no_passage_holds_it():
    lines = ["Costs", *(f"Key {n} | Note: One. Two. Three. {'Word. ' * (n % 30)}|".strip() for n in range(90))]
    text = "\n".join([*lines, "Long | " + "Word. " * 60])
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    chunks = chunk(LoadedDocument(text), ends, size=40, overlap=0, window=40)
    assert set(lines) <= {line for part in chunks for line in text[part.start : part.end].split("\n")}


def test_a_long_sheet_names_several_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "PLACES", 4)
    (tmp_path / "a.csv").write_text("\n".join(f"lamp number {number}" for number in range(10)))
    found = document_of(tmp_path / "a.csv")
    assert [heading.text for heading in found.headings] == ["rows 1-3", "rows 4-6", "rows 7-9", "row 10"]


# --- files of office programs ------------------------------------------------------------------------------------

NAMES = "office text table presentation meta=meta draw=drawing svg=svg-compatible".split()
ODF = 'xmlns:dc="http://purl.org/dc/elements/1.1/" ' + " ".join(
    f'xmlns:{name.split("=")[0]}="urn:oasis:names:tc:opendocument:xmlns:{name.split("=")[-1]}:1.0"' for name in NAMES
)
META = f"""<office:document-meta {ODF}><office:meta><dc:title>Ledger</dc:title>
<meta:initial-creator>Ada Quill</meta:initial-creator><dc:creator>Bo</dc:creator><dc:date>2024-01-01</dc:date>
<meta:creation-date>2023-03-31T09:30:00</meta:creation-date></office:meta></office:document-meta>"""
CORE = """<c:coreProperties xmlns:c="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Ledger</dc:title>
<dc:creator>Ada Quill;Bo</dc:creator><c:keywords>oil; wicks</c:keywords><dc:description>made by x</dc:description>
<dcterms:created>2023-03-31T09:30:00Z</dcterms:created></c:coreProperties>"""
LEDGER = "[title Ledger][author Ada Quill][date 2023-03-31]"


def odf(path, kind, body, head="", manifest=""):
    members = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"{head}<office:document-content {ODF}><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>",
        "meta.xml": META,
        "META-INF/manifest.xml": f"<manifest:manifest>{manifest}</manifest:manifest>",
    }
    return make_zip(path, {name: text.encode() for name, text in members.items()})


def ods(path):
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    lines = ("".join(map(cell.format, row)) for row in (["Item", "May"], ["Oil", "5"]))
    table = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
    odf(path, "spreadsheet", f'<table:table table:name="Costs">{table}</table:table>')


def odt(path):
    odf(
        path,
        "text",
        """<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="1">Oil</text:h>
<text:p>Two<text:s/>litres<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p>
</text:note-body></text:note> a day.</text:p><text:list><text:list-item><text:p>Lamp</text:p><text:list><text:list-item>
<text:p>Wick</text:p></text:list-item></text:list></text:list-item></text:list>
<text:section><text:h text:outline-level="2">Gear</text:h></text:section><table:table><table:table-row>
<table:table-cell/><table:table-cell table:number-columns-repeated="9999999"><text:p>May</text:p></table:table-cell>
</table:table-row></table:table><text:p>Seen<draw:frame><svg:desc>A lamp at night</svg:desc></draw:frame>.</text:p>""",
    )


def odp(path):
    frame = '<draw:frame presentation:class="{}"><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>'.format
    notes = f"<presentation:notes>{frame('notes', 'Say it.')}</presentation:notes>"
    page = f"<draw:page>{frame('outline', 'Two litres.')}{frame('title', 'Oil')}{notes}</draw:page>"
    odf(path, "presentation", page + f"<draw:page>{frame('outline', 'The end.')}</draw:page>")


def pptx(path):
    from pptx import Presentation

    deck, box = Presentation(), (9, 9, 9, 9)
    deck.core_properties.title, deck.core_properties.author = "Ledger", "Ada Quill"
    deck.core_properties.created = datetime(2023, 3, 31)
    page = deck.slides.add_slide(deck.slide_layouts[5])
    page.shapes.title.text = "Oil"
    table = page.shapes.add_table(2, 2, *box).table
    for at, text in enumerate(["", "2023", "Revenue", "46,298"]):
        table.cell(at // 2, at % 2).text = text
    table = page.shapes.add_table(2, 2, *box).table  # whose first row is marked as a header
    for at, text in enumerate(["Boat", "Time", "Kittiwake", "eleven"]):
        table.cell(at // 2, at % 2).text = text
    page.shapes.add_group_shape().shapes.add_textbox(*box).text_frame.text = "In a group.\nTwo lines."
    page.notes_slide.notes_text_frame.text = "Say it."
    page = deck.slides.add_slide(deck.slide_layouts[6])
    for described in ("A lamp at night", "image1.png"):
        image = io.BytesIO(bytes.fromhex("474946383961010001008000000000000000002c00000000010001000002024401003b"))
        page.shapes.add_picture(image, 0, 0).element.xpath(".//p:cNvPr")[0].set("descr", described)
    deck.save(path)


def xlsx(path):
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        book.set_properties({"title": "Ledger", "author": "Ada Quill", "created": datetime(2023, 3, 31)})
        costs, days = book.add_worksheet("Costs"), book.add_worksheet("Sheet2")
        for row, values in enumerate((["", 2023, 2022], ["Revenue", 46298.0, 0.1 + 0.2], ["Share"], ["Open", True]), 2):
            costs.write_row(row, 1, values)
        costs.write_formula(5, 3, "=1/0", value="#DIV/0!")
        for column, moment in enumerate((datetime(2023, 3, 31), datetime(2023, 3, 31, 9, 30))):
            days.write_datetime(0, column, moment, book.add_format({"num_format": "yyyy-mm-dd hh:mm"}))
        days.write(99_999, 0, "last")
        days.hide()


def docx(path):
    table = "".join(
        f"<w:tr>{''.join(f'<w:tc>{docx_paragraph(cell)}</w:tc>' for cell in row)}</w:tr>"
        for row in (["", "2023"], ["Oil", "5"])
    )
    office = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    math = f'<m:oMath xmlns:m="{office}"><m:r><m:t>x</m:t></m:r></m:oMath>'
    body = docx_paragraph("Ledger of the tower", "Title") + docx_paragraph("Oil", "Heading1") + docx_paragraph("Lit.")
    members = docx_members(f"{body}<w:tbl>{table}</w:tbl><w:p>{math}</w:p>")
    styles = docx_styles("Title", "Heading 1")
    make_zip(path, members | {"word/styles.xml": styles, "docProps/core.xml": CORE.encode()})


def epub(path):
    chapters = {
        "z.xhtml": "<h2>Dusk</h2><p>lit</p>",
        "a.xhtml": "<p>dark &nbsp;&eacute;</p>",
        "m.xhtml": "<h2>Dawn</h2>",
    }
    toc = '<li><a href="z.xhtml">Dusk</a></li><li><a href="a.xhtml#top">Night</a></li>'
    said = """<dc:creator>Ada Quill</dc:creator><dc:creator>Bo</dc:creator><dc:date>1894</dc:date>
<dc:subject>Oil</dc:subject>"""
    members = epub_members(chapters | {"gone.xhtml": ""}, toc, metadata=said)
    del members["OPS/gone.xhtml"]
    make_zip(path, members)


SHEETS = f"""{LEDGER.replace("Ledger", "Ledger » Costs")}<1 Costs>Costs
<9 row 3>2023 | 2022
<9 row 4>Revenue | 2023: 46298 | 2022: 0.3
<9 row 5>Share
<9 row 6>Open | 2023: TRUE | 2022: #DIV/0!
{LEDGER}<1 Sheet2 (hidden)>Sheet2 (hidden)
<9 row 1>2023-03-31 | 2023-03-31 09:30
<9 row 100000>last"""
GOOD = {
    "a.xlsx": (xlsx, SHEETS),
    "a.xls": (xlsx, SHEETS),
    "a.ods": (ods, f"""{LEDGER.replace('Ledger', 'Ledger » Costs')}<1 Costs>Costs
<9 row 1>Item | May
<9 row 2>Oil | May: 5"""),
    "a.odt": (odt, f"""{LEDGER}<1 Oil>Oil

Two litres[1] a day.

[1] A note.

- Lamp
- Wick

<2 Gear>Gear

May

Seen.

Picture: A lamp at night"""),
    "a.odp": (odp, f"[page 1]{LEDGER}<1 Oil>Oil\n\nTwo litres.\n\nNotes: Say it.\n[page 2]{LEDGER}The end."),
    "a.pptx": (pptx, f"""[page 1]{LEDGER}<1 Oil>Oil

2023
Revenue | 2023: 46,298

Boat | Time
Kittiwake | Time: eleven

In a group.
Two lines.

Notes: Say it.
[page 2]{LEDGER}Picture: A lamp at night"""),
    "a.docx": (docx, """[title Ledger][author Ada Quill, Bo][date 2023-03-31][subject oil; wicks]\
<1 Ledger of the tower>Ledger of the tower

<1 Oil>Oil

Lit.

2023
Oil | 2023: 5

x"""),
    "a.epub": (epub, """[title Lamps & Ledgers][author Ada Quill, Bo][date 1894][subject Oil]<2 Dusk>Dusk

lit

<1 Night>Night

dark é

<2 Dawn>Dawnchapters not found in the file: gone.xhtml"""),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_good_files(tmp_path, name):
    make, expected = GOOD[name]
    make(tmp_path / name)
    file = load(tmp_path / name)
    assert "\n".join(map(shown, file.documents)) + "".join(file.warnings) == expected


def test_epub_under_drm_is_skipped_and_one_with_obfuscated_fonts_is_read(tmp_path):
    def protected(algorithm):
        lock = f'<e><EncryptionMethod xmlns="http://www.w3.org/2001/04/xmlenc#" Algorithm="{algorithm}"/></e>'
        extra = {"META-INF/encryption.xml": lock.encode()}
        return make_zip(tmp_path / "a.epub", epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"}, extra=extra))

    assert reason(protected("http://www.w3.org/2001/04/xmlenc#aes256-cbc")) == "is encrypted (DRM)"
    assert document_of(protected("http://www.idpf.org/2008/embedding")).text == SENTENCE


# --- PDF ---------------------------------------------------------------------------------------------------------


def test_pages_of_a_pdf_are_numbered_and_the_missing_ones_named(tmp_path):
    known = {"Title": "The lamp", "Author": "Ada Keeper; EDGAR", "Subject": "Lamps", "Keywords": "oil"}
    pages = ["First page.", "", "Third page."]
    file = load(make_pdf(tmp_path / "a.pdf", pages, known | {"CreationDate": "D:202301011200"}, drawn=True))
    said = "[title The lamp][author Ada Keeper, EDGAR][date 2023-01-01][subject Lamps; oil]"
    assert list(map(shown, file.documents)) == [f"[page 1]{said}First page.", f"[page 3]{said}Third page."]
    assert file.scans == (2,) and not file.warnings


@pytest.mark.parametrize(
    "said",
    """Microsoft Word - draft7.docx|Administrator;untitled|root;draft7.pdf|python-docx;Book1|;
    0001018724-18-000005|https://example.org/ada;https://example.org/lamps|;|LAMPWRITER""".split(";"),
)
def test_a_title_or_an_author_that_a_program_gave_is_none(tmp_path, said):
    title, author = said.strip().split("|")
    known = {"Title": title, "Author": author, "CreationDate": "D:00010101", "Producer": "LAMPWRITER PDF 2.1"}
    path = make_pdf(tmp_path / "a.pdf", ["Text."], known)
    assert shown(document_of(path)) == "[page 1]Text."


def test_the_largest_lines_of_the_first_page_are_the_title(tmp_path):
    body = "\n".join(f"The keeper trims the wick on night number {number}." for number in range(12))
    cases = {f"Lamps and ledgers\nof a tower\n{body}": "Lamps and ledgers of a tower", "Lamps\n\nand oil.": ""}
    for text, title in (cases | {f"4711\n4712\n{body}": ""}).items():
        assert document_of(make_pdf(tmp_path / "a.pdf", [text], large=2)).title == title


def test_lines_become_paragraphs_and_broken_words_whole(tmp_path):
    prose = """Routine
The keeper climbs the tower before dusk and lights the lamp with a long
match; the oil must be warm, and the well-known rule is that no light is ex-
tinguished before dawn. A spare wick lies in the drawer below the old well-
known lens.
1. Trim the wick
2. Fill the oil"""
    assert document_of(make_pdf(tmp_path / "a.pdf", [prose])).text == (
        "Routine\n\nThe keeper climbs the tower before dusk and lights the lamp with a long match; the oil must be "
        "warm, and the well-known rule is that no light is extinguished before dawn. A spare wick lies in the drawer "
        "below the old well-known lens.\n\n1. Trim the wick\n2. Fill the oil"
    )
    form = "Name Gabriel\nYear 2022\nClaim 1008\nMake Jeep\nColour white\nOdometer 9,800\nTotal 5,738"
    assert document_of(make_pdf(tmp_path / "a.pdf", [form])).text == form


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
    found = [shown(page).partition("<1 ")[2] for page in load(make_pdf(tmp_path / "a.pdf", pages)).documents]
    assert [text.partition(">")[0] for text in found] == [*lines[:3], "", "", ""]
    assert all(not text or text.partition(">")[2].startswith(line) for text, line in zip(found, lines, strict=True))
    assert not document_of(make_pdf(tmp_path / "b.pdf", [pages[0]])).headings, "a title says as much"


# --- files inside of files -----------------------------------------------------------------------------------------

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAIL = """From: Ada <ada@example.org>
Subject: Oil
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b

See what is attached.
--b
Content-Type: text/csv; name="costs.csv"
Content-Disposition: attachment; filename="../costs.csv"

Item,May
Oil,5
--b
Content-Disposition: attachment; filename="costs.csv"

Item,June
Oil,6
--b
Content-Disposition: attachment; filename="lamp.png"
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--b
Content-Type: message/rfc822

Subject: Forwarded
From: Bo <bo@example.org>

Two litres.
--b--
"""


def inside(file):
    return {member.name: "\n".join(document.text for document in member.documents) for member in file.members}


def test_attachments_are_read_as_files_of_their_own(tmp_path):
    (tmp_path / "a.eml").write_text(MAIL)
    file = load(tmp_path / "a.eml")
    assert file.documents[0].text.endswith("See what is attached.")
    assert inside(file) == {
        "costs.csv": "Item | May\nOil | May: 5",
        "costs (2).csv": "Item | June\nOil | June: 6",
        "Forwarded.eml": "Subject: Forwarded\nFrom: Bo <bo@example.org>\n\nTwo litres.",
    }
    assert file.warnings == ("inside of it was not read: lamp.png (is no image of a kind that is read, or is damaged)",)


def test_members_of_a_zip_are_read_within_the_same_limits(tmp_path, monkeypatch):
    data = b""
    for _ in range(loaders.DEPTH + 1):
        members = {"in/a.zip": data, "../../evil.txt": b"Dark.", "bad.pdf": b"x"}
        data = make_zip(tmp_path / "a.zip", members).read_bytes()
    file = load(tmp_path / "a.zip")
    read = ["in/a.zip", "in/a.zip » in/a.zip", "in/a.zip » in/a.zip » evil.txt", "in/a.zip » evil.txt", "evil.txt"]
    assert list(inside(file)) == read and inside(file)[read[2]] == "Dark."
    assert "bad.pdf (is damaged" in file.warnings[0] and "(lies too deep)" in file.members[1].warnings[0]
    monkeypatch.setattr(loaders, "MAX_CHARACTERS", 10)
    make_zip(tmp_path / "a.zip", {f"{number}.txt": b"lamp oil " for number in range(9)})
    file = load(tmp_path / "a.zip")
    assert len(file.members) == 2 and "behind 10 characters" in file.warnings[0]


def test_a_mail_of_outlook(tmp_path):
    mail = Path(__file__).parents[3] / "data" / "outlook" / "mail.msg"
    file = load(mail)
    assert shown(file.documents[0]) == (
        "[title Oil][author Ada Quill <ada@example.org>][date 2023-03-31T09:30Z]Subject: Oil\n"
        "From: Ada Quill <ada@example.org>\nTo: Bo <bo@example.org>\nDate: Fri, 31 Mar 2023 09:30:00 +0000\n\n"
        "Two litres."
    )
    assert inside(file) == {"a.csv": "Item | May\nOil | May: 5"} and "mail.msg" in file.warnings[0]
    (tmp_path / "a.msg").write_bytes(mail.read_bytes()[:1500])
    assert "damaged" in reason(tmp_path / "a.msg")


# --- files that are not what they should be -----------------------------------------------------------------------

OFFICE = [".xlsx", ".xls", ".ods", ".pptx", ".odt", ".odp", ".docx", ".epub"]


@pytest.mark.parametrize("suffix", [*OFFICE, ".msg", ".zip"])
def test_what_is_not_what_it_is_called(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    for data in (b"garbage " * 100, bytes(range(256)) * 10, OLE + bytes(1000), b""):
        path.write_bytes(data)
        assert re.search("damaged|before 2007|empty", reason(path)), data[:8]


@pytest.mark.parametrize("suffix", OFFICE)
def test_zips_that_hold_something_else_or_too_much(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    assert "damaged" in reason(make_zip(path, {"content.xml": b"<x/>", "xl/workbook.xml": b"\0", "ppt/x.xml": b"<"}))
    assert "zip bomb" in reason(make_zip(path, {"content.xml": bytes(8_000_000)}))
    if suffix in (".odt", ".odp", ".ods"):
        odf(path, "text", "", manifest='<manifest:encryption-data manifest:checksum="x"/>')
    else:
        path.write_bytes(OLE + "EncryptedPackage".encode("utf-16-le"))
    assert reason(path) == "is encrypted with a password" or suffix == ".xls"


@pytest.mark.parametrize("make", [xlsx, ods, odt, odp, pptx, docx, epub])
def test_a_truncated_file(tmp_path, make):
    path = tmp_path / f"a.{make.__name__}"
    make(path)
    path.write_bytes(path.read_bytes()[:-200])
    assert "damaged" in reason(path)


def test_a_pdf_that_is_locked_or_damaged(tmp_path):
    path = tmp_path / "a.pdf"
    assert document_of(make_pdf(path, [SENTENCE, ""], password="")).text == SENTENCE
    with pytest.raises(FileSkipped, match="encrypted with a password") as locked:
        load(make_pdf(path, [SENTENCE], password="secret"))
    assert locked.value.hint.startswith("take the password off: qpdf --decrypt")
    for data in (path.read_bytes()[:150], b"%PDF-1.7\n" + bytes(range(256)) * 40):
        path.write_bytes(data)
        assert "is damaged" in reason(path)


def test_too_much_text_is_skipped_with_the_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(parsed_file, "MAX_CHARACTERS", 50_000)
    (tmp_path / "a.txt").write_bytes(b"lamp " * 10_001)
    assert reason(tmp_path / "a.txt") == "holds 50,005 characters of text, up to 50,000 are read"
