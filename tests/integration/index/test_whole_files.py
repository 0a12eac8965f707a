"""Outlines of files, the files that hold something, and which file a question for all of a document means."""

import pytest
from support.fakes_index import HashingEmbedder
from support.hostile import make_pdf

from local_rag.index.index import Index
from local_rag.index.joint import JointIndex

LEASE = """# Lease of 4 Quay Row

Landlord: Tern Homes Ltd
Date: 2024-05-03

## 1 Term

The lease runs for three years. It ends on 31 May 2027.

### 1.1 Renewal

Both sides may renew it.

## 2 Rent

- The rent is 720 euros a month. The deposit is 1,440 euros.

| Year | Rent | Due |
|---|---|---|
| 2024 | 720 | 1 June |
| 2025 | 740 | 1 June |

## 3 Notice

Tern Homes Ltd gives three months' notice. See [3] and the penalty clauses.
"""
PLAIN = """Agreement about a garden

1 Purpose

Ann Reed waters the tulips of Bo Lind every day.

2 Term

It lasts until 4 July 2026.

3 Fee

She gets $40 each week, and Bo Lind pays for the water.
"""
MAIL = "From: Ann Reed <ann@quay.test>\nSubject: Lease of 4 Quay Row\n\nHere is the lease of 4 Quay Row.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    base = tmp_path_factory.mktemp("whole")
    (base / "leases").mkdir()
    (base / "leases" / "quay-row.md").write_text(LEASE)
    (base / "garden.txt").write_text(PLAIN)
    (base / "quay-row.eml").write_text(MAIL)
    pages = [
        f"{number} Part {word}\n\nPart {word} says what happens on day {word} of the fair."
        for number, word in enumerate("one two three four".split(), 1)
    ]
    make_pdf(base / "fair.pdf", ["1 Part one 2\n2 Part two 3\n3 Part three 4", *pages], title="The fair")
    for number in range(3):
        (base / f"note-{number}.md").write_text(
            f"# Note {number}\n\nThe court of Anvil Court meets here. A clause on a penalty.\n"
        )
    return base


@pytest.fixture(scope="module")
def index(folder, tmp_path_factory):
    with Index.open(tmp_path_factory.mktemp("index"), HashingEmbedder(window=300), create=True) as opened:
        opened.sync([folder])
        yield opened


def lines(index, folder, name, language="en"):
    return [(line.kind, line.text) for line in index.outline(str(folder / name), language)]


def test_an_outline_names_title_kind_date_headings_with_their_first_sentence_tables_and_what_stands_out(index, folder):
    assert lines(index, folder, "leases/quay-row.md") == [
        ("about", "Lease of 4 Quay Row: md, 2024-05-03, 88 words"),
        ("section", "1 Term: The lease runs for three years. (1.1 Renewal)"),
        ("section", "2 Rent: The rent is 720 euros a month."),
        ("section", "3 Notice: Tern Homes Ltd gives three months' notice."),
        ("table", "Table, 2 Rent: Year, Rent, Due, 2 rows"),
        ("names", "Names: Tern Homes Ltd"),
        ("dates", "Dates: 1 June; 2024-05-03; 31 May 2027"),
        ("amounts", "Amounts: 720 euros; 1,440 euros"),
    ]
    assert ("table", "Tabelle, 2 Rent: Year, Rent, Due, 2 Zeilen") in lines(index, folder, "leases/quay-row.md", "de")


def test_every_line_has_the_place_that_it_is_from(index, folder):
    _, term, *_, amounts = index.outline(str(folder / "leases" / "quay-row.md"))
    assert [LEASE[place.start : place.end] for place in term.places] == ["The lease runs for three years."]
    assert [LEASE[place.start : place.end] for place in amounts.places] == ["720 euros", "1,440 euros"]


def test_numbered_lines_are_headings_where_there_are_no_others_and_pages_are_named(index, folder):
    assert lines(index, folder, "garden.txt")[1:3] == [
        ("section", "1 Purpose: Ann Reed waters the tulips of Bo Lind every day."),
        ("section", "2 Term: It lasts until 4 July 2026."),
    ]
    fair = lines(index, folder, "fair.pdf")
    assert fair[0] == ("about", "The fair: pdf, 5 pages")
    assert ("section", "1 Part one (p. 2): Part one says what happens on day one of the fair.") in fair
    assert index.outline("/nowhere.md") == []


def test_all_files_with_a_name_are_found_and_none_that_only_has_its_words(index, folder):
    hits = index.files_with("Anvil Court")
    assert sorted(hit.passage.metadata["source"] for hit in hits) == [str(folder / f"note-{n}.md") for n in range(3)]
    assert {(hit.quote, hit.near) for hit in hits} == {("The court of Anvil Court meets here.", False)}
    assert index.files_with("Court Anvil") == [] and len(index.files_with('"Anvil Court"')) == 3
    assert [hit.passage.metadata["source"] for hit in index.files_with("Anvil Court", ["note-1.md"])] == [
        str(folder / "note-1.md")
    ]


def test_a_plural_is_no_other_word_and_words_apart_in_a_sentence_are_near(index, folder):
    found = [
        (hit.passage.metadata["source"].rpartition("/")[2], hit.near) for hit in index.files_with("penalty clause")
    ]
    assert found[0] == ("quay-row.md", False)
    assert sorted(found[1:]) == [(f"note-{number}.md", True) for number in range(3)]
    kind = index.files_with("penalty clause", kind="leas")
    assert [hit.passage.metadata["source"] for hit in kind] == [str(folder / "leases" / "quay-row.md")]


def test_a_name_means_the_longest_file_of_those_that_have_it_and_this_the_only_one(index, folder):
    lease, mail = str(folder / "leases" / "quay-row.md"), str(folder / "quay-row.eml")
    assert index.whole_files("quay row") == [lease, mail]
    assert index.whole_files("quay row", ["quay-row.eml"]) == [mail]
    assert index.whole_files("this document", ["quay-row.eml"]) == [mail]
    assert index.whole_files("this document") == index.whole_files("the moon") == []


def test_several_indexes_are_asked_as_one(index, folder):
    joint = JointIndex({"first": index, "second": index})
    assert len(joint.files_with("Anvil Court")) == 3
    source = joint.whole_files("quay row")[0]
    assert joint.outline(source) == index.outline(source)
    assert {passage.metadata["index"] for passage in joint.passages_of(source)} == {"first"}
    assert joint.outline("/nowhere.md") == joint.passages_of("/nowhere.md") == []
