"""Sheets, slides, OpenDocument, RTF, calendars, subtitles, notebooks and Outlook's mails, made here."""

import io
import json
import re
import struct
from datetime import datetime

import pytest
from support.hostile import make_zip
from support.loading import document_of, reason

from local_rag.core.documents import LoadedDocument
from local_rag.index.parse import sheets
from local_rag.index.parse.parts import load
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
        ("Lamp;;Oil", "Lamp;Oil"),
        ("Item|May", "Item | May"),
        ("Item|May;Oil\nlamp|5\n%", "Item | May;Oil lamp | May: 5 %"),
    ],
)  # fmt: skip
def test_rows_carry_their_headers(table, lines):
    assert rows([line.split("|") for line in table.split(";")]) == lines.split(";")


def test_a_header_of_two_words_above_words_is_one_where_the_caller_says_so():
    assert rows([["Name", "Home"], ["Ada", "London"]], headed=True) == ["Name | Home", "Ada | Home: London"]


# --- files -----------------------------------------------------------------------------------------------------

VOCABULARY = """office text table presentation meta=meta draw=drawing svg=svg-compatible""".split()
ODF = 'xmlns:dc="http://purl.org/dc/elements/1.1/" ' + " ".join(
    f'xmlns:{name.split("=")[0]}="urn:oasis:names:tc:opendocument:xmlns:{name.split("=")[-1]}:1.0"'
    for name in VOCABULARY
)
META = (
    f"<office:document-meta {ODF}><office:meta><dc:title>Ledger of the tower</dc:title>"
    "<meta:initial-creator>Ada Quill</meta:initial-creator><meta:creation-date>2023-03-31T09:30:00</meta:creation-date>"
    "</office:meta></office:document-meta>"
)


def odf(path, kind, body, head="", manifest=""):
    content = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    members = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"{head}<office:document-content {ODF}>{content}</office:document-content>",
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
    note = "<text:note><text:note-citation>1</text:note-citation><text:p>A note.</text:p></text:note>"
    inner = "<text:list><text:list-item><text:p>Wick</text:p></text:list-item></text:list>"
    cell = '<table:table-cell table:number-columns-repeated="9999999"><text:p>May</text:p></table:table-cell>'
    odf(
        path,
        "text",
        '<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="1">Oil</text:h>'
        f"<text:p>Two<text:s/>litres{note} a day.</text:p>"
        f"<text:list><text:list-item><text:p>Lamp</text:p>{inner}</text:list-item></text:list>"
        '<text:section><text:h text:outline-level="2">Gear</text:h></text:section>'
        f"<table:table><table:table-row><table:table-cell/>{cell}</table:table-row></table:table>"
        "<text:p><draw:frame><svg:desc>A lamp at night</svg:desc></draw:frame></text:p>",
    )


def odp(path):
    frame = '<draw:frame presentation:class="{}"><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>'.format
    notes = f"<presentation:notes>{frame('notes', 'Say it.')}</presentation:notes>"
    page = f"<draw:page>{frame('outline', 'Two litres.')}{frame('title', 'Oil')}{notes}</draw:page>"
    odf(path, "presentation", page + f"<draw:page>{frame('outline', 'The end.')}</draw:page>")


