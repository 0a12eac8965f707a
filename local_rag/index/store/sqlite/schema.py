"""The tables of an index in a folder."""

from __future__ import annotations

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE roots (
    path TEXT PRIMARY KEY,
    excludes TEXT NOT NULL,
    secrets INTEGER NOT NULL,
    follow_links INTEGER NOT NULL,
    forgotten INTEGER NOT NULL
) WITHOUT ROWID;
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
    complete INTEGER NOT NULL,
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
    language TEXT NOT NULL,
    headings TEXT NOT NULL,
    lines TEXT NOT NULL,
    text TEXT NOT NULL,
    tables BLOB NOT NULL
);
CREATE INDEX documents_by_file ON documents (file, date, author, title);
CREATE INDEX documents_by_language ON documents (language);
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
    text, heading, title, name, folders, author, date, subject, stemmed, content='', tokenize='porter unicode61'
);
CREATE VIRTUAL TABLE stems USING fts5vocab(full_text, row);
CREATE VIRTUAL TABLE names USING fts5(
    name, title, author, date, subject, folders, tokenize='porter unicode61'
);
"""
"""Ids of files and chunks are never used twice (AUTOINCREMENT): what somebody keeps of one never means another.

A root that is `forgotten` stays for what a person excluded from it, which holds when it is indexed again. `failures`
are files whose content a version of the parser cannot read. `reported` is what earlier syncs reported as skipped.

A file inside of a file, such as an attachment, is a row of `files` whose `container` is the path of that file.
`headings` of a document are JSON: [[start, level, text], …]; `lines` are the fields of `ReadLine` in the same way, []
for a text that is the file's own. `scans` are the pages of a file that wait for OCR, a JSON array. `name` and `folders`
are words of the path as the full text got them. `language` is a code, "" where it is not known. `tables` are those of
its text with typed columns, as `index.tables.table` keeps them, empty for none. Long columns come last: to reach a
column SQLite reads all that is before it.

`vectors` are those of the texts alone, by the digest of the text, `headers` the texts that are embedded beside them,
each once. `embedded` are the chunks whose text and header both have their vectors, in the order in which they got them:
vector search sees these. The vector of a text that no file holds any more stays until the sync ends: another file may
hold it.

`full_text` is contentless: its text is the span [start, end) of documents.text, and all of a row must be given again to
delete it. `stemmed` are the stems of its words in its language. `names` has a row for each title that a file's
documents have, under the id of the first document of that title.
"""

OWN = frozenset("meta roots files documents chunks".split())
"""Tables that distinguish an index from the databases of other programs."""
