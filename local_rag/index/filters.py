"""What a filter leaves of an index, or which of its conditions leaves nothing: conditions on documents, as SQL."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from local_rag.core.documents import MEMBER, Narrowing, first_day
from local_rag.core.errors import UsageError
from local_rag.index.store.database import IN, Database, array
from local_rag.index.store.folder import index_name
from local_rag.index.store.full_text import phrases_in
from local_rag.text.display import composed, is_page, is_url, joined, normal, shorten, those_there
from local_rag.text.words import words

if TYPE_CHECKING:
    from local_rag.index.store.vectors import Ids

KINDS = {
    "mail": (".eml", ".mbox", ".msg"),
    "html": (".html", ".htm", ".xhtml", ".mhtml", ".mht"),
    "markdown": (".md", ".markdown"),
    "word": (".docx", ".odt", ".rtf"),
    "book": (".epub",),
    "table": (".csv", ".tsv", ".xlsx", ".xlsm", ".xls", ".ods"),
    "slides": (".pptx", ".pptm", ".ppsx", ".potx", ".odp"),
}
"""A kind -> its suffixes; pages of the web are html, and `web` means them alone."""

LISTED = 2_000
"""Documents of which all chunks are listed: to list 1,000,000 chunks takes seconds."""

SUGGESTED = 5
"""Suffixes, or authors, of the index that a message names."""

_DAY = (
    "CASE WHEN d.date LIKE '%T%' THEN date(d.date, 'localtime') WHEN d.date != '' THEN d.date ELSE"
    " (SELECT date(CASE mtime_ns WHEN 0 THEN indexed_at ELSE mtime_ns / 1e9 END, 'unixepoch', 'localtime')"
    " FROM files WHERE files.id = d.file) END"
)
"""The date of a document, which may lack its day or its month; that of its file where it has none (of a page of the web
when it was fetched). Moments are days by the clocks here.
"""

_GLOB = re.compile(r"[*?]")
_BELOW = f"(?:(?:/|{MEMBER}).*)?"
"""What lies in a folder, or is attached to a mail."""

Condition = tuple[str, list[object]]
"""SQL over `documents` d, and the values of its parameters."""


class NothingLeft(UsageError):
    """No document of an index meets all conditions."""


class Selection(NamedTuple):
    """What a filter leaves of an index: ids of `documents` (n,), and of `chunks` (m,) where few documents are left or
    phrases were wanted, each ascending; None where they are not listed. `share` is that of the documents.
    """

    documents: Ids | None
    chunks: Ids | None
    share: float

    def kept(self, db: Database, chunks: Sequence[int]) -> list[int]:
        """Those of these chunks that are left, in their order."""
        if self.chunks is not None:
            return _members(chunks, chunks, self.chunks)
        sql = f"SELECT id, document FROM chunks WHERE id {IN}"
        document = dict(db.execute(sql, [array(chunks)]))
        assert self.documents is not None
        return _members(chunks, [document.get(chunk, 0) for chunk in chunks], self.documents)


def _members(chunks: Sequence[int], ids: Sequence[int], known: Ids) -> list[int]:
    """The chunks whose ids are known; the known ones ascend."""
    import numpy as np

    wanted = np.array(ids, dtype=np.int64)
    is_known = np.searchsorted(known, wanted, "right") > np.searchsorted(known, wanted)
    return [chunk for chunk, kept in zip(chunks, is_known.tolist(), strict=True) if kept]


def selection(db: Database, folder: Path, wanted: Narrowing) -> Selection:
    """What a filter leaves. Raises NothingLeft where its files, types, dates or authors leave nothing; phrases that
    occur nowhere leave no chunk.
    """
    where, values = _conditions(db, folder, wanted)
    in_chunks = f"SELECT chunks.id FROM documents d JOIN chunks ON chunks.document = d.id WHERE {where}"
    matching, phrases = phrases_in(db, wanted.phrases)
    if matching:
        return Selection(None, _ids(db, f"{in_chunks} AND {matching}", [*values, phrases]), 1.0)
    documents = _ids(db, f"SELECT d.id FROM documents d WHERE {where}", values)
    (count,) = db.execute("SELECT count(*) FROM documents").fetchone()
    chunks = _ids(db, in_chunks, values) if len(documents) <= LISTED else None
    return Selection(documents, chunks, len(documents) / count)


def _ids(db: Database, sql: str, values: Sequence[object]) -> Ids:
    import numpy as np

    return np.sort(np.fromiter((row[0] for row in db.execute(sql, values)), dtype=np.int64))


def selected_files(db: Database, folder: Path, wanted: Narrowing) -> list[int]:
    """The ids of the files of which a filter leaves something. Raises NothingLeft."""
    where, values = _conditions(db, folder, wanted)
    return [row[0] for row in db.execute(f"SELECT DISTINCT d.file FROM documents d WHERE {where}", values)]


def _conditions(db: Database, folder: Path, wanted: Narrowing) -> Condition:
    """All conditions on documents as one. Raises NothingLeft for the first that leaves none, with what there is."""
    where, values, named = "true", list[object](), "no indexed document"
    for condition, part in (
        (_of_patterns, Narrowing(within=wanted.within)),
        (_of_types, Narrowing(types=wanted.types)),
        (_by, Narrowing(authors=wanted.authors)),
        (_dated, Narrowing(after=wanted.after, before=wanted.before)),
    ):
        if not part:
            continue
        try:
            sql, more = condition(db, part)
            where, values = f"{where} AND {sql}", values + more
            if db.execute(f"SELECT 1 FROM documents d WHERE {where} LIMIT 1", values).fetchone() is None:
                raise NothingLeft(f"{named} is {part.described()}")
        except NothingLeft as error:
            raise NothingLeft(str(error), hint=f"local-rag files --index {index_name(folder)}") from None
        named += f" {part.described()}"
    return where, values


def _of_patterns(db: Database, wanted: Narrowing) -> Condition:
    files = dict(db.execute("SELECT path, id FROM files"))
    chosen = matching(files, wanted.within)
    if not chosen:
        raise NothingLeft(f"no indexed file matches {joined(map(repr, wanted.within), 'or')}")
    return f"d.file {IN}", [array(files[path] for path in chosen)]


def _of_types(db: Database, wanted: Narrowing) -> Condition:
    files = dict(db.execute("SELECT path, id FROM files"))
    suffixes = {suffix for kind in wanted.types for suffix in (f".{kind}", *KINDS.get(kind, ()))}
    pages = not {"html", "web"}.isdisjoint(wanted.types)
    chosen = [
        number
        for path, number in files.items()
        if suffixes.intersection(map(_suffix, path.split(MEMBER))) or (pages and is_page(path))
    ]
    if not chosen:
        known = Counter(sorted(_suffix(path).removeprefix(".") or "no suffix" for path in files))
        there = _there([f"{suffix} ({count:,})" for suffix, count in known.most_common()])
        raise NothingLeft(f"no indexed file is of type {joined(map(repr, wanted.types), 'or')}: {there}")
    return f"d.file {IN}", [array(chosen)]


def _suffix(path: str) -> str:
    """The suffix of a file or of a page's URL in small letters with its dot, "" without one."""
    return PurePosixPath((urlsplit(path).path if is_page(path) else path).replace("\\", "/")).suffix.lower()