def pptx(path):
    from pptx import Presentation

    deck, box = Presentation(), (9, 9, 9, 9)
    deck.core_properties.title, deck.core_properties.author = "Ledger of the tower", "Ada Quill"
    deck.core_properties.created = datetime(2023, 3, 31)
    page = deck.slides.add_slide(deck.slide_layouts[5])
    page.shapes.title.text = "Oil"
    table = page.shapes.add_table(2, 2, *box).table
    for at, text in enumerate(["", "2023", "Revenue", "46,298"]):
        table.cell(at // 2, at % 2).text = text
    page.shapes.add_group_shape().shapes.add_textbox(*box).text_frame.text = "In a group.\nTwo lines."
    page.notes_slide.notes_text_frame.text = "Say it."
    page = deck.slides.add_slide(deck.slide_layouts[6])
    for described in ("A lamp at night", "image1.png"):
        image = io.BytesIO(bytes.fromhex("474946383961010001008000000000000000002c00000000010001000002024401003b"))
        page.shapes.add_picture(image, 0, 0).element.xpath(".//p:cNvPr")[0].set("descr", described)
    deck.save(path)


RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title Ledger of the tower}{\author Ada Quill}"
    r"{\creatim\yr2023\mo3\dy31\hr9}}{\pict " + "89504e47" * 200 + r"}Gr\'f6\'dfe \u8364? \u-10179?\u-9017?\par "
    r"Item\cell May\cell\row Oil\cell 5\cell\row End.\par}"
)
ICS = """BEGIN:VCALENDAR
X-WR-CALNAME:Tower
BEGIN:VEVENT
DTSTART;TZID=Europe/Berlin:20230331T093000
DURATION:PT1H
SUMMARY:Trim\\, and fill
LOCATION:Lamp room
RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=5
ORGANIZER;CN=Bo:MAILTO:bo@example.org
ATTENDEE;CN=Ada Quill:mailto:ada@example.org
ATTENDEE:mailto:cy@example.org
DESCRIPTION:Bring oil\\nand a wick.
BEGIN:VALARM
DESCRIPTION:ring
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20230401
DTEND;VALUE=DATE:20230403
SUMMARY:Leave
END:VEVENT
BEGIN:VTODO
DUE:20239901T090000Z
RRULE:FREQ=NEVER
SUMMARY:Odd dates
END:VTODO
END:VCALENDAR
"""
SRT = "1\n00:00:01,000 --> 00:00:04,000\n<i>Light</i> the\nlamp.\n\n2\n00:00:05,000 --> 00:00:06,000\n{\\an8}At dusk.\n"
VTT = "WEBVTT\n\nNOTE no\n\n00:01.000 --> 00:02.000 line:0\n<v Ada>Light it.\n\n00:02.000 --> 00:03.000\nAt dusk.\n"
OUTPUTS = [{"data": {"text/plain": ["4"], "image/png": "iVBO"}}, {"evalue": "no oil"}, {"text": "two\nlines\n"}]
NOTEBOOK = {
    "metadata": {"authors": [{"name": "Ada Quill"}]},
    "cells": [
        {"cell_type": "markdown", "source": ["# Oil\n", "Two litres."]},
        {"cell_type": "code", "source": "# no heading\n2 + 2", "outputs": OUTPUTS},
    ],
}
LEDGER, BARE = "Ledger of the tower / Ada Quill / 2023-03-31 / {}\n", " /  /  / None\n"
GOOD = {
    "a.csv": (
        "\nItem;May\nOil;5\n\nWick;6\n",
        BARE + "<9 row 2>Item | May\n<9 row 3>Oil | May: 5\n<9 row 5>Wick | May: 6",
    ),
    "a.tsv": ('Item\tMay\nOil\t"5\n6"\n', BARE + "<9 row 1>Item | May\n<9 row 2>Oil | May: 5 6"),
    "a.ods": (
        ods,
        "Ledger of the tower » Costs / Ada Quill / 2023-03-31 / None\n"
        "<1 Costs>Costs\n<9 row 1>Item | May\n<9 row 2>Oil | May: 5",
    ),
    "a.odt": (
        odt,
        LEDGER.format(None) + "<1 Oil>Oil\n\nTwo litres a day.\n\nA note.\n\n- Lamp\n- Wick\n\n<2 Gear>Gear\n\n"
        f"{' | '.join(['May'] * 100)}\n\nPicture: A lamp at night",
    ),
    "a.odp": (
        odp,
        LEDGER.format(1) + "<1 Oil>Oil\n\nTwo litres.\n\nNotes: Say it.\n" + LEDGER.format(2) + "The end.",
    ),
    "a.pptx": (
        pptx,
        LEDGER.format(1) + "<1 Oil>Oil\n\n2023\nRevenue | 2023: 46,298\n\nIn a group.\nTwo lines.\n\nNotes: Say it.\n"
        + LEDGER.format(2) + "Picture: A lamp at night",
    ),
    "a.rtf": (RTF, LEDGER.format(None) + "Größe € 📇\nItem | May\nOil | May: 5\nEnd."),
    "a.ics": (
        ICS,
        "Tower /  /  / None\n<1 Trim, and fill>Trim, and fill\n"
        "When: 2023-03-31 09:30 Europe/Berlin to 2023-03-31 10:30 Europe/Berlin\nRepeats: weekly, on MO, WE, 5 times\n"
        "Where: Lamp room\nOrganizer: Bo <bo@example.org>\nWith: Ada Quill <ada@example.org>, cy@example.org\n"
        "Bring oil\nand a wick.\n\n<1 Leave>Leave\nWhen: 2023-04-01 to 2023-04-02, all day\n\n<1 Odd dates>Odd dates",
    ),
    "a.srt": (SRT, BARE + "<9 00:00:01>Light the lamp.\n<9 00:00:05>At dusk."),
    "a.vtt": (VTT, BARE + "<9 00:01>Ada: Light it.\n<9 00:02>At dusk."),
    "a.ipynb": (
        json.dumps(NOTEBOOK),
        "Oil / Ada Quill /  / None\n<1 Oil># Oil\nTwo litres.\n\n```\n# no heading\n2 + 2\n```\n\n"
        "```\n4\n```\n\n```\nno oil\n```\n\n```\ntwo\nlines\n```",
    ),
}  # fmt: skip


