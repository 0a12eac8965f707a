"""Texts as they are shown, compared and asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.core.answer import Answer, Conflict, Position
from local_rag.core.documents import Catalog
from local_rag.text.blocks import blocks
from local_rag.text.display import local_iso, local_time, summary, those_there, waiting_line
from local_rag.text.document_questions import document_question
from local_rag.text.markup import as_read, closed, markup, plain, view_of
from local_rag.text.near_duplicates import Distinct
from local_rag.text.support import evidence

# --- lines for a person


def test_the_kinds_that_are_not_named_are_counted():
    kinds = (".pdf 1,000", ".txt 3", ".md 3", ".csv 2", ".eml 2", ".rst 2", ".docx 2", ".epub 1")
    line = summary(Catalog(20, 40, files=1_015, kinds=kinds))
    assert line == "1,015 files (.pdf 1,000, .txt 3, .md 3, .csv 2, .eml 2, .rst 2, and 3 others)"
    assert summary(Catalog(1, 1, files=1, kinds=(".md 1",))) == "1 file (.md 1)"


def disagreement(*sides):
    return blocks(Answer("?", "x", "partial", conflicts=(Conflict(sides),)))[-1]


def test_a_moment_is_shown_by_the_clocks_of_this_machine(clocks_in_berlin):
    assert local_time("2025-03-03T09:00Z") == "2025-03-03 10:00 CET"
    assert local_iso("2025-07-03T23:30Z") == "2025-07-04T01:30+02:00"
    assert [local_time(date) for date in ("2025-03", "2025-03-03", "")] == ["2025-03", "2025-03-03", ""]
    assert disagreement(Position("x", "2025-07-03T23:30Z", (), "document")).sides[0].when == "2025-07-04"


@pytest.mark.parametrize(("other", "ordered"), [("2024-06-01", False), ("2024-06-01T08:00Z", False), ("2023", True)])
def test_sides_of_the_same_day_are_in_no_order(other, ordered):
    shown = disagreement(Position("a", "2024-06-01T09:00Z", ()), Position("b", other, ()))
    assert ("the newest first" in shown.title) == ordered


def test_what_there_is_instead_is_said_of_any_number():
    there = [those_there(names) for names in ([], ["a"], ["a", "b", "c"])]
    assert there == ["there are none yet", "there is only a", "there are a, b and c"]


def test_what_waits_for_its_vector_is_counted():
    lines = [waiting_line(0, 1457), waiting_line(3, 1457), waiting_line(9, 9)]
    assert lines[0] == "none of 1,457 passages is embedded; all are found by their words only"
    assert lines[1:] == ["3 of 1,457 passages are embedded; the others are found by their words only", ""]


# --- markup


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("**Landlord:** Margit *Osei*", "Landlord: Margit Osei"),
        ('see [the lease](https://a/b_(c) "Lease") and ![a plan](plan.png)', "see the lease and "),
        ("[![Build](https://a/b.svg)](https://c) Text [#9][issue]", " Text #9"),
        ("{func}`os.dup2`, :pep:`8`, {term}`slotted <slotted classes>`", "os.dup2, PEP 8, slotted"),
        ("`sys.stdout`, ``x = y``, `the page <https://a>`_", "sys.stdout, x = y, the page"),
        (
            "an Error_ of `Type Objects`_ [10]_, :class:`~a.B`; class_, ``Py_``\\ s",
            "an Error of Type Objects, B; class_, Py_s",
        ),
        (".. note:: thus::\n\n  a::b\n\n.. _Error: x\n", "thus:\n\n  a::b\n\n"),
        ("a <b>bold</b> word<br/><!-- nothing -->", "a bold word"),
        ("matrix[i][j], f[x](y), 5*3 and 4*2, a ** b ** c", "matrix[i][j], f[x](y), 5*3 and 4*2, a ** b ** c"),
        ("__init__ and snake_case_name, _slanted words_", "__init__ and snake_case_name, slanted words"),
        ("[29][who?] says [so][ref]", "[29][who?] says so"),
        ("It costs 100 [1]. So it does [2, 3].", "It costs 100 [1]. So it does [2, 3]."),
    ],
)
def test_what_is_read_of_a_text(text, read):
    assert plain(text) == read


@given(st.text(alphabet="ab *_`[]()<>{}:!#|\n\\", max_size=60))
def test_every_letter_of_the_view_stands_in_the_text(text):
    view, hidden = view_of(text), {place for start, end in markup(text) for place in range(start, end)}
    assert "".join(text[place] for place in view.positions) == view.text
    assert "".join(letter for place, letter in enumerate(text) if place not in hidden) == view.text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("## Price { #price }\n\nIt is **900 *euros***.", "Price It is 900 euros."),
        ("The ``first\nline`` and **bold\nwords**.", "The first line and bold words."),
        (
            "Title\n-----\nSee :pep:`8` and `Type Objects`_::",
            "Title See PEP 8 and Type Objects:",
        ),
        ("> quoted\n\n```python\nf(**options)\n```", "quoted f(**options)"),
    ],
)
def test_what_a_person_reads_of_a_text_on_a_line(text, read):
    assert as_read(text) == read


@pytest.mark.parametrize("draft", ["It is **ver", "It is **very** `fas", "It is **", "Why\n\n**It** is", "```\nx = 1"])
def test_a_draft_is_read_without_its_markup_at_any_time(draft):
    assert not {*"*`"} & {*as_read(closed(draft))}


def test_a_quote_holds_both_halves_of_its_markup():
    passage = "# Why\n\n**It** is always `fast`"
    assert evidence("It is always fast.", passage).span.of(passage) == "**It** is always `fast`"


def test_a_plain_quote_of_a_text_with_markup_is_word_for_word_and_stands_where_it_stood():
    passage = "See below. The `cache_hash` option keeps the {func}`hash` of [an object](https://a)."
    found = evidence("The cache_hash option keeps the hash of an object.", passage)
    assert found.exact and found.span.of(passage) == passage[11:]


# --- near duplicates


CLAUSE = (
    "The tenant shall pay the rent of 950 euros on the third working day of each month to the account of the landlord. "
    "The deposit is due before the keys are handed over and is paid back within six months after the end of the lease. "
    "Small repairs in the flat are paid by the tenant up to an amount of 100 euros for each repair."
)


def taken(*texts: str):
    distinct = Distinct()
    return [distinct.takes(text) for text in texts]


@pytest.mark.parametrize(
    "copy",
    [
        CLAUSE.upper(),
        "> " + CLAUSE.replace(". ", ".\n> "),
        CLAUSE.replace("landlord", "land-\nlord"),
        CLAUSE.replace("to the account", "on an account"),
        CLAUSE[: CLAUSE.index(" Small")],
        "continued: " + CLAUSE,
    ],
    ids=["case", "quoted mail", "hyphenated", "weightless words", "a part of it", "a word before it"],
)
def test_a_text_that_adds_nothing_is_not_taken(copy):
    assert taken(CLAUSE, copy) == [True, False]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("950", "990"),
        ("third", "first"),
        ("six months", "twelve months"),
        ("shall pay", "shall not pay"),
        ("is due", "is never due"),
        ("by the tenant", "by the landlord"),
        ("before the keys", "after the keys"),
        ("Small repairs", "All repairs"),
        ("the landlord", "Mr Vance"),
        ("is paid", "was paid"),
    ],
)
def test_versions_that_disagree_are_both_taken(old, new):
    assert old in CLAUSE
    assert taken(CLAUSE, CLAUSE.replace(old, new, 1)) == [True, True]
    assert taken(CLAUSE.replace(old, new, 1), CLAUSE) == [True, True]


def test_who_owes_whom_is_a_matter_of_order():
    text = "On demand {} shall inform {} of all damage in writing and without any further delay of his own"
    assert taken(text.format("tenant", "landlord"), text.format("landlord", "tenant")) == [True, True]


@pytest.mark.parametrize("end", [" Valid from 2024.", " Signed by Vance.", " This does not hold for the cellar."])
def test_a_fact_at_the_end_is_something_new(end):
    assert taken(CLAUSE, CLAUSE + end) == [True, True]
    assert taken(CLAUSE + end, CLAUSE) == [True, False], "the longer one says it all"


def test_two_texts_about_the_same_are_both_taken():
    assert taken(CLAUSE, "Rent is due early in the month. Whoever rents the flat pays for small repairs.") == [
        True,
        True,
    ]


def test_short_texts_and_other_scripts():
    assert taken("yes", "Yes!", "no", "", "") == [True, False, True, True, True]
    assert taken("家賃は月初に支払う", "家賃は月末に支払う") == [True, True]


# --- questions about a document


@pytest.mark.parametrize(
    ("question", "asks", "name"),
    [
        ("What is RFC 12 about?", "content", "RFC 12"),
        ("what's harbour-rules about", "content", "harbour-rules"),
        ("What does the harbour plan propose?", "content", "harbour plan"),
        ("Please summarise the handbook.", "content", "handbook"),
        ("Give me an overview of the handbook", "content", "handbook"),
        ("Who wrote the March report?", "author", "March report"),
        ("Who are the authors of “Tides and Piers”?", "author", "Tides and Piers"),
        ("By whom was the lease drafted?", "author", "lease"),
        ("who sent the mail about the garden party?", "author", "mail about the garden party"),
        ("When was the lease last updated?", "date", "lease"),
        ("How old is the lease?", "date", "lease"),
        ("What is the title of RFC 12?", "title", "RFC 12"),
        ("Worum geht es im Mietvertrag?", "content", "Mietvertrag"),
        ("Fasse das Handbuch zusammen!", "content", "Handbuch"),
        ("Was steht in der Hausordnung?", "content", "Hausordnung"),
        ("Wer hat den Mietvertrag geschrieben?", "author", "Mietvertrag"),
        ("Von wem ist die Mail zum Sommerfest?", "author", "Mail zum Sommerfest"),
        ("Wann wurde das Handbuch veröffentlicht?", "date", "Handbuch"),
        ("Wie lautet der Titel von RFC 12?", "title", "RFC 12"),
    ],
)
def test_what_is_asked_of_which_document(question, asks, name):
    form = document_question(question)
    assert form is not None
    assert (form.asks, form.name, form.topic, form.field) == (asks, name, "", "")


@pytest.mark.parametrize(
    ("question", "name", "topic"),
    [
        ("What does the handbook say about leave?", "handbook", "leave"),
        ("What do the rules require for dogs?", "rules", "dogs"),
        ("According to the lease, who pays for repairs?", "lease", "who pays for repairs"),
        ("How long is the notice period according to the lease?", "lease", "How long is the notice period"),
        ("In the handbook, what is said of leave?", "handbook", "what is said of leave"),
        ("Was sagt die Hausordnung über Hunde?", "Hausordnung", "Hunde"),
        ("Was steht im Mietvertrag zur Kündigung?", "Mietvertrag", "Kündigung"),
        ("Laut Mietvertrag, wer zahlt Reparaturen?", "Mietvertrag", "wer zahlt Reparaturen"),
    ],
)
def test_what_a_document_says_of_something(question, name, topic):
    form = document_question(question)
    assert form is not None
    assert (form.asks, form.name, form.topic) == ("topic", name, topic)


def test_a_line_of_its_head():
    form = document_question("What is the status of RFC 12?")
    assert form is not None
    assert (form.asks, form.name, form.field) == ("field", "RFC 12", "status")


@pytest.mark.parametrize(
    "question",
    ["What is the rent?", "How many boats are there?", "Why?", "", "Which rule allows dogs?", "word " * 200],
)
def test_any_other_question_has_no_such_form(question):
    assert document_question(question) is None
