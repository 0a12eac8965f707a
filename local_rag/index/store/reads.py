"""What is read from the tables of an index: SQL only. Ids that are gone are left out of every result."""

from __future__ import annotations

import hashlib
import json
import random
from bisect import bisect_right
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import singledispatch
from itertools import zip_longest
from typing import NamedTuple

from local_rag.core.documents import PLACE, Heading, ReadLine
from local_rag.index.store.database import IN, Database, array
from local_rag.index.store.schema import (
    Failure,
    FileName,
    FileRow,
    IndexedFile,
    IndexSettings,
    Passage,
    Root,
    StoredDocument,
    of_scans,
)
from local_rag.text.chunking import heading_paths
from local_rag.text.display import is_page


class UnusableRow(Exception):
    """A setting of the index that is missing, or none: the index is damaged."""


class UnusableVector(Exception):
    """A vector that is missing, or none: it is made anew from the text."""


# --- the index as a whole


def tables(db: Database) -> set[str]:
    return {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def meta(db: Database) -> dict[str, str]:
    """The rows of `meta`; what the next commit renews may be missing."""
    return {"generation": "", "epoch": "", **dict(db.execute("SELECT name, value FROM meta"))}


def settings(db: Database) -> IndexSettings:
    """What made the index. Raises UnusableRow."""
    known = meta(db)
    try:
        numbers = [int(known[name]) for name in ("dimension", "size", "overlap")]
        return IndexSettings(known["embedder"], known["fingerprint"], *numbers)
    except (KeyError, ValueError) as error:
        raise UnusableRow(f"its table meta lacks a row, or has one that is no number: {error}") from error


class Counts(NamedTuple):
    """Files on the disk, pages of the web, documents, chunks, and chunks that vector search sees."""

    files: int
    pages: int
    documents: int
    chunks: int
    embedded: int


def counts(db: Database) -> Counts:
    page = "(path LIKE 'http://%' OR path LIKE 'https://%')"
    numbers = db.execute(
        f"SELECT (SELECT count(*) FROM files WHERE container = '' AND NOT {page}"
        " AND id IN (SELECT file FROM documents)),"
        f" (SELECT count(*) FROM files WHERE {page}), (SELECT count(*) FROM documents),"
        " (SELECT count(*) FROM chunks), (SELECT count(*) FROM embedded)"
    ).fetchone()
    return Counts(*numbers)


def content(db: Database) -> str:
    """16 hex digits of the keys of all chunks, which name their file, position and text."""
    known = sorted(key for (key,) in db.execute("SELECT key FROM chunks"))
    return hashlib.sha256("".join(f"{key}\n" for key in known).encode()).hexdigest()[:16]


# --- roots, files and pages


def roots(db: Database) -> list[Root]:
    rows = db.execute("SELECT path, excludes, secrets, follow_links FROM roots ORDER BY path")
    return [
        Root(path, tuple(json.loads(excludes)), bool(secrets), bool(links)) for path, excludes, secrets, links in rows
    ]


def excluded(db: Database) -> dict[str, tuple[str, ...]]:
    """What was excluded from roots that were forgotten, by their paths."""
    return {path: tuple(json.loads(excludes)) for path, excludes in db.execute("SELECT path, excludes FROM excluded")}


def reported(db: Database) -> set[tuple[str, str]]:
    """What earlier syncs reported as skipped: (path, reason)."""
    return set(db.execute("SELECT path, reason FROM reported"))


def failures(db: Database) -> dict[str, Failure]:
    """Path -> why its content could not be read."""
    return {row[0]: Failure(*row) for row in db.execute("SELECT path, sha256, parser, reason FROM failures")}


def files(db: Database) -> list[FileRow]:
    """All files and pages, without what lies inside of a file."""
    return _file_rows(db, "WHERE container = ''")


def file_row(db: Database, path: str) -> FileRow | None:
    """The file or page that is stored under a path."""
    return next(iter(_file_rows(db, "WHERE path = ?", path)), None)


def pages(db: Database, urls: Sequence[str]) -> list[FileRow]:
    """The pages that are stored under one of these URLs, or were indexed through one."""
    return _file_rows(db, f"WHERE path {IN} OR root {IN}", array(urls), array(urls))


def _file_rows(db: Database, where: str, *values: object) -> list[FileRow]:
    names = "path, root, sha256, size, mtime_ns, ctime_ns, inode, warnings, indexed_at, container, scans"
    rows = db.execute(f"SELECT {names} FROM files {where} ORDER BY path", values)
    return [FileRow(*(*row[:7], tuple(json.loads(row[7])), *row[8:-1], tuple(json.loads(row[-1])))) for row in rows]


def scanned(db: Database) -> list[FileRow]:
    """The files with pages that wait for OCR, those with the fewest first."""
    return sorted(_file_rows(db, "WHERE scans != '[]' AND sha256 != ''"), key=lambda file: len(file.scans))


def paths(db: Database) -> list[str]:
    """The paths of all files, and the URLs of pages."""
    return [row[0] for row in db.execute("SELECT path FROM files ORDER BY path")]


def named(db: Database) -> list[str]:
    """All that was asked to be indexed: roots, then the URLs of pages."""
    urls = db.execute("SELECT DISTINCT root FROM files WHERE path LIKE 'http%' ORDER BY root")
    paths = db.execute("SELECT path FROM roots ORDER BY path")
    return [*(path for (path,) in paths), *(url for (url,) in urls if is_page(url))]


def addresses(db: Database, paths: Collection[str]) -> dict[str, str]:
    """Where these files were saved from, as far as that is known."""
    sql = f"SELECT path, url FROM documents JOIN files ON files.id = file WHERE url != '' AND path {IN}"
    return dict(db.execute(sql, (array(paths),)))


def file_names(db: Database) -> list[FileName]:
    """Every file with what its first document says of itself; no row of a chunk is read."""
    rows = db.execute(
        "SELECT files.id, path, coalesce(title, ''), coalesce(author, '') FROM files"
        " LEFT JOIN (SELECT min(id) AS first, file FROM documents GROUP BY file) AS of_file ON of_file.file = files.id"
        " LEFT JOIN documents ON documents.id = first ORDER BY path"
    )
    return [FileName(*row) for row in rows]


def indexed_files(db: Database, files: Collection[int] | None = None) -> list[IndexedFile]:
    """These files by their ids, or all of them."""
    chosen = "" if files is None else f"WHERE files.id {IN}"
    rows = db.execute(
        "SELECT path, size, count(DISTINCT documents.id), count(chunks.id), indexed_at, warnings,"
        " coalesce(max(first.title), ''), mtime_ns / 1e9, coalesce(max(first.author), ''),"
        " coalesce(max(first.date), ''), count(embedded.chunk), scans FROM files"
        " LEFT JOIN documents ON documents.file = files.id"
        " LEFT JOIN documents AS first ON first.id = (SELECT min(id) FROM documents WHERE file = files.id)"
        " LEFT JOIN chunks ON chunks.document = documents.id"
        f" LEFT JOIN embedded ON embedded.chunk = chunks.id {chosen} GROUP BY files.id ORDER BY path",
        () if files is None else (array(files),),
    )
    return [IndexedFile(*(*row[:5], (*json.loads(row[5]), *of_scans(json.loads(row[-1]))), *row[6:-1])) for row in rows]


def headed(db: Database, most: int) -> list[tuple[str, str, list[str]]]:
    """Path, title and headings of some documents that have headings, those that came last first."""
    rows = db.execute(
        "SELECT path, title, headings FROM documents JOIN files ON files.id = file WHERE headings != '[]'"
        " ORDER BY documents.id DESC LIMIT ?",
        (most,),
    )
    return [(path, title, [text for _, _, text in json.loads(headings)]) for path, title, headings in rows]


# --- the stored texts of one file


def documents(db: Database, path: str) -> list[StoredDocument]:
    """The documents of a file in their order."""
    rows = db.execute(
        "SELECT documents.id, page, title, text, author, date, headings, lines FROM documents"
        " JOIN files ON files.id = file"
        " WHERE path = ? ORDER BY documents.id",
        (path,),
    )
    return [
        StoredDocument(*(number, *row, _begin(headings), _lines(lines)))
        for number, (*row, headings, lines) in enumerate(rows)
    ]


def _lines(stored: str) -> tuple[ReadLine, ...]:
    return tuple(ReadLine(*line) for line in json.loads(stored))


def _begin(stored: str) -> frozenset[int]:
    """Where the headings of a document begin; places of its kind, such as rows, have no line of their own."""
    headings = (Heading(*heading) for heading in json.loads(stored))
    return frozenset(heading.start for heading in headings if heading.level < PLACE)


def document_of(db: Database, key: str) -> int:
    """The id of the document that a chunk is of, 0 where the chunk is gone."""
    row = db.execute("SELECT document FROM chunks WHERE key = ?", (key,)).fetchone()
    return row[0] if row else 0


# --- chunks


class Section(NamedTuple):
    """Where a heading begins, its path and its level."""

    start: int
    path: str
    level: int


def chunks_by_file(db: Database) -> dict[int, list[int]]:
    """The chunks of every file that has any, in the order of the files' paths and of the text."""
    rows = db.execute(
        "SELECT files.id, chunks.id FROM chunks JOIN documents ON documents.id = chunks.document"
        " JOIN files ON files.id = documents.file ORDER BY files.path, chunks.id"
    )
    chunks: dict[int, list[int]] = {}
    for file, chunk in rows:
        chunks.setdefault(file, []).append(chunk)
    return chunks


def in_turns(db: Database, seed: int) -> list[int]:
    """Every chunk in an order that the seed decides: the files take turns, each with its next one."""
    turns = list(chunks_by_file(db).values())
    dice = random.Random(seed)
    dice.shuffle(turns)
    for chunks in turns:
        dice.shuffle(chunks)
    return [chunk for row in zip_longest(*turns) for chunk in row if chunk is not None]


def chunks_by_key(db: Database, keys: Collection[str]) -> dict[str, int]:
    """The ids of the chunks with these keys."""
    return dict(db.execute(f"SELECT key, id FROM chunks WHERE key {IN}", (array(keys),)))


def vectors_of(db: Database, digests: Sequence[bytes]) -> list[bytes | None]:
    """The vectors of the texts with these digests, None where there is none."""
    rows = (db.execute("SELECT vector FROM vectors WHERE digest = ?", (digest,)).fetchone() for digest in digests)
    return [row[0] if row else None for row in rows]


def headers(db: Database, ids: Collection[int]) -> dict[int, str]:
    """The headers of those of these chunks that have one."""
    sql = f"SELECT chunks.id, text FROM chunks JOIN headers ON headers.id = header WHERE chunks.id {IN}"
    return dict(db.execute(sql, (array(ids),))) if ids else {}


def passages(db: Database, ids: Sequence[int]) -> list[Passage]:
    """The chunks with their text, in the order of `ids`. Each document is read once, however long it is."""
    sql = f'SELECT document, id, key, start, "end", heading FROM chunks WHERE id {IN}'
    chunks = db.execute(sql, (array(ids),)).fetchall()
    sql = (
        "SELECT documents.id, path, mtime_ns, title, page, author, date, headings, lines, text FROM documents"
        f" JOIN files ON files.id = file WHERE documents.id {IN}"
    )
    documents = {row[0]: row[1:] for row in db.execute(sql, (array({row[0] for row in chunks}),))}
    outlines = {document: _outline(row[6]) for document, row in documents.items()}
    by_id = {}
    for document, number, key, start, end, heading in chunks:
        if document not in documents:  # on another server, whose half of a commit shows first
            continue
        path, changed, title, page, author, date, _, lines, text = documents[document]
        sections = _within(outlines[document], start, end)
        if places := [section.path for section in sections if section.level == PLACE]:
            heading = " to ".join(dict.fromkeys((places[0], places[-1].rpartition(" > ")[2])))
        by_id[number] = Passage(
            *(number, key, path, title, page, heading, start, end, text[start:end], author, date, _moment(changed)),
            sections=tuple((section.start, section.path) for section in sections),
            lines=tuple(line for line in _lines(lines) if line.start < end and line.end > start),
        )
    return [by_id[number] for number in ids if number in by_id]


def _outline(stored: str) -> list[Section]:
    headings = sorted((Heading(*heading) for heading in json.loads(stored)), key=lambda heading: heading.start)
    return [Section(*path, heading.level) for path, heading in zip(heading_paths(headings), headings, strict=True)]


def _within(outline: Sequence[Section], start: int, end: int) -> Sequence[Section]:
    """Those that begin before `end`, from the one in force at `start` on."""
    first = bisect_right(outline, start, key=lambda section: section.start)
    last = bisect_right(outline, end - 1, key=lambda section: section.start)
    return outline[max(0, first - 1) : last]


def _moment(mtime_ns: int) -> str:
    """When a file was last changed, to the minute in UTC; empty where it is not known, and for a page of the web."""
    return f"{datetime.fromtimestamp(mtime_ns / 1e9, UTC):%Y-%m-%dT%H:%MZ}" if mtime_ns > 0 else ""


@singledispatch
def sample(db: Database, table: str, limit: int) -> list[int]:
    """Up to `limit` ids of a table, spread evenly."""
    ids = [row[0] for row in db.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]
    count = min(limit, len(ids))
    return [ids[len(ids) * step // count] for step in range(count)]


def titles(db: Database, limit: int) -> list[tuple[str, str]]:
    """(title, path) of up to `limit` documents, spread evenly over the files, each title of a file once."""
    sql = f"SELECT documents.title, path FROM documents JOIN files ON files.id = file WHERE documents.id {IN}"
    return db.execute(sql, (array(sample(db, "names_content", limit)),)).fetchall()


# --- what waits for its vectors


def without_vectors(db: Database) -> list[tuple[int, int]]:
    """(chunk, length in code points) of the chunks that vector search does not see, those of the newest files first."""
    return db.execute(
        'SELECT chunks.id, "end" - start FROM chunks JOIN documents ON documents.id = chunks.document'
        " JOIN files ON files.id = documents.file"
        " WHERE NOT EXISTS (SELECT 1 FROM embedded WHERE embedded.chunk = chunks.id)"
        " ORDER BY files.mtime_ns DESC, files.id, chunks.id"
    ).fetchall()


def to_embed(db: Database, chunks: Collection[int]) -> tuple[dict[int, str], dict[int, str]]:
    """Texts that lack their vector: by chunk those of these chunks, by their numbers those of their headers."""
    lacking = f"SELECT id FROM chunks WHERE id {IN} AND NOT EXISTS (SELECT 1 FROM vectors WHERE digest = chunks.digest)"
    ids = [row[0] for row in db.execute(lacking, (array(chunks),))]
    texts = {passage.id: passage.text for passage in passages(db, ids)}
    of_chunks = f"SELECT DISTINCT header FROM chunks WHERE id {IN}"
    sql = f"SELECT id, text FROM headers WHERE vector IS NULL AND id IN ({of_chunks}) ORDER BY id"
    return texts, dict(db.execute(sql, (array(chunks),)))
