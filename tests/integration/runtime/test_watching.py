"""Test that a watched index finally equals a fresh index of the same files."""

import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.asking import eventually
from support.fakes_index import HashingEmbedder
from support.processes import bound_by_permissions

from local_rag.config.settings import Settings
from local_rag.core.errors import IndexBusy, UsageError
from local_rag.core.progress import Silent
from local_rag.index.index import Index
from local_rag.runtime import watching
from local_rag.runtime.indexing import Request, index_files
from local_rag.runtime.watching import Pending, Watching, battery

EMBEDDER = HashingEmbedder()
QUIET = 0.1


class World:
    """Hold notes and a watcher of their index, which runs on a thread while `watched`; `lines` are its messages."""

    def __init__(self, folder):
        self.notes, self.settings, self.lines, self.syncs = folder / "notes", Settings.load(), [], 0
        self.fails = []
        self.notes.mkdir()
        self.write("keeper.md")

    def write(self, *names, text="The lamp of {} is lit at dusk.", times=1):
        for name in names:
            path = self.notes / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text.format(name) * times)

    def index(self, folder=None, *paths, **options):
        with Index.open(folder or self.settings.index_path, EMBEDDER, chunk_size=40, create=True) as index:
            return index.sync(paths or None, **options)

    def sync(self):
        if self.fails:
            raise self.fails.pop()
        self.syncs += 1
        return self.index()

    @contextmanager
    def watched(self):
        stop = threading.Event()
        self.watching = Watching(self.settings, self.sync, self.lines.append, QUIET)
        thread = threading.Thread(target=self.watching.run, args=(stop,))
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()

    def says(self, *words):
        """Wait until the messages contain all these words, in any lines."""
        assert eventually(lambda: all(word in "\n".join(self.lines) for word in words)), (words, self.lines)

    def content(self, path=None):
        with Index.open(path or self.settings.index_path) as index:
            return index.content()

    def becomes_fresh(self, folder):
        """Wait until the index has the contents of a new one of the same files."""
        self.index(folder, self.notes)
        wanted = self.content(folder)
        assert eventually(lambda: self.content() == wanted), self.lines


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    world.index(None, world.notes)
    return world


def test_what_is_edited_renamed_swapped_and_deleted_is_followed(world, tmp_path):
    world.write("a.md", "b.md", "old.md", "gone.md", "deep/er/oil.md")
    with world.watched():
        world.says("watching", "added")
        world.write("keeper.md", text="The keeper rows ashore.")
        (world.notes / "old.md").rename(world.notes / "new.md")
        (world.notes / "a.md").rename(world.notes / "c.md")
        (world.notes / "b.md").rename(world.notes / "a.md")
        (world.notes / "c.md").rename(world.notes / "b.md")
        (world.notes / "gone.md").unlink()
        world.write("later/inside.md", ".hidden/not.md", "node_modules/not.md")
        world.becomes_fresh(tmp_path / "fresh")
    assert world.watching.changed_at and world.watching.state.startswith("watching")
    assert len(world.lines) == len(set(world.lines)), "nothing is said twice"
    assert "not.md" not in "".join(world.lines)


@pytest.mark.slow
def test_a_folder_that_goes_is_kept_and_followed_again_when_it_is_back(world):
    kept = world.content()
    with world.watched():
        world.says("watching")
        away = world.notes.rename(world.notes.with_name("away"))
        world.says("is not there now")
        assert world.content() == kept
        away.rename(world.notes)
        world.lines.clear()
        world.says("watching")
        world.write("back.md")
        world.says("added", "back.md")


@pytest.mark.slow
def test_a_writer_is_waited_for_and_an_error_does_not_end_it(world):
    world.fails = [UsageError("no such thing", hint="type this"), IndexBusy("busy")]
    with world.watched():
        world.says("another process changes this index", "no such thing: type this")
        world.write("more.md")
        world.says("added", "more.md")


def test_what_grows_is_read_once_it_is_quiet(monkeypatch):
    now = size = 0
    monkeypatch.setattr(watching.time, "monotonic", lambda: now)
    monkeypatch.setattr(watching, "look", lambda path, *what: (size, size))
    pending, settled = Pending(quiet=3), []
    for size in (1, 2, 3, 3, 3, 3):
        pending.add(["growing.md"] if size < 3 else [])  # nobody is told of the last change
        settled.append(pending.settled())
        now += 2
    assert settled == [False, False, False, False, False, True], "two looks are alike, a while after the last change"
    now += watching.LONGEST_WAIT
    size = 4
    assert pending.settled(), "a log never is"


