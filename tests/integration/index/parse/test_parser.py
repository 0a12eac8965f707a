"""The process that parses: what hangs, crashes or eats memory there is one skipped file here."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import files
from support.hostile import SENTENCE, docx_members, docx_paragraph, epub_members, make_pdf, make_zip
from support.marks import posix

from local_rag.core.errors import FileSkipped
from local_rag.index.parse import pdf_page
from local_rag.index.parse.loaders import names_of
from local_rag.index.parse.parser import Parser

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or needs a limit that only Linux enforces")


@pytest.fixture(scope="module")
def parser():
    with Parser() as made:
        yield made


@pytest.fixture
def note(tmp_path):
    (tmp_path / "note.txt").write_text(SENTENCE, "utf-8")
    return tmp_path / "note.txt"


@pytest.fixture
def sleepy(tmp_path):
    """A file that takes for ever, and the parser's loader of it."""
    (tmp_path / "a.shouted").write_text("TITLE\nSLEEP")
    with Parser(loaders=names_of({".shouted": files.load_shouted})) as parser:
        yield parser, tmp_path / "a.shouted"


def texts(parser, path):
    return [document.text for part in parser.parse(path) for document in part.documents]


def skipped(parser, path):
    with pytest.raises(FileSkipped) as raised:
        texts(parser, path)
    return raised.value


