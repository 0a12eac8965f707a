"""One table from scripted verdicts to the path through each graph; it takes every edge. Budgets bound any verdicts."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fakes import FakeFile, ScriptedEngine
from support.graph_runs import asked_of, ids, parts, run

from local_rag.config.values import Adaptive, Crag, SelfRag, Thresholds
from local_rag.core.errors import EngineError
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.core.verdicts import Thought
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.deps import recursion_limit
from local_rag.graphs.drawing import OF_GRAPHS, OF_NODES

GRADED = "retrieve grade_documents"
WRITTEN = "generate grade_generation"
AGAIN = f"transform_query {GRADED}"
CORRECTED = "transform_query web_search_node refine_documents"
NOTEBOOK = "generate grade_generation_v_documents"
FINAL = f"{NOTEBOOK} prepare_for_final_grade grade_generation_v_question"
RANKED = "generate rank_candidates grade_generation"
STEP = "retrieve_step reason"
WHOLE = "grade_generation_v_question"
PART = "generate grade_segment decide_retrieval"
FIRST = f"decide_retrieval {GRADED} {PART}"

SEPARATE = SelfRag(final_grade="separate")
DRAFTS = SelfRag(candidates=2)
DECIDE = SelfRag(retrieve="decide")
EACH = SelfRag(retrieve="each")
BY_SCORES = Crag(trigger="thresholds")
REWRITE = Adaptive(fallback="rewrite")
AUTO, SEVERAL = (Adaptive(complexity=each) for each in ("auto", "multi"))

FINE, FIVE, OTHER = "It costs 100 euros [1].", "It costs 500 euros [1].", "The plan costs 500 euros [1]."
BLUE = "It is blue [1]."
ON_THE_WEB = "It costs 900 euros [1]."
YES, DULL, PARTLY, NO, UNREAD = ("fully", 5), ("fully", 2), ("partially", 5), ("no", 5), ("unparsed", 0)
A_PART, NO_PART, PARTLY_PART, UNREAD_PART = ((one, 0, (one,)) for one in ("fully", "no", "partially", "unparsed"))
USEFUL, USELESS = ("unparsed", 5), ("unparsed", 2)
SURE, UNSURE, WRONG = [0.9, 0.1, 0.1, 0.1], [0.6, 0.5, 0.1, 0.1], [0.01, 0.02, 0.03, 0.04]


@dataclass(frozen=True)
class Way:
    """What a graph is given (see `graph_runs.parts`), the nodes between its first and last, and the answer's status."""

    graph: str
    path: str
    status: str
    given: dict


def way(graph, path, status="grounded", **given):
    return Way(graph, path, status, given)


plain, self_rag, crag, adaptive = (partial(way, graph) for graph in GRAPHS)
separate, ranked = partial(self_rag, self_rag=SEPARATE), partial(self_rag, self_rag=DRAFTS)
decide, each = partial(self_rag, self_rag=DECIDE), partial(self_rag, self_rag=EACH)
by_scores, rewriting = partial(crag, crag=BY_SCORES), partial(adaptive, adaptive=REWRITE)
either, several = partial(adaptive, adaptive=AUTO), partial(adaptive, adaptive=SEVERAL)

