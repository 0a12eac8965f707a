"""On a server: several write at once, it is killed and started again, its disk is full; nothing is half there."""

import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from support.fakes import ScriptedEngine
from support.fakes_index import HashingEmbedder, add, indexed
from support.postgres import Server, run

from local_rag.config.server_index import ServerIndex
from local_rag.config.settings import Settings
from local_rag.core.errors import DiskFull, IndexBusy, LocalRagError, UsageError
from local_rag.index.copying import copy
from local_rag.index.index import Index
from local_rag.index.store import opening
from local_rag.runtime.rag import Rag

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mortal():
    """A server that the tests may kill."""
    made = Server.made()
    yield made
    made.remove()


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr("local_rag.index.store.postgres.connection.WAITED", 1.0)


def folder_of(path, name, files=12):
    folder = path / name
    folder.mkdir()
    for number in range(files):
        (folder / f"{number}.txt").write_text(f"The {name} of day {number} tells of {name} and sun {number}. " * 20)
    return folder


def opened(place):
    return Index.open(place, HashingEmbedder())


def fails_in_one_line(work):
    with pytest.raises(LocalRagError) as error:
        work()
    assert "\n" not in str(error.value) and error.value.hint
    return str(error.value)


def test_several_sync_different_roots_at_once_and_one_root_one_after_the_other(on_server, tmp_path):
    folders = [folder_of(tmp_path, name) for name in ("rain", "snow", "hail", "fog")]
    indexed(on_server, {}).close()
    reading = threading.Barrier(len(folders), timeout=20)

    def sync(folder):
        with Index.open(on_server, HashingEmbedder(before_batch=at_once)) as index:
            return index.sync([folder])

    def at_once():
        with suppress(threading.BrokenBarrierError):
            reading.wait() if not reading.broken and reading.n_waiting < len(folders) else None
            reading.abort()

    with ThreadPoolExecutor(len(folders)) as threads:
        reports = list(threads.map(sync, folders))
    assert [len(report.new) for report in reports] == [12] * 4
    with opened(on_server) as index:
        index.embed()
        assert index.embedded_count() == (index.count(), index.count()) and index.verify(deep=True)
        assert len(index.files()) == 48 and set(index.status().roots) == set(map(str, folders))
        store = opening.opened(on_server)
        with ThreadPoolExecutor(1) as thread, store.locked([str(folders[0])]), store.writing():
            store.set_roots([root for root in store.roots() if root.path == str(folders[0])])
            with pytest.raises(IndexBusy, match="another process syncs"):
                index.sync([folders[0]])
            assert thread.submit(index.sync, [folders[1]]).result(timeout=30).unchanged == 12
        store.close()


def test_a_search_and_a_chat_outlive_a_restart(mortal):
    place = mortal.index("searched")
    indexed(place, {"/tax.txt": "Income tax is due in May."}).close()
    with opened(place) as index, Rag.open(Settings.load(), corpus=index, engine=ScriptedEngine()) as rag:
        assert index.search("tax", 1) and rag.ask("When is the tax due?", graph="plain").text
        mortal.kill()
        assert "does not answer" in fails_in_one_line(lambda: index.search("tax", 1))
        assert "does not answer" in fails_in_one_line(lambda: rag.ask("And the tax of boats?", graph="plain"))
        starting = threading.Thread(target=mortal.start)
        starting.start()
        while starting.is_alive():  # a search meanwhile answers or fails in one line
            with suppress(LocalRagError):
                assert index.search("tax", 1)[0].metadata["source"] == "/tax.txt"
        assert index.search("tax", 1)[0].metadata["source"] == "/tax.txt"
        assert rag.ask("And the tax of boats?", graph="plain").text


