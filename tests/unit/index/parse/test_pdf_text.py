"""What a page of a PDF says by its shape: raised digits, columns, struck words, forms, notes and attached files."""

import pytest
from pypdf.annotations import Text
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, TextStringObject
from support.files import document_of, load, reason
from support.hostile import SENTENCE, draw_pdf

from local_rag.index.parse import pdf
from local_rag.index.parse.pdf_page import placed

LEFT = [
    "The chapel was built in 1890 and",
    "is open on Sundays from nine. The",
    "key hangs in the barn behind the",
    "mill.",
]
RIGHT = [
    "The ferry leaves at seven and at",
    "noon; it takes forty cars. Dogs",
    "ride free but must stay on the",
    "lead.",
]
ADDRESSES = [
    ["Bill to", "Kit Marlow", "Harbour Street 9", "2210 Bree"],
    ["Ship to", "Ann Roe", "Mill Lane 4", "1067 Aval"],
]
PRICED = """Our prices:

Item | Price | Days
Repairs
Chain, mounted on your bike | $ 18.50 | –
Brake | 32.00 | 2
Sold parts
Lock with two keys | 24.90 | 1

We thank you."""
ROLES = [
    ["Name", "Nadia Oduya", "Kit Marlow", "Ann Roe", "Bob Doe"],
    ["Role", "Treasurer", "Secretary", "Chair", "Member"],
]


def text_at(x, y, text, size=11):
    return f"BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET\n"


def rows(*columns, lower=0):
    """Columns, drawn line by line across the page; `lower` by so much is each than the one before it."""
    lines = zip(*columns, strict=True)
    cells = [(50 + 250 * place, 760 - 14 * row - lower * place, cell) for row, line in enumerate(lines)
             for place, cell in enumerate(line)]  # fmt: skip
    return "".join(text_at(*cell) for cell in cells)


def price_list():
    """A table of three columns, figures at the right, two cells wrapped and one empty, between two lines of prose."""
    lines = [
        (0, "Item", "Price", "Days"),
        (24, "Repairs"),
        (48, "Chain, mounted on", "$    18.50", ""),
        (60, "your bike"),
        (84, "Brake", "32.00", "2"),
        (108, "Sold parts"),
        (132, "Lock with two", "24.90", "1"),
        (144, "keys"),
    ]
    cells = [
        text_at(x - 6 * len(cell) * (place > 0), 760 - y, cell)
        for y, *row in lines
        for place, (x, cell) in enumerate(zip((50, 300, 400), row, strict=False))
        if cell
    ]
    return text_at(50, 790, "Our prices:") + "".join(cells) + text_at(50, 590, "We thank you.")


def drawn(path, operators):
    draw_pdf([operators]).write(path)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.pdf"


def line(*runs):
    """A line of runs (text, rise, size)."""
    shown = "".join(f"/F1 {size} Tf {rise} Ts ({text}) Tj " for text, rise, size in runs)
    return f"BT 60 700 Td {shown}ET"


@pytest.mark.parametrize(
    ("operators", "text"),
    [
        (line(("The tank holds 10", 0, 12), ("3", 5, 7), (" litres.", 0, 12)), "The tank holds 10³ litres."),
        (line(("It cost 12,500", 0, 12), ("1", 5, 12), (" euros.", 0, 12)), "It cost 12,500¹ euros."),
        (line(("10", 0, 12), ("-6", 5, 7), (" a second", 0, 12)), "10⁻⁶ a second"),
        (line(("101", 0, 12), ("2", -3, 7), (" is H", 0, 12), ("2", -3, 7), ("O", 0, 12)), "101₂ is H2O"),
        (line(("log", 0, 12), ("2", -3, 7), ("8", 0, 12)), "log₂8"),
        (line(("Use 1", 0, 12), ("1", 4, 7), ("/", 0, 12), ("2", -2, 7), (" cups", 0, 12)), "Use 1 1/2 cups"),
        (line(("The 1", 0, 12), ("st", 5, 7), (" of 103", 0, 12)), "The 1st of 103"),
        (text_at(60, 700, "Rent 500 650") + "86 703.5 m 106 703.5 l S", "Rent 650"),
        (text_at(60, 700, "Rent 500 650") + "86 698 m 106 698 l S", "Rent 500 650"),
        (text_at(60, 700, "Rent 500 650") + "20 703.5 m 300 703.5 l S", "Rent 500 650"),
        (rows(LEFT, RIGHT), f"{' '.join(LEFT)}\n\n{' '.join(RIGHT)}"),
        (rows(LEFT, RIGHT, lower=3), f"{' '.join(LEFT)}\n\n{' '.join(RIGHT)}"),
        (rows(*ADDRESSES), "\n\n".join(map("\n".join, ADDRESSES))),
        (price_list(), PRICED),
        (rows(*ROLES), "\n".join(f"{name} {role}" for name, role in zip(*ROLES, strict=True))),
    ],
)
def test_a_page_is_read_as_it_looks(path, operators, text):
    assert document_of(drawn(path, operators)).text == text


