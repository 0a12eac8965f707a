"""The tables of an index, and the values that are written to them and read from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from local_rag.core.documents import ReadLine
from local_rag.text.display import shorten

VERSION = 6
"""The schema. An index of another one is made again."""

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE roots (
    path TEXT PRIMARY KEY,
    excludes TEXT NOT NULL,
    secrets INTEGER NOT NULL,
    follow_links INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE excluded (path TEXT PRIMARY KEY, excludes TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE failures (
    path TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL,
    parser TEXT NOT NULL,
    reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE reported (path TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (path, reason)) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    container TEXT NOT NULL,
    root TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    warnings TEXT NOT NULL,
    scans TEXT NOT NULL,
    indexed_at REAL NOT NULL
);
CREATE INDEX files_by_container ON files (container);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    title TEXT NOT NULL,
    page INTEGER,
    url TEXT NOT NULL,
    author TEXT NOT NULL,
    date TEXT NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    folders TEXT NOT NULL,
    headings TEXT NOT NULL,
    lines TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX documents_by_file ON documents (file, date, author, title);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    key TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    heading TEXT NOT NULL,
    header INTEGER REFERENCES headers
);
CREATE INDEX chunks_of_document ON chunks (document);
CREATE INDEX chunks_of_digest ON chunks (digest);
CREATE INDEX chunks_of_header ON chunks (header);
CREATE TABLE headers (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, vector BLOB);
CREATE TABLE vectors (digest BLOB PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE embedded (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk INTEGER NOT NULL UNIQUE REFERENCES chunks ON DELETE CASCADE
);
CREATE VIRTUAL TABLE full_text USING fts5(
    text, heading, title, name, folders, author, date, subject, content='', tokenize='porter unicode61'
);
CREATE VIRTUAL TABLE stems USING fts5vocab(full_text, row);
CREATE VIRTUAL TABLE names USING fts5(
    name, title, author, date, subject, folders, tokenize='porter unicode61'
);
"""
"""Ids of files and chunks are never used twice (AUTOINCREMENT): what somebody keeps of one never means another.

`excluded` is what a person excluded from roots that were forgotten since: where one is indexed again it holds as
before. `failures` are files whose content a version of the parser cannot read. `reported` is what earlier syncs
reported as skipped.

A file inside of a file, such as an attachment, is a row of `files` whose `container` is the path of that file.
`headings` of a document are JSON: [[start, level, text], …]; `lines` are the fields of `ReadLine` in the same way, []
for a text that is the file's own. `scans` are the pages of a file that wait for OCR, a JSON array. `name` and `folders`
are words of the path as the full text was given them. What is long comes last: to reach a column SQLite reads all that
is before it.

`vectors` are those of the texts alone, by the digest of the text, `headers` the texts that are embedded beside them,
each once. `embedded` are the chunks whose text and header both have their vectors, in the order in which they got them:
vector search sees these. The vector of a text that no file holds any more stays until the sync ends: another file may
hold it.

`full_text` is contentless: its text is the span [start, end) of documents.text, and all of a row must be given again to
delete it. `names` has a row for each title that a file's documents have, under the id of the first document of that
title.
"""

OWN = frozenset("meta roots files documents chunks".split())
"""Tables that tell an index from the databases of other programs."""

TEXT_PACE, EMBEDDING_PACE = "text_pace", "embedding_pace"
"""In `meta`: passages per second of the last run of each phase."""

OF_OTHER_KINDS = "kinds of files that are not read: "
"""What `reported` says of a root begins so where files of it were left out for their suffix; their counts follow."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What made an index: other vectors or other passages are another index. `size` and `overlap` are in tokens."""

    embedder: str
    fingerprint: str
    dimension: int
    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that somebody asked to index, and how it is walked."""

    path: str
    excludes: tuple[str, ...] = ()
    secrets: bool = False
    follow_links: bool = False


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as it was when it was indexed, found by walking `root`; `warnings` say what of it could not be read.

    `container` is the path of the file that it lies in, empty for a file on the disk. `scans` are its pages that wait
    for OCR.
    """

    path: str
    root: str
    sha256: str
    size: int
    mtime_ns: int
    ctime_ns: int = 0
    inode: int = 0
    warnings: tuple[str, ...] = ()
    indexed_at: float = 0.0
    container: str = ""
    scans: tuple[int, ...] = ()


NO_TEXT = "no text layer (scanned?)"
"""How a warning ends that is about pages for OCR."""


def of_scans(scans: Sequence[int]) -> tuple[str, ...]:
    """The warning that pages wait for OCR; none where there are no such pages."""
    listed = shorten(", ".join(map(str, scans)), 60)
    return (f"page{'s' if scans[1:] else ''} {listed}: {NO_TEXT}",) if scans else ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A file whose content, of this SHA-256, this version of the parser cannot read."""

    path: str
    sha256: str
    parser: str
    reason: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its text. `key` names it for as long as its file keeps that text in that place.

    `sections` are where a heading begins within it, as (code point of the document, path), the one that it begins in
    first. `modified` (ISO 8601, UTC) is when its file was last changed, empty for a page of the web. `lines` are those
    that OCR has read.
    """

    id: int
    key: str
    source: str
    title: str
    page: int | None
    heading: str
    start: int
    end: int
    text: str
    author: str = ""
    date: str = ""
    modified: str = ""
    sections: tuple[tuple[int, str], ...] = ()
    lines: tuple[ReadLine, ...] = ()


class FileName(NamedTuple):
    """A file by its number and path, and what its first document says of itself, empty where it does not."""

    id: int
    path: str
    title: str
    author: str


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file of the index as a person sees it, with what its first document says of itself, empty where it does not.

    `indexed_at` and `modified`, 0 for a page of the web, are in seconds since 1970. Of its `chunks` that many are
    `embedded`.
    """

    path: str
    size: int
    documents: int
    chunks: int
    indexed_at: float
    warnings: tuple[str, ...]
    title: str
    modified: float
    author: str
    date: str
    embedded: int


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document of a file: `number` counts from 0 in the file, `headings` are the code points where one begins."""

    number: int
    id: int
    page: int | None
    title: str
    text: str
    author: str
    date: str
    headings: frozenset[int] = frozenset()
    lines: tuple[ReadLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """What an index has of passages that somebody names: its `content`, its files, and those of them by `key`."""

    content: str
    files: frozenset[str]
    passages: Mapping[str, Passage]
