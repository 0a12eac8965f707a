"""A question that names a document gets the passages of that document first, whatever others say of it."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.index import name_candidates
from local_rag.index.index import Index
from local_rag.index.store import names

RULES = {
    "rule-0007.md": "# Mooring\n\nAuthor: Ada Quill\n\n## Abstract\n\nBoats are tied to the pier with two ropes.\n",
    "rule-0017.md": "# Fog signals\n\nAuthor: Bo Reed\n\n## Abstract\n\nIn fog the horn sounds twice a minute.\n",
    "rule-0170.md": "# Fees\n\nAuthor: Cy Moss\n\n## Abstract\n\nA berth costs nine crowns. Rule 17 says when the horn "
    "sounds, rule 7 how boats are tied.\n",
    "2023-03 Quarterly report (final).md": "# Quarterly report\n\nThe harbour earned 900 crowns from berths.\n",
    "2023-06 Quarterly report.md": "# Quarterly report\n\nThe harbour earned 1,200 crowns from berths and from fog.\n",
    "Mietvertrag_Hafenstr_12.txt": "Die Miete beträgt 700 Kronen. Die Kündigungsfrist ist drei Monate.\n",
    "meeting-notes-northwind.md": "# Meeting with Northwind\n\nThey asked for a longer pier and two more berths.\n",
    "NORTHPIER_2022_report.md": "# Annual report\n\nNorth Pier earned 400 crowns.\n",
    "NORTHPIER_2021_report.md": "# Annual report\n\nNorth Pier earned 300 crowns.\n",
    "berths.txt": "A berth is a place for a boat at the pier.\n",
    "pier/boats.md": "Boats lie at the pier. Boats leave at dawn. What boats need is rope and a berth.\n",
    "pier/more.md": "More boats come in June. Such boats need a berth, and boats of guests pay a fee.\n",
}


def mail(sender, subject, text):
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, "crew@harbour.test", subject
    message["Date"] = "Fri, 31 Mar 2023 09:30:00 +0000"
    message.set_content(text)
    return b"From x Fri Mar 31 09:30:00 2023\n" + message.as_bytes() + b"\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    base = tmp_path_factory.mktemp("harbour")
    notes = base / "notes"
    for name, text in RULES.items():
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(text, encoding="utf-8")
    mails = [
        mail("Dee <dee@harbour.test>", "Summer feast", "We meet at noon and bring cake."),
        mail("Eli <eli@harbour.test>", "Rope order", "Please send forty metres of rope before the feast."),
    ]
    (notes / "crew.mbox").write_bytes(b"".join(mails))
    with Index.open(base / "index", HashingEmbedder(), chunk_size=40, create=True) as made:
        made.sync([notes])
        yield made


def first(index, question, **options):
    passage = index.search(question, 3, **options)[0]
    return Path(passage.metadata["source"]).name, passage.metadata["named"]


@pytest.mark.parametrize(
    ("question", "name", "named"),
    [
        ("What is rule 17 about?", "rule-0017.md", "rule 17"),
        ("What is rule 0017 about?", "rule-0017.md", "rule 0017"),
        ("Who wrote rule 7?", "rule-0007.md", "rule 7"),
        ("rule 170", "rule-0170.md", "rule 170"),
        ("Which rope does rule 7 ask for?", "rule-0007.md", "rule 7"),
        ("Who wrote Fog signals?", "rule-0017.md", "fog signals"),
        ("What does the March report say about berths?", "2023-03 Quarterly report (final).md", "march report"),
        ("What does the June report say about berths?", "2023-06 Quarterly report.md", "june report"),
        ("Worum geht es im Mietvertrag Hafenstraße 12?", "Mietvertrag_Hafenstr_12.txt", "mietvertrag hafenstrasse 12"),
        ("Wie hoch ist die Miete in der Hafenstr 12?", "Mietvertrag_Hafenstr_12.txt", "hafenstr 12"),
        ("What did Northwind ask for?", "meeting-notes-northwind.md", "northwind"),
        ("Summarise the Northwind notes", "meeting-notes-northwind.md", "northwind notes"),
        ("How much did North Pier earn in FY2022?", "NORTHPIER_2022_report.md", "north pier 2022"),
        ("Who sent the mail about the summer feast?", "crew.mbox", "summer feast"),
    ],
)
def test_the_named_document_comes_first(index, question, name, named):
    assert first(index, question) == (name, named)


def test_a_mail_is_named_by_its_subject_within_its_mailbox(index):
    (passage, *_) = index.search("Who sent the mail about the rope order?", 3)
    assert passage.metadata["title"] == "Rope order"


def test_two_documents_are_named(index):
    passages = index.search("Who wrote rule 7 and rule 17?", 3)
    assert {Path(passage.metadata["source"]).name for passage in passages[:2]} == {"rule-0007.md", "rule-0017.md"}
    assert {passage.metadata["named"] for passage in passages[:2]} == {"rule 7", "rule 17"}


@pytest.mark.parametrize(
    "question",
    ["How many boats need a berth?", "What do boats need?", "boats at the pier", "Are Signals dull?"],
)
def test_an_ordinary_word_that_is_a_name_or_part_of_a_title_names_nothing(index, question):
    assert {passage.metadata["named"] for passage in index.search(question, 5)} == {""}


def test_a_wrong_recognition_hides_nothing(index):
    """The mail about the feast is named; what answers stands elsewhere, and is among the passages all the same."""
    passages = index.search("What does the summer feast mail say about the notice period of the lease?", 20)
    assert passages[0].metadata["named"] == "summer feast"
    assert len({passage.metadata["source"] for passage in passages}) == len(RULES) + 1


def test_a_narrower_search_stays_where_it_is(index):
    name, named = first(index, "What is rule 17 about?", within=["rule-0170.md"])
    assert (name, named) == ("rule-0170.md", "")


@pytest.mark.parametrize("mode", ["dense", "words"])
def test_every_mode_prefers_what_is_named(index, mode):
    assert first(index, "What is rule 17 about?", mode=mode) == ("rule-0017.md", "rule 17")


def test_an_excluded_passage_stays_out(index):
    (passage, *_) = index.search("What is rule 17 about?", 3)
    again = index.search("What is rule 17 about?", 3, exclude=[passage.metadata["chunk_id"]])
    assert passage.metadata["chunk_id"] not in {other.metadata["chunk_id"] for other in again}


def test_however_many_names_there_are_few_are_read(index, monkeypatch):
    monkeypatch.setattr(name_candidates, "READ", 3)
    lengths = []
    plain = names.best
    monkeypatch.setattr(names, "best", lambda *given: (rows := plain(*given), lengths.append(len(rows)))[0])
    assert first(index, "Who wrote rule 7?") == ("rule-0007.md", "rule 7")
    assert first(index, "What does the June report say about berths?")[1] == "june report"
    assert lengths and max(lengths) <= 3
