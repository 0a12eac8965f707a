"""Place: what the server serves, opened on first use and closed at the end."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from local_rag.config.settings import Settings
from local_rag.config.values import Values
from local_rag.core.errors import ConfigError, LocalRagError, ModelMissing, UsageError
from local_rag.server.errors import ApiError, NotFound
from local_rag.server.questions import Questions

if TYPE_CHECKING:
    from local_rag.runtime.history import History
    from local_rag.runtime.rag import Rag
    from local_rag.server.sessions import Sessions


class Closable(Protocol):
    """What is closed with the place."""

    def close(self) -> None: ...


@runtime_checkable
class Stoppable(Protocol):
    """What works on a thread of its own until it is stopped; it does not wait for the end of that."""

    def stop(self) -> object: ...


T = TypeVar("T", bound=Closable)


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds the work of one server. Seconds and bytes.

    With `connections` open at the same time, one that waits for its client makes room, else a request is refused (503).
    `heavy` requests of a heavy endpoint work at the same time, `heavy_waiting` wait behind them. `request` is how
    long the head of a request may take, and then its body.
    """

    connections: int = 200
    waiting: int = 8
    streams: int = 8
    heavy: int = 4
    heavy_waiting: int = 16
    body: int = 1 << 20
    request: float = 20.0
    heartbeat: float = 10.0
    slow_reader: float = 30.0
    rags: int = 4


@dataclass
class Place:
    """Settings, what they name once it is opened, and the folders below which the page may index.

    `flags` are the settings that the command line gave; they hold for every index. Serves several threads.
    """

    settings: Settings
    sessions: Sessions
    flags: Mapping[str, Any] = field(default_factory=dict)
    roots: Sequence[Path] = ()
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        self.roots = [root.expanduser().resolve() for root in self.roots]
        self._rags: OrderedDict[Values, Rag] = OrderedDict()
        self._uses: Counter[Rag] = Counter()
        self._lock = threading.RLock()
        self._kept: dict[str, Closable] = {}
        self._keeping = threading.RLock()
        self.questions = Questions(self.limits.waiting)
        self.began = datetime.now(UTC).isoformat(timespec="milliseconds")

    def settings_of(self, index: str | Sequence[str] | None = None, **values: Any) -> Settings:
        """The settings in force with another index (or several) and further values (`limits__seconds=60`).

        None means as they are. Raises ConfigError, UsageError, and NotFound for an index that is none of `indexes`: a
        client names no paths.
        """
        known = self.indexes()
        for name in [index] if isinstance(index, str) else index or ():
            if name not in known:
                raise NotFound(f"there is no index {name!r} here", "local-rag serve --index NAME   serves another one")
        given = {name: value for name, value in values.items() if value is not None}
        if index is None and not given:
            return self.settings
        try:
            return Settings.load(**{**self.flags, **given, **({} if index is None else {"index": index})})
        except ConfigError as error:
            Settings.load(**self.flags)  # raises what is wrong with the settings themselves
            raise UsageError(str(error), hint=error.hint) from error

    def indexes(self) -> list[str]:
        """The names of the indexes that can be asked: those of the settings, and what else is in the data folder."""
        from local_rag.index.store.folder import has_database

        below = self.settings.data_folder / "indexes"
        others = sorted(path.name for path in below.iterdir() if has_database(path)) if below.is_dir() else []
        return list(dict.fromkeys([*self.settings.index_paths, *others]))

    def rag(self, index: str | Sequence[str] | None = None, **values: Any) -> Rag:
        """What answers questions about an index under these settings; opened once, and kept for the next question.

        Raises what `Rag.open` raises. Nobody but the place closes it; work with it in a block of `using`.
        """
        from local_rag.runtime.rag import Rag

        settings = self.settings_of(index, **values)
        with self._lock:
            if settings.values not in self._rags:
                self._rags[settings.values] = Rag.open(settings)
            self._rags.move_to_end(settings.values)
            self._close_oldest()
            return self._rags[settings.values]

    @contextmanager
    def using(self, index: str | Sequence[str] | None = None, **values: Any) -> Iterator[Rag]:
        """What `rag` returns, kept open until the block is left. Raises what `Rag.open` raises."""
        with self._lock:
            rag = self.rag(index, **values)
            self._uses[rag] += 1
        try:
            yield rag
        finally:
            with self._lock:
                self._uses[rag] -= 1
                self._close_oldest()

    def warm(self) -> None:
        """Open what the first question needs, on a thread; what fails is left to that question."""

        def first() -> None:
            with suppress(LocalRagError), self.using() as rag:
                rag.graph(self.settings.values.graph)

        with self._lock:
            if not self._rags:
                threading.Thread(target=first, name="local-rag-warm", daemon=True).start()

    def _close_oldest(self) -> None:
        """Close what was opened or taken longest ago and nobody uses, as far as there are more than the limit."""
        self._uses = +self._uses  # those alone that somebody uses
        idle = [key for key, rag in list(self._rags.items())[:-1] if not self._uses[rag]]
        for key in idle[: max(0, len(self._rags) - self.limits.rags)]:
            self._rags.pop(key).close()

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """What `make` makes on first use, under a name; it is closed with the place."""
        with self._keeping:
            if name not in self._kept:
                self._kept[name] = make()
            return cast("T", self._kept[name])

    @property
    def history(self) -> History:
        """What is kept of questions in the data folder: chats, records and judgements."""
        from local_rag.runtime.history import History

        return self.kept("history", lambda: History.open(self.settings.data_folder))

    def stop(self) -> None:
        """Stop every question, those that wait first, and whatever else works; what ends is not waited for."""
        for question in reversed(self.questions.queue()):
            self.questions.stop(question)
        for rag in list(self._rags.values()):
            rag.stop()
        for part in list(self._kept.values()):
            if isinstance(part, Stoppable):
                part.stop()

    def close(self) -> None:
        """Stop every question and close what is open; what fails to close keeps nothing else open.

        It is closed outside of the locks: a job that is waited for may need them for its last step.
        """
        self.stop()
        with self._lock, self._keeping:
            parts: list[Closable] = [*self._rags.values(), *self._kept.values()]
            self._rags.clear()
            self._kept.clear()
        with ExitStack() as opened:
            for part in parts:
                opened.callback(part.close)


def check_model(settings: Settings, model: str | None) -> None:
    """Raises ApiError (400) for a model that a client names and that is not there; UsageError, ServerDown, NotLocal."""
    from local_rag.runtime.engine_choice import check_named

    if model:
        try:
            check_named(settings)
        except ModelMissing as error:
            raise ApiError(400, "model_missing", str(error), error.hint) from error
