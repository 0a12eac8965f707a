"""Test a run on a real index with a scripted engine: its records, its failures, and continuing after a stop."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from langchain_core.documents import Document
from support.fakes import ScriptedEngine
from support.fakes_index import HashingEmbedder

from local_rag.config.settings import NO_MATTER, Settings
from local_rag.core.answer import Answer, Citation
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import DeadlineExceeded, EngineError, Stopped, UsageError
from local_rag.core.events import Retrieved
from local_rag.core.progress import Silent
from local_rag.core.verdicts import Graded, Route, Usage
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.folder import RECORDS, RunFolder, held
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
    opened = []

    def start(engine=None, plan=TWO, cases=CASES, judge=None):
        rag = Rag(settings, Index.open(settings.index_path, HashingEmbedder(window=250)), Choice(engine or scripted()))
        opened.append(rag)
        made = CaseSet("shop", "jsonl", tmp_path / "shop.jsonl", CASES)
        manifest = manifest_of(made, cases, plan, rag)
        path = tmp_path / "run"
        folder = RunFolder.open(path) if path.exists() else RunFolder.create(path, manifest, cases)
        return Runner(rag, folder, plan, judge)

    yield start
    for rag in opened:
        rag.close()


def scripted(**script):
    return ScriptedEngine(**{"drafts": ["The blue pump costs 100 euros [1]."], **script})


GRADED = ["retrieve", "grade_documents", "generate", "grade_generation"]


def kinds(folder):
    return [
        (record["kind"], record["case"], record.get("graph") or record.get("mode", "")) for record in folder.records
    ]


def test_a_run_asks_retrieval_then_graph_after_graph(started):
    runner = started()
    runner.run()
    assert kinds(runner.folder) == [
        ("retrieval", "1", "hybrid"),
        ("retrieval", "3", "hybrid"),
        *(("answer", case, "plain") for case in "123"),
        *(("answer", case, "self-rag") for case in "123"),
    ]
    retrieved = runner.folder.records[0]
    assert retrieved["gains"] == {"relevant 1": 1.0}
    assert retrieved["units"][0] == "relevant 1" and len(retrieved["units"]) == 3
    assert retrieved["shown"][0] == "pumps, § Pumps (relevant 1)" and len(retrieved["shown"]) == 3


def test_an_answer_is_kept_with_all_that_led_to_it(started):
    runner = started(scripted(relevant=["ynn"]))
    runner.run()
    record = runner.folder.record(("answer", "1", "self-rag"))
    assert record["answer"]["text"] == "The blue pump costs 100 euros [1]."
    assert record["answer"]["status"] == "grounded"
    assert [passage["holds"] for passage in record["passages"]] == [[0], [], []]
    assert record["passages"][0]["text"] == "Pumps\n\nThe blue pump costs 100 euros."
    assert record["passages"][0]["query"] == "What does the blue pump cost?"
    assert record["cited"] == [{"number": 1, "verified": True, "holds": [0]}]
    assert record["sentences"] == {"total": 1, "verified": 1}
    verdicts = [(grade["verdict"], grade["gold"]) for grade in record["grades"]]
    assert verdicts == [("relevant", True), ("irrelevant", False), ("irrelevant", False)]
    assert [step["node"] for step in record["steps"][1:-1]] == GRADED
    unanswerable = runner.folder.record(("answer", "2", "self-rag"))
    assert {grade["gold"] for grade in unanswerable["grades"]} == {False}, "nothing is relevant to it"


def test_the_router_is_examined_with_the_web_on_offer_and_nothing_is_sent(started):
    engine = scripted(source="web_search")
    runner = started(engine, Plan(("adaptive",), ()))
    runner.run()
    routes = [record for record in runner.folder.records if record["kind"] == "route"]
    assert [(record["case"], record["expected"], record["source"]) for record in routes] == [
        ("1", "vectorstore", "web_search"),
        ("2", "web_search", "web_search"),
    ]
    asked = [call[2].allowed for call in engine.asked if call[0] == "route"]
    assert asked == [("vectorstore", "web_search")] * 2, "the graph itself has one route, so it does not ask"


class Failing(ScriptedEngine):
    """Fail on some questions."""

    on = ("valve",)

    def answer(self, question, documents, attempt):
        if any(word in question for word in self.on):
            raise EngineError("the model broke off")
        yield from super().answer(question, documents, attempt)


def test_a_case_that_fails_is_a_row_with_its_error_and_is_tried_again(started):
    runner = started(Failing())
    runner.run()
    failed = runner.folder.record(("answer", "3", "plain"))
    assert failed == {"kind": "answer", "case": "3", "graph": "plain", "error": "EngineError: the model broke off"}
    assert "error" not in runner.folder.record(("answer", "2", "plain"))
    again = started(scripted())
    again.run()
    assert "error" not in again.folder.record(("answer", "3", "plain"))
    assert (
        sum('"error"' in line for line in (again.folder.path / RECORDS).read_text(encoding="utf-8").splitlines()) == 2
    )


def test_a_deadline_is_a_failure_and_no_refusal(started, settings):
    runner = started(scripted(), Plan(("plain",), ()))
    values = settings.values.model_copy(update={"limits": settings.values.limits.model_copy(update={"seconds": 1e-9})})
    runner.rag.settings = replace(settings, values=values)
    runner.run()
    assert "out of time" in runner.folder.record(("answer", "1", "plain"))["error"]


def test_a_server_that_is_gone_ends_the_run(started):
    many = tuple(Case(str(number), f"valve {number}?") for number in range(2 * IN_A_ROW))
    runner = started(Failing(), Plan(("plain",), ()), many)
    with pytest.raises(EngineError, match="5 questions in a row failed, the last one with EngineError"):
        runner.run()
    assert len(runner.folder.records) == IN_A_ROW


class Interrupted(ScriptedEngine):
    """Stop at the third answer."""

    answers = 0

    def answer(self, question, documents, attempt):
        self.answers += 1
        if self.answers == 3:
            raise Stopped("stopped")
        yield from super().answer(question, documents, attempt)


def test_the_same_run_goes_on_where_it_stopped(started):
    runner = started(Interrupted())
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


def test_a_line_that_a_crash_cut_off_is_asked_again(started):
    runner = started()
    runner.run()
    file = runner.folder.path / RECORDS
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])
    again = started()
    assert len(again.folder.records) == 7
    again.run()
    assert len(again.folder.records) == 8
    assert len(RunFolder.open(runner.folder.path).records) == 8, "the torn line hides none that comes after it"


class Judge:
    def __init__(self):
        self.asked = []

    def judge(self, question, references, answer):
        self.asked.append((question, tuple(references), answer))

        class Judgement:
            verdict, why, usage = "right", "", Usage(calls=1, prompt_tokens=10, output_tokens=2)

        return Judgement


def test_the_judge_comes_last_and_is_told_no_graph(started):
    judge = Judge()
    runner = started(scripted(), Plan(("plain",), (), judge="some"), judge=judge)
    runner.run()
    assert kinds(runner.folder)[-2:] == [("judgement", "1", "plain"), ("judgement", "3", "plain")]
    assert judge.asked[0] == ("What does the blue pump cost?", ("100 euros",), "The blue pump costs 100 euros [1].")
    assert runner.folder.records[-1]["verdict"] == "right"


# --- the manifest


def test_what_would_change_the_figures_makes_another_run(started):
    one = started(plan=Plan(("plain",), ("hybrid",)))
    manifest = json.loads(json.dumps(one.folder.manifest))
    assert conditions(manifest)["index.content"] and manifest["settings"]["limits.rewrites"] == 2
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


def test_what_cannot_be_answered_is_asked_last_and_holds_nothing_up(started):
    many = tuple(Case(str(number), f"valve {number}?") for number in range(4))
    many += tuple(Case(f"good {number}", f"pump {number}?") for number in range(4))
    plan = Plan(("plain", "crag"), ())
    first = started(Failing(), plan, many)
    first.run()
    assert sum("error" in record for record in first.folder.records) == 8, "four in a row, then four good ones, twice"
    engine = Failing()
    again = started(engine, Plan(("plain", "crag", "self-rag"), ()), many)
    again.run()
    assert sum("error" not in record for record in again.folder.records) == 12
    assert len(again.folder.records) == 24, "eight old failures in a row end nothing"


def test_an_answer_that_failed_is_no_failure_of_the_judge(started):
    many = tuple(Case(f"bad {number}", f"valve {number}?", ("x",)) for number in range(IN_A_ROW - 1))
    many += (CASES[0], Case("9", "valve 9?", ("x",)), Case("10", "valve 10?", ("x",)))
    judge = Judge()
    runner = started(Failing(), Plan(("plain",), (), judge="some"), many, judge)
    runner.run()
    assert len(judge.asked) == 1
    assert runner.folder.record(("judgement", "1", "plain"))["verdict"] == "right"
    assert runner.folder.record(("judgement", "10", "plain"))["error"] == "there is no answer to judge"


class Router(ScriptedEngine):
    """Reply unreadably, or run out of time, which fails only that question."""

    def route(self, question, catalog):
        if "pump" in question:
            return Route("vectorstore", usage=Usage(unparsed=1))
        raise DeadlineExceeded("out of time")


def test_a_router_that_says_nothing_ends_no_run(started):
    runner = started(Router(), Plan(("adaptive",), ()))
    runner.run()
    unread, late = (record for record in runner.folder.records if record["kind"] == "route")
    assert (unread["source"], late["error"]) == (None, "DeadlineExceeded: out of time")
    assert len(runner.folder.records) == 5


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


def test_one_process_at_a_time_goes_on_with_a_run(started):
    folder = started().folder.path
    other = "import sys; from pathlib import Path; from local_rag.evaluation.folder import held\n"
    other += "with held(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", other, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "in\n"
        with pytest.raises(UsageError, match="another local-rag eval is writing"), held(folder):
            pass
        child.stdin.close()
    with held(folder):
        pass


class Checking(ScriptedEngine):
    """Fail while an answer is checked."""

    error = EngineError("the model broke off")

    def grade(self, *asked, **options):
        raise self.error


def test_an_answer_that_ran_late_is_an_answer_and_one_whose_check_failed_is_asked_again(started):
    engine = Checking(drafts=["The blue pump costs 100 euros [1]."])
    plan = Plan(("self-rag",), ())
    runner = started(engine, plan, CASES[:1])
    runner.run()
    assert runner.folder.records[0]["error"].startswith("the engine failed: the model broke off")
    engine.error = DeadlineExceeded("out of time")
    again = started(engine, plan, CASES[:1])
    again.run()
    (record,) = again.folder.records
    assert (record["answer"]["status"], record["answer"]["reason"]) == (
        "partial",
        "out of time after 300 s; it could not be checked",
    )
    assert "error" not in record, "its time was up while it was checked: what was written until then is an answer"
