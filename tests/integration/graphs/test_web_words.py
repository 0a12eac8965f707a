"""What a query for the web is made of: the person's own questions. Canaries in everything else are never sent."""

import json
from functools import partial

import pytest
from support import asking
from support.fakes import FakeCorpus, passage
from support.fakes_index import remembering_minilm
from support.graph_runs import between
from support.ollama_engine import engine_on
from support.ollama_mind import mind
from support.shipped_evaluator import shipped_evaluator
from support.web_server import SearchProcess

from local_rag.core import child_process
from local_rag.core.documents import Catalog
from local_rag.core.errors import FileSkipped
from local_rag.core.events import Note
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.web.search import QUERY_LOG, DdgsSearch

pytestmark = pytest.mark.usefixtures("converted")

FIRST, FOLLOW_UP = "When does the lease of the warehouse end?", "And what do such warehouses usually cost in Antwerp?"
SAID = "Project Marabou: the lease of the Zanzibar warehouse ends in October, says the accountant Quillfeather."
CANARIES = "marabou zanzibar quillfeather october ptarmigan wolverine xylograph yellowhammer".split()
"""In the passages and so in the last answer; in the names of files, titles, headings and frequent words."""


class Aviary(FakeCorpus):
    def __init__(self):
        about = {"score": 0.1, "title": "Wolverine", "heading": "Xylograph"}
        super().__init__([passage(n, f"{SAID} {n}", source=f"/notes/Ptarmigan-{n}.md", **about) for n in range(9)])

    def catalog(self):
        return Catalog(8, 8, ("Wolverine",), ("yellowhammer", "lease"), headings=("Xylograph",))


def leaking(body, source="web_search"):
    """A model that wants this source and nothing of the files, and writes every canary that it was shown."""
    prompt = str(body["messages"]).casefold()
    if body.get("format"):
        verdict = json.loads(mind(body))
        if "d" in verdict and "web_search" in prompt:
            verdict["d"] = source
        if "the web, not the person's files" not in prompt:
            refused = {"r": str(verdict.get("r")).replace("yes", "no"), "l": [0 for _ in verdict.get("l", [])]}
            verdict |= {key: value for key, value in refused.items() if key in verdict}
        return json.dumps(verdict)
    if "task: answer the question" in prompt:
        return mind(body)
    return " ".join([*[canary for canary in CANARIES if canary in prompt], "warehouses"])


@pytest.fixture
def searching(monkeypatch):
    process = SearchProcess(("Rents", "http://127.0.0.1:1/rents", "Warehouses in Antwerp cost 60 euros per metre."))
    monkeypatch.setattr(child_process, "run", process.run)
    return process


def unread(url):
    raise FileSkipped("not read")


@pytest.fixture
def answering(searching, tmp_path, ollama):
    """A function (engine, graph, …) -> Rag over canaries, whose web notes what it is told."""
    ollama.always = leaking

    def opened(engine, graph, **flags):
        corpus = Aviary()
        quoting = ExtractiveEngine(remembering_minilm(), shipped_evaluator(), corpus)
        flags = {"graph": graph, "web__enabled": "on"} | flags
        rag = asking.opened(model if engine == "ollama" else quoting, corpus, **flags)
        rag.web = DdgsSearch(rag.settings.values.web, tmp_path, unread)
        return rag

    with engine_on(ollama) as model:
        yield opened


def left(searching, tmp_path):
    """What left, which the log says too."""
    log = tmp_path / QUERY_LOG
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    assert [json.loads(line)["query"] for line in lines] == searching.queries
    return searching.queries


@pytest.mark.parametrize(
    ("engine", "graph", "flags"),
    [
        ("ollama", "plain", {}),
        ("ollama", "self-rag", {}),
        ("ollama", "crag", {}),
        ("ollama", "adaptive", {}),
        ("extractive", "crag", {}),
        ("extractive", "adaptive", {}),
        ("ollama", "crag", {"crag__trigger": "thresholds", "crag__refine": True}),
        ("ollama", "crag", {"limits__rewrites": 0}),
        ("ollama", "adaptive", {"adaptive__complexity": "auto"}),
    ],
)
def test_no_canary_of_an_answer_a_passage_or_a_name_leaves(answering, searching, tmp_path, engine, graph, flags):
    rag = answering(engine, graph, **flags)
    first = rag.ask(FIRST, graph="plain", thread="lease")
    assert "Marabou" in first.text, "the last answer holds canaries"
    answer = rag.ask(FOLLOW_UP, thread="lease")
    queries = left(searching, tmp_path)
    assert bool(queries) is answer.used_web is (graph in ("crag", "adaptive"))
    told = " ".join(queries).casefold()
    assert not [canary for canary in CANARIES if canary in told], queries
    if queries:
        assert "antwerp" in told or "warehouses" in told


