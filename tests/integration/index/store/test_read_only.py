"""A reader that may not write: it sees every commit, never half of one, and calls no healthy index damaged."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest
from support import storing
from support.fakes_index import HashingEmbedder
from support.permissions import bound_by_permissions

from local_rag.core.errors import IndexBusy, IndexDamaged, LocalRagError
from local_rag.index.index import Index
from local_rag.index.store import reads, writes
from local_rag.index.store.schema import FileRow, Recipe, Root
from local_rag.index.store.store import Store

TESTS = Path(__file__).parents[3]
PATHS = os.pathsep.join([str(TESTS), *filter(None, sys.path)])

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders have no modes there")

KILLED = """
import os, signal, sys
from pathlib import Path
from support.fakes_index import HashingEmbedder
from local_rag.index.index import Index

def kill(progress):
    if progress.done == progress.total:
        os.kill(os.getpid(), signal.SIGKILL)

Index.open(Path(sys.argv[1]), HashingEmbedder(), chunk_size=40).sync(progress=kill)
"""

AS_NOBODY = """
import os, sys
from pathlib import Path
import numpy
from local_rag.index.store import reads, writes
from local_rag.index.store.store import Store

os.setgroups([])
os.setgid(65534)
os.setuid(65534)
store = Store(Path(sys.argv[1]))
print(store.read(reads.passages, store.read(reads.chunk_ids).tolist())[0].text)
"""

WRITER = """
import sys
from pathlib import Path
import numpy as np
from local_rag.core.documents import LoadedDocument
from support import storing
from local_rag.index.store.schema import FileRow
from local_rag.index.store.store import Store
from local_rag.text.chunking import Chunk

