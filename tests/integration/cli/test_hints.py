"""Test that the command in an error's hint works, and that it loses nothing that was intact."""

import shlex
import shutil
import subprocess

import pytest
from support.databases import sql

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMismatch, UsageError
from local_rag.core.progress import Silent
from local_rag.diagnostics.demo import index_demo
from local_rag.index.store.sqlite import vectors


@pytest.fixture
def index(here, monkeypatch):
    """Return the index; the current folder is that of the notes."""
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(here / "notes")
    return here / "data" / "indexes" / "default"


def change(index, harm):
    """Harm an index by a function or by a statement of SQL."""
    if callable(harm):
        harm(index)
    else:
        sql(index / "index.sqlite", harm)


def empty(index):
    (index / "index.sqlite").write_bytes(b"")
    (index / "writer.lock").unlink()


def foreign(index):
    shutil.rmtree(index)
    index.mkdir()
    change(index, "CREATE TABLE photos (a)")


NAN = "UPDATE vectors SET vector = CAST(zeroblob(1532) || x'0000c07f' AS BLOB)"

HARMS = {
    "gone": (shutil.rmtree, "status"),
    "empty, without a lock": (empty, "status"),
    "no database": (lambda index: (index / "index.sqlite").write_bytes(b"no database" * 999), "status"),
    "half a database": (lambda index: (index / "index.sqlite").write_bytes(b"\0" * 9999), "search rent"),
    "a table is missing": ("DROP TABLE chunks", "search rent"),
    "a row of meta is missing": ("DELETE FROM meta WHERE name = 'size'", "status"),
    "vectors are no numbers": (NAN, "search rent"),
    "text is not UTF-8": ("UPDATE documents SET text = CAST(x'ff' AS TEXT)", "search a"),
    "database of others": (foreign, "status"),
    "other passages": ("", "index --chunk-size 100"),
    "unknown path": ("", "remove nothing.txt"),
    "unknown part": ("", "search rent --in nothing.txt"),
    "nothing to remove": (shutil.rmtree, "remove --index default"),
    "a folder of other things": ("", "index . --index ."),
    "an index that is a file": ("", "index . --index ./plan.md"),
}


@pytest.mark.parametrize(("harm", "command"), HARMS.values(), ids=HARMS)
def test_a_hint_works_when_typed(index, here, said, harm, command):
    change(index, harm)
    *_, error, hint = said(command, None).splitlines()
    assert said.ended != 0 and error.startswith("error: ") and hint.startswith("hint: ")
    again = " ".join(command.split()[:2])
    for typed in hint.removeprefix("hint: ").replace("NAME", "other").split(" && "):
        assert not typed.endswith("indexes/default"), "a name is shorter"
        program, _, line = typed.replace("PATH…", ".").replace("FOLDER", ".").replace("…", again).partition(" ")
        assert program == "local-rag"
        said(line, None if "doctor" in line else 0)
    if command.startswith(("status", "search")) and "--in" not in command and harm != foreign and "doctor" not in hint:
        said(command)
    assert (here / "notes" / "plan.md").is_file()


@pytest.mark.slow
def test_doctor_says_what_to_type_about_text_that_has_changed(index, said):
    change(index, "UPDATE documents SET text = replace(text, 'euros', 'cents')")

    def check(options, code):
        return {check["name"]: check for check in said.json(f"doctor {options}", code)}["index"]

    assert check("", None)["state"] == "ok"
    for typed in check("--deep", 1)["fix"].split(" && "):
        said(typed.removeprefix("local-rag "))
    assert "every row is as it was stored" in said("doctor --deep", None)


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
        change(demo, "UPDATE meta SET value = '99' WHERE name = 'schema'")
        with pytest.raises(IndexMismatch, match="newer"):
            index_demo(Settings.load(index="demo"), Silent())
        assert (demo / "index.sqlite").is_file()
