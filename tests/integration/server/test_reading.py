"""No GET changes anything: every one of them is asked about a real index, and nothing is otherwise afterwards."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing

import pytest
from support.garden import notes_in
from support.serving import Client, a_place

from local_rag.server.app import endpoints

GETS = [endpoint for endpoint in endpoints() if endpoint.method == "GET"]


@pytest.fixture
def place(home, converted):
    from local_rag.cli.app import run

    assert run(["index", str(notes_in(home))]) == 0
    assert run(["ask", "What does the greenhouse cost?", "--thread", "garden"]) == 0
    place = a_place()
    yield place
    place.close()


def test_no_get_changes_anything(place, home):
    client = Client(place)
    named = names(client, place, home)
    for endpoint in GETS:  # what a first question opens is there before
        client.get(path_of(endpoint, named))
    before = state(home)
    answered = {endpoint.path: client.get(path_of(endpoint, named)).status_code for endpoint in GETS}
    assert state(home) == before
    assert all(code < 500 for code in answered.values()), answered
    assert [path for path, code in answered.items() if code == 200]


def names(client, place, home):
    """Values for the parameters of paths, of things that are there where there is one."""
    from local_rag.server.file_ids import file_id

    return {
        "file_id": file_id(str(home / "notes" / "plan.md")),
        "thread": "garden",
        "name": "self-rag",
        "graph": "self-rag",
        "path": "index.html",
        "n": "1",
    }


def path_of(endpoint, named):
    return re.sub(r"{(\w+)[^}]*}", lambda match: named.get(match[1], "x"), endpoint.path)


def state(home):
    """What lies in the data folder and the notes: rows of databases, digests of other files."""
    return {
        str(path.relative_to(home)): rows(path) if path.suffix in (".sqlite", ".db") else digest(path)
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def rows(path):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return hashlib.sha256("\n".join(database.iterdump()).encode()).hexdigest()


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
