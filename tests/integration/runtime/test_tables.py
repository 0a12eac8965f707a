"""Test questions about cells, lists and figures of tables in files: what is computed, cited and doubted."""

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache

import pytest
from support.fakes import ScriptedEvaluator
from support.fakes_index import remembering_minilm
from support.hostile import docx_members, docx_paragraph, draw_pdf, make_zip

from local_rag.config.settings import Settings
from local_rag.core.documents import LoadedDocument
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.graphs import GRAPHS
from local_rag.index.index import Index
from local_rag.index.joint import JointIndex
from local_rag.index.tables import lines
from local_rag.index.tables.question_words import quarters, ranges
from local_rag.index.tables.table import opened
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag

pytestmark = pytest.mark.usefixtures("converted")

BOATS = """# Boats of the harbour

The register of all boats.

| Boat | Berth | Owner | Length (m) | Since |
|---|---|---|---|---|
| Kittiwake | A | Ada Quill | 7.5 | 2019 |
| Petrel | B | Bo Lindahl-Ray | 9 | 2021 |
| Fulmar | A | Cora Finch | 12.25 | 2018 |
| Guillemot | C | Ada Quill | 6 | 2023 |

Boats without a berth lie at the buoys.
"""
BERTHS = """<h1>Fees</h1><p>What is paid.</p><table><tr><th>Berth</th><th colspan=2>Fee</th><th>Power</th></tr>
<tr><th></th><th>Summer</th><th>Winter</th><th></th></tr>
<tr><td>A</td><td>1.140 €</td><td>850 €</td><td>yes</td></tr><tr><td>B</td><td>980 €</td><td>700 €</td><td>no</td></tr>
<tr><td>C</td><td>620 €</td><td>410 €</td><td>yes</td></tr></table>"""
FUEL = """Date;Vessel;Litres;Paid
2024-03-02;Kittiwake;30;€ 51.00
2024-03-19;Petrel;n/a;€ 20.40
2024-05-07;Kittiwake;25;$ 46.00
2024-06-11;Kittiwake;;€ 33.00
Total;;55;150.40
"""
ENTRIES = "\n".join(["Entry,Gate,Minute", *(f"E-{n},{'North' if n % 3 else 'South'},{n}" for n in range(100, 160))])


def sheet(path):
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet("Crew hours")
        rows = [["Crew of the ferry"], [], ["Sailor", "Watch", "Hours"], ["Ivo", "first", 6.5], ["Mara", "second", 8]]
        rows += [["Ivo", "second", 4], ["Nils", "first", 7]]
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
        page.write_row(7, 0, ["Oona", "first"])
        page.write_formula(7, 2, "=1+1", value="")


