"""Values as what JSON knows, by pydantic: dataclasses and models become objects, paths and tuples strings and lists."""

from __future__ import annotations

from typing import Any


def to_plain(value: Any) -> Any:
    """The value as dicts, lists, strings, finite numbers, booleans and None; any other type as a number or a string."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, inf_nan_mode="null", fallback=_number_or_text)


def _number_or_text(value: Any) -> float | str:
    """What pydantic does not know, such as a number of NumPy."""
    return float(value) if hasattr(value, "__float__") else str(value)


def to_json(value: Any, indent: int | None = 2) -> str:
    """The value as JSON text; NaN and infinities are written as null."""
    import json

    return json.dumps(to_plain(value), ensure_ascii=False, indent=indent)
