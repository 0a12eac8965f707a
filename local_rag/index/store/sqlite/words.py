"""Full text in SQLite: FTS5 ranks chunks by the words in them, in their headings, and in what names their file.

BM25 is FTS5's own (https://sqlite.org/fts5.html#the_bm25_function); it is negative, less is better.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from local_rag.index.store.rows import listed
from local_rag.index.store.words import CONTENT, COUNTED, FIELDS, Ranking, Term, Words
from local_rag.text.words import WORD, stem, words

Run = Callable[..., list[Any]]
"""Executes a statement with its values, and gives its rows."""

COLUMNS = ("text", "heading", "title", "name", "folders", "author", "date", "subject")

_COLUMNS_OF = dict(zip(FIELDS, ("text heading title", "name author date subject", "folders"), strict=True))


def expression(terms: Iterable[Term]) -> str:
    """An FTS5 query for any of these terms."""
    return " OR ".join(f'{{{_COLUMNS_OF[term.field]}}} : "{term.text}"' for term in terms)


def counted(run: Run, chunks: int, terms: Sequence[Term]) -> dict[Term, int]:
    """In how many of so many chunks terms occur; of a frequent one about."""
    return {term: (_in_text if term.field == CONTENT else _in_names)(run, chunks, term) for term in terms}


def _in_names(run: Run, chunks: int, term: Term) -> int:
    """The table of names is small: to find there that no name has a word takes less than among all chunks."""
    ((count,),) = run("SELECT count(*) FROM names WHERE names MATCH $1", expression([term]))
    return int(-(-count * chunks // run("SELECT count(*) FROM names")[0][0])) if count else 0


def _in_text(run: Run, chunks: int, term: Term) -> int:
    """FTS5 goes through the chunks by their ids: where the last of COUNTED lies tells how many there are in all."""
    sql = "SELECT count(*), max(rowid) FROM (SELECT rowid FROM full_text WHERE full_text MATCH $1 LIMIT $2)"
    ((count, last),) = run(sql, expression([term]), COUNTED)
    if count < COUNTED:
        return int(count)
    ((first, end),) = run("SELECT (SELECT min(id) FROM chunks), (SELECT max(id) FROM chunks)")
    estimate: float = count * (end - first + 1) / max(1, last - first + 1)
    return min(chunks, round(estimate))


def best(run: Run, query: Words, limit: int, where: str = "") -> Ranking:
    """The best chunks for any of the terms, under a condition."""
    return query.best(limit, lambda needed: _ranked(run, list(query.counts), needed, limit, where))


def among(run: Run, query: Words, chunks: Collection[int], limit: int) -> Ranking:
    """The best of these chunks: FTS5 looks at what lies between the first and the last. The + keeps SQLite from asking
    it once for each of them.
    """
    if not chunks:
        return []
    where = (
        f"AND rowid BETWEEN {int(min(chunks))} AND {int(max(chunks))} AND +rowid IN (SELECT value FROM json_each($3))"
    )
    return _matching(run, expression(query.counts), limit, where, listed(chunks))


def _ranked(run: Run, terms: Sequence[Term], needed: int, limit: int, where: str) -> Ranking:
    """The best chunks with one of the first `needed` terms, by all terms.

    FTS5 can only ask for such a term by naming it twice, and then counts it twice: its share is taken off again.
    """
    rare, every = expression(terms[:needed]), expression(terms)
    if needed == len(terms):
        return _matching(run, every, limit, where)
    doubled = _matching(run, f"({rare}) AND ({every})", 4 * limit, where)
    within = "AND +rowid IN (SELECT value FROM json_each($3))"
    once = dict(_matching(run, rare, 4 * limit, within, [chunk for chunk, _ in doubled]))
    single = ((chunk, round(score - once[chunk], 12)) for chunk, score in doubled)  # equal scores stay equal
    return sorted(single, key=lambda match: (match[1], match[0]))[:limit]


def _matching(run: Run, query: str, limit: int, where: str, *values: object) -> Ranking:
    sql = "SELECT rowid, bm25(full_text) AS score FROM full_text WHERE full_text MATCH $1"
    return run(f"{sql} {where} ORDER BY score, rowid LIMIT $2", query, limit, *values) if query else []


def with_phrases(run: Run, phrases: Sequence[str]) -> list[int] | None:
    """The chunks with each phrase in the text, the heading or the title; None where no phrase has a word."""
    strings = [" ".join(WORD.findall(unicodedata.normalize("NFC", phrase))) for phrase in phrases]
    if not any(strings):
        return None
    joint = " AND ".join(f'"{string}"' for string in strings if string)
    rows = run("SELECT rowid FROM full_text WHERE full_text MATCH $1", f"{{{_COLUMNS_OF[CONTENT]}}} : ({joint})")
    return [row[0] for row in rows]


def is_rare_elsewhere(run: Run, word: str, files: Collection[int], share: float) -> bool:
    own = (
        "SELECT chunks.id FROM chunks JOIN documents ON documents.id = document"
        " WHERE documents.file IN (SELECT value FROM json_each($1))"
    )
    ((others,),) = run(f"SELECT (SELECT count(*) FROM chunks) - count(*) FROM ({own})", listed(files))
    most = max(1, int(share * others))
    matching = f"SELECT 1 FROM full_text WHERE full_text MATCH $2 AND +rowid NOT IN ({own}) LIMIT $3"
    ((count,),) = run(f"SELECT count(*) FROM ({matching})", listed(files), f'"{word}"', most + 1)
    return int(count) <= most


def document_frequency(run: Run, terms: Sequence[str]) -> dict[str, int]:
    def count(form: str) -> int:
        rows = run("SELECT doc FROM stems WHERE term = $1", form)
        return int(rows[0][0]) if rows else 0

    return {term: min((max(count(word), count(stem(word))) for word in words(term)), default=0) for term in terms}


def named_like(run: Run, terms: Collection[str], limit: int) -> list[tuple[int, str, str, str]]:
    query = " OR ".join(f'"{term}"' for term in terms)
    sql = (
        "SELECT file, documents.title, names.name, names.title FROM names JOIN documents ON documents.id = names.rowid"
        " WHERE names MATCH $1 ORDER BY bm25(names) LIMIT $2"
    )
    return run(sql, f"{{name title}} : ({query})", limit) if query else []


# --- writing


def add(run: Run, documents: Collection[int]) -> None:
    """Take the chunks of these documents in."""
    _write(run, documents, f"INSERT INTO full_text (rowid, {', '.join(COLUMNS)}) VALUES ({_MARKS})")


def remove(run: Run, documents: Collection[int]) -> None:
    """Take the chunks of these documents out: FTS5 needs all their words again."""
    _write(
        run, documents, f"INSERT INTO full_text (full_text, rowid, {', '.join(COLUMNS)}) VALUES ('delete', {_MARKS})"
    )


def restore(run: Run) -> None:
    """Make the full text anew from what is stored."""
    run("INSERT INTO full_text (full_text) VALUES ('delete-all')")
    add(run, [document for (document,) in run("SELECT id FROM documents")])


_MARKS = ", ".join(f"${number}" for number in range(1, len(COLUMNS) + 2))


def _write(run: Run, documents: Collection[int], sql: str) -> None:
    names = ", ".join(COLUMNS[2:])
    for number in documents:
        ((text, *about),) = run(f"SELECT text, {names} FROM documents WHERE id = $1", number)
        chunks = run('SELECT id, start, "end", heading FROM chunks WHERE document = $1 ORDER BY id', number)
        for chunk, start, end, heading in chunks:
            run(sql, chunk, text[start:end], heading, *about)