def test_a_quote_of_a_column_is_marked_in_that_column_alone(path):
    text = document_of(drawn(path, rows(LEFT, RIGHT))).text
    start = text.index("noon; it takes")
    found = placed(path, 1, text, [(start, text.index(" lead."))])
    assert len(found.rectangles) == 2 and all(left > 0.5 for left, *_ in found.rectangles)


def test_rows_of_a_table_are_marked_where_they_stand(path):
    text = document_of(drawn(path, price_list())).text
    rows = [(start, text.index("\n", start)) for start in map(text.index, ("Chain", "Lock"))]
    found = placed(path, 1, text, rows)
    assert {round(top, 2) for _, top, *_ in found.rectangles} == {0.14, 0.16, 0.24, 0.26}


def form(path, fields, operators, times=1):
    """A page with fields: (what it is, in PDF's own words, and where it stands)."""
    writer = draw_pdf([operators])
    made = ArrayObject()
    for known, sides in fields:
        field = DictionaryObject({NameObject("/Subtype"): NameObject("/Widget"), NameObject("/Rect"): box(sides)})
        field |= {NameObject(f"/{name}"): value for name, value in known.items()}
        made.append(writer._add_object(field))  # noqa: SLF001
    writer.pages[0][NameObject("/Annots")] = ArrayObject(list(made) * times)
    writer.root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): made})
    writer.write(path)
    return path


def box(sides):
    return ArrayObject(map(FloatObject, sides))


def field(kind, name, value, **more):
    value = NameObject(f"/{value}") if kind == "Btn" else TextStringObject(value)
    return {"FT": NameObject(f"/{kind}"), "T": TextStringObject(name), "V": value, **more}


def check_box(name, value):
    on = DictionaryObject({NameObject("/N"): DictionaryObject({NameObject("/Yes"): DictionaryObject()})})
    return field("Btn", name, value, AS=NameObject(f"/{value}"), AP=on)


def test_what_is_filled_into_a_form_stands_behind_its_label(path):
    fields = [
        (field("Tx", "f1", "Kit Marlow"), (160, 755, 300, 772)),
        (field("Ch", "f2", "April"), (60, 700, 200, 717)),
        (check_box("f3", "Yes"), (60, 680, 70, 690)),
        (check_box("f4", "Off"), (160, 680, 170, 690)),
        (field("Tx", "Plot", "G-117"), (300, 100, 400, 120)),
        (field("Tx", "Word", "sesame", Ff=FloatObject(1 << 13)), (300, 60, 400, 80)),
    ]
    labels = [(60, 760, "Name:"), (60, 720, "Start"), (74, 682, "Water"), (174, 682, "Light")]
    form(path, fields, "".join(text_at(*label) for label in labels))
    assert document_of(path).text == "Name: Kit Marlow\nStart April\n☒ Water ☐ Light\n\nPlot: G-117"


def test_notes_are_read_and_attached_files_are_files_of_their_own(path):
    writer = draw_pdf([text_at(60, 760, "Cover sheet.")])
    writer.add_annotation(0, Text(text="Valid until 30 June", rect=(50, 700, 70, 720), title_bar="Kit"))
    writer.add_attachment("prices.csv", b"Item,Price\nPump,420\n")
    writer.write(path)
    file = load(path)
    assert [document.text for document in file.documents] == ["Cover sheet.\n\nNote by Kit: Valid until 30 June"]
    assert [(member.name, member.documents[0].text) for member in file.members] == [
        ("prices.csv", "Item | Price\nPump | Price: 420")
    ]


# --- made to harm


def test_a_line_of_raised_letters_takes_no_quadratic_time(path):
    drawn(path, line(("x", 0, 12), ("1a" * 2_000, 5, 7)))
    assert len(document_of(path).text) >= 4_000


def test_a_form_of_too_many_fields_is_read_in_part(path):
    form(path, [(field("Tx", "f", "x"), (160, 700, 170, 710))], text_at(60, 760, SENTENCE), times=20_000)
    file = load(path)
    assert SENTENCE in file.documents[0].text
    assert file.warnings == ("10,000 fields and notes behind the first 10,000 were not read",)


def test_an_attachment_that_unpacks_to_too_much_costs_the_pages_nothing(path, monkeypatch):
    monkeypatch.setattr(pdf, "LARGEST", 1_000_000)
    writer = draw_pdf([text_at(60, 760, SENTENCE)])
    attached = writer.add_attachment("zeros.txt", bytes(1_100_000))
    streams = attached.pdf_object["/EF"]
    streams[NameObject("/F")] = writer._add_object(streams["/F"].flate_encode())  # noqa: SLF001
    writer.write(path)
    file = load(path)
    assert file.documents[0].text == SENTENCE and "zeros.txt (is larger than 1 MB)" in file.warnings[0]


def test_a_page_with_nothing_but_an_empty_attachment_is_empty(path):
    writer = draw_pdf([""])
    writer.add_attachment("a.txt", b"")
    writer.write(path)
    assert "a.txt (is empty)" in reason(path)
