"""Open the database of the history: its tables, its transactions, and its errors."""

from __future__ import annotations

import os
import shlex
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from local_rag.core.errors import DiskFull, LocalRagError, reason_of
from local_rag.core.private_files import is_full, make_folder

FILE = "history.sqlite"
FORMAT = 1
"""The database's `user_version`; another number means another version's database."""
EARLIER = ("threads.sqlite", "runs", "feedback")
"""The files of the data folder in which earlier versions kept chats, runs and feedback."""

BUSY_SECONDS = 30.0
"""Seconds to wait while another process writes."""

SCHEMA = f"""
BEGIN;
CREATE TABLE questions (
    id TEXT PRIMARY KEY, at TEXT NOT NULL, state TEXT NOT NULL, question TEXT NOT NULL,
    index_name TEXT NOT NULL, indexes TEXT NOT NULL, web_never INTEGER NOT NULL,
    conditions TEXT, -- of a question that is recorded
    shown TEXT NOT NULL DEFAULT '[]', -- passages as the engine was shown them: the next question takes up their order
    answer TEXT, error TEXT NOT NULL DEFAULT '', hint TEXT NOT NULL DEFAULT '', seconds REAL NOT NULL DEFAULT 0
);
CREATE TABLE turns (
    thread TEXT, position INTEGER, question TEXT NOT NULL REFERENCES questions ON DELETE CASCADE,
    PRIMARY KEY (thread, position)
);
CREATE TABLE records (question TEXT NOT NULL REFERENCES questions ON DELETE CASCADE, line TEXT NOT NULL);
CREATE TABLE cited (
    question TEXT REFERENCES questions ON DELETE CASCADE, source TEXT, PRIMARY KEY (question, source)
) WITHOUT ROWID;
CREATE TABLE judgements (
    question TEXT PRIMARY KEY REFERENCES questions ON DELETE CASCADE,
    at TEXT NOT NULL, good INTEGER NOT NULL, note TEXT NOT NULL, expected TEXT NOT NULL, unanswerable INTEGER NOT NULL
);
CREATE INDEX turns_by_question ON turns (question);
CREATE INDEX records_by_question ON records (question);
PRAGMA user_version = {FORMAT};
COMMIT;
"""

SCOPES = """CREATE TABLE IF NOT EXISTS scopes (
    question TEXT PRIMARY KEY REFERENCES questions ON DELETE CASCADE, scope TEXT NOT NULL)"""
"""The table of the scopes of questions: the index, files and settings that the page chose."""

SCOPE = "coalesce((SELECT scope FROM scopes WHERE question = questions.id), '{}')"
KEPT = """
CREATE TABLE IF NOT EXISTS of_files (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, source TEXT NOT NULL, folder TEXT NOT NULL, at TEXT NOT NULL,
    made TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (name, source, folder)
)
"""
"""The table of summaries and answers that are kept until their file changes; `made` is a digest of all that they
depend on."""

WAITING = """SELECT id, at FROM turns JOIN questions ON id = turns.question
    WHERE state = 'waiting' AND questions.question = ? AND thread = ? ORDER BY position LIMIT 1"""
"""Select the first question with these words that waits in a chat."""

_IS_DRAFT = "json_extract(line, '$.event') = 'draft'"
NO_DRAFT = f"DELETE FROM records WHERE question = ? AND {_IS_DRAFT}"
_DRAFT = f"SELECT json_extract(line, '$.text') FROM records WHERE question = id AND {_IS_DRAFT}"
_ASKED_LATER = """SELECT * FROM turns AS others JOIN questions AS again ON again.id = others.question
    WHERE others.thread = turns.thread AND again.question = questions.question AND again.at > questions.at"""

UNANSWERED = f"""SELECT thread, questions.question, at, state,
    coalesce(json_extract(answer, '$.reason'), error), hint, coalesce(({_DRAFT}), '')
    FROM turns JOIN questions ON id = turns.question
    WHERE state <> 'done' AND NOT EXISTS ({_ASKED_LATER}) ORDER BY at"""
"""Select the questions of chats that have no answer and were not asked again."""


