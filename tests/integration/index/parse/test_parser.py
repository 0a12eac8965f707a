import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from support.hostile import SENTENCE, make_good, make_hostile, make_pdf

from local_rag.core.errors import FileSkipped
from local_rag.index.parse import pdf_page
from local_rag.index.parse.parser import Parser

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or needs a limit that only Linux enforces")


@pytest.fixture(scope="module")
def parser():
    with Parser() as made:
        yield made


@pytest.fixture(scope="module")
def slow(tmp_path_factory) -> Path:
    """A page that takes many seconds to read."""
    path = tmp_path_factory.mktemp("slow") / "slow.html"
    path.write_text("<p>word " * 2_000_000, "utf-8")
    return path


@pytest.fixture
def note(tmp_path) -> Path:
    path = tmp_path / "note.txt"
    path.write_text(SENTENCE, "utf-8")
    return path


def reason(parser: Parser, path: Path) -> str:
    with pytest.raises(FileSkipped) as skipped:
        parser.parse(path)
    return str(skipped.value)


def pid(parser: Parser) -> int:
    assert parser.pid is not None
    return parser.pid


def python(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def gone(process: int) -> bool:
    """Whether a process has ended, be it that nobody has collected it yet."""
    stat = Path(f"/proc/{process}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until(done, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        time.sleep(0.02)
    return bool(done())


def test_good_files_are_read_by_one_warm_worker(parser, tmp_path):
    workers = set()
    for path in make_good(tmp_path):
        assert SENTENCE in " ".join(found.text for found in parser.parse(path).documents), path.name
        workers.add(pid(parser))
    assert len(workers) == 1


def test_hostile_files_are_skipped_and_the_next_is_read(parser, tmp_path, note):
    for name, expected in make_hostile(tmp_path / "bad").items():
        assert expected in reason(parser, tmp_path / "bad" / name), name
    assert parser.parse(note).documents[0].text == SENTENCE


def test_headings_pages_and_hints_survive_the_pipe(parser, tmp_path):
    (tmp_path / "a.md").write_text("# Größe\n\n\ud7ff 😀\n", "utf-8")
    (found,) = parser.parse(tmp_path / "a.md").documents
    assert (found.title, found.headings[0].text, found.text) == ("Größe", "Größe", "# Größe\n\n\ud7ff 😀\n")
    make_hostile(tmp_path / "bad")
    with pytest.raises(FileSkipped) as skipped:
        parser.parse(tmp_path / "bad" / "password.pdf")
    assert skipped.value.hint.startswith("local-rag index --passwords")


def test_what_is_no_file_is_skipped_without_a_worker(tmp_path):
    with Parser() as parser:
        assert reason(parser, tmp_path) == "is not a regular file"
        assert reason(parser, tmp_path / "gone.txt") == "cannot be opened (there is no such file or folder)"
        with (tmp_path / "large.txt").open("wb") as file:
            file.truncate(500_000_001)
        assert reason(parser, tmp_path / "large.txt") == "is 500.0 MB large, up to 500.0 MB are read"
        assert parser.pid is None


def test_a_slow_file_is_given_up_and_the_next_gets_a_fresh_worker(slow, note):
    with Parser() as parser:
        parser.parse(note)
        first, parser.seconds = pid(parser), 0.2
        assert reason(parser, slow) == "took longer than 0.2 s to read"
        parser.seconds = 60
        assert parser.parse(note).documents[0].text == SENTENCE
        assert pid(parser) != first


@POSIX
def test_a_crash_is_a_skipped_file(slow, note):
    with Parser() as other, Parser() as parser:
        other.parse(note)  # with a worker that waited, if there was one; a crash after other files is not believed
        timer = threading.Timer(1.0, lambda: os.kill(pid(parser), signal.SIGSEGV))
        timer.start()
        assert reason(parser, slow) == "the parser crashed (signal 11, SIGSEGV)"
        timer.join()
        assert parser.parse(note).documents[0].text == SENTENCE


@POSIX
def test_a_worker_that_died_between_two_files_is_no_fault_of_the_second(note):
    with Parser() as parser:
        parser.parse(note)
        first = pid(parser)
        os.kill(first, signal.SIGKILL)
        assert parser.parse(note).documents[0].text == SENTENCE
        assert pid(parser) != first


@POSIX
def test_ctrl_c_does_not_reach_the_worker(note):
    with Parser() as parser:
        parser.parse(note)
        first = pid(parser)
        os.kill(first, signal.SIGINT)
        parser.parse(note)
        assert pid(parser) == first


@LINUX
def test_ctrl_c_ends_the_parent_and_the_worker_at_once(slow):
    parent = python(
        """
        import sys, threading
        from pathlib import Path
        from local_rag.index.parse.parser import Parser
        with Parser() as parser:
            threading.Timer(1.0, lambda: print(parser.pid, flush=True)).start()
            parser.parse(Path(sys.argv[1]))
        """,
        str(slow),
    )
    assert parent.stdout
    worker = int(parent.stdout.readline())
    parent.send_signal(signal.SIGINT)
    _, error = parent.communicate(timeout=60)
    assert error.rstrip().endswith(b"KeyboardInterrupt")
    assert gone(worker)


@pytest.mark.slow
@LINUX
def test_the_worker_dies_with_a_parent_that_was_killed_even_in_the_middle_of_a_file(slow):
    parent = python(
        """
        import os, signal, sys, threading
        from pathlib import Path
        from local_rag.index.parse.parser import Parser
        parser = Parser()
        def die():
            print(parser.pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Timer(1.0, die).start()
        parser.parse(Path(sys.argv[1]))
        """,
        str(slow),
    )
    out, _ = parent.communicate(timeout=60)
    assert wait_until(lambda: gone(int(out)))


@LINUX
def test_too_much_memory_is_a_skipped_file_and_asks_for_a_fresh_worker(tmp_path):
    (tmp_path / "big.txt").write_text("lamp " * 20_000_000)
    child = python(
        """
        import sys
        from pathlib import Path
        from local_rag.index.parse import worker
        worker.MEMORY = 150 << 20
        worker.limit_memory(worker.MEMORY)
        print(worker.parse(Path(sys.argv[1])))
        """,
        str(tmp_path / "big.txt"),
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
    make_good(tmp_path)
    child = python(
        """
        import sys
        from pathlib import Path
        from local_rag.index.parse.worker import parse
        for path in Path(sys.argv[1]).iterdir():
            if path.is_file():
                assert "documents" in parse(path), path
        heavy = {"torch", "numpy", "faiss", "langchain_core", "langgraph", "sentence_transformers", "transformers"}
        print(sorted(heavy & set(sys.modules)))
        """,
        str(tmp_path),
    )
    out, error = child.communicate(timeout=60)
    assert out.strip() == b"[]", error


def test_the_current_folder_is_not_imported_from(tmp_path, monkeypatch, note):
    for name in ("json.py", "queue.py", "local_rag.py", "lxml.py"):
        (tmp_path / name).write_text("raise SystemExit('imported from the current folder')")
    monkeypatch.chdir(tmp_path)
    with Parser() as parser:
        assert parser.parse(Path("note.txt")).documents[0].text == SENTENCE


@LINUX
def test_names_that_are_no_utf8_are_read(parser, tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    path.write_text(SENTENCE, "utf-8")
    assert parser.parse(path).documents[0].text == SENTENCE


def test_the_worker_of_a_closed_parser_serves_the_next(note):
    with Parser() as first:
        first.parse(note)
        process = pid(first)
    first.close()
    assert first.pid is None
    with Parser() as second:
        second.parse(note)
        assert pid(second) == process


@POSIX
def test_a_worker_that_died_while_it_waited_is_no_fault_of_the_next_file(note):
    with Parser() as first:
        first.parse(note)
        process = pid(first)
    os.kill(process, signal.SIGKILL)
    with Parser() as second:
        assert second.parse(note).documents[0].text == SENTENCE


@LINUX
def test_a_worker_that_has_a_password_loaders_or_an_older_path_ends(tmp_path, monkeypatch, note):
    def worker_of(parser: Parser, path: Path, password: str = "") -> int:
        with parser:
            parser.parse(path, password)
            return pid(parser)

    locked = make_pdf(tmp_path / "locked.pdf", [SENTENCE], password="secret")
    assert gone(worker_of(Parser(), locked, "secret"))
    assert gone(worker_of(Parser(loaders={".xyz": "support.loaders:load"}), note))
    before = worker_of(Parser(), note)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert worker_of(Parser(), note) != before and gone(before)


def test_a_worker_that_waits_in_vain_ends():
    waiting = subprocess.Popen(
        [sys.executable, "-c", "from local_rag.index.parse import worker; worker.IDLE_SECONDS = 0.1; worker.main()"],
        stdin=subprocess.PIPE,
    )
    with waiting:
        assert waiting.wait(60) == 0


def test_the_worker_draws_pages_and_places_quotes(parser, tmp_path):
    path = make_pdf(tmp_path / "lamps.pdf", ["Lamps", SENTENCE])
    quote = (2, SENTENCE, 4, 10)
    assert parser.placed(path, *quote) == pdf_page.placed(path, *quote)
    assert len(parser.placed(path, *quote).rectangles) == 1
    assert parser.picture(path, 2) == pdf_page.picture(path, 2)


def test_what_cannot_be_drawn_is_told_in_a_line(parser, tmp_path):
    locked = make_pdf(tmp_path / "locked.pdf", [SENTENCE], password="secret")
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 40)
    for path in (locked, broken, tmp_path / "nothing.pdf", tmp_path):
        with pytest.raises(FileSkipped):
            parser.picture(path, 1)
        with pytest.raises(FileSkipped):
            parser.placed(path, 1, SENTENCE, 0, 5)
