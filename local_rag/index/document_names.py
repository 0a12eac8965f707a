"""Which documents a question names, by the words of their files' names and titles, and how sure that is.

A word tells a document from the others where few names hold it; the forms in which people ask about a document
(`text.document_questions`) say where its name stands. Elsewhere in a question an ordinary word is no name: one that the
passages of other files use, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from local_rag.index.name_words import name_words
from local_rag.index.store import full_text, reads
from local_rag.text.document_questions import DocumentQuestion, document_question
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import content_words, fold, stem, words

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

_PREFIX = 5
"""Letters that two words begin with to count as one word where one is short for the other: Quarter, Quarterly."""

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

_INCIDENTAL = frozenset("final draft copy new old version rev revision v1 v2 v3 v4 entwurf endfassung neu alt".split())
"""Words of names that nobody says."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        """january januar|february februar|march marz maerz|april|may mai|june juni|july juli|august|september
        |october oktober|november|december dezember""".split("|"),
        start=1,
    )
    for name in names.split()
}


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


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a document is called: its file's name and its title, or one of them; `letters` spell both.

    `title` tells it within its file, where that holds documents of several titles.
    """

    file: int
    path: str
    name: str
    titled: str
    title: str | None
    letters: str


@dataclass(frozen=True, slots=True)
class _Match:
    """The words of a name (by place) that an entry holds, and how much of the entry's own name they are, in [0, 1].

    `whole` are those that are its whole name or its whole title, empty where neither is said in full; `joined` those
    that it writes as one word with the word before.
    """

    entry: _Entry
    held: frozenset[int]
    complete: float
    whole: frozenset[int]
    joined: frozenset[int]


class DocumentNames:
    """The names and titles in an index, read once per generation of it. Any thread may ask."""

    def __init__(self) -> None:
        self._known: tuple[str, tuple[_Entry, ...]] = ("", ())

    def in_question(self, store: Store, question: str) -> Naming:
        """The documents that a question names."""
        form, entries = document_question(question), self._entries(store)
        if not entries:
            return Naming()
        if form is not None and (named := _slot(store, entries, form.name)):
            return Naming(tuple(named), form)
        named = _mentioned(store, entries, question)
        if named and form is None and named[0].sure == SURE and _names_only(question, named):
            form = DocumentQuestion("content", named[0].said)
        return Naming(tuple(named), None if form and form.asks != "content" else form)

    def _entries(self, store: Store) -> Sequence[_Entry]:
        generation = store.read(reads.meta)["generation"]
        if self._known[0] != generation:
            self._known = generation, tuple(_read_entries(store.read(reads.titles_of_files)))
        return self._known[1]


def _read_entries(rows: Iterable[tuple[int, str, str]]) -> Iterator[_Entry]:
    """An entry per file; where its documents have several titles, one for each of these besides."""
    for (file, path), group in groupby(rows, key=itemgetter(0, 1)):
        titles = [title for _, _, title in group]
        yield _entry(file, path, path, titles[0] if len(titles) == 1 else "", None)
        if len(titles) > 1:
            yield from (_entry(file, path, "", title, title) for title in titles if title)


def _entry(file: int, path: str, name: str, titled: str, title: str | None) -> _Entry:
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    letters = "".join(filter(str.isalnum, fold(f"{last} {titled}")))
    return _Entry(file, path, name, titled, title, letters)


# --- a name in its place: "who wrote NAME", "what is NAME about"


def _slot(store: Store, entries: Sequence[_Entry], name: str) -> list[NamedDocument]:
    """The documents that a name means, which may be several: "PEP 451 and PEP 669"."""
    whole = _best(store, entries, name)
    parts = [part for part in _CONJUNCTION.split(name) if part]
    if len(parts) < 2 or (whole and whole[0].sure == SURE and len(content_words(whole[0].said)) == len(_spoken(name))):
        return whole
    each = [_best(store, entries, part) for part in parts]
    if not all(each):
        return whole
    return list({(named.file, named.title): named for best in each for named in best}.values())


def _spoken(name: str) -> list[str]:
    """The words of a name as they are compared."""
    every = [_FISCAL.sub("", word) for word in words(name)]
    return [word for word in every if word not in STOP_WORDS or word in _MONTHS] or every


def _best(store: Store, entries: Sequence[_Entry], name: str) -> list[NamedDocument]:
    spoken = _spoken(name)
    matches = list(_matches(entries, spoken))
    if not matches:
        return []
    weights = _weights(matches, spoken, len(entries))
    kinds = {place for place, word in enumerate(spoken) if word in _KINDS or stem(word) in _KINDS}

    def share(match: _Match) -> float:
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


def _first(matches: Iterable[_Match], key: object) -> list[_Match]:
    """Those of equal and highest rank."""
    ranked = sorted(matches, key=key, reverse=True)  # type: ignore[call-overload]
    return [match for match in ranked if key(match) == key(ranked[0])]  # type: ignore[operator]


# --- a name anywhere in a question