def slides(path):
    from pptx import Presentation

    deck = Presentation()
    page = deck.slides.add_slide(deck.slide_layouts[5])
    page.shapes.title.text = "Lamps"
    cells = ["Lamp", "Range", "Colour", "Fresnel", "21", "white", "Argand", "9", "red"]
    table = page.shapes.add_table(3, 3, 9, 9, 9, 9).table
    for at, text in enumerate(cells):
        table.cell(at // 3, at % 3).text = text
    deck.save(path)


def letter(path):
    rows = [["Buoy", "Depth m", "Bell"], ["Skerry", "14", "no"], ["Narrows", "31", "yes"]]
    table = "".join(f"<w:tr>{''.join(f'<w:tc>{docx_paragraph(c)}</w:tc>' for c in row)}</w:tr>" for row in rows)
    make_zip(path, docx_members(f"{docx_paragraph('The buoys.')}<w:tbl>{table}</w:tbl>"))


@contextmanager
def indexed(base, texts, *others):
    """Give an index of texts by the names of their files, and of the files that `others` make."""
    (files := base / "files").mkdir()
    for name, text in texts.items():
        (files / name).write_text(text)
    for make, name in others:
        make(files / name)
    with Index.open(base / "index", remembering_minilm(), create=True) as index:
        index.sync([files])
        yield index


@pytest.fixture(scope="module")
def harbour(tmp_path_factory, converted):
    """Return the index of a folder with tables of seven kinds of files."""
    texts = {"boats.md": BOATS, "berths.html": BERTHS, "fuel.csv": FUEL, "entries.csv": ENTRIES}
    others = (sheet, "crew.xlsx"), (slides, "lamps.pptx"), (letter, "buoys.docx")
    with indexed(tmp_path_factory.mktemp("harbour"), texts, *others) as index:
        yield index


STORE = """item,qty,loc.,cond.,bought,lent to,kg,paid,shown from
Fog machine,2,Cabinet 2,broken,08/07/2023,,4.5,no,09:30
Brass lamp,3,Barn,good,18/06/2023,Kranich Stage Club,2,yes,17:00
Follow spot,1,Barn,good,01/02/2024,,9,no,18:15
"""
WORKSHOP = """No.;Bike;Customer;Brought in;Picked up;E-mail;Bill €;Places left;Time
7;City bike;Ann Reed;02.05.2025;09.05.2025;ann@reed.example;84,50;0;41:20
8;Racing bike;Ben Holt;05.05.2025;;;120;2;1:02:09
9;Cargo bike;Ann Lodge;06.05.2025;;lodge@mail.example;64;3;38:05
"""
VISITS = """Patient,Born,Last visit,Next visit,Bill €,Paid on
Olga Brand,14/07/61,12/03/24,12/09/24,85,20/03/24
Timo Kall,02/11/03,29/04/24,,120,
"""
SPENT = """Date,Category,Description,Net £,VAT £,Gross £
2024-01-26,Cleaning,Cleaning January,240,48,288
2024-02-23,Cleaning,Cleaning February,240,48,288
2024-04-02,Cleaning,Windows,100,20,120
2024-03-12,Fees,Planning application fee,462,0,462
2024-05-18,Fees,Land registry,7,0,7
"""
TURNOVER = "Year,Quarter,Revenue\n2025,Q1,90\n2025,Q2,\n2025,Q2,210\n2025,Q2,280\n"


@pytest.fixture(scope="module")
def of_table(tmp_path_factory, converted):
    """Return an index of each table that is asked in other words, by its text."""
    with ExitStack() as stack:
        yield {
            text: stack.enter_context(indexed(tmp_path_factory.mktemp("table"), {"table.csv": text}))
            for text in (STORE, WORKSHOP, VISITS, SPENT, TURNOVER)
        }


@pytest.mark.parametrize(("table", "question", "text", "certainty"), [
    (STORE, "Where do we keep the fog machine?", "loc. is Cabinet 2", "sure"),  # a header that is written short
    (STORE, "Who borrowed the brass lamps?", "lent to is Kranich Stage Club", "sure"),
    (STORE, "Which items did we buy from June to July 2023?", "(all 2): [1]\n- Fog machine", "sure"),  # day first
    (STORE, "Which item was bought on 8 July?", "item is Fog machine", "sure"),
    (STORE, "How many kilos does the follow spot weigh?", "kg is 9", "sure"),
    (STORE, "Which items haven't been paid?", "- Fog machine [1]\n- Follow spot", "sure"),
    (STORE, "Which items are shown at 5 pm or later?", "- Brass lamp [1]\n- Follow spot", "sure"),
    (STORE, "Which items are shown before noon?", "Fog machine", "sure"),
    (STORE, "What does the club have?", "Kranich Stage Club", "probably"),  # a common word for a name
    (STORE, "Where is the lantern of the fog machine?", "'lantern' stands in no row", "in doubt"),
    (WORKSHOP, "Which bikes have not been picked up?", "- Racing bike [1]\n- Cargo bike", "sure"),
    (WORKSHOP, "How many bikes were picked up?", "1 of 3 rows where Picked up is not empty", "sure"),
    (WORKSHOP, "Which customers do we have no email address for?", "E-mail is empty: Customer is Ben Holt", "sure"),
    (WORKSHOP, "Whose e-mail is missing?", "Ben Holt", "sure"),
    (WORKSHOP, "Who's got the cargo bike?", "Customer is Ann Lodge", "sure"),
    (WORKSHOP, "What did we bill Ben Holt for the racing bike?", "Bill € is 120", "sure"),
    (WORKSHOP, "When was the bike from 2 May picked up?", "Picked up is 09.05.2025", "sure"),
    (WORKSHOP, "What has the fastest time?", "the lowest Time is 38:05: Cargo bike", "sure"),  # minutes beside hours
    (WORKSHOP, "Which bike is full?", "Places left is empty or 0: Bike is City bike", "probably"),
    (WORKSHOP, "Which bill of Ann Parker is not paid?", "", ""),  # neither Ann Reed nor Ann Lodge
    (WORKSHOP, "What can't Ann Reed ride?", "", ""),
    (WORKSHOP, "What was the biggest bill and who got it?", "the highest Bill € is 120: Ben Holt", "sure"),
    (VISITS, "When was Timo Kall's last visit?", "Last visit is 29/04/24", "sure"),  # no extreme
    (VISITS, "What did Olga Brand cost?", "Bill € is 85", "sure"),  # no date of a payment
    (VISITS, "Who was born before 1990?", "Born is before 1990: Patient is Olga Brand", "sure"),  # 61 is 1961
    (SPENT, "How much did cleaning cost in the first quarter of 2024, VAT included?", "sum of Gross £ is 576", "sure"),
    (SPENT, "What was spent on cleaning in Q2, without VAT?", "Net £ is 100", "sure"),
    (SPENT, "What was spent on cleaning in January and March, excluding tax?", "Net £ is 240", "sure"),
    (SPENT, "How much was the fee for the planning application?", "Planning application fee: Net £ is 462", "sure"),
    (TURNOVER, "What was the revenue in Q2 of 2025?", "- empty [1]\n- 210 [1]\n- 280", "sure"),  # its own quarters
    (SPENT, "What was the biggest single expense between March and May?", "462: Planning application fee", "in doubt"),
])  # fmt: skip
def test_a_question_in_other_words_than_the_table(of_table, table, question, text, certainty):
    answer = ask(of_table[table], question)
    assert text in answer.text and answer.certainty == certainty, (answer.text, answer.reason)


def test_two_comparisons_are_not_one_range():
    assert ranges("cost under 5 or over 100 euros") == "cost under 5 or over 100 euros"
    assert (
        quarters("sales in the 4th quarter of 2023") == "sales in October 2023, in November 2023 and in December 2023"
    )
    assert quarters("the first quarter of the members in bay Q15") == "the first quarter of the members in bay Q15"
    assert ranges("rain between December and January") == "rain in December and in January"
    assert ranges("5 or more books at 9.30 a.m. or later") == "at least 5 books at least 9:30"


@cache
def rag_of(index, graph):
    """Return a Rag for all questions to an index, because compiling a graph takes longer than an answer."""
    return Rag(Settings.load(graph=graph), index, Choice(ExtractiveEngine(remembering_minilm(), ScriptedEvaluator({}))))


def ask(index, question, graph="plain"):
    return rag_of(index, graph).ask(question, record=False)


@pytest.mark.parametrize(
    ("question", "text", "where"),
    [
        ("Which berth does Petrel have?", "the row where Boat is Petrel: Berth is B", "row 2"),
        ("How long is guillemots?", "Length (m) is 6", "row 4"),
        ("What is the length of the fulmars?", "the row where Boat is Fulmar: Length (m) is 12.25", "row 3"),
        ("Who owns Petrel?", None, ""),
        ("Who is the owner of Petrel?", "the row where Boat is Petrel: Owner is Bo Lindahl-Ray", "row 2"),
        ("What is the boat of Lindahl Ray?", "Boat is Petrel", "row 2"),
        ("Which boats are in berth A?", "(all 2): [1]\n- Kittiwake [1]\n- Fulmar [1]", "rows 1, 3"),
        ("Which boats of Ada Quill are there since 2020?", "not before 2020: Boat is Guillemot", "row 4"),
        ("Which boats have a length between 7 and 10 m?", "- Kittiwake [1]\n- Petrel [1]", "rows 1-2"),
        ("How many boats does Ada Quill have?", "2 of 4 rows where Owner is Ada Quill", "rows 1, 4"),
        ("How many boats are in the register?", "harbour), 4 of 4 rows", "rows 1-4"),
        ("What is the total length of the boats in berth A?", "the sum of Length (m) is 19.75", "rows 1, 3"),
        ("Which boat is the longest?", "is 12.25: Fulmar", "row 3"),
        ("Which boat has the greatest length?", "the highest Length (m) is 12.25: Fulmar", "row 3"),
        ("What is the average length per berth?", "- A: 9.88 [1]\n- B: 9 [1]\n- C: 6 [1]", "rows 1-4"),
        ("How many boats per owner?", "- Ada Quill: 2 [1]\n- Bo Lindahl-Ray: 1 [1]", "rows 1-4"),
        ("Which boats are there since june 3rd 2021?", None, ""),
        ("What is the summer fee of berth A?", "the row where Berth is A: Fee Summer is 1.140 €", "row 1"),
        ("What is the sum of all winter fees?", "3 of 3 rows: the sum of Fee Winter is 1,960 €", "rows 1-3"),
        ("Which berths have a winter fee over 500 €?", "- A [1]\n- B [1]", "rows 1-2"),
        ("Which berths have power?", "(all 2): [1]\n- A [1]\n- C [1]", "rows 1, 3"),
        ("Does berth B have power?", "the row where Berth is B: Power is no", "row 2"),
        (
            "How many hours did Ivo work?",
            "crew.xlsx (Crew hours), 2 of 5 rows where Sailor is Ivo: the sum of Hours",
            "row",
        ),
        ("How many entries are from the gate South?", "20 of 60 rows where Gate is South", "rows 4, 7,"),
        ("What is the range of the Fresnel lamp?", "the row where Lamp is Fresnel: Range is 21", "row 1"),
        ("What is the depth at the buoy Narrows?", "the row where Buoy is Narrows: Depth m is 31", "row 2"),
    ],
)
def test_what_a_question_asks_is_computed_and_cited(harbour, question, text, where):
    answer = ask(harbour, question)
    if text is None:
        assert answer.certainty != "sure"
        return
    assert text in answer.text and answer.certainty == "sure", (answer.text, answer.reason)
    (citation,) = answer.cited
    assert citation.verified and citation.located == "computed" and where in citation.heading
    assert not answer.highlights and not answer.conflicts
    assert citation.rows and (citation.start, citation.end) == (citation.rows[0][0], citation.rows[-1][1])


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_graph_computes(harbour, graph):
    answer = ask(harbour, "How many boats are in berth A?", graph)
    assert "2 of 4 rows where Berth is A" in answer.text and answer.certainty == "sure"


def test_several_indexes_are_asked_as_one(harbour):
    joint = JointIndex({"one": harbour, "two": harbour})
    assert "2 of 4 rows" in ask(joint, "How many boats are in berth A?").text


def test_the_cited_rows_are_those_of_the_file(harbour):
    (citation,) = ask(harbour, "Which boats are in berth A?").cited
    (document,) = harbour.store.documents(citation.source)
    assert [document.text[start:end].split(" | ")[0] for start, end in citation.rows] == ["Kittiwake", "Fulmar"]


def test_a_long_list_says_how_much_of_it_is_shown(harbour):
    answer = ask(harbour, "Which entries are from the gate North?")
    assert "(30 of 40 shown)" in answer.text and answer.text.count("\n- ") == 30
    assert len(answer.cited[0].rows) == 40


@pytest.mark.parametrize(
    ("question", "said", "doubt"),
    [
        ("What is the total paid for Kittiwake in fuel?", "the sum of Paid is 130", "Paid has several units: $ and €"),
        ("How many litres did Kittiwake take?", "the sum of Litres is 55", "1 cell of Litres is empty"),
        ("What is the average of litres?", "the mean of Litres is 27.5", "1 cell of Litres is text"),
        ("What is the total of all hours?", "the sum of Hours is 25.5", "1 cell of Hours is without a value"),
        ("What is the length of Kittiwaka?", "Length (m) is 7.5", "'Kittiwaka' was read as 'kittiwake'"),
        ("Which vessel has the highest of litres?", "the highest Litres is 30: Kittiwake", "single rows are compared"),
        ("What is the fee of berth C?", "Fee Summer is 620 €; Fee Winter is 410 €", "several columns may be meant"),
    ],
)
def test_what_is_doubtful_is_said_and_not_sure(harbour, question, said, doubt):
    answer = ask(harbour, question)
    assert said in answer.text and doubt in answer.text and doubt in answer.reason
    assert answer.certainty == "probably" and answer.status == "partial"


@pytest.mark.parametrize(
    "question",
    [
        "Which berth does Albatross have?",
        "What is the draught of Kittiwake?",
        "How many boats were sold?",
        "How many boats are in berth F?",
        "What was paid for Petrel in 2019?",
        "What is the total of the spring fees?",
        "Who owns the boats without a berth?",
        "How many boats are not in berth A?",
        "How many boats are in berth f?",
        "How much was paid for Kittiwake last month?",
        "Which owner has the most?",
        "Which boats are longer than the Petrel?",
        "How many boats are older than 30?",
        "What is the difference in length of Petrel and Fulmar?",
        "Which boat has the second greatest length?",
        "What is the share of the boats in berth A?",
    ],
)
def test_what_tables_do_not_say_is_never_sure(harbour, question):
    answer = ask(harbour, question)
    assert answer.certainty != "sure" and "0 of" not in answer.text


def test_what_no_cell_has_is_not_computed(tmp_path):
    fuel = "Vessel,Litres,Berth\nPetrel,3,A\nFulmar,4,A\nSkua,5,A\nRazorbill,,B\nTern,,B\n"
    with indexed(tmp_path, {"fuel.csv": fuel}) as index:
        answer = ask(index, "What is the highest of litres in berth B?")
        assert answer.certainty != "sure" and "highest" not in answer.text


def test_tables_go_with_their_file_and_come_anew(tmp_path):
    fuel = tmp_path / "files" / "fuel.csv"
    with indexed(tmp_path, {fuel.name: "Vessel,Litres\nPetrel,30\nFulmar,25\n"}) as index:
        assert "is 55" in ask(index, "What is the total of litres?").text
        fuel.write_text("Vessel,Litres\nPetrel,31\nFulmar,25\n")
        index.sync()
        assert "is 56" in ask(index, "What is the total of litres?").text
        (passage,) = index.search("litres", 1)
        fuel.write_text("No vessel took any fuel.")
        index.sync()
        assert index.tables([passage]) == [b""] and index.tables(index.search("fuel", 1)) == [b""]


CLUBS = {
    "club phones.csv": "name,role,member_since\nIda Holt,chair,2009\nJon Vale,member,2021\nEve Stone,member,2014\n",
    "club fees.csv": "item,fee,remark\nkey,12 €,members pay half\nlocker,30 €,\nboat,95 €,\n",
    "gas.csv": "month,gas_meter,note\n2024-09,7731,\n2024-10,7802,heating on\n2024-11,7948,\n2024-12,8137,\n",
    "error codes.csv": "code,meaning,what to do\nE01,no flame,press reset\nE09,the flue is blocked,call service\n",
    "bills.csv": "month,supplier,amount\n2025-01,City Heat,142.10\n2025-02,City Heat,131.75\n2025-02,Water,58.40\n",
    "league.csv": "club,won,lost,ground\nTern Town,9,2,Quay Park\nSkua United,3,11,Mill Road\nGannets,7,5,Mill Road\n",
    "loans.csv": "item,borrower,lent,returned\ntent,Ivo,2025-05-01,yes\ncanoe,Mara,2025-05-03,no\n"
    "stove,Ivo,2025-06-09,no\n",
    "novels.csv": "title,writer,year\nSalt Iron,Mira Pell,2003\nQuiet Fens,Lev Stroud,1987\n"
    "Winter Reeds,Lev Stroud,1991\n",
    "animals.md": "| | Food | Calories |\n|---|---|---|\n| Otter | trout | 820 |\n| Heron | frogs | 390 |\n"
    "| Stoat | voles | 205 |\n",
}


@pytest.fixture(scope="module")
def clubs(tmp_path_factory, converted):
    with indexed(tmp_path_factory.mktemp("clubs"), CLUBS) as index:
        yield index


@pytest.mark.parametrize(("question", "text", "sure"), [
    ("How many members does the club list?", "member", False),  # neither years are added nor a remark is counted
    ("highest gas meter", "is 8137: 2024-12", True),  # the row has no note that could name it
    ("How much was paid for the locker?", "fee is 30 €", True),
    ("What does error E09 mean?", "meaning is the flue is blocked", True),  # no average, and no column "what to do"
    ("Which bills were above 100 euros?", "2025-01 | supplier: City Heat | amount: 142.10", True),  # which of the two
    ("What is the remark on the boat?", "remark is empty", True),
    ("Which month had the highest gas?", "is 8137: 2024-12", True),  # the month is no number that is compared
    ("What is the publisher of Salt Iron?", "publisher", False),  # no year of publication
    ("How many games did Tern Town lose?", "lost is 2", False),  # what is counted is not certain
    ("Where does Skua United play?", "ground is Mill Road", True),
    ("Which clubs won more than 5 games?", "won is over 5", False),
    ("Which items are not returned?", "- canoe [1]\n- stove", True),
    ("What was lent in May 2025?", "tent", True),
    ("Who repaired the tent?", "repair", False),
    ("Who burned the club?", "burned", False),
    ("What is the food of the heron?", "Food is frogs", True),  # the first column has no name
])  # fmt: skip
def test_years_are_not_added_and_a_counted_word_is_no_part_of_a_cell(clubs, question, text, sure):
    answer = ask(clubs, question)
    assert (answer.certainty == "sure") == sure
    assert text in answer.text if sure else "sum of" not in answer.text and "1 of 3" not in answer.text


PAYMENTS = [
    [["Day", "Shop", "Paid EUR"], ["02.05.2025", "Quay Bakery", "14.20"], ["07.05.2025", "Sail Loft", "(310.00)"]],
    [["Day", "Shop", "Paid EUR"], ["11.05.2025", "Quay Bakery", "9.80"], ["19.05.2025", "Chandler", "–"]],
    [["Boats of Bo Finch"], ["Boat", "Length m"], ["Petrel", "9.5"], ["Fulmar", "12"]],
]


def drawn(pages):
    """Return the pages of a PDF with these tables."""
    return [
        "".join(
            f"BT /F1 11 Tf {50 + 170 * place} {760 - 20 * number} Td ({cell}) Tj ET\n".replace("((", "(\\(").replace(
                "))", "\\))"
            )
            for number, row in enumerate([["Harbour account"], *page])
            for place, cell in enumerate(row)
        )
        for page in pages
    ]


@pytest.fixture(scope="module")
def printed(tmp_path_factory, converted):
    """Return the index of a PDF with a table that goes on on its second page, and another one on the third."""
    with indexed(tmp_path_factory.mktemp("printed"), {}, (draw_pdf(drawn(PAYMENTS)).write, "account.pdf")) as index:
        yield index


@pytest.mark.parametrize(("question", "text", "certainty"), [
    ("What did we pay at the Chandler?", "Paid EUR is empty", "sure"),
    ("What did we pay to the Sail Loft?", "Paid EUR is (310.00)", "sure"),
    ("How long is the Fulmar?", "Length m is 12", "sure"),
    ("What is the total length of the boats?", "the sum of Length m is 21.5", "sure"),
    ("What is the total paid at the Quay Bakery?", "pages 1-2), 2 of 4 rows where Shop is Quay Bakery", "sure"),
])  # fmt: skip
def test_tables_of_a_pdf_are_computed_over_its_pages(printed, question, text, certainty):
    answer = ask(printed, question)
    assert text in answer.text and answer.certainty == certainty, (answer.text, answer.reason)
    assert answer.cited[0].page and answer.cited[0].rows


def test_a_name_of_the_page_asks_for_no_row_and_one_of_another_page_does(printed):
    answer = ask(printed, "What is the total length of the boats of Bo Finch?")
    assert "the sum of Length m is 21.5" in answer.text and answer.certainty == "sure"
    assert ask(printed, "What is the total that Bo Finch paid at the Quay Bakery?").certainty != "sure"


def test_a_table_that_is_too_large_is_named_in_the_report(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_OVER_PAGES", 20)
    monkeypatch.setattr(lines, "MOST_CELLS", 15)
    (files := tmp_path / "files").mkdir()
    draw_pdf(drawn(PAYMENTS)).write(files / "account.pdf")
    make_zip(files / "club.zip", {"fuel.csv": FUEL, "fees.html": BERTHS})
    with Index.open(tmp_path / "index", remembering_minilm(), create=True) as index:
        report = index.sync([files])
        assert index.sync([files]).skipped == (replace(report.skipped[0], new=False),)
    said = "a table is too large for figures, and searched as text alone"
    assert [(each.path.rpartition("/")[2], each.reason) for each in report.skipped] == [
        ("account.pdf", f"{said}: Harbour account, pages 1-2"),
        ("club.zip » fuel.csv", said),
    ]


def test_headers_at_the_end_of_a_page_are_no_table():
    pages = "Fares\n– | Sales | Sales\n– | – | 2023", "North | 5 | 6\nSouth | 7 | 8"
    documents = [LoadedDocument(text, "Fares", page=number) for number, text in enumerate(pages, 1)]
    assert lines.tables_of(documents) == [b"", b""]


def test_tables_of_slides_that_follow_each_other_are_tables_of_their_own(tmp_path):
    from pptx import Presentation

    deck = Presentation()
    for cells in (
        ["Lamp", "Colour", "Fresnel", "white", "Argand", "red"],
        ["Buoy", "Bell", "Skerry", "no", "Narrows", "yes"],
    ):
        page = deck.slides.add_slide(deck.slide_layouts[6])
        table = page.shapes.add_table(3, 2, 9, 9, 9, 9).table
        for at, text in enumerate(cells):
            table.cell(at // 2, at % 2).text = text
    with indexed(tmp_path, {}, (deck.save, "harbour.pptx")) as index:
        data = [tables for tables in index.tables(index.search("Skerry Argand", 4)) if tables]
    for tables in data:
        with opened(tables) as held:
            assert [table.rows for table in held] == [2]
    assert len({*data}) == 2
