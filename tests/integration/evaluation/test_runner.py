"""Test a run on a real index with a scripted engine: its records, its failures, and continuing after a stop."""

import json
import re
from contextlib import ExitStack
from itertools import count
from types import SimpleNamespace

import pytest
from langchain_core.documents import Document
from support.fakes import ScriptedEngine, during, time_is_up
from support.fakes_index import HashingEmbedder

from local_rag.config.settings import NO_MATTER, Settings
from local_rag.core.answer import Answer, Citation
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import DeadlineExceeded, EngineError, Stopped, UsageError
from local_rag.core.events import Retrieved
from local_rag.core.progress import Silent
from local_rag.core.verdicts import Graded, Route, Usage
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.folder import RECORDS, RunFolder
from local_rag.evaluation.manifest import conditions, differences, manifest_of, name_of
from local_rag.evaluation.records import answer_record
from local_rag.evaluation.runner import IN_A_ROW, Plan, Runner
from local_rag.evaluation.sets import CaseSet, indexed_corpus, titled
from local_rag.index.index import Index
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag

DOCUMENTS = (
    ("pumps", titled("Pumps", "The blue pump costs 100 euros.")),
    ("valves", titled("Valves", "A valve costs 7 euros.")),
    ("people", titled("People", "Nine people work in Lyon.")),
)
CASES = (
    Case("1", "What does the blue pump cost?", ("100 euros",), True, (Target("pumps"),), "vectorstore"),
    Case("2", "Who won the cup final?", (), False, route="web_search"),
    Case("3", "What does a valve cost?", ("7 euros",), True, (Target("valves"),)),
)


TWO = Plan(("plain", "self-rag"), ("hybrid",))


def index_of(cases, settings, embedder):
    return indexed_corpus(cases, settings, Silent(), embedder)


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """The settings of an index that no run changes."""
    cases = CaseSet("shop", "jsonl", tmp_path_factory.mktemp("shop") / "shop.jsonl", CASES, DOCUMENTS)
    return index_of(cases, Settings.load(engine="extractive"), HashingEmbedder(window=250))


@pytest.fixture
def started(settings, tmp_path):
    """Return a function that makes a Runner; the same folder is continued."""

    def start(engine=None, plan=TWO, cases=CASES, judge=None):
        index = Index.open(settings.index_path, HashingEmbedder(window=250))
        rag = stack.enter_context(Rag(settings, index, Choice(engine or scripted())))
        made = CaseSet("shop", "jsonl", tmp_path / "shop.jsonl", CASES)
        manifest = manifest_of(made, cases, plan, rag)
        path = tmp_path / "run"
        folder = RunFolder.open(path) if path.exists() else RunFolder.create(path, manifest, cases)
        return Runner(rag, folder, plan, judge)

    with ExitStack() as stack:
        yield start


@pytest.fixture
def ran(started):
    """Return a function that makes a run, or goes on with it, to its end, and returns its folder."""

    def run(*arguments, **options):
        runner = started(*arguments, **options)
        runner.run()
        return runner.folder

    return run


DRAFTS = ["The blue pump costs 100 euros [1]."]


def scripted(**script):
    return ScriptedEngine(drafts=DRAFTS, **script)


def raised(error):
    raise error


def kinds(folder):
    return [
        (record["kind"], record["case"], record.get("graph") or record.get("mode", "")) for record in folder.records
    ]


def test_a_run_asks_retrieval_then_graph_after_graph(ran):
    folder = ran()
    assert kinds(folder) == [
        ("retrieval", "1", "hybrid"),
        ("retrieval", "3", "hybrid"),
        *(("answer", case, "plain") for case in "123"),
        *(("answer", case, "self-rag") for case in "123"),
    ]
    retrieved = folder.records[0]
    assert retrieved["gains"] == {"relevant 1": 1.0}
    assert retrieved["units"][0] == "relevant 1" and len(retrieved["units"]) == 3
    assert retrieved["shown"][0] == "pumps, § Pumps (relevant 1)" and len(retrieved["shown"]) == 3


