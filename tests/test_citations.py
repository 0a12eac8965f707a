"""What a citation may claim."""

from __future__ import annotations

import pytest
from fakes import passage
from hypothesis import given
from hypothesis import strategies as st

from local_rag.citations import check, locate, nearest
from local_rag.types import NOT_IN_PASSAGES

WARRANTY = passage(
    1,
    "Acme sells pumps. The warranty on every pump lasts two years from delivery.\nIt does not cover the seals. "
    "Repairs are made in Lyon by Dupont & Fils. The board approved the new plan in May 2021.",
    source="/files/terms.pdf",
    page=4,
    heading="Terms > Warranty",
    start=1000,
)
OTHER = passage(2, "The tool has [12] three modes:\n\n- fast\n- slow\n- off\n\nChoose one of them before you start.")


def only(text, *documents):
    (citation,) = check(text, documents or (WARRANTY, OTHER)).citations
    return citation


def test_a_citation_is_cut_from_the_passage_and_knows_where_it_stands():
    citation = only("The warranty on every pump lasts two years from delivery. [1]")
    assert citation.quote == "The warranty on every pump lasts two years from delivery."
    assert (citation.source, citation.page, citation.heading) == ("/files/terms.pdf", 4, "Terms > Warranty")
    assert (citation.start, citation.end) == (1018, 1018 + len(citation.quote))
    assert citation.verified


@pytest.mark.parametrize(
    ("sentence", "verified"),
    [
        ("Every pump's warranty lasts two years from delivery [1].", True),
        ("The warranty on pumps lasts 2 years from delivery [1].", True),
        ("The warranty on every pump lasts five years from delivery [1].", False),
        ("The warranty on every pump lasts 3 years from delivery [1].", False),
        ("The warranty covers accidental damage to the pump in transit [1].", False),
        ("The warranty on every pump does not last two years from delivery [1].", False),
        ("The warranty covers the seals [1].", False),
        ("The warranty does not cover the seals [1].", True),
        ("Repairs are made in Paris by Dupont & Fils [1].", False),
        ("The board rejected the new plan in May 2021 [1].", False),
        ("The board approved the new plan in May 2021 [1].", True),
        ("Pumps are wonderful machines that everybody should own [1].", False),
    ],
)
def test_a_fluent_sentence_is_verified_only_when_the_passage_says_it(sentence, verified):
    assert only(sentence).verified is verified


def test_unknown_numbers_are_dropped_and_counted():
    checked = check("The warranty lasts two years [1, 7]. It is blue [9].", [WARRANTY])
    assert checked.text == "The warranty lasts two years [1]. It is blue."
    assert (checked.dropped, checked.uncited, len(checked.citations)) == (2, 1, 1)
    assert checked.status == "partial"


def test_a_mark_cites_the_sentence_before_it_and_not_those_before_that():
    checked = check("It is lovely. The warranty does not cover the seals. [1] So buy one.", [WARRANTY])
    assert [citation.sentence for citation in checked.citations] == ["The warranty does not cover the seals."]
    assert checked.uncited == 2


def test_a_list_copied_from_the_passage_is_one_claim():
    text = "The tool has three modes:\n- fast\n- slow\n- off"
    citation = only(f"{text} [2]")
    assert citation.quote == "The tool has [12] three modes:\n\n- fast\n- slow\n- off"
    assert citation.verified


def test_two_marks_cite_two_passages():
    checked = check("The warranty does not cover the seals [1][2].", [WARRANTY, OTHER])
    assert [(citation.number, citation.verified) for citation in checked.citations] == [(1, True), (2, False)]
    assert checked.status == "partial"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (NOT_IN_PASSAGES, "abstained"),
        ("", "abstained"),
        ("The warranty does not cover the seals [1].", "grounded"),
        ("The warranty does not cover the seals.", "ungrounded"),
        ("The seals are made of gold [1].", "ungrounded"),
    ],
)
def test_the_status_that_citations_allow(text, status):
    assert check(text, [WARRANTY]).status == status


def test_the_nearest_passages_are_named_with_their_best_sentence():
    first, second = nearest([WARRANTY, OTHER], "Which seals are covered?")
    assert first.quote == "It does not cover the seals."
    assert (second.number, second.verified) == (2, False)


def test_white_space_case_and_marks_do_not_matter_when_locating():
    text = "He  said\n[3] that\tIT works. Fine."
    span = locate("he said that it works.", text)
    assert span.of(text) == "He  said\n[3] that\tIT works."
    assert locate("he said that it fails", text) is None
    assert locate("", text) is None


@given(st.text(max_size=200), st.text(min_size=1, max_size=200))
def test_any_text_is_checked_without_an_error_and_quotes_are_verbatim(text, words):
    document = passage(1, words)
    for citation in check(f"{text} [1]", [document]).citations:
        assert citation.quote == words[citation.start : citation.end]


@given(st.text(alphabet="ab [1].\n", max_size=60))
def test_the_text_keeps_its_words(text):
    checked = check(text, [WARRANTY])
    assert [c for c in checked.text if c.isalpha()] == [c for c in text if c.isalpha()]