TABLE = [
    plain("retrieve generate"),
    plain("retrieve generate", "abstained", found=0),
    plain("retrieve generate", drafts=["It costs 100 euros."]),
    plain("retrieve generate", "partial", drafts=[f"{FINE} It is blue."]),
    plain("retrieve generate", "abstained", drafts=[NOT_IN_PASSAGES]),
    # Self-RAG: some_relevant
    self_rag(f"{GRADED} {WRITTEN}"),
    self_rag(f"{GRADED} {WRITTEN}", relevant=["ynnn"]),
    self_rag(f"{GRADED} {WRITTEN}", "partial", drafts=["The weather was splendid in Rome [1]."]),  # not verified
    self_rag(f"{GRADED} {AGAIN} {WRITTEN}", "partial", relevant=["nnnn", "y"], found=8),
    self_rag(f"{GRADED} {AGAIN} {AGAIN} give_up", "abstained", relevant=["n"], found=0),
    self_rag(f"{GRADED} give_up", "abstained", relevant=["n"], rewrites=0),
    # Self-RAG: grade_generation_v_documents_and_question
    self_rag(f"{GRADED} {WRITTEN} {WRITTEN}", grades=[NO, YES]),
    self_rag(f"{GRADED} {WRITTEN} {WRITTEN} {WRITTEN} give_up", "ungrounded", grades=[NO]),
    self_rag(f"{GRADED} {WRITTEN} give_up", "ungrounded", grades=[UNREAD], generations=1),
    self_rag(f"{GRADED} {WRITTEN} give_up", "partial", grades=[PARTLY], generations=1),
    self_rag(f"{GRADED} {WRITTEN}", grades=[("fully", 4)]),
    self_rag(f"{GRADED} {WRITTEN} {AGAIN} {WRITTEN}", grades=[("fully", 3), YES]),
    self_rag(f"{GRADED} {WRITTEN} give_up", "partial", grades=[("fully", 3)], rewrites=0),
    self_rag(f"{GRADED} {WRITTEN} {AGAIN} {WRITTEN} {AGAIN} {WRITTEN} give_up", "abstained", grades=[DULL]),
    self_rag(f"{GRADED} {WRITTEN} {WRITTEN}", grades=[("no", 1), YES]),
    self_rag(f"{GRADED} {WRITTEN} {AGAIN} {WRITTEN}", drafts=[NOT_IN_PASSAGES, FIVE], found=8),
    self_rag(f"{GRADED} {WRITTEN} {AGAIN} {AGAIN} give_up", "abstained", drafts=[NOT_IN_PASSAGES]),
    self_rag(f"{GRADED} {WRITTEN} give_up", "abstained", drafts=[NOT_IN_PASSAGES], rewrites=0),
    # CRAG: correct, ambiguous, incorrect, with the web and without
    crag(f"{GRADED} refine_documents {WRITTEN}"),
    crag(f"{GRADED} refine_documents {WRITTEN}", web=True),
    crag(f"{GRADED} refine_documents {WRITTEN}", relevant=["yynn"]),
    crag(f"{GRADED} {CORRECTED} {WRITTEN}", relevant=["yynn"], web=True),
    crag(f"{GRADED} discard_documents give_up", "abstained", relevant=["n"]),
    crag(f"{GRADED} discard_documents give_up", "abstained", found=0),
    crag(
        f"{GRADED} discard_documents {CORRECTED} {WRITTEN}",
        relevant=["n", "y"],
        drafts=[ON_THE_WEB],
        web=True,
        rewrites=0,
    ),
    crag(f"{GRADED} discard_documents {CORRECTED} {WRITTEN} give_up", "abstained", relevant=["n"], web=True, pages=0),
    crag(f"{GRADED} refine_documents {WRITTEN} give_up", "ungrounded", grades=[NO]),
    crag(f"{GRADED} refine_documents {WRITTEN} give_up", "partial", grades=[("fully", 3)]),
    # CRAG by scores
    by_scores(f"{GRADED} refine_documents {WRITTEN}", relevant=["ynnn"], scores=[SURE], web=True),
    by_scores(f"{GRADED} {CORRECTED} {WRITTEN}", relevant=["yynn"], scores=[UNSURE, []], web=True),
    by_scores(f"{GRADED} refine_documents {WRITTEN}", relevant=["yynn"], scores=[UNSURE]),
    by_scores(f"{GRADED} discard_documents give_up", "abstained", relevant=["n"], scores=[WRONG]),
    by_scores(
        f"{GRADED} discard_documents {CORRECTED} {WRITTEN} give_up",
        "abstained",
        relevant=["n"],
        scores=[WRONG, []],
        web=True,
    ),
    # Adaptive: the router, then as Self-RAG
    adaptive(f"route_question {GRADED} {WRITTEN}", source="web_search"),
    adaptive(f"route_question web_search {WRITTEN}", source="web_search", drafts=[ON_THE_WEB], web=True),
    adaptive(f"route_question {GRADED} {WRITTEN}", web=True),
    adaptive("route_question llm_fallback", "direct", source="direct", drafts=["Hello."], direct=True),
    adaptive("route_question llm_fallback", "abstained", source="direct", drafts=[NOT_IN_PASSAGES], direct=True),
    adaptive(f"route_question {GRADED} {WRITTEN}", source="direct", web=True),
    adaptive(
        f"route_question web_search {WRITTEN} {GRADED} {WRITTEN} {AGAIN} {WRITTEN} give_up",
        "abstained",
        source="web_search",
        grades=[DULL],
        web=True,
    ),
    # Adaptive: a source that gives nothing is followed by the other one, once
    adaptive(f"route_question web_search {GRADED} {WRITTEN}", source="web_search", web=True, pages=0),
    adaptive(
        f"route_question web_search {GRADED} {AGAIN} {AGAIN} give_up",
        "abstained",
        source="web_search",
        relevant=["n"],
        web=True,
        pages=0,
    ),
    adaptive(
        f"route_question web_search {GRADED} {WRITTEN}", source="web_search", relevant=["y"], web=True, consent=False
    ),
    adaptive("route_question web_search give_up", "abstained", source="web_search", web=True, late="consent"),
    adaptive(
        f"route_question web_search {WRITTEN} {GRADED} {WRITTEN}",
        source="web_search",
        drafts=[NOT_IN_PASSAGES, FINE],
        web=True,
    ),
    adaptive(f"route_question {GRADED} web_search {WRITTEN}", relevant=["n", "y"], drafts=[ON_THE_WEB], web=True),
    adaptive(
        f"route_question {GRADED} web_search {AGAIN} {AGAIN} give_up", "abstained", relevant=["n"], web=True, pages=0
    ),
    adaptive(f"route_question {GRADED} web_search give_up", "abstained", relevant=["n"], web=True, pages=0, rewrites=0),
    adaptive(
        f"route_question {GRADED} {WRITTEN} {AGAIN} web_search {AGAIN} give_up",
        "abstained",
        grades=[DULL],
        relevant=["y", "n"],
        web=True,
        pages=0,
    ),
    adaptive(f"route_question {GRADED} {WRITTEN} web_search {WRITTEN}", drafts=[NOT_IN_PASSAGES, ON_THE_WEB], web=True),
    rewriting(f"route_question {GRADED} {AGAIN} {WRITTEN}", "partial", relevant=["n", "y"], web=True, found=8),
    rewriting(f"route_question {GRADED} {AGAIN} {AGAIN} give_up", "abstained", relevant=["n"], web=True),
    rewriting(f"route_question web_search {GRADED} {WRITTEN}", source="web_search", web=True, pages=0),
    adaptive(f"route_question {GRADED} {WRITTEN} {AGAIN} {WRITTEN}", grades=[DULL, YES]),
    adaptive(f"route_question {GRADED} {AGAIN} give_up", "abstained", relevant=["n"], rewrites=1),
    adaptive(f"route_question {GRADED} {WRITTEN} {WRITTEN} give_up", "ungrounded", grades=[NO], generations=2),
    # the early notebook's wiring
    separate(f"{GRADED} {FINAL}"),
    separate(f"{GRADED} {NOTEBOOK} {FINAL}", grades=[("no", 0), ("fully", 0), YES]),
    separate(f"{GRADED} {NOTEBOOK} {NOTEBOOK} give_up", "ungrounded", grades=[("no", 0)], generations=2),
    separate(f"{GRADED} {FINAL} give_up", "abstained", grades=[("fully", 0), DULL], rewrites=0),
    separate(f"{GRADED} {FINAL} {AGAIN} {FINAL}", grades=[("fully", 0), DULL, ("fully", 0), ("fully", 4)]),
    separate(f"{GRADED} {FINAL} give_up", "ungrounded", grades=[("fully", 0), UNREAD], generations=1, rewrites=0),
    separate(f"{GRADED} {NOTEBOOK} give_up", "abstained", drafts=[NOT_IN_PASSAGES], rewrites=0),
    separate(f"{GRADED} {NOTEBOOK} {AGAIN} {FINAL}", drafts=[NOT_IN_PASSAGES, FIVE], found=8),
    # several drafts
    ranked(f"{GRADED} {RANKED}"),
    ranked(f"{GRADED} {RANKED} give_up", "abstained", drafts=[NOT_IN_PASSAGES], rewrites=0),
    ranked(f"{GRADED} {RANKED} {RANKED}", grades=[("no", 1), ("no", 1), YES]),
    self_rag(
        f"{GRADED} generate rank_candidates {FINAL.removeprefix('generate ')}",
        self_rag=SelfRag(candidates=2, final_grade="separate"),
    ),
    # only if the files are needed
    decide(f"decide_retrieval {GRADED} {WRITTEN}", direct=True),
    decide(f"decide_retrieval {GRADED} {WRITTEN}", needed=False),
    decide("decide_retrieval llm_fallback", "direct", needed=False, drafts=["Hello."], direct=True),
    # several steps
    either(f"route_question {GRADED} {WRITTEN}"),
    either(f"route_question {STEP} {WRITTEN}", complexity="multi", found=30),
    several(f"route_question {STEP} {WRITTEN}", found=30),
    several(
        f"route_question {STEP} {STEP} {WRITTEN}",
        thoughts=[Thought("A leads to B."), Thought("So it is C.", done=True)],
        found=30,
    ),
    several(f"route_question {STEP} {WRITTEN}", thoughts=[Thought("")], found=30),
    several(f"route_question {STEP} {STEP} {WRITTEN}", thoughts=[Thought("Same.")], complexity="multi", found=30),
    several(f"route_question retrieve_step {WRITTEN} give_up", "abstained", complexity="multi", found=0, rewrites=0),
    several(f"route_question web_search {WRITTEN}", source="web_search", drafts=[ON_THE_WEB], web=True),
    several(
        f"route_question {STEP} {WRITTEN} {AGAIN} web_search {AGAIN} give_up",
        "abstained",
        grades=[DULL],
        relevant=["n"],
        web=True,
        pages=0,
    ),
    adaptive(f"route_question {GRADED} {WRITTEN}", complexity="multi", web=True),
    # part by part
    each(f"{FIRST} {WHOLE}", grades=[A_PART, USEFUL]),
    each(f"{FIRST} {WHOLE}", needed=False, grades=[A_PART, USEFUL]),
    each("decide_retrieval llm_fallback", "direct", needed=False, direct=True),
    each(
        f"{FIRST} {GRADED} {PART} {WHOLE}",
        drafts=[FINE, OTHER],
        grades=[A_PART, A_PART, USEFUL],
        next=["yes", "no"],
        found=12,
    ),
    each(f"{FIRST} {PART} {WHOLE}", grades=[A_PART, A_PART, USEFUL], next=["continue", "no"]),
    # a part without support is left out, and ends the answer; without any part another query is tried
    each(f"{FIRST} {WHOLE} {AGAIN} {PART} {WHOLE}", grades=[NO_PART, A_PART, USEFUL], drafts=[BLUE, OTHER], found=12),
    each(f"{FIRST} {WHOLE} give_up", "abstained", grades=[NO_PART], drafts=[BLUE], rewrites=0),
    each(f"{FIRST} {PART} {WHOLE}", grades=[A_PART, NO_PART, USEFUL], next=["continue"], generations=1),
    each(f"{FIRST} {WHOLE} give_up", "partial", grades=[PARTLY_PART, USEFUL]),
    # what could not be checked stays, marked
    each(f"{FIRST} {WHOLE} give_up", "partial", grades=[UNREAD_PART, USEFUL]),
    # nothing relevant: another query at the beginning, the end later
    each(
        f"decide_retrieval {GRADED} {AGAIN} {PART} {WHOLE}",
        relevant=["n", "y"],
        grades=[A_PART, USEFUL],
        drafts=[OTHER],
        found=12,
    ),
    each(f"decide_retrieval {GRADED} give_up", "abstained", relevant=["n"], rewrites=0),
    each(f"{FIRST} {GRADED} {WHOLE}", relevant=["y", "n"], grades=[A_PART, USEFUL], next=["yes"], found=12),
    # nothing further is written
    each(f"{FIRST} {PART} {WHOLE}", drafts=[FINE, NOT_IN_PASSAGES], grades=[A_PART, USEFUL], next=["continue"]),
    each(
        f"{FIRST} {WHOLE} {AGAIN} {PART} {WHOLE} give_up", "abstained", drafts=[NOT_IN_PASSAGES], rewrites=1, found=12
    ),
    # not useful: the answer begins anew with another query
    each(f"{FIRST} {WHOLE} {AGAIN} {PART} {WHOLE}", grades=[A_PART, USELESS, A_PART, USEFUL], found=12),
    each(f"{FIRST} {WHOLE} give_up", "partial", grades=[A_PART, ("unparsed", 3)], rewrites=0),
    # the steps end it
    each(f"{FIRST} {PART} {WHOLE}", grades=[A_PART, A_PART, USEFUL], next=["continue"], steps=2),
]
WIRINGS = [
    ("plain", {}),
    ("crag", {}),
    ("self-rag", {"self_rag": EACH}),
    *(
        ("self-rag", {"self_rag": SelfRag(final_grade=grade, candidates=candidates, retrieve=retrieve)})
        for grade, candidates, retrieve in (
            ("together", 1, "always"),
            ("together", 3, "decide"),
            ("separate", 1, "decide"),
            ("separate", 3, "always"),
        )
    ),
    *(
        ("adaptive", {"adaptive": Adaptive(complexity=complexity, fallback=fallback)})
        for complexity, fallback in (("single", "web"), ("single", "rewrite"), ("auto", "web"), ("multi", "rewrite"))
    ),
]
"""The settings that change the wiring of each graph; each value stands beside each value of another one."""


