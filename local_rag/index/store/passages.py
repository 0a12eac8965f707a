"""Standard SQL that every store runs about documents and their chunks."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import NamedTuple

from local_rag.core import cancel
from local_rag.core.documents import PLACE, Heading, ReadLine
from local_rag.index.prepare import digest
from local_rag.index.store.rows import Rows, consistent, listed
from local_rag.index.store.values import Conditions, Passage, StoredDocument
from local_rag.text.chunking import heading_paths


class Section(NamedTuple):
    """A heading: the code point where it begins, its path of headings, and its level."""

    start: int
    path: str
    level: int


class Passages(Rows):
    """The part of a store that reads documents and chunks. Ids that are gone are left out of every result."""

    # --- what a filter asks of documents

    _day: str
    """SQL for the date of a document d, which may lack its day or its month. A document without a date has that of its
    file, for a page of the web the date when it was fetched.
    """

    def any_document(self, conditions: Conditions) -> bool:
        """Return whether any document meets these conditions, their phrases aside."""
        where, values = self._where(conditions)
        return bool(self._execute(f"SELECT 1 FROM documents d WHERE {where} LIMIT 1", *values))

    def files_meeting(self, conditions: Conditions) -> list[int]:
        """Return the ids of the files with a document that meets these conditions, their phrases aside."""
        where, values = self._where(conditions)
        return self._column(f"SELECT DISTINCT d.file FROM documents d WHERE {where}", *values)

    def _where(self, conditions: Conditions) -> tuple[str, list[object]]:
        """Return SQL over `documents` d for these conditions, and its values.

        Of a partial date any day counts: its last day is compared with the first border, its first day with the last
        border.
        """
        clauses, values = ["true"], list[object]()
        for column, chosen in (("file", conditions.files), ("author", conditions.authors)):
            if chosen is not None:
                values.append(listed(chosen))
                clauses.append(f"d.{column} {self._in(len(values))}")
        if conditions.after or conditions.before:
            values += [conditions.after or "0001-01-01", conditions.before or "9999-01-01"]
            first, last = f"${len(values) - 1}", f"${len(values)}"
            within = f"day >= substr({first}, 1, length(day)) AND day || substr('0000-01-01', length(day) + 1) < {last}"
            clauses.append(f"EXISTS (SELECT 1 FROM (SELECT {self._day} AS day) AS dated WHERE {within})")
        return " AND ".join(clauses), values

    # --- documents

    def documents(self, path: str) -> list[StoredDocument]:
        """Return the documents of a file in their order."""
        rows = self._execute(
            "SELECT text, title, page, headings, url, author, date, subject, lines, documents.id FROM documents"
            " JOIN files ON files.id = file WHERE path = $1 ORDER BY documents.id",
            path,
        )
        return [
            StoredDocument(
                text, title, page, _headings(headings), url, author, date, subject, _read_lines(lines), number, id
            )
            for number, (text, title, page, headings, url, author, date, subject, lines, id) in enumerate(rows)
        ]

    def document_of(self, key: str) -> int:
        """Return the id of the document that a chunk belongs to, 0 where the chunk is gone."""
        return self._value("SELECT document FROM chunks WHERE key = $1", key) or 0

    def tables(self, keys: Collection[str]) -> dict[str, bytes]:
        """Return the tables of the documents that chunks belong to, by the keys of the chunks; a document without one
        is left out.
        """
        of = dict(self._execute(f"SELECT key, document FROM chunks WHERE key {self._in(1)}", listed(keys)))
        sql = f"SELECT id, tables FROM documents WHERE id {self._in(1)} AND length(tables) > 0"
        known = dict(self._execute(sql, listed({*of.values()})))
        return {key: known[document] for key, document in of.items() if document in known}

    def tables_of(self, path: str) -> dict[int, bytes]:
        """Return the tables of the documents of a file by their number in it, for documents with tables."""
        sql = "SELECT tables FROM documents JOIN files ON files.id = file WHERE path = $1 ORDER BY documents.id"
        return {number: tables for number, (tables,) in enumerate(self._execute(sql, path)) if tables}

    def headed(self, most: int) -> list[tuple[str, str, list[str]]]:
        """Return path, title and headings of up to `most` documents that have headings, those stored last first."""
        rows = self._execute(
            "SELECT path, title, headings FROM documents JOIN files ON files.id = file WHERE headings != '[]'"
            " ORDER BY documents.id DESC LIMIT $1",
            most,
        )
        return [(path, title, [heading.text for heading in _headings(headings)]) for path, title, headings in rows]

    def titles(self, limit: int) -> list[tuple[str, str]]:
        """Return (title, path) of up to `limit` documents, spread evenly over the files, each title of a file once."""
        sql = "SELECT documents.title, path FROM documents JOIN files ON files.id = file"
        return self._execute(f"{sql} WHERE documents.id {self._in(1)}", self._sample("names", "rowid", limit))

    def title_chunks(self, file: int, title: str) -> list[tuple[int, str]]:
        """Return (chunk, heading) of all passages of a file under one title, in the order of the text."""
        return self._execute(
            "SELECT chunks.id, heading FROM documents JOIN chunks ON document = documents.id"
            " WHERE file = $1 AND title = $2 ORDER BY documents.id, start",
            file,
            title,
        )

    # --- chunks

    def chunks_by_file(self) -> list[list[int]]:
        """Return the chunks of every file that has any, in the order of the files' paths and of the text."""
        rows = self._execute(
            "SELECT files.id, chunks.id FROM chunks JOIN documents ON documents.id = chunks.document"
            " JOIN files ON files.id = documents.file ORDER BY files.path, chunks.id"
        )
        chunks: dict[int, list[int]] = {}
        for file, chunk in rows:
            chunks.setdefault(file, []).append(chunk)
        return list(chunks.values())

    def in_turns(self, seed: int) -> list[int]:
        """Return every chunk in an order that the seed decides: the files take turns, each with its next chunk."""
        turns = self.chunks_by_file()
        dice = random.Random(seed)
        dice.shuffle(turns)
        for chunks in turns:
            dice.shuffle(chunks)
        return [chunk for row in zip_longest(*turns) for chunk in row if chunk is not None]

    def sample(self, limit: int) -> list[int]:
        """Return up to `limit` chunks, spread evenly over the index."""
        return self._sample("chunks", "id", limit)

    def _sample(self, table: str, key: str, limit: int) -> list[int]:
        rows = self._value(f"SELECT count(*) FROM {table}")
        places = f"SELECT {key} AS id, row_number() OVER (ORDER BY {key}) - 1 AS place FROM {table}"
        sql = f"SELECT id FROM ({places}) AS numbered WHERE place % $1 = 0 ORDER BY id LIMIT $2"
        return self._column(sql, max(1, rows // limit), limit)

    def chunks_by_key(self, keys: Collection[str]) -> dict[str, int]:
        """Return the ids of the chunks with these keys."""
        return dict(self._execute(f"SELECT key, id FROM chunks WHERE key {self._in(1)}", list(keys))) if keys else {}

    @consistent
    def passages(self, ids: Sequence[int]) -> list[Passage]:
        """Return the chunks with their text, in the order of `ids`. Each document is read once, however long it is."""
        columns = 'document, id, key, start, "end", heading'
        chunks = self._execute(f"SELECT {columns} FROM chunks WHERE id {self._in(1)}", listed(ids))
        rows = self._execute(
            "SELECT documents.id, path, mtime_ns, title, page, author, date, headings, lines, text FROM documents"
            f" JOIN files ON files.id = file WHERE documents.id {self._in(1)}",
            listed({row[0] for row in chunks}),
        )
        documents = {row[0]: row[1:] for row in rows}
        outlines = {document: _outline(row[6]) for document, row in documents.items()}
        by_id = {}
        for document, number, key, start, end, heading in chunks:
            path, changed, title, page, author, date, _, lines, text = documents[document]
            sections = _within(outlines[document], start, end)
            if places := [section.path for section in sections if section.level == PLACE]:
                heading = " to ".join(dict.fromkeys((places[0], places[-1].rpartition(" > ")[2])))
            by_id[number] = Passage(
                *(number, key, path, title, page, heading, start, end, text[start:end], author, date, _moment(changed)),
                sections=tuple((section.start, section.path) for section in sections),
                lines=tuple(line for line in _read_lines(lines) if line.start < end and line.end > start),
            )
        return [by_id[number] for number in ids if number in by_id]

    def copies(self, digest: bytes) -> list[tuple[int, str]]:
        """Return (chunk, path) of every passage whose text has this digest."""
        return self._execute(
            "SELECT chunks.id, path FROM chunks JOIN documents ON documents.id = document"
            " JOIN files ON files.id = file WHERE digest = $1 ORDER BY path, chunks.id",
            digest,
        )

    # --- what waits for its vectors

    def pending(self) -> list[tuple[int, int]]:
        """Return (chunk, length in code points) of the chunks that vector search does not see, those of the newest
        files first.
        """
        return self._execute(
            'SELECT chunks.id, "end" - start FROM chunks JOIN documents ON documents.id = chunks.document'
            " JOIN files ON files.id = documents.file"
            " WHERE NOT EXISTS (SELECT 1 FROM embedded WHERE embedded.chunk = chunks.id)"
            " ORDER BY files.mtime_ns DESC, files.id, chunks.id"
        )

    @consistent
    def to_embed(self, chunks: Collection[int]) -> tuple[dict[int, str], dict[int, str]]:
        """Return the texts without a vector: those of these chunks by chunk, and those of their headers by number."""
        lacking = "NOT EXISTS (SELECT 1 FROM vectors WHERE digest = chunks.digest)"
        ids = self._column(f"SELECT id FROM chunks WHERE id {self._in(1)} AND {lacking}", listed(chunks))
        texts = {passage.id: passage.text for passage in self.passages(ids)}
        of_chunks = f"SELECT DISTINCT header FROM chunks WHERE id {self._in(1)}"
        sql = f"SELECT id, text FROM headers WHERE vector IS NULL AND id IN ({of_chunks}) ORDER BY id"
        return texts, dict(self._execute(sql, listed(chunks)))

    def headers(self, ids: Collection[int]) -> dict[int, str]:
        """Return the headers of these chunks; a chunk without a header is left out."""
        sql = f"SELECT chunks.id, text FROM chunks JOIN headers ON headers.id = header WHERE chunks.id {self._in(1)}"
        return dict(self._execute(sql, listed(ids)))

    def spans(self, path: str) -> list[tuple[int, int, int, int, str]]:
        """Return (chunk, document, start, end, heading) of all passages of a file."""
        columns = 'chunks.id, document, start, "end", heading'
        sql = f"SELECT {columns} FROM chunks JOIN documents ON documents.id = document JOIN files ON files.id = file"
        return self._execute(f"{sql} WHERE path = $1 ORDER BY chunks.id", path)

    def vectors(self, digests: Iterable[bytes]) -> list[bytes | None]:
        """Return the vectors of the texts with these digests, None where there is none."""
        return [self._value("SELECT vector FROM vectors WHERE digest = $1", digest) for digest in digests]

    def header_vectors(self, texts: Collection[str]) -> dict[str, bytes]:
        """Return the vectors of these headers; a header without a vector is left out."""
        sql = f"SELECT text, vector FROM headers WHERE vector IS NOT NULL AND text {self._in(1)}"
        return dict(self._execute(sql, list(texts)))

    @consistent
    def changed(self) -> list[str]:
        """Return the paths of the files with a passage whose text no longer has its digest."""
        changed: set[str] = set()
        for number, path in self._execute("SELECT documents.id, path FROM documents JOIN files ON files.id = file"):
            cancel.check()
            text = self._value("SELECT text FROM documents WHERE id = $1", number)
            chunks = self._execute('SELECT digest, start, "end" FROM chunks WHERE document = $1', number)
            if any(known != digest(text[start:end]) for known, start, end in chunks):
                changed.add(path)
        return sorted(changed)


def _read_lines(stored: str) -> tuple[ReadLine, ...]:
    return tuple(ReadLine(*line) for line in json.loads(stored))


def _headings(stored: str) -> tuple[Heading, ...]:
    return tuple(Heading(*heading) for heading in json.loads(stored))


def _outline(stored: str) -> list[Section]:
    headings = sorted(_headings(stored), key=lambda heading: heading.start)
    return [Section(*path, heading.level) for path, heading in zip(heading_paths(headings), headings, strict=True)]


def _within(outline: Sequence[Section], start: int, end: int) -> Sequence[Section]:
    """Return the sections that begin before `end`, from the one in force at `start` on."""
    first = bisect_right(outline, start, key=lambda section: section.start)
    last = bisect_right(outline, end - 1, key=lambda section: section.start)
    return outline[max(0, first - 1) : last]


def _moment(mtime_ns: int) -> str:
    """Return when a file was last changed, to the minute in UTC; "" where that is not known, and for a page of the
    web.
    """
    return f"{datetime.fromtimestamp(mtime_ns / 1e9, UTC):%Y-%m-%dT%H:%MZ}" if mtime_ns > 0 else ""
