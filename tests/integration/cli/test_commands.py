"""Test the commands of the command line in this process, on a small index with the real embedder."""

import os
import re
from pathlib import Path

import pytest

from local_rag.config.calibrated import keep
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.graphs import GRAPHS


@pytest.fixture
def here(here, monkeypatch):
    """Return the folder of the notes, which is the current folder."""
    monkeypatch.chdir(here / "notes")
    return here / "notes"


RENT, GREENHOUSE = "'How long is the notice period of the rental contract?'", "'What does the greenhouse cost?'"
BOILER = "'What does the old boiler weigh?'"


@pytest.mark.parametrize("graph", GRAPHS)
def test_each_graph_answers_from_the_same_index(here, said, graph):
    answer = said.json(f"ask {RENT} --graph {graph}")
    assert "three months" in answer["text"]
    assert (answer["status"], answer["graph"], answer["used_web"]) == ("grounded", graph, False)
    (citation,) = answer["citations"]
    assert citation["verified"]
    assert Path(citation["source"]).read_text()[citation["start"] : citation["end"]] == citation["quote"]


def test_trace_shows_path_and_verdicts_on_stderr(here, said):
    lines = said.shown(f"ask {GREENHOUSE} --graph crag --trace").err
    way = "begin -> retrieve -> grade_documents -> refine_documents -> generate -> grade_generation -> finish"
    assert f"crag: {way};" in lines
    assert re.search(r"relevance plan\.md \(\w{6}\): relevant [01]\.\d\d", lines)


def test_ask_in_a_thread_remembers(here, said):
    said(f"ask {GREENHOUSE} --thread garden")
    answer = said.json("ask 'And when was the fence paid for?' --thread garden")
    assert answer["thread"] == "garden" and "2023" in answer["text"]
    assert answer["asked"].startswith("And when was the fence paid for? (")
    said("threads delete garden")


def test_strict_needs_a_graph_that_checks_its_answers(here, said):
    assert "hint: local-rag ask --graph self-rag --strict" in said(f"ask {GREENHOUSE} --strict --graph plain", 2)
    said(f"ask {GREENHOUSE} --strict --explain")


def test_a_graph_is_drawn_as_the_settings_wire_it(here, said, monkeypatch):
    drawn = said("graph self-rag")
    assert "begin" in drawn and "finish" in drawn and "rank_candidates" not in drawn
    monkeypatch.setenv("LOCAL_RAG_SELF_RAG_CANDIDATES", "3")
    assert "rank_candidates" in said("graph self-rag")


@pytest.mark.slow
def test_a_file_that_has_changed_since_is_quoted_with_that_and_one_that_was_removed_no_more(here, said, tmp_path):
    """Check size and time of a cited file before an answer; an index from another machine is trusted."""
    file = tmp_path / "old.md"
    file.write_text("The old boiler weighs ninety kilograms.")
    said(f"index {tmp_path}")
    os.utime(file, (1, 1))
    assert said.json(f"ask {BOILER}")["certainty"] == "sure", "only its time is another"
    for change, told in (
        (lambda: file.write_text("The old boiler weighs a ton."), "changed since it was indexed"),
        (file.unlink, "is not there any more"),
    ):
        change()
        shown = said(f"ask {BOILER}", 4)
        assert shown.startswith("Probably: a file that is cited is not as it was indexed") and f"({told})" in shown
        assert "1 file changed or gone since: local-rag index" in said("status")
    tmp_path.rename(tmp_path.with_name("elsewhere"))
    assert said.json(f"ask {BOILER}")["certainty"] == "sure"
    assert "1 file removed" in said(f"remove {tmp_path}")
    said(f"ask {BOILER}", 3)
    said(f"remove {tmp_path}", 2)


