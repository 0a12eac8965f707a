"""A table query: a small value that says what is asked of a table, checked against its columns and run by code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, NamedTuple

from local_rag.index.tables.table import Table, key_of
from local_rag.index.tables.values import CURRENCIES, Column, date_of, number_of, same_unit
from local_rag.text.display import joined
from local_rag.text.words import words

Comparison = Literal["is", "is not", "holds", "under", "at most", "over", "at least", "month"]
Aggregate = Literal["", "count", "sum", "mean", "min", "max"]

SHOWN = 30
"""Rows that a list shows."""
MARKED = 200
"""Rows that a citation marks."""

_SIGNS = {"is": "=", "is not": "<>", "under": "<", "at most": "<=", "over": ">", "at least": ">="}
_NAMES = {"sum": "sum", "mean": "mean", "min": "lowest", "max": "highest"}
_NO_VALUE = "(a formula without a value)"


class Condition(NamedTuple):
    """A condition on a column; of a date the value may be a part, 2024 or 2024-03, and of `month` it is 03."""

    column: str
    comparison: Comparison
    value: str


@dataclass(frozen=True)
class TableQuery:
    """Rows that meet all conditions: their columns of `select`, or an aggregate of the first of these.

    A count without a column counts rows, one of a column its different values; so does `group_by` list them where
    there is no aggregate. `order` is a column, the largest first where it is `descending`; a `limit` of 0 is none.
    """

    where: tuple[Condition, ...] = ()
    select: tuple[str, ...] = ()
    aggregate: Aggregate = ""
    group_by: str = ""
    order: str = ""
    descending: bool = False
    limit: int = 0


@dataclass(frozen=True)
class Result:
    """What a query gave: in words, `lines` of a list below them, the rows (number, start, end) that it is from, of
    `matched` ones at most `MARKED`, and what is wrong with the values.
    """

    said: str
    lines: tuple[str, ...]
    rows: tuple[tuple[int, int, int], ...]
    matched: int
    problems: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The result as a passage."""
        return "\n".join([self.said, *self.lines])


def label(source: str, place: str) -> str:
    """A table by its file, and its sheet or heading where that says more."""
    name = PurePath(source.replace("\\", "/")).name
    return f"{name} ({place})" if place and not set(words(place)) <= set(words(name)) else name


def run(table: Table, query: TableQuery, source: str) -> Result:
    """The result of a query. Raises ValueError, which says what of it does not fit the table, or takes too long."""
    clauses = [_clause(table, condition) for condition in query.where]
    where = " AND ".join(["NOT total", *(sql for sql, _ in clauses)])
    values = [value for _, more in clauses for value in more]
    chosen = [table.position(name) for name in query.select]
    ((matched,),) = table.execute(f"SELECT count(*) FROM t{table.number} WHERE {where}", values)
    found = table.execute(f'SELECT row, start, "end" FROM t{table.number} WHERE {where} LIMIT {MARKED}', values)
    conditions = joined([_said(table, condition) for condition in query.where], "and")
    among = f" where {conditions}" if conditions else ""
    asked = _Asked(table, where, values, label(source, table.place), among, matched)
    if query.group_by:
        said, lines = asked.groups(query, chosen)
    elif query.aggregate:
        said, lines = asked.figure(query.aggregate, chosen)
        if query.aggregate in ("min", "max"):
            place = chosen[0]
            extreme = f"{where} AND v{place} = (SELECT {query.aggregate}(v{place}) FROM t{table.number} WHERE {where})"
            found = table.execute(f'SELECT row, start, "end" FROM t{table.number} WHERE {extreme}', values * 2)[:MARKED]
    else:
        said, lines = asked.rows(query, chosen)
    numeric = (
        [chosen[0]] if query.aggregate not in ("", "count") else [table.position(query.order)] if query.order else []
    )
    measured = [
        *numeric,
        *(table.position(each.column) for each in query.where if each.comparison not in ("is", "holds")),
    ]
    problems = [problem for place in dict.fromkeys(measured) for problem in asked.problems(place, place in numeric)]
    return Result(said, tuple(lines), tuple(found), matched, tuple(problems))