@pytest.mark.parametrize("way", TABLE, ids=lambda way: f"{way.graph}: {way.path}")
def test_verdicts_lead_to_the_path_and_every_call_is_counted(way):
    taken, state, deps = run(way.graph, **way.given)
    assert (taken, state["status"]) == (way.path, way.status)
    assert state["generation"]
    assert state["usage"].calls == len(deps.engine.asked)
    assert way.given.get("found") != 0 or not asked_of(deps.engine, "answer"), "nothing is generated from nothing"
    nodes = Counter(taken.split())
    attempts = WHOLE if way.given.get("self_rag") is EACH else "generate"
    budgets = {
        "generations": nodes[attempts] + nodes["llm_fallback"],
        "rewrites": min(nodes["transform_query"], deps.limits.rewrites),
        "web_searches": (nodes["web_search"] + nodes["web_search_node"]) * way.given.get("consent", True),
        "steps": nodes["reason"] + nodes["grade_segment"],
    }
    assert state.get("tries", {}) == {kind: count for kind, count in budgets.items() if count}
    if way.status == "abstained":
        assert state["answer"].citations == () and (not nodes["give_up"] or state["documents"] == [])
    assert way.graph != "crag" or state["web_search"] == ("Yes" if nodes["web_search_node"] else "No")


