"""What a file shows to its reader is its text: marks, numbers of lists, notes, values of sheets, charts."""

import io
import zipfile

import pytest
from support.files import document_of, load
from support.hostile import WORD, docx_members, docx_paragraph, make_zip

from local_rag.index.parse.number_formats import EPOCH_1904, formatted

# --- marks ---------------------------------------------------------------------------------------------------------

ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "style", "table")
)


def run(text, properties=""):
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def docx(path, body, **parts):
    """A text of Word with parts beside its body, "word/NAME.xml", each the inside of its root."""
    members, kind = docx_members(body), "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = ""
    for name, inside in parts.items():
        root = {"header1": "hdr", "footer1": "ftr"}.get(name, name)
        links += f'<Relationship Id="{name}" Type="{kind}/{name.rstrip("1")}" Target="{name}.xml"/>'
        members[f"word/{name}.xml"] = f'<w:{root} xmlns:w="{WORD}">{inside}</w:{root}>'.encode()
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    members["word/_rels/document.xml.rels"] = f'<Relationships xmlns="{package}">{links}</Relationships>'.encode()
    return make_zip(path, members)


def odt(path, body, styles="", content=""):
    return make_zip(path, {
        "content.xml": f"<office:document-content {ODF}><office:automatic-styles>{content}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>".encode(),
        "styles.xml": f"<office:document-styles {ODF}>{styles}</office:document-styles>".encode(),
    })  # fmt: skip


def span(text, style):
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def written(path, source):
    path.write_text(source, "utf-8")
    return path


SUP, SUB = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'
NOT_STRUCK = '<w:strike w:val="0"/>'
STYLED = {
    "sup": "text-position='super 58%'",
    "sub": "text-position='-33% 58%'",
    "del": "text-line-through-style='solid'",
}
STYLES = "".join(
    f"<style:style style:name='{name}'><style:text-properties style:{said}/></style:style>"
    for name, said in STYLED.items()
)
MARKED = {
    "html": "10<sup>3</sup> l, 12,500<sup>1</sup>, 1<sup>1</sup>/<sub>2</sub>, H<sub>2</sub>O <s>500</s> "
    '<span style="text-decoration: line-through">550</span> 600 on the 4<sup>th</sup>',
    "md": "10<sup>3</sup> l, 12,500<sup>1</sup>, 1<sup>1</sup>/<sub>2</sub>, H<sub>2</sub>O ~~500~~ <del>550</del> "
    "600 on the 4<sup>th</sup>",
    "rtf": r"{\rtf1 10{\super 3} l, 12,500\super 1\nosupersub , 1{\super 1}/{\sub 2}, H{\sub 2}O {\strike 500\'20}"
    r"\strike 550\strike0  600 on the 4{\super th}\par}",
    "docx": f"<w:p>{run('10')}{run('3', SUP)}{run(' l, 12,500')}{run('1', SUP)}{run(', 1')}{run('1', SUP)}{run('/')}"
    f"{run('2', SUB)}{run(', H')}{run('2', SUB)}{run('O ')}{run('500 ', '<w:strike/>')}{run('550', '<w:dstrike/>')}"
    f"{run('600 on', NOT_STRUCK)}{run(' the 4')}{run('th', SUP)}</w:p>",
    "odt": f"<text:p>10{span(3, 'sup')} l, 12,500{span(1, 'sup')}, 1{span(1, 'sup')}/{span(2, 'sub')}, H"
    f"{span(2, 'sub')}O {span('500 ', 'del')}600 on the 4{span('th', 'sup')}</text:p>",
}  # fmt: skip


