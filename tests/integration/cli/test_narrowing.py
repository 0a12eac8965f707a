"""Test conditions, exact words and several indexes, as a person types them."""

import io
import os
import shlex
from datetime import datetime
from pathlib import Path

import pytest
from support.garden import enter, entered

from local_rag import Narrowing, Rag
from local_rag.cli.app import run
from local_rag.core.errors import IndexMismatch, UsageError
from local_rag.core.events import Note, Retrieved
from local_rag.runtime.history import History

pytestmark = pytest.mark.usefixtures("converted")

LEASE = "---\ntitle: Lease\nauthor: Ann Lee\ndate: 2023\n---\n\nThe notice period of the flat is three months.\n"
DRAFT = "# Draft\n\nThe notice periods of a draft are of no account.\n"
MAIL = "From: {0} <{0}@example.org>\nSubject: Boat\nDate: {1}\n\nThe boat of {0} needs paint.\n\n"
BOX = [("Ann", "Mon, 02 Jan 2023 23:30:00 -0500"), ("Carl", "Mon, 01 Jan 2024 00:00:00 +0000")]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a person with an index of papers and one of mail, which no test changes."""
    base = tmp_path_factory.mktemp("home")
    with entered(base) as patched:
        patched.chdir(base)
        (base / "papers").mkdir()
        (base / "papers" / "lease.md").write_text(LEASE)
        (base / "papers" / "draft.txt").write_text(DRAFT)
        moment = datetime(2021, 5, 1).timestamp()
        os.utime(base / "papers" / "draft.txt", (moment, moment))
        mails = (f"From {name} Mon Jan  2 10:00:00 2023\n{MAIL.format(name, day)}" for name, day in BOX)
        (base / "box.mbox").write_text("".join(mails))
        assert run(["index", "papers", "--index", "papers"]) == 0
        assert run(["index", "box.mbox", "--index", "mail"]) == 0
    return base


@pytest.fixture(autouse=True)
def person(home, monkeypatch):
    enter(monkeypatch, home)
    monkeypatch.chdir(home)


BOTH = "--index papers --index mail"
LEASES = "'What is the notice period of the flat?' --engine extractive"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("notice", ["draft.txt", "lease.md"]),
        ("notice --type md", ["lease.md"]),
        ("notice --in *.txt", ["draft.txt"]),
        ("notice --from 'lee ANN'", ["lease.md"]),
        ("notice --after 2023-07", ["lease.md"]),  # a year may hold that day
        ("notice --before 2023", ["draft.txt"]),
        ("notice --before 2023-01-02 --after 2022", ["lease.md"]),
        ("""'"notice period"'""", ["lease.md"]),
        ("'notice -draft'", ["lease.md"]),
        ("-draft notice --mode words", ["lease.md"]),
        ("notice --mode dense -three", ["draft.txt"]),
    ],
)
def test_search_obeys_conditions_and_exact_words(said, query, names):
    found = said.json(f"search {query} --index papers")
    assert sorted(Path(row["source"]).name for row in found) == names


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("search x --from zoe", "no indexed document is by 'zoe': there is only 'Ann Lee'"),
        ("ask x --type pdf", "no indexed file is of type 'pdf': there are md (1) and txt (1)"),
        ("search x --in ~nosuchuser/x", "'~nosuchuser/x' is no path or pattern of paths"),
        ("search -draft", "the query only says what to leave out"),
        ("search x -k 1", "No such option: -k"),
        ("index papers --index mail", "this command takes one --index, not 2"),
    ],
)
def test_what_cannot_be_had_is_one_line_with_a_command(said, line, why):
    error, hint, *more = said(f"{line} --index papers", None).strip().splitlines()[-2:]
    assert why in error and hint.startswith("hint: ") and not more


def test_a_hint_works_as_typed(said):
    _, hint = said.error("search x --type pdf --index papers")
    assert "lease.md" in said(hint.removeprefix("hint: local-rag "))
    assert [Path(row["path"]).name for row in said.json("files --type txt --index papers")] == ["draft.txt"]


def test_several_indexes_answer_as_one_and_say_which(said):
    assert {row["index"] for row in said.json(f"search 'boat notice' {BOTH}")} == {"papers", "mail"}
    answer = said.json(f"ask {LEASES} {BOTH}")
    assert answer["citations"][0]["index"] == "papers" and "three months" in answer["text"]
    assert "(index papers)" in said(f"ask {LEASES} {BOTH}")


def test_a_run_over_several_indexes_and_conditions_is_read_and_repeated(home):
    narrowing = Narrowing(types=["md", "mbox"], after="2022")
    with Rag.open(index=["papers", "mail"], engine="extractive") as rag:
        answer = rag.ask("What is the notice period of the flat?", within=narrowing, thread="flat")
        turn = rag.history.turns("flat")[-1]
        kept = rag.history.run(answer.run)
    assert kept.narrowing == narrowing and turn.answer.text
    folders = [str((home / "data" / "indexes" / name).resolve()) for name in ("papers", "mail")]
    assert list(turn.indexes) == folders == [kept.folder, *kept.others]
    assert run(["runs", "show", answer.run]) == 0
    assert run(["runs", "again", answer.run]) == 0
    with History.open() as history:
        again = history.run("last")
        assert {again.id, answer.run} <= {run.id for run in history.runs(index=Path(folders[1]))}
    assert again.id != answer.run and again.narrowing == narrowing


def test_the_strictest_index_keeps_all_from_the_web(monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_WEB_NEVER", "mail")
    with Rag.open(index=["papers", "mail"], engine="extractive", web__source="", graph="crag") as rag:
        assert not rag.web.enabled and rag.context(graph="crag").limit("web_searches") == 0
    with pytest.raises(UsageError, match="questions about the index mail never go to the web"):
        Rag.open(index=["papers", "mail"], engine="extractive", web__enabled="on")
    with Rag.open(index=["papers"], engine="extractive", web__enabled="on") as rag:
        assert rag.web.enabled


def test_indexes_of_different_embedders_are_refused(home):
    from support.fakes_index import HashingEmbedder

    from local_rag.index.index import Index

    with Index.open(home / "data" / "indexes" / "other", HashingEmbedder(window=250), create=True):
        pass
    with pytest.raises(IndexMismatch, match="papers and other cannot be asked as one: other was made with") as caught:
        Rag.open(index=["papers", "other"], engine="extractive")
    assert shlex.split(caught.value.hint)[:2] == ["local-rag", "index"] and "--reembed" in caught.value.hint


def test_quotes_in_a_question_are_preferred():
    with Rag.open(index="papers", engine="extractive") as rag:
        events = list(rag.stream('What is the notice period of "no account"?', graph="plain", k=1))
        retrieved = [event.documents for event in events if isinstance(event, Retrieved)]
        assert [Path(passage.metadata["source"]).name for passage in retrieved[0]] == ["draft.txt"]
        assert not [event for event in events if isinstance(event, Note)]
        notes = [event.text for event in rag.stream('Who wrote "purple rain"?') if isinstance(event, Note)]
    assert 'no passage holds "purple rain" word for word' in notes


def test_only_narrows_a_chat(monkeypatch, said):
    conditions = "type:md from:Lee"
    lines = ("/only", f"/only {conditions}", "/only", "What is the notice period?", "/only year:2023", "/only off")
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    out, err = said.shown("chat --engine extractive --index papers --type txt", 1)  # one command is wrong
    assert [line for line in out.splitlines() if line.startswith(("only", "everything"))] == [
        "only type:txt (/only off ends that)",
        f"only {conditions} (1 file)",
        f"only {conditions} (/only off ends that)",
        "everything is asked (/only in:notes after:2023 type:pdf from:ann)",
    ]
    assert "three months" in out
    assert "/only takes in:, after:, before:, type: or from: with a value, or off, not 'year:2023'" in err
