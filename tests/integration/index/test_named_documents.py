"""A question that names a document gets the passages of that document first, whatever others say of it."""

import pytest
from support.fakes_index import indexed, markdown

RULES = {
    "rule-0007.md": "Mooring: Boats are tied to the pier with two ropes.",
    "rule-0017.md": "Fog signals: In fog the horn sounds twice a minute.",
    "rule-0170.md": "Fees: A berth costs nine crowns. Rule 17 says when the horn sounds, rule 7 how boats are tied.",
    "2023-03 Quarterly report (final).md": "Quarterly report: The harbour earned 900 crowns from berths.",
    "2023-06 Quarterly report.md": "Quarterly report: The harbour earned 1,200 crowns from berths and from fog.",
    "Mietvertrag_Hafenstr_12.txt": ": Die Miete beträgt 700 Kronen. Die Kündigungsfrist ist drei Monate.",
    "meeting-notes-northwind.md": "Meeting with Northwind: They asked for a longer pier and two more berths.",
    "NORTHPIER_2022_report.md": "Annual report: North Pier earned 400 crowns.",
    "NORTHPIER_2021_report.md": "Annual report: North Pier earned 300 crowns.",
    "berths.txt": ": A berth is a place for a boat at the pier.",
    "pier/boats.md": ": Boats lie at the pier. Boats leave at dawn. What boats need is rope and a berth.",
    "pier/more.md": ": More boats come in June. Such boats need a berth, and boats of guests pay a fee.",
    "crew.mbox » 1": "Summer feast: We meet at noon and bring cake.",
    "crew.mbox » 2": "Rope order: Please send forty metres of rope before the feast.",
}
LONG = markdown(
    "# Tides\n\nCover of the book, printed in the year of the flood, by the press of the harbour.\n\n"
    "# Contents\n\nFirst the moon, then the sun, then the moon and the sun together, as every year.\n\n"
    "# Abstract\n\nThis work explains how the moon moves the water, and why twice each day it comes.\n\n"
    "# Wind\n\nA storm from the west may hold the water back for as long as a day and a night.",
    "Tides of the bay",
)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    split = {name: text.partition(": ") for name, text in RULES.items()}
    texts = {f"/harbour/{name}": markdown(text, title) for name, (title, _, text) in split.items()}
    with indexed(tmp_path_factory.mktemp("rules") / "index", texts | {"/harbour/tides.epub": LONG}) as made:
        yield made


def first(index, question, **options):
    about = index.search(question, 3, **options)[0].metadata
    return about["source"].removeprefix("/harbour/"), about["named"]


@pytest.mark.parametrize(
    ("question", "name", "named"),
    [
        ("What is rule 0017 about?", "rule-0017.md", "rule 17"),
        ("rule 170", "rule-0170.md", "rule 170"),
        ("Which rope does rule 7 ask for?", "rule-0007.md", "rule 7"),
        ("Who wrote Fog signals?", "rule-0017.md", "fog signals"),
        ("Who wrote berths?", "berths.txt", "berths"),
        ("What does the March report say about berths?", "2023-03 Quarterly report (final).md", "march report"),
        ("Worum geht es im Mietvertrag Hafenstraße 12?", "Mietvertrag_Hafenstr_12.txt", "mietvertrag 12"),
        ("Wie hoch ist die Miete in der Hafenstr 12?", "Mietvertrag_Hafenstr_12.txt", "hafenstr 12"),
        ("What did Northwind ask for?", "meeting-notes-northwind.md", "northwind"),
        ("How much did North Pier earn in FY2022?", "NORTHPIER_2022_report.md", "north pier 2022"),
        ("What were North Pier's earnings in FY21?", "NORTHPIER_2021_report.md", "north pier 2021"),
        ("What did North Pier earn in Q2'2022?", "NORTHPIER_2022_report.md", "north pier 2022"),
        ("Who sent the mail about the rope order?", "crew.mbox » 2", "rope order"),
        ("Who wrote rule 17?", "rule-0017.md", "rule 17"),
    ],
)
def test_the_named_document_comes_first_in_every_mode(index, question, name, named):
    assert [first(index, question, mode=mode) for mode in ("hybrid", "dense", "words")] == [(name, named)] * 3


def test_a_name_with_a_number_that_no_document_has_names_none(index):
    assert first(index, "Who is the author of Northpier 1987?")[1] == ""


def test_two_documents_are_named(index):
    passages = [passage.metadata for passage in index.search("Who wrote rule 7 and rule 17?", 2)]
    assert {(about["source"], about["named"]) for about in passages} == {
        ("/harbour/rule-0007.md", "rule 7"),
        ("/harbour/rule-0017.md", "rule 17"),
    }


@pytest.mark.parametrize(
    ("question", "headings"),
    [
        ("Who wrote Tides of the bay?", ["Tides"]),
        ("What does Tides of the bay say about the west wind?", ["Wind"]),
    ],
)
def test_the_form_of_the_question_says_which_of_its_passages_come_first(index, question, headings):
    passages = index.search(question, 9, repeats=True)[: len(headings)]
    assert [passage.metadata["heading"] for passage in passages] == headings


@pytest.mark.parametrize("question", ["What do boats need?", "boats at the pier", "Are Signals dull?"])
def test_an_ordinary_word_that_is_a_name_or_part_of_a_title_names_nothing(index, question):
    assert {passage.metadata["named"] for passage in index.search(question, 5)} == {""}


def test_nothing_is_hidden_and_nothing_comes_that_is_not_wanted(index):
    passages = index.search("What does the summer feast mail say about the notice period of the lease?", 30)
    assert passages[0].metadata["named"] == "summer feast"
    assert len({passage.metadata["source"] for passage in passages}) == len(RULES) + 1
    question = "What is rule 17 about?"
    assert first(index, question, within=["rule-0170.md"]) == ("rule-0170.md", "")
    key = index.search(question, 1)[0].metadata["chunk_id"]
    assert key not in [passage.metadata["chunk_id"] for passage in index.search(question, 9, exclude=[key])]