LONG = "what " * 8_000
WRONG = [
    ("ask", 2, "Missing argument 'QUESTION'", "local-rag ask --help"),
    ("ask ' '", 2, "the question is empty", "local-rag ask"),
    (f"ask '{LONG}'", 2, "at most 4,000 characters, and this one has 40,000", "local-rag ask QUESTION --in FILE"),
    (f"search '{LONG}'", 2, "at most 4,000 characters", "--in FILE"),
    ("ask x --graph raptor", 2, "graph = 'raptor' (flag): expected plain, ", "the graph that answers"),
    ("chat --graph raptor", 2, "graph = 'raptor' (flag): expected plain, ", "the graph that answers"),
    ("ask x --engine gpt", 2, "engine = 'gpt' (flag)", "the engine that grades"),
    ("ask x --k 0", 2, "k = 0 (flag): expected 1 or more", "passages retrieved"),
    ("search ' '", 2, "the query is empty", "local-rag search"),
    ("ask x --k four", 2, "'--k': expected a whole number, not 'four'", "local-rag ask --help"),
    ("ask x --nonsense", 2, "No such option: --nonsense", "local-rag ask --help"),
    ("ask x --index nothing-here", 1, "nothing-here", "local-rag index"),
    ("ask x --index 'a b'", 2, "an index is a name of letters", "'./a b'"),
    ("copy 'a b' notes", 2, "an index is a name of letters", "a path begins as './a b'"),
    ("ask x --embedder unheard-of", 2, "there is no embedder 'unheard-of'", "minilm"),
    ("serve --index nothing-here", 1, "; there is", "local-rag index FOLDER --index nothing-here"),
    ("serve --index default --index ./gone", 1, "there is no index at", "--index"),
    ("status --index nothing-here", 1, "nothing-here", "local-rag index"),
    ("index no/such/folder", 2, "there is no file or folder no/such/folder", "local-rag index FOLDER"),
    ("index no/such/folder --index never", 2, "there is no file or folder", "local-rag index FOLDER"),
    ("status --index never", 1, "never", "local-rag index"),  # the line before has left nothing
    ("index --index fresh", 1, "fresh", "local-rag index"),
    ("index . --chunk-size 9000 --index fresh", 2, "9000", ""),
    ("index --about " + "x" * 601, 2, "at most 600 characters", ""),
    ("remove", 2, "name what to remove", "local-rag remove"),
    ("remove --index nothing-here", 1, "nothing-here", ""),
    (r"ask x --thread 'a	b'", 2, "a thread is named with letters", "a name such as"),
    ("threads show nothing", 2, "there is no thread 'nothing'", "local-rag threads"),
    ("threads export", 2, "Missing argument 'NAME'", "local-rag threads export --help"),
    ("graph raptor", 2, "there is no graph 'raptor'", "plain|self-rag|crag|adaptive"),
    ("models --profile 7gb", 2, "there is no profile '7gb'", "--profile"),
    ("models --json pull", 2, "options of pull belong after it", "local-rag models pull --help"),
    ("models frob", 2, "No such command 'frob'", "local-rag models --help"),
    ("models pull a b", 2, "unexpected extra argument", "local-rag models pull --help"),
    ("models pull tiny", 1, "no Ollama server answers at 127.0.0.1:1", "ollama serve   (to install it: https:"),
    ("frobnicate", 2, "No such command 'frobnicate'", "local-rag --help"),
]


@pytest.mark.parametrize(("line", "code", "why", "next_"), WRONG, ids=[row[0][:40] for row in WRONG])
def test_bad_input_gets_one_line_and_a_hint(here, said, line, code, why, next_):
    error, hint = said.error(line, code)
    assert why in error and next_ in hint


def test_no_index_is_made_of_nothing(home, said):
    slides = home / "slides"
    slides.mkdir()
    assert "~/slides holds no file of a kind that is read\nhint: " in said(f"index {slides}", 2)
    for name in ("a.mp4", "b.mp4", "c.jpg"):
        (slides / name).write_bytes(b"x")
    assert "read, only 3 files of other kinds: 2 .mp4 and 1 .jpg\n" in said(f"index {slides}", 2)
    assert not list((home / "data" / "indexes").iterdir())


@pytest.mark.slow
def test_an_index_keeps_its_own_passages_unless_others_are_asked_for(here, said):
    said(f"index {here} --index short --chunk-size 32")
    for command in (f"ask {GREENHOUSE}", "search greenhouse", "index", "status", "doctor"):
        said(f"{command} --index short")
    assert "has passages of 32 tokens" in said("index --index short --chunk-size 64", 1)
    said(f"remove {here} --index short")
    said("remove --index short")