def python(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@contextmanager
def once_begun(slow, act):
    """Act in a thread once the parser reads the slow file."""

    def wait():
        while not slow.with_name("begun").exists():
            time.sleep(0.01)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    yield
    thread.join()


def test_one_worker_reads_on_after_a_file_that_it_skips(parser, note):
    assert texts(parser, note) == [SENTENCE]
    first = parser.pid
    (note.parent / "nozip.docx").write_text(SENTENCE, "utf-8")
    assert "is damaged" in str(skipped(parser, note.parent / "nozip.docx"))
    assert texts(parser, note) == [SENTENCE] and parser.pid == first


def test_headings_and_odd_characters_survive_the_pipe(parser, tmp_path):
    (tmp_path / "a.md").write_text("# Größe\n\n\ud7ff 😀\n", "utf-8")
    ((found,),) = (part.documents for part in parser.parse(tmp_path / "a.md"))
    assert (found.title, found.headings[0].text, found.text) == ("Größe", "Größe", "# Größe\n\n\ud7ff 😀\n")


def test_a_mailbox_comes_in_parts(parser, tmp_path):
    message = "From ada\nSubject: Night {}\n\n" + "The lamp was lit. " * 20_000 + "\n\n"
    (tmp_path / "a.mbox").write_text("".join(map(message.format, range(9))))
    parts = [[document.title[-1] for document in part.documents] for part in parser.parse(tmp_path / "a.mbox")]
    assert parts == [["0", "1", "2"], ["3", "4", "5"], ["6", "7", "8"]]


def test_what_is_no_file_is_skipped_without_a_worker(tmp_path):
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(500_000_001)
    reasons = {
        ".": "is not a regular file",
        "gone.txt": "cannot be opened (there is no such file or folder)",
        "large.txt": "is 500.0 MB large, up to 500.0 MB are read",
    }
    if sys.platform != "win32":
        (tmp_path / "circle.txt").symlink_to("circle.txt")
        os.mkfifo(tmp_path / "pipe.txt")
        reasons |= {"circle.txt": "cannot be opened (a link leads in a circle)", "pipe.txt": "is not a regular file"}
    with Parser() as parser:
        assert {name: str(skipped(parser, tmp_path / name)) for name in reasons} == reasons
        assert parser.pid is None


def test_a_slow_file_is_given_up_and_the_next_gets_a_fresh_worker(sleepy, note):
    parser, slow = sleepy
    texts(parser, note)
    first, parser.seconds = parser.pid, 0.2
    late = skipped(parser, slow)
    assert str(late) == "took longer than 0.2 s to read" and late.passing and late.lasting, "the old text is kept"
    parser.seconds = 60
    assert texts(parser, note) == [SENTENCE] and parser.pid != first


@posix
def test_a_crash_is_a_skipped_file_and_between_two_files_no_fault_of_the_second(sleepy, note):
    parser, slow = sleepy
    with once_begun(slow, lambda: os.kill(parser.pid, signal.SIGSEGV)):
        assert "the parser crashed" in str(skipped(parser, slow))
    assert texts(parser, note) == [SENTENCE]
    os.kill(parser.pid, signal.SIGKILL)
    assert texts(parser, note) == [SENTENCE]


def test_a_parser_that_is_stopped_reads_nothing_more(sleepy, note):
    parser, slow = sleepy
    with once_begun(slow, parser.stop):
        assert skipped(parser, slow).passing and skipped(parser, note).passing


@posix
def test_ctrl_c_does_not_reach_the_worker(parser, note):
    texts(parser, note)
    first = parser.pid
    os.kill(first, signal.SIGINT)
    assert texts(parser, note) and parser.pid == first


@LINUX
def test_ctrl_c_ends_the_parent_and_the_worker_at_once(tmp_path):
    (tmp_path / "slow.html").write_text("<p>word " * 2_000_000, "utf-8")
    parent = python(
        """
        import sys, threading, time
        from pathlib import Path
        from local_rag.index.parse.parser import Parser

        def told():
            while not parser.pid:
                time.sleep(0.01)
            print(parser.pid, flush=True)

        with Parser() as parser:
            threading.Thread(target=told).start()
            list(parser.parse(Path(sys.argv[1])))
        """,
        tmp_path / "slow.html",
    )
    worker = int(parent.stdout.readline())
    parent.send_signal(signal.SIGINT)
    assert parent.communicate(timeout=60)[1].rstrip().endswith(b"KeyboardInterrupt")
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


@LINUX
def test_too_much_memory_is_a_skipped_file_and_asks_for_a_fresh_worker(tmp_path):
    (tmp_path / "big.txt").write_text("lamp " * 20_000_000)
    child = python(
        """
        import sys
        from local_rag.index.parse import worker
        worker.limit_memory(150 << 20)
        print(worker.Worker().answer({"path": sys.argv[1], "part": 0, "loaders": {}}))
        """,
        tmp_path / "big.txt",
    )
    out, error = child.communicate(timeout=60)
    assert b"'skipped': 'needs more than" in out and b"'exhausted': True" in out, error


def test_noise_of_libraries_does_not_reach_the_pipe():
    child = python(
        """
        import os
        from local_rag.index.parse.worker import channel
        requests, replies = channel()
        os.write(1, b"noise of a native library")
        print("noise of Python", flush=True)
        replies.write(b"reply")
        replies.flush()
        """
    )
    assert child.communicate(timeout=60)[0] == b"reply"


@pytest.mark.slow
def test_nothing_heavy_is_imported_to_parse(tmp_path):
    for name in ("a.txt", "a.md", "a.html", "a.csv", "a.json", "a.eml"):
        (tmp_path / name).write_text(f"From: Ada\n\n{SENTENCE}")
    make_pdf(tmp_path / "a.pdf", [SENTENCE])
    make_zip(tmp_path / "a.docx", docx_members(docx_paragraph(SENTENCE)))
    make_zip(tmp_path / "a.epub", epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"}))
    child = python(
        """
        import sys
        from pathlib import Path
        from local_rag.index.parse.loaders import load
        for path in Path(sys.argv[1]).iterdir():
            load(path)
        heavy = {"torch", "numpy", "faiss", "langchain_core", "langgraph", "sentence_transformers", "transformers"}
        print(sorted(heavy & set(sys.modules)))
        """,
        tmp_path,
    )
    out, error = child.communicate(timeout=60)
    assert out.strip() == b"[]", error


def test_the_current_folder_is_not_imported_from(tmp_path, monkeypatch, note):
    for name in ("json.py", "queue.py", "local_rag.py", "lxml.py"):
        (tmp_path / name).write_text("raise SystemExit('imported from the current folder')")
    monkeypatch.chdir(tmp_path)
    with Parser() as parser:
        assert texts(parser, Path("note.txt")) == [SENTENCE]


@LINUX
def test_names_that_are_no_utf8_are_read(parser, tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    path.write_text(SENTENCE, "utf-8")
    assert texts(parser, path) == [SENTENCE]


def test_the_worker_draws_pages_and_places_quotes(parser, tmp_path):
    path, quote = make_pdf(tmp_path / "lamps.pdf", ["Lamps", SENTENCE]), (2, SENTENCE, [(4, 10)])
    assert parser.placed(path, *quote) == pdf_page.placed(path, *quote)
    assert parser.picture(path, 2) == pdf_page.picture(path, 2)
    make_pdf(path, [SENTENCE], password="secret")
    for place in (path, tmp_path):
        for ask in (lambda place: parser.picture(place, 1), lambda place: parser.placed(place, *quote)):
            with pytest.raises(FileSkipped):
                ask(place)
