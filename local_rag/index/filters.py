"""What a filter leaves of an index, or which of its conditions leaves nothing: conditions on documents, as SQL."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING

from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing, first_day
from local_rag.index.path_filters import matching, of_types, suffix_of
from local_rag.index.store.folder import index_name
from local_rag.index.store.reads import IN, array
from local_rag.text.display import joined, shorten, those_there
from local_rag.text.words import WORD, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.index.store.store import Store

    Ids = NDArray[np.int64]

Condition = tuple[str, list[object]]
"""SQL over `documents` d, and the values of its parameters."""

SUGGESTED = 5
"""Suffixes, or authors, of the index that a message names."""

LISTED = 0.12
"""Share of the documents up to which the ids of their chunks are listed. Of more of them the best chunks of all hold
enough: to list 1,000,000 ids takes 2 s."""

_MOMENT = "CASE mtime_ns WHEN 0 THEN indexed_at ELSE mtime_ns / 1e9 END"
"""When a file was changed, in seconds since 1970; of a page of the web, when it was fetched."""

_WRITTEN = "CAST(strftime('%s', d.date) AS INTEGER)"
"""When a document was written whose date has a time, in seconds since 1970."""


class NothingLeft(UsageError):
    """No document of an index meets all conditions."""


class Selection:
    """The chunks of those documents for which all conditions hold, in one snapshot of an index.

    `share` is that of the documents which are left. `ids` (n,) are their chunks, ascending, where they are few enough
    to be listed, else None.
    """

    def __init__(self, db: Connection, where: Sequence[str], values: Sequence[object], phrases: str) -> None:
        self._where, self._values = list(where), list(values)
        self.share, self.ids = 1.0, None  # type: float, Ids | None
        if where:
            left, every = (
                f"SELECT count(*) FROM documents d WHERE {' AND '.join(where)}",
                "SELECT count(*) FROM documents",
            )
            count, documents = db.execute(f"SELECT ({left}), ({every})", self._values).fetchone()
            self.share = count / max(1, documents)
        if phrases:
            self._where.append("chunks.id IN (SELECT rowid FROM full_text WHERE full_text MATCH ?)")
            self._values.append(phrases)
        if phrases or self.share <= LISTED:
            self.ids = self._listed(db)

    def kept(self, db: Connection, chunks: Sequence[int]) -> list[int]:
        """Those of these chunks that are left, in their order."""
        rows = db.execute(f"{self._sql} AND chunks.id {IN}", [*self._values, array(chunks)])
        left = {row[0] for row in rows}
        return [chunk for chunk in chunks if chunk in left]

    @property
    def _sql(self) -> str:
        documents = "chunks JOIN documents d ON d.id = chunks.document"
        return f"SELECT chunks.id FROM {documents} WHERE {' AND '.join(self._where)}"

    def _listed(self, db: Connection) -> Ids:
        import numpy as np

        return np.sort(np.fromiter((row[0] for row in db.execute(self._sql, self._values)), dtype=np.int64))


class Filters:
    """What the filters of an index leave, kept until it changes. Any thread may ask."""

    KEPT = 8
    """Filters whose chunks are kept in memory, 8 bytes each."""

    def __init__(self) -> None:
        self._known: tuple[str, dict[tuple[Narrowing, str], Selection]] = ("", {})

    def selection(self, db: Connection, generation: str, folder: Path, wanted: Narrowing) -> Selection | None:
        """The chunks that a filter leaves, None for all of them. Raises NothingLeft where its files, types, dates or
        authors leave nothing; phrases that occur nowhere give an empty selection.
        """
        if not (wanted.of_documents or wanted.phrases):
            return None
        if self._known[0] != generation or len(self._known[1]) > self.KEPT:
            self._known = generation, {}
        known = self._known[1]
        key = wanted, str(Path.cwd()) if wanted.within else ""  # what a relative pattern means
        if key not in known:
            where, values = _conditions(db, folder, wanted)
            known[key] = Selection(db, where, values, _full_text(wanted.phrases))
        return known[key]


def selected_paths(store: Store, wanted: Narrowing) -> set[str] | None:
    """The paths of the files of which a filter leaves something, None for all. Raises NothingLeft."""

    def paths(db: Connection) -> set[str]:
        where, values = _conditions(db, store.folder, wanted)
        sql = f"SELECT DISTINCT path FROM documents d JOIN files ON files.id = d.file WHERE {' AND '.join(where)}"
        return {row[0] for row in db.execute(sql, values)}

    return store.read(paths) if wanted.of_documents else None


def _conditions(db: Connection, folder: Path, wanted: Narrowing) -> tuple[list[str], list[object]]:
    """Raises NothingLeft where no document is left."""
    where: list[str] = []
    values: list[object] = []
    named: list[str] = []
    for name, (condition, of_condition) in _each(db, folder, wanted):
        where.append(condition)
        values += of_condition
        if db.execute(f"SELECT 1 FROM documents d WHERE {' AND '.join(where)} LIMIT 1", values).fetchone() is None:
            raise _nothing(folder, f"{' '.join(['no indexed document', *named])} is {name}")
        named.append(name)
    return where, values


def _each(db: Connection, folder: Path, wanted: Narrowing) -> Iterator[tuple[str, Condition]]:
    """Each condition with its name. Raises NothingLeft for one that nothing meets, with what there is instead."""
    if wanted.within:
        yield Narrowing(within=wanted.within).described(), _of_patterns(db, folder, wanted.within)
    if wanted.types:
        yield Narrowing(types=wanted.types).described(), _of_types(db, folder, wanted.types)
    if wanted.authors:
        yield Narrowing(authors=wanted.authors).described(), _by(db, folder, wanted.authors)
    if wanted.after or wanted.before:
        yield Narrowing(after=wanted.after, before=wanted.before).described(), _dated(wanted.after, wanted.before)


def _of_patterns(db: Connection, folder: Path, patterns: Sequence[str]) -> Condition:
    files = dict(db.execute("SELECT path, id FROM files"))
    chosen = matching(files, patterns)
    if not chosen:
        raise _nothing(folder, f"no indexed file matches {joined(map(repr, patterns), 'or')}")
    return f"d.file {IN}", [array(files[path] for path in chosen)]


def _of_types(db: Connection, folder: Path, types: Sequence[str]) -> Condition:
    files = dict(db.execute("SELECT path, id FROM files"))
    chosen = of_types(files, types)
    if not chosen:
        known = Counter(suffix_of(path).removeprefix(".") or "no suffix" for path in files)
        most = sorted(known.items(), key=lambda counted: (-counted[1], counted[0]))[:SUGGESTED]
        there = those_there([f"{suffix} ({count:,})" for suffix, count in most])
        more = " and others" if len(known) > SUGGESTED else ""
        raise _nothing(folder, f"no indexed file is of type {joined(map(repr, types), 'or')}: {there}{more}")
    return f"d.file {IN}", [array(files[path] for path in chosen)]


def _by(db: Connection, folder: Path, names: Sequence[str]) -> Condition:
    known = [row[0] for row in db.execute("SELECT DISTINCT author FROM documents WHERE author != ''")]
    wanted = [set(words(name)) for name in names]
    chosen = [author for author in known if any(name and name.issubset(words(author)) for name in wanted)]
    if not chosen:
        there = list(dict.fromkeys(name for author in known for name in _names(author)))
        has = "none names one"
        if there:
            more = " and others" if len(there) > SUGGESTED else ""
            listed = "; ".join(shorten(name, 40) for name in there[:SUGGESTED])
            has = f"there {'is only' if len(there) == 1 else 'are'} {listed}{more}"
        raise _nothing(folder, f"no indexed document is by {joined(map(repr, names), 'or')}: {has}")
    return f"d.author {IN}", [array(chosen)]


def _names(authors: str) -> list[str]:
    """The names in a document's author; a comma may also stand between a surname and what precedes it."""
    if ";" in authors:
        return [name.strip() for name in authors.split(";")]
    names = authors.split(", ")
    return names if all(" " in name for name in names) else [authors]