@pytest.mark.parametrize("suffix", [*MARKED, "pptx"])
def test_superscripts_are_no_digits_and_what_is_struck_out_is_left_out(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    if suffix == "docx":
        docx(path, MARKED[suffix])
    elif suffix == "odt":
        odt(path, MARKED[suffix], content=STYLES)
    elif suffix == "pptx":
        slides(path, marked)
    else:
        written(path, MARKED[suffix])
    assert document_of(path).text == "10³ l, 12,500¹, 1 1/2, H₂O 600 on the 4th"


def test_powers_and_fractions_of_equations(tmp_path):
    page = "<math><msup><mn>10</mn><mn>3</mn></msup></math> l, 1<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> l"
    assert document_of(written(tmp_path / "a.html", page)).text == "10³ l, 1 1/2 l"
    of = "<m:{0} xmlns:m='m'>{1}</m:{0}>".format
    power = of("sSup", of("e", run("10")) + of("sup", run("3")))
    fraction = of("f", of("num", run("1")) + of("den", run("2")))
    docx(tmp_path / "a.docx", f"<w:p>{of('oMath', power)}{of('oMath', fraction)}</w:p>")
    assert document_of(tmp_path / "a.docx").text == "10³ 1/2"


def test_code_in_markdown_keeps_its_marks_and_headings_their_places(tmp_path):
    found = document_of(written(tmp_path / "a.md", "# ~~Old~~ New\n\n`~~a~~` ~~b~~ \n\n```\n~~c~~\n```\n\n## Next\n"))
    assert found.text == "# New\n\n`~~a~~` \n\n```\n~~c~~\n```\n\n## Next\n"
    assert [(heading.text, found.text[heading.start :][:4]) for heading in found.headings] == [
        ("New", "# Ne"), ("Next", "## N"),
    ]  # fmt: skip


FIELD = (
    "<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>"
    "</w:ffData></w:fldChar></w:r>"
)
PLACEHOLDER = "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"


def test_check_boxes(tmp_path):
    page = '<p><input type="checkbox" checked> yes <input type="radio"> no <input type="text" value="x"></p>'
    assert document_of(written(tmp_path / "a.html", page)).text == "☒ yes ☐ no"
    symbol = "<w:r><w:sym w:font='Wingdings' w:char='F0A8'/></w:r>"
    filled = PLACEHOLDER.replace("<w:showingPlcHdr/>", "").format(run(" at noon"))
    docx(
        tmp_path / "a.docx",
        f"<w:p>{FIELD}{run('yes ')}{symbol}{run(' no')}{PLACEHOLDER.format(run('When?'))}{filled}</w:p>",
    )
    assert document_of(tmp_path / "a.docx").text == "☒ yes ☐ no at noon"
    assert document_of(written(tmp_path / "a.md", "- [x] wick\n- [ ] oil\n")).text == "- [x] wick\n- [ ] oil\n"


# --- numbers of lists, notes, headers ------------------------------------------------------------------------------


def numbering(*levels, more=""):
    shown = "".join(
        f"<w:lvl w:ilvl='{at}'><w:start w:val='1'/><w:numFmt w:val='{kind}'/><w:lvlText w:val='{text}'/></w:lvl>"
        for at, (kind, text) in enumerate(levels)
    )
    return (
        f"<w:abstractNum w:abstractNumId='7'>{shown}</w:abstractNum>"
        f"<w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num>{more}"
    )


def item(text, level=0, number=1):
    listed = f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr>"
    return f"<w:p><w:pPr>{listed}</w:pPr>{run(text)}</w:p>"


def test_word_numbers_clauses_and_items(tmp_path):
    again = (
        "<w:num w:numId='2'><w:abstractNumId w:val='7'/><w:lvlOverride w:ilvl='0'><w:startOverride w:val='1'/>"
        "</w:lvlOverride></w:num>"
    )
    levels = numbering(("upperRoman", "Article %1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"), more=again)
    body = [item("Rent"), item("Rises", 1), item("Falls", 1), item("by two", 2), item("by three", 2), item("End")]
    docx(tmp_path / "a.docx", "".join([*body, item("Notice", 1), item("Anew", 0, 2)]), numbering=levels)
    assert document_of(tmp_path / "a.docx").text.split("\n") == [
        "Article I. Rent", "I.1 Rises", "I.2 Falls", "(a) by two", "(b) by three", "Article II. End", "II.1 Notice",
        "Article I. Anew",
    ]  # fmt: skip
    styles = (
        "<w:style w:styleId='C'><w:name w:val='heading 2'/><w:pPr><w:numPr><w:ilvl w:val='1'/><w:numId w:val='1'/>"
        "</w:numPr></w:pPr></w:style><w:style w:styleId='D'><w:name w:val='x'/><w:basedOn w:val='C'/></w:style>"
    )
    docx(tmp_path / "b.docx", docx_paragraph("Oil", "D") * 2, numbering=levels, styles=styles)
    assert [heading.text for heading in document_of(tmp_path / "b.docx").headings] == ["I.1 Oil", "I.2 Oil"]


def test_lists_of_html_and_opendocument_have_their_numbers(tmp_path):
    page = '<ol start="3" type="a"><li>oil<li value="7">wick</ol><ol><li>1. own number</ol><ul><li>lamp</ul>'
    assert (
        document_of(written(tmp_path / "a.html", page)).text.split() == "c. oil g. wick - 1. own number - lamp".split()
    )
    level = (
        "<text:list-level-style-number text:level='{}' style:num-format='{}' style:num-suffix=')' "
        "text:display-levels='{}'/>"
    )
    style = f"<text:list-style style:name='L'>{level.format(1, 1, 1)}{level.format(2, 'a', 2)}</text:list-style>"
    inner = "<text:list><text:list-item><text:p>wick</text:p></text:list-item></text:list>"
    body = f"<text:list text:style-name='L'>{'<text:list-item><text:p>oil</text:p>' + inner + '</text:list-item>'}"
    body += "<text:list-item><text:p>lamp</text:p></text:list-item></text:list>"
    odt(tmp_path / "a.odt", body + body, content=style)
    assert document_of(tmp_path / "a.odt").text.split("\n") == [
        "1) oil",
        "1.a) wick",
        "2) lamp",
        "",
        "1) oil",
        "1.a) wick",
        "2) lamp",
    ]


def test_notes_comments_and_headers_stand_where_they_belong(tmp_path):
    note = "<w:footnote w:id='{0}'><w:p>{1}</w:p></w:footnote>"
    body = f"<w:p>{run('Rent 1,250')}<w:r><w:footnoteReference w:id='5'/></w:r>{run(' euros.')}"
    body += "<w:r><w:commentReference w:id='0'/></w:r></w:p>" + docx_paragraph("End.")
    box = f"<w:txbxContent>{docx_paragraph('A box.')}</w:txbxContent>"
    box = f"<w:r><w:pict><v:textbox xmlns:v='v'>{box}</v:textbox></w:pict></w:r>"
    docx(
        tmp_path / "a.docx",
        f"{body}<w:p>{run('Around')}{box}{run(' it.')}</w:p>",
        footnotes=note.format(5, run("Without heating.")),
        comments=f"<w:comment w:id='0' w:author='Ada'>{docx_paragraph('Until May.')}</w:comment>",
        header1=docx_paragraph("Ref. L-9"),
        footer1=docx_paragraph("Page 1 of 2"),
    )
    assert document_of(tmp_path / "a.docx").text.split("\n\n") == [
        "Header: Ref. L-9", "Rent 1,250[1] euros.", "[1] Without heating.", "Comment by Ada: Until May.", "End.",
        "Around it.", "A box.",
    ]  # fmt: skip
    said = (
        "<text:p>Rent 1,250<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>"
        "Without heating.</text:p></text:note-body></text:note> euros."
        "<office:annotation><text:p>Until May.</text:p></office:annotation></text:p>"
    )
    header = "<style:header><text:p>Ref. L-9</text:p></style:header>"
    assert document_of(odt(tmp_path / "a.odt", said, header)).text.startswith(
        "Header: Ref. L-9\n\nRent 1,250[1] euros.\n\n[1] Without heating.\n\nComment by"
    )
    rich = r"{\rtf1{\header Ref. L-9\par}Rent 1,250{\super\chftn}{\footnote{\super\chftn} Without heating.} euros.\par}"
    assert document_of(written(tmp_path / "a.rtf", rich)).text == (
        "Header: Ref. L-9\n\nRent 1,250¹ [Note: ¹ Without heating.] euros."
    )


def test_a_flood_of_comments_costs_no_more_than_it_says(tmp_path):
    comments = "".join(
        f"<w:comment w:id='{n % 9}' w:author='A'>{docx_paragraph('oil ' * 500)}</w:comment>" for n in range(50)
    )
    reference = "<w:p><w:r><w:commentReference w:id='1'/></w:r></w:p>" * 5_000
    loop = "<w:style w:styleId='A'><w:basedOn w:val='A'/></w:style>"
    docx(tmp_path / "a.docx", docx_paragraph("Lit.", "A") + reference, comments=comments, styles=loop)
    assert len(document_of(tmp_path / "a.docx").text) < 3_000


def test_word_shows_diagrams_and_charts(tmp_path):
    drawing = "<w:p><w:drawing><graphicData><{} xmlns:r='r' r:{}='{}'/></graphicData></w:drawing></w:p>".format
    points = "<pt><t><a><t>Light</t></a></t></pt><pt type='pres'/><pt><t><a><t>Trim</t></a></t></pt>"
    point = "<{0}><cache><pt idx='0'><v>{1}</v></pt></cache></{0}>".format
    values = f"<ser><tx><v>Oil</v></tx>{point('cat', 'May')}{point('val', 5)}</ser>"
    body = drawing("relIds", "dm", "diagramData") + drawing("chart", "id", "chart") + docx_paragraph("End.")
    docx(tmp_path / "a.docx", body, diagramData=points, chart=f"<chart>{values}</chart>")
    assert document_of(tmp_path / "a.docx").text == "- Light\n- Trim\n\nChart\nOil\nMay | Oil: 5\n\nEnd."


# --- sheets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "code", "shown"),
    [
        ("0.075", "0.0%", "7.5%"), ("1067", "00000", "01067"), ("1.2604166666666667", "[h]:mm", "30:15"),
        ("4111111111111110", "0", "4111111111111110"), ("4500000", '0.0,,"M"', "4.5M"), ("-5", "0;(0)", "(5)"),
        ("1234.5", r'#,##0.00\ "€"', "1,234.50 €"), ("1234.5", "[$€-407] #,##0.00", "€ 1,234.50"),
        ("45016", "dd.mm.yyyy", "31.03.2023"), ("45016", "mm/dd/yy", "2023-03-31"), ("45016", "mmm-yy", "Mar-23"),
        ("45016.395833333", "d/m/yy h:mm", "2023-03-31 09:30"), ("0.75", "h:mm AM/PM", "6:00 PM"),
        ("123456789", "000-00-0000", "123-45-6789"), ("0.125", "0.00", "0.13"), ("0.285", "0.00", "0.29"),
        ("-0.001", "0.00", "0.00"), ("0.30000000000000004", "", "0.3"), ("5", ";;;", "5"), ("0.5", "# ?/?", "0.5"),
        ("NaN", "0.0", "NaN"), ("1e400", "0", "1e400"), ("99999999999", "yyyy", "99999999999"), ("text", "0", "text"),
        ("5", "0" * 5000, "5".zfill(200)), ("5", '"' * 99, "5"),
    ],
)  # fmt: skip
def test_numbers_are_shown_by_their_format(stored, code, shown):
    assert formatted(stored, code) == shown


