"""Full text on a server: GIN finds the passages with a word, and BM25 is computed from `ts_rank`.

The words are cut and stemmed here, as everywhere in local-rag, so that both stores know the same ones. A lexeme with a
prefix stands for a word of what names the file, of its folders, or a stem of its language, as the columns of FTS5 do.

`ts_rank` of one word with weight 1 is the sum of 1/i² for i up to its frequency, over π²/6: the frequency follows from
it within .1. https://www.postgresql.org/docs/current/textsearch-controls.html#TEXTSEARCH-RANKING
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from local_rag.index.store import words as shared
from local_rag.index.store.postgres.schema import literal
from local_rag.index.store.protocol import EVERYTHING, Store
from local_rag.index.store.rows import consistent, listed
from local_rag.index.store.values import Filter
from local_rag.index.store.words import CONTENT, COUNTED, FIELDS, FOLDERS, LIMIT, NAMES, STEMMED, Ranking, Term, Words
from local_rag.text.identifiers import searchable
from local_rag.text.words import stem, words

PREFIXES = {CONTENT: "", NAMES: "n/", FOLDERS: "f/", STEMMED: "s/"}

_LONGEST_LEXEME = 200
"""Characters of a lexeme: PostgreSQL refuses lexemes of more than 2,046 bytes."""

_BETWEEN_TEXTS = 10
"""Positions between two texts, so that no phrase reaches from one into the other."""

_SAMPLED, _FREQUENT = 20_000, 0.002
"""Passages in which frequent words are counted, and the share from which a word is frequent."""

_PI = math.pi**2 / 6


def lexemes(*texts: str, field: str = CONTENT) -> str:
    """Return the words of texts as PostgreSQL reads a `tsvector`, with their positions."""
    positions: dict[str, list[int]] = {}
    start = 1
    for text in texts:
        spelled = words(searchable(text))
        for place, word in enumerate(spelled, start):
            positions.setdefault(PREFIXES[field] + _lexeme(word), []).append(place)
        start += len(spelled) + _BETWEEN_TEXTS
    return " ".join(f"{literal(word)}:{','.join(map(str, places))}" for word, places in positions.items())


def of_file(name: str, author: str, date: str, subject: str, folders: str) -> str:
    """Return the lexemes of what names a file."""
    return f"{lexemes(name, author, date, subject, field=NAMES)} {lexemes(folders, field=FOLDERS)}"


def _lexeme(word: str) -> str:
    return stem(word[:_LONGEST_LEXEME]) or word  # of "s" nothing is left


def query_of(text: str, field: str = CONTENT) -> str:
    """Return words that stand together as PostgreSQL reads a `tsquery`, "" for none; a star behind them makes a
    prefix.
    """
    if text.endswith("*"):
        return f"{literal(PREFIXES[field] + text[:-1])}:*"
    parts = [literal(PREFIXES[field] + _lexeme(word)) for word in words(text)]
    return f"({' <-> '.join(parts)})" if len(parts) > 1 else "".join(parts)


def any_of(queries: Iterable[str]) -> str:
    return " | ".join(filter(None, queries))


def bm25(queries: Sequence[str], weights: Sequence[float], length: str) -> str:
    """Return SQL for BM25 (k1 = 1.2, b = .75) of a row with `words`; `length` is SQL for that of a text over the mean.

    A phrase counts once, for `ts_rank` does not tell how often one occurs. A `ts_rank` is computed once: r / (r + norm
    (1 - r)) is written with one r.
    """
    norm = f"{1.2 * _PI:.4f} * (0.25 + 0.75 * {length})"
    terms = []
    for query, weight in zip(map(literal, queries), weights, strict=True):
        once = f"{1 / _PI:.4f} * (words @@ {query}::tsquery)::int"
        rank = once if "<->" in query else f"ts_rank('{{1,1,1,1}}', words, {query}::tsquery)"
        terms.append(f"{LIMIT * weight:.6f} / (1 + {norm} * (1 / (1e-9 + {rank}) - 1))")
    return " + ".join(terms)


class FullText(Store):
    """The part of a store on a server that searches words and applies filters."""

    _day = (
        "CASE WHEN d.date LIKE '%T%' THEN to_char(d.date::timestamptz, 'YYYY-MM-DD') WHEN d.date != '' THEN d.date ELSE"
        " (SELECT to_char(to_timestamp(CASE mtime_ns WHEN 0 THEN indexed_at ELSE mtime_ns / 1e9 END), 'YYYY-MM-DD')"
        " FROM files WHERE files.id = d.file) END"
    )
    """SQL as in `Passages`; moments are days by the server's time zone."""

    @consistent
    def match(self, query: str, k: int, filter: Filter = EVERYTHING) -> dict[int, float]:
        known, (where, values) = self._words(query), self._passing(filter)

        def ranked(needed: int) -> list[tuple[int, float]]:
            return self._best(known, needed, k, where, *values)

        return known.shares(ranked(len(known.counts)) if self._is_narrow(filter) else known.best(k, ranked))

    @consistent
    def match_among(self, query: str, chunks: Collection[int]) -> dict[int, float]:
        known = self._words(query)
        among = (len(known.counts), len(chunks), "chunks.id = ANY($1)", listed(chunks))
        return known.shares(self._best(known, *among))

    @consistent
    def passing(self, filter: Filter, chunks: Sequence[int]) -> list[int]:
        where, values = self._passing(filter)
        sql = f"SELECT chunks.id FROM chunks WHERE {where} AND chunks.id = ANY(${len(values) + 1})"
        left = {*self._column(sql, *values, listed(chunks))}
        return [chunk for chunk in chunks if chunk in left]

    def _passing(self, filter: Filter) -> tuple[str, list[object]]:
        """Return a condition on `chunks`, and its values."""
        clauses, values = ["true"], list[object]()
        if filter.conditions is not None:
            where, values = self._where(filter.conditions)
            clauses = [f"chunks.document IN (SELECT d.id FROM documents d WHERE {where})"]
            for phrase in [each for each in map(query_of, filter.conditions.phrases) if each]:
                clauses.append(f"chunks.words @@ {literal(phrase)}::tsquery")
        if filter.exclude:
            values.append(list(filter.exclude))
            clauses.append(f"chunks.key != ALL(${len(values)})")
        return " AND ".join(clauses), values

    def _is_narrow(self, filter: Filter) -> bool:
        """Return whether at most NARROW chunks meet the conditions of a filter."""
        if filter.conditions is None:
            return False
        where, values = self._passing(Filter(filter.conditions))

        def count() -> int:
            sql = f"SELECT count(*) FROM (SELECT FROM chunks WHERE {where} LIMIT {shared.NARROW + 1}) AS passing"
            return int(self._value(sql, *values))

        return self._cache.get("passing", (self.generation(), filter.conditions), count) <= shared.NARROW

    def _best(self, query: Words, needed: int, limit: int, where: str, *values: object) -> Ranking:
        """Return the chunks with one of the first `needed` terms that meet a condition with these values, by all
        terms.
        """
        queries = [query_of(term.text, term.field) for term in query.counts]
        if not queries:
            return []
        of_some = 'SELECT avg(length) FROM (SELECT "end" - start AS length FROM chunks LIMIT 2000) AS s'
        mean = float(self._value(of_some) or 1)
        weights = [query.idf(count) for count in query.counts.values()]
        score = bm25(queries, weights, f'(chunks."end" - chunks.start) / {mean:.1f}::float8')
        matching = f"chunks.words @@ {literal(any_of(queries[:needed]))}::tsquery"
        sql = f"SELECT chunks.id, -({score}) AS score FROM chunks WHERE {matching} AND {where} ORDER BY score, id LIMIT"
        return self._execute(f"{sql} {int(limit)}", *values)

    def _counted(self, chunks: int, terms: Sequence[Term]) -> dict[Term, int]:
        """Return the numbers of chunks as `Store._counted` does. Frequent words were counted in a sample, the others
        are counted now.
        """
        queries = {term: query_of(term.text, term.field) for term in terms}
        counts = dict.fromkeys(terms, 0)
        sql = "SELECT term, share FROM frequent WHERE term = ANY($1)"
        shares = dict(self._execute(sql, [query.strip("'") for query in queries.values()]))
        names = self._value("SELECT count(*) FROM names")
        asked: dict[str, list[Term]] = {"chunks": [], "names": []}
        for term, query in queries.items():
            if share := shares.get(query.strip("'")):
                counts[term] = min(chunks, round(share * chunks))
            elif query:
                asked["chunks" if term.field in (CONTENT, STEMMED) or not names else "names"].append(term)
        for table, of_table in asked.items():
            matching = f"SELECT FROM {table} WHERE words @@ query LIMIT {COUNTED if table == 'chunks' else 'ALL'}"
            sql = (
                f"SELECT place, (SELECT count(*) FROM ({matching}) AS found)"
                " FROM unnest($1::text[]::tsquery[]) WITH ORDINALITY AS asked (query, place)"
            )
            for place, found in self._execute(sql, [queries[term] for term in of_table]) if of_table else []:
                counts[of_table[place - 1]] = found if table == "chunks" else -(-found * chunks // names)
        return counts

    @consistent
    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        forms = {term: [Term(CONTENT, word) for word in words(term)] for term in terms}
        chunks = self._value("SELECT count(*) FROM chunks")
        known = self._counted(chunks, list(dict.fromkeys(form for each in forms.values() for form in each)))
        return {term: min((known[form] for form in each), default=0) for term, each in forms.items()}

    @consistent
    def is_rare_elsewhere(self, word: str, files: Collection[int], share: float) -> bool:
        others = "document != ALL(SELECT id FROM documents WHERE file = ANY($1))"
        most = max(1, int(share * self._value(f"SELECT count(*) FROM chunks WHERE {others}", list(files))))
        everywhere = literal(any_of(query_of(word, field) for field in FIELDS))
        sql = f"SELECT FROM chunks WHERE words @@ {everywhere}::tsquery AND {others} LIMIT $2"
        return len(self._execute(sql, list(files), most + 1)) <= most

    @consistent
    def named_like(self, terms: Collection[str], limit: int) -> list[tuple[int, str, str, str]]:
        queries = list(dict.fromkeys(filter(None, map(query_of, terms))))
        if not queries:
            return []
        of_term = (
            "SELECT (SELECT count(*) FROM names WHERE words @@ query) FROM unnest($1::text[]::tsquery[]) AS t (query)"
        )
        counts = self._column(of_term, queries)
        names = self._value("SELECT count(*) FROM names")
        score = bm25(queries, [math.log(1 + names / (1 + found)) for found in counts], "length(words) / 10::float8")
        sql = (
            "SELECT file, documents.title, names.name, names.title FROM names JOIN documents ON documents.id = rowid"
            f" WHERE words @@ {literal(any_of(queries))}::tsquery ORDER BY {score} DESC, rowid LIMIT $1"
        )
        return self._execute(sql, limit)

    def _count_frequent(self) -> None:
        """Count frequent words again in a sample, if the index has grown by a fifth since."""
        chunks = self._value("SELECT count(*) FROM chunks")
        if chunks <= max(_SAMPLED, 1.2 * int(self.meta().get("counted", 0))):
            return
        sample = f"SELECT words FROM chunks TABLESAMPLE SYSTEM ({100 * _SAMPLED / chunks:.3f}) REPEATABLE (1)"
        rows = self._value(f"SELECT count(*) FROM ({sample}) AS sampled")
        self._execute("DELETE FROM frequent")
        sql = (
            "INSERT INTO frequent SELECT word, ndoc / $1::real FROM ts_stat($2) WHERE ndoc > $3 ON CONFLICT DO NOTHING"
        )
        self._execute(sql, rows, sample, _FREQUENT * rows)
        self.set_meta({"counted": str(chunks)})
