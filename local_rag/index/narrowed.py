"""What a narrowing leaves of an index, or which of its conditions leaves nothing."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing, first_day
from local_rag.index import within
from local_rag.index.kinds import of_types, suffix_of
from local_rag.index.store import folder, reads, selection
from local_rag.index.store.selection import Selection
from local_rag.text.display import joined, plural, shorten, those_there
from local_rag.text.words import WORD, words

if TYPE_CHECKING:
    from local_rag.index.store.store import Store

Condition = tuple[str, list[object]]

SUGGESTED = 5
"""Suffixes, or authors, of the index that a message names."""


_KEPT = 8
"""Narrowings whose chunks are kept in memory, 9 bytes per chunk of the index each."""


class NothingLeft(UsageError):
    """No document of an index meets all conditions."""


class Narrowed:
    """What narrowings leave of an index, kept until it changes. Any thread may ask."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: tuple[str, dict[tuple[Narrowing, str], Selection | None]] = ("", {})

    def selection(self, narrowing: Narrowing) -> Selection | None:
        """As `select`."""
        generation, known = self._known
        now = self._store.read(reads.meta)["generation"]
        if now != generation or len(known) > _KEPT:
            self._known = now, (known := {})
        key = narrowing, str(Path.cwd()) if narrowing.within else ""  # what a relative pattern means
        if key not in known:
            known[key] = select(self._store, narrowing)
        return known[key]


def select(store: Store, narrowing: Narrowing) -> Selection | None:
    """The chunks that a narrowing leaves, None for all of them. Raises NothingLeft where its files, types, dates or
    authors leave nothing; phrases that occur nowhere give an empty selection.
    """
    if not (narrowing.of_documents or narrowing.phrases):
        return None
    where, values = _conditions(store, narrowing)
    return Selection(where, values, _full_text(narrowing.phrases))


def selected_paths(store: Store, narrowing: Narrowing) -> set[str] | None:
    """The paths of the files of which something is left, None for all. Raises as `select` does."""
    if not narrowing.of_documents:
        return None
    return store.read(selection.paths_of, *_conditions(store, narrowing))


def unknown(store: Store, narrowing: Narrowing) -> Iterator[str]:
    """What the index cannot know of these conditions, in a line each."""
    if not (narrowing.after or narrowing.before or narrowing.authors):
        return
    early, documents = store.read(selection.before_origin)
    if early:
        what = [
            *(
                ["their own dates are not known, and those of their files count"]
                * bool(narrowing.after or narrowing.before)
            ),
            *(["their authors are not known, so --from leaves them out"] * bool(narrowing.authors)),
        ]
        of = "" if early == documents else f" of {documents:,}"
        yield (
            f"{plural(early, 'document')}{of} {'was' if early == 1 else 'were'} indexed by an earlier version: "
            f"{'; '.join(what)}; {_command(store, 'index')} reads them again"
        )


def _conditions(store: Store, narrowing: Narrowing) -> tuple[list[str], list[object]]:
    """(where, values) over `documents` d. Raises NothingLeft where no document is left."""
    where: list[str] = []
    values: list[object] = []
    named: list[str] = []
    for name, condition in _each(store, narrowing):
        where.append(condition[0])
        values += condition[1]
        if not store.read(selection.any_document, where, values):
            raise _nothing(store, f"{' '.join(['no indexed document', *named])} is {name}")
        named.append(name)
    return where, values


def _each(store: Store, narrowing: Narrowing) -> Iterator[tuple[str, Condition]]:
    """Each condition with its name. Raises NothingLeft for one that nothing meets, with what there is instead."""
    if narrowing.within:
        yield Narrowing(within=narrowing.within).described(), _of_patterns(store, narrowing.within)
    if narrowing.types:
        yield Narrowing(types=narrowing.types).described(), _of_types(store, narrowing.types)
    if narrowing.authors:
        yield Narrowing(authors=narrowing.authors).described(), _by(store, narrowing.authors)
    if narrowing.after or narrowing.before:
        first, last = (first_day(border) if border else "" for border in (narrowing.after, narrowing.before))
        moments = (_moment(first, -1e18), _moment(last, 1e18))
        dates = Narrowing(after=narrowing.after, before=narrowing.before)
        yield dates.described(), store.read(selection.dated, first, last, moments)


def _of_patterns(store: Store, patterns: Sequence[str]) -> Condition:
    files = store.read(selection.file_paths)
    chosen = within.matching(files, patterns)
    if not chosen:
        raise _nothing(store, f"no indexed file matches {joined(map(repr, patterns), 'or')}")
    return selection.of_files([files[path] for path in chosen])


def _of_types(store: Store, types: Sequence[str]) -> Condition:
    files = store.read(selection.file_paths)
    chosen = of_types(files, types)
    if not chosen:
        known = Counter(suffix_of(path).removeprefix(".") or "no suffix" for path in files)
        there = [f"{suffix} ({count:,})" for suffix, count in sorted(known.items(), key=_most)[:SUGGESTED]]
        more = " and others" if len(known) > SUGGESTED else ""
        raise _nothing(
            store, f"no indexed file is of type {joined(map(repr, types), 'or')}: {those_there(there)}{more}"
        )
    return selection.of_files([files[path] for path in chosen])


def _most(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def _by(store: Store, names: Sequence[str]) -> Condition:
    known = store.read(selection.authors)
    wanted = [set(words(name)) for name in names]
    chosen = [author for author in known if any(name and name.issubset(words(author)) for name in wanted)]
    if not chosen:
        early, documents = store.read(selection.before_origin)
        if early == documents:
            raise NothingLeft(
                "the index was made by an earlier version, which kept no authors, so --from cannot be used yet",
                hint=_command(store, "index"),
            )
        names_known = list(dict.fromkeys(name for author in known for name in _names(author)))
        there = "; ".join(shorten(name, 40) for name in names_known[:SUGGESTED])
        has = (
            f": there {'is only' if len(names_known) == 1 else 'are'} {there}"
            f"{' and others' if len(names_known) > SUGGESTED else ''}"
            if known
            else ": none names one"
        )
        raise _nothing(store, f"no indexed document is by {joined(map(repr, names), 'or')}{has}")
    return selection.by_authors(chosen)


def _names(authors: str) -> list[str]:
    """The names in a document's author; a comma may also stand between a surname and what precedes it."""
    if ";" in authors:
        return [name.strip() for name in authors.split(";")]
    names = authors.split(", ")
    return names if all(" " in name for name in names) else [authors]


def _moment(day: str, otherwise: float) -> float:
    """The beginning of a day here, in seconds since 1970."""
    if not day:
        return otherwise
    year = int(day[:4])
    if not 1970 < year < 3000:  # beyond what every system's clock can say
        return (date.fromisoformat(day) - date(1970, 1, 1)).total_seconds()
    return datetime.fromisoformat(day).timestamp()


def _full_text(phrases: Sequence[str]) -> str:
    """A query of FTS5 for all phrases, each in the text, the heading or the title."""
    strings = [" ".join(WORD.findall(unicodedata.normalize("NFC", phrase))) for phrase in phrases]
    joint = " AND ".join(f'"{string}"' for string in strings if string)
    return f"{{text heading title}} : ({joint})" if joint else ""


def _nothing(store: Store, message: str) -> NothingLeft:
    return NothingLeft(message, hint=_command(store, "files"))


def _command(store: Store, name: str) -> str:
    return f"local-rag {name} --index {folder.index_name(store.folder)}"
