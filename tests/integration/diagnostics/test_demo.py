"""Test that the cases of the shipped demo are true of its documents, and its documents true of the program."""

from collections import Counter

import pytest
from lxml import html
from support.fakes_index import HashingEmbedder, minilm

from local_rag.config.values import Values
from local_rag.diagnostics import demo
from local_rag.evaluation.cases import line_of, read_cases
from local_rag.evaluation.matching import holds, quoted, same_file
from local_rag.index.index import Index
from local_rag.text.words import fold

CASES = {case.id: case for case in read_cases(demo.CASES)}
ANSWERABLE = [case for case in CASES.values() if case.answerable]
NAMES = "adaptive-rag.docx corrective-rag.html local-rag.txt rag-evaluation.pdf self-rag.md".split()


class Tokens(HashingEmbedder):
    """Cut the passages as the product does, by the tokens of its embedder, whose vectors are not needed here."""

    def token_ends(self, text):
        return minilm().token_ends(text)


@pytest.fixture(scope="module")
def passages(tmp_path_factory):
    place = tmp_path_factory.mktemp("demo") / "index"
    with Index.open(place, Tokens(window=256), chunk_size=Values().chunks.size, create=True) as index:
        index.sync([demo.DOCUMENTS, demo.SAVED_PAGES])
        return list(index.passages())


def test_every_kind_of_case_is_there_once():
    assert demo.CASES.read_text(encoding="utf-8").splitlines() == [line_of(case) for case in CASES.values()]
    assert max(Counter(fold(case.question) for case in CASES.values()).values()) == 1
    assert {case.hops for case in ANSWERABLE} >= {1, 2}
    assert {case.route for case in CASES.values() if not case.answerable} == {None, "web_search"}
    assert {target.file for case in ANSWERABLE for target in case.relevant} == {*NAMES, "hyde.html"}
    by_question = {case.question: case.answerable for case in CASES.values()}
    assert (by_question[demo.ANSWERED], by_question[demo.NOT_ANSWERED]) == (True, False)


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.id)
def test_a_label_is_true(case, passages):
    if not case.answerable:
        assert (case.answers, case.relevant) == ((), ())
        return
    assert len({target.file for target in case.relevant}) == len(case.relevant) == case.hops
    for target in case.relevant:
        assert (target.page is not None) == target.file.endswith(".pdf")
        holding = [one for one in passages if holds(target, one.source, one.page, one.text)]
        assert len(holding) == 1, f"{target} is in {len(holding)} passages"
        elsewhere = [one for one in passages if not same_file(target.file, one.source)]
        assert not any(quoted(target.quote, one.text) for one in elsewhere)
    quotes = fold(" ".join(target.quote for target in case.relevant))
    assert case.answers and all(fold(answer) in quotes and len(answer.split()) <= 12 for answer in case.answers)


def test_foreign_questions_are_foreign(passages):
    everything = fold(" ".join(one.text for one in passages))
    assert not [word for word in "rental pancake marathon lisbon football barrel".split() if word in everything]


def test_the_page_asks_nothing_of_the_network():
    tree = html.parse(demo.DOCUMENTS / "corrective-rag.html")
    assert not tree.xpath("//@src | //link/@href | //script")
    links = [link for link in tree.xpath("//a/@href") if link != "#"]
    assert sorted(links) == sorted(NAMES)
    assert tree.xpath("//nav[not(ancestor::article)]")
    assert tree.xpath("//footer[not(ancestor::article)]")


def test_the_guide_agrees_with_the_settings():
    values = Values()
    guide = " ".join((demo.DOCUMENTS / "local-rag.txt").read_text(encoding="utf-8").split())
    number = "no one two three four five six".split()
    assert f"at most {values.chunks.size} tokens" in guide
    assert f"{number[values.k].capitalize()} passages are retrieved" in guide
    assert f"{values.graph} is the default" in guide
    limits = values.limits
    assert (
        f"at most {number[limits.rewrites]} rewrite of the question, {number[limits.generations]} answers"
        f" and {limits.seconds:g} seconds" in guide
    )