def test_dates_of_old_macs():
    assert formatted("43554", "yyyy-mm-dd", EPOCH_1904) == "2023-03-31"


def workbook(path, fill):
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        fill(book, book.add_worksheet("Costs"))
    return path


def costs(book, sheet):
    percent, struck = book.add_format({"num_format": "0.0%"}), book.add_format({"font_strikeout": True})
    for number, row in enumerate([["Region", "City", "Rate"], ["North", "Aval", 0.075], ["", "Bree", 0.1]]):
        sheet.write_row(number, 0, row, percent)
    sheet.merge_range(1, 0, 2, 0, "North")
    sheet.write_rich_string(3, 0, "South ", struck, "East ", "West")
    sheet.write_string(3, 1, "Cole")
    sheet.write_comment(3, 1, "until 2029")
    sheet.set_row(3, None, None, {"hidden": True})
    sheet.write_comment(6, 0, "an empty cell")
    book.add_worksheet("Plan").hide()
    book.get_worksheet_by_name("Plan").write(0, 0, "secret")


def test_a_sheet_is_read_as_it_is_shown(tmp_path):
    found = load(workbook(tmp_path / "a.xlsx", costs)).documents
    assert found[0].text.split("\n") == [
        "Costs", "Region | City | Rate", "North | City: Aval | Rate: 7.5%", "North | City: Bree | Rate: 10.0%",
        "South West | City: Cole | Note on B4: until 2029 | hidden row", "Note on A7: an empty cell",
    ]  # fmt: skip
    assert found[1].text == "Plan (hidden)\nsecret"


