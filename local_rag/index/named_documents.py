"""Which documents a question names, by the words of their files' names and titles, and which of their passages it
wants.

The forms in which people ask about a document (`text.document_questions`) say where its name stands. Elsewhere in a
question its whole title counts, or a telling word of its file's name: one that the passages of other files hardly use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from sqlite3 import Connection

from local_rag.index.store import full_text
from local_rag.text.document_questions import DocumentQuestion, document_question
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import content_words, stem, words

MOST = 4
"""Documents that one name may mean; a name that fits more tells none of them from the others."""

COVERED = 0.75
"""Share of a name in a question that a document's name and title must hold."""

ORDINARY = 0.01
"""Share of the passages of other files from which a word is no name by itself."""

SURE, LIKELY, UNSURE = 1.0, 0.7, 0.2
"""How sure it is that a document is meant: its name is said; a telling part of it is; by a word that others use too."""

FRONT = 3
"""Passages from the beginning of a document that answer what it is about; for author, date and title the first does."""

_READ = 50
"""Names that are compared, of those that FTS5 ranks first."""

_OPENING = 30
"""Passages of a document among which its abstract is looked for."""

_CONJUNCTION = re.compile(r"\s*(?:,|\b(?:and|und|or|oder|versus|vs\.?)\b|&)\s*", re.IGNORECASE)
_FISCAL = re.compile(r"\A[a-z]{2}(?=(?:19|20)\d\d\Z)")
"""FY2022, SS2024: the letters before a year."""

_KINDS = frozenset(
    """document file paper report book booklet article page letter mail email message note text pdf docx presentation
    slide spreadsheet sheet novel story essay post chapter guide manual handbook contract agreement minute memo draft
    version chat thread dokument datei bericht buch artikel seite brief nachricht notiz prasentation tabelle roman
    geschichte kapitel handbuch vertrag protokoll entwurf fassung folie sent wrote about regarding uber titled called
    named""".split()
)
"""Words that say what kind of document is meant; one whose name lacks them may be meant all the same."""

_ABSTRACTS = tuple(
    re.compile(rf"(?:[\d.]+\s+)?(?:{pattern})", re.IGNORECASE)
    for pattern in (
        r"(?:executive )?(?:abstract|summary)|(?:kurz)?zusammenfassung|kurzfassung|abstrakt|résumé",
        r"overview|introduction|preface|foreword|überblick|einleitung|einführung|vorwort|purpose|scope",
    )
)


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """What a question names: the documents of this title in a file. `said` are the words that name it, by their stems
    and in the order of the question; `sure` is in (0, 1].
    """

    file: int
    title: str
    said: str
    sure: float

    def chunks(self, db: Connection) -> list[tuple[int, str]]:
        """(chunk, heading) of all its passages, in the order of the text."""
        sql = (
            "SELECT chunks.id, heading FROM documents JOIN chunks ON document = documents.id"
            " WHERE file = ? AND title = ? ORDER BY documents.id, start"
        )
        return db.execute(sql, (self.file, self.title)).fetchall()


