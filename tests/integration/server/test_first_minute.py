"""From nothing to an index without a terminal: the person's home is browsed, files are dropped, the sample is tried."""

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.garden import notes_in
from support.serving import index_here

from local_rag.config.settings import Settings
from local_rag.runtime.dropped import delete_copies, dropped_files
from local_rag.server import dropped
from local_rag.server.answers import file_id
from local_rag.server.dropped import safe_name


@pytest.fixture
def at_home(home, converted):
    """A home with two folders that can be chosen, and some that cannot."""
    notes_in(home)
    for name in ("talk.mp4", "letters/song.ogg", "letters/more.ogg"):
        (home / "notes" / name).write_bytes(b"x")
    (home / ".secrets").mkdir()
    (home / "Documents" / "old").mkdir(parents=True)
    (home / "Documents" / "out").symlink_to("/etc")
    (home / "elsewhere").symlink_to("/etc")
    (home / "notes-again").symlink_to(home / "notes")
    (home / "letter.txt").write_text("no folder")
    return home


def names(client, **below):
    home = file_id(str(Path.home()))
    return [each["name"] for each in client.got("/api/index/folders", root=home, **below)["folders"]]


def test_the_folders_of_the_home_are_browsed_without_links_files_and_what_is_hidden(serve, at_home, monkeypatch):
    client = serve()
    assert client.got("/api/index")["allowed"] == [{"file_id": file_id(str(at_home)), "label": "~"}]
    assert [name for name in names(client) if name != "data"] == ["Documents", "notes"]
    assert names(client, below="Documents") == ["old"]
    monkeypatch.setattr("os.access", lambda path, mode: not str(path).endswith("Documents"))
    assert "Documents" not in names(client), "it cannot be read"


OUTSIDE = ("..", "../..", "/etc", "Documents/../..", ".secrets", "letter.txt", "no")
LINKS = ("Documents/out", "elsewhere", "notes-again")
NAMES = ("Documents//old", ".", "~", "notes\0", "\\", "a\\b", "\ud800", "x" * 4000)


def test_nothing_above_or_outside_of_the_home_is_reached(serve, at_home):
    client = serve()
    for below in (*OUTSIDE, *LINKS, *NAMES):
        body = {"root": file_id(str(at_home)), "below": below}
        for path in ("folders", "folders/files"):
            asked = {name: value.encode("utf-8", "surrogatepass") for name, value in body.items()}
            assert client.get(f"/api/index/{path}", params=asked).status_code in (400, 403, 404), below
        if below.isprintable():
            assert client.post("/api/index/add", body).status_code in (403, 404), below
    assert not Settings.load().index_path.exists()


def test_the_home_is_for_the_session_of_a_page_alone(serve, at_home):
    root = {"root": file_id(str(at_home))}
    for who, status in (("key", 403), ("", 401)):
        client = serve(who=who)
        for path in ("folders", "folders/files"):
            client.got(f"/api/index/{path}", status, **root)
        client.posted("/api/index/add", {**root, "below": "notes"}, status)
        client.posted("/api/index/drop", a_piece(b"x"), status)
    assert serve(who="key").got("/api/index")["allowed"] == []


def test_a_home_that_is_a_whole_file_system_is_not_browsed(serve, monkeypatch):
    monkeypatch.setenv("HOME", "/")
    assert serve().got("/api/index")["allowed"] == []


def test_the_files_of_a_folder_are_counted_before_it_is_indexed(serve, at_home, monkeypatch):
    client, notes = serve(), {"root": file_id(str(at_home)), "below": "notes"}
    counted = {"files": 3, "kinds": "2 .txt and 1 .md", "not_read": "2 .ogg and 1 .mp4", "whole": True}
    assert client.got("/api/index/folders/files", **notes) == counted
    monkeypatch.setattr("local_rag.server.folders.KINDS", 1)
    assert client.got("/api/index/folders/files", **notes)["kinds"] == "2 .txt and 1 of other kinds"
    monkeypatch.setattr("local_rag.server.folders.COUNTING", 0)
    assert not client.got("/api/index/folders/files", **notes)["whole"]


