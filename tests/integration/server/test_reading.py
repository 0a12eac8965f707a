"""No GET changes anything: every one of them is asked about a real index, and nothing is otherwise afterwards."""

import re
import sqlite3
from contextlib import closing

from local_rag.server.answers import file_id
from local_rag.server.app import application

GETS = [path for path, methods in application().openapi()["paths"].items() if "get" in methods]


def test_no_get_changes_anything(serve, here):
    client = serve()
    named = {"id": file_id(str(here / "notes" / "plan.md")), "name": "self-rag", "run": "last", "page": "1"}
    asked = {"thread": "garden", "document": 0, "root": client.got("/api/index")["allowed"][0]["file_id"]}
    paths = [re.sub(r"{(\w+)[^}]*}", lambda match: named[match[1]], path) for path in GETS]
    key = {"authorization": f"Bearer {client.workspace.access.key}"}

    def statuses():
        headers = {path: key if path.startswith("/v1/") else {} for path in paths}
        return {path: client.get(path, params=asked, headers=headers[path]).status_code for path in paths}

    statuses()  # what a first question opens is there before
    before = state(here)
    answered = statuses()
    assert state(here) == before
    absent = ("/pages/1", "/report", "/events", "/folders", "/folders/files", f"/v1/models/{named['id']}")
    assert all(status == 200 or path.endswith(absent) for path, status in answered.items()), answered


def state(home):
    """What lies in the data folder and the notes: rows of databases, the bytes of other files."""
    return {
        str(path.relative_to(home)): rows(path) if path.suffix in (".sqlite", ".db") else path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def rows(path):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return [*database.iterdump()]
