"""A file whose content cannot be read is told with every sync, and tried again only when that may help."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.core.errors import FileSkipped
from local_rag.index.index import Index
from local_rag.index.parse import version, worker
from local_rag.index.parse.parser import Parser
from local_rag.index.sync import failures
from local_rag.index.sync import sync as syncing


@pytest.fixture
def index(tmp_path):
    with Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=40, create=True) as made:
        yield made


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "good.txt").write_text("The keeper lights the lamp.")
    (folder / "broken.docx").write_text("no document of Word")
    return folder


@pytest.fixture
def parsed(monkeypatch):
    """The names of the files that the parser was given."""
    names, parse = [], Parser.parse
    monkeypatch.setattr(Parser, "parse", lambda self, path, *more: names.append(path.name) or parse(self, path, *more))
    return names


def reasons(report):
    return [(Path(skipped.path).name, skipped.reason) for skipped in report.skipped]


def remembered(index):
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db:
        return [Path(path).name for (path,) in db.execute("SELECT path FROM failures")]


BROKEN = ("broken.docx", "is damaged (not a .docx file inside)")


def test_it_is_told_as_before_without_another_attempt(index, notes, parsed):
    assert reasons(index.sync([notes])) == [BROKEN] and "broken.docx" in parsed
    parsed.clear()
    for _ in range(2):
        assert reasons(index.sync()) == [BROKEN]
    assert parsed == [] and remembered(index) == ["broken.docx"]


def test_it_is_tried_again_when_asked_for_or_changed_or_with_another_parser(index, notes, parsed, monkeypatch):
    index.sync([notes])
    parsed.clear()
    assert reasons(index.sync(retry=True)) == [BROKEN] and parsed == ["broken.docx"]
    (notes / "broken.docx").write_text("still no document of Word")
    index.sync()
    assert parsed == ["broken.docx"] * 2
    monkeypatch.setattr(failures, "parser_version", lambda: "another")
    index.sync()
    assert parsed == ["broken.docx"] * 3
    index.sync()
    assert parsed == ["broken.docx"] * 3


def test_what_is_mended_is_read_and_what_is_gone_is_forgotten(index, notes):
    (notes / "empty.txt").write_text("")
    assert len(reasons(index.sync([notes]))) == 2
    (notes / "empty.txt").write_text("Not empty any more.")
    (notes / "broken.docx").unlink()
    report = index.sync()
    assert [Path(path).name for path in report.new] == ["empty.txt"] and report.skipped == ()
    assert remembered(index) == []


def test_a_file_that_broke_does_not_answer_and_is_not_tried_twice(index, notes, parsed):
    index.sync([notes])
    (notes / "good.txt").write_bytes(bytes(range(256)) * 9)
    parsed.clear()
    for _ in range(2):
        assert ("good.txt", "is binary, not text") in reasons(index.sync())
    assert parsed == ["good.txt"] and index.files() == []


def test_removing_a_folder_forgets_its_failures(index, notes):
    index.sync([notes])
    index.remove([notes])
    assert remembered(index) == []


def test_what_took_too_long_is_always_tried_again(index, notes, parsed, monkeypatch):
    (notes / "slow.html").write_text("<p>word " * 400_000)
    monkeypatch.setattr(syncing, "Parser", partial(Parser, seconds=0.3))
    for times in (1, 2):
        assert ("slow.html", "took longer than 0.3 s to read") in reasons(index.sync([notes]))
        assert parsed.count("slow.html") == times and "slow.html" not in remembered(index)


@pytest.mark.parametrize(
    ("error", "passing"),
    [
        (MemoryError(), True),
        (PermissionError(13, "denied"), True),
        (ModuleNotFoundError("no module named mammoth"), True),
        (OSError("unexpected end of data"), False),
        (ValueError("broken"), False),
        (RecursionError(), False),
        (FileSkipped("is empty"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_content_made_fail(monkeypatch, tmp_path, error, passing):
    def load(path, password):
        raise error

    monkeypatch.setattr(worker, "load", load)
    (tmp_path / "a.txt").touch()
    assert worker.parse(tmp_path / "a.txt").get("passing", False) is passing


def test_a_library_that_is_installed_is_another_parser(monkeypatch):
    before = version.parser_version()
    assert len(before) == 16 and version.parser_version() == before
    monkeypatch.setattr(version, "LIBRARIES", (*version.LIBRARIES, "pytest"))
    version.parser_version.cache_clear()
    assert version.parser_version() != before
    monkeypatch.undo()
    version.parser_version.cache_clear()
    assert version.parser_version() == before
