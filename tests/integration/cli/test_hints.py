"""Test that the command in an error's hint works, and that it loses nothing that was intact."""

from __future__ import annotations

import shlex
import shutil
import sqlite3
import subprocess
from contextlib import closing

import pytest
from support.garden import enter

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMismatch, UsageError
from local_rag.core.progress import Silent
from local_rag.diagnostics.demo import index_demo
from local_rag.index.store.sqlite import vectors

pytestmark = pytest.mark.usefixtures("converted")


@pytest.fixture
def index(here, tmp_path, monkeypatch):
    """Return a copy of the index in a home of its own; the current folder is that of the notes."""
    shutil.copytree(here / "data", tmp_path / "data")
    enter(monkeypatch, tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(here / "notes")
    return tmp_path / "data" / "indexes" / "default"


def sql(index, statement):
    with closing(sqlite3.connect(index / "index.sqlite")) as db, db:
        db.execute(statement)


def empty(index):
    (index / "index.sqlite").write_bytes(b"")
    (index / "writer.lock").unlink()


def foreign(index):
    shutil.rmtree(index)
    index.mkdir()
    sql(index, "CREATE TABLE photos (a)")


NAN = "UPDATE vectors SET vector = CAST(zeroblob(1532) || x'0000c07f' AS BLOB)"

HARMS = {
    "gone": (shutil.rmtree, ["status"]),
    "empty, without a lock": (empty, ["status"]),
    "no database": (lambda index: (index / "index.sqlite").write_bytes(b"no database" * 999), ["status"]),
    "half a database": (lambda index: (index / "index.sqlite").write_bytes(b"\0" * 9999), ["search", "rent"]),
    "a table is missing": (lambda index: sql(index, "DROP TABLE chunks"), ["search", "rent"]),
    "a row of meta is missing": (lambda index: sql(index, "DELETE FROM meta WHERE name = 'size'"), ["status"]),
    "vectors are no numbers": (lambda index: sql(index, NAN), ["search", "rent"]),
    "vectors are missing": (lambda index: sql(index, "DELETE FROM vectors"), ["search", "rent"]),
    "words are malformed": (
        lambda index: sql(index, "DELETE FROM full_text_data WHERE id > 10"),
        ["search", "greenhouse"],
    ),
    "text is not UTF-8": (lambda index: sql(index, "UPDATE documents SET text = CAST(x'ff' AS TEXT)"), ["search", "a"]),
    "database of others": (foreign, ["status"]),
    "other passages": (lambda index: None, ["index", "--chunk-size", "100"]),
    "unknown path": (lambda index: None, ["remove", "nothing.txt"]),
    "unknown part": (lambda index: None, ["search", "rent", "--in", "nothing.txt"]),
    "nothing to remove": (shutil.rmtree, ["remove", "--index", "default"]),
    "a folder of other things": (lambda index: None, ["index", ".", "--index", "."]),
    "an index that is a file": (lambda index: None, ["index", ".", "--index", "./plan.md"]),
}


@pytest.mark.parametrize(("harm", "command"), HARMS.values(), ids=HARMS)
def test_a_hint_works_when_typed(index, here, capsys, harm, command):
    harm(index)
    assert run(command) != 0
    shown = capsys.readouterr().err.splitlines()
    hint = shown[-1].removeprefix("hint: ")
    assert shown[-1] != hint and shown[-2].startswith("error: ")
    for typed in hint.replace("NAME", "other").split(" && "):
        assert not typed.endswith("indexes/default"), "a name is shorter"
        words = shlex.split(typed.replace("PATH…", ".").replace("FOLDER", ".").replace("…", shlex.join(command[:2])))
        assert words[0] == "local-rag"
        code = run(words[1:])
        assert code == 0 or "doctor" in words, f"{typed}: {capsys.readouterr().err}"
    if command[0] in ("status", "search") and "--in" not in command and harm is not foreign and "doctor" not in hint:
        assert run(command) == 0
    assert (here / "notes" / "plan.md").is_file()


@pytest.mark.slow
def test_doctor_says_what_to_type_about_text_that_has_changed(index, said):
    sql(index, "UPDATE documents SET text = replace(text, 'euros', 'cents')")

    def check(options, code):
        return {check["name"]: check for check in said.json(f"doctor {options}", code)}["index"]

    assert check("", None)["state"] == "ok"
    for typed in check("--deep", 1)["fix"].split(" && "):
        said(typed.removeprefix("local-rag "))
    assert "every row is as it was stored" in said("doctor --deep", None)


@pytest.mark.parametrize("harm", [empty, lambda index: (index / "index.sqlite").unlink()])
@pytest.mark.parametrize("command", ["index . --index copy", "remove --index copy"])
def test_what_is_left_of_an_index_can_be_removed_and_made_anew(index, said, harm, command):
    shutil.copytree(index, copy := index.with_name("copy"))
    harm(copy)
    said(command)
    assert copy.exists() is command.startswith("index")


def test_doctor_names_a_damaged_file_of_vectors_and_the_next_sync_makes_it_anew(index, said, monkeypatch):
    monkeypatch.setattr(vectors, "COMPARED", 0)
    said("index .")
    (file,) = index.glob("vectors.faiss.*")
    file.write_bytes(file.read_bytes()[:-9] + b"harm here")
    assert "vectors: the file that finds near vectors is missing or damaged" in said("doctor", None)
    said("index")
    assert "vectors:" not in said("doctor --deep", None)


class TestTheDemo:
    def test_an_index_of_others_by_its_name_is_put_aside(self, index, capsys):
        demo = index.rename(index.with_name("demo"))
        with pytest.raises(UsageError, match="holds other files") as caught:
            index_demo(Settings.load(index="demo"), Silent())
        move, again = caught.value.hint.split(" && ")
        assert again == "local-rag demo"
        assert subprocess.run(shlex.split(move)).returncode == 0 and not demo.exists()
        assert run(["status", "--index", "demo-mine"]) == 0

    def test_an_index_of_a_later_version_is_left_alone(self, index):
        demo = index.rename(index.with_name("demo"))
        sql(demo, "UPDATE meta SET value = '99' WHERE name = 'schema'")
        with pytest.raises(IndexMismatch, match="newer"):
            index_demo(Settings.load(index="demo"), Silent())
        assert (demo / "index.sqlite").is_file()
