"""A question read as queries of a table, by rules: its rows by their values, its columns by the words of its names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from local_rag.index.tables.query import Aggregate, Condition, TableQuery
from local_rag.index.tables.question_words import (
    ASKS_AMOUNT,
    ASKS_LIST,
    ASKS_WHEN,
    ASKS_WHERE,
    ASKS_WHICH,
    ASKS_WHO,
    ASKS_YES,
    COUNTS,
    DENIES,
    DOES,
    EACH,
    FIGURES,
    HOW_MUCH,
    MONEY,
    NAMES_MEASURED,
    NAMES_ROWS,
    OF_NUMBERS,
    PERSON,
    PERSON_NAME,
    RELATIONS,
    SINCE,
    WHICH,
    stems,
    synonyms,
)
from local_rag.index.tables.rows import Rows
from local_rag.index.tables.table import Table
from local_rag.index.tables.values import CURRENCIES

MOST_UNREAD = 3
"""The most words that may stay unread in a question that has a cell of the table, or names a column and rows."""
SEVERAL = 3
"""The most columns that are shown where several may be meant."""
NAMES = 20
"""The commonest texts of a column that are looked at to know whether it holds names."""


class Reading(NamedTuple):
    """A query of a table, how much of the question it `read`, and the reason why it is not certain; "" where it is.

    `unread` says that a word of the question was not read, so that something else than this table may be meant.
    """

    table: Table
    query: TableQuery
    read: int
    doubt: str = ""
    unread: bool = False


class Reader(Rows):
    """Read one question for one table: its rows, then its columns and figures."""

    def readings(self) -> Iterator[Reading]:
        """Yield the queries that the question may mean: several where it can be read in several ways."""
        self.is_off = False  # whether the question asks for what no column holds
        self._whole_cells()
        figure, hint = self._figure()
        self._parts_of_cells()
        if self.where and not figure and HOW_MUCH.search(self.plain):
            figure = "sum"
        asked = self._asked(figure, hint)
        if self.is_off:
            return
        unread = [word for word in self.words if not (word.used or word.names or word.is_known)]
        named = len(asked) == 1 and any(asked[0] in word.names for word in self.words)
        is_code = re.compile(r"(?=.*\d).*[^\W\d_]")
        if any(DENIES.search(word.plain) for word in self.words if not word.used) or any(
            is_code.search(word.text) for word in unread
        ):
            return
        has_cell = any(word.used > 1 for word in self.words) and not any(word.plain in RELATIONS for word in unread)
        is_told = has_cell or (named and (bool(self.where) or figure in ("mean", "sum")))
        if len(unread) > (MOST_UNREAD if is_told and (asked or figure or self.where[1:]) else 1):
            return
        is_guessed = False
        for word in unread:
            is_verb = word is self.words[-1] and DOES.search(self.plain)
            names_rows = (NAMES_MEASURED if named else NAMES_ROWS).search(self.plain, 0, word.start)
            if not (is_verb or names_rows):
                is_guessed = True
                if not is_told and figure not in ("min", "max"):
                    return
            self.doubts.append(f"{word.text!r} stands in no row and no header")
        read = [
            2 * word.used + 2 * bool(word.names) + (word.is_title and not word.text.isdigit()) for word in self.words
        ]
        for where in product(*self.where):
            if query := self._query(tuple(dict.fromkeys(where)), figure, asked):
                doubt = "; ".join(dict.fromkeys(self.doubts))
                yield Reading(self.table, query, sum(read) - 2 * len(unread), doubt, is_guessed)

    def _figure(self) -> tuple[Aggregate, str]:
        """Return the aggregate that is asked for, and the column that its word hints at: the cheapest is a price."""
        found: tuple[Aggregate, str] = "", ""
        for figure, hint, pattern in FIGURES:
            for match in re.finditer(pattern, self.plain):
                own = self._between(*match.span())
                behind = next((word for word in self.words if word.start > match.end()), None)
                if behind and any(word.names & behind.names for word in own):  # a column called last visit
                    continue
                if found[0] not in ("min", "max") and not any(word.used for word in own):  # the highest total
                    found = found if found[0] else (figure, hint)
                    for word in own:
                        word.used = 1
        if (
            found == ("max", "long")
            and not self._like("long")
            and any(self.names[place] & SINCE for place in self.dates)
        ):
            self.doubts.append("the longest was read as the earliest")
            return "min", "date"
        return found

    def _asked(self, figure: Aggregate, hint: str) -> list[int]:
        """Return the columns that are asked for, and keep the one for each of whose values it is asked."""
        self.each = None
        counts_rows = figure == "count" and re.search(r"\bhow (?:often|many times)\b|\bwie oft\b", self.plain)
        if counts_rows and not any(word.plain in EACH for word in self.words):
            return []
        fixed = {either[0].column for either in self.where if not _is_partial(either[0])}
        before = {place: word.plain for word, named in pairwise(self.words) for place in named.names}
        asks_where = not figure and ASKS_WHERE.match(self.plain)
        left = [word for word in self.words if not word.used]
        named = self._mentioned([word.names - fixed for word in left])
        self.each = next((place for place in named if before.get(place) in EACH), None)
        named = [place for place in named if place != self.each and not (asks_where and place in self.numbers)]
        meant = [word.also - fixed for word in left]
        if ASKS_AMOUNT.match(self.plain):
            meant = [places.intersection(self.numbers) or places for places in meant]
        asked = named or self._mentioned(meant)
        measures = [place for place in asked if place in self.numbers]
        if figure in ("min", "max"):
            return self._extreme(hint, [place for place in asked if before.get(place) not in WHICH], asked)
        if figure == "count":
            quantities = self._like("copies") if self.table.key in fixed and not measures else []
            counted, also = stems(self.counted), synonyms(self.counted)
            if any(self.names[place] & counted for place in self.table.places("text")):
                return quantities
            of_counted = [
                place for place in self.numbers if place not in fixed and self.names[place] & (counted | also)
            ]
            return (measures if measures and named else of_counted[:1]) or quantities
        if figure:
            numbers = [place for place in self.numbers if place not in fixed]
            return measures or (numbers if len(numbers) == 1 else self._like("amount") or self._money())
        return self._of_kind(asked, fixed, named=bool(named))

    def _of_kind(self, asked: list[int], fixed: set[int], *, named: bool) -> list[int]:
        """Return the columns that are asked for, or those of the kind that the question asks for where none of them is
        of it: persons, dates, amounts. Several are a doubt.
        """
        for asks, fitting, told in (
            (None if named else ASKS_WHO, self._persons(), self.table.places("text")),
            (ASKS_WHEN, self.dates, [*self.dates, *self._times()]),
            (ASKS_AMOUNT, self._money(), self.numbers),
        ):
            if asks and asks.search(self.plain):
                found = [place for place in fitting if place not in fixed]
                if asked and not set(told).isdisjoint(asked):
                    break
                if len(found) > 1:
                    self.doubts.append(f"several columns may be meant: {self._listed(found)}")
                self.is_off = not found and asks is ASKS_AMOUNT
                return found[:SEVERAL] or asked
        return asked

    def _money(self) -> list[int]:
        return [place for place in self.numbers if self.table.columns[place].unit in CURRENCIES]

    def _persons(self) -> list[int]:
        """Return the columns that name persons: by their headers, else by what their cells look like; else the one
        that names the rows, if it holds no codes.
        """
        texts = self.table.places("text")
        looks = {place: [*map(PERSON_NAME.fullmatch, self.table.texts(place, NAMES))] for place in texts}
        persons = [place for place in texts if self.names[place] & PERSON]
        persons = persons or [place for place in texts if sum(map(bool, looks[place])) > len(looks[place]) / 2]
        holds_codes = any(map(re.compile(r"\d").search, self.table.texts(self.table.key, NAMES)))
        return persons or [self.table.key] * (not holds_codes)

    def _extreme(self, hint: str, told: Sequence[int], asked: Sequence[int]) -> list[int]:
        """Return the column whose extreme is asked for, of those that are `told` first, and the others that are
        `asked` for.
        """
        numeric = [place for place in told if place in self.numbers or (place in self.dates and hint not in OF_NUMBERS)]
        years = [place for place in self.numbers if self.names[place] & SINCE]
        measured = (self.dates or years) if hint == "date" else numeric or self._like(hint)
        if not (measured or hint) and any(stems(word.text) & MONEY for word in self.words):
            measured = self._like("amount")
        if len(measured) > 1:
            self.doubts.append(f"several columns may be meant: {self._listed(measured)}")
        of = [place for place in asked if place not in measured[:1]]
        of = of or self._persons()[:1] * bool(re.search(r"\bwho\b", self.plain))
        if ASKS_WHICH.match(self.plain) and self.table.repeats((of or [self.table.key])[0]):
            self.doubts.append("single rows are compared, and not their totals")
        return measured and [measured[0], *of]

    def _mentioned(self, held: Sequence[set[int]]) -> list[int]:
        """Return the columns that words are about: of those of a word the ones that most words are about."""
        support, chosen = Counter(place for places in held for place in places), list[int]()
        for places in filter(None, held):
            tied = sorted(place for place in places if support[place] == max(map(support.__getitem__, places)))
            if len(tied) > 1:
                self.doubts.append(f"several columns may be meant: {self._listed(tied)}")
            chosen += tied
        return [*dict.fromkeys(chosen)]

    def _like(self, word: str) -> list[int]:
        """Return the columns of numbers that a word is a synonym of, or else those of which it is the unit."""
        named = [place for place in self.numbers if self.names[place] & synonyms(word)]
        return named or [place for place in self.numbers if self.table.columns[place].unit == (word or None)]

    # --- what they make

    def _query(self, where: tuple[Condition, ...], figure: Aggregate, asked: Sequence[int]) -> TableQuery | None:
        """Return the query of a question that is read to its end; None where it asks for nothing that is computed."""
        key, each = self.table.key, self.each
        if figure == "count" and not asked and each is None:
            return self._count(where)
        if figure or each is not None:
            figure = "sum" if not figure or (figure == "count" and asked) else figure
            return TableQuery(where, tuple(asked), figure, each) if asked or figure == "count" else None
        if not where or (not asked and re.match(r"\W*how\b", self.plain)):
            return None
        others = tuple(condition.column for condition in where if condition.column != key)
        if ASKS_YES.match(self.plain) and 0 < len(others) < len(where):
            return TableQuery(tuple(condition for condition in where if condition.column == key), others)
        fixed = {condition.column for condition in where if condition.comparison == "is"}
        if not asked:
            return TableQuery(where, (key,) if ASKS_LIST.match(self.plain) and key not in fixed else ())
        if len(asked) == 1 and asked[0] not in (key, *self.numbers, *self.dates):
            return TableQuery(where, group_by=asked[0])
        telling = self.dates[:1] if self.table.repeats(key) else []
        return TableQuery(where, tuple(dict.fromkeys([*({*telling} if key in fixed else {key}) - fixed, *asked])))

    def _count(self, where: tuple[Condition, ...]) -> TableQuery | None:
        """Return a count of rows, or of different values of a column; None where something else is counted."""
        counted, also = stems(self.counted), synonyms(self.counted)
        named = [place for place in self.table.places("text") if self.names[place] & counted]
        named += [place for place in self.dates if self.names[place] <= counted | also]
        is_title = any(word.is_title and stems(word.text) & counted for word in self.words)
        key = self.table.key
        is_one = not (named or self.table.repeats(key)) and any(
            each.column == key and each.comparison == "is" for each in where
        )
        if is_one or not (named or where or is_title):
            return None
        for column, name in zip(self.table.columns, self.names, strict=True):
            if name & COUNTS:
                self.doubts.append(f"rows are counted, and not {column.name}")
        return TableQuery(where, tuple(place for place in named if place != self.table.key)[:1], "count")


def _is_partial(condition: Condition) -> bool:
    """Return whether a condition is on a month, or on a day of any year: the dates of these rows may be asked for."""
    return bool(re.fullmatch(r"\d{4}-\d\d|-\d\d(?:-\d\d)?", condition.value))
