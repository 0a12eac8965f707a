"""The labelled set that ships with the package: its labels are true of the documents that ship with it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder, minilm

from local_rag.config.values import Values
from local_rag.diagnostics import demo
from local_rag.evaluation.cases import line_of, read_cases
from local_rag.evaluation.matching import holds, quoted, same_file
from local_rag.index.index import Index
from local_rag.text.words import fold

FILE = Path(demo.__file__).parent / "cases.jsonl"
CASES = {case.id: case for case in read_cases(FILE)}
ANSWERABLE = [case for case in CASES.values() if case.answerable]


class Tokens(HashingEmbedder):
    """The passages of the product: cut by the tokens of its embedder, whose vectors nobody needs here."""

    def token_ends(self, text):
        return minilm().token_ends(text)


@pytest.fixture(scope="module")
def passages(tmp_path_factory):
    place = tmp_path_factory.mktemp("demo") / "index"
    with Index.open(place, Tokens(window=256), chunk_size=Values().chunks.size, create=True) as index:
        index.sync([demo.DOCUMENTS, demo.SAVED_PAGES])
        return list(index.passages())


def test_every_kind_is_there():
    cases = CASES.values()
    hops = [case for case in cases if case.hops > 1]
    web = [case for case in cases if case.route == "web_search"]
    none = [case for case in cases if case.answerable is False and case.route is None]
    assert 24 <= len(cases) <= 30
    assert [len(kind) >= least for kind, least in ((hops, 4), (web, 4), (none, 6))] == [True] * 3
    assert len([case for case in ANSWERABLE if case.hops == 1]) >= 12
    assert {case.answerable for case in cases} == {True, False}
    saved = {path.name for path in demo.SAVED_PAGES.iterdir()}
    on_saved_pages = [case for case in ANSWERABLE if {target.file for target in case.relevant} <= saved]
    assert len(on_saved_pages) == 1
    assert {case.route for case in ANSWERABLE if case not in on_saved_pages} == {"vectorstore"}
    assert [case for case in web if case.answerable] == on_saved_pages
    assert {case.note.partition(":")[0] for case in none} == {"foreign", "near"}


def test_questions_and_ids_are_there_once():
    lines = FILE.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(CASES)
    assert lines == [line_of(case) for case in CASES.values()]
    assert max(Counter(fold(case.question) for case in CASES.values()).values()) == 1
    assert all(case.question.endswith("?") for case in CASES.values())


def test_all_documents_are_asked_about():
    single = {target.file for case in ANSWERABLE if case.hops == 1 for target in case.relevant}
    assert single == {path.name for path in demo.DOCUMENTS.iterdir()} | {"hyde.html"}


def test_two_hops_lead_to_two_files():
    for case in ANSWERABLE:
        assert len(case.relevant) == case.hops, case.id
        assert len({target.file for target in case.relevant}) == case.hops, case.id


@pytest.mark.parametrize("case", ANSWERABLE, ids=lambda case: case.id)
def test_a_quote_stands_where_the_label_says(case, passages):
    for target in case.relevant:
        assert (target.page is not None) == target.file.endswith(".pdf")
        holding = [one for one in passages if holds(target, one.source, one.page, one.text)]
        assert len(holding) == 1, f"{target} is in {len(holding)} passages"
        assert fold(" ".join(target.quote.split())) in fold(" ".join(holding[0].text.split()))
        elsewhere = [one for one in passages if not same_file(target.file, one.source)]
        assert not any(quoted(target.quote, one.text) for one in elsewhere)


@pytest.mark.parametrize("case", ANSWERABLE, ids=lambda case: case.id)
def test_a_reference_answer_is_short_and_from_the_quotes(case):
    quotes = fold(" ".join(target.quote for target in case.relevant))
    assert case.answers
    for answer in case.answers:
        assert fold(answer) in quotes
        assert len(answer.split()) <= 12


def test_the_set_agrees_with_the_demo():
    by_question = {case.question: case for case in CASES.values()}
    assert by_question[demo.ANSWERED].answerable is True
    assert by_question[demo.NOT_ANSWERED].answerable is False


@pytest.mark.parametrize("case", [case for case in CASES.values() if not case.answerable], ids=lambda case: case.id)
def test_what_is_not_answered_has_no_labels(case):
    assert (case.answers, case.relevant) == ((), ())


def test_foreign_questions_are_foreign(passages):
    everything = fold(" ".join(one.text for one in passages))
    for word in ("rental", "pancake", "marathon", "lisbon", "football", "barrel", "university", "memory"):
        assert word not in everything
