"""Files whose content cannot be read: told again without another attempt, until content or parser change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from local_rag.index.parse.version import parser_version
from local_rag.index.store import reads, writes
from local_rag.index.store.schema import Failure
from local_rag.index.store.store import Store


@dataclass
class Failures:
    """What earlier syncs could not read, and what this one cannot. `retry`: every file gets another attempt."""

    store: Store
    retry: bool = False
    _known: Mapping[str, Failure] = field(init=False)
    _new: list[Failure] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._known = self.store.read(reads.failures)

    def reason(self, path: str, sha256: str) -> str:
        """Why this content cannot be read, or nothing."""
        known = self._known.get(path)
        same = known is not None and (known.sha256, known.parser) == (sha256, parser_version())
        return known.reason if known is not None and same and not self.retry else ""

    def note(self, path: str, sha256: str, reason: str) -> None:
        self._new.append(Failure(path, sha256, parser_version(), reason))

    def remember(self) -> None:
        """Store what was noted."""
        if self._new:
            with self.store.writing() as db:
                writes.set_failures(db, self._new)
            self._new = []

    def forget(self, paths: Iterable[str]) -> None:
        """Those of these files that are gone."""
        gone = self._known.keys() & set(paths)
        if gone:
            with self.store.writing() as db:
                writes.forget_failures(db, gone)

    @property
    def paths(self) -> Iterable[str]:
        """The files of earlier syncs."""
        return self._known
