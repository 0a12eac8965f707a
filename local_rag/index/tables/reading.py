"""A question read as queries of a table, by rules: its rows by their values, its columns by the words of its names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

from local_rag.index.tables.query import Aggregate, Condition, TableQuery
from local_rag.index.tables.question_words import (
    ABBREVIATIONS,
    AFTER_WHO,
    ASKS_LIST,
    ASKS_WHEN,
    ASKS_WHERE,
    ASKS_WHICH,
    ASKS_WHO,
    ASKS_YES,
    CLOCK,
    COMPARED_VALUE,
    COMPARISONS,
    COUNTS,
    DENIES,
    DOES,
    EACH,
    FIGURES,
    FLUFF,
    HOW_MUCH,
    NAMES_MEASURED,
    NAMES_ROWS,
    NO,
    NOT,
    NUMBER,
    PERSON,
    RELATIONS,
    TAKES_NUMBER,
    WHICH,
    WORD,
    YES,
    date_in,
    ranges,
    stems,
    synonyms,
)
from local_rag.index.tables.table import Table, key_of
from local_rag.index.tables.values import TIME, number_of, without_unit
from local_rag.text.lexicon import NUMBER_WORDS, STOP_WORDS
from local_rag.text.spelling import edits_of, nearest
from local_rag.text.words import fold, words

LONGEST_VALUE = 6
"""Words of a value that is looked for in a question."""
BEGUN_ALIKE = 0.6
"""The least share of letters at their beginning that two words for one thing have in common."""
MOST_UNREAD = 2
"""The most words that may stay unread in a question that has a cell of the table."""
LIKE_LETTERS, LIKE_AMONG = 5, 2_000
"""The least number of letters of a word for which one that is written nearly so is looked for, and the number of values
of a column up to which it is.
"""


class Reading(NamedTuple):
    """A query of a table, how much of the question it `read`, and the reason why it is not certain; "" where it is.

    `unread` says that a word of the question was not read, so that something else than this table may be meant.
    """

    table: Table
    query: TableQuery
    read: int
    doubt: str = ""
    unread: bool = False


@dataclass
class _Word:
    """A word of a question; `names` are the columns whose names have it, `also` those that it is a synonym of.

    People ask with `is_fluff`, which says nothing of a cell; `is_known` needs no cell and no name of a column; `used`
    is 1 for what was read, and 2 for a cell.
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
    is_known: bool
    used: int = 0


