"""Encrypted PDFs are read with passwords that a person types or keeps in the keyring; nothing else keeps them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder
from support.hostile import SENTENCE, make_pdf

from local_rag.config.settings import Settings
from local_rag.core.errors import FileSkipped, UsageError
from local_rag.index.index import Index
from local_rag.index.parse import worker
from local_rag.index.parse.parser import Parser
from local_rag.index.parse.passwords import Passwords
from local_rag.runtime import indexing, passwords
from local_rag.runtime.index_request import Request
from local_rag.runtime.indexing import index_files
from local_rag.terminal.console import SafeConsole
from local_rag.terminal.progress import TerminalDisplay

SECRET = "Schlüssel zum Turm 7"
LOCKED = "is encrypted with a password: local-rag index --passwords asks for it"


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "open.txt").write_text("The harbour is open.")
    make_pdf(folder / "lease.pdf", [SENTENCE], password=SECRET)
    return folder


@pytest.fixture
def index(tmp_path):
    with Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=40, create=True) as made:
        yield made


def reasons(skipped):
    return {Path(file.path).name: file.reason for file in skipped}


class TestReading:
    def test_a_password_opens_and_another_does_not(self, notes):
        path = notes / "lease.pdf"
        with Parser() as parser:
            assert parser.is_locked(path) and parser.is_locked(path, "wrong") and not parser.is_locked(path, SECRET)
            assert not parser.is_locked(path, "owner")
            assert SENTENCE in parser.parse(path, SECRET).documents[0].text
            for password in ("", "wrong"):
                with pytest.raises(FileSkipped, match="is encrypted with a password") as skipped:
                    parser.parse(path, password)
                assert skipped.value.locked
            if sys.platform == "linux":
                process = Path(f"/proc/{parser.pid}")
                assert SECRET.encode() not in (process / "cmdline").read_bytes() + (process / "environ").read_bytes()

    def test_what_is_not_encrypted_or_damaged_asks_for_nothing(self, tmp_path):
        make_pdf(tmp_path / "open.pdf", [SENTENCE])
        make_pdf(tmp_path / "empty.pdf", [SENTENCE], password="")
        (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 40)
        with Parser() as parser:
            assert not any(parser.is_locked(path) for path in tmp_path.glob("*.pdf"))

    def test_no_message_and_no_representation_holds_it(self, tmp_path, monkeypatch):
        def load(path, password):
            raise ValueError(f"cannot use {password!r}")

        monkeypatch.setattr(worker, "load", load)
        assert SECRET not in json.dumps(worker.parse(tmp_path, SECRET), ensure_ascii=False)
        assert SECRET not in f"{Passwords({'a': SECRET})} {Passwords({'a': SECRET})!r}"


class TestSync:
    def test_without_one_the_report_names_the_flag_and_nothing_is_remembered(self, index, notes):
        for _ in range(2):
            assert reasons(index.sync([notes]).skipped) == {"lease.pdf": LOCKED}
        report = index.sync(passwords=Passwords({str(notes / "lease.pdf"): SECRET}))
        assert [Path(path).name for path in report.new] == ["lease.pdf"] and report.skipped == ()
        assert SENTENCE in index.search("lamp of Skerryvore", 1)[0].page_content

    def test_what_was_read_once_stays_and_is_named_when_it_changes(self, index, notes):
        path = notes / "lease.pdf"
        index.sync([notes], passwords=Passwords({str(path): SECRET}))
        assert index.locked_files() == [] and index.sync().unchanged == 2
        make_pdf(path, ["The lease ends in May."], password=SECRET)
        assert index.locked_files() == [str(path)]
        report = index.sync()
        assert reasons(report.kept) == {"lease.pdf": f"{LOCKED}; its indexed text is kept"} and report.skipped == ()
        assert SENTENCE in index.search("lamp of Skerryvore", 1)[0].page_content
        assert index.sync(passwords=Passwords({str(path): SECRET})).updated == (str(path),)

    def test_only_what_would_be_read_is_asked_for(self, index, notes):
        make_pdf(notes / "draft.pdf", [SENTENCE], password=SECRET)
        make_pdf(notes / "open.pdf", [SENTENCE])
        with (notes / "large.pdf").open("wb") as file:
            file.truncate(600_000_000)
        assert index.locked_files([notes], excludes=["draft.pdf"]) == [str(notes / "lease.pdf")]
        assert index.files() == [] and index.locked_files() == [], "looking changes nothing"


class TestAsking:
    @pytest.fixture
    def run(self, notes, monkeypatch):
        monkeypatch.setattr(indexing, "open_embedder", lambda *_, **__: HashingEmbedder(window=300))
        shown = io.StringIO()

        def run(*typed):
            prompts, answers = [], iter(typed)
            ask = (lambda prompt: prompts.append(prompt) or next(answers)) if typed else None
            request, display = Request([notes], passwords=True), TerminalDisplay(SafeConsole(shown))
            return index_files(Settings.load(), request, display, ask=ask)[0], prompts

        run.shown = shown.getvalue
        return run

    def no_keyring(self, monkeypatch):
        monkeypatch.setattr(passwords, "system_keyring", lambda: None)

    def test_a_person_is_asked_once_per_file_before_the_work(self, run, notes, monkeypatch):
        self.no_keyring(monkeypatch)
        make_pdf(notes / "will.pdf", ["All goes to the keeper."], password="another")
        report, prompts = run(SECRET, "another")
        assert [Path(path).name for path in report.new] == ["lease.pdf", "open.txt", "will.pdf"] and not report.skipped
        assert [("lease.pdf" in prompt, "will.pdf" in prompt) for prompt in prompts] == [(True, False), (False, True)]
        assert run("never asked")[1] == [] and SECRET not in run.shown()

    def test_three_attempts_then_the_file_is_reported(self, run, monkeypatch):
        self.no_keyring(monkeypatch)
        report, prompts = run("a", "b", "c", SECRET)
        assert len(prompts) == 3 and reasons(report.skipped) == {"lease.pdf": LOCKED}
        assert run.shown().count("that password does not open it") == 3
        report, prompts = run("a", SECRET)
        assert len(prompts) == 2 and len(report.new) == 1

    def test_enter_leaves_a_file_locked(self, run, monkeypatch):
        self.no_keyring(monkeypatch)
        report, prompts = run("")
        assert len(prompts) == 1 and reasons(report.skipped) == {"lease.pdf": LOCKED}

    def test_neither_terminal_nor_keyring_is_said_before_anything_is_done(self, run, monkeypatch):
        self.no_keyring(monkeypatch)
        with pytest.raises(UsageError, match="here is no terminal, and") as caught:
            run()
        assert caught.value.hint and not Settings.load().index_path.exists()


class TestKeyring:
    @pytest.fixture(autouse=True)
    def keyring(self, monkeypatch):
        keyring = pytest.importorskip("keyring", reason="the extra 'keyring' is not installed")
        from support.memory_keyring import VARIABLE, Memory

        before = keyring.get_keyring()
        keyring.set_keyring(Memory())
        yield lambda held: monkeypatch.setenv(VARIABLE, json.dumps(held))
        keyring.set_keyring(before)

    run = TestAsking.run

    def test_what_it_has_nobody_is_asked_for(self, run, notes, keyring):
        keyring({str(notes / "lease.pdf"): SECRET})
        assert len(run()[0].new) == 2 and SECRET not in run.shown()

    def test_what_it_lacks_is_asked_for_or_said(self, run, keyring):
        keyring({})
        assert reasons(run()[0].skipped) == {"lease.pdf": LOCKED}
        assert "the keyring has no password for 1 file: keyring set local-rag PATH stores one" in run.shown()
        assert len(run(SECRET)[0].new) == 1

    def test_a_wrong_or_closed_one_is_no_error(self, run, notes, keyring):
        for held in ({str(notes / "lease.pdf"): "of last year"}, "locked"):
            keyring(held)
            assert reasons(run()[0].skipped) == {"lease.pdf": LOCKED}

    def test_one_that_stands_for_none_is_none(self, monkeypatch):
        import keyring
        from keyring.backends import fail, null

        for backend in (fail.Keyring(), null.Keyring()):
            keyring.set_keyring(backend)
            assert passwords.system_keyring() is None