def _by(db: Database, wanted: Narrowing) -> Condition:
    known = [row[0] for row in db.execute("SELECT DISTINCT author FROM documents WHERE author != '' ORDER BY author")]
    names = [set(words(name)) for name in wanted.authors]
    chosen = [author for author in known if any(name and name.issubset(words(author)) for name in names)]
    if not chosen:
        there = _there([repr(shorten(author, 40)) for author in known])
        raise NothingLeft(f"no indexed document is by {joined(map(repr, wanted.authors), 'or')}: {there}")
    return f"d.author {IN}", [array(chosen)]


def _there(names: Sequence[str]) -> str:
    return those_there(names[:SUGGESTED]) + " and others" * (len(names) > SUGGESTED)


@singledispatch
def day_of(db: Database) -> str:
    """SQL for the date of a document d."""
    return _DAY


def _dated(db: Database, wanted: Narrowing) -> Condition:
    """From `after` on and before `before`. Of a partial date any day of it counts: its last day is compared with the
    first border, its first with the last.
    """
    of_day = "day >= substr(?, 1, length(day)) AND day || substr('0000-01-01', length(day) + 1) < ?"
    borders: list[object] = [first_day(wanted.after or "0001"), first_day(wanted.before or "9999")]
    return f"EXISTS (SELECT 1 FROM (SELECT {day_of(db)} AS day) AS dated WHERE {of_day})", borders


