"""The threads of a chat: LangGraph's own checkpointer on SQLite, one checkpoint per thread."""

from __future__ import annotations

import os
import sqlite3
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from local_rag.core.disk import is_full
from local_rag.core.errors import DiskFull, LocalRagError, UsageError
from local_rag.core.private_files import make_folder
from local_rag.text.display import joined

FILE = "threads.sqlite"
LONGEST = 80
"""Characters of a thread's name."""
BUSY_SECONDS = 30.0
"""How long another process may write before we give up."""
PUNCTUATION = "-_. "
"""What may stand in a name besides letters and digits."""
FIRST_WORDS = 6
"""Words of the first question in the name of a thread that nobody named."""

Turn = dict[str, Any]
"""One question of a thread and its answer, as `nodes.conversation.remember` writes it."""


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
        self.saver = _OneCheckpoint(path, connection)

    @classmethod
    def open(cls, folder: Path) -> Threads:
        """Open, or make, the database of threads; readable by its owner alone.

        Raises LocalRagError for a file that is not one, or that cannot be written.
        """
        path = folder / FILE
        try:
            make_folder(folder)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise LocalRagError(
                f"chats cannot be stored in {path}: {error.strerror or error}", hint=f"ls -l {folder}"
            ) from error
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        try:
            with _translated(path):
                _must_be_ours(connection, path)
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA secure_delete = ON")  # a deleted chat must not lie about in free pages
                threads = cls(path, connection)
                threads.saver.setup()
        except BaseException:
            connection.close()
            raise
        return threads

    def list(self) -> Sequence[Thread]:
        """Every thread, the one that was used last first."""
        chats = [(name, turns) for name in self.names() if (turns := self.saver.turns(name))]
        threads = [Thread(name, len(turns), turns[0]["question"], turns[-1]["at"]) for name, turns in chats]
        return sorted(threads, key=lambda thread: thread.at, reverse=True)

    def names(self) -> Sequence[str]:
        """The names of all threads, sorted."""
        with _translated(self._path), self.saver.cursor(transaction=False) as cursor:
            rows = cursor.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")
            return [str(row[0]) for row in rows]

    def turns(self, name: str) -> Sequence[Turn]:
        """The questions and answers of a thread, oldest first. Raises UsageError for one that is not there."""
        turns = self.saver.turns(thread_name(name))
        if not turns:
            known = self.names()
            there = f"there are {joined(known)}" if known else "there are none yet"
            raise UsageError(f"there is no thread {name!r}; {there}", hint="local-rag threads")
        return turns

    def delete(self, name: str) -> None:
        """Forget a thread, also in what SQLite has not yet overwritten. Raises UsageError for one that is not there."""
        self.turns(name)
        with _translated(self._path):
            self.saver.delete_thread(thread_name(name))
            with self.saver.cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def fresh(self, question: str) -> str:
        """A name that no thread has yet, for one that begins with this question: the date and its first words."""
        text = "".join(ch if _in_words(ch) else " " for ch in unicodedata.normalize("NFC", question))
        base = f"{datetime.now():%Y-%m-%d} {' '.join(text.split()[:FIRST_WORDS])}"[: LONGEST - 5].strip()
        taken = self.names()
        names = (base if number == 1 else f"{base} {number}" for number in count(1))
        return thread_name(next(name for name in names if name not in taken))

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def thread_name(name: str) -> str:
    """A name as threads are kept under. Raises UsageError for one that cannot be typed and shown everywhere."""
    normal = unicodedata.normalize("NFC", name)
    allowed = all(_in_words(ch) or ch in PUNCTUATION for ch in normal) and any(map(_in_words, normal))
    if allowed and normal == normal.strip() and len(normal) <= LONGEST:
        return normal
    raise UsageError(
        f"a thread is named with letters, digits, '-', '_', '.' and blanks between them, at most {LONGEST} characters, "
        f"not {name[: LONGEST + 20]!r}",
        hint='local-rag chat --thread "lease 2026"',
    )


def _in_words(character: str) -> bool:
    """A letter, one of its marks (as in Hindi), or a digit, of any script."""
    return unicodedata.category(character)[0] in "LMN"


