"""Full text in SQLite: FTS5 ranks chunks by the words in them, in their headings, and in what names their file.

BM25 is FTS5's own (https://sqlite.org/fts5.html#the_bm25_function); it is negative, less is better.
"""

from __future__ import annotations

import unicodedata
from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from local_rag.index.store import words as shared
from local_rag.index.store.protocol import EVERYTHING, Store
from local_rag.index.store.rows import consistent, listed
from local_rag.index.store.sqlite.connection import Connection
from local_rag.index.store.values import Conditions, Filter
from local_rag.index.store.words import CONTENT, COUNTED, FOLDERS, NAMES, STEMMED, Ranking, Term, Words
from local_rag.text import spelling
from local_rag.text.identifiers import searchable
from local_rag.text.languages import stems
from local_rag.text.words import WORD, stem, words

if TYPE_CHECKING:
    from local_rag.index.store.sqlite.vectors import Mask


NEAR = 20
"""Stems whose words are compared with a misspelled one: its own stem may be an edit further away than the word."""
COLUMNS = ("text", "heading", "title", "name", "folders", "author", "date", "subject", "stemmed")

_COLUMNS_OF = {CONTENT: "text heading title", NAMES: "name author date subject", FOLDERS: "folders", STEMMED: "stemmed"}


def expression(terms: Iterable[Term]) -> str:
    """Return an FTS5 query for any of these terms."""
    quoted = ((term.field, f'"{term.text.rstrip("*")}"{"*" * term.text.endswith("*")}') for term in terms)
    return " OR ".join(f"{{{_COLUMNS_OF[field]}}} : {text}" for field, text in quoted)


_PLACEHOLDERS = ", ".join(f"${number}" for number in range(1, len(COLUMNS) + 2))


class Passing(NamedTuple):
    """The chunks that pass a filter: a mark for each id of a chunk, and the ids where they are `few`."""

    mask: Mask
    few: list[int] | None