store = Store(Path(sys.argv[1]))
rounds = 0
print("open", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        rounds += 1
        with store.writing() as db:
            for name in range(12):
                text = f"round {rounds} " * 400
                chunk = [(LoadedDocument(text, "t", None), [Chunk(0, len(text), "")], [np.ones(4, "f4") / 2])]
                storing.write(db, FileRow(f"/{name}", "/", str(rounds), 1, 1), chunk)
    print(rounds, flush=True)
"""


def only_readable(folder):
    """No file of the folder can be written any more, nor a new one be made there."""
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)


@pytest.fixture
def notes(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "rent.txt").write_text("The rent is 850 euros a month.", encoding="utf-8")
    return tmp_path / "notes"


@pytest.fixture
def index(tmp_path, notes):
    """The folder of an index of the notes; afterwards it can be deleted."""
    with Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=40, create=True) as made:
        made.sync([notes])
    yield tmp_path / "index"
    (tmp_path / "index").chmod(0o700)


@pytest.fixture
def killed(index, notes):
    """The same folder after the rent was changed, and its writer killed when that was committed."""
    (notes / "rent.txt").write_text("The rent is 990 euros a month now.", encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", KILLED, str(index)], env=os.environ | {"PYTHONPATH": PATHS})
    assert done.returncode == -signal.SIGKILL and (index / "index.sqlite-wal").stat().st_size
    return index


def rent(folder):
    with Index.open(folder, HashingEmbedder(), chunk_size=40) as opened:
        return [document.page_content for document in opened.search("rent euros month", 3)]


def test_what_a_killed_writer_committed_is_the_answer(killed):
    only_readable(killed)
    assert bound_by_permissions(lambda: rent(killed)) == ["The rent is 990 euros a month now."]
    assert (killed / "index.sqlite-wal").stat().st_size


@pytest.mark.slow
def test_another_user_reads_it(killed, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only a superuser can become another user")
    only_readable(killed)
    with tempfile.TemporaryDirectory() as public:  # pytest's own folders are closed to others
        Path(public).chmod(0o755)
        shutil.copytree(killed, Path(public) / "index")
        command = [sys.executable, "-c", AS_NOBODY, str(Path(public) / "index")]
        environment = os.environ | {"PYTHONPATH": PATHS}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        (Path(public) / "index").chmod(0o700)
    assert done.stdout == "The rent is 990 euros a month now.\n", done.stderr


def test_without_a_wal_nothing_is_written_beside_it(index):
    before = sorted(index.iterdir())
    only_readable(index)
    assert bound_by_permissions(lambda: rent(index)) == ["The rent is 850 euros a month."]
    assert sorted(index.iterdir()) == before


def test_a_wal_that_cannot_be_read_is_refused_plainly(killed):
    (killed / "index.sqlite-shm").unlink()
    only_readable(killed)
    with pytest.raises(LocalRagError, match="last changes of the index") as caught:
        bound_by_permissions(lambda: rent(killed))
    assert caught.value.hint.endswith(f"local-rag status --index {killed}")
    killed.chmod(0o700)
    for file in killed.iterdir():
        file.chmod(0o600)
    Index.inspect(killed)  # what `local-rag status` calls
    only_readable(killed)
    assert bound_by_permissions(lambda: rent(killed)) == ["The rent is 990 euros a month now."]


@pytest.mark.slow
def test_while_another_process_writes_every_read_is_one_commit(tmp_path):
    folder = tmp_path / "index"
    Store.create(folder, Recipe("toy", "toy-1", 4, 50, 0)).close()
    command = [sys.executable, "-c", WRITER, str(folder)]
    environment = os.environ | {"PYTHONPATH": PATHS}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as writer:
        say(writer, 1)
        writer.stdin.close()
        assert writer.wait(60) == 0
    for file in folder.iterdir():
        file.chmod(0o666)
    trouble, seen, committed = [], [], [1]

    def read():
        reader = Store(folder)
        while not done.is_set():
            try:
                at_least = committed[-1]
                seen.append(reader.read(rounds))
                assert min(seen[-1]) >= at_least, "superseded"
                if len(seen) % 10 == 0:
                    reader.close()
            except Exception as error:
                trouble.append(error)
                break
        reader.close()

    done = threading.Event()
    with subprocess.Popen(command, env=environment, **pipes) as writer:
        assert writer.stdout.readline() == "open\n"
        (folder / "index.sqlite").chmod(0o444)
        folder.chmod(0o555)
        try:
            thread = threading.Thread(target=bound_by_permissions, args=[read])
            thread.start()
            for _ in range(10):
                if os.geteuid() != 0:
                    break  # a writer that may not write to the folder either
                committed.append(say(writer, 20))
            done.set()
            thread.join()
        finally:
            folder.chmod(0o700)
        writer.stdin.close()
        writer.wait(60)
    assert not trouble, trouble[0]
    assert all(len(numbers) == 1 for numbers in seen)
    order = [min(numbers) for numbers in seen]
    assert order == sorted(order) and (len(set(order)) > 1 or os.geteuid() != 0)


def say(writer, times):
    writer.stdin.write(f"{times}\n")
    writer.stdin.flush()
    while not (line := writer.stdout.readline()).strip().isdigit():
        assert line == "open\n"
    return int(line)


def rounds(db):
    """Which rounds of the writer one snapshot shows: text, hash and words."""
    passages = reads.passages(db, reads.chunk_ids(db).tolist())
    assert len(passages) == 12
    return {int(passage.text.split()[1]) for passage in passages} | {int(file.sha256) for file in reads.files(db)}


class TestNoMessageDeletesAHealthyIndex:
    @pytest.fixture
    def opened(self, tmp_path):
        made = Store.create(tmp_path / "index", Recipe("toy", "toy-1", 4, 50, 0))
        with made.writing() as db:
            writes.set_roots(db, [Root("/a")])
        yield made
        made.close()
        made.folder.chmod(0o700)

    @pytest.mark.parametrize("code", [sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR])
    def test_what_only_one_read_saw_is_no_damage(self, opened, code):
        def lookup(_):
            error = sqlite3.DatabaseError("database disk image is malformed")
            error.sqlite_errorcode = code
            raise error

        with pytest.raises(IndexBusy, match="is whole, and was changed while it was read") as caught:
            opened.read(lookup)
        assert caught.value.hint == "type the same command again"

    def test_what_cannot_be_checked_is_not_deleted(self, opened):
        opened.close()
        harm(opened.folder)
        only_readable(opened.folder)
        with pytest.raises(IndexDamaged, match="nor checked without writing there") as caught:
            bound_by_permissions(lambda: Store(opened.folder).read(reads.files))
        assert caught.value.hint.endswith(f"local-rag doctor --index {opened.folder}")

    def test_what_a_check_of_all_of_it_found_is_damage(self, opened):
        opened.close()
        harm(opened.folder)
        with pytest.raises(IndexDamaged, match="is damaged") as caught:
            Store(opened.folder).read(reads.files)
        assert caught.value.hint.startswith(f"local-rag remove --index {opened.folder} && local-rag index ")


def harm(folder):
    """The table of files is overwritten."""
    with closing(sqlite3.connect(folder / "index.sqlite")) as db:
        pages = db.execute("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'files'").fetchall()
    data = bytearray((folder / "index.sqlite").read_bytes())
    for (page,) in pages:
        data[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    (folder / "index.sqlite").write_bytes(data)


def test_a_reader_of_a_file_row_that_came_later(tmp_path):
    """A connection that takes no locks is opened anew once somebody has written."""
    folder = tmp_path / "index"
    writer = Store.create(folder, Recipe("toy", "toy-1", 4, 50, 0))
    writer.close()
    only_readable(folder)
    try:
        assert bound_by_permissions(lambda: later(folder, writer)) == (0, 1)
    finally:
        folder.chmod(0o700)


def later(folder, writer):

    reader = Store(folder)
    before = len(reader.read(reads.files))

    def write():
        folder.chmod(0o700)
        (folder / "index.sqlite").chmod(0o600)
        with writer.writing() as db:
            storing.write(db, FileRow("/a", "/", "hash", 1, 1), [])
        writer.close()

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    only_readable(folder)
    return before, len(reader.read(reads.files))
