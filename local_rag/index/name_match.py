"""Which words of a question the name of a document holds: the words of its file's name and of its title."""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from local_rag.index.name_words import name_words
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import fold, stem, words

COMPARED = 60
"""Names that are compared word by word, of those that hold most of the words, and of those spelled with little else."""

_BETWEEN_NUMBERS = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_BETWEEN_WORDS = re.compile(r"[^\w.]+|_+|(?<!\d)\.|\.(?!\d)")

PREFIX = 5
"""Letters that two words begin with to count as one word where one is short for the other: Quarter, Quarterly."""

_FISCAL = re.compile(r"\A[a-z]{2}(?=(?:19|20)\d\d\Z)")
"""FY2022, SS2024: the letters before a year."""

_INCIDENTAL = frozenset("final draft copy new old version rev revision v1 v2 v3 v4 entwurf endfassung neu alt".split())
"""Words of names that nobody says."""

MONTHS = {
    name: number
    for number, names in enumerate(
        """january januar|february februar|march marz maerz|april|may mai|june juni|july juli|august|september
        |october oktober|november|december dezember""".split("|"),
        start=1,
    )
    for name in names.split()
}
"""The folded names of months -> their numbers."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a document is called: its file's name and its title, or one of them.

    `letters` spell both, without blanks and signs but between numbers; `length` is that of the shorter of the two.
    `title` tells it within its file, where that holds documents of several titles.
    """

    file: int
    path: str
    name: str
    titled: str
    title: str | None
    letters: str
    length: int


@dataclass(frozen=True, slots=True)
class Match:
    """The words of a name (by place) that an entry holds, and how much of the entry's own name they are, in [0, 1].

    `whole` are those that are its whole name or its whole title, empty where neither is said in full; `joined` those
    that it writes as one word with the word before.
    """

    entry: Entry
    held: frozenset[int]
    complete: float
    whole: frozenset[int]
    joined: frozenset[int]


def entries_of(rows: Iterable[tuple[int, str, str, bool]]) -> Iterator[Entry]:
    """An entry per file; where its documents have `several` titles, one for each of these besides.

    `rows` are (file, path, title, several), by file.
    """
    for (file, path, several), group in groupby(rows, key=itemgetter(0, 1, 3)):
        titles = [title for _, _, title, _ in group]
        yield _entry(file, path, path, "" if several else titles[0], None)
        if several:
            yield from (_entry(file, path, "", title, title) for title in titles if title)


def _entry(file: int, path: str, name: str, titled: str, title: str | None) -> Entry:
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    plain = fold(last), fold(titled)
    letters = _BETWEEN_WORDS.sub("", _BETWEEN_NUMBERS.sub(".", " ".join(plain)))
    length = min(len(part) for part in (plain[0].rpartition(".")[0] or plain[0], plain[1]) if part) if any(plain) else 1
    return Entry(file, path, name, titled, title, letters, length)


def spoken_words(name: str) -> list[str]:
    """The words of a name as they are compared."""
    every = [_FISCAL.sub("", word) for word in words(name)]
    return [word for word in every if word not in STOP_WORDS or word in MONTHS] or every


def matches_of(
    entries: Sequence[Entry], spoken: Sequence[str], weights: Mapping[int, float], *, exact: bool = False
) -> list[Match]:
    """The entries that hold some of these words, each of which has a weight by its place.

    `exact`: no word counts for another that only begins like it. Only what holds most of the words, or is spelled with
    little else, is compared.
    """
    scores: dict[int, float] = {}
    spelled: dict[int, int] = {}
    letters = [entry.letters for entry in entries]
    for place, word in enumerate(spoken):
        for number in _holding(letters, word):
            scores[number] = scores.get(number, 0.0) + weights[place]
            spelled[number] = spelled.get(number, 0) + len(word)
    best = heapq.nlargest(COMPARED, scores, key=scores.__getitem__)
    alike = heapq.nlargest(COMPARED, spelled, key=lambda number: spelled[number] / entries[number].length)
    compared = (_compared(entries[number], spoken, exact) for number in sorted({*best, *alike}))
    return [match for match in compared if match.held]


def _holding(letters: Sequence[str], word: str) -> Collection[int]:
    """Which names may hold a word in some form, by their letters alone."""
    if word.isdecimal():
        bare = word.lstrip("0") or "0"
        number = re.compile(rf"(?<!\d)0*{bare}(?!\d)")
        return [place for place, spelled in enumerate(letters) if bare in spelled and number.search(spelled)]
    needle = word[:PREFIX]
    holding = [place for place, spelled in enumerate(letters) if needle in spelled]
    if word not in MONTHS:
        return holding
    month = f"{MONTHS[word]:02}"
    return {*holding, *(place for place, spelled in enumerate(letters) if month in spelled)}


def _compared(entry: Entry, spoken: Sequence[str], exact: bool) -> Match:
    name = [form for word in name_words(entry.name) for form in words(word)]
    title = words(entry.titled)
    forms = _forms(name) | _forms(title)
    months = _months(entry)
    held, joined = set[int](), set[int]()
    for place, word in enumerate(spoken):
        if _plain(word) in forms or MONTHS.get(word, 0) in months or (not exact and _is_short_for(word, forms)):
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
    return Match(entry, frozenset(held), complete, frozenset(places), frozenset(joined))


def _plain(word: str) -> str:
    """A number without leading zeros, the stem of any other word."""
    return (word.lstrip("0") or "0") if word.isdecimal() else stem(word)


def _forms(spelled: Sequence[str]) -> set[str]:
    """The words as they are compared, and two neighbours as one word: homeoffice for home-office."""
    return {*map(_plain, spelled), *(first + second for first, second in pairwise(spelled))}


def _is_short_for(word: str, forms: Collection[str]) -> bool:
    if len(word) < PREFIX or word.isdecimal():
        return False
    return any(len(form) >= PREFIX and (form.startswith(word) or word.startswith(form)) for form in forms)


_DATED = re.compile(r"(?<!\d)(?:19|20)\d\d[-_. ]?(0[1-9]|1[0-2])(?!\d)|(?<!\d)(?:19|20)\d\d[-_.](0[1-9]|1[0-2])[-_.]")


def _months(entry: Entry) -> set[int]:
    """The months that name and title give as numbers: 2023-03."""
    spelled = f"{entry.name.rpartition('/')[2]} {entry.titled}"
    return {int(first or second) for first, second in _DATED.findall(spelled)}
