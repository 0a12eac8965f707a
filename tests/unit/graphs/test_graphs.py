"""What a graph leaves in its state, what it asks of its parts, what it shows, and how the clock ends it."""

import pytest
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage
from support.graph_runs import QUESTION, asked_of, ids, labels, run

from local_rag.core.errors import UsageError
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.core.verdicts import Route, Thought
from local_rag.graphs import GRAPHS, compiled

NONE_RELEVANT = "none of the 4 passages found answers the question"
YES, NO = ("fully", 5), ("no", 5)
DULL = ("fully", 2)
TO_THE_WEB = {"source": "web_search"}


def test_crag_adds_the_web_and_adaptive_replaces_by_it():
    _, state, _ = run("crag", relevant=["yynn"], web=True)
    assert [document.metadata["origin"] for document in state["documents"]] == ["files", "files", "web"]
    _, state, _ = run("crag", relevant=["yynn"])
    assert labels(state, "grade_documents") == ["correct"], "where the web is off the action that is taken is recorded"
    _, state, _ = run("adaptive", source="web_search", web=True, pages=3)
    assert [document.metadata["origin"] for document in state["documents"]] == ["web", "web", "web"]


def test_every_back_edge_changes_an_input():
    _, _, deps = run("self-rag", relevant=["n"], found=12)
    queries = [query for query, *_ in deps.index.queries]
    assert len(set(queries)) == 3
    assert [len(excluded) for *_, excluded in deps.index.queries] == [0, 4, 8], "what was refused does not come back"
    tried = [asked[2] for asked in asked_of(deps.engine, "rewrite")]
    assert tried == [tuple(queries[:1]), tuple(queries[:2])]

    _, _, deps = run("self-rag", drafts=["First [1].", "Second [1]."], grades=[NO, YES])
    attempts = [asked[2] for asked in asked_of(deps.engine, "answer")]
    assert [attempt.number for attempt in attempts] == [1, 2]
    assert attempts[1].failed == (("First [1].", "not supported by the passages"),)


def test_the_question_is_never_overwritten_and_graders_see_it_not_the_rewrite():
    _, state, deps = run("self-rag", relevant=["nnnn", "y"], found=9)
    assert (state["question"], state["query"]) == (QUESTION, f"{QUESTION} 1")
    assert {asked[1] for asked in deps.engine.asked if asked[0] in ("relevance", "grade")} == {QUESTION}


@pytest.mark.parametrize("rewritten", [[QUESTION], [""], ["  WHAT does the  plan cost? "], ["costs: plan"]])
def test_a_rewriter_without_a_new_idea_ends_the_rewriting(rewritten):
    path, state, _ = run("self-rag", relevant=["n"], rewritten=rewritten, found=0)
    assert path == "retrieve grade_documents transform_query retrieve grade_documents give_up"
    assert (state["status"], state.get("tries", {})) == ("abstained", {}), "only what was done is counted"


def test_giving_up_takes_the_best_draft_with_its_own_passages():
    drafts, grades = ["Weak [1].", "Better [1].", "Worst [1]."], [("fully", 3), NO]
    _, state, _ = run("self-rag", relevant=["ynnn", "nynn"], drafts=drafts, grades=grades, found=8)
    assert (state["generation"], state["status"]) == ("Weak [1].", "partial")
    assert ids(state["documents"]) == ["1"]


class Likening(FakeCorpus):
    """What it brings later is more like its query, as what is found for a few of a question's words is."""

    def search(self, query, k, *, within=(), exclude=()):
        brought = super().search(query, k, within=within, exclude=exclude)
        return [passage(int(one.metadata["chunk_id"]), score=0.5 + len(self.queries) / 100) for one in brought]


REFUSED = {
    "drafts": [NOT_IN_PASSAGES],
    "needed": True,
    "complexity": "multi",
    "thoughts": [Thought("More."), Thought("")],
}


