"""The `filter` of a LangChain retriever, as people know it from vector stores, as a narrowing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing

_CONDITIONS = {
    "type": "types",
    "author": "authors",
    "from": "authors",
    "source": "within",
    "after": "after",
    "before": "before",
}
"""A key of a filter -> the condition that it is."""

_BORDERS = {"$gte": "after", "$lt": "before"}

_HINT = 'filter={"type": "pdf", "author": {"$in": ["Ann", "Ben"]}, "date": {"$gte": "2023", "$lt": "2024"}}'


def narrowing_of(filter: Mapping[str, Any] | None, within: Narrowing | Sequence[str] = ()) -> Narrowing:
    """The narrowing that a filter means, together with `within`.

    Keys are type, author (or from), source, after, before and date. A value is a text, a list of texts of which any
    counts, or a mapping with `$eq` or `$in`; that of date has `$gte` and `$lt`. All keys hold, and all filters of
    `$and`. Raises UsageError for anything else, and for a condition that is set twice.
    """
    base = Narrowing.of(within)
    conditions: dict[str, Any] = {field.name: getattr(base, field.name) for field in fields(base)}
    for name, value in _pairs(filter):
        if conditions[name]:
            raise UsageError(f"the filter sets {name} twice", hint=_HINT)
        conditions[name] = value
    return Narrowing(**conditions)


def _pairs(filter: object) -> list[tuple[str, Any]]:
    if filter is None:
        return []
    if not isinstance(filter, Mapping):
        raise UsageError(f"a filter is a mapping of metadata, not {type(filter).__name__}", hint=_HINT)
    pairs: list[tuple[str, Any]] = []
    for key, value in filter.items():
        if key == "$and" and isinstance(value, Sequence) and not isinstance(value, str):
            pairs += [pair for part in value for pair in _pairs(part)]
        elif key == "date" and isinstance(value, Mapping) and value and set(value) <= set(_BORDERS):
            pairs += [(_BORDERS[border], day) for border, day in value.items()]
        elif key in _CONDITIONS:
            pairs.append((_CONDITIONS[key], _values(key, value)))
        else:
            known = ", ".join([*_CONDITIONS, "date", "$and"])
            what = f"{key}: {value!r}" if key in ("date", "$and") else key
            raise UsageError(f"a filter knows {known}, and not {what}", hint=_HINT)
    return pairs


def _values(key: str, value: object) -> Any:
    if isinstance(value, Mapping):
        operators = {"$eq"} if key in ("after", "before") else {"$eq", "$in"}
        if len(value) != 1 or not set(value) <= operators:
            raise UsageError(
                f"{key} in a filter takes {' or '.join(sorted(operators))}, not {dict(value)!r}", hint=_HINT
            )
        (value,) = value.values()
    return value