def sheet_of(path, rows, formula=""):
    """A workbook of OpenDocument with rows of XML."""
    hide = "<style:style style:name='h'><style:table-properties table:display='false'/></style:style>"
    return make_zip(path, {
        "content.xml": f"<office:document-content {ODF}><office:automatic-styles>{hide}</office:automatic-styles>"
        f"<office:body><office:spreadsheet><table:table table:name='Costs' table:style-name='h'>{rows}</table:table>"
        "</office:spreadsheet></office:body></office:document-content>".encode()
    })  # fmt: skip


def test_a_sheet_of_opendocument(tmp_path):
    cell = "<table:table-cell {}><text:p>{}</text:p></table:table-cell>".format
    note = "<office:annotation><text:p>until 2029</text:p></office:annotation>"
    note = f"<table:table-cell>{note}<text:p>Cole</text:p></table:table-cell>"
    rows = [
        cell("table:number-rows-spanned='2'", "North") + cell("", "7.5%"),
        "<table:covered-table-cell/>" + cell("", "01067"),
        note + "<table:table-cell table:formula='of:=1+1'/>",
    ]
    shown = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    times = "<table:table-row table:number-rows-repeated='{}' table:visibility='{}'>{}</table:table-row>".format
    empty = times(1_048_000, "visible", "<table:table-cell table:number-columns-repeated='16384'/>")
    hidden = times(2, "collapse", cell("", "East"))
    file = load(sheet_of(tmp_path / "a.ods", shown + hidden + empty))
    assert file.documents[0].text.split("\n") == [
        "Costs (hidden)", "North | 7.5%", "North | 01067", "Cole | (a formula without a value) | Note: until 2029",
        "East | hidden row", "East | hidden row",
    ]  # fmt: skip
    assert file.warnings == ("formulas without a stored value in the sheet Costs (hidden): 1",)