def test_doctor_finds_what_is_wrong(here, said, monkeypatch, tmp_path):
    (tmp_path / "models.yaml").write_text("embedders:\n  minilm:\n    sha256: '" + "0" * 64 + "'\n")
    monkeypatch.setenv("LOCAL_RAG_MODELS", str(tmp_path / "models.yaml"))
    checks = {check["name"]: check for check in said.json("doctor", 1)}
    assert (checks["embedder"]["state"], checks["Python"]["state"]) == ("bad", "ok")
    assert "are not the ones that models.yaml names" in checks["embedder"]["found"]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("LOCAL_RAG_LIMITS_SECOND", "5", "did you mean LOCAL_RAG_LIMITS_SECONDS?"),
        ("LOCAL_RAG_LIMITS_SECONDS", "soon", "limits.seconds = 'soon' (LOCAL_RAG_LIMITS_SECONDS)"),
        ("config.yaml", "kk: 3\n", "config.yaml: there is no setting 'kk'"),
    ],
)
def test_wrong_settings_name_the_place_they_came_from(here, said, monkeypatch, tmp_path, name, value, why):
    if name == "config.yaml":
        (tmp_path / name).write_text(value)
        name, value = "LOCAL_RAG_CONFIG_DIR", str(tmp_path)
    monkeypatch.setenv(name, value)
    assert why in said("config show", 2)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("config.yaml", os.mkfifo),
        ("models.yaml", Path.mkdir),
        ("models.yaml", lambda file: file.write_text("# a comment\n" * 100_000)),
    ],
)
def test_settings_that_cannot_be_read_are_an_error(here, said, monkeypatch, tmp_path, name, make):
    make(tmp_path / name)
    monkeypatch.setenv("LOCAL_RAG_CONFIG_DIR", str(tmp_path))
    error, hint = said.error(f"ask {GREENHOUSE}", 1)
    assert error.startswith("error: cannot read ") and name in error and hint.startswith("hint: ls -l ")


def test_the_data_folder_may_be_named_from_home(here, said, monkeypatch, tmp_path):
    data = Path(os.environ["LOCAL_RAG_DATA_DIR"])
    monkeypatch.setenv("HOME", str(data.parent))
    monkeypatch.setenv("LOCAL_RAG_DATA_DIR", f"~/{data.name}")
    monkeypatch.chdir(tmp_path)
    said("status")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("LOCAL_RAG_DATA_DIR", "~nobody-of-that-name/data")
    assert "LOCAL_RAG_DATA_DIR: there is no home folder of that name" in said("status", 2)


def test_status_needs_no_embedder_that_is_there(here, said, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_EMBEDDER", "unheard-of")
    assert "not known: there is no embedder 'unheard-of' (LOCAL_RAG_EMBEDDER)" in said("status")


def test_config_show_names_the_origin_of_every_value(here, said, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_K", "7")
    rows = {row["name"]: row for row in said.json("config show")}
    assert (rows["k"]["value"], rows["k"]["origin"]) == (7, "LOCAL_RAG_K")
    assert (rows["graph"]["value"], rows["graph"]["origin"]) == ("self-rag", "default")
    keep(Settings.load(), "own 1; minilm 1", Thresholds(relevance=0.01, answer=0.18), {})
    (last,) = [line for line in said("config show").splitlines() if line.startswith("calibrated:")]
    values = "thresholds.relevance 0.01 and thresholds.answer 0.18, where not set above"
    assert last.endswith(f"{values}, for own 1; minilm 1")


def test_an_index_says_what_it_is_about(here, said):
    said("index --about 'The notes of [a keeper]'")
    status = said.json("status")
    assert status["about"] == "The notes of [a keeper]" and "among them: " in status["summary"]
    assert "The notes of [a keeper]" in said("status")
    said("index --about ''")
    assert "(from the catalog)" in " ".join(said("status").split())


@pytest.mark.parametrize("group", ["", "threads", "runs", "models", "prompts", "eval", "bundle", "config"])
def test_help_says_in_45_characters_what_a_person_gets_of_each_command(said, group):
    commands = said(f"{group} --help").partition("Commands:")[2].split("\n")
    summaries = [line.split(maxsplit=1)[1] for line in commands if line.strip()]
    assert summaries and all(len(text) <= 45 and text.endswith(".") and "..." not in text for text in summaries)