class _Asked(NamedTuple):
    """A table, which of its rows are asked, and what these are in words."""

    table: Table
    where: str
    values: Sequence[object]
    label: str
    among: str
    matched: int

    def get(self, columns: str, more: str = "") -> list[tuple[object, ...]]:
        return self.table.execute(f"SELECT {columns} FROM t{self.table.number} WHERE {self.where} {more}", self.values)

    @property
    def of_rows(self) -> str:
        if self.matched == 1:
            return f"{self.label}, the row{self.among}"
        return f"{self.label}, {self.matched:,} of {self.table.rows:,} rows{self.among}"

    def figure(self, aggregate: Aggregate, chosen: Sequence[int]) -> tuple[str, list[str]]:
        if aggregate == "count":
            if not chosen:
                return f"{self.label}: {self.matched:,} of {self.table.rows:,} rows{self.among}", []
            ((count,),) = self.get(f"count(DISTINCT NULLIF(s{chosen[0]}, ''))")
            return f"{self.of_rows}: {count:,} different values of {self.name(chosen[0])}", []
        place, column = chosen[0], self.table.columns[chosen[0]]
        of = f"{self.of_rows}: the {_NAMES[aggregate]} {'of ' * (aggregate in ('sum', 'mean'))}{column.name}"
        if self.matched == 1:
            return self.rows(TableQuery(), chosen)
        if aggregate in ("sum", "mean"):
            ((number,),) = self.get(f"{_SQL[aggregate]}(v{place})")
            return f"{of} is {shown(number, column, exact=aggregate == 'sum')}", []
        held = self.extreme(place, aggregate)
        names = [str(name) for _, name in held if name] if self.table.key != place else []
        value = f"{held[0][0]}" if held else "not known"
        return f"{of} is {value}" + (f": {joined(list(dict.fromkeys(names))[:5], 'and')}" if names else ""), []

    def extreme(self, place: int, aggregate: str) -> list[tuple[object, ...]]:
        ((best,),) = self.get(f"{aggregate}(v{place})")
        sql = f"SELECT s{place}, s{self.table.key} FROM t{self.table.number} WHERE {self.where} AND v{place} = ?"
        return self.table.execute(sql, [*self.values, best])

    def groups(self, query: TableQuery, chosen: Sequence[int]) -> tuple[str, list[str]]:
        group = self.table.position(query.group_by)
        column = self.table.columns[chosen[0]] if chosen else None
        figure = "count(*)" if query.aggregate in ("", "count") else f"{_SQL[query.aggregate]}(v{chosen[0]})"
        found = self.get(f"s{group}, {figure}", f"AND s{group} <> '' GROUP BY s{group} ORDER BY min(row)")
        if not query.aggregate and len(found) == 1:
            return f"{self.of_rows}: {self.name(group)} is {found[0][0]}", []
        if not query.aggregate:
            lines = [f"- {name}" for name, _ in found[:SHOWN]]
            return f"{self.of_rows}, {_part(len(found), 'different value')} of {self.name(group)}:", lines
        number = [shown(value, None if query.aggregate == "count" else column) for _, value in found]
        of = f" of {column.name}" if column and query.aggregate != "count" else ""
        lines = [f"- {name}: {value}" for (name, _), value in zip(found[:SHOWN], number, strict=False)]
        called = "count" if query.aggregate == "count" else _NAMES[query.aggregate]
        return f"{self.of_rows}, {called}{of} for {_part(len(found), 'value')} of {self.name(group)}:", lines

    def rows(self, query: TableQuery, chosen: Sequence[int]) -> tuple[str, list[str]]:
        order = ""
        if query.order:
            place = self.table.position(query.order)
            order = f"AND v{place} IS NOT NULL ORDER BY v{place} {'DESC' if query.descending else ''}"
        chosen = chosen or range(len(self.table.columns))
        most = min(query.limit or SHOWN, SHOWN)
        found = self.get(", ".join(f"s{place}" for place in chosen), f"{order or 'ORDER BY row'} LIMIT {most}")
        names = [self.name(place) for place in chosen]
        if len(found) == 1 and self.matched == 1:
            said = "; ".join(f"{name} is {cell or 'empty'}" for name, cell in zip(names, found[0], strict=True))
            return f"{self.label}, the row{self.among}: {said}", []
        lines = ["- " + " | ".join(_named(names, row)) for row in found]
        count = (
            f"{len(found)} of {self.matched:,} rows shown"
            if len(found) < self.matched
            else f"all {self.matched:,} rows"
        )
        ordered = f", the {'highest' if query.descending else 'lowest'} {query.order} first" * bool(query.order)
        return f"{self.label}, {count}{self.among}{ordered}:", lines

    def name(self, place: int) -> str:
        return self.table.columns[place].name

    def problems(self, place: int, is_figure: bool) -> list[str]:
        """What keeps a computation from being sure: values that are none, and several units."""
        column = self.table.columns[place]
        sql = f"count(*) FILTER (WHERE s{place} = ''), count(*) FILTER (WHERE s{place} = '{_NO_VALUE}'), count(*) FILTER (WHERE v{place} IS NULL)"
        if is_figure:
            ((empty, formulas, without),) = self.get(sql)
        else:
            ((empty, formulas, without),) = self.table.execute(
                f"SELECT {sql} FROM t{self.table.number} WHERE NOT total"
            )
        texts = without - empty - formulas if column.kind != "text" else 0
        counted = [
            (empty, "cell of {} is empty", "cells of {} are empty"),
            (formulas, "cell of {} is a formula without a value", "cells of {} are formulas without a value"),
            (texts, "cell of {} is text", "cells of {} are text"),
        ]
        found = [
            f"{count} {(one if count == 1 else more).format(column.name)}" for count, one, more in counted if count
        ]
        units = sorted(str(unit) for (unit,) in self.get(f"DISTINCT u{place}") if unit) if is_figure else []
        units = units if len(units) > 1 else self._currencies() if is_figure else []
        return found + ([f"{column.name} has several units: {joined(units, 'and')}"] if len(units) > 1 else [])

    def _currencies(self) -> list[str]:
        """The currencies of the rows, where a column names them."""
        for place, column in enumerate(self.table.columns):
            if column.kind == "text":
                texts = self.table.texts(place, 20)
                if texts and all(same_unit(text) in CURRENCIES for text in texts):
                    return sorted(str(text) for (text,) in self.get(f"DISTINCT s{place}"))
        return []


