"""What a page sees of an index and does to it."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from support.asking import joined, until
from support.garden import notes_in
from support.serving import a_workspace, error_of, events_of

from local_rag.config.settings import Settings
from local_rag.core.progress import Silent
from local_rag.runtime.indexing import Request, index_files
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
    index_files(Settings.load(), Request([notes]), Silent())
    return serve()


def events(response):
    assert response.status_code == 200, response.text
    return events_of(response.text)


def labels(client):
    return [file["label"] for file in client.got("/api/files")["files"]]


def test_the_state_of_an_index(indexed, notes):
    state = indexed.got("/api/index")
    assert state["exists"] and state["files"] == 2 and state["chunks"] == state["embedded"] > 0 and state["last_sync"]
    (root,) = state["roots"]
    assert root["file_id"] == file_id(str(notes)) and root["files"] == 2 and root["there"]
    assert root["not_read"] == "2 .mp4 and 1 .sav"
    assert {each["file_id"] for each in state["allowed"]} == {file_id(str(notes))} and state["job"] == ""
    skipped = {each["label"]: each for each in state["skipped"]}
    assert "is damaged" in skipped["notes/broken.pdf"]["reason"]
    assert skipped["notes/broken.pdf"]["fix"] == "open it in the program that made it, and save it anew"
    assert skipped["notes/empty.txt"] == {
        "label": "notes/empty.txt", "reason": "is empty", "fix": "", "partly": False
    }  # fmt: skip


def test_without_an_index_its_state_says_how_to_make_one(serve, notes):
    client = serve()
    state = client.got("/api/index")
    assert not state["exists"] and state["hint"] == "local-rag index FOLDER" and state["files"] == 0
    assert error_of(client.post("/api/index/sync")) == (404, "index_missing")
    assert not Settings.load().index_path.exists(), "nothing was made"


def test_a_sync_tells_how_far_it_is_and_what_it_did(indexed, notes):
    (notes / "well.txt").write_text("The well is 12 metres deep.")
    (notes / "plan.md").unlink()
    told = events(indexed.post("/api/index/sync"))
    assert {name for name, _ in told} == {"begun", "progress", "note", "report"}
    assert all(value["line"] for name, value in told if name == "progress")
    name, report = told[-1]
    assert (name, report["new"], report["removed"], report["removed_files"]) == ("report", 1, 1, ["notes/plan.md"])
    assert report["embedded"] == 1 and report["not_embedded"] == 0
    assert labels(indexed) == ["notes/letters/tenant.txt", "notes/well.txt"]


def test_the_first_index_is_made_below_a_root_of_the_command_line(serve, notes):
    client = serve(a_workspace(roots=[notes]))
    (allowed,) = client.got("/api/index")["allowed"]
    root = allowed["file_id"]
    listed = client.got("/api/index/folders", root=root)
    assert [(folder["name"], folder["indexed"]) for folder in listed["folders"]] == [("letters", False)]
    below = client.got("/api/index/folders", root=root, below="letters")
    assert [folder["below"] for folder in below["folders"]] == ["letters/old"]
    told = events(client.post("/api/index/add", {"root": root, "below": "letters"}))
    assert told[-1][1]["new"] == 1 and labels(client) == ["letters/tenant.txt"]
    assert client.got("/api/index/folders", root=root)["folders"][0]["indexed"]
    (notes / "letters" / "skipped").mkdir()
    (notes / "letters" / ".ragignore").write_text("skipped/")
    inside = client.got("/api/index/folders", root=root, below="letters")["folders"]
    marks = [(folder["name"], folder["indexed"], folder["coming"]) for folder in inside]
    assert marks == [("old", False, True), ("skipped", False, False)], "nothing of them is in the index"


def test_no_path_leads_out_of_an_allowed_root(indexed, notes):
    for below in ("..", "letters/../..", "/etc", "letters//old", ".", "letters/old\0", "a\\b", ".hidden", "no"):
        body = {"root": file_id(str(notes)), "below": below}
        for response in (indexed.get("/api/index/folders", params=body), indexed.post("/api/index/add", body)):
            assert response.status_code in (403, 404), (below, response.text)


def test_a_link_is_no_folder_and_another_root_is_none(indexed, notes, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (notes / "link").symlink_to(tmp_path / "elsewhere")
    root = file_id(str(notes))
    assert "link" not in [f["name"] for f in indexed.got("/api/index/folders", root=root)["folders"]]
    assert indexed.post("/api/index/add", {"root": root, "below": "link"}).status_code == 404
    for identity in (file_id(str(tmp_path)), file_id("/"), str(tmp_path)):
        response = indexed.post("/api/index/add", {"root": identity})
        assert response.status_code == 403 and "--root" in response.json()["error"]["message"]


@pytest.mark.parametrize("named", [False, True])
def test_a_root_that_has_become_a_link_is_none(serve, notes, tmp_path, named):
    index_files(Settings.load(), Request([notes]), Silent())
    client = serve(a_workspace(roots=[notes] if named else []))
    root = {"root": file_id(str(notes))}
    assert client.get("/api/index/folders", params=root).status_code == 200
    (tmp_path / "elsewhere" / "letters").mkdir(parents=True)
    notes.rename(tmp_path / "moved")
    notes.symlink_to(tmp_path / "elsewhere")
    assert client.got("/api/index")["allowed"] == []
    for body in (root, {**root, "below": "letters"}, {"root": file_id(str(tmp_path / "elsewhere"))}):
        assert client.get("/api/index/folders", params=body).status_code == 403
        assert client.post("/api/index/add", body).status_code == 403


def test_what_is_forgotten_stays_out_if_that_is_wanted(indexed, notes):
    letter = file_id(str(notes / "letters" / "tenant.txt"))
    gone = indexed.posted("/api/index/forget", {"files": [letter], "keep_out": True})
    assert gone["removed"] == 1 and gone["kept_out"] == ["/letters/tenant.txt"]
    events(indexed.post("/api/index/sync"))
    assert labels(indexed) == ["notes/plan.md"]
    plan = file_id(str(notes / "plan.md"))
    (root,) = indexed.got("/api/index")["roots"]
    assert root["again"] == ["local-rag index --no-exclude /letters/tenant.txt   takes it in again"]
    assert indexed.posted("/api/index/forget", {"files": [plan]})["kept_out"] == []
    assert labels(indexed) == []
    events(indexed.post("/api/index/sync"))
    assert labels(indexed) == ["notes/plan.md"]
    assert indexed.get(f"/api/documents/{letter}").status_code == 404


def test_a_root_is_forgotten_with_all_its_files(indexed, notes):
    assert indexed.posted("/api/index/forget", {"files": [file_id(str(notes))]})["removed"] == 2
    assert indexed.got("/api/index")["roots"] == [] and notes.exists()


def test_what_is_not_indexed_cannot_be_forgotten(indexed):
    plan = indexed.got("/api/files")["files"][0]["file_id"]
    response = indexed.post("/api/index/forget", {"files": [plan, "0" * 20]})
    assert response.status_code == 404 and len(labels(indexed)) == 2, "nothing of it was done"


def test_without_a_stream_the_report_alone_is_sent(indexed, notes):
    (notes / "well.txt").write_text("The well is 12 metres deep.")
    report = indexed.posted("/api/index/sync", {"stream": False})
    assert (report["new"], report["embedded"], report["not_embedded"]) == (1, 1, 0)
    assert error_of(indexed.post("/api/index/sync", {"index": "none", "stream": False})) == (404, "not_found")


def test_an_index_is_changed_by_one_at_a_time(indexed):
    plan = indexed.got("/api/files")["files"][0]["file_id"]
    with indexed.workspace.jobs.writing():
        for path, body in (("sync", {}), ("forget", {"files": [plan]})):
            assert error_of(indexed.post(f"/api/index/{path}", body)) == (409, "index_busy")
    assert events(indexed.post("/api/index/sync"))[-1][0] == "report"


def test_an_update_goes_on_when_it_is_left_is_joined_and_stopped_and_the_next_one_goes_on(indexed, notes):
    for number in range(80):
        (notes / f"new{number}.txt").write_text(f"Note {number} is about lamp {number}.")
    with indexed.stream("POST", "/api/index/sync", json={}) as stream:
        assert next(stream.iter_lines()) == "event: begun"
    job = indexed.got("/api/index")["job"]
    (listed,) = indexed.got("/api/jobs")["jobs"]
    assert (listed["id"], listed["kind"], listed["about"]) == (job, "index", {"index": "default"})
    with joined(indexed, job) as told:
        assert until(told, "begun")["id"] == job
        assert until(told, "progress")["line"]
        indexed.post(f"/api/jobs/{job}/stop")
        assert until(told, "error")["code"] == "stopped"
    assert indexed.got("/api/index")["job"] == ""
    assert indexed.posted("/api/index/sync", {"stream": False})["not_embedded"] == 0
    assert indexed.got("/api/index")["files"] == 82


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for the process in /proc")
def test_what_indexes_is_another_process_and_ends_with_its_server(indexed, notes):
    (notes / "well.txt").write_text("The well is 12 metres deep.")
    with indexed.stream("POST", "/api/index/sync", json={}) as stream:
        next(line for line in stream.iter_lines() if line == "event: progress")
        assert len(indexing()) == 1
        indexed.workspace.close()
        assert indexing() == []


def indexing():
    """The processes that index for a server of this one."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            mine = int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()
            if mine and b"local_rag.server.indexing" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found
