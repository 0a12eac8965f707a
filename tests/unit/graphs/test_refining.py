"""Knowledge refinement: strips, the best of them, and passages recomposed of them that still point into their file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fakes import FakeCorpus, passage
from support.graph_runs import asked_of, ids, labels, run

from local_rag.config.values import Crag
from local_rag.core.verdicts import Relevance
from local_rag.graphs import strips
from local_rag.text import citations

WORDS = "The pump costs 900 euros Ada wrote it down in May lease".split()
sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(lambda words: " ".join(words) + ".")
document = st.lists(st.tuples(sentence, st.sampled_from([" ", "\n", "\n\n", "  "])), min_size=1, max_size=25).map(
    lambda parts: "".join(text + gap for text, gap in parts)
)


def of(text, start=0, number=1):
    return passage(number, text, start=start, end=start + len(text))


@given(text=document, start=st.integers(0, 1000), data=st.data())
def test_strips_recompose_to_spans_of_the_file_and_citations_of_them_point_into_it(text, start, data):
    stored = "x" * start + text
    whole = of(text, start)
    cut = strips.of_passage(whole)
    for strip in cut:
        assert stored[strip.metadata["start"] : strip.metadata["end"]] == strip.page_content
    kept = data.draw(st.lists(st.sampled_from(cut), min_size=1, unique_by=lambda one: one.metadata["chunk_id"]))
    assert strips.recomposed([whole], []) == []
    (made,) = strips.recomposed([whole], kept)
    pieces = made.metadata["pieces"]
    assert citations.BETWEEN.join(stored[begin:end] for begin, end in pieces) == made.page_content
    assert pieces == sorted(pieces), "in the original order"
    held = {strip.metadata["start"] for strip in kept}
    assert all(any(begin <= at < end for begin, end in pieces) for at in held)
    said = data.draw(st.sampled_from(kept)).page_content
    for one in citations.check(f"{' '.join(said.split())} [1]", [made]).citations:
        assert stored[one.start : one.end] == one.quote


@pytest.mark.parametrize(("sentences", "count"), [(1, 1), (2, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
def test_short_passages_stay_whole_and_others_become_strips_of_three_sentences(sentences, count):
    text = " ".join(f"Sentence {number} is here." for number in range(sentences))
    assert len(strips.of_passage(of(text))) == count


def verdicts(*scores):
    return [Relevance("relevant" if (score or 0) >= 0.5 else "irrelevant", score) for score in scores]


@pytest.mark.parametrize(
    ("given_", "best"),
    [
        (verdicts(0.9, 0.2, 0.3), [0, 2]),
        (verdicts(0.25, 0.26), [0, 1]),
        (verdicts(0.25, 0.1), []),
        (verdicts(0.5, 0.13, 0.12), [0, 1]),
        (verdicts(1.0, 0.26, 0.25), [0, 1]),
        (verdicts(0.1, 0.2), []),
        (verdicts(0.3, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4), [1, 2, 3, 4, 5]),
        ([Relevance("relevant"), Relevance("irrelevant"), Relevance("unparsed")], [0]),
        ([Relevance("unparsed", 0.9)], []),
        ([Relevance("relevant")] * 7, [0, 1, 2, 3, 4]),
    ],
)
def test_the_best_strips(given_, best):
    assert strips.best(given_) == best


LONG = (
    " ".join(f"Fact {number} is about lamps." for number in range(6)) + " The plan costs 100 euros. It is due in May."
)


def refined(*passages, **given):
    _, state, deps = run("crag", corpus=FakeCorpus(passages), crag=Crag(refine=True), **given)
    return state, deps.engine


def test_strips_are_graded_in_one_call_and_only_the_good_ones_are_left():
    state, engine = refined(of(LONG), relevant=["y", "nny"], drafts=["The plan costs 100 euros. [1]"])
    assert [len(documents) for _, _, documents in asked_of(engine, "relevance")] == [1, 3]
    ((_, given_, _),) = asked_of(engine, "answer")
    assert [one.page_content for one in given_] == ["The plan costs 100 euros. It is due in May."]
    (cited,) = citations.check(state["generation"], state["documents"]).citations
    assert (cited.quote, cited.verified) == ("The plan costs 100 euros.", True)
    assert LONG[cited.start : cited.end] == cited.quote
    assert labels(state, "refine_documents") == ["refined"]


def test_where_no_strip_is_good_enough_the_passages_stay_whole():
    state, engine = refined(of(LONG), relevant=["y", "nnn"])
    ((_, given_, _),) = asked_of(engine, "answer")
    assert [one.page_content for one in given_] == [LONG]
    assert labels(state, "refine_documents") == ["whole"]


def test_short_passages_cost_no_call():
    _, engine = refined(passage(1), passage(2))
    assert len(asked_of(engine, "relevance")) == 1


def test_a_passage_without_a_good_strip_is_gone_and_the_numbers_follow():
    drafts = ["The plan costs 100 euros. [1]"]
    state, _ = refined(of(LONG, 0, 1), of(LONG, 5, 2), relevant=["yy", "nnnnny"], drafts=drafts)
    assert ids(state["documents"]) == ["2"]


def test_what_has_no_sentences_is_cut_by_length():
    page = passage(9, "x" * 2000, origin="web", url="https://web.test/9")
    cut = [(one.metadata["start"], one.metadata["end"]) for one in strips.strips(page)]
    assert cut == [(0, 900), (900, 1800), (1800, 2000)]


def test_pages_of_the_web_stay_as_they_were_selected_beside_what_is_left_of_the_files():
    state, engine = refined(of(LONG), passage(2), relevant=["yn", "y", "nny"], web=True)
    assert sorted(ids(state["documents"])) == ["1", "90"]
    assert state["usage"].calls == len(engine.asked), "the cost is counted"