class FullText(Store):
    """The part of a store in a folder that searches words and applies filters."""

    @property
    @abstractmethod
    def _connection(self) -> Connection: ...

    _day = (
        "CASE WHEN d.date LIKE '%T%' THEN date(d.date, 'localtime') WHEN d.date != '' THEN d.date ELSE"
        " (SELECT date(CASE mtime_ns WHEN 0 THEN indexed_at ELSE mtime_ns / 1e9 END, 'unixepoch', 'localtime')"
        " FROM files WHERE files.id = d.file) END"
    )
    """SQL as in `Passages`; moments are days by the clock of this machine."""

    @consistent
    def match(self, query: str, k: int, filter: Filter = EVERYTHING) -> dict[int, float]:
        known, among, left_out = self._words(query), self._passing(filter), self._left_out(filter)
        limit, where = k + len(left_out), ""
        if among and among.few is not None:
            ranking = self._among(known, among.few, limit)
        else:
            if among:
                self._connection.db.create_function("passes", 1, among.mask.tobytes().__getitem__)
                where = "AND passes(rowid)"
            ranking = known.best(limit, lambda needed: self._ranked(list(known.counts), needed, limit, where))
        return known.shares([each for each in ranking if each[0] not in left_out][:k])

    @consistent
    def match_among(self, query: str, chunks: Collection[int]) -> dict[int, float]:
        known = self._words(query)
        return known.shares(self._among(known, chunks, len(chunks)))

    @consistent
    def passing(self, filter: Filter, chunks: Sequence[int]) -> list[int]:
        among, left_out = self._passing(filter), self._left_out(filter)
        return [chunk for chunk in chunks if chunk not in left_out and (among is None or among.mask[chunk])]

    def _passing(self, filter: Filter) -> Passing | None:
        """Return the chunks that meet the conditions of a filter, None for all. The last result is kept."""
        conditions = filter.conditions
        if conditions is None:
            return None
        make = partial(self._passing_anew, conditions)
        return self._cache.get("passing", (self.generation(), conditions), make)

    def _left_out(self, filter: Filter) -> set[int]:
        return set(self.chunks_by_key(filter.exclude).values())

    def _passing_anew(self, conditions: Conditions) -> Passing:
        """Return the chunks of the documents that meet a condition, and that hold all phrases.

        The chunks of a document follow each other, so that of each document only the first and the last are looked up.
        """
        import numpy as np

        where, values = self._where(conditions)
        ends = (f"(SELECT {end}(id) FROM chunks WHERE document = d.id)" for end in ("min", "max"))
        rows = [
            row for row in self._execute(f"SELECT {', '.join(ends)} FROM documents d WHERE {where}", *values) if row[0]
        ]
        first, last = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        changes = np.zeros(int(self._execute("SELECT coalesce(max(id), 0) FROM chunks")[0][0]) + 2, dtype=np.int32)
        np.add.at(changes, first, 1)
        np.add.at(changes, last + 1, -1)
        mask = np.cumsum(changes) > 0
        if (chunks := self._with_phrases(conditions.phrases)) is not None:
            held = np.zeros_like(mask)
            held[chunks] = True
            mask &= held
        return Passing(mask, np.flatnonzero(mask).tolist() if np.count_nonzero(mask) <= shared.NARROW else None)

    def _counted(self, chunks: int, terms: Sequence[Term]) -> dict[Term, int]:
        of_texts = (CONTENT, STEMMED)
        return {term: (self._in_text if term.field in of_texts else self._in_names)(chunks, term) for term in terms}

    def _in_names(self, chunks: int, term: Term) -> int:
        """Estimate from the small table of names in how many chunks a term occurs: it is cheaper to find there that no
        name has a word.
        """
        ((count,),) = self._execute("SELECT count(*) FROM names WHERE names MATCH $1", expression([term]))
        return int(-(-count * chunks // self._execute("SELECT count(*) FROM names")[0][0])) if count else 0

    def _in_text(self, chunks: int, term: Term) -> int:
        """Count the chunks with a term; after COUNTED of them estimate by where the last one lies, for FTS5 goes by
        their ids.
        """
        sql = "SELECT count(*), max(rowid) FROM (SELECT rowid FROM full_text WHERE full_text MATCH $1 LIMIT $2)"
        ((count, last),) = self._execute(sql, expression([term]), COUNTED)
        if count < COUNTED:
            return int(count)
        ((first, end),) = self._execute("SELECT (SELECT min(id) FROM chunks), (SELECT max(id) FROM chunks)")
        estimate: float = count * (end - first + 1) / max(1, last - first + 1)
        return min(chunks, round(estimate))

    def _among(self, query: Words, chunks: Collection[int], limit: int) -> Ranking:
        """Return the best of these chunks; FTS5 looks at what lies between the first and the last.

        The + keeps SQLite from asking FTS5 once for each of them.
        """
        if not chunks:
            return []
        span = f"AND rowid BETWEEN {int(min(chunks))} AND {int(max(chunks))}"
        where = f"{span} AND +rowid IN (SELECT value FROM json_each($3))"
        return self._matching(expression(query.counts), limit, where, listed(chunks))

    def _ranked(self, terms: Sequence[Term], needed: int, limit: int, where: str) -> Ranking:
        """Return the best chunks with one of the first `needed` terms, by all terms.

        FTS5 can only ask for such a term by naming it twice, and then counts it twice: its share is taken off again.
        """
        rare, every = expression(terms[:needed]), expression(terms)
        if needed == len(terms):
            return self._matching(every, limit, where)
        doubled = self._matching(f"({rare}) AND ({every})", 4 * limit, where)
        within = "AND +rowid IN (SELECT value FROM json_each($3))"
        once = dict(self._matching(rare, 4 * limit, within, [chunk for chunk, _ in doubled]))
        single = ((chunk, round(score - once[chunk], 12)) for chunk, score in doubled)  # equal scores stay equal
        return sorted(single, key=lambda match: (match[1], match[0]))[:limit]

    def _matching(self, query: str, limit: int, where: str, *values: object) -> Ranking:
        sql = "SELECT rowid, bm25(full_text) AS score FROM full_text WHERE full_text MATCH $1"
        return self._execute(f"{sql} {where} ORDER BY score, rowid LIMIT $2", query, limit, *values) if query else []

    def _with_phrases(self, phrases: Sequence[str]) -> list[int] | None:
        """Return the chunks with each phrase in the text, the heading or the title; None where no phrase has a word."""
        strings = [" ".join(WORD.findall(unicodedata.normalize("NFC", phrase))) for phrase in phrases]
        if not any(strings):
            return None
        joint = " AND ".join(f'"{string}"' for string in strings if string)
        rows = self._execute(
            "SELECT rowid FROM full_text WHERE full_text MATCH $1", f"{{{_COLUMNS_OF[CONTENT]}}} : ({joint})"
        )
        return [row[0] for row in rows]

    def is_rare_elsewhere(self, word: str, files: Collection[int], share: float) -> bool:
        own = (
            "SELECT chunks.id FROM chunks JOIN documents ON documents.id = document"
            " WHERE documents.file IN (SELECT value FROM json_each($1))"
        )
        ((others,),) = self._execute(f"SELECT (SELECT count(*) FROM chunks) - count(*) FROM ({own})", listed(files))
        most = max(1, int(share * others))
        matching = f"SELECT 1 FROM full_text WHERE full_text MATCH $2 AND +rowid NOT IN ({own}) LIMIT $3"
        ((count,),) = self._execute(f"SELECT count(*) FROM ({matching})", listed(files), f'"{word}"', most + 1)
        return int(count) <= most

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        def count(form: str) -> int:
            rows = self._execute("SELECT doc FROM stems WHERE term = $1", form)
            return int(rows[0][0]) if rows else 0

        return {term: min((max(count(word), count(stem(word))) for word in words(term)), default=0) for term in terms}

    @consistent
    def spelled_like(self, word: str) -> list[str]:
        """FTS5 knows the stems of words: the words are those of a passage that holds the stem.

        They begin with the same letter.
        """
        sql = "SELECT term FROM stems WHERE term >= $1 AND term < $2"
        begins = self._execute(sql, word[0], chr(ord(word[0]) + 1))
        terms = spelling.nearest(stem(word), [term for (term,) in begins], spelling.edits_of(word) + 1)[:NEAR]
        sql = (
            'SELECT substr(text, start + 1, "end" - start) FROM chunks JOIN documents ON documents.id = document'
            " WHERE chunks.id IN (SELECT rowid FROM full_text WHERE full_text MATCH $1 LIMIT 8)"
        )
        # FTS5 stems what it looks for: "coffe", the stem of coffee, is found as a prefix of its own stem
        prefix = {term: f'"{term}"{"*" * (stem(term) != term)}' for term in terms}
        texts = [(term, text) for term in terms for (text,) in self._execute(sql, prefix[term])]
        return [form for term, text in texts if (form := spelling.form_of(term, word, text))]

    def named_like(self, terms: Collection[str], limit: int) -> list[tuple[int, str, str, str]]:
        query = " OR ".join(f'"{term}"' for term in terms)
        sql = (
            "SELECT file, documents.title, names.name, names.title FROM names"
            " JOIN documents ON documents.id = names.rowid"
            " WHERE names MATCH $1 ORDER BY bm25(names) LIMIT $2"
        )
        return self._execute(sql, f"{{name title}} : ({query})", limit) if query else []

    def _add_words(self, documents: Collection[int]) -> None:
        """Add the chunks of these documents to the full text."""
        self._write_words(documents, f"INSERT INTO full_text (rowid, {', '.join(COLUMNS)}) VALUES ({_PLACEHOLDERS})")

    def _remove_words(self, documents: Collection[int]) -> None:
        """Remove the chunks of these documents from the full text: FTS5 needs all their words again."""
        self._write_words(
            documents,
            f"INSERT INTO full_text (full_text, rowid, {', '.join(COLUMNS)}) VALUES ('delete', {_PLACEHOLDERS})",
        )

    def restore_words(self) -> None:
        self._execute("INSERT INTO full_text (full_text) VALUES ('delete-all')")
        self._add_words([document for (document,) in self._execute("SELECT id FROM documents")])

    def _write_words(self, documents: Collection[int], sql: str) -> None:
        names = ", ".join(COLUMNS[2:-1])
        for number in documents:
            about: list[str]
            ((text, language, *about),) = self._execute(
                f"SELECT text, language, {names} FROM documents WHERE id = $1", number
            )
            chunks = self._execute(
                'SELECT id, start, "end", heading FROM chunks WHERE document = $1 ORDER BY id', number
            )
            about = [searchable(each) for each in about]
            self._many(
                sql,
                [
                    (
                        chunk,
                        searchable(text[start:end]),
                        searchable(heading),
                        *about,
                        " ".join(stems(f"{text[start:end]}\n{heading}\n{about[0]}", language)),
                    )
                    for chunk, start, end, heading in chunks
                ],
            )
