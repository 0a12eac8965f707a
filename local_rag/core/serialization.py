"""Values as what JSON knows, by pydantic: dataclasses and models become objects, paths and tuples strings and lists."""

from __future__ import annotations

from typing import Any


def to_plain(value: Any) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and None.

    Raises pydantic_core.PydanticSerializationError for a type that has no such form.
    """
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value)


def to_json(value: Any, indent: int | None = 2) -> str:
    """The value as JSON text; NaN and infinities are refused nowhere and written as null."""
    import json

    return json.dumps(to_plain(value), ensure_ascii=False, indent=indent)