@pytest.mark.parametrize(("graph", "wiring"), WIRINGS)
def test_every_edge_that_is_drawn_is_taken_and_no_other(graph, wiring):
    edges = compiled(graph, parts(**wiring)[0]).get_graph().edges
    drawn = Counter((edge.source, edge.target) for edge in edges)
    assert set(drawn.values()) == {1}, "one edge for each pair, so that a path names its edges"
    whole = way(graph, "overview", corpus=FakeFile(), question="What is 1.md about?")
    first = sorted(TABLE, key=lambda way: not wiring.items() <= way.given.items())
    ways, taken = iter([whole, *(way for way in first if way.graph == graph)]), set()
    while taken != set(drawn) and (each_way := next(ways, None)):
        _, state, _ = run(graph, **each_way.given | wiring)
        taken |= {*pairwise(["__start__", *state["path"], "__end__"])}
    assert taken == set(drawn)


def test_every_graph_and_every_node_is_explained_and_nothing_else():
    graphs = [compiled(graph, parts(**wiring)[0]) for graph, wiring in WIRINGS]
    assert {node for graph in graphs for node in graph.builder.nodes} == set(OF_NODES) - {"__start__", "__end__"}
    assert list(GRAPHS) == list(OF_GRAPHS)


# --- budgets, for any verdicts ------------------------------------------------------------------------------------