def test_a_sync_that_lost_its_server_goes_on_and_ends_as_an_undisturbed_one(mortal, tmp_path):
    folder, batches = folder_of(tmp_path, "rain", files=40), iter(range(1_000_000))
    with indexed(tmp_path / "undisturbed", {}) as index:
        index.sync([folder])
        expected = index.content()

    def once():
        if next(batches) == 1:
            mortal.kill()

    place = mortal.index("synced")
    with indexed(place, {}, HashingEmbedder(before_batch=once)) as index:
        assert "does not answer" in fails_in_one_line(lambda: index.sync([folder]))
    mortal.start()
    with opened(place) as index:
        index.sync()
        assert index.content() == expected and index.verify(deep=True)
        assert index.embedded_count() == (index.count(), index.count())


def test_a_full_disk_is_one_line_and_what_was_committed_stays(mortal, tmp_path):
    disk = mortal.folder.parent / "small"
    disk.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", disk]).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        mortal.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
        mortal.execute("CREATE DATABASE small TABLESPACE small")
        place = ServerIndex.of(mortal.url("full", database="small"))
        with indexed(place, {}) as index:
            index.sync([folder_of(tmp_path, "rain", files=3)])
            content = index.content()
            left = os.statvfs(disk)
            (disk / "filler").write_bytes(bytes(max(0, left.f_bavail * left.f_frsize - 200_000)))
            with pytest.raises(DiskFull, match="no space left"):
                index.sync([folder_of(tmp_path, "snow", files=80)])
            index.verify(deep=True)
            assert index.search("rain", 1) and content != "" and len(index.files()) >= 3
        mortal.execute("DROP DATABASE small WITH (FORCE)")
        mortal.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "-l", disk])


def test_copy_goes_both_ways_and_goes_on_after_a_stop(server, on_server, tmp_path):
    with indexed(tmp_path / "ours", {}) as index:
        index.sync([folder_of(tmp_path, "rain")], excludes=["*.bak"])
        index.set_about("Weather.")
        content, asked = index.content(), index.search("rain on day 7", 5, mode="dense")

    def stop(progress):
        raise UsageError("stopped")

    def made_of_all():
        sql = "SELECT count(*)::int FROM pg_indexes WHERE schemaname = '{}' AND indexdef LIKE '%hnsw%'"
        return server.execute(sql.format(on_server.schema)) == [(1,)]

    with pytest.raises(UsageError):
        copy(tmp_path / "ours", on_server, stop)
    assert not made_of_all()
    copied, there = copy(tmp_path / "ours", on_server, lambda progress: None)
    assert copied + there == 12 and copy(tmp_path / "ours", on_server, lambda progress: None) == (0, 12)
    assert made_of_all()
    copy(on_server, tmp_path / "back", lambda progress: None)
    for place in (on_server, tmp_path / "back"):
        with opened(place) as index:
            found = index.search("rain on day 7", 5, mode="dense")
            assert index.content() == content and index.verify(deep=True)
            assert [(d.metadata["chunk_id"], d.metadata["score"]) for d in found] == [
                (d.metadata["chunk_id"], pytest.approx(d.metadata["score"], abs=1e-6)) for d in asked
            ]
            assert index.status().about == "Weather." and index.status().root_options[0].excludes == ("*.bak",)
            assert index.sync().unchanged == 12
    with indexed(tmp_path / "other", {}) as index:
        index.sync([folder_of(tmp_path, "snow")])
    with pytest.raises(UsageError, match="holds other files"):
        copy(tmp_path / "other", on_server, lambda progress: None)
    shutil.rmtree(tmp_path / "back")


def test_a_replica_is_read_and_never_written(server, on_server):
    texts = {f"/files/{n}.txt": f"Day {n} tells of rain. " * 5 for n in range(9)}
    with indexed(on_server, texts) as index:
        replica = Server(server.folder.parent / "replica")
        options = ("-h", "127.0.0.1", "-p", server.port, "-U", "tester", "-D", replica.folder, "-R", "-c", "fast")
        done = run("pg_basebackup", *options)
        assert done.returncode == 0, done.stderr
        replica.start()
        try:
            with opened(replica.index(on_server.name)) as read:
                assert read.search("rain on day 5", 3) == index.search("rain on day 5", 3)
                with pytest.raises(LocalRagError, match="read-only"):
                    add(read, {"/new.txt": "Nothing is written."})
        finally:
            replica.stop()
