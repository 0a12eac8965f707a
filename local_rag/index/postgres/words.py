"""Full text on a server: GIN finds the passages with a word, and BM25 is computed from `ts_rank`.

The words are cut and stemmed here, as everywhere in local-rag, so that both stores know the same ones. A lexeme with
NAMES or FOLDERS in front stands for a word of what names the file, as the columns of FTS5 do (`store/full_text`).

`ts_rank` of one word with weight 1 is the sum of 1/i² for i up to its frequency, over π²/6: from that the frequency is
had back, within .1. https://www.postgresql.org/docs/current/textsearch-controls.html#TEXTSEARCH-RANKING
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from local_rag.index.postgres.connection import Database
from local_rag.index.postgres.schema import literal, partitions
from local_rag.index.store import full_text
from local_rag.index.store.database import IN, array
from local_rag.index.store.full_text import CONTENT, COUNTED, LIMIT, Frequencies, Ranking, Words
from local_rag.text.words import stem, words

NAMES, FOLDERS = "n/", "f/"
_PREFIXES = dict(zip((CONTENT, *full_text.NAMES), ("", NAMES, FOLDERS), strict=True))

_LONGEST = 200
"""Characters of a lexeme: PostgreSQL refuses those of more than 2,046 bytes."""

_GAP = 10
"""Positions between two texts, so that no phrase reaches from one into the other."""

_SAMPLED, _FREQUENT = 20_000, 0.002
"""Passages in which frequent words are counted, and the share from which a word is one."""

_PI = math.pi**2 / 6


def lexemes(*texts: str, prefix: str = "", start: int = 1) -> str:
    """The words of texts as PostgreSQL reads a `tsvector`, with their positions."""
    positions: dict[str, list[int]] = {}
    for text in texts:
        spelled = words(text)
        for place, word in enumerate(spelled, start):
            positions.setdefault(prefix + _lexeme(word), []).append(place)
        start += len(spelled) + _GAP
    return " ".join(f"{literal(word)}:{','.join(map(str, places))}" for word, places in positions.items())


def _lexeme(word: str) -> str:
    return stem(word[:_LONGEST]) or word  # of "s" nothing is left


def query_of(term: str) -> str:
    """A term of `full_text.terms_of`, with its field or without one, as PostgreSQL reads a `tsquery`."""
    field = next((field for field in _PREFIXES if term.startswith(field)), "")
    parts = [literal(_PREFIXES.get(field, "") + _lexeme(word)) for word in words(term.removeprefix(field))]
    return f"({' <-> '.join(parts)})" if len(parts) > 1 else "".join(parts)


def _any(queries: Iterable[str]) -> str:
    return " | ".join(filter(None, queries))


def _bm25(queries: Sequence[str], weights: Sequence[float], length: str) -> str:
    """SQL for BM25 (k1 = 1.2, b = .75), with a ? for each query; `length` is SQL for that of a text over the mean.

    A phrase counts once, for `ts_rank` does not tell how often one occurs. There are only operators and functions
    that postgres_fdw sends along, and a `ts_rank` is computed once: r / (r + norm (1 - r)) is written with one r.
    """
    once, more = f"{1 / _PI:.4f} * (words @@ ?::tsquery)::int", "ts_rank('{1,1,1,1}', words, ?::tsquery)"
    ranks = (once if "<->" in query else more for query in queries)
    norm = f"{1.2 * _PI:.4f} * (0.25 + 0.75 * {length})"
    of_term = "{weight:.6f} / (1 + {norm} * (1 / (1e-9 + {rank}) - 1))"
    return " + ".join(
        of_term.format(weight=LIMIT * weight, rank=rank, norm=norm) for weight, rank in zip(weights, ranks, strict=True)
    )


class ServerWords(Words):
    """The words of a query, ranked by the server."""

    def __init__(self, db: Database, frequencies: Frequencies, generation: str, query: str) -> None:
        super().__init__(db, frequencies, generation, query)
        sql = 'SELECT avg(length) FROM (SELECT "end" - start AS length FROM chunks LIMIT 2000) AS sampled'
        self._mean = float(db.execute(sql).fetchone()[0] or 1)

    def within(self, chunks: Sequence[int]) -> Ranking:
        """These chunks."""
        return self.among(chunks, len(chunks))

    def among(self, chunks: Sequence[int], limit: int) -> Ranking:
        """The best of these chunks."""
        return self._best_of(list(self._counts), f"AND id {IN}", [array(chunks)], limit)

    def _ranked(self, terms: Sequence[str], needed: int, limit: int) -> Ranking:
        return self._best_of(terms[:needed], "", [], limit)

    def _best_of(self, terms: Sequence[str], where: str, values: Sequence[object], limit: int) -> Ranking:
        """The best chunks with one of these terms, by all terms: each partition ranks its own."""
        queries = [query_of(term) for term in self._counts]
        if not queries:
            return []
        weights = [self._idf(count) for count in self._counts.values()]
        score = _bm25(queries, weights, f'("end" - start) / {self._mean:.1f}::float8')
        part = (
            f"(SELECT id, -({score}) AS score FROM chunks_N WHERE words @@ ?::tsquery {where}"
            " ORDER BY score, id LIMIT ?)"
        )
        parts = " UNION ALL ".join(part.replace("_N", f"_{n}") for n in partitions())
        each = [*queries, _any(map(query_of, terms)), *values, limit]
        sql = f"SELECT id, score FROM ({parts}) AS best ORDER BY score, id LIMIT ?"
        return self._db.execute(sql, [*each * len(partitions()), limit]).fetchall()


full_text.words_of.register(Database)(ServerWords)


@full_text.counted.register(Database)
def _counted(db: Database, terms: Sequence[str], chunks: int) -> dict[str, int]:
    """Frequent words were counted in a sample, the others are now."""
    queries = {term: query_of(term) for term in terms}
    counts = dict.fromkeys(terms, 0)
    sql = f"SELECT term, share FROM frequent WHERE term {IN}"
    shares = dict(db.execute(sql, (array(query.strip("'") for query in queries.values()),)))
    (names,) = db.execute("SELECT count(*) FROM names").fetchone()
    asked: dict[str, list[str]] = {"chunks": [], "names": []}
    for term, query in queries.items():
        if share := shares.get(query.strip("'")):
            counts[term] = min(chunks, round(share * chunks))
        elif query:
            asked["chunks" if term.startswith(CONTENT) or not names else "names"].append(term)
    for table, of_table in asked.items():
        matching = f"SELECT FROM {table} WHERE words @@ query LIMIT {COUNTED if table == 'chunks' else 'ALL'}"
        sql = (
            f"SELECT place, (SELECT count(*) FROM ({matching}) AS found)"
            " FROM unnest(?::text[]::tsquery[]) WITH ORDINALITY AS asked (query, place)"
        )
        rows = db.execute(sql, ([queries[term] for term in of_table],)).fetchall() if of_table else []
        for place, found in rows:
            counts[of_table[place - 1]] = found if table == "chunks" else -(-found * chunks // names)
    return counts


@full_text.document_frequency.register(Database)
def _document_frequency(db: Database, terms: Sequence[str]) -> dict[str, int]:
    forms = {term: [f'{CONTENT}"{word}"' for word in words(term)] for term in terms}
    (chunks,) = db.execute("SELECT count(*) FROM chunks").fetchone()
    known = _counted(db, list(dict.fromkeys(form for each in forms.values() for form in each)), chunks)
    return {term: min((known[form] for form in each), default=0) for term, each in forms.items()}


@full_text.is_rare_elsewhere.register(Database)
def _is_rare_elsewhere(db: Database, query: str, files: Collection[int], share: float) -> bool:
    own = array(id for (id,) in db.execute(f"SELECT id FROM documents WHERE file {IN}", (array(files),)))
    (others,) = db.execute("SELECT count(*) FROM chunks WHERE document != ALL(?::bigint[])", (own,)).fetchone()
    most = max(1, int(share * others))
    everywhere = _any(query_of(field + query) for field in _PREFIXES)
    sql = "SELECT FROM chunks WHERE words @@ ?::tsquery AND document != ALL(?::bigint[]) LIMIT ?"
    return len(db.execute(sql, (everywhere, own, most + 1)).fetchall()) <= most


@full_text.phrases_in.register(Database)
def _phrases_in(db: Database, phrases: Sequence[str]) -> tuple[str, str]:
    joint = " & ".join(filter(None, map(query_of, phrases)))
    return ("chunks.words @@ ?::tsquery", joint) if joint else ("", "")


@full_text.named_like.register(Database)
def _named_like(db: Database, terms: Collection[str], limit: int) -> list[tuple[int, str, str, str]]:
    queries = list(dict.fromkeys(filter(None, map(query_of, terms))))
    if not queries:
        return []
    of_term = "SELECT (SELECT count(*) FROM names WHERE words @@ query) FROM unnest(?::text[]::tsquery[]) AS t (query)"
    counts = [found for (found,) in db.execute(of_term, (queries,))]
    (names,) = db.execute("SELECT count(*) FROM names").fetchone()
    score = _bm25(queries, [math.log(1 + names / (1 + found)) for found in counts], "length(words) / 10::float8")
    sql = (
        f"SELECT file, documents.title, names.name, names.title, {score} AS score FROM names"
        " JOIN documents ON documents.id = rowid WHERE words @@ ?::tsquery ORDER BY score DESC, rowid LIMIT ?"
    )
    return [row[:4] for row in db.execute(sql, [*queries, _any(queries), limit])]


@full_text.restore.register(Database)
def _restore(db: Database) -> None:
    """Nothing: the words of a passage are a part of its row."""


def refresh(db: Database) -> None:
    """Count frequent words anew in a sample, if the index has grown by a fifth since: a partition of it is one."""
    (chunks,) = db.execute("SELECT count(*) FROM chunks").fetchone()
    known = db.execute("SELECT value FROM meta WHERE name = 'counted'").fetchone()
    sql = "SELECT oid::regclass, reltuples FROM pg_class WHERE oid = ANY(?::regclass[]) AND relkind = 'r' LIMIT 1"
    part = db.execute(sql, ([f"chunks_{n}" for n in partitions()],)).fetchone()
    if not part or chunks <= max(_SAMPLED, 1.2 * int(known[0] if known else 0)):
        return
    percent = min(100.0, 100 * _SAMPLED / (chunks / len(partitions())))
    sample = f"SELECT words FROM {part[0]} TABLESAMPLE SYSTEM ({percent:.3f}) REPEATABLE (1)"
    (rows,) = db.execute(f"SELECT count(*) FROM ({sample}) AS sampled").fetchone()
    db.execute("DELETE FROM frequent")
    sql = "INSERT INTO frequent SELECT word, ndoc / ?::real FROM ts_stat(?) WHERE ndoc > ? ON CONFLICT DO NOTHING"
    db.execute(sql, (rows, sample, _FREQUENT * rows))
    upsert = "INSERT INTO meta VALUES ('counted', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    db.execute(upsert, (str(chunks),))