@dataclass(frozen=True, slots=True)
class Naming:
    """The documents that a question names, and its form, where it has one of those that ask about a document."""

    documents: tuple[NamedDocument, ...] = ()
    form: DocumentQuestion | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A document whose name or title holds some words of a question, as stems."""

    file: int
    title: str
    name: frozenset[str]
    titled: frozenset[str]


def named_documents(db: Connection, question: str) -> Naming:
    """What a question says of the documents of an index."""
    form = document_question(question)
    if form is not None and (named := _in_slot(db, form.name)):
        return Naming(tuple(named), form)
    named = _mentioned(db, question)
    said = {word for document in named for word in document.said.split()}
    only = all(stem(word) in said or word in _KINDS for word in content_words(question))
    if named and form is None and named[0].sure == SURE and only:
        form = DocumentQuestion("content", named[0].said)
    return Naming(tuple(named), form if form and form.asks == "content" else None)


def front(opening: Sequence[tuple[int, str]], content: bool) -> list[int]:
    """The passages that say what a document is: its first; for its `content` the abstract, else what follows, too."""
    first = [chunk for chunk, _ in opening[:_OPENING]]
    return (
        list(dict.fromkeys([*first[:1], *_abstract(opening[:_OPENING]), *first[1:]]))[:FRONT] if content else first[:1]
    )


def _abstract(opening: Sequence[tuple[int, str]]) -> list[int]:
    """The passages under the first heading such as Abstract or, where there is none, such as Introduction."""
    for pattern in _ABSTRACTS:
        for _, heading in opening:
            if pattern.match(heading.rpartition(" > ")[2]):
                return [chunk for chunk, other in opening if other == heading]
    return []


def _in_slot(db: Connection, name: str) -> list[NamedDocument]:
    """The documents that a name means, which may be several: "PEP 451 and PEP 669"."""
    spoken = _spoken(name)
    whole = _best(db, spoken)
    parts = [part for part in _CONJUNCTION.split(name) if part]
    if len(parts) < 2 or (whole and len(whole[0].said.split()) == len(spoken)):
        return whole
    each = [_best(db, _spoken(part)) for part in parts]
    return list(dict.fromkeys(named for best in each for named in best)) if all(each) else whole


def _best(db: Connection, spoken: Sequence[str]) -> list[NamedDocument]:
    kinds = {word for word in spoken if word in _KINDS or stem(word) in _KINDS}
    ranked: dict[tuple[float, float], list[tuple[_Candidate, list[str]]]] = {}
    for candidate in _candidates(db, spoken):
        held = [word for word in spoken if _holds(candidate.name | candidate.titled, word, spoken)]
        wanted = len(held) + len([word for word in spoken if word not in held and word not in kinds])
        if len(held) / wanted < COVERED or not (set(held) - kinds or len(held) == len(spoken)):
            continue
        complete = max(
            len({*map(stem, held)} & part) / len(part) for part in (candidate.name, candidate.titled) if part
        )
        ranked.setdefault((len(held) / wanted + 0.001 * len(held), round(complete, 2)), []).append((candidate, held))
    best = ranked[max(ranked)] if ranked else []
    if not best or len(best) > MOST:
        return []
    held = best[0][1]
    sure = SURE if len(held) > 1 or _is_rare(db, held[0], [candidate for candidate, _ in best]) else UNSURE
    return [_named(candidate, held, sure) for candidate, held in best]


def _mentioned(db: Connection, question: str) -> list[NamedDocument]:
    """The documents whose whole name or title is said, else that with a telling word of its file's name.

    Single words of titles are what passages are about (SciFact: preferring them costs .08 of nDCG@10).
    """
    spoken = _spoken(question)
    candidates = _candidates(db, spoken)
    stems = [stem(word) for word in spoken]
    whole: list[NamedDocument] = []
    for candidate in candidates:
        for part in filter(None, (candidate.name, candidate.titled)):
            places = [place for place, word in enumerate(stems) if word in part]
            if part <= set(stems) and places[-1] - places[0] < len(places) + 1:
                held = [spoken[place] for place in places]
                if len(part) > 1 or _is_rare(db, held[0], [candidate]):
                    whole.append(_named(candidate, held, SURE if len(part) > 1 else UNSURE))
                break
    longest = max((len(named.said.split()) for named in whole), default=0)
    if whole:
        whole = [named for named in whole if len(named.said.split()) == longest]
        return whole if len(whole) <= MOST else []
    telling = _written_as_names(question)
    held_by = [
        (candidate, [word for word in spoken if _holds(candidate.name, word, spoken)]) for candidate in candidates
    ]
    held_by = [(candidate, held) for candidate, held in held_by if telling.intersection(held)]
    most = max((len(held) for _, held in held_by), default=0)
    best = [(candidate, held) for candidate, held in held_by if len(held) == most]
    if not 0 < len(best) <= MOST:
        return []
    for word in telling.intersection(best[0][1]):
        if _is_rare(db, word, [candidate for candidate, held in held_by if word in held]):
            return [_named(candidate, held, LIKELY) for candidate, held in best]
    return []


def _candidates(db: Connection, spoken: Sequence[str]) -> list[_Candidate]:
    """Documents whose name or title has one of these words; FTS5 ranks those with the rarest first."""
    terms = dict.fromkeys([*spoken, *(first + second for first, second in pairwise(spoken))])
    query = " OR ".join(f'"{term}"' for term in terms)
    sql = (
        "SELECT file, documents.title, names.name, names.title FROM names JOIN documents ON documents.id = names.rowid"
        " WHERE names MATCH ? ORDER BY bm25(names) LIMIT ?"
    )
    rows = db.execute(sql, (f"{{name title}} : ({query})", _READ)) if query else ()
    return [_Candidate(file, title, _stems(name), _stems(titled)) for file, title, name, titled in rows]


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)


def _spoken(name: str) -> list[str]:
    """The words of a name as they are compared."""
    every = [_FISCAL.sub("", word) for word in words(name)]
    bare = [word.lstrip("0") or "0" if word.isdecimal() else word for word in every]
    return [word for word in bare if word not in STOP_WORDS or word == "may"] or bare


def _holds(stems: frozenset[str], word: str, spoken: Sequence[str]) -> bool:
    """Whether a name has a word, or it and its neighbour as one."""
    return stem(word) in stems or any(
        first + second in stems for first, second in pairwise(spoken) if word in (first, second)
    )


def _named(candidate: _Candidate, held: Sequence[str], sure: float) -> NamedDocument:
    return NamedDocument(candidate.file, candidate.title, " ".join(held), sure)


def _written_as_names(question: str) -> set[str]:
    """The folded words that are capitalised or hold a digit; in German every noun is, so rarity decides as well."""
    written = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", question)
    return {word for each in written if not each.islower() or any(map(str.isdigit, each)) for word in _spoken(each)}


def _is_rare(db: Connection, word: str, candidates: Sequence[_Candidate]) -> bool:
    """Whether the passages of other files than these hardly hold a word."""
    return full_text.is_rare_elsewhere(db, f'"{word}"', {candidate.file for candidate in candidates}, ORDINARY)
