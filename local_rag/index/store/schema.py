"""The tables of an index, and a person's words as a query of SQLite's FTS5."""

from __future__ import annotations

import re
import unicodedata

from local_rag.text.words import STOP_WORDS

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

_WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")

_MOST_TERMS = 100
"""FTS5 refuses expressions deeper than 256 (SQLITE_FTS5_MAX_EXPR_DEPTH)."""


def terms_of(text: str) -> list[str]:
    """Any text as strings of FTS5: words and phrases, stop words only if there is nothing else.

    "self-rag" is looked for as a phrase and as its words. The words stay as they are written: FTS5 folds them as it
    folded the text. FTS5 strings: https://sqlite.org/fts5.html#fts5_strings
    """
    terms: list[str] = []
    for piece in unicodedata.normalize("NFC", text).split():
        parts = _WORD.findall(piece)
        telling = [part for part in parts if part.casefold() not in STOP_WORDS]
        if len(parts) > 1 and telling:
            terms.append(" ".join(parts))
        terms += parts
    distinct = list(dict.fromkeys(terms))
    kept = [term for term in distinct if term.casefold() not in STOP_WORDS]
    return [f'"{term}"' for term in (kept or distinct)[:_MOST_TERMS]]