maybe = st.none() | st.floats(0, 1)
engines = st.builds(
    ScriptedEngine,
    relevant=st.lists(st.text("yn?", min_size=4, max_size=4), min_size=1, max_size=4),
    scores=st.lists(st.lists(maybe, max_size=4), min_size=1, max_size=3),
    drafts=st.lists(
        st.sampled_from([FINE, NOT_IN_PASSAGES, "", "Nonsense.", "Blue [9]. Red [1, 2]."]), min_size=1, max_size=4
    ),
    grades=st.lists(
        st.tuples(st.sampled_from(["fully", "partially", "no", "unparsed"]), st.integers(0, 5))
        | st.sampled_from([A_PART, NO_PART, PARTLY_PART, UNREAD_PART, ("partially", 0, ("fully", "no"))]),
        min_size=1,
        max_size=6,
    ),
    source=st.sampled_from(["vectorstore", "web_search", "direct"]),
    complexity=st.sampled_from(["single", "multi"]),
    needed=st.booleans(),
    next=st.lists(st.sampled_from(["yes", "no", "continue"]), min_size=1, max_size=6),
    thoughts=st.lists(
        st.builds(Thought, st.sampled_from(["", "One.", "Two.", "Three."]), st.booleans()), min_size=1, max_size=4
    ),
)
methods = st.fixed_dictionaries(
    {
        "self_rag": st.builds(
            SelfRag,
            final_grade=st.sampled_from(["together", "separate"]),
            candidates=st.integers(1, 3),
            hard_constraint=st.booleans(),
            retrieve=st.sampled_from(["always", "decide"]),
        )
        | st.just(EACH),
        "crag": st.builds(Crag, trigger=st.sampled_from(["any_irrelevant", "thresholds"]), refine=st.booleans()),
        "adaptive": st.builds(Adaptive, complexity=st.sampled_from(["single", "auto", "multi"])),
        "strict": st.booleans(),
        "thresholds": st.builds(Thresholds, relevance=maybe, answer=maybe),
        "rewrites": st.integers(0, 3),
        "generations": st.integers(1, 3),
        "steps": st.integers(1, 4),
        "web": st.booleans(),
        "direct": st.booleans(),
        "found": st.integers(0, 20),
    }
)


@given(name=st.sampled_from(sorted(GRAPHS)), engine=engines, method=methods)
def test_budgets_bound_every_path_and_every_end_has_a_status(name, engine, method):
    try:
        path, state, deps = run(name, engine, **method)
    except EngineError as error:
        assert "the grader gave no usable verdict" in str(error)
        return
    done, limits, tries = Counter(path.split()), deps.limits, state.get("tries", {})
    assert done["transform_query"] <= limits.rewrites + 1
    assert done["web_search"] + done["web_search_node"] <= int(method["web"])
    assert done["reason"] <= limits.steps
    assert all(count <= deps.limit(kind) for kind, count in tries.items())
    assert len(state["path"]) < recursion_limit(limits)
    assert state["status"] in ("grounded", "partial", "ungrounded", "abstained", "direct")
    assert state["generation"]
    assert (state["status"] == "abstained") is (state["generation"] == NOT_IN_PASSAGES)
    assert state["status"] != "direct" or method["direct"]
    documents = state.get("documents", ())
    assert len(documents) == len(set(ids(documents))), "no passage comes twice"
    if not method["web"]:
        assert all(one.metadata["origin"] == "files" for one in documents)