def test_several_indexes_are_made_named_asked_and_deleted(serve, at_home, at_once):
    client, root = serve(), file_id(str(at_home))
    index_here(at_home / "notes")
    letters = {"root": root, "below": "notes/letters", "name": "letters-2"}
    assert client.ran("/api/index/add", letters)[-1][1]["new"] == 1
    assert client.got("/api/choices")["indexes"] == ["default", "letters-2"]
    assert [each["label"] for each in client.got("/api/files", index="letters-2")["files"]] == ["letters/tenant.txt"]
    question = {"question": "How long is the notice period?", "index": "letters-2", "stream": False}
    assert "three months" in client.posted("/api/ask", question)["text"]
    for name in ("../up", "a/b", ".hidden", "x" * 61, "a b"):
        client.posted("/api/index/add", {"root": root, "below": "notes", "name": name}, 400)
    assert client.posted("/api/index/delete", {"index": "letters-2"}) == {"runs": 1}
    assert client.got("/api/choices")["indexes"] == ["default"]
    client.posted("/api/index/delete", {"index": "letters-2"}, 404)
    index_here(at_home / "notes" / "letters", index="letters-2")
    assert "three months" in client.posted("/api/ask", question)["text"], "not the one that was deleted"


def test_a_question_is_asked_of_chosen_files_alone(serve, at_home):
    client = serve()
    index_here(at_home / "notes")
    files = {each["label"]: each["file_id"] for each in client.got("/api/files")["files"]}
    question = {"question": "How long is the notice period?", "stream": False}
    for label, found in (("notes/letters/tenant.txt", True), ("notes/plan.md", False)):
        answer = client.posted("/api/ask", {**question, "files": [files[label]]})
        assert ("three months" in answer["text"]) is found
    client.posted("/api/ask", {**question, "thread": "lease", "files": [files["notes/plan.md"]]})
    plan = {"file_id": files["notes/plan.md"], "label": "notes/plan.md"}
    assert client.got("/api/thread", thread="lease")["scope"] == {"files": [plan]}
    assert client.got("/api/choices")["named"] == {"default": {"label": "notes", "files": 2}}
    client.posted("/api/ask", {**question, "files": ["0" * 16]}, 404)


@pytest.mark.slow
def test_questions_are_suggested_from_titles_and_headings(serve, at_home):
    client, lease = serve(), "# Lease\n\n## Notice period\n\nThree months.\n"
    assert client.got("/api/index/suggestions") == {"questions": []}
    (at_home / "notes" / "lease.md").write_text(lease.replace("##", "## Summary\n\nOf a lease.\n\n##"))
    (at_home / "notes" / "rules.md").write_text("# Rules\n\n## Summary\n\nOf the house.\n")
    index_here(at_home / "notes")
    asked = client.got("/api/index/suggestions")["questions"]
    assert "What is “Lease” about?" in asked and len(asked) <= 3
    for question in asked:  # each was tried
        answer = client.posted("/api/ask", {"question": question, "engine": "extractive", "stream": False})
        assert answer["certainty"] in ("sure", "probably")


def a_piece(data, at=0, last=True, name="note.md", upload="0" * 16, **more):
    return {
        **{"name": name, "upload": upload, "at": at, "data": base64.b64encode(data).decode(), "last": last},
        **more,
    }


def copies():
    folder = dropped_files(Settings.load())
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def test_indexes_of_one_name_in_two_folders_share_no_copies(tmp_path):
    indexes = ["notes", str(tmp_path / "a" / "notes"), str(tmp_path / "b" / "notes")]
    folders = [dropped_files(Settings.load(index=index)) for index in indexes]
    assert len({*folders}) == 3 and folders[0].parent.name == "notes"
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "lease.md").write_text("x")
    delete_copies(Settings.load(index=indexes[1]))
    assert [(folder / "lease.md").exists() for folder in folders] == [True, False, True]