def shown(document):
    """A line with its properties, and its text with the headings where they start."""
    text = document.text
    for heading in reversed(document.headings):
        text = f"{text[: heading.start]}<{heading.level} {heading.text}>{text[heading.start :]}"
    return f"{document.title} / {document.author} / {document.date} / {document.page}\n{text}"


@pytest.mark.parametrize("name", GOOD)
def test_good_files(tmp_path, name):
    made, expected = GOOD[name]
    if callable(made):
        made(tmp_path / name)
    else:
        (tmp_path / name).write_text(made, "utf-8")
    assert "\n".join(map(shown, load(tmp_path / name).documents)) == expected


def xlsx(path):
    import xlsxwriter

    book = xlsxwriter.Workbook(path)
    book.set_properties({"title": "Ledger of the tower", "author": "Ada Quill"})
    costs, days = book.add_worksheet("Costs"), book.add_worksheet("Sheet2")
    for row, values in enumerate((["", 2023, 2022], ["Revenue", 46298.0, 0.1 + 0.2], ["Share"], ["Open", True]), 2):
        costs.write_row(row, 1, values)
    costs.write_formula(5, 3, "=1/0", value="#DIV/0!")
    for column, moment in enumerate((datetime(2023, 3, 31), datetime(2023, 3, 31, 9, 30))):
        days.write_datetime(0, column, moment, book.add_format({"num_format": "yyyy-mm-dd hh:mm"}))
    days.hide()
    book.close()


@pytest.mark.parametrize("name", ["a.xlsx", "a.xlsm", "a.xls"])
def test_the_values_of_all_sheets(tmp_path, name):
    xlsx(tmp_path / name)
    costs, days = load(tmp_path / name).documents
    assert costs.text == "Costs\n2023 | 2022\nRevenue | 2023: 46298 | 2022: 0.3\nShare\nOpen | 2023: TRUE"
    assert [heading.text for heading in costs.headings] == ["Costs", *(f"row {row}" for row in range(3, 7))]
    assert (costs.title, costs.author, days.title) == (
        "Ledger of the tower » Costs",
        "Ada Quill",
        "Ledger of the tower",
    )
    assert days.text == "Sheet2\n2023-03-31 | 2023-03-31 09:30"


def test_a_long_sheet_names_several_rows_and_ends_at_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "_PLACES", 4)
    monkeypatch.setattr(sheets, "MAX_CHARACTERS", 100)
    path = tmp_path / "a.csv"
    path.write_text("\n".join(f"lamp number {number}" for number in range(10)))
    file = load(path)
    assert [heading.text for heading in file.documents[0].headings] == ["rows 1-2", "rows 3-4", "rows 5-6", "row 7"]
    assert file.warnings == ("the table was read up to row 7: of a file 100 characters are stored",)


def test_a_row_is_cut_only_where_no_passage_holds_it():
    lines = ["Costs", *(f"Key {n} | Note: One. Two. Three. {'Word. ' * (n % 30)}|".strip() for n in range(90))]
    text = "\n".join([*lines, "Long | " + "Word. " * 60])
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    chunks = chunk(LoadedDocument(text), ends, size=40, overlap=0, window=40)
    assert set(lines) <= {line for part in chunks for line in text[part.start : part.end].split("\n")}


# --- Outlook ---------------------------------------------------------------------------------------------------

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
NONE, END = 0xFFFFFFFF, 0xFFFFFFFE


