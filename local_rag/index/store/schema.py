"""The tables of an index, and the values that are written to them and read from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OLDEST, VERSION = 1, 2
"""The schemas that open, and that of a new index. The next command that writes to an older one adds what it lacks."""

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE roots (
    path TEXT PRIMARY KEY,
    excludes TEXT NOT NULL,
    secrets INTEGER NOT NULL,
    follow_links INTEGER NOT NULL DEFAULT 0,
    links_reported INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    warnings TEXT NOT NULL,
    indexed_at REAL NOT NULL,
    ctime_ns INTEGER NOT NULL DEFAULT 0,
    inode INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    title TEXT NOT NULL,
    page INTEGER,
    text TEXT NOT NULL,
    url TEXT NOT NULL DEFAULT ''
);
CREATE INDEX documents_of_file ON documents (file);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    key TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    heading TEXT NOT NULL
);
CREATE INDEX chunks_of_document ON chunks (document);
CREATE TABLE vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, vector BLOB NOT NULL);
CREATE TABLE fresh (chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(text, heading, title, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
"""
"""The tables of schema 1, with the columns of today.

Ids of chunks are never used twice (AUTOINCREMENT): a vector in memory stays true while its id exists.

`words` is contentless: its text is the span [start, end) of documents.text, and must be given again to delete a row.
`fresh` collects the vectors of another embedder until all are there.
"""

NEW_COLUMNS = (
    ("roots", "follow_links", "INTEGER NOT NULL DEFAULT 0"),
    ("roots", "links_reported", "INTEGER NOT NULL DEFAULT 0"),
    ("files", "ctime_ns", "INTEGER NOT NULL DEFAULT 0"),
    ("files", "inode", "INTEGER NOT NULL DEFAULT 0"),
    ("documents", "url", "TEXT NOT NULL DEFAULT ''"),
)
"""(table, column, declaration) of the columns that schema 1, and early indexes of schema 2, lack."""

NAMES = ("meta", "roots", "files", "documents", "chunks", "vectors", "fresh", "words", "vocabulary")
"""The tables that every schema has."""

OWN = ("meta", "files", "documents", "chunks", "words")
"""Those that tell an index from the databases of other programs."""

NUMBERS = ("dimension", "size", "overlap")
RECIPE = ("embedder", "fingerprint", *NUMBERS)
"""The rows of `meta` that say what made the index; nothing else knows them."""

NEW_TABLES = """
CREATE TABLE IF NOT EXISTS failures (
    path TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL,
    parser TEXT NOT NULL,
    reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reported (
    path TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (path, reason)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS excluded (path TEXT PRIMARY KEY, excludes TEXT NOT NULL) WITHOUT ROWID;
"""
"""The tables that schema 1 lacks.

`failures` are files whose content a version of the parser cannot read, each with the reason. `reported` is what earlier
syncs reported as skipped. `excluded` is what a person excluded from roots that were forgotten since: where one is
indexed again it holds as before.
"""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What made an index: other vectors or other passages are another index. `size` and `overlap` are in tokens."""

    embedder: str
    fingerprint: str
    dimension: int
    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that somebody asked to index, and how it is walked.

    `links_reported`: a sync has named the links that lead out of it and are not followed, and kept what it had of them.
    """

    path: str
    excludes: tuple[str, ...] = ()
    secrets: bool = False
    follow_links: bool = False
    links_reported: bool = False


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as it was when it was indexed, found by walking `root`; `warnings` say what of it could not be read.

    `ctime_ns` and `inode` are 0 where they are not known.
    """

    path: str
    root: str
    sha256: str
    size: int
    mtime_ns: int
    warnings: tuple[str, ...] = ()
    indexed_at: float = 0.0
    id: int = 0
    ctime_ns: int = 0
    inode: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A file whose content, of this SHA-256, this version of the parser cannot read."""

    path: str
    sha256: str
    parser: str
    reason: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its text. `key` names it for as long as its file keeps that text in that place."""

    id: int
    key: str
    source: str
    title: str
    page: int | None
    heading: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file of the index as a person sees it, with the title of its first document.

    `indexed_at` and `modified`, 0 for a page of the web, are in seconds since 1970.
    """

    path: str
    size: int
    documents: int
    chunks: int
    indexed_at: float
    warnings: tuple[str, ...]
    title: str = ""
    modified: float = 0.0


@dataclass(frozen=True, slots=True)
class Stored:
    """What an index has of passages that somebody names: its `content`, its files, and those of them by `key`."""

    content: str
    files: frozenset[str]
    passages: Mapping[str, Passage]
