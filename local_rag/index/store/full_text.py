"""The full text of an index: FTS5 ranks chunks by the words in them, in their headings, and in what names their file.

Chunks of an earlier schema are in a table of fewer columns, `words`, which answers until the new one holds them all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from sqlite3 import Connection

from local_rag.index.store import shapes
from local_rag.index.store.arrays import IN, array

COLUMNS = ("text", "heading", "title", "name", "folders", "author", "date", "subject")
EARLIER = COLUMNS[:3]
"""Those of schemas 1 and 2."""

WEIGHTS = (1.0,) * len(COLUMNS)
"""What a word counts for in each column (https://sqlite.org/fts5.html#the_bm25_function). Others that were measured, .2
and .5 for names, 2 for heading and title, change little."""

GROUPS = (COLUMNS[:3], ("name", "author", "date", "subject"), ("folders",))
"""Columns in which a word is looked for by itself, that of the content first: a word of names is as rare as it is among
names, one of the folders that all files lie in says nothing, and in texts both stay as telling as they are there."""

_RETIRED = "earlier_words"
"""What `words` is called once it no longer answers, while its rows are deleted."""

_ROWS = 2000
"""Rows of it, of 4 kB each, that one transaction deletes."""

Row = tuple[int, Sequence[str]]
"""A chunk and the texts of its columns."""


# --- ranking


def matching(
    db: Connection,
    query: str,
    limit: int,
    chosen: str | None,
    exclude: Collection[int],
    weights: Sequence[float] = WEIGHTS,
) -> list[tuple[int, float]]:
    """(chunk, BM25) of the best chunks for an FTS5 query, best first; SQLite's BM25 is negative, less is better.

    `chosen` are ids as JSON, None for all. The + keeps SQLite from asking FTS5 once per chosen chunk: 66 s instead of
    0.1 s for 50,000 of them.
    """
    table, score = _ranked_by(db, weights)
    wheres, values = [f"{table} MATCH ?"], [query]
    if chosen is not None:
        wheres.append(f"+rowid {IN}")
        values.append(chosen)
    if exclude:
        wheres.append(f"rowid NOT {IN}")
        values.append(array(exclude))
    sql = f"SELECT rowid, {score} AS score FROM {table} WHERE {' AND '.join(wheres)} ORDER BY score, rowid LIMIT ?"
    return [(row[0], row[1]) for row in db.execute(sql, [*values, limit])]


def scores(db: Connection, query: str, chunks: Collection[int], weights: Sequence[float] = WEIGHTS) -> dict[int, float]:
    """The BM25 of those of these chunks that an FTS5 query matches."""
    table, score = _ranked_by(db, weights)
    sql = f"SELECT rowid, {score} FROM {table} WHERE {table} MATCH ? AND +rowid {IN}"
    return dict(db.execute(sql, (query, array(chunks))))


def _ranked_by(db: Connection, weights: Sequence[float]) -> tuple[str, str]:
    """The table, and BM25 in SQL with a weight per column; `words` has the first three of them."""
    table = shapes.full_text(db)
    return table, f"bm25({', '.join([table, *(repr(float(weight)) for weight in weights)])})"


def fields(db: Connection) -> list[str]:
    """The column filters, before the FTS5 string, in which a word is looked for: that of the content comes first."""
    groups = GROUPS if shapes.full_text(db) == "full_text" else (EARLIER,)
    return [f"{{{' '.join(columns)}}} : " for columns in groups]


def matches(db: Connection, query: str) -> int:
    """How many chunks an FTS5 query matches."""
    table = shapes.full_text(db)
    return int(db.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (query,)).fetchone()[0])


def is_rare_elsewhere(db: Connection, query: str, files: Collection[int], share: float) -> bool:
    """Whether at most this share of the chunks of other files, or one of them, match an FTS5 query."""
    table, values = shapes.full_text(db), array(files)
    own = f"SELECT chunks.id FROM chunks JOIN documents ON documents.id = document WHERE documents.file {IN}"
    (others,) = db.execute(f"SELECT (SELECT count(*) FROM chunks) - count(*) FROM ({own})", (values,)).fetchone()
    most = max(1, int(share * others))
    matching = f"SELECT 1 FROM {table} WHERE {table} MATCH ? AND +rowid NOT IN ({own}) LIMIT ?"
    (count,) = db.execute(f"SELECT count(*) FROM ({matching})", (query, values, most + 1)).fetchone()
    return int(count) <= most


def frequencies(db: Connection, stems: Collection[str]) -> dict[str, int]:
    """In how many chunks each stem occurs; stems that occur nowhere are left out."""
    sql = f"SELECT term, doc FROM {shapes.stems(db)} WHERE term = ?"
    return {row[0]: row[1] for stem in stems for row in db.execute(sql, (stem,))}


# --- writing


def digest(text: str) -> bytes:
    """What tells texts apart, white space aside: its amount and kind say nothing to the embedders' tokenizers.

    Every index stores these digests: another way to make them would embed all texts anew, and damage their full text
    (see `remove`). An embedder for which white space counts, as in code, needs digests of its own.
    """
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=12).digest()


def add(db: Connection, documents: Collection[int]) -> None:
    """Take the chunks of these documents in; into the earlier table, too, while that answers."""
    for rows, _ in _stored(db, documents):
        _insert(db, "full_text", COLUMNS, rows)
        if shapes.has_table(db, "words"):
            _insert(db, "words", EARLIER, rows)


def add_columns(db: Connection, documents: Collection[int]) -> None:
    """Take the chunks of these documents, which the earlier table has, into the new one."""
    for rows, _ in _stored(db, documents):
        _insert(db, "full_text", COLUMNS, rows)


def remove(db: Connection, documents: Collection[int], *, earlier: bool = True) -> bool:
    """Take the chunks of these documents out, which needs all their words; False if those are not what was stored.

    Without `earlier` they stay in the earlier table.
    """
    certain = True
    for rows, digests in _stored(db, documents):
        certain = certain and all(digest(texts[0]) == stored for (_, texts), stored in zip(rows, digests, strict=True))
        ids = array(row[0] for row in rows)
        present = {row[0] for row in db.execute(f"SELECT id FROM full_text_docsize WHERE id {IN}", (ids,))}
        _delete(db, "full_text", COLUMNS, [row for row in rows if row[0] in present])
        if earlier and shapes.has_table(db, "words"):
            _delete(db, "words", EARLIER, rows)
    return certain


def held(db: Connection, documents: Collection[int]) -> list[int]:
    """Those of these documents that have a chunk in the new table."""
    sql = "SELECT DISTINCT document FROM chunks JOIN full_text_docsize AS held ON held.id = chunks.id"
    return [row[0] for row in db.execute(f"{sql} WHERE document {IN}", (array(documents),))]


def restore(db: Connection) -> None:
    """Make the full text anew from what is stored."""
    for table in ("vocabulary", "words"):
        db.execute(f"DROP TABLE IF EXISTS {table}")
    db.execute("INSERT INTO full_text (full_text) VALUES ('delete-all')")
    for (document,) in db.execute("SELECT id FROM documents ORDER BY id").fetchall():
        add_columns(db, [document])


def has_earlier(db: Connection) -> bool:
    """Whether the earlier table answers."""
    return shapes.has_table(db, "words")


def retire(db: Connection) -> None:
    """Let the new table answer, which must hold all chunks, in the place of the earlier one."""
    db.execute("DROP TABLE IF EXISTS vocabulary")
    db.execute(f"ALTER TABLE words RENAME TO {_RETIRED}")


def has_retired(db: Connection) -> bool:
    """Whether an earlier table is left that no longer answers: what is removed from the index stays in it."""
    return shapes.has_table(db, _RETIRED)


def drop_step(db: Connection) -> None:
    """Delete some rows of the earlier table, in the end the table.

    In one transaction SQLite would write every page that it zeroes, gigabytes in a large index, to the WAL.
    """
    for table, kept in ((f"{_RETIRED}_data", "id > 10"), (f"{_RETIRED}_docsize", "1")):  # FTS5 reads its first rows
        sql = f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {kept} LIMIT ?)"
        if db.execute(sql, (_ROWS,)).rowcount:
            return
    db.execute(f"DROP TABLE {_RETIRED}")


def _insert(db: Connection, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
    names, marks = ", ".join(columns), ", ".join("?" * (len(columns) + 1))
    sql = f"INSERT INTO {table} (rowid, {names}) VALUES ({marks})"
    db.executemany(sql, [(chunk, *texts[: len(columns)]) for chunk, texts in rows])


def _delete(db: Connection, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
    names, marks = ", ".join(columns), ", ".join("?" * (len(columns) + 1))
    sql = f"INSERT INTO {table} ({table}, rowid, {names}) VALUES ('delete', {marks})"
    db.executemany(sql, [(chunk, *texts[: len(columns)]) for chunk, texts in rows])


def _stored(db: Connection, documents: Collection[int]) -> Iterator[tuple[list[Row], list[bytes]]]:
    """The rows of each document, and the digests of their texts; read as bytes, for what is damaged may be no text."""
    told = ", ".join(f"CAST({name} AS BLOB)" for name in ("text", "title", *COLUMNS[3:]))
    sql = f"SELECT id, {told} FROM documents WHERE id {IN} ORDER BY id"
    of_chunks = "SELECT id, start, end, CAST(heading AS BLOB), digest FROM chunks WHERE document = ? ORDER BY id"
    for document, *parts in db.execute(sql, (array(documents),)):
        text, title, *others = (part.decode("utf-8", "replace") for part in parts)
        chunks = db.execute(of_chunks, (document,)).fetchall()
        rows: list[Row] = [
            (chunk, (text[start:end], heading.decode("utf-8", "replace"), title, *others))
            for chunk, start, end, heading, _ in chunks
        ]
        yield rows, [chunk[-1] for chunk in chunks]