@pytest.mark.parametrize(
    ("name", "script", "nearest"),
    [
        ("plain", REFUSED, ["1", "2", "3"]),
        ("self-rag", {"relevant": ["n"]}, ["1", "2", "3"]),
        ("self-rag", REFUSED, ["1", "2", "3"]),
        ("self-rag", {"relevant": ["n"], "scores": [[0.04] * 4, [0.01] * 4, [0.02, 0.31, 0.04]]}, ["10", "1", "2"]),
        ("crag", {"relevant": ["n"], "scores": [[0.01, 0.02, 0.01, 0.48]]}, ["4", "1", "2"]),
        ("crag", {"relevant": ["nnny"], "drafts": [NOT_IN_PASSAGES]}, ["4", "1", "2"]),
        ("adaptive", {"relevant": ["n"]}, ["1", "2", "3"]),
        ("adaptive", REFUSED, ["1", "2", "3"]),
    ],
)
def test_an_abstention_names_the_passages_that_came_nearest_to_the_question_and_not_to_a_rewrite(name, script, nearest):
    _, state, _ = run(name, corpus=Likening([passage(n) for n in range(1, 12)]), **script)
    assert state["status"] == "abstained"
    assert [citation.chunk_id for citation in state["nearest"]] == nearest


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (TO_THE_WEB | {"pages": 0}, f"{NONE_RELEVANT}, and the web gave nothing: the search brought no page"),
        (
            TO_THE_WEB | {"web": FakeWeb(found=0, notes=("it is down",))},
            f"{NONE_RELEVANT}, and the web gave nothing: it is down",
        ),
        (
            TO_THE_WEB | {"found": 0, "pages": 0},
            "nothing was found, and the web gave nothing: the search brought no page",
        ),
        ({"drafts": [NOT_IN_PASSAGES]}, f"{NONE_RELEVANT}, and what the web gave does not contain it"),
        ({"grades": [DULL]}, "what the passages say does not answer the question"),
    ],
)
def test_an_abstention_says_what_came_of_each_source(given, reason):
    _, state, _ = run("adaptive", **{"relevant": ["n", "y", "n"], "web": True} | given)
    assert (state["status"], state["reason"]) == ("abstained", reason)


def test_the_router_is_told_what_is_allowed_and_how_near_the_files_are():
    _, _, deps = run("adaptive", web=True)
    ((_, _, catalog),) = asked_of(deps.engine, "route")
    assert (catalog.allowed, catalog.nearest, catalog.titles) == (("vectorstore", "web_search"), 0.5, ("Plan",))
    assert ids(catalog.passages) == ["1", "2", "3", "4"]
    _, _, deps = run("adaptive")
    assert not asked_of(deps.engine, "route"), "with one source there is nothing to ask"


def test_small_talk_never_leaves():
    class Chatty(ScriptedEngine):
        def route(self, question, catalog):
            return Route("vectorstore", small_talk=True)

    path, _, deps = run("adaptive", Chatty(relevant=["n"]), web=True)
    assert "web_search" not in path and deps.web.queries == []


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("task", ["start", "relevance", "answer", "grade", "rewrite"])
def test_a_graph_ends_marked_when_the_clock_runs_out(name, task):
    relevant = ["n"] if task == "rewrite" else ["y"]
    _, state, deps = run(name, relevant=relevant, grades=[("partially", 5)], late=task, found=20)
    if task != "start" and not asked_of(deps.engine, task):
        assert "out of time" not in state["reason"], "the task is no part of this graph"
        return
    assert "out of time" in state["reason"]
    assert state["status"] == ("partial" if task == "grade" else "abstained")


@pytest.mark.parametrize("context", [None, object(), "deps"])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_without_its_context_says_so(name, context):
    with pytest.raises(UsageError, match="needs context=Deps") as caught:
        compiled(name).invoke({"question": "?"}, context=context)
    assert "rag.context()" in caught.value.hint