@pytest.mark.slow
def test_our_own_files_are_no_reason_to_look(world, monkeypatch, tmp_path):
    monkeypatch.setenv("LOCAL_RAG_DATA_DIR", str(world.notes / "data"))
    world.settings = Settings.load()
    world.index(None, world.notes)
    with world.watched():
        world.says("watching")
        (world.notes / "data" / "note.md").write_text("Ours.")
        world.write("theirs.md")
        world.says("theirs.md")

        def rests():
            before = world.syncs
            time.sleep(5 * QUIET)
            return world.syncs == before

        assert eventually(rests), "what a sync writes is a reason for the next"


@pytest.mark.slow
def test_an_index_without_folders_is_waited_for(tmp_path):
    world = World(tmp_path)
    with world.watched():
        world.says("waiting: there is no index")
        world.index(None, world.notes)
        world.says("watching")


def test_a_low_battery_pauses(world, tmp_path, monkeypatch):
    supply = tmp_path / "power" / "BAT0"
    supply.mkdir(parents=True)
    monkeypatch.setattr(watching, "battery", lambda: battery(supply.parent))

    def state(**values):
        for name, value in values.items():
            (supply / name).write_text(f"{value}\n")

    assert battery(supply.parent) is None
    state(status="Discharging", capacity=12)
    with world.watched():
        world.says("paused: the battery has 12 %")
        assert world.syncs == 0
        state(status="Charging")
        world.says("watching")
    state(status="Discharging", scope="Device")
    assert battery(supply.parent) is None, "that of a mouse"


@pytest.mark.slow
def test_the_limit_of_inotify_is_said_and_folders_are_swept(world, monkeypatch):
    import watchfiles

    def at_the_limit(*paths, **options):
        raise OSError('OS file watch limit reached. about ["/notes/deep"]')
        yield

    monkeypatch.setattr(watchfiles, "watch", at_the_limit)
    monkeypatch.setattr(watching, "SWEEP", 0.3)
    with world.watched():
        world.says("looking at every folder every 15 minutes", "sudo sysctl fs.inotify.max_user_watches=")
        world.write("late.md")
        world.says("late.md")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other rights")
@pytest.mark.slow
def test_a_folder_that_may_not_be_read_does_not_end_it(world):
    closed = world.notes / "closed"
    closed.mkdir()
    closed.chmod(0)

    def follow():
        with world.watched():
            world.says("watching")
            world.write("open.md")
            world.says("open.md")

    try:
        bound_by_permissions(follow)
    finally:
        closed.chmod(0o700)


@pytest.mark.slow
def test_a_flood_of_files(world, tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "FLOOD", 50)
    with world.watched():
        world.says("watching")
        names = [f"{number % 20}/{number}.txt" for number in range(200)]
        world.write(*names)
        for name in names[::4]:
            (world.notes / name).unlink()
        for name in names[1::4]:
            (world.notes / name).rename(world.notes / f"{name}.md")
        world.write(*names[2::4], text="Changed: {}.")
        world.becomes_fresh(tmp_path / "fresh")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="its memory cannot be measured here")
def test_memory_after_many_changes_is_that_of_the_start(world):
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    sizes = []
    with world.watched():
        world.says("watching")
        for number in range(10):
            world.write(f"{number % 7}.md", text=f"Change {number} of {{}}.")
            world.says(f"{number % 7}.md")
            world.lines.clear()
            sizes.append(resident())
        assert sizes[-1] - sizes[4] < 5_000_000, sizes


KILLED = """
from local_rag.cli import main
from local_rag.runtime import watching
from local_rag.runtime.indexing import Request, index_files
watching.QUIET = 0.1
watching.Watching.__init__.__defaults__ = (0.1,)
main()
"""


@contextmanager
def watching_process():
    with subprocess.Popen([sys.executable, "-c", KILLED, "watch"], stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


@pytest.mark.slow
def test_a_kill_in_the_middle_loses_nothing(tmp_path, converted):
    world = World(tmp_path)
    index_files(world.settings, Request([world.notes], no_embed=True), Silent())
    with watching_process() as child:
        while "watching" not in child.stdout.readline():
            pass
        world.write(*[f"{number}.md" for number in range(400)])
        while Index.inspect(world.settings.index_path).chunks < 2:
            time.sleep(0.01)
    assert child.returncode == -signal.SIGKILL and Index.inspect(world.settings.index_path).files < 401
    with watching_process() as child:
        while Index.inspect(world.settings.index_path).embedded < 401:
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        assert child.communicate(timeout=60)[0].endswith("stopped\n") and child.returncode == 0
    status = Index.inspect(world.settings.index_path)
    assert status.files == 401 and status.embedded == status.chunks
    index_files(Settings.load(index="fresh"), Request([world.notes], no_embed=True), Silent())
    assert world.content() == world.content(Settings.load(index="fresh").index_path)
