"""The record of a question: its trace, without drafts as they are streamed and without the texts of passages.

One file per question in the folder `runs` of the data folder, written line by line, so that a question that is killed
leaves what it did. No lock is needed: each process writes files of its own. A question never fails because its record
cannot be written.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core.errors import LocalRagError
from local_rag.core.events import Done, Event, Note, Step, Token
from local_rag.core.narrowing import Narrowing
from local_rag.core.private_files import make_folder
from local_rag.core.reasons import reason_of
from local_rag.core.serialization import to_plain
from local_rag.runtime.trace_file import Line, event_data, follow, shortened

if TYPE_CHECKING:
    from local_rag.runtime.rag import Rag

FOLDER = "runs"
FORMAT = 1
"""Of a record; another number is another program's."""

LETTERS = "23456789bcdfghjkmnpqrstvwxz"
"""Of an ID: no vowels, so that it is no word, and nothing that looks like another letter."""
LENGTH = 4
"""Letters of an ID: half a million of them, for at most some hundreds of runs."""
NAME = re.compile(rf"\d{{8}}T\d{{9}}-([{LETTERS}]{{{LENGTH}}})\.jsonl")
"""The name of a record, which begins with its time."""

ELSEWHERE = frozenset({"question", "turns", "decisions", "usage", "path", "citations", "conflicts"})
"""Keys of the state that are events of their own, or belong to the answer or the chat."""


class Recorder:
    """Writes a record of every question of a `Rag`, so that there are at most `keep`; 0 writes none, deletes none.

    That records cannot be written is told once.
    """

    def __init__(self, data_folder: Path, keep: int) -> None:
        self._folder, self._keep, self._complained = data_folder / FOLDER, keep, False

    def following(self, events: Generator[Event], conditions: Callable[[], Line]) -> Generator[Event]:
        """The same events, each recorded before it is handed on; the answer of the last one names its record.

        `conditions` are those of the question, asked for only where something is recorded.
        """
        if not self._keep:
            yield from events
            return
        record = _Record(self._folder, self._keep)
        about = {"format": FORMAT, "id": record.id, "time": record.time} | conditions()
        with closing(record), closing(follow(_named(events, record), record.write, about, _Data())) as recorded:
            for event in recorded:
                if record.trouble and not self._complained:
                    self._complained = True
                    yield Note(f"runs are not recorded in {self._folder}: {record.trouble}")
                yield replace(event, answer=replace(event.answer, run=record.id)) if isinstance(event, Done) else event


def _named(events: Generator[Event], record: _Record) -> Generator[Event]:
    with closing(events):
        for event in events:
            yield replace(event, answer=replace(event.answer, run=record.id)) if isinstance(event, Done) else event


class _Data:
    """The fields of each event, without texts of passages; of the state after a node only what the node changed."""

    def __init__(self) -> None:
        self._state: Line = {}

    def __call__(self, event: Event) -> Line | None:
        if isinstance(event, Token):
            return None
        if not isinstance(event, Step):
            return event_data(event, texts=False)
        after = {name: value for name, value in sorted(event.state.items()) if name not in ELSEWHERE}
        state: Line = shortened(to_plain(after), texts=False)
        changed = {
            name: value for name, value in state.items() if name not in self._state or self._state[name] != value
        }
        self._state = state
        return {"node": event.node, "seconds": event.seconds, "state": changed}


class _Record:
    """One file as it is written. Where that fails it is given up, and what there is of it is deleted."""

    def __init__(self, folder: Path, keep: int) -> None:
        moment = datetime.now(UTC)
        self.id, self.time, self.trouble = "", moment.isoformat(timespec="milliseconds"), ""
        self._path, self._handle = folder, -1
        try:
            self._open(folder, keep, f"{moment:%Y%m%dT%H%M%S}{moment.microsecond // 1000:03}")
        except OSError as error:
            self._give_up(error)

    def _open(self, folder: Path, keep: int, moment: str) -> None:
        make_folder(folder)
        names = sorted(path.name for path in folder.iterdir() if NAME.fullmatch(path.name))
        for name in names[: max(0, len(names) - keep + 1)]:
            with suppress(OSError):  # another process deletes the oldest, too
                (folder / name).unlink()
        taken = {name.partition("-")[2] for name in names}
        while (last := f"{''.join(secrets.choice(LETTERS) for _ in range(LENGTH))}.jsonl") in taken:
            pass
        self._path = folder / f"{moment}-{last}"
        self._handle = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
        self.id = last.partition(".")[0]

    def write(self, line: Line) -> None:
        """Add a line; it is there after a kill, too."""
        if self._handle < 0:
            return
        data = json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"
        try:
            if os.write(self._handle, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.trouble, self.id = reason_of(error), ""
        opened = self._handle >= 0
        self.close()
        if opened:
            with suppress(OSError):
                self._path.unlink()

    def close(self) -> None:
        if self._handle >= 0:
            with suppress(OSError):
                os.close(self._handle)
        self._handle = -1


def conditions(rag: Rag, question: str, narrowing: Narrowing, **of_call: Any) -> Line:
    """Under which conditions a question is asked: what a person needs who wants to ask it so again, from anywhere."""
    from local_rag import __version__
    from local_rag.config.settings import names

    settings, embedder = rag.settings, rag.embedder
    fallback_corpus = rag.fallback_corpus_of(of_call["graph"])
    values = {name: settings.get(name) for name in names()}
    return {
        "question": question,
        **of_call,
        "within": [_from_anywhere(name) for name in narrowing.within],
        "narrowing": {name: value for name, value in narrowing.conditions.items() if name != "within"},
        "version": __version__,
        "index": {
            "name": settings.values.index if rag.folder else "",
            "path": rag.folder,
            "content": _content(rag.index),
            "others": list(rag.folders[1:]),
        },
        "fallback_corpus": _content(fallback_corpus.index) if fallback_corpus else "",
        "fallback_corpus_path": str(fallback_corpus.index.path) if fallback_corpus else "",
        "engine": {
            "name": rag.engine.name,
            "describe": rag.engine.describe,
            "fingerprint": rag.engine.fingerprint,
        },
        "embedder": {"name": embedder.name, "fingerprint": embedder.fingerprint} if embedder else None,
        "thresholds": rag.thresholds.model_dump(),
        "settings": values,
        "origins": {name: origin for name, origin in settings.origin.items() if origin != "default"},
        "models": settings.models,
    }


def _from_anywhere(name: str) -> str:
    """A file that is there by its whole path; anything else, such as a pattern, as it was typed."""
    with suppress(OSError, RuntimeError, ValueError):  # too long, the home of nobody, a zero byte
        if (path := Path(name).expanduser()).exists():
            return str(path.resolve())
    return name


def _content(index: object) -> str:
    """What changes when any passage of an index does; empty for a corpus that cannot say so, or not now."""
    content = getattr(index, "content", None)
    with suppress(LocalRagError):
        return content() if content else ""
    return ""
