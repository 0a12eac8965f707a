"""A question read as queries of a table, by rules: its rows by their values, its columns by the words of its names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise, product
from typing import NamedTuple

from local_rag.index.tables.query import Aggregate, Comparison, Condition, TableQuery
from local_rag.index.tables.question_words import (
    ASKS_LIST,
    ASKS_YES,
    COMPARED,
    COMPARISONS,
    FIGURES,
    FLUFF,
    NAMES_ROWS,
    NO,
    NUMBER,
    PERSON,
    QUANTITY,
    SYNONYMS,
    WORD,
    YES,
    date_in,
    stems,
)
from local_rag.index.tables.table import Table, key_of
from local_rag.index.tables.values import number_of, without_unit
from local_rag.text.lexicon import STOP_WORDS, UNITS
from local_rag.text.words import fold, words

LONGEST = 6
"""Words of a value that is looked for in a question."""
NEAR, NEAR_LETTERS, NEAR_AMONG = 0.84, 5, 2_000
"""How alike a word of a question and one of a value are (difflib), from how many letters on that says something, and
among how many values of a column it is looked for."""


class Reading(NamedTuple):
    """A query, how much of the question it `read`, and why it is not `certain`; "" where it is."""

    query: TableQuery
    read: int
    doubt: str = ""

    @property
    def certain(self) -> bool:
        return not self.doubt


def readings(question: str, table: Table, about: str) -> list[Reading]:
    """The queries that a question may mean: several where it can be read in several ways.

    `about` are the words of the file's name, its title and its headings, which say nothing of rows.
    """
    return [*_Reader(question, table, about).readings()]


@dataclass
class _Word:
    """A word of a question; `names` are the columns whose names have it, `also` those that it is a synonym of."""

    text: str
    start: int
    end: int
    names: set[int]
    also: set[int]
    is_title: bool
    used: bool = False

    @property
    def plain(self) -> str:
        return fold(self.text).removesuffix("'s")

    @property
    def is_function(self) -> bool:
        """Whether it only carries a function, as "it" does and "IT" does not."""
        short = len(self.plain) < 2 and not self.text.isupper()
        return short or (self.plain in STOP_WORDS and not (self.text.isupper() and self.text[1:]))

    @property
    def is_telling(self) -> bool:
        """Whether it may be a word of a value: a name, or none that people ask with."""
        asks = self.plain in UNITS or stems(self.text) <= FLUFF or self.also
        return not (self.is_function or self.names) and (not asks or (self.text[0].isupper() and self.start > 0))

    @property
    def is_read(self) -> bool:
        """Whether it says nothing that was not found."""
        known = self.used or self.names or self.also or self.is_title or self.is_function or self.plain in UNITS
        return bool(known) or stems(self.text) <= FLUFF


class _Reader:
    """One question and one table; each step marks the words that it has read as `used`."""

    def __init__(self, question: str, table: Table, about: str) -> None:
        self.question, self.table, self.columns = question, table, table.columns
        self.plain = "".join(fold(letter)[:1] or letter for letter in question)
        self.where, self.doubts, self.direct = list[list[Condition]](), list[str](), 0
        self.names = [stems(without_unit(column.name).replace(".", " ")) for column in table.columns]
        titles, self.words = stems(about), list[_Word]()
        for match in WORD.finditer(question):
            own = stems(match.group())
            meant = set[str]().union(*(group for group in SYNONYMS if group & own))
            names = {place for place, name in enumerate(self.names) if name & own}
            also = {place for place, name in enumerate(self.names) if name & meant} - names
            self.words.append(_Word(match.group(), *match.span(), names, also, own <= titles))

    def readings(self) -> Iterator[Reading]:
        self._values(self._exact, range(LONGEST, 1, -1))
        self._compared()
        self._values(self._exact, [1])
        figure, hint = self._figure()
        self._values(self._partly, range(LONGEST, 0, -1))
        self._values(self._nearly, [1])
        self._values(self._flag, [1])
        asked = self._asked(figure, hint)
        for before, word in pairwise([_Word("", 0, 0, set(), set(), True), *self.words]):
            if not word.is_read and not (word.text.islower() and NAMES_ROWS.fullmatch(before.plain)):
                return
            if not word.is_read:  # the books of a table of titles and authors
                self.doubts.append(f"{word.text!r} was taken for what the rows are")
        if any(len(either) > 1 for either in self.where):
            self.doubts.append("it can be read in several ways")
        read = 2 * self.direct + sum(word.is_title and not word.text.isdigit() for word in self.words)
        for conditions in product(*self.where):
            where = tuple(dict.fromkeys(conditions))
            query = self._query(where, figure, asked)
            if query:
                yield Reading(query, read, "; ".join(self.doubts))

    # --- rows

    def _values(self, find: Callable[[Sequence[_Word]], list[Condition]], sizes: Iterable[int]) -> None:
        """Conditions of words that stand together: of each one for every column that they may be about."""
        for size in sizes:
            for at in range(len(self.words) - size + 1):
                span = self.words[at : at + size]
                if not any(word.used for word in span) and (found := find(span)):
                    self._use(span[0].start, span[-1].end)
                    self.direct += size * (1 + (find == self._exact))
                    self.where.append(found)

    def _exact(self, span: Sequence[_Word]) -> list[Condition]:
        """The text of a cell: of a word that has a function, or is a name of a column, only beside such: band D."""
        first, beside = span[0], self._before(span[0])
        if len(span) == 1 and re.fullmatch(r"\d+(?:\.\d+)?", first.text):
            numbers = [self.columns[place] for place in beside if self.columns[place].kind == "number"]
            return [Condition(numbers[0].name, "is", first.text)] if numbers else []
        if len(span) == 1 and first.names and not (first.text[0].isupper() and first.start):
            return []
        if len(span) > 1 and first.plain in STOP_WORDS and not first.text[0].isupper():
            return []
        found = dict[int, str]()
        for place, text in self.table.named(_keys(span)):
            found.setdefault(place, text)
        if len(span) == 1 and (first.is_function or len(first.plain) < 2):
            found = {place: text for place, text in found.items() if place in beside}
        named = {place for place in found if any(place in word.names for word in self.words if word not in span)}
        return [Condition(self.columns[place].name, "is", found[place]) for place in sorted(named or found)]

    def _before(self, word: _Word) -> set[int]:
        """The columns that the word before has the name of."""
        return self.words[self.words.index(word) - 1].names if word is not self.words[0] else set()

    def _partly(self, span: Sequence[_Word]) -> list[Condition]:
        """Texts that have all these words, in whatever order: a person by one name."""
        if not all(word.is_telling for word in span):
            return []
        own = stems(" ".join(word.text for word in span))
        held = set[tuple[int, str]](self.table.holding(key_of(span[0].plain)))
        found = [(place, text) for place, text in sorted(held) if own <= stems(text)]
        conditions = list[Condition]()
        for place in dict.fromkeys(place for place, _ in found):
            texts = [text for column, text in found if column == place]
            is_one = len(texts) == 1
            if is_one or len(span) == 1:
                value = texts[0] if is_one else span[0].plain
                conditions.append(Condition(self.columns[place].name, "is" if is_one else "holds", value))
        return conditions

    def _nearly(self, span: Sequence[_Word]) -> list[Condition]:
        """A text that is written nearly as a word; what it was read as is a doubt."""
        word = span[0]
        if not word.is_telling or len(word.plain) < NEAR_LETTERS or any(map(str.isdigit, word.text)):
            return []
        for place in self.table.places("text"):
            texts = self.table.texts(place, NEAR_AMONG)
            parts = {part: text for text in texts for part in [key_of(text), *words(text)]}
            if close := get_close_matches(word.plain, parts, 1, NEAR):
                self.doubts.append(f"{word.text!r} was read as {parts[close[0]]!r}")
                return [Condition(self.columns[place].name, "is", parts[close[0]])]
        return []

    def _flag(self, span: Sequence[_Word]) -> list[Condition]:
        """A column of yes and no of which a list has those with one: rooms with a projector."""
        before = self.plain[: span[0].start]
        for place in span[0].names if ASKS_LIST.match(before) else ():
            texts = self.table.texts(place, 5)
            if texts and {fold(text) for text in texts} <= YES | NO:
                without = bool(re.search(r"\b(?:without|no|not|ohne|kein\w*)\b[^,;]*$", before))
                wanted = [text for text in texts if (fold(text) in NO) == without]
                return [Condition(self.columns[place].name, "is", text) for text in wanted[:1]]
        return []

    def _compared(self) -> None:
        """Numbers and dates with what they are compared by: over 100 €, in March, between 10 and 20."""
        for match in COMPARED.finditer(self.question):
            sign = COMPARISONS.get(fold(match["sign"] or ""), "is")
            texts: dict[Comparison, str] = {sign: match["value"]}
            if match["low"]:
                texts = {"at least": match["low"], "at most": match["high"]}
            dates = [date_in(text) for text in texts.values()]
            is_date = all(date and (sign == "is" or date[0] != "-") for date in dates)
            places = self.table.places("date") if is_date else []
            has_sign = match["low"] or match["sign"] or (places and not texts[sign].isalpha())
            if self._is_used(*match.span()) or not has_sign:
                continue
            numbers = [number_of(text) for text in texts.values()]
            unit = next((unit for _, unit in filter(None, numbers) if not unit.isalpha() or fold(unit) in UNITS), "")
            last = [*texts.values()][-1]
            number = NUMBER.match(last)
            end = match.end() if places or unit or not number else match.end() - len(last) + number.end()
            place = self._measured(end, match.start(), unit, places or self.table.places("number"))
            if place is not None and all(dates if places else numbers):
                self._use(match.start(), end)
                self.direct += 1
                for (sign, text), date in zip(texts.items(), dates, strict=True):
                    value = (
                        str(date) if places else f"{digits[0]} {unit}".strip() if (digits := NUMBER.match(text)) else ""
                    )
                    self.where.append([self._condition(place, sign, value)])

    def _condition(self, place: int, sign: Comparison, value: str) -> Condition:
        column = self.columns[place]
        if value.startswith("-") and column.kind == "date":
            return Condition(column.name, "month", value[1:3])
        return Condition(column.name, sign, value)

    def _measured(self, end: int, start: int, unit: str, places: Sequence[int]) -> int | None:
        """The column that a comparison is about, by the words around it and by its unit."""
        after = [word for word in self.words if word.start >= end][:3]
        before = [word for word in self.words if word.end <= start]
        scores = {
            place: 4 * bool(unit and unit in (self.columns[place].unit, *self.columns[place].units))
            + sum(4 * (place in word.names) + (place in word.also) for word in [*after, *before])
            for place in places
        }
        best = [place for place in places if scores[place] == max(scores.values())]
        if len(best) > 1 and not any(scores.values()):
            best = [place for place in best if self.columns[place].kind == "date"]
        if len(best) != 1:
            return None
        for word in [*after, *before]:
            word.used = word.used or best[0] in word.names
            self.direct += best[0] in word.names
        return best[0]

    # --- columns and figures

    def _figure(self) -> tuple[Aggregate, str]:
        """The figure that is asked for, and the column that its word hints at: the cheapest is a price."""
        found = [
            (figure, hint)
            for figure, hint, pattern in FIGURES
            for match in re.finditer(pattern, self.plain)
            if not self._is_used(*match.span()) and self._use(*match.span())
        ]
        return found[0] if found else ("", "")

    def _asked(self, figure: Aggregate, hint: str) -> list[int]:
        """The columns that are asked for."""
        conditioned = {self.table.position(condition.column) for either in self.where for condition in either[:1]}
        others = [place for place in range(len(self.columns)) if place not in conditioned]
        asked, is_direct = self._mentioned(conditioned)
        before = {place: word.plain for word, named in pairwise(self.words) for place in named.names}
        self.each = [place for place in asked if before.get(place) in ("per", "each", "every", "by", "pro")]
        asked = [place for place in asked if place not in self.each]
        numeric = [place for place in asked if place in self.table.places("number", "time", "date")]
        if figure in ("min", "max"):
            kinds = hint if hint in ("date", "time") else "number"
            possible = self.table.places(kinds)
            numeric = numeric or (self._like("price") if hint == "price" else possible if len(possible) == 1 else [])
            return numeric and [*numeric[:1], *(place for place in asked if place not in numeric)]
        if figure == "count":
            if numeric and is_direct:
                return numeric
            by_key = any(either[0].column == self.columns[self.table.key].name for either in self.where)
            many = [place for place in others if self.names[place] & QUANTITY and self.columns[place].kind == "number"]
            return many if by_key and not numeric else []
        if figure or re.search(r"\bhow much\b", self.plain):
            possible = [place for place in others if self.columns[place].kind == "number"]
            return numeric or (possible if len(possible) == 1 else self._like("amount"))
        if not asked and re.match(r"\W*(?:who|whom|whose|wer)\b", self.plain):
            return [place for place in others if self.names[place] & PERSON][:1] or [*{self.table.key} & {*others}]
        if not asked and re.search(r"\b(?:when|wann)\b|\bwhat (?:date|day)\b", self.plain):
            return [place for place in others if self.columns[place].kind == "date"][:1]
        return asked

    def _mentioned(self, conditioned: set[int]) -> tuple[list[int], bool]:
        """The columns that words name which are left, those of most words first, and whether it is by their names."""
        asking = ("where", "when", "who", "by")
        for is_direct in (True, False):
            left = [(word, word.names if is_direct else word.also) for word in self.words if not word.used]
            left = [
                (word, held)
                for word, held in left
                if held and (is_direct or not word.is_function or word.plain in asking)
            ]
            chosen = list[int]()
            while left:
                support = {place: [place in held for _, held in left] for _, held in left for place in held}
                best = max(support, key=lambda place: (sum(support[place]), -place))
                tied = sorted(place for place in support if support[place] == support[best])
                tied = [place for place in tied if place not in conditioned] or tied
                if not is_direct:
                    tied = [place for place in tied if self.columns[place].kind != "text"] or tied
                if len(tied) > 1:
                    self.doubts.append(f"several columns may be meant: {', '.join(self.columns[p].name for p in tied)}")
                chosen += tied
                for word, held in left:
                    word.used = word.used or bool(held & {*tied})
                    self.direct += is_direct and bool(held & {*tied})
                left = [(word, held) for word, held in left if not word.used]
            if chosen := [place for place in dict.fromkeys(chosen) if place not in conditioned]:
                return chosen, is_direct
        return [], False

    def _like(self, word: str) -> list[int]:
        """The columns of numbers that a word is a synonym of."""
        meant = set[str]().union(*(group for group in SYNONYMS if group & stems(word)))
        return [place for place in self.table.places("number") if self.names[place] & meant]

    # --- what they make

    def _query(self, where: tuple[Condition, ...], figure: Aggregate, asked: Sequence[int]) -> TableQuery | None:
        """The query of a question that is read to its end; None where it asks for nothing that is computed."""
        names, key = tuple(self.columns[place].name for place in asked), self.columns[self.table.key].name
        if self.each:
            return TableQuery(
                where, names[:1], (figure or "sum") if names else "count", self.columns[self.each[0]].name
            )
        if figure in ("min", "max", "mean", "sum"):
            return TableQuery(where, names[: 1 + (figure in ("min", "max"))], figure) if names else None
        if figure == "count":
            return TableQuery(where, names[:1], "sum") if names else self._count(where)
        if not where:
            return None
        others = tuple(condition.column for condition in where if condition.column != key)
        if ASKS_YES.match(self.plain) and 0 < len(others) < len(where):
            return TableQuery(tuple(condition for condition in where if condition.column == key), others)
        if names and re.search(r"\bhow much\b", self.plain) and self.columns[asked[0]].kind == "number":
            return TableQuery(where, names[:1], "sum")
        fixed = {condition.column for condition in where if condition.comparison == "is"}
        if not names and re.match(r"\W*how\b", self.plain):
            self.doubts.append("it is not certain which column is meant")
        if not names:
            return TableQuery(where, (key,) if ASKS_LIST.match(self.plain) and key not in fixed else ())
        if len(names) == 1 and self.columns[asked[0]].kind == "text":
            return TableQuery(where, names) if names[0] == key else TableQuery(where, group_by=names[0])
        dates = [self.columns[place].name for place in self.table.places("date")[:1] if self.table.repeats_key]
        telling = dates if key in fixed else [key]
        return TableQuery(where, tuple(dict.fromkeys([*(name for name in telling if name not in fixed), *names])))

    def _count(self, where: tuple[Condition, ...]) -> TableQuery | None:
        """How many rows there are, or different values of a column; None where something else is counted."""
        match = re.search(r"(?:how many|number of) (?:different )?([\w-]+)", self.plain)
        counted = stems(match[1]) if match else set[str]()
        columns = [
            place for place in self.table.places("text") if place != self.table.key and self.names[place] & counted
        ]
        if columns:
            return TableQuery(where, (self.columns[columns[0]].name,), "count")
        is_row = any(word.is_title and stems(word.text) & counted for word in self.words)
        return TableQuery(where, (), "count") if where or is_row or self.names[self.table.key] & counted else None

    def _is_used(self, start: int, end: int) -> bool:
        return any(word.used for word in self.words if word.start < end and word.end > start)

    def _use(self, start: int, end: int) -> bool:
        for word in self.words:
            word.used = word.used or (word.start < end and word.end > start)
        return True


def _keys(span: Sequence[_Word]) -> list[str]:
    """The keys under which a text may be stored that these words name, without a plural or a genitive, too."""
    key = key_of("".join(word.text for word in span))
    bare = key_of("".join(word.text for word in span[:-1]) + span[-1].text.removesuffix("'s").removesuffix("’s"))
    endings = (("s", ""), ("es", ""), ("ies", "y"))
    return [
        key,
        bare,
        *(bare.removesuffix(end) + other for end, other in endings if bare.endswith(end) and len(bare) > 4),
    ]