def test_no_canary_leaves_where_the_files_come_first(answering, searching, tmp_path, ollama):
    rag = answering("ollama", "adaptive")
    rag.ask(FIRST, graph="plain", thread="lease")
    ollama.always = partial(leaking, source="vectorstore")
    answer = rag.ask(FOLLOW_UP, thread="lease")
    assert between(answer.path).startswith("route_question retrieve grade_documents web_search")
    (query,) = left(searching, tmp_path)
    assert answer.used_web and "warehouses" in query
    assert not [canary for canary in CANARIES if canary in query.casefold()]


@pytest.mark.parametrize("source", ["vectorstore", "web_search"])
def test_a_thread_that_is_kept_off_the_web_is_offered_none_and_does_not_fall_back_to_it(
    answering, searching, ollama, source
):
    ollama.always = partial(leaking, source=source)
    with answering("extractive", "plain", index="contracts", **NEVER, **OFF) as contracts:
        contracts.ask(FIRST, thread="lease")
    answer = answering("ollama", "adaptive", index="notes", **NEVER).ask(FOLLOW_UP, thread="lease")
    assert not searching.requests and "web_search" not in answer.path and answer.status == "abstained"
    assert "web_search" not in json.dumps(ollama.chats)


def test_a_model_that_makes_the_web_question_is_shown_only_the_persons_questions(answering, ollama):
    rag = answering("ollama", "crag")
    rag.ask(FIRST, graph="plain", thread="lease")
    before = len(ollama.chats)
    rag.ask(FOLLOW_UP, thread="lease")
    written = [body["messages"][1]["content"] for body in ollama.chats[before:] if not body.get("format")]
    aimed = [prompt for prompt in written if "web search" in prompt or ("A chat:" in prompt and "\nA: " not in prompt)]
    assert len(aimed) >= 2, written
    for prompt in aimed:
        assert not [canary for canary in CANARIES if canary in prompt.casefold()]
    assert f"Q: {FIRST}" in aimed[0], "earlier questions are the person's own"


@pytest.mark.parametrize("graph", ["crag", "adaptive"])
def test_a_first_question_costs_no_further_call(answering, ollama, graph):
    answering("ollama", graph).ask(FOLLOW_UP, thread="new")
    assert not [body for body in ollama.chats if "A chat:" in body["messages"][1]["content"]]


def ask_of(answering, index, question, thread="lease", **flags):
    rag = answering("extractive", "crag", index=index, **flags)
    with rag:
        events = list(rag.stream(question, thread=thread))
    return events[-1].answer, [event.text for event in events if isinstance(event, Note)]


NEVER = {"web__never": ["contracts"]}
OFF = {"web__enabled": "off"}


def test_a_thread_that_asked_an_index_kept_from_the_web_stays_off_it(answering, searching):
    ask_of(answering, "contracts", FIRST, **NEVER, **OFF)
    searching.requests.clear()  # the stand-in for the web is on whatever the settings say
    for never in (NEVER, NEVER, {}):  # it is the thread that remembers, not the last turn or the settings of today
        answer, notes = ask_of(answering, "notes", FOLLOW_UP, **never)
        assert not searching.requests and not answer.used_web
        assert [note for note in notes if "contracts" in note and "web.never" in note and "/new" in note]
    answer, _ = ask_of(answering, "notes", FOLLOW_UP, thread="another", **NEVER)
    assert answer.used_web


def test_a_repaired_word_is_searched_for_in_the_files_and_never_leaves(searching, tmp_path):
    class Misspelled(FakeCorpus):
        def document_frequency(self, terms):
            return {term: int(term == "marabou") for term in terms}

        def spelled_like(self, word):
            return ["marabou"]

    corpus = Misspelled([passage(1, SAID)])
    engine = ExtractiveEngine(remembering_minilm(), shipped_evaluator(), corpus)
    with asking.opened(engine, corpus, graph="crag", evaluator=shipped_evaluator(), web__enabled="on") as rag:
        rag.web = DdgsSearch(rag.settings.values.web, tmp_path, unread)
        answer = rag.ask("Which marabuo warehouses cost most in Antwerp?")
    assert answer.asked == "Which marabou warehouses cost most in Antwerp?" and corpus.queries[0][0] == answer.asked
    assert left(searching, tmp_path) and "marabou " not in " ".join(left(searching, tmp_path)).casefold()
