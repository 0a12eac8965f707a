"""The tables of an index, and the values that are written to them and read from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

OLDEST, VERSION = 1, 3
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
    url TEXT NOT NULL DEFAULT '',
    author TEXT NOT NULL DEFAULT '',
    date TEXT NOT NULL DEFAULT '',
    subject TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL DEFAULT '',
    folders TEXT NOT NULL DEFAULT '',
    header TEXT NOT NULL DEFAULT '',
    header_version INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    key TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    heading TEXT NOT NULL,
    header INTEGER
);
CREATE INDEX chunks_of_document ON chunks (document);
CREATE TABLE vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, vector BLOB NOT NULL);
CREATE TABLE fresh (chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, vector BLOB NOT NULL);
"""
"""The tables of schema 1 but for its full text, with the columns of today.

Ids of chunks are never used twice (AUTOINCREMENT): a vector in memory stays true while its id exists.

`vectors` are those of the texts alone; a chunk may lack one. `fresh` collects those of another embedder until all are
there. `documents.name` and `documents.folders` are words of the path as the full text was given them.
`documents.header_version` is 0 where nothing has a header yet, and negative where the header was made of what was
stored, because the file could not be read again: it is read again once it can be.
"""

NEW_COLUMNS = (
    ("roots", "follow_links", "INTEGER NOT NULL DEFAULT 0"),
    ("roots", "links_reported", "INTEGER NOT NULL DEFAULT 0"),
    ("files", "ctime_ns", "INTEGER NOT NULL DEFAULT 0"),
    ("files", "inode", "INTEGER NOT NULL DEFAULT 0"),
    ("documents", "url", "TEXT NOT NULL DEFAULT ''"),
    ("documents", "author", "TEXT NOT NULL DEFAULT ''"),
    ("documents", "date", "TEXT NOT NULL DEFAULT ''"),
    ("documents", "subject", "TEXT NOT NULL DEFAULT ''"),
    ("documents", "name", "TEXT NOT NULL DEFAULT ''"),
    ("documents", "folders", "TEXT NOT NULL DEFAULT ''"),
    ("documents", "header", "TEXT NOT NULL DEFAULT ''"),
    ("documents", "header_version", "INTEGER NOT NULL DEFAULT 0"),
    ("chunks", "header", "INTEGER"),
)
"""(table, column, declaration) of the columns that indexes of earlier schemas lack."""

NAMES = ("meta", "roots", "files", "documents", "chunks", "vectors", "fresh")
"""The tables that every schema has, besides that of its full text."""

SEARCHED = ("headers", "embedded")
"""The tables that a search of this schema reads besides."""

OWN = ("meta", "files", "documents", "chunks", "vectors")
"""Those that tell an index from the databases of other programs."""

NUMBERS = ("dimension", "size", "overlap")
TEXT_PACE, EMBEDDING_PACE = "text_pace", "embedding_pace"
"""In `meta`: passages per second of the last run of each phase."""

OF_OTHER_KINDS = "kinds of files that are not read: "
"""What `reported` says of a root begins so where files of it were left out for their suffix; their counts follow."""

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
CREATE TABLE IF NOT EXISTS headers (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, vector BLOB);
CREATE INDEX IF NOT EXISTS headers_without_vector ON headers (id) WHERE vector IS NULL;
CREATE TABLE IF NOT EXISTS fresh_headers (
    header INTEGER PRIMARY KEY REFERENCES headers ON DELETE CASCADE,
    vector BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS embedded (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk INTEGER NOT NULL UNIQUE REFERENCES chunks ON DELETE CASCADE,
    header INTEGER
);
CREATE VIRTUAL TABLE IF NOT EXISTS full_text USING fts5(
    text, heading, title, name, folders, author, date, subject, content='', tokenize='porter unicode61'
);
CREATE VIRTUAL TABLE IF NOT EXISTS stems USING fts5vocab(full_text, row);
CREATE TABLE IF NOT EXISTS spare (digest BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS former_paths (
    path TEXT NOT NULL,
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    PRIMARY KEY (path, file)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS former_keys (
    key TEXT PRIMARY KEY,
    chunk INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS former_paths_of_file ON former_paths (file);
CREATE INDEX IF NOT EXISTS former_keys_of_chunk ON former_keys (chunk);
CREATE INDEX IF NOT EXISTS chunks_of_digest ON chunks (digest);
CREATE INDEX IF NOT EXISTS chunks_of_header ON chunks (header);
DROP INDEX IF EXISTS documents_of_file;
CREATE INDEX IF NOT EXISTS documents_by_file ON documents (file, header_version, date, author, title);
CREATE INDEX IF NOT EXISTS documents_by_header_version ON documents (header_version);
"""
"""What schema 1 lacks.

`failures` are files whose content a version of the parser cannot read, each with the reason. `reported` is what earlier
syncs reported as skipped. `excluded` is what a person excluded from roots that were forgotten since: where one is
indexed again it holds as before. `spare` are vectors of texts that changed files no longer hold, until the sync ends:
another file may hold them now. `former_paths` and `former_keys` are those of files that have moved and of their
chunks: what was written down under them finds what is meant.

`headers` are the headers of chunks with their vectors, NULL until they are embedded. `embedded` are the chunks that
vector search sees, in the order in which their vectors came; its `header` is the one whose vector was there then. Both
numbers and what they stand for never change: a chunk that gets another header, or the vector of its header, gets
another `seq`.

`full_text` is contentless: its text is the span [start, end) of documents.text, and all of a row must be given again to
delete it. The columns of `documents` that lie behind its text are read through indexes: to reach them SQLite would read
the text.
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
    """A chunk with its text. `key` names it for as long as its file keeps that text in that place.

    `modified` (ISO 8601, UTC) is when its file was last changed, empty for a page of the web.
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
    title: str = ""
    modified: float = 0.0
    author: str = ""
    date: str = ""
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What an index has of passages that somebody names: its `content`, its files, and those of them by `key`."""

    content: str
    files: frozenset[str]
    passages: Mapping[str, Passage]