def _dated(after: str, before: str) -> Condition:
    """The condition that a document's own date, else that of its file, is from `after` on and before `before`.

    Of a document whose own date is partial, any day of it counts: its last day is compared with the first border, its
    first with the last. One whose date has a time is compared by the clocks here, as the times of files are.
    """
    first, last = (first_day(border) if border else "" for border in (after, before))
    moments = [_moment(first, -1e18), _moment(last, 1e18)]
    own, values = ["d.date != '' AND d.date NOT LIKE '%T%'"], list[object]()
    if first:
        own.append("d.date >= substr(?, 1, length(d.date))")
        values.append(first)
    if last:
        own.append("d.date || substr('0000-01-01', length(d.date) + 1) < ?")
        values.append(last)
    timed = f"d.date LIKE '%T%' AND {_WRITTEN} >= ? AND {_WRITTEN} < ?"
    of_file = f"d.date = '' AND d.file IN (SELECT id FROM files WHERE {_MOMENT} >= ? AND {_MOMENT} < ?)"
    return f"({' AND '.join(own)} OR {timed} OR ({of_file}))", [*values, *moments, *moments]


def _moment(day: str, otherwise: float) -> float:
    """The beginning of a day here, in seconds since 1970."""
    if not day:
        return otherwise
    if not 1970 < int(day[:4]) < 3000:  # beyond what every system's clock can say
        return (date.fromisoformat(day) - date(1970, 1, 1)).total_seconds()
    return datetime.fromisoformat(day).timestamp()


def _full_text(phrases: Sequence[str]) -> str:
    """A query of FTS5 for all phrases, each in the text, the heading or the title."""
    strings = [" ".join(WORD.findall(unicodedata.normalize("NFC", phrase))) for phrase in phrases]
    joint = " AND ".join(f'"{string}"' for string in strings if string)
    return f"{{text heading title}} : ({joint})" if joint else ""


def _nothing(folder: Path, message: str) -> NothingLeft:
    return NothingLeft(message, hint=f"local-rag files --index {index_name(folder)}")