class Reader:
    """Read one question for one table; each step marks the words that it has read as `used`.

    `about` are the words of the file's name, its title and its headings, which say nothing of rows.
    """

    def __init__(self, question: str, table: Table, about: str) -> None:
        self.question = ranges(question)
        self.plain, self.table = self.question.lower(), table
        self.dates, self.numbers = table.places("date"), table.places("number")
        self.where, self.doubts = list[list[Condition]](), list[str]()
        counted = re.search(r"(?:how many|(?:^|the |what )number of) (?:different )?([\w-]+)", self.plain)
        self.counted = counted[1] if counted else ""
        self.names = [_name(column.name) for column in table.columns]
        self.words = [self._word(match, stems(about)) for match in WORD.finditer(self.question)]

    def _word(self, match: re.Match[str], titles: set[str]) -> _Word:
        text, own = match.group(), stems(match.group())
        plain = fold(text).removesuffix("'s")
        is_function = plain in STOP_WORDS and (not text.isupper() or text == "I")  # "it" is one, and "IT" is none
        # "what" does not name the column "what to do"
        names = {place for place, name in enumerate(self.names) if name & own and (name <= own or not is_function)}
        also = {place for place, name in enumerate(self.names) if name & synonyms(text)} - names
        is_title = own <= titles and not AFTER_WHO.search(self.plain, 0, match.start())
        is_fluff = is_function or own <= FLUFF
        is_known = (bool(also) or is_title or is_fluff) and plain not in RELATIONS
        return _Word(text, *match.span(), plain, names, also, is_title, is_function, is_fluff, is_known)

    def readings(self) -> Iterator[Reading]:
        """Yield the queries that the question may mean: several where it can be read in several ways."""
        self._values(self._exact, range(LONGEST_VALUE, 1, -1))
        self._compared()
        self._values(self._exact, [1])
        figure, hint = self._figure()
        self._values(self._partly, [1])
        self._values(self._flag, [1])
        if self.where and not figure and HOW_MUCH.search(self.plain):
            figure = "sum"
        asked = self._asked(figure, hint)
        unread = [word for word in self.words if not (word.used or word.names or word.is_known)]
        named = len(asked) == 1 and any(asked[0] in word.names for word in self.words)
        if any(DENIES.search(word.plain) for word in self.words if not word.used):
            return
        has_cell = any(word.used > 1 for word in self.words) and not any(word.plain in RELATIONS for word in unread)
        if len(unread) > (MOST_UNREAD if has_cell else 1):
            return
        is_guessed = False
        for word in unread:
            is_verb = word is self.words[-1] and DOES.search(self.plain)
            names_rows = (NAMES_MEASURED if named else NAMES_ROWS).search(self.plain, 0, word.start)
            if not (is_verb or names_rows):
                is_guessed = True
                if not has_cell and figure not in ("min", "max"):
                    return
            self.doubts.append(f"{word.text!r} stands in no row and no header")
        read = [
            2 * word.used + 2 * bool(word.names) + (word.is_title and not word.text.isdigit()) for word in self.words
        ]
        for where in product(*self.where):
            if query := self._query(tuple(dict.fromkeys(where)), figure, asked):
                doubt = "; ".join(dict.fromkeys(self.doubts))
                yield Reading(self.table, query, sum(read) - 2 * len(unread), doubt, is_guessed)

    def _between(self, start: int, end: int) -> list[_Word]:
        return [word for word in self.words if word.start < end and word.end > start]

    # --- rows

    def _values(self, find: Callable[[Sequence[_Word]], list[Condition]], sizes: Iterable[int]) -> None:
        """Add the conditions that words set which stand together: of each one for every column that they may be
        about. Further words of a text that is meant are read with them.
        """
        for size in sizes:
            for at in range(len(self.words) - size + 1):
                span = self.words[at : at + size]
                if not any(word.used for word in span) and (found := find(span)):
                    denied = at and self.words[at - 1].plain in NOT and all(each.comparison == "is" for each in found)
                    self.where.append([each._replace(comparison="is not") for each in found] if denied else found)
                    for word in [*span, *self.words[at - 1 : at if denied else at - 1]]:
                        word.used = 1 if find == self._partly else 2
                    held = stems(" ".join(each.value for each in found if each.comparison == "is"))
                    for word in self.words:
                        word.used = word.used or int(not word.is_function and stems(word.text) <= held)

    def _exact(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the conditions of a cell with this text; a number, and a word with a function, count only beside the
        name of their column, as in band A.
        """
        first, is_one = span[0], len(span) == 1
        at = self.words.index(first)
        beside = self.words[at - 1].names if at else set[int]()
        number = NUMBER_WORDS.get(first.plain, first.text)
        if is_one and NUMBER.fullmatch(number):
            behind = self.words[at + 1].names if self.words[at + 1 :] else set[int]()
            places = sorted((beside or behind).intersection(self.numbers))
            return [Condition(place, "is", number) for place in places][:1]
        if is_one and first.names:
            return []
        found = dict(self.table.named(_keys(span)))
        if is_one and (first.is_function or not first.text[1:]):
            found = {place: text for place, text in found.items() if place in beside}
        others = {place for word in self.words if word not in span for place in word.names}
        return [Condition(place, "is", found[place]) for place in sorted(found.keys() & others or found)]

    def _partly(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the conditions of texts that have this word, as a person by one name. A word that is written nearly
        so, or begins alike, is a doubt, and so is a word in small letters for a name. What people ask with or count is
        no word of a text.
        """
        word, at = span[0], self.words.index(span[0])
        of_title = word.is_title and any(
            each.is_title for each in self.words[max(0, at - 1) : at + 2] if each is not word
        )
        if word.names or word.also or word.is_fluff or of_title or stems(word.text) == stems(self.counted):
            return []
        if not (found := self._holding(word.plain)) and len(word.plain) >= LIKE_LETTERS and word.text.isalpha():
            places = self.table.places("text", most=LIKE_AMONG)
            parts = {part for place in places for text in self.table.texts(place, LIKE_AMONG) for part in words(text)}
            alike = nearest(word.plain, sorted(parts), edits_of(word.plain)) or _begun_alike(word.plain, parts)
            for near in alike[:1]:
                self.doubts.append(f"{word.text!r} was read as {near!r}")
                found = self._holding(near)
        for each in found:
            if not word.text[0].isupper() and sum(part[0].isupper() for part in each.value.split()) > 1:
                self.doubts.append(f"{word.text!r} was read as {each.value!r}")
        return found

    def _holding(self, word: str) -> list[Condition]:
        """Return the conditions of texts that have a word: of each column that has such."""
        found = dict[int, list[str]]()
        for place, text in self.table.holding(key_of(word)):
            if stems(word) <= stems(text):
                found.setdefault(place, []).append(text)
        return [
            Condition(place, "holds", word) if texts[1:] else Condition(place, "is", texts[0])
            for place, texts in found.items()
        ]

    def _flag(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the condition of a column of yes and no in a question for a list: rooms with a projector, members who
        have not paid.
        """
        at = self.words.index(span[0])
        denied = [
            word for word in self.words[max(0, at - 2) : at] if DENIES.search(word.plain) and word.plain not in NOT
        ]
        fixed = {either[0].column for either in self.where}
        for place in span[0].names - fixed if ASKS_LIST.match(self.plain) else ():
            texts = {fold(text): text for text in self.table.texts(place, 5)}
            for said in texts.keys() & (NO if denied else YES) if texts.keys() <= YES | NO else ():
                for word in denied:
                    word.used = 1
                return [Condition(place, "is", texts[said])]
        return []

    def _compared(self) -> None:
        """Add the conditions of numbers and dates that are compared: over 100 €, in March."""
        for match in COMPARED_VALUE.finditer(self.question):
            said, value = fold(match["sign"] or ""), match["value"]
            sign, date, number = COMPARISONS.get(said, "is"), date_in(value), NUMBER.match(value)
            of_any_year = bool(date) and str(date).startswith("-")
            if of_any_year and said == "from":
                sign = "is"
            is_told = said or number or (of_any_year and value[3:] and value.lower() != "march")
            if self.dates and date and is_told and (sign == "is" or not of_any_year):
                place = self._measured(date, self.dates)
                value = date
            elif said and re.fullmatch(CLOCK, value):
                place = self._measured(value, self._times())
            elif number and TAKES_NUMBER.match(said):
                place = self._measured(value, self.numbers)
            else:
                continue
            own = self._between(*match.span())
            of_name = any(word.names for word in self._between(*match.span("value")))
            if place is not None and not of_name and not any(word.used for word in own):
                self.where.append([Condition(place, sign, value)])
                for word in self.words:
                    word.used = word.used or int(word in own or place in word.names)

    def _measured(self, value: str, places: Sequence[int]) -> int | None:
        """Return the column that a comparison is about, by its unit and the words of the question."""
        unit = (number_of(value) or (0, ""))[1]
        scores = {
            place: 4 * bool(unit and unit in (self.table.columns[place].unit, *self.table.columns[place].units))
            + sum(4 * (place in word.names) + (place in word.also) for word in self.words)
            for place in places
        }
        best = [place for place in places if scores[place] == max(scores.values())]
        if len(best) > 1 and places == self.dates:
            self.doubts.append(f"several dates may be meant: {self._listed(best)}")
        return best[0] if len(best) == 1 or (best and places == self.dates) else None

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
        """Return the columns that are asked for, and keep the one for each of whose values it is asked."""
        fixed = {either[0].column for either in self.where if not _is_partial(either[0])}
        before = {place: word.plain for word, named in pairwise(self.words) for place in named.names}
        asks_where = not figure and ASKS_WHERE.match(self.plain)
        left = [word for word in self.words if not word.used]
        named = self._mentioned([word.names - fixed for word in left])
        self.each = next((place for place in named if before.get(place) in EACH), None)
        named = [place for place in named if place != self.each and not (asks_where and place in self.numbers)]
        asked = named or self._mentioned([word.also - fixed for word in left])
        measures = [place for place in asked if place in self.numbers]
        if figure in ("min", "max"):
            hinted = self.dates if hint == "date" else self._like(hint)
            numeric = [p for p in asked if p in (*self.numbers, *self.dates) and before.get(p) not in WHICH]
            measured = hinted if hint == "date" else numeric or hinted
            if len(measured) > 1:
                self.doubts.append(f"several columns may be meant: {self._listed(measured)}")
            measured = measured[:1]
            of = [place for place in asked if place not in measured]
            if ASKS_WHICH.match(self.plain) and self.table.repeats((of or [self.table.key])[0]):
                self.doubts.append("single rows are compared, and not their totals")
            return measured and measured + of
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
            return measures or (numbers if len(numbers) == 1 else self._like("amount"))
        persons = [*(place for place, name in enumerate(self.names) if name & PERSON), self.table.key]
        for asks, fitting in ((ASKS_WHO, persons), (ASKS_WHEN, self.dates)):
            told = self.table.places("text") if asks is ASKS_WHO else self._times()
            is_told = not set(told).isdisjoint(asked)
            if not named and not is_told and asks.search(self.plain):
                asked = [place for place in fitting if place not in fixed][:1] or asked
        return asked

    def _times(self) -> list[int]:
        return [place for place in self.numbers if self.table.columns[place].unit == TIME]

    def _mentioned(self, held: Sequence[set[int]]) -> list[int]:
        """Return the columns that words are about: of those of a word the ones that most words are about."""
        support, chosen = Counter(place for places in held for place in places), list[int]()
        for places in filter(None, held):
            tied = sorted(place for place in places if support[place] == max(map(support.__getitem__, places)))
            if len(tied) > 1:
                self.doubts.append(f"several columns may be meant: {self._listed(tied)}")
            chosen += tied
        return [*dict.fromkeys(chosen)]

    def _listed(self, places: Iterable[int]) -> str:
        return ", ".join(self.table.columns[place].name for place in places)

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
        if not (named or where or is_title):
            return None
        for column, name in zip(self.table.columns, self.names, strict=True):
            if name & COUNTS:
                self.doubts.append(f"rows are counted, and not {column.name}")
        return TableQuery(where, tuple(place for place in named if place != self.table.key)[:1], "count")


def _is_partial(condition: Condition) -> bool:
    """Return whether a condition is on a month, or on a day of any year: the dates of these rows may be asked for."""
    return bool(re.fullmatch(r"\d{4}-\d\d|-\d\d(?:-\d\d)?", condition.value))


def _begun_alike(word: str, parts: Iterable[str]) -> list[str]:
    """Return the words that begin as another one does, by most of their letters: plumbing for plumber."""
    from rapidfuzz.distance import Prefix

    shared = {part: Prefix.similarity(word, part) for part in parts}
    alike = [part for part in parts if shared[part] >= max(LIKE_LETTERS, BEGUN_ALIKE * max(len(word), len(part)))]
    return sorted(alike, key=shared.__getitem__, reverse=True)


def _name(header: str) -> set[str]:
    """Return the stems of a header's words, and of those that it writes short."""
    name = without_unit(header).replace(".", " ")
    return stems(name) | stems(" ".join(ABBREVIATIONS.get(word, "") for word in words(name)))


_ENDINGS = (("$", ""), (r"['’]s$", ""), (r"(?<=..)s$", ""), (r"(?<=..)es$", ""), ("ies$", "y"))


def _keys(span: Sequence[_Word]) -> list[str]:
    """Return the keys under which a text may be stored that these words name, also without a plural or a genitive."""
    text = " ".join(word.text for word in span)
    return [key_of(re.sub(ending, other, text)) for ending, other in _ENDINGS]
