"""The tables of an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

VERSION = 1

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE roots (path TEXT PRIMARY KEY, excludes TEXT NOT NULL, secrets INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    warnings TEXT NOT NULL,
    indexed_at REAL NOT NULL
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    title TEXT NOT NULL,
    page INTEGER,
    text TEXT NOT NULL
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
"""Ids of chunks are never used twice (AUTOINCREMENT): a vector in memory stays true while its id exists.

`words` is contentless: its text is the span [start, end) of documents.text, and must be given again to delete a row.
`fresh` collects the vectors of another embedder until all are there.
"""


class Sql(Protocol):
    """The part of a connection that statements need; what SQLite gives back is untyped."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Any: ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Any: ...
