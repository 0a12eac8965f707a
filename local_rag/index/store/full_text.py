"""The full text of an index: FTS5 ranks chunks by the words in them, in their headings, and in what names their file.

BM25 is FTS5's own (https://sqlite.org/fts5.html#the_bm25_function). Of a large index not all is ranked that frequent
words match: MaxScore (Turtle and Flood, Information Processing & Management 31, 1995).
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import singledispatch
from itertools import accumulate

from local_rag.index.store.database import IN, Database, array
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import WORD, stem, words

Ranking = list[tuple[int, float]]
"""(chunk, BM25), best first; FTS5's BM25 is negative, less is better."""

COLUMNS = ("text", "heading", "title", "name", "folders", "author", "date", "subject")

CONTENT, *NAMES = ("{text heading title} : ", "{name author date subject} : ", "{folders} : ")
"""Column filters in which a word is looked for by itself: a word of names is as rare as it is among names, one of the
folders that all files lie in says nothing, and in texts both stay as telling as they are there."""

COUNTED = 5_000
"""Matches of a term that are counted; how many more there are is estimated."""

PLAIN = 10_000
"""Matches that are all ranked. FTS5 ranks about one in a microsecond."""

FIRST, MOST = 5_000, 20_000
"""Matches that are ranked at first, and at most; four times as many from step to step."""

USUAL = 1.0
"""What a term adds at most in most passages, in units of its idf; 2.2 is the limit (k1 = 1.2), with which the first
ranks are exact. nDCG@10 stays that of all matches: docs/measurements.md."""

LIMIT = 2.2
"""What a term adds at most to a BM25 score, in units of its idf: k1 + 1, and FTS5's k1 is 1.2."""

_MOST_TERMS = 100
"""FTS5 refuses expressions deeper than 256 (SQLITE_FTS5_MAX_EXPR_DEPTH)."""


def terms_of(query: str) -> list[str]:
    """A query as strings of FTS5: words and phrases, stop words only if there is nothing else.

    "self-rag" is looked for as a phrase and as its words. The words stay as they are written: FTS5 folds them as it
    folded the text. FTS5 strings: https://sqlite.org/fts5.html#fts5_strings
    """
    terms: list[str] = []
    for part in unicodedata.normalize("NFC", query).split():
        found = WORD.findall(part)
        if len(found) > 1 and any(word.casefold() not in STOP_WORDS for word in found):
            terms.append(" ".join(found))
        terms += found
    distinct = list(dict.fromkeys(terms))
    kept = [term for term in distinct if term.casefold() not in STOP_WORDS]
    return [f'"{term}"' for term in (kept or distinct)[:_MOST_TERMS]]