def test_an_answer_is_kept_with_all_that_led_to_it(ran):
    folder = ran(scripted(relevant=["ynn"]))
    record = folder.record(("answer", "1", "self-rag"))
    assert record["answer"]["text"] == "The blue pump costs 100 euros [1]."
    assert record["answer"]["status"] == "grounded"
    assert [passage["holds"] for passage in record["passages"]] == [[0], [], []]
    assert record["passages"][0]["text"] == "Pumps\n\nThe blue pump costs 100 euros."
    assert record["passages"][0]["query"] == "What does the blue pump cost?"
    assert record["cited"] == [{"number": 1, "verified": True, "holds": [0]}]
    assert record["sentences"] == {"total": 1, "verified": 1}
    verdicts = [(grade["verdict"], grade["gold"]) for grade in record["grades"]]
    assert verdicts == [("relevant", True), ("irrelevant", False), ("irrelevant", False)]
    nodes = [step["node"] for step in record["steps"][1:-1]]
    assert nodes == ["retrieve", "grade_documents", "generate", "grade_generation"]
    unanswerable = folder.record(("answer", "2", "self-rag"))
    assert {grade["gold"] for grade in unanswerable["grades"]} == {False}, "nothing is relevant to it"


def test_the_router_is_examined_with_the_web_on_offer_and_nothing_is_sent(ran):
    engine = scripted(source="web_search")
    folder = ran(engine, Plan(("adaptive",), ()))
    routes = [record for record in folder.records if record["kind"] == "route"]
    assert [(record["case"], record["expected"], record["source"]) for record in routes] == [
        ("1", "vectorstore", "web_search"),
        ("2", "web_search", "web_search"),
    ]
    asked = [call[2].allowed for call in engine.asked if call[0] == "route"]
    assert asked == [("vectorstore", "web_search")] * 2, "the graph itself has one route, so it does not ask"


class Failing(ScriptedEngine):
    """Fail on some questions."""

    def answer(self, question, documents, attempt):
        if "valve" in question:
            raise EngineError("the model broke off")
        yield from super().answer(question, documents, attempt)


def test_a_case_that_fails_is_a_row_with_its_error_and_is_tried_again(ran):
    folder = ran(Failing())
    failed = folder.record(("answer", "3", "plain"))
    assert failed == {"kind": "answer", "case": "3", "graph": "plain", "error": "EngineError: the model broke off"}
    assert "error" not in folder.record(("answer", "2", "plain"))
    again = ran(scripted())
    assert "error" not in again.record(("answer", "3", "plain"))
    assert (again.path / RECORDS).read_text(encoding="utf-8").count('"error"') == 2


def test_a_deadline_is_a_failure_and_no_refusal(ran):
    folder = ran(during("answer", time_is_up), Plan(("plain",), ()), CASES[:1])
    assert "out of time" in folder.records[0]["error"]


def test_a_server_that_is_gone_ends_the_run(started):
    many = tuple(Case(str(number), f"valve {number}?") for number in range(2 * IN_A_ROW))
    runner = started(Failing(), Plan(("plain",), ()), many)
    with pytest.raises(EngineError, match="5 questions in a row failed, the last one with EngineError"):
        runner.run()
    assert len(runner.folder.records) == IN_A_ROW


def test_the_same_run_goes_on_where_it_stopped(started):
    answers = count(1)
    stopping = during("answer", lambda: next(answers) == 3 and raised(Stopped("stopped")), drafts=DRAFTS)
    runner = started(stopping)
    with pytest.raises(Stopped):
        runner.run()
    before = kinds(runner.folder)
    assert len(before) == 4
    engine = scripted()
    told = []
    again = started(engine)
    again.run(lambda share, line: told.append((share, line)))
    assert kinds(again.folder)[:4] == before
    assert len(again.folder.records) == 8
    assert [call[0] for call in engine.asked].count("answer") == 4, "what is there is not asked again"
    assert told[0] == (0.5, "4 of 8 steps, plain") and re.search(r", about \d+:\d\d left$", told[1][1])


def test_a_line_that_a_crash_cut_off_is_asked_again(ran):
    folder = ran()
    file = folder.path / RECORDS
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])
    assert len(RunFolder.open(folder.path).records) == 7
    assert len(ran().records) == 8
    assert len(RunFolder.open(folder.path).records) == 8, "the torn line hides none that comes after it"


class Judge:
    def __init__(self):
        self.asked = []

    def judge(self, question, references, answer):
        self.asked.append((question, tuple(references), answer))
        return SimpleNamespace(verdict="right", why="", usage=Usage(calls=1))


def test_the_judge_comes_last_and_is_told_no_graph(ran):
    judge = Judge()
    folder = ran(scripted(), Plan(("plain",), (), judge="some"), judge=judge)
    assert kinds(folder)[-2:] == [("judgement", "1", "plain"), ("judgement", "3", "plain")]
    assert judge.asked[0] == ("What does the blue pump cost?", ("100 euros",), "The blue pump costs 100 euros [1].")
    assert folder.records[-1]["verdict"] == "right"