class HistoryFile:
    """Share a database between several threads and processes; close it, or use it in a `with`.

    It also closes when nothing refers to it any more.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        weakref.finalize(self, connection.close).atexit = False  # a thread may still use it then
        self._lock = threading.RLock()

    @classmethod
    def open(cls, folder: Path | None = None) -> Self:
        """Open or make the history of a data folder, by default that of the settings, for its owner alone.

        Only SQLite may open an existing file: closing it in another way would end the locks that other connections of
        this process hold (https://sqlite.org/howtocorrupt.html, 2.2). Raise LocalRagError for a file that is no history
        or cannot be written.
        """
        if folder is None:
            from local_rag.config.settings import Settings

            folder = Settings.load().data_folder
        path = folder / FILE
        try:
            make_folder(folder)
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise LocalRagError(
                f"nothing can be kept in {path}: {reason_of(error)}", hint=f"ls -l {shlex.quote(str(folder))}"
            ) from error
        with translated(path):
            connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None)
        try:
            with translated(path):
                _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return cls(path, connection)

    def close(self) -> None:
        """Close the database after any transaction that is under way."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def of_file(self, name: str, source: str, folder: str, made: str) -> str:
        """Return the text kept of a file of an index under a name, if it was `made` so; else ""."""
        sql = "SELECT value FROM of_files WHERE name = ? AND source = ? AND folder = ? AND made = ?"
        return str(next(iter(self._rows(sql, name, source, folder, made)), ("",))[0])

    def keep_of_file(self, name: str, source: str, folder: str, made: str, value: str) -> None:
        """Keep a value in the place of the earlier one."""
        about = (name, source, folder, datetime.now(UTC).isoformat(timespec="milliseconds"), made, value)
        with self._writing():
            self._run("DELETE FROM of_files WHERE name = ? AND source = ? AND folder = ?", name, source, folder)
            columns = "name, source, folder, at, made, value"
            self._run(f"INSERT INTO of_files ({columns}) VALUES (?, ?, ?, ?, ?, ?)", *about)

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, translated(self.path):
            return self._connection.execute(sql, values).fetchall()

    def _run(self, sql: str, *values: Any) -> None:
        self._connection.execute(sql, values)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Run one transaction, which sees everything that other processes have written before it."""
        with self._lock, translated(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


class KeptOfFiles:
    """Keep summaries and answers of the files of one index in the history, which is each person's own.

    A value that cannot be read or written is not kept; nothing fails for it.
    """

    def __init__(self, history: Callable[[], HistoryFile], folder: str) -> None:
        self._history, self._folder = history, folder

    def get(self, name: str, source: str, made: str) -> str:
        with suppress(LocalRagError):
            return self._history().of_file(name, source, self._folder, sha256(made.encode()).hexdigest())
        return ""

    def put(self, name: str, source: str, made: str, value: str) -> None:
        with suppress(LocalRagError):
            self._history().keep_of_file(name, source, self._folder, sha256(made.encode()).hexdigest(), value)


def earlier_history(folder: Path) -> str:
    """Return a line on what an earlier version has kept in a data folder, which is not read, or ""."""
    if there := [str(folder / name) for name in EARLIER if (folder / name).exists()]:
        return f"what an earlier version kept is not read, and still quotes your files: rm -r {shlex.join(there)}"
    return ""


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of an empty file, or check those of an existing one; raise LocalRagError."""
    connection.execute("PRAGMA trusted_schema = OFF")
    ((version,),) = connection.execute("PRAGMA user_version")
    ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master")
    if version != FORMAT and (version or tables):
        raise not_ours(path, "it is another program's, or another version's")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # overwrite deleted rows, so that free pages keep nothing
    if version != FORMAT:
        with suppress(sqlite3.OperationalError):  # another process has made the tables meanwhile
            connection.executescript(SCHEMA)
    connection.execute(SCOPES)
    connection.execute(KEPT)


def not_ours(path: Path, why: str) -> LocalRagError:
    where = shlex.quote(str(path))
    hint = f"mv {where} {where}.old   and it starts anew"
    return LocalRagError(f"{path} is no history of questions: {why}", hint=hint)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one line and a hint."""
    try:
        yield
    except sqlite3.Error as error:
        message = str(error)
        if "locked" in message or "busy" in message:
            raise LocalRagError(f"another program is writing to {path}", hint="try again in a moment") from error
        if "full" in message or ("I/O" in message and is_full(path.parent)):
            raise DiskFull(f"no space left in {path}", hint="free some space and ask again") from error
        if any(part in message for part in ("readonly", "unable to open", "closed", "I/O")):
            raise LocalRagError(f"nothing can be kept in {path}: {message}", hint=f"ls -l '{path}'") from error
        raise not_ours(path, message) from error
