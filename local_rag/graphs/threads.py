"""The threads of a chat: their names, their turns, and where they fork."""

from __future__ import annotations

import os
import shlex
import sqlite3
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path

from langgraph.checkpoint.base import empty_checkpoint

from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.private_files import make_folder
from local_rag.core.reasons import reason_of
from local_rag.graphs.thread_saver import ThreadSaver, must_be_ours, translated
from local_rag.graphs.turns import Turn
from local_rag.text.display import for_terminal, plural, those_there

FILE = "threads.sqlite"
LONGEST = 80
"""Characters of a thread's name."""
BUSY_SECONDS = 30.0
"""How long another process may write before we give up."""
FIRST_WORDS = 6
"""Words of the first question in the name of a thread that nobody named."""


@dataclass(frozen=True, slots=True)
class Thread:
    """One chat as a list shows it. `at` is when its last question was answered, ISO 8601 in UTC."""

    name: str
    turns: int
    first: str
    at: str


class Threads:
    """The chats in a data folder. Serves several threads and processes; close it, or use it in a `with`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._listed: dict[str, tuple[tuple[str, int], Thread]] = {}
        self.saver = ThreadSaver(path, connection)

    @classmethod
    def open(cls, folder: Path) -> Threads:
        """Open, or make, the database of threads; readable by its owner alone.

        Only SQLite opens a file that is there: whoever else closes it ends the locks that other connections of this
        process have on it (https://sqlite.org/howtocorrupt.html, 2.2), and another process takes their WAL away.
        Raises LocalRagError for a file that is not one, or that cannot be written.
        """
        path = folder / FILE
        try:
            make_folder(folder)
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise LocalRagError(
                f"chats cannot be stored in {path}: {reason_of(error)}", hint=f"ls -l {folder}"
            ) from error
        with translated(path):
            connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        try:
            with translated(path):
                must_be_ours(connection, path)
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA secure_delete = ON")  # a deleted chat must not lie about in free pages
                threads = cls(path, connection)
                threads.saver.setup()
        except BaseException:
            connection.close()
            raise
        return threads

    def list(self) -> Sequence[Thread]:
        """Every thread, the one that was used last first; one whose first question waits to go on has no turn yet.

        A row is never written again, so a thread is read again only where rows have come or gone.
        """
        with translated(self._path), self.saver.cursor(transaction=False) as cursor:
            sql = "SELECT thread_id, max(checkpoint_id), count(*) FROM checkpoints GROUP BY thread_id"
            rows = {str(name): (str(last), int(count)) for name, last, count in cursor.execute(sql)}
        known = self._listed
        self._listed = {
            name: known[name] if name in known and known[name][0] == row else (row, self._thread(name))
            for name, row in rows.items()
        }
        return sorted((thread for _, thread in self._listed.values()), key=lambda thread: thread.at, reverse=True)

    def thread(self, name: str) -> Thread:
        """One thread. Raises UsageError for one that is not there."""
        name = self._stored(name)
        if name not in self.names():
            self.turns(name)
        return self._thread(name)

    def named(self, name: str) -> str:
        """The name of a thread that is there, or else one that a new thread can have. Raises UsageError for no such."""
        stored = self._stored(name)
        return stored if stored in self.names() or stored in self.saver.unasked else thread_name(name)

    def _stored(self, name: str) -> str:
        """A name as it is stored: a program may have named the thread, with anything. A person's is in NFC."""
        known = {*self.names(), *self.saver.unasked}
        return name if name in known else unicodedata.normalize("NFC", name)

    def _thread(self, name: str) -> Thread:
        if turns := self.saver.turns(name):
            return Thread(name, len(turns), turns[0]["question"], turns[-1]["at"])
        waiting = self.saver.get_tuple({"configurable": {"thread_id": name}})
        checkpoint = waiting.checkpoint if waiting else empty_checkpoint()
        return Thread(name, 0, str(checkpoint["channel_values"].get("question", "")), checkpoint["ts"])

    def names(self) -> Sequence[str]:
        """The names of all threads, sorted."""
        with translated(self._path), self.saver.cursor(transaction=False) as cursor:
            rows = cursor.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")
            return [str(row[0]) for row in rows]

    def turns(self, name: str, upto: int | None = None) -> Sequence[Turn]:
        """The questions and answers of a thread, oldest first, or the first `upto`.

        Raises UsageError for a thread, or a turn, that is not there.
        """
        name = self._stored(name)
        turns = self.saver.turns(name)
        if not turns:
            known = self.names()
            if name in known:
                raise UsageError(
                    f"the thread {name!r} has no answered question yet: its first one waits to go on",
                    hint=f"local-rag chat --thread {shlex.quote(name)}   asks another in its place",
                )
            raise UsageError(f"there is no thread {name!r}; {those_there(known)}", hint="local-rag threads")
        if upto is not None and not 1 <= upto <= len(turns):
            raise UsageError(
                f"the thread {name!r} has {plural(len(turns), 'turn')}, so there is no turn {upto}",
                hint=f"local-rag threads show {shlex.quote(name)}   shows them",
            )
        return turns[:upto]

    def fork(self, name: str, upto: int) -> str:
        """The name of a new thread that begins with the first `upto` turns of this one, which stays as it is.

        It is stored with its first question: nothing stays of a fork that is asked nothing. Raises UsageError as
        `turns` does.
        """
        turns = self.turns(name, upto)
        base = "".join(ch if _in_names(ch) else " " for ch in self._stored(name))
        fork = self._free(f"{base} from {upto}"[: LONGEST - 5].strip())
        self.saver.unasked[fork] = turns
        return fork

    def delete(self, name: str) -> None:
        """Forget a thread, also in what SQLite has not yet overwritten, and one that is damaged.

        Raises UsageError for one that is not there.
        """
        with translated(self._path):
            name = self._stored(name)
            if name not in self.names():
                self.turns(name)
            self.saver.unasked.pop(name, None)
            self.saver.delete_thread(name)
            with self.saver.cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def rename(self, name: str, new: str) -> str:
        """Give a thread another name, and say how it is stored.

        Raises UsageError for one that is not there, and for a name that cannot be typed or that another thread has.
        """
        name, new = self._stored(name), thread_name(new)
        if name not in self.names():
            self.turns(name)
        if new == name:
            return new
        with translated(self._path), self.saver.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            taken = cursor.execute("SELECT 1 FROM checkpoints WHERE thread_id = ?", (new,)).fetchone()
            if taken or new in self.saver.unasked:
                raise UsageError(f"there is a thread {new!r} already", hint="local-rag threads   lists them")
            if name in self.saver.unasked:
                self.saver.unasked[new] = self.saver.unasked.pop(name)
            for table in ("checkpoints", "writes"):
                cursor.execute(f"UPDATE {table} SET thread_id = ? WHERE thread_id = ?", (new, name))
        return new

    def fresh(self, question: str) -> str:
        """A name that no thread has yet, for one that begins with this question: the date and its first words."""
        text = "".join(ch if _in_words(ch) else " " for ch in unicodedata.normalize("NFC", question))
        base = f"{datetime.now():%Y-%m-%d} {' '.join(text.split()[:FIRST_WORDS])}"[: LONGEST - 5].strip()
        return thread_name(self._free(base))

    def _free(self, base: str) -> str:
        """The name itself, or with the first number behind it that no thread has."""
        taken = {*self.names(), *self.saver.unasked}
        names = (base if number == 1 else f"{base} {number}" for number in count(1))
        return next(name for name in names if name not in taken)

    def close(self) -> None:
        """Close the database once no thread of a run is in the middle of a transaction: that would end the process."""
        with self.saver.lock:
            self._connection.close()

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def thread_name(name: str) -> str:
    """A name as threads are kept under. Raises UsageError for one that cannot be typed and shown everywhere."""
    normal = unicodedata.normalize("NFC", name)
    allowed = all(map(_in_names, normal)) and any(map(_in_words, normal))
    if allowed and normal == normal.strip() and len(normal) <= LONGEST:
        return normal
    raise UsageError(
        f"a thread is named with letters, digits, signs and blanks between them, at most {LONGEST} characters, not"
        f" {name[: LONGEST + 20]!r}",
        hint='a name such as "lease 2026" or "Harbour Street: lease"',
    )


def _in_names(character: str) -> bool:
    """What may stand in a name: nothing that drives a terminal, turns text around, is not seen, or breaks the line."""
    return character == " " or (unicodedata.category(character)[0] in "LMNPS" and for_terminal(character) == character)


def _in_words(character: str) -> bool:
    """A letter, one of its marks (as in Hindi), or a digit, of any script."""
    return unicodedata.category(character)[0] in "LMN"
