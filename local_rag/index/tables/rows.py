"""The rows of a table that a question means, by rules: conditions by its values, numbers, dates and empty cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from local_rag.index.parse.properties import MONTH
from local_rag.index.tables.query import Condition
from local_rag.index.tables.question_words import (
    ABBREVIATIONS,
    AFTER_WHO,
    ASKS_LIST,
    ASKS_WHEN,
    CLOCK,
    COMPARED_VALUE,
    COMPARISONS,
    DENIES,
    DONE,
    FLUFF,
    HAS,
    LACKS,
    MEANT,
    MISSING,
    NAMES_ROWS,
    NO,
    NUMBER,
    PARTICIPLE,
    QUARTERS,
    RELATIONS,
    TAKES_NUMBER,
    TAXED,
    WORD,
    YES,
    date_in,
    quarters,
    ranges,
    stems,
    synonyms,
)
from local_rag.index.tables.table import Table, key_of
from local_rag.index.tables.values import TIME, number_of, same_unit, without_unit
from local_rag.text.lexicon import NUMBER_WORDS, STOP_WORDS
from local_rag.text.spelling import edits_of, nearest
from local_rag.text.words import fold, words

LONGEST_VALUE = 6
"""Words of a value that is looked for in a question."""
BEGUN_ALIKE = 0.6
"""The least share of letters at their beginning that two words for one thing have in common."""
BEHIND_DENIAL = 4
"""The number of words behind "not" or "without" in which the column stands whose cells are empty."""
_IN_LIST = re.compile(rf"\b(?:{MONTH})(?:,| and| or| und| oder| &) $", re.IGNORECASE)
"""What stands before a month that is told with another one: in January and March."""
LIKE_LETTERS, LIKE_AMONG = 5, 2_000
"""The least number of letters of a word for which one that is written nearly so is looked for, and the number of values
of a column up to which it is.
"""


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


class Rows:
    """Read which rows of a table a question means; each step marks the words that it has read as `used`.

    `about` are the words of the file's name, its title and its headings, which say nothing of rows.
    """

    def __init__(self, question: str, table: Table, about: str) -> None:
        self.table, self.dates, self.numbers = table, table.places("date"), table.places("number")
        self.where, self.doubts = list[list[Condition]](), list[str]()
        self.names = [_name(column.name) for column in table.columns]
        has_quarters = table.named(QUARTERS) or any(name & {"quarter", *QUARTERS} for name in self.names)
        self.question = self._in_its_words(ranges(question if has_quarters else quarters(question)))
        self.plain = self.question.lower()
        counted = re.search(r"(?:how many|(?:^|the |what )number of) (?:different )?([\w-]+)", self.plain)
        self.counted = counted[1] if counted else ""
        self.words = [self._word(match, stems(about)) for match in WORD.finditer(self.question)]

    def _in_its_words(self, question: str) -> str:
        """Return a question with the states of things as the rules read them, if neither rows nor headers name them."""
        for meant, pattern in (MEANT | TAXED).items():
            said = pattern.search(question)
            if not said or self.table.named([key_of(said[0])]) or any(stems(said[0]) <= name for name in self.names):
                continue
            if any(name & (stems(meant) | synonyms(meant)) for name in self.names):
                if meant in MEANT:
                    self.doubts.append(f"{said[0]!r} was read as {meant!r}")
                question = f"{question[: said.start()]}{meant}{question[said.end() :]}"
        return question

    def _word(self, match: re.Match[str], titles: set[str]) -> _Word:
        text, own = match.group(), stems(match.group())
        plain = fold(text).removesuffix("'s")
        is_function = plain in STOP_WORDS and (not text.isupper() or text == "I")  # "it" is one, and "IT" is none
        # "what" does not name the column "what to do", "to" and "no" stand everywhere
        names = {place for place, name in enumerate(self.names) if name & own and (name <= own or not is_function)}
        if text.isalpha() and not re.search(r"\d\s?$", self.question[: match.start()]):  # how many kWh
            names |= {place for place in self.numbers if self.table.columns[place].unit == same_unit(text)}
        names = set() if plain in LACKS or (plain == "to" and self.question[match.end() :].strip(" ?")) else names
        also = {place for place, name in enumerate(self.names) if name & synonyms(text)} - names
        is_title = own <= titles and not AFTER_WHO.search(self.plain, 0, match.start())
        is_fluff = is_function or own <= FLUFF
        is_known = (bool(also) or is_title or is_fluff) and plain not in RELATIONS
        return _Word(text, *match.span(), plain, names, also, is_title, is_function, is_fluff, is_known)

    def _whole_cells(self) -> None:
        """Add the conditions of whole cells, the longest first, and of numbers and dates that are compared."""
        self._values(self._exact, range(LONGEST_VALUE, 1, -1))
        self._compared()
        self._values(self._exact, [1])

    def _parts_of_cells(self) -> None:
        """Add the conditions of words of cells, and of cells that say yes or no, or nothing."""
        self._values(self._partly, [1])
        self._values(self._flag, [1])
        self._empty()

    def _times(self) -> list[int]:
        return [place for place in self.numbers if self.table.columns[place].unit == TIME]

    def _listed(self, places: Iterable[int]) -> str:
        return ", ".join(self.table.columns[place].name for place in places)

    def _between(self, start: int, end: int) -> list[_Word]:
        return [word for word in self.words if word.start < end and word.end > start]

    def _values(self, find: Callable[[Sequence[_Word]], list[Condition]], sizes: Iterable[int]) -> None:
        """Add the conditions that words set which stand together: of each one for every column that they may be
        about. Further words of a text that is meant are read with them.
        """
        for size in sizes:
            for at in range(len(self.words) - size + 1):
                span = self.words[at : at + size]
                if not any(word.used for word in span) and (found := self._fullest(find(span))):
                    is_subject = at and span[0].text[0].isupper() and self.words[at - 1].plain.endswith("n't")
                    is_one = all(each.comparison == "is" for each in found) and not is_subject  # what can't Ann eat
                    denied = self._denial(at) if is_one else []
                    self.where.append([each._replace(comparison="is not") for each in found] if denied else found)
                    for word in [*denied, *span]:
                        word.used = 2 - (find == self._partly and not word.text[0].isupper())
                    held = stems(" ".join(each.value for each in found if each.comparison == "is"))
                    for word in self.words:
                        word.used = word.used or int(not word.is_function and stems(word.text) <= held)

    def _fullest(self, found: list[Condition]) -> list[Condition]:
        """Return those conditions whose cells hold most words of the question: "entry fee" and not "fees"."""
        asked = set[str]().union(*(stems(word.text) for word in self.words if not (word.used or word.is_function)))
        shared = [len(asked & stems(each.value)) for each in found]
        return [each for each, size in zip(found, shared, strict=True) if size == max(shared)]

    def _denial(self, at: int, *, of_column: bool = False) -> list[_Word]:
        """Return the words from "not" to the one at this place, or behind a column to "is missing", if only words that
        say nothing stand between.
        """
        for step in (-1, 1) if of_column else (-1,):
            for place in range(at + step, at + step * (1 + BEHIND_DENIAL), step):
                if not 0 <= place < len(self.words):
                    break
                word = self.words[place]
                if DENIES.search(word.plain) if step < 0 else word.plain in MISSING:
                    return [] if word.used else self.words[min(place, at + 1) : max(place + 1, at)]
                if not word.is_fluff:
                    break
        return []

    def _exact(self, span: Sequence[_Word]) -> list[Condition]:
        """Return the conditions of a cell with this text; a number, and a word with a function, count only beside the
        name of their column, as in band A.
        """
        first, is_one = span[0], len(span) == 1
        at = self.words.index(first)
        beside = self.words[at - 1].names if at else set[int]()
        number = NUMBER_WORDS.get(first.plain, first.text)
        if is_one and NUMBER.fullmatch(number) and not first.names:
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
        is_kind = word.is_title and not word.text[0].isupper() and NAMES_ROWS.search(self.plain, 0, word.start)
        of_title = word.is_title and any(
            each.is_title for each in self.words[max(0, at - 1) : at + 2] if each is not word
        )
        beside = [each for each in self.words[max(1, at - 1) : at + 2] if each is not word and each.text[0].isupper()]
        is_other = any(not (each.used or self.table.holding(key_of(each.text), 1)) for each in beside)
        if word.names or word.also or word.is_fluff or of_title or is_kind or stems(word.text) == stems(self.counted):
            return []
        if (
            not (found := self._holding(NUMBER_WORDS.get(word.plain, word.plain)))
            and len(word.plain) >= LIKE_LETTERS
            and word.text.isalpha()
        ):
            places = self.table.places("text", most=LIKE_AMONG)
            parts = {part for place in places for text in self.table.texts(place, LIKE_AMONG) for part in words(text)}
            alike = nearest(word.plain, sorted(parts), edits_of(word.plain)) or _begun_alike(word.plain, parts)
            for near in alike[:1]:
                self.doubts.append(f"{word.text!r} was read as {near!r}")
                found = self._holding(near)
        is_listed = re.search(r"(?:,|&|\b(?:and|or|und|oder)) $", self.plain[: word.start])
        fixed = {either[0].column for either in self.where if len(either) == 1 and either[0].comparison == "is"}
        fixed = set[int]() if is_listed else fixed
        found = [each for each in found if each.column not in fixed]
        if word.text[0].isupper() and is_other:  # Ann Lee is not Ann Ray
            return []
        for each in found:
            if not word.text[0].isupper() and each.comparison == "is" and not stems(each.value) <= stems(self.plain):
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
        denied = self._denial(self.words.index(span[0]), of_column=True)
        fixed = {either[0].column for either in self.where}
        for place in span[0].names - fixed if denied or ASKS_LIST.match(self.plain) else ():
            texts = {fold(text): text for text in self.table.texts(place, 5)}
            is_flag = (bool(texts) and texts.keys() <= YES | NO) or not (YES.isdisjoint(texts) or NO.isdisjoint(texts))
            for said in (*(texts.keys() & (NO if denied else YES)), *[""] * bool(denied)) if is_flag else ():
                for word in denied:
                    word.used = 1
                return [Condition(place, "is", texts.get(said, ""))]
        return []

    def _empty(self) -> None:
        """Add the condition of empty cells: members who do not have a phone number, loans that are not returned."""
        fixed = {either[0].column for either in self.where if either[0].value}
        for at, word in enumerate(self.words):
            if word.used or not (word.names or word.also):
                continue
            denied = self._denial(at, of_column=True)
            may_be_any = any(each.plain in LACKS | MISSING | HAS for each in denied) or PARTICIPLE.fullmatch(word.plain)
            has_verb = ASKS_LIST.match(self.plain) and any(each.plain in DONE for each in self.words[:at])
            is_done = not denied and has_verb and PARTICIPLE.fullmatch(word.plain)
            places = [
                place for place in (word.names or word.also) - fixed if place in self.dates or (denied and may_be_any)
            ]
            places = [place for place in places if place in self.dates] or places
            if places[1:]:
                places = [place for place in places if self.table.has_empty(place)]
            if (denied or is_done) and len(places) == 1:
                self.where.append([Condition(places[0], "is" if denied else "is not", "")])
                for each in [*denied, word]:
                    each.used = 2

    def _compared(self) -> None:
        """Add the conditions of numbers and dates that are compared: over 100 €, in March."""
        for match in COMPARED_VALUE.finditer(self.question):
            said, value = fold(match["sign"] or ""), match["value"]
            sign, date, number = COMPARISONS.get(said, "is"), date_in(value), NUMBER.match(value)
            of_any_year = bool(date) and str(date).startswith("-")
            if of_any_year and said == "from":
                sign = "is"
            is_listed = of_any_year and _IN_LIST.search(self.question, 0, match.start())
            is_told = said or number or is_listed or (of_any_year and value[3:] and value.lower() != "march")
            if self.dates and date and is_told and (sign == "is" or not of_any_year):
                asked = {*self.dates} & {place for word in self.words for place in word.names | word.also}
                others = [place for place in self.dates if place not in asked] if ASKS_WHEN.search(self.plain) else []
                place = self._measured(date, others or self.dates)
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
            + sum(4 * (place in word.names) + (place in word.also and not word.names) for word in self.words)
            for place in places
        }
        best = [place for place in places if scores[place] == max(scores.values())]
        if len(best) > 1 and places == self.dates:
            self.doubts.append(f"several dates may be meant: {self._listed(best)}")
        return best[0] if len(best) == 1 or (best and places == self.dates) else None


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