def compound(tree):
    """A compound file ([MS-CFB]) of nested dicts; every stream has at least 4,096 bytes, which keeps it simple."""
    entries, table, data = [], [], b""

    def add(name, content, kind, right):
        nonlocal data
        at, child, start, size = len(entries), NONE, END, 0
        entries.append(b"")
        if isinstance(content, dict):
            for inner, what in content.items():
                child = add(inner, what, 1 if isinstance(what, dict) else 2, child)
        else:
            start, size = place(content), len(content)
        encoded = name.encode("utf-16-le")
        entry = (encoded, len(encoded) + 2, kind, 1, NONE, right, child, start, size)
        entries[at] = struct.pack("<64sHBBIII36xIQ", *entry)
        return at

    def place(content):
        nonlocal data
        start = len(table)
        table.extend([*range(start + 1, start + -(-len(content) // 512)), END])
        data += content + bytes(-len(content) % 512)
        return start

    add("Root Entry", tree, 5, NONE)
    directory, last = place(b"".join(entries)), len(table)
    allocation = struct.pack("<128I", *table, 0xFFFFFFFD, *[NONE] * (127 - last))
    numbers = (62, 3, 0xFFFE, 9, 6, 0, 1, directory, 0, 0, END, 0, END, 0)
    head = struct.pack("<8s16xHHHHH6x9I109I", OLE, *numbers, last, *[NONE] * 108)
    return head + data + allocation


def streams(head, **values):
    """The streams of an object of Outlook's: p0037="…" is its property 0x0037; numbers are times."""
    listed, found = bytes(head), {}
    for name, value in values.items():
        kind = 0x001F if isinstance(value, str) else 0x0040 if isinstance(value, int) else 0x0102
        listed += struct.pack("<HHIQ", kind, int(name[1:], 16), 6, value if isinstance(value, int) else 4096)
        if not isinstance(value, int):
            raw = value.ljust(2048).encode("utf-16-le") if isinstance(value, str) else value.ljust(4096)
            found[f"__substg1.0_{name[1:]}{kind:04X}"] = raw
    return found | {"__properties_version1.0": listed.ljust(4096, b"\0")}


def test_a_mail_of_outlook(tmp_path):
    sent = int((datetime(2023, 3, 31, 9, 30) - datetime(1601, 1, 1)).total_seconds()) * 10**7
    mail = streams(32, p0037="Oil", p0C1A="Ada Quill", p0C1F="ada@example.org", p1000="Two litres.\r\n", p0039=sent)
    parts = {
        "__recip_version1.0_#00000000": streams(8, p3001="Bo", p39FE="bo@example.org"),
        "__attach_version1.0_#00000000": streams(8, p3707="a.csv", p3701=b"Item,May\nOil,5\n"),
        "__attach_version1.0_#00000001": streams(8, p3707="mail.msg"),
    }
    path = tmp_path / "a.msg"
    path.write_bytes(compound(mail | parts))
    file = load(path)
    assert shown(file.documents[0]) == (
        "Oil / Ada Quill <ada@example.org> / 2023-03-31T09:30Z / None\nSubject: Oil\n"
        "From: Ada Quill <ada@example.org>\nTo: Bo <bo@example.org>\nDate: Fri, 31 Mar 2023 09:30:00 +0000\n\n"
        "Two litres."
    )
    assert any("mail.msg" in warning for warning in file.warnings)
    path.write_bytes(compound(mail)[:1500])
    assert "damaged" in reason(path)


# --- hostile files ---------------------------------------------------------------------------------------------

OFFICE = [".xlsx", ".xlsm", ".xls", ".ods", ".pptx", ".ppsx", ".odt", ".odp"]


@pytest.mark.parametrize("suffix", [*OFFICE, ".rtf", ".ics", ".msg"])
def test_what_is_not_what_it_is_called(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    for data in (b"garbage " * 100, bytes(range(256)) * 10, OLE + bytes(1000), b""):
        path.write_bytes(data)
        assert re.search("damaged|binary|before 2007|empty", reason(path)), data[:8]


@pytest.mark.parametrize("suffix", OFFICE)
def test_zips_that_hold_something_else_or_too_much(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    assert "damaged" in reason(make_zip(path, {"other.xml": b"<x/>"}))
    assert "damaged" in reason(make_zip(path, {"content.xml": b"<x/>", "xl/workbook.xml": b"\0", "ppt/x.xml": b"<"}))
    assert "zip bomb" in reason(make_zip(path, {"content.xml": bytes(50_000_000)}))


@pytest.mark.parametrize("make", [xlsx, ods, odt, odp, pptx])
def test_a_truncated_file(tmp_path, make):
    path = tmp_path / f"a.{make.__name__}"
    make(path)
    path.write_bytes(path.read_bytes()[:-200])
    assert "damaged" in reason(path)


@pytest.mark.parametrize("suffix", [".xlsx", ".pptx", ".odt", ".odp", ".ods"])
def test_passwords(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    odf(path, "text", "", manifest='<manifest:encryption-data manifest:checksum="x"/>')
    if suffix in (".xlsx", ".pptx"):
        path.write_bytes(OLE + "EncryptedPackage".encode("utf-16-le"))
    assert reason(path) == "is encrypted with a password"


def test_no_entity_is_expanded_and_no_file_is_read(tmp_path):
    (tmp_path / "secret.txt").write_text("canary")
    many, outside = "&a;" * 100, tmp_path / "secret.txt"
    head = f'<!DOCTYPE x [<!ENTITY a "laugh"><!ENTITY b "{many}"><!ENTITY c SYSTEM "{outside}">]>'
    assert document_of(odf(tmp_path / "a.odt", "text", "<text:p>Oil &b;&c;.</text:p>", head)).text == "Oil ."


def test_a_sheet_of_two_cells_a_million_rows_apart(tmp_path):
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "first")
        sheet.write(1_048_575, 0, "last")
    assert shown(document_of(tmp_path / "a.xlsx")).endswith("<9 row 1>first\n<9 row 1048576>last")
