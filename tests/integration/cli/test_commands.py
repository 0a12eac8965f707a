"""The commands of the command line in this process, on a small index with the real embedder."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from support.garden import enter, notes_in

from local_rag.cli.app import run
from local_rag.config.calibrated import keep
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.graphs import GRAPHS

pytestmark = pytest.mark.usefixtures("converted")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The folder of a person whose default index holds some notes."""
    base = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patched:
        enter(patched, base)
        assert run(["index", str(notes_in(base))]) == 0
    return base


@pytest.fixture
def here(world, monkeypatch):
    """The notes, in which this process stands."""
    enter(monkeypatch, world)
    monkeypatch.chdir(world / "notes")
    return world / "notes"


@pytest.mark.parametrize("graph", GRAPHS)
def test_each_graph_answers_from_the_same_index(here, capsys, graph):
    assert run(["ask", "How long is the notice period of the rental contract?", "--graph", graph, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "three months" in answer["text"]
    assert (answer["status"], answer["graph"], answer["used_web"]) == ("grounded", graph, False)
    (citation,) = answer["citations"]
    assert citation["verified"]
    stored = Path(citation["source"]).read_text()
    assert stored[citation["start"] : citation["end"]] == citation["quote"]


def test_trace_shows_path_and_verdicts_on_stderr(here, capsys):
    assert run(["ask", "What does the greenhouse cost?", "--graph", "crag", "--trace"]) == 0
    lines = capsys.readouterr().err
    assert "crag: retrieve -> grade_documents -> refine_documents -> generate -> grade_generation" in lines
    assert re.search(r"relevance notes/plan\.md \(\w{6}\): relevant [01]\.\d\d", lines)


def test_ask_in_a_thread_remembers(here, capsys):
    assert run(["ask", "What does the greenhouse cost?", "--thread", "garden"]) == 0
    capsys.readouterr()
    assert run(["ask", "And when was the fence paid for?", "--thread", "garden", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["thread"] == "garden"
    assert answer["asked"].startswith("And when was the fence paid for? (")
    assert "2023" in answer["text"]
    assert run(["threads", "delete", "garden"]) == 0


def test_direct_answers_say_that_no_file_was_looked_at(here, capsys):
    assert run(["ask", "Hello, how are you today?", "--graph", "adaptive", "--direct", "--json"]) in (0, 3, 4)
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] in ("direct", "abstained")


def test_strict_needs_a_graph_that_checks_its_answers(here, capsys):
    assert run(["ask", "What does the greenhouse cost?", "--strict", "--graph", "plain"]) == 2
    assert "hint: local-rag ask --graph self-rag --strict" in capsys.readouterr().err
    assert run(["ask", "What does the greenhouse cost?", "--strict", "--explain"]) == 0


def test_a_graph_is_drawn_as_the_settings_wire_it(here, capsys, monkeypatch):
    assert run(["graph", "self-rag"]) == 0
    plain = capsys.readouterr().out
    assert "standalone_question" not in plain
    assert run(["graph", "self-rag", "--memory"]) == 0
    assert "standalone_question" in capsys.readouterr().out
    monkeypatch.setenv("LOCAL_RAG_SELF_RAG_CANDIDATES", "3")
    assert run(["graph", "self-rag"]) == 0
    assert "rank_candidates" in capsys.readouterr().out


def test_in_restricts_to_files(here, capsys):
    assert run(["search", "greenhouse", "--in", "letters", "--json"]) == 0
    assert {Path(hit["source"]).name for hit in json.loads(capsys.readouterr().out)} == {"tenant.txt"}
    assert run(["search", "notice", "--in", "*.md", "--json"]) == 0
    assert {Path(hit["source"]).name for hit in json.loads(capsys.readouterr().out)} == {"plan.md"}


def test_a_removed_file_does_not_answer_any_more(here, capsys, tmp_path):
    (tmp_path / "old.md").write_text("The old boiler weighs ninety kilograms.")
    assert run(["index", str(tmp_path)]) == 0
    assert run(["ask", "What does the old boiler weigh?"]) == 0
    assert run(["remove", str(tmp_path)]) == 0
    assert "1 file removed" in capsys.readouterr().out
    assert run(["ask", "What does the old boiler weigh?"]) == 3
    assert run(["remove", str(tmp_path)]) == 2


WRONG = [
    (["ask"], 2, "Missing argument 'QUESTION'", "local-rag ask --help"),
    (["ask", " "], 2, "the question is empty", "local-rag ask"),
    (
        ["ask", "what " * 8_000],
        2,
        "at most 4,000 characters, and this one has 40,000",
        "local-rag ask QUESTION --in FILE",
    ),
    (["search", "what " * 8_000], 2, "at most 4,000 characters", "--in FILE"),
    (["ask", "x", "--graph", "raptor"], 2, "graph = 'raptor' (flag): expected plain, ", "the graph that answers"),
    (["ask", "x", "--engine", "gpt"], 2, "engine = 'gpt' (flag)", "the engine that grades"),
    (["ask", "x", "--k", "0"], 2, "k = 0 (flag): expected 1 or more", "passages retrieved"),
    (["search", " "], 2, "the query is empty", "local-rag search"),
    (["ask", "x", "--k", "four"], 2, "'--k': expected a whole number, not 'four'", "local-rag ask --help"),
    (["ask", "x", "--nonsense"], 2, "No such option: --nonsense", "local-rag ask --help"),
    (["ask", "x", "--index", "nothing-here"], 1, "nothing-here", "local-rag index"),
    (["ask", "x", "--index", "a b"], 2, "an index is a name of letters", "--index"),
    (["ask", "x", "--embedder", "unheard-of"], 2, "there is no embedder 'unheard-of'", "minilm"),
    (["serve", "--index", "nothing-here"], 1, "; there is", "local-rag index FOLDER --index nothing-here"),
    (["serve", "--index", "default", "--index", "./gone"], 1, "there is no index at", "--index"),
    (["status", "--index", "nothing-here"], 1, "nothing-here", "local-rag index"),
    (["index", "no/such/folder"], 2, "there is no file or folder no/such/folder", "local-rag index FOLDER"),
    (["index", "--index", "fresh"], 1, "fresh", "local-rag index"),
    (["index", ".", "--chunk-size", "9000", "--index", "fresh"], 2, "9000", ""),
    (["remove"], 2, "name what to remove", "local-rag remove"),
    (["remove", "--index", "nothing-here"], 1, "nothing-here", ""),
    (["ask", "x", "--thread", "a\tb"], 2, "a thread is named with letters", "a name such as"),
    (["threads", "show", "nothing"], 2, "there is no thread 'nothing'", "local-rag threads"),
    (["threads", "export"], 2, "Missing argument 'NAME'", "local-rag threads export --help"),
    (["graph", "raptor"], 2, "there is no graph 'raptor'", "plain|self-rag|crag|adaptive"),
    (["frobnicate"], 2, "No such command 'frobnicate'", "local-rag --help"),
]


@pytest.mark.parametrize(("arguments", "code", "line", "hint"), WRONG, ids=[" ".join(row[0])[:40] for row in WRONG])
def test_bad_input_gets_one_line_and_a_hint(here, capsys, arguments, code, line, hint):
    assert run(arguments) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    error, *rest = shown.err.splitlines()
    assert error.startswith("error: ")
    assert line in error
    assert len(rest) <= 1
    assert hint in "".join(rest)
    assert "Traceback" not in shown.err


def test_no_index_is_made_of_nothing(home, capsys):
    slides = home / "slides"
    slides.mkdir()
    assert run(["index", str(slides)]) == 2
    assert "~/slides holds no file of a kind that is read\nhint: " in capsys.readouterr().err
    for name in ("a.mp4", "b.mp4", "c.jpg"):
        (slides / name).write_bytes(b"x")
    assert run(["index", str(slides)]) == 2
    assert "read, only 3 files of other kinds: 2 .mp4 and 1 .jpg\n" in capsys.readouterr().err
    assert not list((home / "data" / "indexes").iterdir())


def test_an_index_keeps_its_own_passages_unless_others_are_asked_for(here, capsys):
    assert run(["index", str(here), "--index", "short", "--chunk-size", "32"]) == 0
    assert run(["status", "--index", "short", "--json"]) == 0
    for command in (["ask", "What does the greenhouse cost?"], ["search", "greenhouse"], ["index"], ["doctor"]):
        assert run([*command, "--index", "short"]) == 0, command
    capsys.readouterr()
    assert run(["index", "--index", "short", "--chunk-size", "64"]) == 1
    assert "has passages of 32 tokens" in capsys.readouterr().err
    assert run(["remove", str(here), "--index", "short"]) == 0
    assert run(["remove", "--index", "short"]) == 0


def test_an_error_leaves_no_empty_index_behind(here, capsys):
    assert run(["index", "no/such/folder", "--index", "never"]) == 2
    assert run(["status", "--index", "never"]) == 1


def test_doctor_finds_what_is_wrong(here, capsys, monkeypatch, tmp_path):
    (tmp_path / "models.yaml").write_text("embedders:\n  minilm:\n    sha256: '" + "0" * 64 + "'\n")
    monkeypatch.setenv("LOCAL_RAG_MODELS", str(tmp_path / "models.yaml"))
    assert run(["doctor", "--json"]) == 1
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert checks["embedder"]["state"] == "bad"
    assert "are not the ones that models.yaml names" in checks["embedder"]["found"]
    assert checks["Python"]["state"] == "ok"


def test_files_of_other_kinds_are_counted(here, capsys, tmp_path):
    (tmp_path / "talk.mp4").write_bytes(b"x")
    (tmp_path / "a.txt").write_text("Something to read about lanterns.")
    assert run(["index", str(tmp_path), "--index", "kinds"]) == 0
    assert "Not indexed, because local-rag does not read these kinds of files: 1 .mp4" in capsys.readouterr().out
    assert run(["remove", "--index", "kinds"]) == 0


def test_a_misspelt_variable_is_an_error_with_a_suggestion(here, capsys, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_LIMITS_SECOND", "5")
    assert run(["config", "show"]) == 2
    assert "did you mean LOCAL_RAG_LIMITS_SECONDS?" in capsys.readouterr().err


def test_wrong_settings_name_the_place_they_came_from(here, capsys, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_LIMITS_SECONDS", "soon")
    assert run(["config", "show"]) == 2
    assert "limits.seconds = 'soon' (LOCAL_RAG_LIMITS_SECONDS)" in capsys.readouterr().err
    monkeypatch.delenv("LOCAL_RAG_LIMITS_SECONDS")
    folder = Path(os.environ["LOCAL_RAG_CONFIG_DIR"])
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text("kk: 3\n")
    try:
        assert run(["config", "show"]) == 2
        assert "config.yaml: there is no setting 'kk'" in capsys.readouterr().err
    finally:
        (folder / "config.yaml").unlink()


@pytest.mark.parametrize("kind", ["pipe", "folder", "large"])
@pytest.mark.parametrize("name", ["config.yaml", "models.yaml"])
def test_settings_that_cannot_be_read_are_an_error(here, capsys, monkeypatch, tmp_path, name, kind):
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    elif kind == "folder":
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).write_text("# a comment\n" * 100_000, encoding="utf-8")
    monkeypatch.setenv("LOCAL_RAG_CONFIG_DIR", str(tmp_path))
    assert run(["ask", "What does the greenhouse cost?"]) == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: cannot read ") and name in error
    assert hint.startswith("hint: ls -l ")


def test_the_data_folder_may_be_named_from_home(here, capsys, monkeypatch, tmp_path):
    data = os.environ["LOCAL_RAG_DATA_DIR"]
    monkeypatch.setenv("HOME", str(Path(data).parent))
    monkeypatch.setenv("LOCAL_RAG_DATA_DIR", f"~/{Path(data).name}")
    monkeypatch.chdir(tmp_path)
    assert run(["status"]) == 0
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("LOCAL_RAG_DATA_DIR", "~nobody-of-that-name/data")
    assert run(["status"]) == 2
    assert "LOCAL_RAG_DATA_DIR: there is no home folder of that name" in capsys.readouterr().err


def test_status_needs_no_embedder_that_is_there(here, capsys, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_EMBEDDER", "unheard-of")
    assert run(["status"]) == 0
    assert "not known: there is no embedder 'unheard-of' (LOCAL_RAG_EMBEDDER)" in capsys.readouterr().out


def test_config_show_names_the_origin_of_every_value(here, capsys, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_K", "7")
    assert run(["config", "show", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["k"]["value"], rows["k"]["origin"]) == (7, "LOCAL_RAG_K")
    assert (rows["graph"]["value"], rows["graph"]["origin"]) == ("self-rag", "default")
    keep(Settings.load(), "own 1; minilm 1", Thresholds(relevance=0.01, answer=0.18), {})
    assert run(["config", "show"]) == 0
    (last,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("calibrated:")]
    said = "thresholds.relevance 0.01 and thresholds.answer 0.18, where not set above, for own 1; minilm 1"
    assert last.endswith(said)


def test_an_index_says_what_it_is_about(here, capsys):
    assert run(["index", "--about", "The notes of [a keeper]", "--json"]) == 0
    capsys.readouterr()
    assert run(["status", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["about"] == "The notes of [a keeper]" and "among them: " in said["summary"]
    assert run(["status"]) == 0
    assert "The notes of [a keeper]" in capsys.readouterr().out
    assert run(["index", "--about", "x" * 601]) == 2
    assert "at most 600 characters" in capsys.readouterr().err
    assert run(["index", "--about", ""]) == 0
    capsys.readouterr()
    assert run(["status"]) == 0
    assert "(from the catalog)" in " ".join(capsys.readouterr().out.split())