# --- the manifest


def test_what_would_change_the_figures_makes_another_run(started):
    one = started(plan=Plan(("plain",), ("hybrid",)))
    manifest = json.loads(json.dumps(one.folder.manifest))
    assert conditions(manifest)["index.content"] and manifest["settings"]["limits.rewrites"] == 1
    assert manifest["versions"]["faiss-cpu"] and "embedders:" in manifest["models_yaml"]["text"]
    made = CaseSet("shop", "jsonl", one.folder.path, CASES)
    some = manifest_of(made, CASES[:2], Plan((), (), limit=2, seed=3), one.rag)
    assert name_of(some) != name_of(manifest)
    assert differences(manifest, some) == ["cases.used (3, now 2)", "limit (none, now 2)", "seed (none, now 3)"]
    assert differences(manifest, manifest | {"index": manifest["index"] | {"content": "x"}})
    assert differences(manifest, manifest | {"engine": manifest["engine"] | {"models": {"m": "1"}}})
    assert differences(manifest | {"judge": "one"}, manifest | {"judge": "two"}) == ["judge (one, now two)"]


def test_graphs_a_judge_and_another_address_make_no_other_run(started):
    one = started(plan=Plan(("plain",), ("hybrid",))).folder.manifest
    more = started(plan=Plan(("crag",), ("dense",), judge="some")).folder.manifest
    silent = {"web.region": "us-en", "ollama.host": "elsewhere", "ollama.keep_alive": "1h"}
    silent |= {f"{name}7": "x" for name in NO_MATTER}
    other = json.loads(json.dumps(more)) | {"settings": more["settings"] | silent}
    assert differences(one, other) == [] and name_of(one) == name_of(other)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "run.json").unlink(), "holds no run"),
        (lambda folder: (folder / "run.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "run.json").write_text('{"format": 99}'), "another version"),
        (lambda folder: (folder / "cases.jsonl").unlink(), "cannot be read"),
    ],
)
def test_a_folder_that_is_no_run_is_refused(started, spoil, said):
    folder = started().folder.path
    spoil(folder)
    with pytest.raises(UsageError, match=said):
        RunFolder.open(folder)


def test_what_cannot_be_answered_is_asked_last_and_holds_nothing_up(ran):
    many = tuple(Case(str(number), f"valve {number}?") for number in range(4))
    many += tuple(Case(f"good {number}", f"pump {number}?") for number in range(4))
    first = ran(Failing(), Plan(("plain", "crag"), ()), many)
    assert sum("error" in record for record in first.records) == 8, "four in a row, then four good ones, twice"
    again = ran(Failing(), Plan(("plain", "crag", "self-rag"), ()), many)
    assert sum("error" not in record for record in again.records) == 12
    assert len(again.records) == 24, "eight old failures in a row end nothing"


def test_an_answer_that_failed_is_no_failure_of_the_judge(ran):
    many = tuple(Case(f"bad {number}", f"valve {number}?", ("x",)) for number in range(IN_A_ROW - 1))
    many += (CASES[0], Case("9", "valve 9?", ("x",)), Case("10", "valve 10?", ("x",)))
    judge = Judge()
    folder = ran(Failing(), Plan(("plain",), (), judge="some"), many, judge)
    assert len(judge.asked) == 1
    assert folder.record(("judgement", "1", "plain"))["verdict"] == "right"
    assert folder.record(("judgement", "10", "plain"))["error"] == "there is no answer to judge"


class Router(ScriptedEngine):
    """Reply unreadably, or run out of time, which fails only that question."""

    def route(self, question, catalog):
        if "pump" in question:
            return Route("vectorstore", usage=Usage(unparsed=1))
        raise DeadlineExceeded("out of time")


def test_a_router_that_says_nothing_ends_no_run(ran):
    folder = ran(Router(), Plan(("adaptive",), ()))
    unread, late = (record for record in folder.records if record["kind"] == "route")
    assert (unread["source"], late["error"]) == (None, "DeadlineExceeded: out of time")
    assert len(folder.records) == 5


