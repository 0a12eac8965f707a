"""The documents that a question names, by the words of their files' names and titles, and the passages it asks for.

The forms in which people ask about a document (`text.document_questions`) say where its name stands. Elsewhere in a
question its whole name or title counts, or a telling word of its file's name: one that the passages of other files
hardly use.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from local_rag.index.store.protocol import Store
from local_rag.text.document_questions import DocumentQuestion, document_question
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import stem, words

MEANT = 4
"""Documents that one name may mean; a name that fits more distinguishes none of them."""

COVERED = 0.75
"""Share of a name in a question that a document's name and title must hold."""

ORDINARY = 0.01
"""Share of the passages of other files from which a word is no name by itself."""

_COMPARED = 50
"""Names that are compared, of those that are ranked first."""

_PARTS = re.compile(r"'s\Z|(?<=[^\W\d_]{3})(?=\d)|\A[a-z]{2}(?=(?:19|20)\d\d\Z)|(?<=\Aq[1-4])'?(?=(?:19|20)\d\d\Z)")
"""The places where a word of a question is split into words of a name: Boeing's, PEP8, FY2022, Q22023 and Q2'2023."""

_FISCAL = re.compile(r"\Afy(?=\d\d\Z)")
"""The prefix of FY22, which is 2022 in a name."""

_KINDS = frozenset(
    """document file paper report book booklet article page letter mail email message note text pdf docx presentation
    slide spreadsheet sheet novel story essay post chapter guide manual handbook contract agreement minute memo draft
    version chat thread dokument datei bericht buch artikel seite brief nachricht notiz prasentation tabelle roman
    geschichte kapitel handbuch vertrag protokoll entwurf fassung folie sent wrote about regarding uber titled called
    named""".split()
)
"""Words for kinds of documents; a document whose name lacks them may be meant all the same."""

_POINTS = frozenset("this that it here these the whole dies dieses diese dieser das hier es".split())


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """The documents of one title in a file; `name` and `titled` are the stems of the file's name and of the title.

    `said` are the words of the question that name it, in their order.
    """

    file: int
    title: str
    name: tuple[str, ...]
    titled: tuple[str, ...]
    said: tuple[str, ...] = ()


def named_documents(store: Store, question: str) -> tuple[list[NamedDocument], DocumentQuestion | None]:
    """Return the documents that a question names, and the form of the question where it asks about one."""
    form = document_question(question)
    if form and (named := _best(store, form.name)):
        return named, form
    return _mentioned(store, question), None


def files_called(store: Store, name: str) -> set[int]:
    """Return the files of the documents that a name means."""
    return {document.file for document in _best(store, name)}


def says_no_name(name: str) -> bool:
    """Return whether a name only points at a document: this, it, the file."""
    return all(word in _POINTS or stem(word) in _KINDS or word in _KINDS for word in words(name))


def _best(store: Store, name: str) -> list[NamedDocument]:
    """Return the documents that have the most words of a name, and the fewest others; of "PEP 451 and PEP 669"
    several.
    """
    spoken = _spoken(name)
    kinds = {word for word in spoken if word in _KINDS or stem(word) in _KINDS}
    ranked: dict[tuple[float, int, float], list[NamedDocument]] = {}
    for document in _candidates(store, spoken):
        held = _held(document.name + document.titled, spoken)
        covered = len(held) / max(1, len(held) + len([word for word in spoken if word not in kinds.union(held)]))
        if covered >= COVERED and (len(held) == len(spoken) or not kinds.issuperset(held)):
            parts = [{*part} for part in (document.name, document.titled) if part]
            complete = max(len(part.intersection(map(stem, held))) / len(part) for part in parts)
            ranked.setdefault((covered, len(held), complete), []).append(replace(document, said=held))
    if not ranked:
        return []
    rank = _, count, complete = max(ranked)
    best = ranked[rank]
    is_name = count > 1 or complete == 1 or _is_rare(store, best[0].said[0], best)
    return best if is_name and len(best) <= MEANT else []


def _mentioned(store: Store, question: str) -> list[NamedDocument]:
    """Return the documents whose whole name or title is in the question, else those with a telling word of their file's
    name.

    Single words of titles are what passages are about (SciFact: preferring them costs .08 of nDCG@10).
    """
    spoken = _spoken(question)
    candidates = _candidates(store, spoken)
    stems = f" {' '.join(map(stem, spoken))} "
    whole = [
        replace(document, said=_held(part, spoken))
        for document in candidates
        for part in (document.name, document.titled)
        if len(part) > 1 and f" {' '.join(part)} " in stems
    ]
    if whole:
        return _fullest(whole)
    telling = _written_as_names(question)
    held_by = [replace(document, said=_held(document.name, spoken)) for document in candidates]
    names = {word for document in held_by for word in telling.intersection(document.said) if len(word) > 1}
    rare = {word for word in names if _is_rare(store, word, [each for each in held_by if word in each.said])}
    telling_ones = [document for document in held_by if rare.intersection(document.said)]
    return _fullest([document for document in telling_ones if not _has_another_number(document, spoken)])


def _has_another_number(document: NamedDocument, spoken: Sequence[str]) -> bool:
    """Return whether a question gives a number behind a word of the name, and the name has only others: PEP 296."""
    numbers = {word for word in document.name + document.titled if word.isdecimal()}
    asked = {second for first, second in pairwise(spoken) if first in document.said and second.isdecimal()}
    return bool(numbers and asked) and numbers.isdisjoint(asked)


def _fullest(documents: Sequence[NamedDocument]) -> list[NamedDocument]:
    """Return the documents of which the question has the most words, unless they are too many to mean one."""
    most = max((len({*document.said}) for document in documents), default=0)
    fullest = [document for document in documents if len({*document.said}) == most]
    return fullest if len(fullest) <= MEANT else []


def _candidates(store: Store, spoken: Sequence[str]) -> list[NamedDocument]:
    """Return the documents whose name or title has one of these words."""
    terms = dict.fromkeys([*spoken, *map("".join, pairwise(spoken))])
    rows = store.named_like(terms, _COMPARED)
    return [NamedDocument(file, title, _stems(name), _stems(titled)) for file, title, name, titled in rows]


def _stems(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stem(word) for word in _spoken(text)))


def _spoken(name: str) -> list[str]:
    """Return the words of a name as they are compared."""
    every = [_FISCAL.sub("20", part) for word in words(name) for part in _PARTS.split(word) if part]
    bare = [word.lstrip("0") or "0" if word.isdecimal() else word for word in every]
    return [word for word in bare if word not in STOP_WORDS or word == "may"] or bare


def _held(stems: Collection[str], spoken: Sequence[str]) -> tuple[str, ...]:
    """Return the words that a name has, alone or joined with their neighbour."""
    joined = {word for pair in pairwise(spoken) if "".join(pair) in stems for word in pair}
    return tuple(word for word in spoken if stem(word) in stems or word in joined)


def _written_as_names(question: str) -> set[str]:
    """Return the folded words that are capitalised or hold a digit; in German every noun is, so rarity decides as
    well.
    """
    written = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", question)
    return {word for each in written if not each.islower() or any(map(str.isdigit, each)) for word in _spoken(each)}


def _is_rare(store: Store, word: str, documents: Sequence[NamedDocument]) -> bool:
    """Return whether the passages of other files than these hardly have a word."""
    return store.is_rare_elsewhere(word, {document.file for document in documents}, ORDINARY)