def _mentioned(store: Store, entries: Sequence[_Entry], question: str) -> list[NamedDocument]:
    """The documents whose whole name or title is said, else that with a telling word of its file's name.

    Single words of titles are what passages are about (SciFact: preferring them costs .08 of nDCG@10).
    """
    spoken = _spoken(question)
    matches = list(_matches(entries, spoken, exact=True))
    whole = [match for match in matches if match.whole and _stand_together(match.whole)]
    whole = [match for match in whole if len(match.whole) > 1 or _is_rare(store, spoken[min(match.whole)], [match])]
    whole = [match for match in whole if not any(match.whole < other.whole for other in whole)]
    if whole:
        sure = {match.entry: SURE if len(match.whole) > 1 else UNSURE for match in whole}
        return [_mention(match, spoken, sure[match.entry]) for match in whole] if len(whole) <= MOST else []
    files = [replace(match.entry, titled="") for match in matches if match.entry.name]
    matches = list(_matches(files, spoken, exact=True))
    weights = _weights(matches, spoken, len(entries))
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


def _mention(match: _Match, spoken: Sequence[str], sure: float) -> NamedDocument:
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


# --- comparing words


def _matches(entries: Iterable[_Entry], spoken: Sequence[str], *, exact: bool = False) -> Iterator[_Match]:
    """The entries that hold some of these words; `exact`: no word counts for another that only begins like it."""
    needles = {needle for place in range(len(spoken)) for needle in _needles(spoken, place)}
    for entry in entries:
        if any(needle in entry.letters for needle in needles):
            match = _compared(entry, spoken, exact)
            if match.held:
                yield match


def _needles(spoken: Sequence[str], place: int) -> Iterator[str]:
    """Letters that every name has that holds this word in some form."""
    word = spoken[place]
    yield (word.lstrip("0") or word) if word.isdecimal() else word[:_PREFIX]
    if word in _MONTHS:
        yield f"{_MONTHS[word]:02}"


def _compared(entry: _Entry, spoken: Sequence[str], exact: bool) -> _Match:
    name = [form for word in name_words(entry.name) for form in words(word)]
    title = words(entry.titled)
    forms = _forms(name) | _forms(title)
    months = _months(entry)
    held, joined = set[int](), set[int]()
    for place, word in enumerate(spoken):
        if _plain(word) in forms or _MONTHS.get(word, 0) in months or (not exact and _is_short_for(word, forms)):
            held.add(place)
        elif place + 1 < len(spoken) and word + spoken[place + 1] in forms:
            held |= {place, place + 1}
            joined.add(place + 1)
    said = _forms([spoken[place] for place in sorted(held)])
    own = {form for form in map(_plain, name) if form not in _INCIDENTAL}
    titled = {_plain(word) for word in title if word not in STOP_WORDS}
    parts = [part for part in (own, titled) if part]
    complete = max((len(said & part) / len(part) for part in parts), default=0.0)
    whole = next((part for part in parts if part <= said), set())
    places = {place for place in held if _forms(spoken[place : place + 2]) & whole or _plain(spoken[place]) in whole}
    return _Match(entry, frozenset(held), complete, frozenset(places), frozenset(joined))


def _plain(word: str) -> str:
    """A number without leading zeros, the stem of any other word."""
    return (word.lstrip("0") or "0") if word.isdecimal() else stem(word)


def _forms(spelled: Sequence[str]) -> set[str]:
    """The words as they are compared, and two neighbours as one word: homeoffice for home-office."""
    return {*map(_plain, spelled), *(first + second for first, second in pairwise(spelled))}


def _is_short_for(word: str, forms: Collection[str]) -> bool:
    if len(word) < _PREFIX or word.isdecimal():
        return False
    return any(len(form) >= _PREFIX and (form.startswith(word) or word.startswith(form)) for form in forms)


_DATED = re.compile(r"(?<!\d)(?:19|20)\d\d[-_. ]?(0[1-9]|1[0-2])(?!\d)|(?<!\d)(?:19|20)\d\d[-_.](0[1-9]|1[0-2])[-_.]")


def _months(entry: _Entry) -> set[int]:
    """The months that name and title give as numbers: 2023-03."""
    spelled = f"{entry.name.rpartition('/')[2]} {entry.titled}"
    return {int(first or second) for first, second in _DATED.findall(spelled)}


def _weights(matches: Sequence[_Match], spoken: Sequence[str], entries: int) -> dict[int, float]:
    """Inverse document frequency among names by place: ln((N + 1) / (n + 0.5)); a word of no name weighs most."""
    counts = dict.fromkeys(range(len(spoken)), 0)
    for match in matches:
        for place in match.held:
            counts[place] += 1
    return {place: max(0.1, math.log((entries + 1) / (count + 0.5))) for place, count in counts.items()}


def _is_rare(store: Store, word: str, matches: Sequence[_Match]) -> bool:
    """Whether the passages of other files than these hardly hold a word, or two in a row."""
    outside, chunks = store.read(full_text.matches_elsewhere, f'"{word}"', {match.entry.file for match in matches})
    return outside <= max(1, ORDINARY * chunks)
