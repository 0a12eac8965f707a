"""Names of files, headers of passages, words of a query, and the pace of a sync."""

from types import SimpleNamespace

import pytest

from local_rag.core.documents import Narrowing
from local_rag.core.errors import UsageError
from local_rag.index.exact_words import Query, obeys, quoted_phrases, typed_query
from local_rag.index.filters import matching
from local_rag.index.path_labels import PathLabels
from local_rag.index.sync.report import SETTLED, Pace
from local_rag.text import names
from local_rag.text.names import document_header, passage_header

# --- names and headers


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/notes/pep-0572.rst", "pep 0572 572"),
        ("/filings/3M_2018_10K.pdf", "3M 2018 10K"),
        ("/filings/JPMORGAN_2022Q2_10Q.pdf", "JPMORGAN 2022 Q2 10Q"),
        ("/filings/FY2023Q3.pdf", "FY 2023 Q3"),
        ("/filings/AnnualReport2023.pdf", "Annual Report 2023"),
        ("/manuals/APIReference.html", "API Reference"),
        ("/manuals/rfc2616.txt", "rfc 2616"),
        ("/manuals/utf8.txt", "utf8"),
        ("/manuals/pump-parts__pump-2.txt", "pump parts 2"),
        ("/notes/2023-03-31-pumps.md", "2023-03-31 pumps"),
        ("/notes/re\u0301sume\u0301.pdf", "résumé"),
        ("/notes/हिन्दी_रिपोर्ट.txt", "हिन्दी रिपोर्ट"),
        ("https://www.example.org/posts/water%20pumps/?page=2", "water pumps"),
        # names that a program gave
        ("/a/0000320193-23-000106.pdf", ""),
        ("/a/d41d8cd98f00b204e9800998ecf8427e.txt", ""),
        ("/a/2310.11511v1.pdf", "2310 11511v1"),
        ("/a/document(1).pdf", ""),
        ("/a/IMG_1234.pdf", ""),
        # a folder gives no words, so that it can move
        ("/home/pumps/README.md", "README"),
        ("/home/lectures/03.md", ""),
        ("/README", "README"),
        ("/", ""),
    ],
)
def test_the_words_of_a_name_are_those_that_a_person_says(path, expected):
    assert " ".join(names.name_words(path)) == expected


@pytest.mark.parametrize(
    ("function", "path", "expected"),
    [
        (names.name_date, "/notes/Scan_20230331.pdf", "2023-03-31"),
        (names.name_date, "/notes/minutes 2023-03.md", "2023-03"),
        (names.name_date, "/filings/3M_2018_10K.pdf", ""),
        (names.name_date, "/notes/readings-2024-25.csv", ""),  # two years
        (names.called, "/notes/readings-2024-25.csv", "readings 2024 25"),
        (names.name_date, "/notes/0000320193-23-000106.pdf", ""),
        (names.name_text, "/notes/pep-0572.rst", "pep-0572 572"),
        (names.name_text, "/notes/0000320193-23-000106.pdf", "0000320193-23-000106"),
        (names.folder_words, "/water pumps/2023/lease.pdf", ["water", "pumps", "2023"]),
        (names.called, "/2023-03 North Pier.md", "2023-03 North Pier march märz 2023 NorthPier"),
    ],
)
def test_dates_and_what_full_text_search_sees(function, path, expected):
    assert function(path) == expected


@pytest.mark.parametrize(
    ("path", "title", "header"),
    [
        ("/notes/pep-0572.rst", "Assignment Expressions", "pep 0572 572. Assignment Expressions"),
        ("/notes/pep-0572.rst", "PEP 572 – Assignment", "PEP 572 – Assignment"),
        ("/filings/BESTBUY_2023_10K.pdf", "Best Buy", "BESTBUY 2023 10K. Best Buy"),
        ("/notes/water_pumps_2023.md", "Water pumps", "water pumps 2023"),
        ("https://example.org/pumps", "https://example.org/pumps", "pumps"),
        ("/notes/IMG_1.pdf", "", ""),
    ],
)
def test_a_name_and_a_title_that_repeats_it_are_said_once(path, title, header):
    assert document_header(path, title) == header


@pytest.mark.parametrize(
    ("header", "heading", "expected"),
    [
        ("pep 572. Expressions", "Expressions > Syntax > Scope", "pep 572. Expressions. Syntax > Scope"),
        ("pep 572. Expressions", "", "pep 572. Expressions"),
        ("", "Syntax", "Syntax"),
        ("What is a pump?", "Valves", "What is a pump? Valves"),
    ],
)
def test_the_heading_path_follows_without_what_the_title_says(header, heading, expected):
    assert passage_header(header, heading) == expected


def test_a_header_is_bounded_and_keeps_the_innermost_heading():
    header = document_header("/notes/" + "pump " * 50 + ".md", "a long title " * 1000)
    deep = passage_header(header, " > ".join(f"Section {number} of a very long path" for number in range(100)))
    assert len(header) <= names.DOCUMENT_LENGTH and len(deep) <= names.HEADER_LENGTH
    assert deep.endswith("Section 99 of a very long path")


