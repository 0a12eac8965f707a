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
    ASKING,
    ASKS_LIST,
    ASKS_WHICH,
    ASKS_YES,
    COMPARED_VALUE,
    COMPARISONS,
    COUNTS,
    DENIES,
    EACH,
    FIGURES,
    FLUFF,
    HOW_MUCH,
    NAMES_ROWS,
    NO,
    NUMBER,
    PERSON,
    QUANTITY,
    RELATIONS,
    TAKES_NUMBER,
    WORD,
    YES,
    date_in,
    is_unit,
    stems,
    synonyms,
)
from local_rag.index.tables.table import Table, key_of
from local_rag.index.tables.values import MEASURES, number_of, without_unit
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import fold, words

LONGEST_VALUE = 6
"""Words of a value that is looked for in a question."""
LIKE, LIKE_LETTERS, LIKE_AMONG = 0.84, 5, 2_000
"""The least likeness of a word of a question and one of a value (difflib), the least number of letters for that to say
something, and the number of values of a column up to which it is looked for.
"""


class Reading(NamedTuple):
    """A query, how much of the question it `read`, and the reason why it is not `certain`; "" where it is."""

    query: TableQuery
    read: int
    doubt: str = ""

    @property
    def certain(self) -> bool:
        return not self.doubt


def readings(question: str, table: Table, about: str) -> list[Reading]:
    """Return the queries that a question may mean: several where it can be read in several ways.

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
        """Return whether the word only carries a function, as "it" does and "IT" does not."""
        is_name = self.text.isupper() and (len(self.text) > 1 or (self.start > 0 and self.text != "I"))
        return self.plain in STOP_WORDS and not is_name

    @property
    def is_fluff(self) -> bool:
        """Return whether people ask with the word, and it says nothing of a cell."""
        return self.is_function or stems(self.text) <= FLUFF

    @property
    def is_telling(self) -> bool:
        """Return whether it may be a word of a cell: people do not ask with it."""
        return not (self.is_function or self.names or self.is_fluff or self.also)

    @property
    def is_read(self) -> bool:
        known = self.also or self.is_title or self.is_fluff
        return bool(self.used or self.names or (known and self.plain not in RELATIONS))


class _Reader:
    """One question and one table; each step marks the words that it has read as `used`."""

    def __init__(self, question: str, table: Table, about: str) -> None:
        self.question, self.table, self.columns, self.key = question, table, table.columns, table.key
        self.plain = "".join(fold(letter)[:1] or letter for letter in question)
        self.where, self.doubts, self.direct = list[list[Condition]](), list[str](), 0
        counted = re.search(r"(?:how many|number of) (?:different )?([\w-]+)", self.plain)
        self.counted = stems(counted[1]) if counted else set[str]()
        self.names = [stems(without_unit(column.name).replace(".", " ")) for column in table.columns]
        titles, self.words = stems(about), list[_Word]()
        for match in WORD.finditer(question):
            own = stems(match.group())
            is_function = fold(match.group()) in STOP_WORDS  # "what" does not name the column "what to do"
            names = {place for place, name in enumerate(self.names) if name & own and (name <= own or not is_function)}
            also = {place for place, name in enumerate(self.names) if name & synonyms(own)} - names
            self.words.append(_Word(match.group(), *match.span(), names, also, own <= titles))

    def readings(self) -> Iterator[Reading]:
        self._values(self._exact, range(LONGEST_VALUE, 1, -1))
        self._compared()
        self._values(self._exact, [1])
        figure, hint = self._figure()
        self._values(self._partly, range(LONGEST_VALUE, 0, -1))
        self._values(self._nearly, [1])
        self._values(self._flag, [1])
        asked = self._asked(figure, hint)
        unread = [number for number, word in enumerate(self.words) if not word.is_read]
        if (
            unread[:1]
            and NAMES_ROWS.fullmatch(self.words[unread[0] - 1].plain)
            and self.words[unread[0]].text.islower()
        ):
            self.doubts.append(f"{self.words[unread.pop(0)].text!r} was taken for what the rows are")
        if unread or DENIES.search(self.plain):
            return
        if any(len(either) > 1 for either in self.where):
            self.doubts.append("it can be read in several ways")
        read = 2 * self.direct + sum(word.is_title and not word.text.isdigit() for word in self.words)
        for where in product(*self.where):
            if query := self._query(tuple(dict.fromkeys(where)), figure, asked):
                yield Reading(query, read, "; ".join(self.doubts))

    def _condition(self, place: int, value: str, comparison: Comparison = "is") -> Condition:
        return Condition(self.columns[place].name, comparison, value)

    def _is_used(self, start: int, end: int) -> bool:
        return any(word.used for word in self.words if word.start < end and word.end > start)

    def _use(self, start: int, end: int) -> bool:
        for word in self.words:
            word.used = word.used or (word.start < end and word.end > start)
        return True

    # --- rows

    def _values(self, find: Callable[[Sequence[_Word]], list[Condition]], sizes: Iterable[int]) -> None:
        """Add the conditions that words set which stand together: of each one for every column that they may be
        about.
        """
        for size in sizes:
            for at in range(len(self.words) - size + 1):
                span = self.words[at : at + size]
                if not any(word.used for word in span) and (found := find(span)):
                    self._use(span[0].start, span[-1].end)
                    self.direct += size * (1 + (find == self._exact))
                    self.where.append(found)

    def _exact(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the conditions of a cell with this text; a word with a function counts only beside the name of its
        column, as in band A.
        """
        first, is_one = span[0], len(span) == 1
        at = self.words.index(first)
        beside = self.words[at - 1].names if at else set[int]()
        if is_one and NUMBER.fullmatch(first.text):
            return [self._condition(place, first.text) for place in beside & {*self.table.places("number")}][:1]
        if first.names and is_one:
            return []
        found = dict(reversed(self.table.named(_keys(span))))
        if is_one and (first.is_function or not first.text[1:]):
            found = {place: text for place, text in found.items() if place in beside}
        others = set[int]().union(*(word.names for word in self.words if word not in span))
        return [self._condition(place, found[place]) for place in sorted(found.keys() & others or found)]

    def _is_telling(self, word: _Word) -> bool:
        """Return whether a word may be one of a cell: what is counted, as in "how many members", is not."""
        return word.is_telling and stems(word.text) != self.counted

    def _partly(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the conditions of texts that have all these words, in whatever order, as a person by one name."""
        if not all(map(self._is_telling, span)):
            return []
        own, found = stems(" ".join(word.text for word in span)), dict[int, list[str]]()
        for place, text in self.table.holding(key_of(span[0].plain)):
            if own <= stems(text):
                found.setdefault(place, []).append(text)
        one = [self._condition(place, texts[0]) for place, texts in found.items() if len(texts) == 1]
        several = [place for place, texts in found.items() if len(texts) > 1 and len(span) == 1]
        return [*one, *(self._condition(place, span[0].plain, "holds") for place in several)]

    def _nearly(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the condition of a text that is written nearly as a word; the reading is a doubt."""
        word = span[0]
        if self._is_telling(word) and len(word.plain) >= LIKE_LETTERS and word.text.isalpha():
            for place in self.table.places("text", most=LIKE_AMONG):
                texts = self.table.texts(place, LIKE_AMONG)
                parts = {part: text for text in texts for part in [key_of(text), *words(text)]}
                if close := get_close_matches(word.plain, parts, 1, LIKE):
                    self.doubts.append(f"{word.text!r} was read as {parts[close[0]]!r}")
                    return [self._condition(place, parts[close[0]])]
        return []

    def _flag(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the condition of a column of yes and no in a question for a list: rooms with a projector."""
        for place in span[0].names if ASKS_LIST.match(self.plain[: span[0].start]) else ():
            texts = self.table.texts(place, 5)
            if texts and {*map(fold, texts)} <= YES | NO:
                return [self._condition(place, text) for text in texts if fold(text) in YES][:1]
        return []

    def _compared(self) -> None:
        """Add the conditions of numbers and dates that are compared: over 100 €, in March, between 10 and 20."""
        for match in COMPARED_VALUE.finditer(self.question):
            sign = COMPARISONS.get(fold(match["sign"] or ""), "is")
            both: list[tuple[Comparison, str]] = [("at least", match["low"]), ("at most", match["high"])]
            texts = both if match["low"] else [(sign, match["value"])]
            dates = [date_in(text) for _, text in texts]
            is_date = all(date and (sign == "is" or date[0] != "-") for date in dates) and self.table.places("date")
            is_bare = not (match["low"] or match["sign"]) and not (is_date and any(map(str.isdigit, match["value"])))
            digits = [NUMBER.match(text) for _, text in texts]
            is_number = all(digits) and (match["low"] or TAKES_NUMBER.match(fold(match["sign"] or "")))
            if self._is_used(*match.span()) or is_bare or not (is_date or is_number):
                continue
            units = [unit for _, unit in filter(None, (number_of(text) for _, text in texts)) if is_unit(unit)]
            unit, last = units[-1] if units else "", digits[-1]
            end = match.end() if is_date or unit or not last else match.end() - len(last.string) + last.end()
            place = self._measured(match.start(), end, unit, self.table.places("date" if is_date else "number"))
            if place is not None:
                self._use(match.start(), end)
                self.direct += 1
                for (sign, _), date, number in zip(texts, dates, digits, strict=True):
                    value = str(date) if is_date else f"{number[0]} {unit}".strip() if number else ""
                    month = is_date and value.startswith("-")
                    self.where.append([self._condition(place, *((value[1:], "month") if month else (value, sign)))])

    def _measured(self, start: int, end: int, unit: str, places: Sequence[int]) -> int | None:
        """Return the column that a comparison is about, by the words around it and by its unit."""
        near = [word for word in self.words if word.end <= start or word.start >= end]
        scores = {
            place: 4 * bool(unit and unit in (self.columns[place].unit, *self.columns[place].units))
            + sum(4 * (place in word.names) + (place in word.also) for word in near)
            for place in places
        }
        best = [place for place in places if scores[place] == max(scores.values())]
        for word in near if len(best) == 1 else ():
            word.used = word.used or best[0] in word.names
            self.direct += best[0] in word.names
        return best[0] if len(best) == 1 else None

    # --- columns and figures

    def _figure(self) -> tuple[Aggregate, str]:
        """Return the aggregate that is asked for, and the column that its word hints at: the cheapest is a price."""
        found: tuple[Aggregate, str] = "", ""
        for figure, hint, pattern in FIGURES:
            for match in re.finditer(pattern, self.plain):
                if not self._is_used(*match.span()) and found[0] not in ("min", "max"):  # the highest total
                    found = found if found[0] else (figure, hint)
                    self._use(*match.span())
        return found

    def _asked(self, figure: Aggregate, hint: str) -> list[int]:
        """Return the columns that are asked for."""
        fixed = {self.table.position(either[0].column) for either in self.where}
        others = [place for place in range(len(self.columns)) if place not in fixed]
        asked, is_direct = self._mentioned(fixed, figure in ("sum", "mean") or bool(HOW_MUCH.search(self.plain)))
        before = {place: word.plain for word, named in pairwise(self.words) for place in named.names}
        self.each = [place for place in asked if before.get(place) in EACH]
        asked = [place for place in asked if place not in self.each]
        numbers = [place for place in others if self.columns[place].kind == "number"]
        if self.each and not asked:
            asked = [place for place in numbers if any(place in word.also for word in self.words)]
        numeric = [place for place in asked if self.columns[place].kind != "text"]
        measures = [place for place in asked if self.columns[place].kind in MEASURES]
        if figure in ("min", "max"):
            hinted = self.table.places(hint) if hint in ("date", "time") else self._like(hint)
            hinted = hinted if len(hinted) == 1 else []
            measured = hinted if hint in ("date", "time") else numeric or hinted
            if len(numeric) > 1:
                self.doubts.append("several columns may be meant")
            of = [place for place in asked if place not in measured]
            if ASKS_WHICH.match(self.plain) and self.table.repeats((of or [self.key])[0]):
                self.doubts.append("single rows are compared, and not their totals")
            return measured and [*measured[:1], *of]
        if figure == "count":
            is_one = any(either[0].column == self.columns[self.key].name for either in self.where)
            quantities = [place for place in numbers if self.names[place] & QUANTITY and is_one and not measures]
            return measures if measures and is_direct else quantities
        if figure or HOW_MUCH.search(self.plain):
            return measures or (numbers if len(numbers) == 1 else self._like("amount"))
        if not is_direct and re.match(r"\W*(?:who|whom|whose|wer)\b", self.plain):
            return [place for place in others if self.names[place] & PERSON][:1] or [*{self.key} & {*others}] or asked
        if not is_direct and re.search(r"\b(?:when|wann)\b|\bwhat (?:date|day)\b", self.plain):
            return [place for place in others if self.columns[place].kind == "date"][:1] or asked
        return asked

    def _mentioned(self, fixed: set[int], measured: bool) -> tuple[list[int], bool]:
        """Return the columns left that words name, those of most words first, and whether the words are in their names.

        Of several as good ones those of numbers, where such is `measured`.
        """
        for is_direct in (True, False):
            left = [(word, word.names if is_direct else word.also) for word in self.words if not word.used]
            left = [each for each in left if is_direct or not each[0].is_function or each[0].plain in ASKING]
            chosen = list[int]()
            while support := {place: [place in held for _, held in left] for _, held in left for place in held}:
                best = max(support, key=lambda place: (sum(support[place]), -place))
                tied = sorted(place for place in support if support[place] == support[best])
                tied = [place for place in tied if place not in fixed] or tied
                if measured:
                    tied = [place for place in tied if self.columns[place].kind in MEASURES] or tied
                if len(tied) > 1:
                    self.doubts.append(f"several columns may be meant: {', '.join(self.columns[p].name for p in tied)}")
                chosen += tied
                for word, held in left:
                    word.used = word.used or not held.isdisjoint(tied)
                    self.direct += is_direct and not held.isdisjoint(tied)
                left = [each for each in left if not each[0].used]
            if chosen := [place for place in dict.fromkeys(chosen) if place not in fixed]:
                return chosen, is_direct
        return [], False

    def _like(self, word: str) -> list[int]:
        """Return the columns of numbers that a word is a synonym of."""
        return [place for place in self.table.places("number") if self.names[place] & synonyms(stems(word))]

    # --- what they make

    def _query(self, where: tuple[Condition, ...], figure: Aggregate, asked: Sequence[int]) -> TableQuery | None:
        """Return the query of a question that is read to its end; None where it asks for nothing that is computed."""
        names, key = tuple(self.columns[place].name for place in asked), self.columns[self.key].name
        if self.each:
            is_asked = names or figure == "count"
            return TableQuery(where, names[:1], figure or "sum", self.columns[self.each[0]].name) if is_asked else None
        is_number = bool(asked) and self.columns[asked[0]].kind == "number"
        if figure == "count" or (not figure and where and is_number and HOW_MUCH.search(self.plain)):
            return TableQuery(where, names, "sum") if names else self._count(where)
        if figure:
            return TableQuery(where, names[: 1 + (figure in ("min", "max"))], figure) if names else None
        if not where:
            return None
        others = tuple(condition.column for condition in where if condition.column != key)
        if ASKS_YES.match(self.plain) and 0 < len(others) < len(where):
            return TableQuery(tuple(condition for condition in where if condition.column == key), others)
        fixed = {condition.column for condition in where if condition.comparison == "is"}
        if not names:
            if re.match(r"\W*how\b", self.plain):
                self.doubts.append("it is not certain which column is meant")
            return TableQuery(where, (key,) if ASKS_LIST.match(self.plain) and key not in fixed else ())
        if len(names) == 1 and self.columns[asked[0]].kind == "text":
            return TableQuery(where, names) if names[0] == key else TableQuery(where, group_by=names[0])
        dates = [self.columns[place].name for place in self.table.places("date")[:1] if self.table.repeats(self.key)]
        telling = dates if key in fixed else [key]
        return TableQuery(where, tuple(dict.fromkeys([*(name for name in telling if name not in fixed), *names])))

    def _count(self, where: tuple[Condition, ...]) -> TableQuery | None:
        """Return a count of rows, or of different values of a column; None where something else is counted."""
        counted = self.counted
        columns = [place for place in self.table.places("text") if place != self.key and self.names[place] & counted]
        columns += [place for place in self.table.places("date") if self.names[place] <= counted | synonyms(counted)]
        is_row = self.names[self.key] & counted or any(
            word.is_title and stems(word.text) & counted for word in self.words
        )
        if not (columns or where or is_row):
            return None
        if quantities := [column.name for column, name in zip(self.columns, self.names, strict=True) if name & COUNTS]:
            self.doubts.append(f"rows are counted, and not {quantities[0]}")
        return TableQuery(where, tuple(self.columns[place].name for place in columns[:1]), "count")


def _keys(span: Sequence[_Word]) -> list[str]:
    """Return the keys under which a text may be stored that these words name, also without a plural or a genitive."""
    key = key_of(" ".join(word.text for word in span).removesuffix("'s").removesuffix("’s"))
    singular = [
        re.sub(ending, other, key) for ending, other in ((r"(?<=..)s$", ""), (r"(?<=..)es$", ""), (r"ies$", "y"))
    ]
    return [key_of(" ".join(word.text for word in span)), key, *singular]
