"""A question read as queries of a table, by rules: its rows by their values, its columns by the words of their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from typing import Literal, NamedTuple

from local_rag.index.tables.query import Aggregate, Comparison, Condition, TableQuery
from local_rag.index.tables.table import Table, key_of
from local_rag.index.tables.values import MONTH, WRITTEN, date_of, same_unit, unit_of, without_unit, written_date
from local_rag.text.lexicon import STOP_WORDS, UNITS
from local_rag.text.words import fold, stem, words

LONGEST = 6
"""Words of a value that is looked for in a question."""
NEAR, NEAR_LETTERS = 0.84, 5
"""How alike a word of a question and one of a value are (difflib), and from how many letters on that says something."""
DISTINCT = 2_000
"""Values of a column among which a word with a typing error is looked for."""

_SYNONYMS = [
    frozenset(map(stem, line.split()))
    for line in """price cost costs costing rate fee charge expensive cheap amount
amount sum total pay paid payment spend spent cost costs price debit expense expenses money worth invoiced donate donated
salary wage pay paid earn earns earned income
rent pay paid pays
name person people member employee staff who
phone telephone mobile cell
city town place location where
office place location where based
date day when
author writer wrote written write by
year published built made released
since when joined
quantity stock count number copies pieces amount many
mileage km kilometres driven
address street
state status
client customer buyer
trainer teacher teaches teach instructor coach
vehicle car
time duration took take
finish time
score result mark grade got
reading meter
country nation from
hour hours long""".splitlines()
]
"""Words of headers, and the words by which people ask for them."""

_PERSON = frozenset(map(stem, (
    "name person member employee runner student author tenant donor trainer customer client player staff teacher contact"
    " owner patient winner candidate user guest driver participant"
).split()))  # fmt: skip
_FLUFF = frozenset(map(stem, (
    "give list name please tell find show table sheet row rows file entry entries record records register column value"
    " work works do play plays get gets got make made have belong live lives run runs go goes went come cost costs pay"
    " pays paid spend spent take takes took score scored scores write wrote number exist altogether together whole"
    " different many much long often teach teaches attend teams see see know called use used receive received contain"
    " contains hold holds item items put need needs bring brought was been listed"
).split()))  # fmt: skip
"""Words of questions that say nothing of which rows and columns are meant."""
_AGGREGATES: Sequence[tuple[Aggregate, str]] = (
    ("mean", r"\b(?:on )?average\b|\bmean\b|\bdurchschnitt\w*\b"),
    ("sum", r"\bsum of\b|\b(?:in )?total\b|\bsum\b|\b(?:al)?together\b|\bin all\b|\bcombined\b|\boverall\b|\binsgesamt\b|\bsumme\b"),
    ("count", r"\bhow many\b|\b(?:the )?number of\b|\bhow often\b|\bcount of\b|\bwie viele\b|\banzahl\b"),
)
_EXTREMES: Sequence[tuple[Literal["min", "max"], str, str]] = (
    ("max", "price", r"\bmost expensive\b|\bdearest\b|\bpriciest\b"),
    ("min", "price", r"\bcheapest\b|\bleast expensive\b"),
    ("min", "date", r"\boldest\b|\bearliest\b|\bfirst\b"),
    ("max", "date", r"\bnewest\b|\blatest\b|\byoungest\b|\bmost recent\b|\blast\b"),
    ("min", "time", r"\bfastest\b|\bquickest\b"),
    ("max", "time", r"\bslowest\b"),
    ("max", "", r"\bhighest\b|\blargest\b|\bbiggest\b|\bgreatest\b|\bmaximum\b|\bmax\b|\blongest\b|\bheaviest\b|\btallest\b"
                r"|\b(?:the )?most\b(?! of)|\bhöchste\w*\b|\bgrößte\w*\b"),
    ("min", "", r"\blowest\b|\bsmallest\b|\bleast\b(?! \d)|\bfewest\b|\bminimum\b|\bmin\b|\bshortest\b|\blightest\b"
                r"|\bniedrigste\w*\b|\bkleinste\w*\b"),
)  # fmt: skip
_COMPARED: Sequence[tuple[Comparison, str]] = (
    ("at least", r"at least|no less than|not less than|or more|minimum of|≥|>="),
    ("at most", r"at most|no more than|not more than|up to|≤|<="),
    ("over", r"more than|greater than|higher than|larger than|longer than|over|above|exceed(?:s|ed|ing)?|>"),
    ("under", r"less than|fewer than|lower than|smaller than|shorter than|cheaper than|under|below|<"),
)
_AMOUNT = r"(?P<sign>[€$£¥]\s?)?(?P<digits>-?\d[\d,.']*\d|-?\d)(?:\s?(?P<unit>[^\W\d_]+[²³]?|[€$£¥%]|°[CF]?))?"
_COMPARISONS: Sequence[tuple[Sequence[tuple[Comparison, str]], re.Pattern[str]]] = [
    *(([(sign, "digits")], re.compile(rf"(?<!\w)(?:{words_})\s+(?:an? )?{_AMOUNT}")) for sign, words_ in _COMPARED),
    (
        [("at least", "digits"), ("at most", "digits_2")],
        re.compile(rf"\bbetween {_AMOUNT} and {_AMOUNT.replace('>', '_2>')}"),
    ),
]
_DATE = rf"\d{{4}}-\d\d(?:-\d\d)?|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}|\d{{1,2}}/\d{{1,2}}/\d{{4}}|{WRITTEN.pattern}|\b(?:19|20)\d\d\b"
_WHEN: Sequence[tuple[Comparison, str]] = (
    ("under", "before|earlier than|prior to|older than|vor"),
    ("over", "after|later than|newer than|nach"),
    ("at least", "since|from|starting|seit|ab"),
    ("at most", "until|till|up to|through|by|bis"),
    ("is", "in|on|during|of|for|im|am"),
)
_YES = frozenset("yes y true x ja 1 ✓ ✔".split())
_NO = frozenset("no n false nein 0 - – ✗".split())
_TOKEN = re.compile(r"[^\W_]+(?:[.,:'’&/-]+[^\W_]+)*")


class Reading(NamedTuple):
    """A query, how much of the question it reads, and why it is not `certain`; "" where it is."""

    query: TableQuery
    read: int
    doubt: str = ""

    @property
    def certain(self) -> bool:
        return not self.doubt


@dataclass
class _Word:
    text: str
    start: int
    end: int
    used: bool = False
    columns: frozenset[int] = frozenset()
    synonyms: frozenset[int] = frozenset()

    @property
    def plain(self) -> str:
        return fold(self.text).removesuffix("'s")


def asks_table(question: str) -> bool:
    """Whether a question may ask for a cell, a list or a figure, as almost all do that are no small talk."""
    return not re.match(r"\W*(?:why|explain|summari[sz]e|describe|how (?:do|does|can|should|to)|warum|erkläre)\b", question, re.I)


def readings(question: str, table: Table, about: str) -> list[Reading]:
    """The queries that a question may mean, the likeliest first: several where it can be read in several ways.

    `about` are the words of the file's name, its title and its headings, which say nothing of rows.
    """
    return _Reader(question, table, about).readings()


@dataclass
class _Reader:
    """One question and one table; each step marks the words that it has `used`."""

    question: str
    table: Table
    about: str
    words: list[_Word] = field(init=False)
    conditions: list[list[Condition]] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    direct: int = 0

    def __post_init__(self) -> None:
        self.words = [_Word(match.group(), *match.span()) for match in _TOKEN.finditer(self.question)]
        self.plain = "".join(fold(ch) if len(fold(ch)) == 1 else ch for ch in self.question)
        self.titles = {stem(word) for word in words(self.about)}
        names = [words(without_unit(column.name).replace(".", " ")) for column in self.table.columns]
        for word in self.words:
            stems = {stem(part) for part in words(word.text)}
            of = [{stem(part) for part in name} for name in names]
            word.columns = frozenset(place for place, each in enumerate(of) if stems & each)
            meant = frozenset[str]().union(*(group for group in _SYNONYMS if stems & group))
            word.synonyms = frozenset(place for place, each in enumerate(of) if each & meant)

    def readings(self) -> list[Reading]:
        self._values(range(LONGEST, 1, -1))
        self._dates()
        self._compared()
        self._values([1])
        self._numbers()
        aggregate, extreme, hint = self._aggregate()
        self._parts()
        self._yes_or_no()
        wanted, doubt = self._wanted(aggregate, extreme, hint)
        left = self._left()
        if left:
            doubt = f"nothing in the table was found for {', '.join(map(repr, left))}"
        doubts = list(filter(None, [*self.doubts, doubt]))
        return [*self._made(aggregate, extreme, wanted, left, doubts)]

    # --- rows

    def _values(self, sizes: Iterable[int]) -> None:
        """The texts of cells that stand in the question, the longest first."""
        for size in sizes:
            spans = [self.words[at : at + size] for at in range(len(self.words) - size + 1)]
            spans = [span for span in spans if not any(word.used for word in span) and self._may_be_value(span)]
            keys = {key: span for span in spans for key in _forms(span)}
            named = self.table.named([*keys]) if keys else []
            found: dict[int, tuple[list[_Word], list[tuple[int, str]]]] = {}
            for column, key, shown in named:
                span = keys[key]
                found.setdefault(span[0].start, (span, []))[1].append((column, shown))
            for span, places in found.values():
                if not any(word.used for word in span):
                    self._take(span, places)

    def _may_be_value(self, span: Sequence[_Word]) -> bool:
        """Not a word that is a name of a column or has a function, but beside the name of its column: band D."""
        if len(span) > 1:
            return span[0].plain not in STOP_WORDS or span[0].text[0].isupper()
        word = span[0]
        if word.columns and not (word.text[0].isupper() and word.start):
            return any(word.columns != {place} for place in word.columns) and False
        return word.plain not in STOP_WORDS and len(word.plain) > 1 or bool(self._beside(word))

    def _beside(self, word: _Word) -> frozenset[int]:
        at = self.words.index(word)
        around = [self.words[at - 1]] if at else []
        return frozenset[int]().union(*(each.columns for each in around))

    def _take(self, span: Sequence[_Word], places: Sequence[tuple[int, str]]) -> None:
        columns = list(dict.fromkeys(column for column, _ in places))
        if len(span) == 1 and (len(span[0].plain) < 2 or span[0].plain in STOP_WORDS):
            columns = [column for column in columns if column in self._beside(span[0])]
        named = [column for column in columns if any(column in word.columns for word in self.words if word not in span)]
        columns = named or columns
        if not columns:
            return
        for word in span:
            word.used = True
        self.direct += 2 * len(span)
        self.conditions.append([self._equal(column, [text for place, text in places if place == column]) for column in columns])

    def _equal(self, column: int, texts: Sequence[str]) -> Condition:
        return Condition(self.table.columns[column].name, "is", texts[0])

    def _parts(self) -> None:
        """Words of the texts of cells: a person by one name, in either order, or with a typing error."""
        run: list[_Word] = []
        for word in [*self.words, None]:
            if word and not word.used and self._is_telling(word):
                run.append(word)
                continue
            self._take_parts(run)
            run = []

    def _take_parts(self, run: list[_Word]) -> None:
        while run:
            for size in range(len(run), 0, -1):
                if found := self._with_all(run[:size]):
                    break
            else:
                found, size = self._near(run[0]), 1
            if found:
                for word in run[:size]:
                    word.used = True
                self.direct += size
                self.conditions.append(found)
            run = run[size:]

    def _with_all(self, run: Sequence[_Word]) -> list[Condition]:
        """For each column with texts that have all these words a condition."""
        found = [set(self.table.holding(key_of(word.plain))) for word in run]
        wanted = [form for word in run for form in [{stem(part) for part in words(word.text)}]]
        both = [
            (column, text)
            for column, text in found[0].intersection(*found[1:])
            if all(form <= {stem(part) for part in words(text)} for form in wanted)
        ]
        conditions = list[Condition]()
        for column in sorted({column for column, _ in both}):
            texts = [text for place, text in both if place == column]
            name = self.table.columns[column].name
            if len(texts) == 1:
                conditions.append(Condition(name, "is", texts[0]))
            elif len(run) == 1:
                conditions.append(Condition(name, "holds", run[0].plain))
        return conditions

    def _near(self, word: _Word) -> list[Condition]:
        """A text that is written nearly as a word; what it was read as is a doubt."""
        if len(word.plain) < NEAR_LETTERS or any(map(str.isdigit, word.text)):
            return []
        for column, about in enumerate(self.table.columns):
            texts = self.table.texts(column, DISTINCT + 1) if about.kind == "text" else []
            if len(texts) <= DISTINCT:
                parts = {part: text for text in texts for part in [key_of(text), *words(text)]}
                if close := get_close_matches(word.plain, parts, 1, NEAR):
                    text = parts[close[0]]
                    self.doubts.append(f"{word.text!r} was read as {text!r}")
                    return [Condition(about.name, "is", text)]
        return []

    def _numbers(self) -> None:
        """A number beside the name of a column: floor 2."""
        for word in self.words:
            if not word.used and re.fullmatch(r"\d+(?:\.\d+)?", word.text):
                for column in self._beside(word):
                    if self.table.columns[column].kind in ("number", "year"):
                        word.used = True
                        self.direct += 1
                        self.conditions.append([Condition(self.table.columns[column].name, "is", word.text)])
                        break

    def _compared(self) -> None:
        """Numbers with what they are compared by: over 100 €, at least 20 seats, between 10 and 20."""
        for signs, pattern in _COMPARISONS:
            for match in pattern.finditer(self.plain):
                if self._used(match.start(), match.end()):
                    continue
                groups = match.groupdict()
                unit = groups.get("unit_2") or groups["unit"] or groups["sign"] or ""
                unit = unit.strip() if same_unit(unit.strip()) != unit.strip() or unit.strip() in UNITS.values() else ""
                column = self._measured(match, unit)
                if column is None:
                    continue
                end = match.end() if unit else max(match.end(name) for name in ("digits", "digits_2") if groups.get(name))
                self._use(match.start(), end)
                name = self.table.columns[column].name
                for sign, group in signs:
                    self.conditions.append([Condition(name, sign, f"{groups[group]} {same_unit(unit)}".strip())])

    def _measured(self, match: re.Match[str], unit: str) -> int | None:
        """The column of numbers that a comparison is about."""
        kinds = [place for place, column in enumerate(self.table.columns) if column.kind in ("number", "year")]
        after = [word for word in self.words if word.start >= match.end("digits")][:3]
        before = [word for word in self.words if word.end <= match.start()][::-1]
        for direct in (True, False):
            for word in [*after, *before]:
                held = [place for place in (word.columns if direct else word.synonyms) if place in kinds]
                narrowed = [place for place in held if all(place in each.columns for each in after if each.columns)] or held
                if len(narrowed) == 1:
                    for each in (*after, *before):
                        each.used = each.used or (narrowed[0] in each.columns and (each is word or each in after))
                    word.used = True
                    self.direct += direct
                    return narrowed[0]
            if direct and unit:
                of_unit = [place for place in kinds if same_unit(unit) in (self.table.columns[place].unit, unit_of(self.table.columns[place].name), *self.table.columns[place].units)]
                if len(of_unit) == 1:
                    return of_unit[0]
        return kinds[0] if len(kinds) == 1 else None

    def _dates(self) -> None:
        """Dates with what they are compared by: before 2024, in March, between May and July 2024."""
        places = [place for place, column in enumerate(self.table.columns) if column.kind in ("date", "year")]
        words_ = "|".join(words for _, words in _WHEN)
        between = rf"between (?P<first>{_unnamed(_DATE)}) and (?P<second>{_unnamed(_DATE)})"
        pattern = re.compile(rf"{between}|(?:\b(?P<when>{words_}) (?:the (?:year|month of) )?)?(?P<date>{_unnamed(_DATE)})", re.I)
        for match in pattern.finditer(self.question) if places else ():
            if self._used(match.start(), match.end()) or (match["date"] and not _is_date(match)):
                continue
            column = self._dated(places, match)
            if column is None:
                continue
            name, is_year = self.table.columns[column].name, self.table.columns[column].kind == "year"
            if match["first"]:
                found = [("at least", match["first"]), ("at most", match["second"])]
            else:
                sign = next((sign for sign, known in _WHEN if fold(match["when"] or "") in known.split("|")), "is")
                found = [(sign, match["date"])]
            conditions = [_dated(name, sign, text, is_year) for sign, text in found]
            if all(conditions):
                self._use(match.start(), match.end())
                self.direct += 1
                self.conditions += [[condition] for condition in conditions if condition]

    def _dated(self, places: Sequence[int], match: re.Match[str]) -> int | None:
        """The column of dates that a date is about; one whose name has its month or year is none."""
        before = [word for word in self.words if word.end <= match.start()][::-1]
        for word in before:
            if held := [place for place in places if place in word.columns]:
                word.used = True
                self.direct += 1
                return held[0]
        dates = [place for place in places if self.table.columns[place].kind == "date"]
        return dates[0] if len(dates) == 1 else places[0] if len(places) == 1 else None

    def _yes_or_no(self) -> None:
        """A column of yes and no that a list asks for: rooms with a projector."""
        listed = re.match(r"\W*(?:which|who|how many|list|what \w+s)\b", self.plain)
        for word in self.words if listed else ():
            for column in word.columns if not word.used and self.plain[: word.start].strip() else ():
                texts = self.table.texts(column, 5) if self.table.columns[column].kind == "text" else []
                keys = {fold(text) for text in texts}
                if texts and keys <= _YES | _NO:
                    without = re.search(r"\b(?:without|no|not|n't|ohne)\b[^,;]*$", self.plain[: word.start])
                    wanted = [text for text in texts if (fold(text) in _NO) == bool(without)]
                    if wanted:
                        word.used = True
                        self.direct += 1
                        self.conditions.append([Condition(self.table.columns[column].name, "is", wanted[0])])

    # --- columns and figures

    def _aggregate(self) -> tuple[Aggregate, Literal["min", "max", ""], str]:
        extreme: Literal["min", "max", ""] = ""
        hint, aggregate = "", ""
        for sign, of, pattern in _EXTREMES:
            match = re.search(pattern, self.plain)
            if match and not self._used(*match.span()) and not extreme:
                extreme, hint = sign, of
                self._use(*match.span())
        found: Aggregate = ""
        for name, pattern in _AGGREGATES:
            for match in re.finditer(pattern, self.plain):
                if not self._used(*match.span()):
                    found = found or name
                    self._use(*match.span())
        del aggregate
        return found, extreme, hint

    def _wanted(self, aggregate: Aggregate, extreme: str, hint: str) -> tuple[list[int], str]:
        """The columns that are asked for, and a doubt where several may be meant."""
        conditioned = {self.table.position(condition.column) for either in self.conditions for condition in either[:1]}
        free = [word for word in self.words if not word.used]
        mentioned, doubt = self._mentioned(free, conditioned)
        if not mentioned and re.match(r"\W*(?:who|whom|whose)\b|.*\bby whom\b", self.plain):
            mentioned = self._persons(conditioned)
        if not mentioned and re.search(r"\bwhen\b|\bwhat (?:date|day)\b", self.plain):
            mentioned = [p for p, column in enumerate(self.table.columns) if column.kind in ("date", "year")][:1]
        if extreme:
            measured = [p for p in mentioned if self.table.columns[p].kind != "text"] or self._hinted(hint, mentioned)
            return measured, doubt
        if aggregate == "count":
            numeric = [p for p in mentioned if self.table.columns[p].kind == "number"]
            if numeric and any(p in word.columns for word in free for p in numeric):
                return numeric, doubt
            if not numeric and (many := [p for p in self._quantities() if p not in conditioned]) and self._has_key():
                return many, doubt
            return [], ""
        if aggregate or (re.search(r"\bhow much\b", self.plain) and not mentioned):
            numeric = [p for p in mentioned if self.table.columns[p].kind in ("number", "time")]
            money = [p for p, c in enumerate(self.table.columns) if c.kind == "number" and p not in conditioned]
            return numeric or (money if len(money) == 1 else self._synonymous("amount", conditioned)), doubt
        return mentioned, doubt

    def _mentioned(self, free: Sequence[_Word], conditioned: set[int]) -> tuple[list[int], str]:
        """The columns named by words that are left: the one with most words first; synonyms where no word names any."""
        for direct in (True, False):
            left = [word for word in free if (word.columns if direct else word.synonyms - word.columns) and self._asks(word, direct)]
            chosen, doubt = list[int](), ""
            while left:
                held = [word.columns if direct else word.synonyms for word in left]
                scores = {place: sum(place in each for each in held) for each in held for place in each}
                best = max(scores, key=lambda place: (scores[place], -place))
                named = [best in each for each in held]
                places = sorted(place for place in scores if [place in each for each in held] == named)
                places = [place for place in places if place not in conditioned] or places
                if len(places) > 1 and not direct:
                    places = [p for p in places if self.table.columns[p].kind != "text"] or places
                if len(places) > 1:
                    doubt = f"several columns may be meant: {', '.join(self.table.columns[p].name for p in places)}"
                chosen += places
                for word in left:
                    if set(places) & (word.columns if direct else word.synonyms):
                        word.used = True
                        self.direct += direct
                left = [word for word in left if not word.used]
            chosen = [place for place in dict.fromkeys(chosen) if place not in conditioned or len(self.conditions) == 0]
            if chosen:
                return chosen, doubt
        return [], ""

    def _asks(self, word: _Word, direct: bool) -> bool:
        return direct or word.plain not in STOP_WORDS or word.plain in ("where", "when", "who", "by")

    def _persons(self, conditioned: set[int]) -> list[int]:
        names = [{stem(part) for part in words(column.name)} for column in self.table.columns]
        persons = [p for p, name in enumerate(names) if name & _PERSON and p not in conditioned]
        return persons[:1] or [p for p in [self.table.key] if p not in conditioned]

    def _hinted(self, hint: str, mentioned: Sequence[int]) -> list[int]:
        """The column that an extreme is of, by its word: the cheapest, the oldest, the fastest."""
        kinds = {"date": ("date", "year"), "time": ("time",)}.get(hint, ("number",))
        places = [place for place, column in enumerate(self.table.columns) if column.kind in kinds]
        if hint == "price":
            places = self._synonymous("price", set())
        return places if len(places) == 1 or hint == "price" else []

    def _synonymous(self, word: str, without: set[int]) -> list[int]:
        meant = frozenset[str]().union(*(group for group in _SYNONYMS if stem(word) in group))
        names = [{stem(part) for part in words(without_unit(column.name))} for column in self.table.columns]
        return [p for p, c in enumerate(self.table.columns) if c.kind == "number" and names[p] & meant and p not in without]

    def _quantities(self) -> list[int]:
        meant = {stem(word) for word in "quantity stock count number copies pieces".split()}
        return [
            place
            for place, column in enumerate(self.table.columns)
            if column.kind == "number" and meant & {stem(part) for part in words(column.name)}
        ]

    def _has_key(self) -> bool:
        key = self.table.columns[self.table.key].name
        return any(either[0].column == key and either[0].comparison == "is" for either in self.conditions)

    # --- what is left, and what it makes

    def _is_telling(self, word: _Word) -> bool:
        plain = word.plain
        return not (
            plain in STOP_WORDS or plain in UNITS or stem(plain) in _FLUFF or word.columns or (word.synonyms and plain.isalpha() and word.text.islower())
        ) or (bool(word.text[1:]) and word.text[0].isupper() and word.start > 0 and plain not in STOP_WORDS and not word.columns)

    def _left(self) -> list[str]:
        """The words that say something and that nothing was found for."""
        left = list[str]()
        for word in self.words:
            stems = {stem(part) for part in words(word.text)}
            known = word.used or stems <= self.titles or stems <= _FLUFF or word.columns or word.synonyms
            if not known and word.plain not in STOP_WORDS and word.plain not in UNITS and (len(word.plain) > 1 or word.text.isupper()):
                left.append(word.text)
        return left

    def _made(
        self, aggregate: Aggregate, extreme: str, wanted: Sequence[int], left: Sequence[str], doubts: Sequence[str]
    ) -> Iterator[Reading]:
        names = tuple(self.table.columns[place].name for place in wanted)
        key = self.table.columns[self.table.key]
        asks_yes = re.match(r"\W*(?:is|are|was|were|does|do|did|has|have|ist|hat)\b", self.plain)
        several = any(len(either) > 1 for either in self.conditions)
        read = 2 * self.direct + sum({stem(part) for part in words(word.text)} <= self.titles for word in self.words)
        for where in product(*self.conditions):
            doubt = "; ".join([*doubts, *(["it can be read in several ways"] * several)])
            query = TableQuery(tuple(dict.fromkeys(where)), names)
            by_key = any(condition.column == key.name for condition in where)
            if left:
                if where and not (aggregate or extreme):
                    yield Reading(replace(query, select=()), read, doubt)
                continue
            if asks_yes and not aggregate and not extreme and by_key and len(where) > 1:
                others = tuple(each.column for each in where if each.column != key.name)
                where_ = tuple(each for each in where if each.column == key.name)
                yield Reading(TableQuery(where_, others), read, doubt)
                continue
            if extreme and names:
                yield Reading(replace(query, aggregate=extreme, select=names[:1]), read, doubt)  # type: ignore[arg-type]
            elif aggregate == "count" and not names:
                column = self._counted()
                if where or column is not None or self._counts_rows():
                    select = () if column is None else (self.table.columns[column].name,)
                    yield Reading(replace(query, aggregate="count", select=select), read, doubt)
            elif aggregate and names:
                name: Aggregate = "sum" if aggregate == "count" else aggregate
                yield from (Reading(replace(query, aggregate=name, select=(each,)), read, doubt) for each in names)
            elif aggregate or extreme:
                continue
            elif where and names and re.search(r"\bhow much\b", self.plain) and self.table.columns[wanted[0]].kind == "number":
                yield Reading(replace(query, aggregate="sum", select=names[:1]), read, doubt)
            elif where:
                yield Reading(self._listed(query, wanted), read, doubt)

    def _listed(self, query: TableQuery, wanted: Sequence[int]) -> TableQuery:
        """The columns of a list: what is asked for, behind what tells the rows apart; without a column asked for that."""
        key = self.table.key
        fixed = {self.table.position(each.column) for each in query.where if each.comparison == "is"}
        if not wanted:
            is_list = re.match(r"\W*(?:which|who|list|what|name|show|welche|wer|on which|in which)\b", self.plain)
            return replace(query, select=(self.table.columns[key].name,) if is_list and key not in fixed else ())
        if [*wanted] == [key] or (len(wanted) == 1 and self.table.columns[wanted[0]].kind == "text"):
            name = self.table.columns[wanted[0]].name
            return replace(query, select=(name,)) if wanted[0] == key else replace(query, select=(), group_by=name)
        dates = [place for place, column in enumerate(self.table.columns) if column.kind == "date"][:1]
        telling = dates if key in fixed else [key]
        places = dict.fromkeys([*(p for p in telling if p not in fixed), *wanted])
        return replace(query, select=tuple(self.table.columns[place].name for place in places))

    def _counted(self) -> int | None:
        """The column whose different values are counted: how many customers."""
        match = re.search(r"\bhow many (?:different )?([\w-]+)", self.plain)
        for word in self.words if match else ():
            if match and word.plain == match[1] and word.columns:
                texts = [p for p in word.columns if self.table.columns[p].kind == "text" and p != self.table.key]
                return next(iter(texts), None)
        return None

    def _counts_rows(self) -> bool:
        """Whether what is counted is what the rows are: the name of the first column or of the file."""
        match = re.search(r"(?:how many|number of) (?:different )?([\w-]+)", self.plain)
        if match is None:
            return False
        stems = {stem(part) for part in words(match[1])}
        key = {stem(part) for part in words(self.table.columns[self.table.key].name)}
        return bool(stems & (self.titles | key | {"row", "entri", "record"}))

    def _used(self, start: int, end: int) -> bool:
        return any(word.used for word in self.words if word.start < end and word.end > start)

    def _use(self, start: int, end: int) -> None:
        for word in self.words:
            word.used = word.used or (word.start < end and word.end > start)


def _forms(span: Sequence[_Word]) -> Iterator[str]:
    """The keys under which a text may be stored that these words name: also without a plural or a genitive."""
    key = key_of("".join(word.text for word in span[:-1]) + span[-1].text.removesuffix("'s").removesuffix("’s"))
    yield key
    yield key_of("".join(word.text for word in span))
    for ending, other in (("s", ""), ("es", ""), ("ies", "y")):
        if key.endswith(ending) and len(key) > len(ending) + 2:
            yield key.removesuffix(ending) + other


def _unnamed(pattern: str) -> str:
    return re.sub(r"\?P<\w+>", "?:", pattern)


def _is_date(match: re.Match[str]) -> bool:
    """Whether what may be a date is one: "may" alone is a verb."""
    text = match["date"]
    return not text.isalpha() or text[0].isupper() and (fold(text) not in ("may", "march", "mar", "dec", "mai") or bool(match["when"]))


def _dated(name: str, sign: str, text: str, is_year: bool) -> Condition | None:
    written = WRITTEN.fullmatch(text.strip())
    date = written_date(written) if written else text if re.fullmatch(r"\d{4}", text) else date_of(text)
    if not date:
        return None
    if date.startswith("-"):
        return Condition(name, "month", date[1:3]) if sign == "is" and len(date) == 3 and not is_year else None
    return Condition(name, sign, date[:4] if is_year else date)  # type: ignore[arg-type]
