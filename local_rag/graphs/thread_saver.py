"""What keeps the threads of a chat: LangGraph's saver on SQLite, with one row for each turn.

A row holds its own turn and names the one before it: no turn is stored twice, each is a checkpoint to go back to, and a
fork shares what came before it. Of a question that is interrupted one more row is kept, with every key of the state,
until it goes on or another one is asked; one that failed or was stopped leaves nothing.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    empty_checkpoint,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from local_rag.core.disk import is_full
from local_rag.core.errors import DiskFull, LocalRagError, UsageError
from local_rag.graphs.checkpoints import Serializer
from local_rag.graphs.turns import Turn, given_turns, whole_turns

_Known = dict[tuple[str, str], Sequence[Turn]]
"""Every turn up to that of a row, by (thread, id of the row)."""

RUN = "__local_rag_run"
"""Where a config carries the `GraphRun` to `put`; LangGraph stores no such key."""


@dataclass
class GraphRun:
    """What one run of a graph has stored. `forks`: it goes on from a checkpoint that another one follows already.

    `stored` are the unfinished rows that it wrote, (thread, id), `replaced` those that it went on from; `waits`: the
    last of `stored` is a question that can go on. `interrupted`: the caller has been told that the run waits.
    """

    forks: bool = False
    stored: list[tuple[str, str]] = field(default_factory=list)
    replaced: list[tuple[str, str]] = field(default_factory=list)
    waits: bool = False
    interrupted: bool = False


@dataclass(frozen=True)
class _Row:
    """A row as it is stored: its own turns come after the first `before` of its parent's.

    The row of the third question of a chat has before = 2 and one turn; where its second turn was edited, the new row
    has before = 1, the edited turn, and the row of the second question as its parent.
    """

    id: str
    parent: str | None
    turns: list[Turn]
    before: int
    unfinished: bool
    forks: bool = False


class ThreadSaver(SqliteSaver):
    """LangGraph's saver, whose `put` decides what is kept. Serves several threads and processes.

    Two processes may ask in one thread at once: no turn is lost, the one that ends last comes last. Only plain values
    and those of a state are read and written: no pickle, and no class from outside a fixed list.
    """

    durability = "exit"
    """A checkpoint is written when a graph ends or is interrupted, not after every node."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        plain = JsonPlusSerializer(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)
        super().__init__(connection, serde=Serializer(plain))
        self.path = path
        self.unasked: dict[str, Sequence[Turn]] = {}
        """Forks by name, with the turns that they begin with: their first question stores them."""
        self.lock = threading.RLock()  # type: ignore[assignment]  # `put` reads inside a transaction of its own

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As LangGraph's. Raises LocalRagError for a row that is damaged or of a kind that is not read."""
        name = _name_in(config)
        with read_from(self.path):
            stored = super().get_tuple(config)
            if stored is None and name in self.unasked:
                return self._beginning_of_a_fork(config)
            if stored is None and config["configurable"].get("checkpoint_id") and not _namespace(config):
                raise _gone(name)
            return stored and self._whole(stored, {})

    def list(self, config: RunnableConfig | None, **options: Any) -> Iterator[CheckpointTuple]:
        """As LangGraph's: every turn, the last one first. Each row is read once."""
        with read_from(self.path):
            stored, known = [*super().list(config, **options)], _Known()
            yield from reversed([self._whole(checkpoint, known) for checkpoint in reversed(stored)])

    def turns(self, name: str) -> Sequence[Turn]:
        """The turns of a thread, oldest first; none where there is no such thread."""
        with read_from(self.path):
            return self._turns(name, self._last(name)) or self.unasked.get(name, ())

    def everything(self, name: str) -> Sequence[Turn]:
        """All turns of a thread, of every branch, and as a turn what an interrupted question has read and written."""
        with read_from(self.path):
            stored = [*super().list({"configurable": {"thread_id": name}})]
            rows = [(each.checkpoint, _row_of(each.checkpoint, each.parent_config)) for each in reversed(stored)]
            turns = [turn for _, row in rows for turn in row.turns]
            return [*turns, *(_read_so_far(checkpoint) for checkpoint, row in rows if row.unfinished)]

    @contextmanager
    def running(self, config: RunnableConfig | None) -> Iterator[RunnableConfig]:
        """The config of a run whose rows are settled at its end: nothing stays of one that raised.

        Nor does anything of one that its caller left, unless it waited by then.
        """
        given = {**(config or {}).get("configurable", {})}
        run = given[RUN] = GraphRun(self._is_earlier(given))
        failed = True
        try:
            yield cast(RunnableConfig, {**(config or {}), "configurable": given})
            failed = False
        except GeneratorExit:
            failed = not run.interrupted
            raise
        finally:
            self._delete(run.stored if failed else run.replaced + (run.stored[:-1] if run.waits else run.stored))
            self._delete_orphans({name for name, _ in run.stored})

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a turn behind those that are there by now, or an unfinished question as it is, in one transaction."""
        given = config["configurable"]
        name, turns = _name_in(config), given_turns(checkpoint["channel_values"].get("turns"), checkpoint["ts"])
        run: GraphRun = given.get(RUN) or GraphRun(forks=True)
        waits = any(channel.startswith("branch:to:") for channel in checkpoint["channel_values"])
        with translated(self.path), self.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            if self._row(name, checkpoint["id"]) is not None:
                return config
            from_ = self._row(name, given.get("checkpoint_id"))
            base = from_.parent if from_ and from_.unfinished else from_.id if from_ else None
            if from_ and from_.unfinished:
                run.replaced.append((name, from_.id))
            is_waiting = from_ is not None and from_.unfinished
            forks = from_.forks if from_ and is_waiting else run.forks if RUN in given else base != self._last(name)
            if len(turns) > len(self._turns(name, base)) and not waits and metadata.get("source") == "loop":
                base = base if (forks or run.forks) and from_ else self._last_after(name, base)
                known, run.waits = self._turns(name, base), False
                checkpoint = _turn_row(checkpoint, [turn for turn in turns if turn not in known], len(known))
            else:
                alike = _alike(self._turns(name, base), turns)
                is_edit = metadata.get("source") in ("update", "fork") and not waits
                checkpoint = _with(checkpoint, alike, turns[alike:], unfinished=not is_edit, forks=forks)
                if not is_edit:
                    run.stored.append((name, checkpoint["id"]))
                    run.waits = waits
            after_base: RunnableConfig = {**config, "configurable": {**given, "checkpoint_id": base}}
            saved = super().put(after_base, checkpoint, metadata, new_versions)
        if not checkpoint.get("unfinished"):
            self.unasked.pop(name, None)
        self._delete(run.stored[:-1] if given.get(RUN) else run.replaced)  # an edit takes the place of what it edits
        return saved

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's. Raises UsageError for turns that are none, before anything is stored."""
        for channel, value in writes:
            if channel == "turns":
                given_turns(value, "")
        super().put_writes(config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple` for `ainvoke` and `astream`, beside their event loop; so are the others."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        for stored in await asyncio.to_thread(lambda: [*self.list(config, **options)]):
            yield stored

    async def aput(self, *arguments: Any) -> RunnableConfig:
        return await asyncio.to_thread(self.put, *arguments)

    async def aput_writes(self, *arguments: Any) -> None:
        await asyncio.to_thread(self.put_writes, *arguments)

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    # --- rows

    def _beginning_of_a_fork(self, config: RunnableConfig) -> CheckpointTuple:
        """The checkpoint that the first question of a fork goes on from; its row will hold these turns and its own."""
        name, checkpoint = str(config["configurable"]["thread_id"]), empty_checkpoint()
        checkpoint["channel_values"] = {"turns": [*self.unasked[name]]}
        checkpoint["channel_versions"] = {"turns": self.get_next_version(None, None)}
        named = {"thread_id": name, "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}
        return CheckpointTuple({"configurable": named}, checkpoint, {"source": "fork", "step": 0}, None, [])

    def _whole(self, stored: CheckpointTuple, known: _Known) -> CheckpointTuple:
        """A checkpoint as LangGraph made it, with every turn up to its own; `known` are those of other rows."""
        row, name = _row_of(stored.checkpoint, stored.parent_config), str(stored.config["configurable"]["thread_id"])
        values = {key: value for key, value in stored.checkpoint["channel_values"].items() if key != "turns"}
        turns = [*self._turns(name, row.parent if row.before else None, known)[: row.before], *row.turns]
        known[name, row.id] = turns
        if turns:
            values["turns"] = turns
            if not row.unfinished and row.turns:
                values = {"question": turns[-1]["question"], "generation": turns[-1]["answer"], **values}
        whole = {key: value for key, value in stored.checkpoint.items() if key not in ("unfinished", "forks")}
        return stored._replace(checkpoint=cast(Checkpoint, {**whole, "channel_values": values}))

    def _row(self, name: str, id_: str | None) -> _Row | None:
        if id_ is None:
            return None
        with read_from(self.path):
            stored = super().get_tuple({"configurable": {"thread_id": name, "checkpoint_id": id_}})
            return stored and _row_of(stored.checkpoint, stored.parent_config)

    def _turns(self, name: str, id_: str | None, known: _Known | None = None) -> Sequence[Turn]:
        """Every turn up to that of a row, oldest first; rows in `known` are not read."""
        rows, known = [], {} if known is None else known
        while id_ is not None and (name, id_) not in known and (row := self._row(name, id_)):
            rows.append(row)
            id_ = row.parent if row.before else None
        turns = () if id_ is None else known.get((name, id_), ())
        for row in reversed(rows):
            turns = [*turns[: row.before], *row.turns]
        return turns

    def _last(self, name: str) -> str | None:
        """The row of the last turn, or of its last edit."""
        with self.cursor(transaction=False) as cursor:
            sql = "SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id DESC"
            ids = [str(row[0]) for row in cursor.execute(sql, (name,))]
        return next((id_ for id_ in ids if (row := self._row(name, id_)) and not row.unfinished), None)

    def _last_after(self, name: str, base: str | None) -> str | None:
        """The last row where it follows `base`: a turn that another process has kept meanwhile comes first."""
        last = id_ = self._last(name)
        while id_ != base and (row := self._row(name, id_)):
            id_ = row.parent
        return last if id_ == base or base is None else base

    def _is_earlier(self, given: dict[str, Any]) -> bool:
        """Whether a config names a checkpoint that another one follows already."""
        id_, name = given.get("checkpoint_id"), str(given.get("thread_id"))
        with translated(self.path):
            row = self._row(name, id_)
            return row is not None and not row.unfinished and id_ != self._last(name)

    def _delete(self, rows: Sequence[tuple[str, str]]) -> None:
        if rows:
            with translated(self.path), self.cursor() as cursor:
                for table in ("checkpoints", "writes"):
                    cursor.executemany(f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id = ?", rows)

    def _delete_orphans(self, names: Iterable[str]) -> None:
        """What nodes have returned whose checkpoint is not kept."""
        there = "SELECT checkpoint_id FROM checkpoints WHERE thread_id = writes.thread_id"
        for name in names:
            with translated(self.path), self.cursor() as cursor:
                cursor.execute(f"DELETE FROM writes WHERE thread_id = ? AND checkpoint_id NOT IN ({there})", (name,))


def _read_so_far(checkpoint: Checkpoint) -> Turn:
    values = checkpoint["channel_values"]
    passages = [*values.get("documents", ()), *values.get("nearest", ())]
    decisions = [{"source": graded.source} for graded in values.get("decisions", ())]
    sources = [{"source": passage.metadata.get("source", "")} for passage in passages]
    about = {"question": values.get("question", ""), "index": values.get("index", ""), "at": checkpoint["ts"]}
    return {**about, "sources": sources, "decisions": decisions}


def _alike(known: Sequence[Turn], turns: Sequence[Turn]) -> int:
    """How many turns both begin with."""
    pairs = zip(known, turns, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _row_of(checkpoint: Checkpoint, parent: RunnableConfig | None) -> _Row:
    """A row as this version stores it, or an earlier one.

    Its `turns` are [2, turn]: the first two of its parent, then its own. An earlier version has all turns of the thread
    in one row, [turn, turn, turn], and refuses to go on with a list that begins with a number.
    """
    above = str(parent["configurable"]["checkpoint_id"]) if parent else None
    first, *rest = checkpoint["channel_values"].get("turns") or [0]
    before, own = (first, rest) if isinstance(first, int) else (0, [first, *rest])
    turns = whole_turns(own, checkpoint["ts"])
    marks = dict(checkpoint)
    return _Row(checkpoint["id"], above, turns, before, bool(marks.get("unfinished")), bool(marks.get("forks")))


def _turn_row(checkpoint: Checkpoint, own: list[Turn], before: int) -> Checkpoint:
    """A finished question: its turn says everything, and the next one clears every other key."""
    versions = {key: version for key, version in checkpoint["channel_versions"].items() if key in OF_A_THREAD}
    seen = {key: seen for key, seen in checkpoint["versions_seen"].items() if key == "remember"}  # who edits it
    bare: Checkpoint = {**checkpoint, "channel_values": {}, "channel_versions": versions, "versions_seen": seen}
    return _with({**bare, "updated_channels": None}, before, own)


def _with(
    checkpoint: Checkpoint, before: int, own: Sequence[Turn], *, unfinished: bool = False, forks: bool = False
) -> Checkpoint:
    values = {**checkpoint["channel_values"], "turns": [before, *own]}
    return cast(
        Checkpoint,
        {**checkpoint, "channel_values": values} | ({"unfinished": True, "forks": forks} if unfinished else {}),
    )


def _name_in(config: RunnableConfig) -> str:
    """The thread that a config names. Raises UsageError for a config that names none."""
    name = config.get("configurable", {}).get("thread_id")
    if name is None:
        raise UsageError(
            "a graph that keeps chats is asked in a thread, and the config names none",
            hint='app.invoke({"question": "…"}, {"configurable": {"thread_id": "taxes"}})',
        )
    return str(name)


def _namespace(config: RunnableConfig) -> str:
    return str(config["configurable"].get("checkpoint_ns") or "")


def _gone(name: str) -> UsageError:
    return UsageError(
        f"the config names a checkpoint that the thread {name!r} no longer has: the question that waited there was "
        "answered meanwhile, or another one was asked in its place",
        hint=f'app.get_state_history({{"configurable": {{"thread_id": "{name}"}}}})   has those that can go on',
    )


OF_A_THREAD = {"question", "generation", "turns"}
"""The keys of the state that a finished question has."""

COLUMNS = {"thread_id", "checkpoint_ns", "checkpoint_id", "type", "checkpoint"}
"""What the table of checkpoints has in every version of LangGraph's saver."""


def must_be_ours(connection: sqlite3.Connection, path: Path) -> None:
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
def translated(path: Path) -> Iterator[None]:
    """What SQLite raises, as one line and a hint."""
    try:
        yield
    except sqlite3.Error as error:
        message = str(error)
        if "locked" in message or "busy" in message:
            raise LocalRagError(f"another program is writing to {path}", hint="try again in a moment") from error
        if "full" in message or ("I/O" in message and is_full(path.parent)):
            raise DiskFull(f"no space left for the chats in {path}", hint="free some space and ask again") from error
        if any(part in message for part in ("readonly", "unable to open", "closed", "I/O")):
            raise LocalRagError(f"chats cannot be stored in {path}: {message}", hint=f"ls -l '{path}'") from error
        raise _not_ours(path, message) from error


@contextmanager
def read_from(path: Path) -> Iterator[None]:
    """As `translated`, around what only reads rows: a row that cannot be read is damage.

    A value that cannot be written is none, and raises what LangGraph raises.
    """
    try:
        with translated(path):
            yield
    except (NotImplementedError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _not_ours(path, f"a row of it cannot be read ({type(error).__name__}: {error})") from error