# --- patterns of paths


def matching(paths: Iterable[str], within: Sequence[str]) -> list[str]:
    """Those of the absolute `paths` that one of the patterns matches.

    A pattern is a file, a folder (all below it), or a glob of *, ? and `**`, which crosses folders. A relative one is
    looked for from the current folder, and if nothing is there, as the end of a path: `--in handbook.pdf` and
    `--in 'notes/*.md'` work in any folder. A URL is read in the same way, and is absolute. Upper and lower case count
    only where a pattern that heeds them matches something. Raises UsageError for what can be no path.
    """
    posix = {path: composed(path.replace("\\", "/")) for path in paths}
    matched: set[str] = set()
    for pattern in within:
        readings = (
            {path for path, name in posix.items() if regex.fullmatch(name)}
            for flags in (re.DOTALL, re.DOTALL | re.IGNORECASE)
            for regex in (
                re.compile(composed(f"{reading}(?:(?:/|{MEMBER}).*)?"), flags) for reading in _readings(pattern)
            )
        )
        try:
            matched |= {pattern} if pattern in posix else next(filter(None, readings), set())
        except (RuntimeError, ValueError) as error:  # the home of nobody, a NUL
            hint = "local-rag files   lists what is indexed"
            raise UsageError(f"{pattern!r} is no path or pattern of paths: {error}", hint=hint) from None
    return [path for path in posix if path in matched]


def _readings(pattern: str) -> Iterator[str]:
    """How to read a pattern, strictest first: from the current folder before anywhere, literally before as a glob."""
    if is_url(pattern):
        yield re.escape(normal(pattern).rstrip("/")) + "/?"
        yield _regex(pattern.partition("#")[0].rstrip("/"))
        return
    path = Path(pattern).expanduser()
    fixed = list(takewhile(lambda part: not _GLOB.search(part), path.parts))
    yield re.escape(path.resolve().as_posix())
    yield _regex(Path(*fixed).resolve().joinpath(*path.parts[len(fixed) :]).as_posix())
    if path.parts and not path.is_absolute() and ".." not in path.parts:
        yield f"(?:.*/)?{re.escape(path.as_posix())}"
        yield _regex(f"**/{path.as_posix()}")


def _regex(glob: str) -> str:
    """A glob as a regular expression; only `**` crosses a slash (https://git-scm.com/docs/gitignore)."""
    *folders, name = re.sub(r"(?:\*\*/)+", "**/", glob).split("/")
    above = "".join("(?:[^/]*/)*" if folder == "**" else f"{_name(folder)}/" for folder in folders)
    return above + (".*" if name == "**" else _name(name))


def _name(glob: str) -> str:
    """One name of a glob. What stands between two stars is taken where it first fits, for good: the next star takes the
    rest, and no name is shared out among the stars in every way.
    """
    first, *rest = (re.escape(part).replace(r"\?", "[^/]") for part in re.split(r"\*+", glob))
    between = "".join(f"(?>[^/]*?{part})" for part in rest[:-1])
    return first + between + (f"[^/]*{rest[-1]}" if rest else "")