class _OneCheckpoint(SqliteSaver):
    """Keeps of each thread its last whole turn, and nothing of a question that failed or was stopped.

    LangGraph writes a checkpoint at the end of a run even when a node raised, and keeps all that came before: a thread
    of n turns would take n² / 2 of them. Two processes may ask in one thread at once: no turn is lost, the one that
    ends last comes last. Only plain values are read and written: no pickle, and no class from outside a fixed list.
    """

    durability = "exit"
    """A checkpoint is written when a graph ends or is interrupted, not after every node."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        plain = JsonPlusSerializer(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)
        super().__init__(connection, serde=plain)
        self.path = path
        self.lock = threading.RLock()  # type: ignore[assignment]  # `put` writes inside a transaction of its own

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As LangGraph's. Raises LocalRagError for a row that is damaged or of a kind that is not read."""
        with _translated(self.path):
            kept = super().get_tuple(config)
            if kept is not None:
                _turns_of(kept.checkpoint)
            return kept

    def turns(self, name: str) -> list[Turn]:
        """The turns of a thread, oldest first; none where there is no such thread."""
        kept = self.get_tuple({"configurable": {"thread_id": name}})
        return _turns_of(kept.checkpoint) if kept else []

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Add the run's turn to those that are kept by now, in one transaction; nothing where it has no new one."""
        name = str(config["configurable"]["thread_id"])
        turns = _turns_of(checkpoint)
        with _translated(self.path), self.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            known = self.turns(name)
            is_unfinished = any(channel.startswith("branch:to:") for channel in checkpoint["channel_values"])
            if not turns or turns[-1] in known or is_unfinished:
                return config
            values = {key: value for key, value in checkpoint["channel_values"].items() if key in OF_A_THREAD}
            values["turns"] = [*known, turns[-1]]
            saved = super().put(config, {**checkpoint, "channel_values": values}, metadata, new_versions)
            last = saved["configurable"]["checkpoint_id"]
            cursor.execute("DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_id <> ?", (name, last))
            cursor.execute("DELETE FROM writes WHERE thread_id = ?", (name,))
        return saved

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Nothing: what a run that failed has done so far is not taken up again."""


def _turns_of(checkpoint: Checkpoint) -> list[Turn]:
    turns: list[Turn] = checkpoint["channel_values"].get("turns") or []
    if not all(isinstance(turn, dict) for turn in turns):
        raise TypeError("a turn that is none")
    return turns


OF_A_THREAD = {"question", "generation", "turns"}
"""What is kept of the state when a question has ended."""

COLUMNS = {"thread_id", "checkpoint_ns", "checkpoint_id", "type", "checkpoint"}
"""What the table of checkpoints has in every version of LangGraph's saver."""


def _must_be_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Before a table is made: the file is empty, or has the saver's tables."""
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = {row[1] for row in connection.execute("PRAGMA table_info(checkpoints)")}
    if tables and not columns >= COLUMNS:
        raise _not_ours(path, "it is another program's")


def _not_ours(path: Path, why: str) -> LocalRagError:
    return LocalRagError(
        f"{path} is not a database of chats: {why}", hint=f"mv '{path}' '{path}.old'   and chats start anew"
    )


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """What SQLite and the serializer raise, as one line and a hint."""
    try:
        yield
    except sqlite3.Error as error:
        message = str(error)
        if "locked" in message or "busy" in message:
            raise LocalRagError(f"another program is writing to {path}", hint="try again in a moment") from error
        if "full" in message or ("I/O" in message and is_full(path.parent)):
            raise DiskFull(f"no space left for the chats in {path}", hint="free some space and ask again") from error
        if any(words in message for words in ("readonly", "unable to open", "closed", "I/O")):
            raise LocalRagError(f"chats cannot be stored in {path}: {message}", hint=f"ls -l '{path}'") from error
        raise _not_ours(path, message) from error
    except (NotImplementedError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _not_ours(path, f"a row of it cannot be read ({type(error).__name__}: {error})") from error