def test_a_formula_without_a_stored_value_is_no_empty_cell(tmp_path):
    workbook(
        tmp_path / "a.xlsx", lambda book, sheet: (sheet.write_row(0, 0, ["Roof", 5]), sheet.write_formula(1, 0, "=B1"))
    )
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["xl/worksheets/sheet1.xml"] = members["xl/worksheets/sheet1.xml"].replace(b"<v>0</v>", b"")
    file = load(make_zip(tmp_path / "b.xlsx", members))
    assert "(a formula without a value)" in file.documents[0].text
    assert file.warnings == ("formulas without a stored value in the sheet Costs: 1",)


@pytest.mark.slow
def test_a_hostile_sheet_ends_in_time(tmp_path):
    workbook(tmp_path / "a.xlsx", costs)
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name, merges = "xl/worksheets/sheet1.xml", b'<mergeCell ref="A2:A1048576"/>' * 2_000
    members[name] = members[name].replace(b"<mergeCell ", merges + b"<mergeCell ", 1)
    members[name] = members[name].replace(b'<row r="4"', b'<row r="99999999"').replace(b's="1"', b's="999999"')
    entities = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    members["xl/sharedStrings.xml"] = members["xl/sharedStrings.xml"].replace(b"<sst", entities + b"<sst", 1)
    file = load(make_zip(tmp_path / "b.xlsx", members))
    assert "North | City: Bree | Rate: 0.1" in file.documents[0].text and len(file.documents[0].text) < 1_000


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("Of 1 May, account 4\n\nDay;Who;Sum\n2.2.;Oil;-84,20\n3.2.;Wick;-9,00\n", "2.2. | Who: Oil | Sum: -84,20"),
        ('"Name, first";"City, state";No\n"Doe, Ann";"Aval, AV";7\n', "Doe, Ann | City, state: Aval, AV | No: 7"),
        ("Name, first\tCity, state, zip\nDoe, Ann\tAval, AV, 01067\n", "Doe, Ann | City, state, zip: Aval, AV, 01067"),
        ("a;b\n1,5;2,5\n3,5;4,5\n", "1,5 | b: 2,5"),
        ("sep=;\nName;Price\nOil;2,50\n", "Oil | Price: 2,50"),
        ("Name|Price\nOil|2,50\nGas|3,10\n", "Oil | Price: 2,50"),
        ('name, note, day\n"a;b", "x, y", 1\nlamp, z, 2\n', "a;b | note: x, y | day: 1"),
    ],
)  # fmt: skip
def test_the_delimiter_is_the_one_that_all_rows_have(tmp_path, text, row):
    assert row in document_of(written(tmp_path / "a.csv", text)).text.split("\n")