def test_a_ranking_looks_past_a_file_that_takes_all_places(tmp_path):
    long = LoadedDocument("\n\n".join(f"The pump number {number} is blue and old." for number in range(400)))
    documents = (
        ("long", long),
        ("short", titled("Valves", "A blue valve.")),
        ("other", titled("Y", "People in Lyon.")),
    )
    case = Case("1", "blue pump number", relevant=(Target("short"),))
    made = CaseSet("long", "jsonl", tmp_path / "x.jsonl", (case,), documents)
    settings = index_of(made, Settings.load(engine="extractive", chunks__size=16), HashingEmbedder())
    index = Index.open(settings.index_path, HashingEmbedder(), chunk_size=16)
    with Rag(settings, index, Choice(scripted())) as rag:
        plan = Plan((), ("words", "dense"))
        folder = RunFolder.create(tmp_path / "run", manifest_of(made, (case,), plan, rag), (case,))
        Runner(rag, folder, plan).run()
    words, dense = folder.records
    assert words["units"] == ["long", "relevant 1"], "words rank what has one of them"
    assert set(dense["units"]) == {"long", "relevant 1", "other"}


# --- records


def passage(key, source, text, page=None, start=0):
    about = {"source": source, "page": page, "chunk_id": key, "start": start, "end": start + len(text)}
    return Document(text, metadata=about | {"score": 0.5, "rank_score": 0.1, "origin": "files", "url": ""})


@pytest.mark.parametrize(
    ("relevant", "labels"),
    [
        ((Target("long.md"), Target("short.md")), [None, True, False]),
        ((Target("long.md", quote="twelve"),), [True, False, False]),
        ((), [None, None, None]),
    ],
)
def test_a_file_of_many_passages_labels_none_of_them(relevant, labels):
    documents = (passage("1", "long.md", "twelve"), passage("2", "short.md", "twelve"), passage("3", "x.md", "eleven"))
    decisions = tuple(Graded("relevance", "relevant", chunk_id=key) for key in "123")
    answer = Answer("q", "", "abstained", decisions=decisions)
    record = answer_record(Case("1", "q", relevant=relevant), answer, [Retrieved("q", documents)], {"short.md"})
    assert [grade["gold"] for grade in record["grades"]] == labels


def test_a_citation_holds_what_its_own_passage_holds():
    texts = (("It is eleven.", 1, 0), ("It is twelve.", 1, 20), ("Thirteen.", 2, 20))
    documents = tuple(passage(str(n), "a.pdf", text, *where) for n, (text, *where) in enumerate(texts, start=1))
    case = Case("1", "q", relevant=(Target("a.pdf", 1, "twelve"), Target("a.pdf", 2)))

    def cited(page, start, verified=True):
        return Citation(1, "a.pdf", page, "", "It", start, start + 2, "", verified, "It is so.")

    citations = (cited(1, 0), cited(1, 22), cited(2, 21, False))
    graded = (Graded("relevance", "relevant", chunk_id="1"), Graded("web", "relevant", chunk_id="2"))
    answer = Answer("q", "It is so [1]. It is not [1].", "partial", citations=citations, decisions=graded)
    record = answer_record(case, answer, [Retrieved("q", documents)])
    assert [one["holds"] for one in record["cited"]] == [[], [0], [1]]
    assert record["sentences"] == {"total": 2, "verified": 1}
    assert [grade["chunk_id"] for grade in record["grades"]] == ["1"], "strips of web pages are no graded passages"
    unverified = Answer("q", "It is so [1].", "partial", citations=(cited(1, 0, False),))
    assert answer_record(case, unverified, [])["sentences"] == {"total": 1, "verified": 0}


# --- the folder


def test_a_folder_is_for_its_owner_alone_and_not_shared_with_other_files(tmp_path):
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "run" / "cases.jsonl").write_text("half")  # it was stopped before its manifest stood
    (tmp_path / "run" / "cases.jsonl").chmod(0o600)
    RunFolder.create(tmp_path / "run", {"format": 2}, CASES)
    assert RunFolder.open(tmp_path / "run").cases == CASES
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "run").iterdir()} == {0o600}
    with pytest.raises(UsageError, match="holds other files"):
        RunFolder.create(tmp_path, {}, CASES)


def test_an_answer_that_ran_late_is_an_answer_and_one_whose_check_failed_is_asked_again(ran):
    def record_with(error):
        """Return what is recorded where the check of an answer raises this."""
        folder = ran(during("grade", lambda: raised(error), drafts=DRAFTS), Plan(("self-rag",), ()), CASES[:1])
        (record,) = folder.records
        return record

    assert record_with(EngineError("the model broke off"))["error"].startswith("the engine failed: the model broke off")
    late = record_with(DeadlineExceeded("out of time"))
    assert late["answer"]["reason"] == "out of time after 300 s; it could not be checked"
    assert late["answer"]["status"] == "partial" and "error" not in late, "what was written until then is an answer"