def test_files_of_one_name_that_are_dropped_at_once_keep_a_copy_each(serve):
    client = serve()
    texts = [f"The well is {depth} metres deep.".encode() for depth in range(8)]
    pieces = [a_piece(text) | {"upload": f"{number:032x}"} for number, text in enumerate(texts)]
    with ThreadPoolExecutor(4) as pool:
        names = [*pool.map(lambda piece: client.posted("/api/index/drop", piece)["name"], pieces)]
    assert len({*names}) == 8 and {*copies().values()} == {*texts}


def test_files_are_dropped_in_pieces_indexed_and_deleted_with_what_is_forgotten(serve, converted, at_once):
    client = serve()
    text = b"The well is 12 metres deep."
    assert client.posted("/api/index/drop", a_piece(text[:9], last=False))["name"] == ""
    whole = client.posted("/api/index/drop", a_piece(text[9:], at=9))
    assert whole["name"] == "note.md"
    assert client.posted("/api/index/drop", a_piece(text)) == whole, "the same once more"
    assert client.posted("/api/index/drop", a_piece(b"Another."))["name"] == "note 2.md"
    assert copies() == {"note.md": text, "note 2.md": b"Another."}
    folder = dropped_files(Settings.load())
    assert (folder.stat().st_mode & 0o777, (folder / "note.md").stat().st_mode & 0o777) == (0o700, 0o600)
    assert client.ran("/api/index/add", {"root": "dropped"})[-1][1]["new"] == 2
    files = {each["label"]: each["file_id"] for each in client.got("/api/files")["files"]}
    assert [*files] == ["Dropped files/note 2.md", "Dropped files/note.md"]
    assert files["Dropped files/note.md"] == whole["file_id"]
    client.posted("/api/index/forget", {"files": [files["Dropped files/note 2.md"]]})
    assert copies() == {"note.md": text}
    client.posted("/api/index/delete", {"index": "default"})
    assert copies() == {} and not client.got("/api/index")["exists"]


NO_PIECES = [
    (a_piece(b"x", name="film.mp4"), 400),
    (a_piece(b"x", name=""), 400),
    (a_piece(b"x", at=5), 409),
    (a_piece(b"x", upload="../../0000000000"), 400),
    (a_piece(b"x" * 41), 413),
    (a_piece(b"x") | {"data": "no base64!"}, 400),
    (a_piece(b"x", index="../x"), 404),
    (a_piece(b"x" * 900_000), 413),
]


def test_what_cannot_be_dropped_leaves_nothing(serve, monkeypatch):
    monkeypatch.setattr(dropped, "LARGEST", 40)
    client = serve()
    for piece, status in NO_PIECES:
        client.posted("/api/index/drop", piece, status)
        assert copies() == {}


def test_all_copies_together_are_bounded(serve, monkeypatch):
    client = serve()
    client.posted("/api/index/drop", a_piece(b"x" * 30))
    client.posted("/api/index/drop", a_piece(b"y", last=False, upload="1" * 16))
    monkeypatch.setattr(dropped, "LEFT", -1)
    monkeypatch.setattr(dropped, "ALL", 29)
    assert client.posted("/api/index/drop", a_piece(b"x"), 413)["code"] == "too_large"
    assert [*copies()] == ["note.md"], "what never became whole is gone"


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("lease.pdf", "lease.pdf"),
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\Users\\me\\lease.pdf", "lease.pdf"),
        ("..", ""),
        (".bashrc.md", "bashrc.md"),
        ("a\nb\0c\x1b[31m.md", "a bc.md"),
        ("\u202efdp.md\u200b", "fdp.md"),
        ('a<b>:"c"|?*.md', "a_b___c____.md"),
        ("CON.md", "_CON.md"),
        ("e\u0301te\u0301.md", "\u00e9t\u00e9.md"),
        ("\ud800.md", "md"),
        ("ä" * 300 + ".md", "ä" * 90 + ".md"),
    ],
)
def test_names_of_copies_are_safe(given, safe):
    assert safe_name(given) == safe
