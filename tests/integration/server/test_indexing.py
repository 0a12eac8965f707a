"""What a page sees of an index and does to it."""

import subprocess
import zipfile
from pathlib import Path

import pytest
from support.asking import joined, until
from support.fakes_index import HashingEmbedder
from support.garden import notes_in
from support.marks import posix
from support.scans import scanned, stand_in, table
from support.serving import a_workspace, error_of, index_here

from local_rag.config.settings import Settings
from local_rag.index.index import Index
from local_rag.server.answers import file_id


@pytest.fixture
def notes(tmp_path, converted):
    notes = notes_in(tmp_path)
    (notes / "broken.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 40)
    for name in ("talk.mp4", "more.mp4", "table.sav"):
        (notes / name).write_bytes(b"x")
    (notes / ".hidden").mkdir()
    (notes / "letters" / "old").mkdir()
    return notes


@pytest.fixture
def indexed(notes, serve):
    """A client of a server whose index somebody made at the terminal."""
    index_here(notes)
    return serve()


def labels(client):
    return [file["label"] for file in client.got("/api/files")["files"]]


def folders(client, root, status=200, **below):
    return client.got("/api/index/folders", status, root=root, **below)


def test_the_state_of_an_index(indexed, notes):
    state = indexed.got("/api/index")
    assert state["exists"] and state["files"] == 2 and state["chunks"] == state["embedded"] > 0 and state["last_sync"]
    (root,) = state["roots"]
    identity = file_id(str(notes))
    assert (root["file_id"], root["files"], root["there"]) == (identity, 2, True)
    assert root["not_read"] == "2 .mp4 and 1 .sav"
    assert [each["file_id"] for each in state["allowed"]] == [file_id(str(Path.home())), identity]
    broken, empty = state["skipped"]
    assert broken["label"] == "notes/broken.pdf" and "is damaged" in broken["reason"]
    assert broken["fix"] == "open it in the program that made it, and save it anew"
    about = {"label": "notes/empty.txt", "reason": "is empty", "fix": "", "action": "", "partly": False}
    assert empty == about | {"root": identity}


def test_without_an_index_its_state_says_how_to_make_one(serve, notes):
    client = serve()
    state = client.got("/api/index")
    assert not state["exists"] and state["hint"] == "local-rag index FOLDER" and state["files"] == 0
    assert client.posted("/api/index/sync", {}, 404)["code"] == "index_missing"
    assert not Settings.load().index_path.exists(), "nothing was made"


def test_a_sync_tells_how_far_it_is_and_what_it_did(indexed, notes):
    (notes / "well.txt").write_text("The well is 12 metres deep.")
    (notes / "plan.md").unlink()
    told = indexed.ran("/api/index/sync")
    assert {name for name, _ in told} == {"begun", "progress", "note", "report"}
    assert all(value["line"] for name, value in told if name == "progress")
    report = told[-1][1]
    assert (report["new"], report["removed"], report["removed_files"]) == (1, 1, ["notes/plan.md"])
    assert (report["embedded"], report["not_embedded"]) == (1, 0)
    assert labels(indexed) == ["notes/letters/tenant.txt", "notes/well.txt"]
    assert indexed.posted("/api/index/sync", {"index": "none", "stream": False}, 404)["code"] == "not_found"
    tenant = file_id(str(notes / "letters/tenant.txt"))
    with indexed.workspace.jobs.writing():
        for path, body in (("sync", {}), ("forget", {"files": [tenant]})):
            assert error_of(indexed.post(f"/api/index/{path}", body)) == (409, "index_busy")


def test_what_differs_on_the_disk_is_listed_until_it_is_taken_in(indexed, notes):
    def changes():
        told = indexed.got("/api/index/changes")
        assert told["whole"] and sum(told["counts"].values()) == len(told["files"])
        return {each["label"]: each["became"] for each in told["files"]}

    with zipfile.ZipFile(notes / "old.zip", "w") as packed:
        packed.writestr("shed.txt", "The shed is 3 metres wide.")
    index_here()
    assert changes() == {}, "neither what could not be read nor what lies in another file is new"
    (notes / "well.txt").write_text("The well is 12 metres deep.")
    (notes / "plan.md").write_text("The greenhouse costs 5,000 euros.")
    (notes / "letters/tenant.txt").unlink()
    (notes / "talk2.mp4").write_bytes(b"x")
    differ = {"notes/well.txt": "new", "notes/plan.md": "changed", "notes/letters/tenant.txt": "gone"}
    assert changes() == differ
    index_here()
    assert changes() == {}


def test_the_first_index_is_made_below_a_root_of_the_command_line(serve, notes, at_once):
    client = serve(a_workspace(roots=[notes]))
    root = client.got("/api/index")["allowed"][-1]["file_id"]

    def marks(below=""):
        listed = folders(client, root, below=below)["folders"]
        return [(each["name"], each["below"], each["indexed"], each["coming"]) for each in listed]

    assert marks() == [("letters", "letters", False, False)]
    assert marks("letters") == [("old", "letters/old", False, False)]
    told = client.ran("/api/index/add", {"root": root, "below": "letters"})
    assert told[-1][1]["new"] == 1 and labels(client) == ["letters/tenant.txt"] and marks()[0][2]
    (notes / "letters" / "skipped").mkdir()
    (notes / "letters" / ".ragignore").write_text("skipped/")
    inside = [("old", "letters/old", False, True), ("skipped", "letters/skipped", False, False)]
    assert marks("letters") == inside, "nothing of them is in the index"
    for identity in (file_id(str(notes.parent)), file_id("/"), str(notes)):
        assert "--root" in client.posted("/api/index/add", {"root": identity}, 403)["message"]


def test_a_root_that_has_become_a_link_is_none(serve, notes, tmp_path):
    index_here(notes)
    clients = [serve(a_workspace(roots=named), "key") for named in ([], [notes])]
    root, elsewhere = file_id(str(notes)), tmp_path / "elsewhere"
    for client in clients:
        folders(client, root)
    (elsewhere / "letters").mkdir(parents=True)
    notes.rename(tmp_path / "moved")
    notes.symlink_to(elsewhere)
    for client in clients:
        assert client.got("/api/index")["allowed"] == []
        for body in ({"root": root}, {"root": root, "below": "letters"}, {"root": file_id(str(elsewhere))}):
            folders(client, status=403, **body)
            client.posted("/api/index/add", body, 403)


@posix  # a program is a script here
def test_the_time_of_scans_is_estimated_once_pages_were_read(serve, tmp_path, monkeypatch):
    stand_in(tmp_path / "bin", monkeypatch, table((100, 100, 91, "The lamp is lit at dusk.")))
    folder = tmp_path / "scans"
    folder.mkdir()
    scanned(folder / "log.pdf", ["1"], ["2"])
    client = serve()
    with Index.open(Settings.load().index_path, HashingEmbedder(window=300), create=True) as index:
        index.sync([folder])
        assert client.got("/api/index")["ocr_seconds"] is None
        index.read_scans(languages=["eng"])
        assert client.got("/api/index")["ocr_seconds"] == 0
        scanned(folder / "more.pdf", ["3"])
        index.sync()
        assert client.got("/api/index")["ocr_seconds"] > 0


def test_what_is_forgotten_stays_out_if_that_is_wanted(indexed, notes):
    letter, plan = (file_id(str(notes / name)) for name in ("letters/tenant.txt", "plan.md"))
    indexed.posted("/api/index/forget", {"files": [plan, "0" * 20]}, 404)
    assert len(labels(indexed)) == 2, "nothing of it was done"
    gone = indexed.posted("/api/index/forget", {"files": [letter], "keep_out": True})
    assert (gone["removed"], gone["kept_out"]) == (1, ["/letters/tenant.txt"])
    (root,) = indexed.got("/api/index")["roots"]
    assert root["excludes"] == ["/letters/tenant.txt"]
    assert indexed.posted("/api/index/forget", {"files": [plan]})["kept_out"] == [] and labels(indexed) == []
    index_here()
    assert labels(indexed) == ["notes/plan.md"]
    indexed.got(f"/api/documents/{letter}/text", 404, document=0)
    assert indexed.posted("/api/index/forget", {"files": [file_id(str(notes))]})["removed"] == 1
    assert indexed.got("/api/index")["roots"] == [] and notes.exists()


def test_what_is_hinted_at_is_done(indexed, notes, at_once):
    (notes / ".env").write_text("TOKEN=lamp")
    index_here()
    (secret,) = [each for each in indexed.got("/api/index")["skipped"] if each["action"]]
    assert (secret["action"], secret["root"]) == ("secrets", file_id(str(notes)))
    indexed.posted("/api/index/forget", {"files": [file_id(str(notes / "plan.md"))], "keep_out": True})
    more = {"secrets": True, "root": secret["root"]}
    indexed.ran("/api/index/sync", more | {"retry": True, "take_in": ["/plan.md"]})
    assert {"notes/.env", "notes/plan.md"} <= {*labels(indexed)}
    key = {"authorization": f"Bearer {indexed.workspace.access.key}", "cookie": ""}
    for asked in (more, {"ocr": True}, {"url": "https://example.org/"}):
        assert error_of(indexed.post("/api/index/sync", asked, headers=key)) == (403, "forbidden")


def test_what_quotes_a_file_is_counted_and_deleted_with_it(indexed, notes):
    question = {"question": "What does the greenhouse cost?", "thread": "garden", "engine": "extractive"}
    indexed.posted("/api/ask", question | {"stream": False})
    plan = file_id(str(notes / "plan.md"))
    counted = indexed.posted("/api/index/forget", {"files": [plan]})
    assert (counted["deleted"], counted["quoting"]) == ("", "1 chat and 1 recorded question")
    index_here()
    gone = indexed.posted("/api/index/forget", {"files": [plan], "quoting": True})
    assert (gone["deleted"], gone["quoting"]) == ("1 chat and 1 recorded question", "")
    assert indexed.got("/api/threads") == {"threads": []}


@pytest.mark.slow
def test_an_update_goes_on_when_it_is_left_is_joined_and_stopped_and_the_next_one_goes_on(indexed, notes):
    for number in range(80):
        (notes / f"new{number}.txt").write_text(f"Note {number} is about lamp {number}.")
    with indexed.stream("POST", "/api/index/sync", json={}) as stream:
        assert next(stream.iter_lines()) == "event: begun"
    (listed,) = indexed.got("/api/jobs")["jobs"]
    assert (listed["kind"], listed["about"]) == ("index", {"index": "default", "folders": []})
    job = listed["id"]
    with joined(indexed, job) as told:
        assert until(told, "begun")["id"] == job
        assert until(told, "progress")["line"]
        indexed.post(f"/api/jobs/{job}/stop")
        assert until(told, "error")["code"] == "stopped"
    assert indexed.got("/api/jobs")["jobs"] == []
    index_here()
    state = indexed.got("/api/index")
    assert state["files"] == 82 and state["chunks"] == state["embedded"]


@pytest.mark.slow
def test_what_indexes_is_another_process_and_ends_with_its_server(indexed, notes, monkeypatch):
    begun = []

    class Noted(subprocess.Popen):
        def __init__(self, *command, **options):
            super().__init__(*command, **options)
            begun.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    (notes / "well.txt").write_text("The well is 12 metres deep.")
    with indexed.stream("POST", "/api/index/sync", json={}) as stream:
        next(line for line in stream.iter_lines() if line == "event: progress")
        (process,) = begun
        assert process.poll() is None
        indexed.workspace.close()
        assert process.poll() is not None