# --- slides --------------------------------------------------------------------------------------------------------


def slides(path, *fill):
    from pptx import Presentation

    deck = Presentation()
    for each in fill:
        each(deck.slides.add_slide(deck.slide_layouts[6]))
    deck.save(path)
    return path


def marked(page):
    box = page.shapes.add_textbox(9, 9, 9, 9).text_frame.paragraphs[0]
    above, below = {"baseline": "30000"}, {"baseline": "-25000"}
    for text, properties in [
        ("10", {}), ("3", above), (" l, 12,500", {}), ("1", above), (", 1", {}), ("1", above), ("/", {}), ("2", below),
        (", H", {}), ("2", below), ("O ", {}), ("500 ", {"strike": "sngStrike"}), ("600 on the 4", {}), ("th", above),
    ]:  # fmt: skip
        run = box.add_run()
        run.text = text
        run.font._element.attrib.update(properties)  # noqa: SLF001  # python-pptx has no public name for it


def charted(page):
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    data = CategoryChartData(number_format="0%")
    data.categories = ["2023", "2024"]
    data.add_series("Oil", (0.25, 0.5))
    chart = page.shapes.add_chart(XL_CHART_TYPE.PIE, 9, 9, 9, 9, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Shares"


def without_data(page):
    charted(page)
    for node in page.shapes[0].chart._chartSpace.xpath("//c:numCache | //c:strCache"):  # noqa: SLF001
        node.getparent().remove(node)


def listed(page):
    from pptx.oxml import parse_xml

    frame = page.shapes.add_textbox(9, 9, 9, 9).text_frame
    frame.text = "oil\nwick"
    space = "http://schemas.openxmlformats.org/drawingml/2006/main"
    for paragraph in frame.paragraphs:
        properties = paragraph._p.get_or_add_pPr()  # noqa: SLF001
        properties.append(parse_xml(f'<a:buAutoNum xmlns:a="{space}" type="alphaLcPeriod" startAt="2"/>'))
    table = page.shapes.add_table(3, 2, 9, 9, 9, 9).table
    for at, text in enumerate(["Where", "What", "North", "oil", "", "wick"]):
        table.cell(at // 2, at % 2).text = text
    table.cell(1, 0).merge(table.cell(2, 0))


def embedding(page):
    import xlsxwriter
    from pptx.enum.shapes import PROG_ID

    data = io.BytesIO()
    with xlsxwriter.Workbook(data) as book:
        book.add_worksheet("Inside").write_row(0, 0, ["Oil", 5])
    for kind in (PROG_ID.XLSX, "Equation.3"):
        data.seek(0)
        page.shapes.add_ole_object(data, kind, 9, 9)


def test_slides_show_charts_numbers_merged_cells_and_embedded_sheets(tmp_path):
    file = load(slides(tmp_path / "a.pptx", charted, without_data, listed, embedding))
    assert [document.text for document in file.documents] == [
        "Chart: Shares\nOil\n2023 | Oil: 25%\n2024 | Oil: 50%",
        "Chart: Shares",
        "b. oil\nc. wick\n\nWhere | What\nNorth | What: oil\nNorth | What: wick",
    ]
    assert [member.documents[0].text for member in file.members] == ["Inside\nOil | 5"]
    assert file.warnings == (
        "inside of it was not read: the values of a chart and oleObject1.bin (.bin files cannot be read)",
    )
