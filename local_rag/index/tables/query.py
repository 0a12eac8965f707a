"""A table query: a small value that says what is asked of a table, checked against its columns and run by code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

from local_rag.index.tables.table import Table, key_of
from local_rag.index.tables.values import CURRENCIES, NO_VALUE, TIME, date_of, number_of, same_unit
from local_rag.text.display import joined, plural
from local_rag.text.words import words

Comparison = Literal["is", "is not", "holds", "under", "at most", "over", "at least"]
Aggregate = Literal["", "count", "sum", "mean", "min", "max"]

SHOWN, MARKED, NAMED = 30, 200, 5
"""Rows that a list shows, rows that a citation marks, and rows with an extreme that are named."""

_SIGNS = {"is": "=", "is not": "<>", "under": "<", "at most": "<=", "over": ">", "at least": ">="}
_OF_DATES = {"is": "is in", "under": "is before", "over": "is after", "at least": "is not before"}
_OF_DATES |= {"at most": "is not after", "is not": "is not in"}
_OF_DATES |= {"min": "the earliest", "max": "the latest"}
EMPTY = ("", "-", "–", "—", "n/a", "none")
"""What stands in a cell that says nothing, in small letters."""
_SUMS = {"sum": "sum", "mean": "avg"}
_FIGURES = {"sum": "the sum of", "mean": "the mean of", "min": "the lowest", "max": "the highest"}
_OF_ANY_YEAR = re.compile(r"-\d\d(?:-\d\d)?")


class Condition(NamedTuple):
    """A condition on a column; of a date the value may be a part: 2024, 2024-03, or -03 and -03-08 of any year.

    "is" with the value "" selects the empty cells.
    """

    column: int
    comparison: Comparison
    value: str


@dataclass(frozen=True)
class TableQuery:
    """A query for rows that meet all conditions: their columns of `select`, or an aggregate of the first of these.

    For `min` and `max` the second column names the rows that have the extreme. A count without a column counts rows,
    one of a column its different values; without an aggregate `group_by` lists these. `order` is a column, the largest
    first where it is `descending`; a `limit` of 0 is none.
    """

    where: tuple[Condition, ...] = ()
    select: tuple[int, ...] = ()
    aggregate: Aggregate = ""
    group_by: int | None = None
    order: int | None = None
    descending: bool = False
    limit: int = 0

    @property
    def meaning(self) -> tuple[object, ...]:
        """Return what is asked for, equal for queries that ask for the same in another order and writing."""
        where = {(column, sign, key_of(value)) for column, sign, value in self.where}
        return where, self.select[:1], self.aggregate, self.group_by


class Result(NamedTuple):
    """The result of a query: its text, the first rows (number, start, end) that it is from, and the problems of their
    values.
    """

    text: str
    rows: Sequence[tuple[int, int, int]]
    problems: Sequence[str]


def run(table: Table, query: TableQuery, source: str) -> Result:
    """Run a query. Raises ValueError, which says what of it does not fit the table, or that it takes too long."""
    return _Run(table, query, source).result()


def check(query: TableQuery, question: str, table: Table) -> None:
    """Raise ValueError, which says what is wrong, for a query that does not fit its table or the question: errors of
    models that code can see.
    """
    if query.aggregate == "count" and re.match(r"\W*(?:who|which|wer|welche)\b", question, re.IGNORECASE):
        raise ValueError('the question asks who or which, not how many: leave "aggregate" empty')
    for place, _, value in query.where:
        column = table.columns[place]
        if column.kind != "text" or {*words(value)} <= {*words(question)}:
            continue
        if place in query.select:
            raise ValueError(f"{column.name} is what the question asks for: leave it out of the conditions")
        if place not in dict(table.named([key_of(value)])):
            raise ValueError(f"{value!r} stands neither in the question nor in {column.name}")
    if not run(table, query, "").rows:
        raise ValueError("no row meets these conditions")


class _Run:
    """A query that is run on a table: its SQL with the values, and the rows that match, in words."""

    def __init__(self, table: Table, query: TableQuery, source: str) -> None:
        self.table, self.query = table, query
        either = [
            [each for each in query.where if _are_alternatives(table, each, first)] or [first] for first in query.where
        ]
        either = [each for number, each in enumerate(either) if each not in either[:number]]
        clauses = [_any([_clause(table, condition) for condition in each]) for each in either]
        self.where = " AND ".join(["NOT total", *(sql for sql, _ in clauses)])
        self.values = [value for _, values in clauses for value in values]
        of, is_grouped = query.select[:1], query.group_by is not None
        if query.aggregate in _FIGURES and not of:
            raise ValueError(f"{query.aggregate} needs a column to select")
        if (query.aggregate in _SUMS or (query.aggregate and is_grouped)) and any(
            table.columns[place].kind != "number" for place in of
        ):
            raise ValueError(f"{table.columns[of[0]].name} holds no numbers, of which there is a {query.aggregate}")
        self.matched = self._get("count(*)")[0][0]
        conditions = joined([joined([_said(table, condition) for condition in each], "or") for each in either], "and")
        self.among = f" where {conditions}" if conditions else ""
        name = PurePath(source.replace("\\", "/")).name
        is_new = table.place and not {*words(table.place)} <= {*words(name)}
        self.label = f"{name} ({table.place})" if is_new else name
        is_row = self.matched == 1 and query.aggregate != "count"
        self.of_rows = (
            f"{self.label}, {'the row' if is_row else f'{self.matched:,} of {table.rows:,} rows'}{self.among}"
        )

    def _get(self, columns: str, more: str = "", *values: object) -> list[Any]:
        sql = f"SELECT {columns} FROM t{self.table.number} WHERE {self.where} {more}"
        return self.table.execute(sql, [*self.values, *values])

    def result(self) -> Result:
        query, figure, place = self.query, self.query.aggregate, next(iter(self.query.select), self.table.key)
        called, more, values = f"{_FIGURES.get(figure, '')} {self._name(place)}", "", list[object]()
        if query.group_by is not None:
            text = self._groups(query.group_by, called, place)
        elif not figure or (self.matched == 1 and query.select):
            text = self._rows()
        elif figure == "count":
            different = self._get(f"count(DISTINCT NULLIF(s{place}, ''))")[0][0]
            of_column = f": {plural(different, 'different value')} of {self._name(place)}"
            text = self.of_rows + (of_column if query.select else "")
        elif figure in _SUMS:
            text = f"{self.of_rows}: {called} is {self._shown(place, self._get(f'{_SUMS[figure]}(v{place})')[0][0])}"
        else:
            more, values = f"AND v{place} = ?", self._get(f"{figure}(v{place})")[0]
            of = next(iter(query.select[1:]), self.table.key)
            found = self._get(f"s{place}, coalesce(nullif(s{of}, ''), s0)", more, *values)
            if self.table.columns[place].kind == "date":
                called = f"{_OF_DATES[figure]} {self._name(place)}"
            text = f"{self.of_rows}: {called} is {found[0][0] if found else 'unknown'}"
            named = joined([*dict.fromkeys(name for _, name in found)][:NAMED], "and")
            text += f": {named}" if place != of else ""
        measured = {place} if figure in _FIGURES else {*filter(None, [query.order])}
        compared = {each.column for each in query.where if each.value} - {*self.table.places("text")} - measured
        rows = self._get('row, start, "end"', f"{more} AND start >= 0 LIMIT {MARKED}", *values)
        dated = {
            each.column for each in query.where if each.value[:4].isdigit() and self.table.is_yearless(each.column)
        }
        yearless = [f"{self._name(column)} tells no year" for column in sorted(dated)]
        return Result(text, rows, [*yearless, *self._problems(measured), *self._unread(compared)])

    def _groups(self, group: int, called: str, place: int) -> str:
        """Return a figure for each value of a column, or these values."""
        figure = self.query.aggregate
        value = f"{_SUMS.get(figure, figure)}(v{place})" if figure in _FIGURES else "count(*)"
        found = self._get(f"s{group}, {value}", f"AND s{group} <> '' GROUP BY s{group} ORDER BY min(row)")
        if not figure and len(found) < 2:
            return f"{self.of_rows}: {self._name(group)} is {found[0][0] if found else 'empty'}"
        lines = [name + (f": {self._shown(place, number)}" if figure else "") for name, number in found]
        of = f"{'count of rows' if figure == 'count' else called} by" if figure else "values of"
        return _list(f"{self.of_rows}, {of} {self._name(group)}", lines, len(found))

    def _rows(self) -> str:
        """Return the cells of the rows; of one row in a sentence."""
        query, every, by, order = self.query, range(len(self.table.columns)), "row", ""
        if query.order is not None:
            by = f"v{query.order} {'DESC' if query.descending else ''} NULLS LAST, row"
            order = f", the {'highest' if query.descending else 'lowest'} {self._name(query.order)} first"
        for places in (query.select or every, every):  # rows that look alike are told apart by their other cells
            cells = ", ".join(f"s{place}" for place in places)
            found = self._get(cells, f"ORDER BY {by} LIMIT {min(query.limit or SHOWN, SHOWN)}")
            if len({*found}) == len(found):
                break
        if self.matched == 1:
            fixed = {each.column for each in query.where if each.comparison == "is"}
            said = [
                f"{self._name(place)} is {cell or 'empty'}"
                for place, cell in zip(places, found[0], strict=True)
                if place not in fixed or {*places} <= fixed
            ]
            return f"{self.of_rows}: {'; '.join(said)}"
        heads = ["", *(f"{self._name(place)}: " for place in places[1:])]
        cells_of = ([head + cell for head, cell in zip(heads, row, strict=True) if cell] for row in found)
        lines = [" | ".join(said) or "empty" for said in cells_of]
        return _list(f"{self.label}, rows{self.among}{order}", lines, self.matched)

    def _name(self, place: int) -> str:
        return self.table.columns[place].name

    def _shown(self, place: int, number: float | None) -> str:
        """Return a computed number with the unit of its column."""
        column, figure = self.table.columns[place], self.query.aggregate
        if number is None or figure == "count":
            return "unknown" if number is None else f"{number:,}"
        if column.unit == TIME:
            return str(timedelta(seconds=round(number)))
        text = f"{number:,.{max(2, column.decimals) if figure == 'mean' else column.decimals}f}"
        text = text.rstrip("0").rstrip(".") if figure == "mean" else text
        return text if column.unit in column.name else f"{text} {column.unit}"

    def _unread(self, places: Iterable[int], where: str = "NOT total", values: Sequence[object] = ()) -> list[str]:
        """Return which cells of columns of numbers and dates are none."""
        found = list[str]()
        for place in places:
            kinds = f"CASE s{place} WHEN '' THEN 'empty' WHEN '{NO_VALUE}' THEN 'without a value' ELSE 'text' END"
            sql = f"SELECT {kinds}, count(*) FROM t{self.table.number} WHERE v{place} IS NULL AND {where} GROUP BY 1"
            for what, count in self.table.execute(sql, values):
                found.append(f"{plural(count, 'cell')} of {self._name(place)} {'is' if count == 1 else 'are'} {what}")
        return found

    def _problems(self, measured: Iterable[int]) -> list[str]:
        """Return what keeps a computation from being sure: values that are none, mixed signs, and several units."""
        found = self._unread(measured, self.where, self.values)
        for place in measured:
            ((low, high, units),) = self._get(
                f"min(v{place}), max(v{place}), group_concat(DISTINCT NULLIF(u{place}, ''))"
            )
            is_money = self.table.columns[place].unit in CURRENCIES and self.query.group_by is None and low is not None
            if is_money and low < 0 and (high > 0 or self.query.aggregate not in _SUMS):
                found.append(f"{self._name(place)} holds amounts below 0")
            several = sorted((units or "").split(",")) if "," in (units or "") else self._currencies()
            found += [f"{self._name(place)} has several units: {joined(several, 'and')}"] if len(several) > 1 else []
        return found

    def _currencies(self) -> list[str]:
        """Return the currencies of the rows, where a column names them."""
        for place in self.table.places("text", most=20):
            if {*map(same_unit, self.table.texts(place, 20))} <= CURRENCIES:
                return [text for (text,) in self._get(f"DISTINCT s{place}")]
        return []


def _list(said: str, lines: Sequence[str], whole: int) -> str:
    """Return a list that says whether it is whole."""
    shown = [f"- {line}" for line in lines[:SHOWN]]
    count = f"all {whole:,}" if len(shown) == whole else f"{len(shown)} of {whole:,} shown"
    return "\n".join([f"{said} ({count}):", *shown])


def _are_alternatives(table: Table, one: Condition, other: Condition) -> bool:
    """Return whether two conditions ask for different texts, or months or days, of one column, of which a cell has only
    one.
    """
    is_value = one.comparison == other.comparison == "is" and bool(one.value and other.value)
    kind = table.columns[one.column].kind
    is_alike = kind == "text" or (kind == "date" and len(one.value) == len(other.value))
    return is_value and is_alike and one.column == other.column


def _any(clauses: Sequence[tuple[str, list[object]]]) -> tuple[str, list[object]]:
    sql = " OR ".join(sql for sql, _ in clauses)
    return f"({sql})" if clauses[1:] else sql, [value for _, values in clauses for value in values]


def _said(table: Table, condition: Condition) -> str:
    """Return a condition in words."""
    column, comparison, value = table.columns[condition.column], condition.comparison, condition.value
    if not value:
        return f"{column.name} {comparison} empty{' or 0' * (column.kind == 'number')}"
    if column.kind == "date":
        part = value.replace("-", "day " if value[3:] else "month ", value.startswith("-"))
        return f"{column.name} {_OF_DATES.get(comparison, comparison)} {part}"
    return f"{column.name} {'' if comparison in ('is', 'is not', 'holds') else 'is '}{comparison} {value}"


def _clause(table: Table, condition: Condition) -> tuple[str, list[object]]:
    """Return a condition as SQL with its values. Raises ValueError where the value does not fit the column."""
    place, comparison, value = condition.column, condition.comparison, condition.value.strip()
    column = table.columns[place]
    if not value and comparison in ("is", "is not"):
        empty = f"(lower(s{place}) IN {EMPTY}{f' OR v{place} = 0' * (column.kind == 'number')})"
        return f"{'NOT ' * (comparison == 'is not')}{empty}", []
    if column.kind == "text" and comparison in ("is", "is not", "holds") and value:
        same = "instr(key, ?)" if comparison == "holds" else "key = ?"
        among = f'SELECT shown FROM texts WHERE number = ? AND "column" = ? AND {same}'
        return f"s{place} {'NOT ' * (comparison == 'is not')}IN ({among})", [table.number, place, key_of(value)]
    if column.kind == "text" or comparison not in _SIGNS:
        raise ValueError(f"{column.name} holds {column.kind}s, which are not compared by {comparison!r} with {value!r}")
    if column.kind == "date":
        value = re.sub(r"^\d{4}(?=-)", "", date_of(value) or value) if table.is_yearless(place) else value
        of_any_year = _OF_ANY_YEAR.fullmatch(value)
        if not (date := value if of_any_year else date_of(value)):
            raise ValueError(f"{value!r} is no date for {column.name}: write 2024, 2024-03 or 2024-03-05")
        start = 5 if of_any_year else 1
        ((least,),) = table.execute(f"SELECT min(length(v{place})) FROM t{table.number}")
        if least is not None and least < start + len(date) - 1:
            raise ValueError(f"{column.name} holds dates that are less precise than {date}")
        return f"substr(v{place}, {start}, {len(date)}) {_SIGNS[comparison]} ?", [date]
    if (number := number_of(value)) is None:
        raise ValueError(f"{value!r} is no number, and {column.name} holds numbers")
    if number[1] in column.units:
        return f"(v{place} {_SIGNS[comparison]} ? AND u{place} = ?)", [*number]
    if number[1] and column.unit not in ("", number[1]):
        raise ValueError(f"{column.name} is in {column.unit}, not in {number[1]}")
    return f"v{place} {_SIGNS[comparison]} ?", [number[0]]
