"""Which documents a question names, by the words of their files' names and titles, and how sure that is.

A word tells a document from the others where few names hold it; the forms in which people ask about a document
(`text.document_questions`) say where its name stands. Elsewhere in a question an ordinary word is no name: one that the
passages of other files use, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from local_rag.index.name_candidates import candidates
from local_rag.index.name_match import Match, matches_of, spoken_words
from local_rag.index.store import full_text
from local_rag.text.document_questions import DocumentQuestion, document_question
from local_rag.text.words import content_words, stem, words

if TYPE_CHECKING:
    from local_rag.index.store.store import Store

MOST = 4
"""Documents that one name may mean; a name that fits more tells none of them from the others."""

COVERED = 0.75
"""Share of a name in a question, its rare words counting more, that a document's name and title must hold."""

ORDINARY = 0.01
"""Share of the passages of other files from which a word is no name by itself."""

SURE, LIKELY, UNSURE = 1.0, 0.7, 0.4
"""How sure it is that a document is meant: its name is said; a telling part of it is; by a word that others use too."""

_CONJUNCTION = re.compile(r"\s*(?:,|\b(?:and|und|or|oder|versus|vs\.?)\b|&)\s*", re.IGNORECASE)

_KINDS = frozenset(
    """document file paper report book booklet article page letter mail email message note text pdf docx presentation
    slide spreadsheet sheet novel story essay post chapter guide manual handbook contract agreement minute memo draft
    version chat thread dokument datei bericht buch artikel seite brief nachricht notiz prasentation tabelle roman
    geschichte kapitel handbuch vertrag protokoll entwurf fassung folie sent wrote about regarding uber titled called
    named""".split()
)
"""Words that say what kind of document is meant; one whose name lacks them may be meant all the same."""


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a question names: a file, or what has this `title` in a file with several, such as a mailbox.

    `said` are the words of the question that name it; `sure` is in (0, 1].
    """

    file: int
    path: str
    title: str | None
    said: str
    sure: float


@dataclass(frozen=True, slots=True)
class Naming:
    """What a question says of documents: those that it names, best first, and its form, where it has one of these."""

    documents: tuple[NamedDocument, ...] = ()
    form: DocumentQuestion | None = None


def documents_in(store: Store, question: str) -> Naming:
    """What a question says of the documents of an index."""
    form = document_question(question)
    if form is not None and (named := _slot(store, form.name)):
        return Naming(tuple(named), form)
    named = _mentioned(store, question)
    if named and form is None and named[0].sure == SURE and _names_only(question, named):
        form = DocumentQuestion("content", named[0].said)
    return Naming(tuple(named), None if form and form.asks != "content" else form)


# --- a name in its place: "who wrote NAME", "what is NAME about"


def _slot(store: Store, name: str) -> list[NamedDocument]:
    """The documents that a name means, which may be several: "PEP 451 and PEP 669"."""
    whole = _best(store, name)
    parts = [part for part in _CONJUNCTION.split(name) if part]
    if len(parts) < 2 or (
        whole and whole[0].sure == SURE and len(content_words(whole[0].said)) == len(spoken_words(name))
    ):
        return whole
    each = [_best(store, part) for part in parts]
    if not all(each):
        return whole
    return list({(named.file, named.title): named for best in each for named in best}.values())


def _best(store: Store, name: str) -> list[NamedDocument]:
    spoken = spoken_words(name)
    names = candidates(store, spoken)
    weights, matches = names.weights, matches_of(names.entries, spoken, names.weights)
    kinds = {place for place, word in enumerate(spoken) if word in _KINDS or stem(word) in _KINDS}

    def share(match: Match) -> float:
        """How much of the name the entry holds; the kind of document counts only where it holds that, too."""
        total = sum(weight for place, weight in weights.items() if place in match.held or place not in kinds)
        return sum(weights[place] for place in match.held) / total if total else 0.0

    telling = [match for match in matches if match.held - kinds or len(match.held) == len(spoken)]
    covering = [match for match in telling if share(match) >= COVERED]
    best = _first(covering, lambda match: (round(share(match) + 0.001 * len(match.held), 3), round(match.complete, 2)))
    if not best or len(best) > MOST:
        return []
    held = best[0].held
    said = " ".join(spoken[place] for place in sorted(held))
    sure = SURE
    if len(held) == 1 and not _is_rare(store, spoken[next(iter(held))], best):
        sure = UNSURE
    return [NamedDocument(m.entry.file, m.entry.path, m.entry.title, said, sure) for m in best]


def _first(matches: Iterable[Match], key: object) -> list[Match]:
    """Those of equal and highest rank."""
    ranked = sorted(matches, key=key, reverse=True)  # type: ignore[call-overload]
    return [match for match in ranked if key(match) == key(ranked[0])]  # type: ignore[operator]


# --- a name anywhere in a question


def _mentioned(store: Store, question: str) -> list[NamedDocument]:
    """The documents whose whole name or title is said, else that with a telling word of its file's name.

    Single words of titles are what passages are about (SciFact: preferring them costs .08 of nDCG@10).
    """
    spoken = spoken_words(question)
    names = candidates(store, spoken, exact=True)
    weights, matches = names.weights, matches_of(names.entries, spoken, names.weights, exact=True)
    whole = [match for match in matches if match.whole and _stand_together(match.whole)]
    whole = [match for match in whole if len(match.whole) > 1 or _is_rare(store, spoken[min(match.whole)], [match])]
    whole = [match for match in whole if not any(match.whole < other.whole for other in whole)]
    if whole:
        sure = {match.entry: SURE if len(match.whole) > 1 else UNSURE for match in whole}
        return [_mention(match, spoken, sure[match.entry]) for match in whole] if len(whole) <= MOST else []
    files = [replace(match.entry, titled="") for match in matches if match.entry.name]
    matches = matches_of(files, spoken, weights, exact=True)
    capitals = _written_as_names(question)
    telling = {place for place, word in enumerate(spoken) if word in capitals}
    named = [match for match in matches if match.held & telling]
    best = _first(named, lambda match: round(sum(weights[place] for place in match.held), 2))
    if not best or len(best) > MOST:
        return []
    for place in best[0].held & telling:
        phrase = " ".join(spoken[place : place + 2]) if place + 1 in best[0].joined else spoken[place]
        if _is_rare(store, phrase, [match for match in matches if place in match.held]):
            return [_mention(match, spoken, LIKELY) for match in best]
    return []


def _mention(match: Match, spoken: Sequence[str], sure: float) -> NamedDocument:
    said = " ".join(spoken[place] for place in sorted(match.whole or match.held))
    return NamedDocument(match.entry.file, match.entry.path, match.entry.title, said, sure)


def _stand_together(held: frozenset[int]) -> bool:
    return max(held) - min(held) < len(held) + 1


def _names_only(question: str, named: Sequence[NamedDocument]) -> bool:
    """Whether a question says nothing but the name: "What is PEP 572?"."""
    said = {word for document in named for word in document.said.split()}
    return all(word in said or word in _KINDS for word in content_words(question))


def _written_as_names(question: str) -> set[str]:
    """The folded words that are capitalised or hold a digit; in German every noun is, so rarity decides as well."""
    return {
        folded
        for word in re.findall(r"[^\W_]+(?:['’][^\W_]+)*", question)
        if not word.islower() or any(map(str.isdigit, word))
        for folded in words(word)
    }


def _is_rare(store: Store, word: str, matches: Sequence[Match]) -> bool:
    """Whether the passages of other files than these hardly hold a word, or two in a row."""
    files = {match.entry.file for match in matches}
    return store.read(full_text.is_rare_elsewhere, f'"{word}"', files, ORDINARY)