class Frequencies:
    """In how many chunks terms occur, kept until the index changes; any thread may ask."""

    def __init__(self) -> None:
        self._known: tuple[str | None, int, dict[str, int]] = (None, 0, {})

    def of(self, db: Database, generation: str, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """The number of chunks, and for each term with its field in how many it occurs; for a frequent one about."""
        if self._known[0] != generation:
            self._known = (generation, int(db.execute("SELECT count(*) FROM chunks").fetchone()[0]), {})
        _, chunks, known = self._known
        known |= counted(db, [term for term in terms if term not in known], chunks)
        return chunks, {term: known[term] for term in terms}


@singledispatch
def counted(db: Database, terms: Sequence[str], chunks: int) -> dict[str, int]:
    """In how many of so many chunks terms with their fields occur; of a frequent one about."""
    return {term: (_in_text if term.startswith(CONTENT) else _in_names)(db, term, chunks) for term in terms}


def _in_names(db: Database, term: str, chunks: int) -> int:
    """The table of names is small: to find there that no name has a word takes less than among all chunks."""
    (count,) = db.execute("SELECT count(*) FROM names WHERE names MATCH ?", (term,)).fetchone()
    return int(-(-count * chunks // db.execute("SELECT count(*) FROM names").fetchone()[0])) if count else 0


def _in_text(db: Database, term: str, chunks: int) -> int:
    """FTS5 goes through the chunks by their ids: where the last of COUNTED lies tells how many there are in all."""
    sql = "SELECT count(*), max(rowid) FROM (SELECT rowid FROM full_text WHERE full_text MATCH ? LIMIT ?)"
    count, last = db.execute(sql, (term, COUNTED)).fetchone()
    if count < COUNTED:
        return int(count)
    first, end = db.execute("SELECT (SELECT min(id) FROM chunks), (SELECT max(id) FROM chunks)").fetchone()
    estimate: float = count * (end - first + 1) / max(1, last - first + 1)
    return min(chunks, round(estimate))


class Words:
    """The words of a query, ranked in one snapshot of an index."""

    def __init__(self, db: Database, frequencies: Frequencies, generation: str, query: str) -> None:
        terms = terms_of(query)
        every = [field + term for field in (CONTENT, *NAMES) for term in terms]
        self._db = db
        self._chunks, counts = frequencies.of(db, generation, every)
        self._counts = {term: counts[term] for term in sorted(every, key=counts.__getitem__) if counts[term]}
        self._content = [counts[CONTENT + term] for term in terms]

    @property
    def highest(self) -> float:
        """What the BM25 of a text comes near to that is full of every term that the index has, as a positive number."""
        return LIMIT * sum(self._idf(count) for count in self._content if count) or 1.0

    def best(self, limit: int) -> Ranking:
        """The best chunks for any of the terms. A term counts in content and names with the idf that it has there.

        A chunk that has only frequent terms does not reach the first `limit` once the sum of what they add is below the
        last score there. So only chunks with a rarer term are ranked, by all terms.
        """
        terms, counts = list(self._counts), list(self._counts.values())
        adds = [USUAL * self._idf(count) for count in counts]
        budget = FIRST if sum(counts) > PLAIN else PLAIN
        needed, ranking = 0, Ranking()
        while needed < len(terms):
            affordable = max(1, bisect_right(list(accumulate(counts)), budget))
            if affordable > needed:
                needed, ranking = affordable, self._ranked(terms, affordable, limit)
            full = len(ranking) == limit
            if budget >= MOST or (full and sum(adds[needed:]) <= -ranking[-1][1]):
                break
            budget *= 4
        return ranking

    def within(self, chunks: Sequence[int]) -> Ranking:
        """These chunks. FTS5 looks at what lies between the first and the last: in a file most follow each other."""
        where, values = f"AND rowid BETWEEN ? AND ? AND +rowid {IN}", [min(chunks), max(chunks), array(chunks)]
        return self._matching(" OR ".join(self._counts), where, values, len(chunks))

    def among(self, chunks: Sequence[int], limit: int) -> Ranking:
        """The best of these chunks. The + keeps SQLite from asking FTS5 once for each of them."""
        return self._matching(" OR ".join(self._counts), f"AND +rowid {IN}", [array(chunks)], limit)

    def _idf(self, count: int) -> float:
        """Inverse document frequency as FTS5 computes it; that of a term in more than half of the chunks is about 0."""
        return max(1e-6, math.log((self._chunks - count + 0.5) / (count + 0.5)))

    def _ranked(self, terms: Sequence[str], needed: int, limit: int) -> Ranking:
        """The best chunks with one of the first `needed` terms, by all terms.

        FTS5 can only ask for such a term by naming it twice, and then counts it twice: its share is taken off again.
        """
        rare, every = " OR ".join(terms[:needed]), " OR ".join(terms)
        if needed == len(terms):
            return self._matching(every, "", [], limit)
        doubled = self._matching(f"({rare}) AND ({every})", "", [], 4 * limit)
        once = dict(self._matching(rare, f"AND +rowid {IN}", [array(chunk for chunk, _ in doubled)], 4 * limit))
        single = ((chunk, round(score - once[chunk], 12)) for chunk, score in doubled)  # equal scores stay equal
        return sorted(single, key=lambda match: (match[1], match[0]))[:limit]

    def _matching(self, query: str, where: str, values: Sequence[object], limit: int) -> Ranking:
        sql = "SELECT rowid, bm25(full_text) AS score FROM full_text WHERE full_text MATCH ?"
        every = f"{sql} {where} ORDER BY score, rowid LIMIT ?"
        return self._db.execute(every, [query, *values, limit]).fetchall() if query else []


@singledispatch
def words_of(db: Database, frequencies: Frequencies, generation: str, query: str) -> Words:
    """The words of a query, as this kind of database ranks them."""
    return Words(db, frequencies, generation, query)


@singledispatch
def is_rare_elsewhere(db: Database, query: str, files: Collection[int], share: float) -> bool:
    """Whether at most this share of the chunks of other files, or one of them, match an FTS5 query."""
    own = f"SELECT chunks.id FROM chunks JOIN documents ON documents.id = document WHERE documents.file {IN}"
    values = array(files)
    (others,) = db.execute(f"SELECT (SELECT count(*) FROM chunks) - count(*) FROM ({own})", (values,)).fetchone()
    most = max(1, int(share * others))
    matching = f"SELECT 1 FROM full_text WHERE full_text MATCH ? AND +rowid NOT IN ({own}) LIMIT ?"
    (count,) = db.execute(f"SELECT count(*) FROM ({matching})", (query, values, most + 1)).fetchone()
    return int(count) <= most


@singledispatch
def document_frequency(db: Database, terms: Sequence[str]) -> dict[str, int]:
    """In how many chunks each term occurs, as a word or as a stem; one of several words counts as its rarest."""

    def count(form: str) -> int:
        row = db.execute("SELECT doc FROM stems WHERE term = ?", (form,)).fetchone()
        return int(row[0]) if row else 0

    return {term: min((max(count(word), count(stem(word))) for word in words(term)), default=0) for term in terms}


@singledispatch
def phrases_in(db: Database, phrases: Sequence[str]) -> tuple[str, str]:
    """A condition on `chunks`: each phrase stands in the text, the heading or the title; and its parameter.

    The condition is empty where no phrase has a word.
    """
    strings = [" ".join(WORD.findall(unicodedata.normalize("NFC", phrase))) for phrase in phrases]
    joint = " AND ".join(f'"{string}"' for string in strings if string)
    matching = "chunks.id IN (SELECT rowid FROM full_text WHERE full_text MATCH ?)"
    return (matching, f"{CONTENT}({joint})") if joint else ("", "")


@singledispatch
def named_like(db: Database, terms: Collection[str], limit: int) -> list[tuple[int, str, str, str]]:
    """(file, title, words of the file's name, title as it was indexed) of the documents whose name or title has one of
    these words, those with the rarest first.
    """
    query = " OR ".join(f'"{term}"' for term in terms)
    sql = (
        "SELECT file, documents.title, names.name, names.title FROM names JOIN documents ON documents.id = names.rowid"
        " WHERE names MATCH ? ORDER BY bm25(names) LIMIT ?"
    )
    return db.execute(sql, (f"{{name title}} : ({query})", limit)).fetchall() if query else []


# --- writing


def digest(text: str) -> bytes:
    """What tells texts apart, white space aside: its amount and kind say nothing to the embedders' tokenizers.

    An embedder for which white space counts, as in code, needs digests of its own.
    """
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=12).digest()


def add(db: Database, documents: Collection[int]) -> None:
    """Take the chunks of these documents in."""
    _write(db, documents, f"INSERT INTO full_text (rowid, {', '.join(COLUMNS)}) VALUES ({_MARKS})")


def remove(db: Database, documents: Collection[int]) -> None:
    """Take the chunks of these documents out: FTS5 needs all their words again."""
    _write(db, documents, f"INSERT INTO full_text (full_text, rowid, {', '.join(COLUMNS)}) VALUES ('delete', {_MARKS})")


@singledispatch
def restore(db: Database) -> None:
    """Make the full text anew from what is stored."""
    db.execute("INSERT INTO full_text (full_text) VALUES ('delete-all')")
    add(db, [document for (document,) in db.execute("SELECT id FROM documents")])


_MARKS = ", ".join("?" * (len(COLUMNS) + 1))


def _write(db: Database, documents: Collection[int], sql: str) -> None:
    of_chunks = 'SELECT id, start, "end", heading FROM chunks WHERE document = ? ORDER BY id'
    of_documents = f"SELECT id, text, {', '.join(COLUMNS[2:])} FROM documents WHERE id {IN} ORDER BY id"
    for document, text, *names in db.execute(of_documents, (array(documents),)):
        chunks = db.execute(of_chunks, (document,))
        db.executemany(sql, [(chunk, text[start:end], heading, *names) for chunk, start, end, heading in chunks])