# --- labels


FILES = ("a/notes/lease.pdf", "b/notes/lease.pdf", "b/notes/deep/[1] plan*.md", "c/合同/租约.pdf", "c/single.txt")


@pytest.fixture
def base(tmp_path):
    """Files below folders of one name, and one with signs of a glob in its name."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("here", "roots", "labels"),
    [
        ("c", ["a/notes", "c", "c/single.txt"], {0: "{}/a/notes/lease.pdf", 3: "合同/租约.pdf", 4: "single.txt"}),
        (".", ["a/notes", "b/notes"], {0: FILES[0], 1: FILES[1], 2: FILES[2]}),
        ("b", ["b", "a/notes"], {1: "notes/lease.pdf", 0: "{}/a/notes/lease.pdf"}),
        (None, ["b", "a/notes"], {1: "b/notes/lease.pdf", 0: "notes/lease.pdf"}),  # at a page nobody is anywhere
    ],
)
def test_a_label_opens_its_file_at_a_terminal_and_else_begins_with_the_indexed_folder(
    base, monkeypatch, here, roots, labels
):
    monkeypatch.chdir(base)
    label = PathLabels((str(base / root) for root in roots), base / here if here else None)
    expected = {number: text.format(base) for number, text in labels.items()}
    assert {number: label(str(base / FILES[number])) for number in labels} == expected
    assert [label(other) for other in ("https://a.test/lease", "/else/x.md")] == ["https://a.test/lease", "/else/x.md"]


@pytest.mark.parametrize("here", [".", "a/notes", "b", "b/notes/deep", "/"])
@pytest.mark.parametrize("roots", [("a/notes", "b/notes", "c"), ("a", "b/notes", "c/合同", "c/single.txt"), ("",)])
def test_a_label_typed_after_in_means_its_file_from_any_folder(base, monkeypatch, here, roots):
    monkeypatch.chdir(base / here)
    labels = PathLabels((str(base / root) for root in roots), base / here)
    paths = [str(base / name) for name in FILES]
    assert all(path in matching(paths, [labels(path)]) for path in paths)


# --- words that must be there


QUOTED = ("net sum", "grobe Sache", "faute lourde")


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ('"notice period" rent', Query("notice period rent", ("notice period",))),
        ('-draft rent -"first draft" -old', Query("rent", (), ("draft", "first draft", "old"))),
        ("“net sum” „grobe Sache“ «faute lourde»", Query("net sum grobe Sache faute lourde", QUOTED)),
        ('"a" "a -b"', Query("a a -b", ("a", "a -b"))),
        # what only looks like an operator stands for itself
        ("self-rag - and at -5 °C", Query("self-rag - and at -5 °C")),
        ('a 5" and a 6" pipe', Query('a 5" and a 6" pipe')),
        ('an open "quote', Query('an open "quote')),
        ("(“net” or gross)", Query("( net or gross)", ("net",))),
    ],
)
def test_a_query_is_read_as_people_type_it(typed, query):
    assert typed_query(typed) == query


@pytest.mark.parametrize(
    ("typed", "message"),
    [('-draft -"first draft"', "only says what to leave out"), ('"" -- ?', "the query has no word")],
)
def test_a_query_without_words_is_refused(typed, message):
    with pytest.raises(UsageError, match=message):
        typed_query(typed)


def test_of_a_question_only_quotes_are_operators():
    assert quoted_phrases('What does "gross negligence" mean -draft or not?') == ("gross negligence",)


@pytest.mark.parametrize(
    ("phrases", "without", "text", "obeyed"),
    [
        (["notice period"], [], "The Notice\nPeriod is long.", True),
        (["notice period"], [], "The notice of a period, two notice periods", False),
        (["café", "of leases"], [], "the cafe", True),
        (["of leases draft"], [], "The draft", False),
        (["self-rag", "…"], [], "Self RAG grades.", True),
        ([], ["draft", "…"], "some drafts", True),
        ([], ["Leases"], "some drafts", False),
    ],
)
def test_a_passage_obeys_in_text_heading_or_title(phrases, without, text, obeyed):
    passage = SimpleNamespace(text=text, heading="Of leases", title="Annex")
    assert obeys(passage, Narrowing(phrases=phrases, without=without)) is obeyed


# --- the time that is left


def test_a_pace_is_that_since_the_first_call():
    now = [0.0]
    pace = Pace(1000, lambda: now[0])
    now[0] = 10  # a model is loaded
    assert pace.progress(0, 0, 100, 0, "a").rate is None
    now[0] += SETTLED / 2
    assert pace.progress(10, 1, 100, 1, "a").left is None, "too early to say"
    now[0] = 110
    told = pace.progress(500, 50, 100, 200, "b", phase="vectors")
    assert (told.rate, told.left, told.share, told.seconds) == (2.0, 100.0, 0.5, 110)
    assert (told.phase, told.path) == ("vectors", "b")