_SQL = {"sum": "sum", "mean": "avg", "min": "min", "max": "max"}


def _part(count: int, noun: str) -> str:
    return f"{SHOWN} of {count:,} {noun}s" if count > SHOWN else f"{count} {noun}{'s' * (count != 1)}"


def _named(names: Sequence[str], row: Sequence[object]) -> list[str]:
    """The cells of a row, all but the first behind their names."""
    return [
        f"{name}: {cell}" if number else str(cell)
        for number, (name, cell) in enumerate(zip(names, row, strict=True))
        if cell
    ]


def _said(table: Table, condition: Condition) -> str:
    """A condition in words."""
    kind, value = table.columns[table.position(condition.column)].kind, condition.value
    if condition.comparison == "month":
        return f"the month of {condition.column} is {value}"
    if kind in ("date", "year"):
        verb = {
            "is": "is in",
            "under": "is before",
            "over": "is after",
            "at least": "is not before",
            "at most": "is not after",
        }
        return f"{condition.column} {verb.get(condition.comparison, condition.comparison)} {value}"
    return f"{condition.column} {'is ' * (not condition.comparison.startswith(('is', 'holds')))}{condition.comparison} {value}"


def shown(number: object, column: Column | None, *, exact: bool = True) -> str:
    """A computed number with the unit of its column; a mean has two decimals more than nothing."""
    if not isinstance(number, int | float):
        return "not known"
    if column is not None and column.kind == "time":
        minutes, seconds = divmod(round(number), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    if column is None:
        return f"{number:,}"
    text = (
        f"{number:,.{column.decimals}f}" if exact else f"{number:,.{max(2, column.decimals)}f}".rstrip("0").rstrip(".")
    )
    unit = column.unit if column.unit and column.unit not in column.name else ""
    return f"{text} {unit}".strip()


def _clause(table: Table, condition: Condition) -> tuple[str, list[object]]:
    """A condition as SQL with its values. Raises ValueError where the value does not fit the column."""
    place, value = table.position(condition.column), condition.value.strip()
    column, sign = table.columns[place], _SIGNS.get(condition.comparison, "")
    if not value:
        raise ValueError(f"a value of {column.name} is missing")
    if column.kind == "text":
        if condition.comparison not in ("is", "is not", "holds"):
            raise ValueError(f"{column.name} holds texts, which are not compared by {condition.comparison!r}")
        same = "instr(key, ?)" if condition.comparison == "holds" else "key = ?"
        among = f'SELECT shown FROM texts WHERE number = ? AND "column" = ? AND {same}'
        return f"s{place} {'NOT ' * (condition.comparison == 'is not')}IN ({among})", [
            table.number,
            place,
            key_of(value),
        ]
    if condition.comparison == "month" and column.kind == "date":
        return f"substr(v{place}, 6, 2) = ?", [value.zfill(2)]
    if not sign:
        raise ValueError(f"{column.name} holds {column.kind}s, which are not compared by {condition.comparison!r}")
    if column.kind == "date":
        date = value if value.isdigit() and len(value) == 4 else date_of(value)
        if not date:
            raise ValueError(f"{value!r} is no date for {column.name}: write 2024, 2024-03 or 2024-03-05")
        return f"substr(v{place}, 1, {len(date)}) {sign} ?", [date]
    number = number_of(value[:4] if column.kind == "year" and date_of(value) else value)
    if number is None:
        raise ValueError(f"{value!r} is no number, and {column.name} holds numbers")
    unit = number[1]
    if unit and column.units and unit in column.units:
        return f"(v{place} {sign} ? AND u{place} = ?)", [number[0], unit]
    if unit and column.unit and unit != column.unit:
        raise ValueError(f"{column.name} is in {column.unit}, not in {unit}")
    return f"v{place} {sign} ?", [number[0]]
