"""A reader that may not write: it sees every commit, never half of one, and calls no healthy index damaged."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder, add, indexed
from support.marks import posix
from support.processes import bound_by_permissions

from local_rag.core.errors import LocalRagError
from local_rag.index.index import Index

TESTS = Path(__file__).parents[3]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}

pytestmark = posix  # folders have no modes there

KILLED = """
import os, signal, sys
from pathlib import Path
from support.fakes_index import add, indexed

index = indexed(Path(sys.argv[1]), {})
add(index, {"rent": "The rent is 990 euros a month now."}, progress=lambda _: os.kill(os.getpid(), signal.SIGKILL))
"""


def only_readable(folder):
    """No file of the folder can be written any more, nor a new one be made there."""
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)


@pytest.fixture
def folder(tmp_path):
    """The folder of an index; afterwards it can be deleted."""
    with indexed(tmp_path / "index", {"rent": "The rent is 850 euros a month."}):
        pass
    yield tmp_path / "index"
    (tmp_path / "index").chmod(0o700)


@pytest.fixture
def killed(folder):
    """The same folder after the rent was changed, and its writer killed when that was committed."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], env=ENVIRONMENT)
    assert done.returncode == -signal.SIGKILL and (folder / "index.sqlite-wal").stat().st_size
    return folder


def rent(folder):
    with Index.open(folder, HashingEmbedder()) as opened:
        return [document.page_content for document in opened.search("rent euros month", 3)]


def test_nothing_is_written_beside_it(folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    only_readable(folder)
    assert bound_by_permissions(lambda: rent(folder)) == ["The rent is 850 euros a month."]
    for change in (Index.destroy, lambda folder: indexed(folder, {"more": "The lamp is lit."})):
        with pytest.raises(LocalRagError) as caught:
            bound_by_permissions(lambda change=change: change(folder))
        told = f"{caught.value} {caught.value.hint}"
        assert not any(harm in told for harm in ("remove --index", "rm ", "delete", "damaged")), told
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_reader_that_stays_sees_what_came_later(folder):
    def reads():
        with Index.open(folder, HashingEmbedder()) as reader:
            yield reader.count()
            yield reader.count()

    def write():
        folder.chmod(0o700)
        (folder / "index.sqlite").chmod(0o600)
        with indexed(folder, {}) as writer:
            add(writer, {"more": "The lamp is lit."})
        only_readable(folder)

    def both():
        counts = reads()
        before = next(counts)
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        return before, next(counts)

    only_readable(folder)
    assert bound_by_permissions(both) == (1, 2)


def test_what_a_killed_writer_committed_is_the_answer_and_what_cannot_be_read_is_refused(killed):
    only_readable(killed)
    assert bound_by_permissions(lambda: rent(killed)) == ["The rent is 990 euros a month now."]
    killed.chmod(0o700)
    (killed / "index.sqlite-shm").unlink()
    only_readable(killed)
    with pytest.raises(LocalRagError, match="last changes of the index") as caught:
        bound_by_permissions(lambda: rent(killed))
    assert caught.value.hint.endswith(f"local-rag status --index {killed}")


def test_a_folder_that_nobody_may_enter(folder):
    folder.chmod(0)
    acts = [Index.destroy, Index.inspect, lambda folder: indexed(folder, {})]
    for act in acts:
        with pytest.raises(LocalRagError, match="no permission to read the index"):
            bound_by_permissions(lambda act=act: act(folder))
