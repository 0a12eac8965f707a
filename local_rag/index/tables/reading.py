"""A question read as queries of a table, by rules: its rows by their values, its columns by the words of its names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

from local_rag.index.tables.query import Aggregate, Comparison, Condition, TableQuery
from local_rag.index.tables.question_words import (
    ASKING,
    ASKS_LIST,
    ASKS_WHEN,
    ASKS_WHERE,
    ASKS_WHICH,
    ASKS_WHO,
    ASKS_YES,
    BETWEEN,
    COMPARED_VALUE,
    COMPARISONS,
    COUNTS,
    DENIES,
    EACH,
    FIGURES,
    FLUFF,
    HOW_MUCH,
    NAMES_MEASURED,
    NAMES_ROWS,
    NO,
    NUMBER,
    PERSON,
    RELATIONS,
    TAKES_NUMBER,
    WHICH,
    WORD,
    YES,
    date_in,
    is_unit,
    stems,
    synonyms,
)
from local_rag.index.tables.table import Table, key_of
from local_rag.index.tables.values import number_of, without_unit
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.spelling import edits_of, nearest
from local_rag.text.words import fold, words

LONGEST_VALUE = 6
"""Words of a value that is looked for in a question."""
LIKE_LETTERS, LIKE_AMONG = 5, 2_000
"""The least number of letters of a word for which one that is written nearly so is looked for, and the number of values
of a column up to which it is.
"""


class Reading(NamedTuple):
    """A query, how much of the question it `read`, and the reason why it is not certain; "" where it is."""

    query: TableQuery
    read: int
    doubt: str = ""


@dataclass
class _Word:
    """A word of a question; `names` are the columns whose names have it, `also` those that it is a synonym of.

    People ask with `is_fluff`, which says nothing of a cell; `used` is 1 for what was read, and 2 for a cell.
    """

    text: str
    start: int
    end: int
    plain: str
    names: set[int]
    also: set[int]
    is_title: bool
    is_function: bool
    is_fluff: bool
    used: int = 0


Find = Callable[["_Reader", Sequence[_Word]], list[Condition]]


def readings(question: str, table: Table, about: str) -> list[Reading]:
    """Return the queries that a question may mean: several where it can be read in several ways.

    `about` are the words of the file's name, its title and its headings, which say nothing of rows.
    """
    return [*_Reader(BETWEEN.sub(r"at least \1 and at most \2", question), table, about).readings()]


class _Reader:
    """One question and one table; each step marks the words that it has read as `used`."""

    def __init__(self, question: str, table: Table, about: str) -> None:
        self.question, self.plain, self.table, self.columns = question, question.lower(), table, table.columns
        self.where, self.doubts = list[list[Condition]](), list[str]()
        counted = re.search(r"(?:how many|number of) (?:different )?([\w-]+)", self.plain)
        self.counted = counted[1] if counted else ""
        self.names = [stems(without_unit(column.name).replace(".", " ")) for column in table.columns]
        self.words = [self._word(match, stems(about)) for match in WORD.finditer(question)]

    def _word(self, match: re.Match[str], titles: set[str]) -> _Word:
        text, own = match.group(), stems(match.group())
        plain = fold(text).removesuffix("'s")
        is_function = plain in STOP_WORDS and (not text.isupper() or text == "I")  # "it" is one, and "IT" is none
        # "what" does not name the column "what to do"
        names = {place for place, name in enumerate(self.names) if name & own and (name <= own or not is_function)}
        asked = set[str]() if is_function and plain not in ASKING else synonyms(text)
        also = {place for place, name in enumerate(self.names) if name & asked} - names
        is_fluff = is_function or own <= FLUFF
        return _Word(text, *match.span(), plain, names, also, own <= titles, is_function, is_fluff)

    def readings(self) -> Iterator[Reading]:
        self._values(_Reader._exact, range(LONGEST_VALUE, 1, -1))
        self._compared()
        self._values(_Reader._exact, [1])
        figure, hint = self._figure()
        self._values(_Reader._partly, [1])
        self._values(_Reader._flag, [1])
        asked = self._asked(figure, hint)
        known = [word.used or word.names or word.also or word.is_title or word.is_fluff for word in self.words]
        unread = [
            place
            for place, word in enumerate(self.words)
            if not known[place] or (word.plain in RELATIONS and not (word.used or word.names))
        ]
        named = any(place in word.names for word in self.words for place in asked[:1])
        if unread and (NAMES_MEASURED if named else NAMES_ROWS).match(self.plain, self.words[unread[0] - 1].start):
            self.doubts.append(f"{self.words[unread.pop(0)].text!r} stands in no row and no header")
        if unread or DENIES.search(self.plain):
            return
        read = sum(
            2 * word.used + 2 * bool(word.names) + (word.is_title and not word.text.isdigit()) for word in self.words
        )
        for where in product(*self.where):
            if query := self._query(tuple(dict.fromkeys(where)), figure, asked):
                yield Reading(query, read, "; ".join(dict.fromkeys(self.doubts)))

    def _condition(self, place: int, value: str, comparison: Comparison = "is") -> Condition:
        return Condition(self.columns[place].name, comparison, value)

    def _between(self, start: int, end: int) -> list[_Word]:
        return [word for word in self.words if word.start < end and word.end > start]

    # --- rows

    def _values(self, find: Find, sizes: Iterable[int]) -> None:
        """Add the conditions that words set which stand together: of each one for every column that they may be
        about.
        """
        for size in sizes:
            for at in range(len(self.words) - size + 1):
                span = self.words[at : at + size]
                if not any(word.used for word in span) and (found := find(self, span)):
                    self.where.append(found)
                    for word in span:
                        word.used = 2 if find is _Reader._exact else 1

    def _exact(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the conditions of a cell with this text; a word with a function counts only beside the name of its
        column, as in band A.
        """
        first, is_one = span[0], len(span) == 1
        at = self.words.index(first)
        beside = self.words[at - 1].names if at else set[int]()
        if is_one and NUMBER.fullmatch(first.text):
            return [self._condition(place, first.text) for place in beside & {*self.table.places("number")}][:1]
        if is_one and first.names:
            return []
        found = dict(reversed(self.table.named(_keys(span))))
        if is_one and (first.is_function or not first.text[1:]):
            found = {place: text for place, text in found.items() if place in beside}
        others = {place for word in self.words if word not in span for place in word.names}
        return [self._condition(place, found[place]) for place in sorted(found.keys() & others or found)]

    def _partly(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the conditions of texts that have this word, as a person by one name, or one written nearly so; that
        is a doubt. What people ask with or count is no word of a text.
        """
        word = span[0]
        if word.names or word.also or word.is_fluff or stems(word.text) == stems(self.counted):
            return []
        if not (found := self._holding(word.plain)) and len(word.plain) >= LIKE_LETTERS and word.text.isalpha():
            places = self.table.places("text", most=LIKE_AMONG)
            parts = {part for place in places for text in self.table.texts(place, LIKE_AMONG) for part in words(text)}
            for near in nearest(word.plain, sorted(parts), edits_of(word.plain))[:1]:
                self.doubts.append(f"{word.text!r} was read as {near!r}")
                found = self._holding(near)
        return found

    def _holding(self, word: str) -> list[Condition]:
        """Return the conditions of texts that have a word: of each column that has such."""
        found = dict[int, list[str]]()
        for place, text in self.table.holding(key_of(word)):
            if stems(word) <= stems(text):
                found.setdefault(place, []).append(text)
        return [
            self._condition(place, word, "holds") if texts[1:] else self._condition(place, texts[0])
            for place, texts in found.items()
        ]

    def _flag(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the condition of a column of yes and no in a question for a list: rooms with a projector."""
        for place in span[0].names if ASKS_LIST.match(self.plain[: span[0].start]) else ():
            texts = self.table.texts(place, 5)
            if texts and {*map(fold, texts)} <= YES | NO:
                return [self._condition(place, text) for text in texts if fold(text) in YES][:1]
        return []

    def _compared(self) -> None:
        """Add the conditions of numbers and dates that are compared: over 100 €, in March."""
        for match in COMPARED_VALUE.finditer(self.question):
            said, value, end = fold(match["sign"] or ""), match["value"], match.end()
            sign, date, digits = COMPARISONS.get(said, "is"), date_in(value), NUMBER.match(value)
            dates = self.table.places("date") if date and (said or digits) and (sign == "is" or date[0] != "-") else []
            unit = ""
            if dates:
                value = str(date)
            elif digits and TAKES_NUMBER.match(said):
                number = number_of(value)
                unit = number[1] if number and is_unit(number[1]) else ""
                end = end if unit else match.end() - len(value) + digits.end()
                value = f"{digits[0]} {unit}".strip()
            else:
                continue
            own = self._between(match.start(), end)
            place = self._measured(unit, dates or self.table.places("number"))
            if place is not None and not any(word.used for word in own):
                self.where.append([self._condition(place, value, sign)])
                for word in self.words:
                    word.used = word.used or int(word in own or place in word.names)

    def _measured(self, unit: str, places: Sequence[int]) -> int | None:
        """Return the column that a comparison is about, by its unit and the words of the question."""
        scores = {
            place: 4 * bool(unit and unit in (self.columns[place].unit, *self.columns[place].units))
            + sum(4 * (place in word.names) + (place in word.also) for word in self.words)
            for place in places
        }
        best = [place for place in places if scores[place] == max(scores.values())]
        return best[0] if len(best) == 1 else None

    # --- columns and figures

    def _figure(self) -> tuple[Aggregate, str]:
        """Return the aggregate that is asked for, and the column that its word hints at: the cheapest is a price."""
        found: tuple[Aggregate, str] = "", ""
        for figure, hint, pattern in FIGURES:
            for match in re.finditer(pattern, self.plain):
                own = self._between(*match.span())
                if found[0] not in ("min", "max") and not any(word.used for word in own):  # the highest total
                    found = found if found[0] else (figure, hint)
                    for word in own:
                        word.used = 1
        return found

    def _asked(self, figure: Aggregate, hint: str) -> list[int]:
        """Return the columns that are asked for, and keep those for each of whose values it is asked."""
        fixed = {self.table.position(either[0].column) for either in self.where}
        is_measured = figure in ("sum", "mean") or bool(HOW_MUCH.search(self.plain))
        before = {place: word.plain for word, named in pairwise(self.words) for place in named.names}
        left = [word for word in self.words if not word.used]
        named = self._mentioned([word.names - fixed for word in left], is_measured)
        self.each = [place for place in named if before.get(place) in EACH]
        named = [place for place in named if place not in self.each]
        if not figure and ASKS_WHERE.match(self.plain):
            named = [place for place in named if self.columns[place].kind == "text"]
        asked = named or self._mentioned([word.also - fixed for word in left], is_measured)
        others = [place for place in range(len(self.columns)) if place not in fixed]
        numbers = [place for place in others if self.columns[place].kind == "number"]
        measures = [place for place in asked if self.columns[place].kind == "number"]
        if figure in ("min", "max"):
            hinted = self.table.places("date") if hint == "date" else self._like(hint)
            hinted = hinted if len(hinted) == 1 else []
            numeric = [
                place for place in asked if self.columns[place].kind != "text" and before.get(place) not in WHICH
            ]
            if len(numeric) > 1:
                self.doubts.append("several columns may be meant")
            measured = (hinted if hint == "date" else numeric or hinted)[:1]
            of = [place for place in asked if place not in measured]
            if ASKS_WHICH.match(self.plain) and self.table.repeats((of or [self.table.key])[0]):
                self.doubts.append("single rows are compared, and not their totals")
            return measured and measured + of
        if figure == "count":
            is_one = self.table.key in fixed and not measures
            return measures if measures and named else self._like("copies") if is_one else []
        if is_measured:
            return measures or (numbers if len(numbers) == 1 else self._like("amount"))
        if not named and ASKS_WHO.match(self.plain):
            return [place for place in others if self.names[place] & PERSON][:1] or [*{self.table.key} - fixed] or asked
        if not named and ASKS_WHEN.search(self.plain):
            return [place for place in others if self.columns[place].kind == "date"][:1] or asked
        return asked

    def _mentioned(self, held: Sequence[set[int]], measured: bool) -> list[int]:
        """Return the columns that words are about: of those of a word the ones that most words are about.

        Of several as good ones those of numbers, where such is `measured`.
        """
        support, chosen = Counter(place for places in held for place in places), list[int]()
        for places in filter(None, held):
            most = max(support[place] for place in places)
            tied = sorted(place for place in places if support[place] == most)
            if measured:
                tied = [place for place in tied if self.columns[place].kind == "number"] or tied
            if len(tied) > 1:
                names = ", ".join(self.columns[place].name for place in tied)
                self.doubts.append(f"several columns may be meant: {names}")
            chosen += tied
        return [*dict.fromkeys(chosen)]

    def _like(self, word: str) -> list[int]:
        """Return the columns of numbers that a word is a synonym of, or their unit."""
        return [
            place
            for place in self.table.places("number")
            if self.names[place] & synonyms(word) or self.columns[place].unit == (word or None)
        ]

    # --- what they make

    def _query(self, where: tuple[Condition, ...], figure: Aggregate, asked: Sequence[int]) -> TableQuery | None:
        """Return the query of a question that is read to its end; None where it asks for nothing that is computed."""
        names, key = tuple(self.columns[place].name for place in asked), self.columns[self.table.key].name
        if self.each:
            is_asked = names or figure == "count"
            return TableQuery(where, names[:1], figure or "sum", self.columns[self.each[0]].name) if is_asked else None
        is_number = bool(asked) and self.columns[asked[0]].kind == "number"
        if figure == "count" or (not figure and where and is_number and HOW_MUCH.search(self.plain)):
            return TableQuery(where, names, "sum") if names else self._count(where)
        if figure:
            return TableQuery(where, names, figure) if names else None
        if not where or (not names and re.match(r"\W*how\b", self.plain)):
            return None
        others = tuple(condition.column for condition in where if condition.column != key)
        if ASKS_YES.match(self.plain) and 0 < len(others) < len(where):
            return TableQuery(tuple(condition for condition in where if condition.column == key), others)
        fixed = {condition.column for condition in where if condition.comparison == "is"}
        if not names:
            return TableQuery(where, (key,) if ASKS_LIST.match(self.plain) and key not in fixed else ())
        if len(names) == 1 and self.columns[asked[0]].kind == "text":
            return TableQuery(where, names) if names[0] == key else TableQuery(where, group_by=names[0])
        dates = [
            self.columns[place].name for place in self.table.places("date")[:1] if self.table.repeats(self.table.key)
        ]
        telling = dates if key in fixed else [key]
        return TableQuery(where, tuple(dict.fromkeys([*(name for name in telling if name not in fixed), *names])))

    def _count(self, where: tuple[Condition, ...]) -> TableQuery | None:
        """Return a count of rows, or of different values of a column; None where something else is counted."""
        counted = stems(self.counted) | synonyms(self.counted)
        columns = [
            place
            for place, name in enumerate(self.names)
            if name & counted and place != self.table.key and self.columns[place].kind != "number"
        ]
        is_row = self.names[self.table.key] & counted or any(
            word.is_title and stems(word.text) & counted for word in self.words
        )
        if not (columns or where or is_row):
            return None
        for column, name in zip(self.columns, self.names, strict=True):
            if name & COUNTS:
                self.doubts.append(f"rows are counted, and not {column.name}")
        return TableQuery(where, tuple(self.columns[place].name for place in columns[:1]), "count")


_ENDINGS = (("$", ""), (r"['’]s$", ""), (r"(?<=..)s$", ""), (r"(?<=..)es$", ""), ("ies$", "y"))


def _keys(span: Sequence[_Word]) -> list[str]:
    """Return the keys under which a text may be stored that these words name, also without a plural or a genitive."""
    text = " ".join(word.text for word in span)
    return [key_of(re.sub(ending, other, text)) for ending, other in _ENDINGS]
