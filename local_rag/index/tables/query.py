"""A table query: a small value that says what is asked of a table, checked against its columns and run by code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

from local_rag.index.tables.table import Table, key_of
from local_rag.index.tables.values import CURRENCIES, MEASURES, NO_VALUE, date_of, number_of, same_unit
from local_rag.text.display import joined, plural
from local_rag.text.words import words

Comparison = Literal["is", "is not", "holds", "under", "at most", "over", "at least", "month"]
Aggregate = Literal["", "count", "sum", "mean", "min", "max"]

SHOWN, MARKED = 30, 200
"""Rows that a list shows, and rows that a citation marks."""

_SIGNS = {"is": "=", "is not": "<>", "under": "<", "at most": "<=", "over": ">", "at least": ">="}
_OF_DATES = {"is": "is in", "under": "is before", "over": "is after", "at least": "is not before"}
_OF_DATES |= {"at most": "is not after", "month": "is in month", "is not": "is not in"}
_FIGURES = {"sum": ("sum", "the sum of"), "mean": ("avg", "the mean of")}
_FIGURES |= {"min": ("min", "the lowest"), "max": ("max", "the highest"), "count": ("count", "count of")}


class Condition(NamedTuple):
    """A condition on a column; of a date the value may be a part, 2024 or 2024-03, and of `month` it is 03."""

    column: str
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
    select: tuple[str, ...] = ()
    aggregate: Aggregate = ""
    group_by: str = ""
    order: str = ""
    descending: bool = False
    limit: int = 0


def same(first: TableQuery, second: TableQuery) -> bool:
    """Return whether two queries ask for the same, in whatever order and writing."""
    whats = [({*each.select[:1]}, each.aggregate, each.group_by) for each in (first, second)]
    wheres = [{(column, sign, key_of(value)) for column, sign, value in each.where} for each in (first, second)]
    return whats[0] == whats[1] and wheres[0] == wheres[1]


class Result(NamedTuple):
    """The result of a query: its text, the first rows (number, start, end) of the `matched` ones that it is from, and
    the problems of their values.
    """

    text: str
    rows: Sequence[tuple[int, int, int]]
    matched: int
    problems: Sequence[str]


def run(table: Table, query: TableQuery, source: str) -> Result:
    """Run a query. Raises ValueError, which says what of it does not fit the table, or that it takes too long."""
    return _Run(table, query, source).result()


def check(query: TableQuery, question: str, table: Table) -> None:
    """Raise ValueError, which says what is wrong, for a query that does not fit its table or the question: errors of
    models that code can see.
    """
    asked = {*words(question)}
    if query.aggregate == "count" and re.match(r"\W*(?:who|which|wer|welche)\b", question, re.IGNORECASE):
        raise ValueError('the question asks who or which, not how many: leave "aggregate" empty')
    for column, _, value in query.where:
        place = table.position(column)
        is_asked = {*words(value)} <= asked or table.columns[place].kind != "text"
        if not is_asked and column in query.select:
            raise ValueError(f"{column} is what the question asks for: leave it out of the conditions")
        if not is_asked and place not in {column for column, _ in table.named([key_of(value)])}:
            raise ValueError(f"{value!r} stands neither in the question nor in {column}")
    if not run(table, query, "").matched:
        raise ValueError("no row meets these conditions")


class _Run:
    """A query that is run on a table: its SQL with the values, and the rows that match, in words."""

    def __init__(self, table: Table, query: TableQuery, source: str) -> None:
        self.table, self.query = table, query
        clauses = [_clause(table, condition) for condition in query.where]
        self.where = " AND ".join(["NOT total", *(sql for sql, _ in clauses)])
        self.values = [value for _, values in clauses for value in values]
        self.chosen = [table.position(name) for name in query.select]
        if query.aggregate not in ("", "count") and not self.chosen:
            raise ValueError(f"{query.aggregate} needs a column to select")
        if query.aggregate in ("sum", "mean") and table.columns[self.chosen[0]].kind not in MEASURES:
            raise ValueError(f"{query.select[0]} holds no numbers, of which there is a {query.aggregate}")
        self.matched = self._get("count(*)")[0][0]
        conditions = joined([_said(table, condition) for condition in query.where], "and")
        self.among = f" where {conditions}" if conditions else ""
        name = PurePath(source.replace("\\", "/")).name
        is_new = table.place and not {*words(table.place)} <= {*words(name)}
        self.label = f"{name} ({table.place})" if is_new else name
        one = self.matched == 1
        self.of_rows = f"{self.label}, {'the row' if one else f'{self.matched:,} of {table.rows:,} rows'}{self.among}"

    def _get(self, columns: str, more: str = "", *values: object) -> list[Any]:
        sql = f"SELECT {columns} FROM t{self.table.number} WHERE {self.where} {more}"
        return self.table.execute(sql, [*self.values, *values])

    def result(self) -> Result:
        figure, place = self.query.aggregate, self.chosen[0] if self.chosen else 0
        extreme = f"AND v{place} = ?" if figure in ("min", "max") else ""
        best = self._get(f"{figure}(v{place})")[0] if extreme else ()
        if self.query.group_by:
            text = self._groups(self.table.position(self.query.group_by), place)
        elif not figure or (self.matched == 1 and self.chosen):
            text = self._rows()
        elif figure == "count" and not self.chosen:
            text = f"{self.label}: {self.matched:,} of {self.table.rows:,} rows{self.among}"
        elif extreme:
            of = self.chosen[1] if self.chosen[1:] else self.table.key
            found = self._get(f"s{place}, coalesce(nullif(s{of}, ''), s0)", extreme, *best)
            held = f": {joined([*dict.fromkeys(name for _, name in found)][:5], 'and')}" * (place != of)
            value = found[0][0] if found else "unknown"
            of_dates = self.table.columns[place].kind == "date"
            called = {"min": "the earliest", "max": "the latest"}[figure] if of_dates else _FIGURES[figure][1]
            text = f"{self.of_rows}: {called} {self._name(place)} is {value}{held}"
        elif figure == "count":
            count = self._get(f"count(DISTINCT NULLIF(s{place}, ''))")[0][0]
            text = f"{self.of_rows}: {plural(count, 'different value')} of {self._name(place)}"
        else:
            number = self._shown(figure, place, self._get(f"{_FIGURES[figure][0]}(v{place})")[0][0])
            text = f"{self.of_rows}: {_FIGURES[figure][1]} {self._name(place)} is {number}"
        rows = self._get('row, start, "end"', f"{extreme} LIMIT {MARKED}", *best)
        measured = (
            {place} if figure not in ("", "count") else {*map(self.table.position, filter(None, [self.query.order]))}
        )
        compared = {self.table.position(each.column) for each in self.query.where} - {*self.table.places("text")}
        problems = [
            problem for each in sorted(measured | compared) for problem in self._problems(each, each in measured)
        ]
        return Result(text, rows, self.matched, problems)

    def _groups(self, group: int, place: int) -> str:
        """Return a figure for each value of a column, or these values."""
        figure = self.query.aggregate
        value = "count(*)" if figure in ("", "count") else f"{_FIGURES[figure][0]}(v{place})"
        found = self._get(f"s{group}, {value}", f"AND s{group} <> '' GROUP BY s{group} ORDER BY min(row)")
        if not figure and len(found) == 1:
            return f"{self.of_rows}: {self._name(group)} is {found[0][0]}"
        if not figure and not found:
            return f"{self.of_rows}: {self._name(group)} is empty"
        lines = [f"- {name}" + (f": {self._shown(figure, place, number)}" if figure else "") for name, number in found]
        of = f"{_FIGURES[figure][1]} {self._name(place) if figure != 'count' else 'rows'} by" if figure else "values of"
        return self._list(f"{self.of_rows}, {of} {self._name(group)}", lines, len(found))

    def _rows(self) -> str:
        """Return the cells of the rows; of one row in a sentence."""
        places, query = self.chosen or [*range(len(self.table.columns))], self.query
        by = (
            f"v{self.table.position(query.order)} {'DESC' * query.descending} NULLS LAST, row" if query.order else "row"
        )
        limit = min(query.limit or SHOWN, SHOWN)
        found = self._get(", ".join(f"s{place}" for place in places), f"ORDER BY {by} LIMIT {limit}")
        if len({*found}) < len(found):  # rows that look alike are told apart by their other cells
            places = [*range(len(self.table.columns))]
            found = self._get(", ".join(f"s{place}" for place in places), f"ORDER BY {by} LIMIT {limit}")
        if self.matched == 1:
            fixed = {self.table.position(each.column) for each in query.where if each.comparison == "is"}
            cells = [each for each in zip(places, found[0], strict=True) if each[0] not in fixed or {*places} <= fixed]
            return f"{self.of_rows}: " + "; ".join(f"{self._name(place)} is {cell or 'empty'}" for place, cell in cells)
        named = [
            [
                f"{self._name(place)}: " * bool(n) + cell
                for n, (place, cell) in enumerate(zip(places, row, strict=True))
                if cell
            ]
            for row in found
        ]
        order = f", the {'highest' if query.descending else 'lowest'} {query.order} first" * bool(query.order)
        return self._list(
            f"{self.label}, rows{self.among}{order}", ["- " + " | ".join(row) for row in named], self.matched
        )

    def _list(self, said: str, lines: Sequence[str], whole: int) -> str:
        """Return a list that says whether it is whole."""
        count = f"all {whole:,}" if len(lines[:SHOWN]) == whole else f"{len(lines[:SHOWN])} of {whole:,} shown"
        return "\n".join([f"{said} ({count}):", *lines[:SHOWN]])

    def _name(self, place: int) -> str:
        return self.table.columns[place].name

    def _shown(self, figure: str, place: int, number: float | None) -> str:
        """Return a computed number with the unit of its column."""
        column = self.table.columns[place]
        if number is None or figure == "count":
            return "unknown" if number is None else f"{number:,}"
        if column.kind == "time":
            minutes, seconds = divmod(round(number), 60)
            return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        text = f"{number:,.{max(2, column.decimals) if figure == 'mean' else column.decimals}f}"
        text = text.rstrip("0").rstrip(".") if figure == "mean" else text
        return f"{text} {column.unit if column.unit not in column.name else ''}".strip()

    def _problems(self, place: int, is_measured: bool) -> list[str]:
        """Return what keeps a computation from being sure: values that are none, and several units."""
        name, kind = self._name(place), self.table.columns[place].kind
        sql = f"sum(s{place} = ''), sum(s{place} = '{NO_VALUE}'), sum(v{place} IS NULL)"
        of = (
            self._get(sql)
            if is_measured
            else self.table.execute(f"SELECT {sql} FROM t{self.table.number} WHERE NOT total")
        )
        empty, formulas, none = (count or 0 for count in of[0])
        counts = {"empty": empty * (is_measured or kind != "text"), "without a value": formulas}
        counts["text"] = (none - empty - formulas) * (kind != "text")
        found = [
            f"{plural(count, 'cell')} of {name} {'is' if count == 1 else 'are'} {what}"
            for what, count in counts.items()
            if count
        ]
        if is_measured and self.table.columns[place].unit in CURRENCIES and not self.query.group_by:
            low, high = self._get(f"min(v{place}), max(v{place})")[0]
            is_mixed = low is not None and low < 0 and (high > 0 or self.query.aggregate in ("min", "max"))
            found += [f"{name} holds amounts below 0"] * is_mixed
        units = {unit for (unit,) in self._get(f"DISTINCT u{place}") if unit} if is_measured else set()
        units = units if len(units) > 1 or not is_measured else self._currencies()
        return found + ([f"{name} has several units: {joined(sorted(units), 'and')}"] if len(units) > 1 else [])

    def _currencies(self) -> set[str]:
        """Return the currencies of the rows, where a column names them."""
        for place in self.table.places("text", most=20):
            texts = self.table.texts(place, 20)
            if texts and all(same_unit(text) in CURRENCIES for text in texts):
                return {text for (text,) in self._get(f"DISTINCT s{place}")}
        return set()


def _said(table: Table, condition: Condition) -> str:
    """Return a condition in words."""
    column, comparison, value = condition
    if table.columns[table.position(column)].kind == "date":
        return f"{column} {_OF_DATES.get(comparison, comparison)} {value}"
    return f"{column} {'' if comparison in ('is', 'is not', 'holds') else 'is '}{comparison} {value}"


def _clause(table: Table, condition: Condition) -> tuple[str, list[object]]:
    """Return a condition as SQL with its values. Raises ValueError where the value does not fit the column."""
    place, comparison, value = table.position(condition.column), condition.comparison, condition.value.strip()
    column = table.columns[place]
    if column.kind == "text" and comparison in ("is", "is not", "holds") and value:
        same = "instr(key, ?)" if comparison == "holds" else "key = ?"
        among = f'SELECT shown FROM texts WHERE number = ? AND "column" = ? AND {same}'
        return f"s{place} {'NOT ' * (comparison == 'is not')}IN ({among})", [table.number, place, key_of(value)]
    if column.kind == "date" and comparison == "month":
        return f"substr(v{place}, 6, 2) = ?", [value.zfill(2)]
    if column.kind == "text" or comparison not in _SIGNS:
        raise ValueError(f"{column.name} holds {column.kind}s, which are not compared by {comparison!r} with {value!r}")
    if column.kind == "date":
        if not (date := date_of(value)):
            raise ValueError(f"{value!r} is no date for {column.name}: write 2024, 2024-03 or 2024-03-05")
        ((least,),) = table.execute(f"SELECT min(length(v{place})) FROM t{table.number}")
        if least is not None and least < len(date):
            raise ValueError(f"{column.name} holds dates that are less precise than {date}")
        return f"substr(v{place}, 1, {len(date)}) {_SIGNS[comparison]} ?", [date]
    if (number := number_of(value)) is None:
        raise ValueError(f"{value!r} is no number, and {column.name} holds numbers")
    if number[1] in column.units:
        return f"(v{place} {_SIGNS[comparison]} ? AND u{place} = ?)", [*number]
    if number[1] and column.unit not in ("", number[1]):
        raise ValueError(f"{column.name} is in {column.unit}, not in {number[1]}")
    return f"v{place} {_SIGNS[comparison]} ?", [number[0]]
