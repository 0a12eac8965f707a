"""Convert dataclasses and pydantic models to JSON values and back, using pydantic."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


class TuplesFromLists:
    """Turn the lists of a frozen dataclass into tuples, because LangGraph's checkpoints return lists."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            if isinstance(value := getattr(self, field.name), list):
                object.__setattr__(self, field.name, tuple(value))


def to_plain(value: Any) -> Any:
    """Return a value as dicts, lists, strings, finite numbers, booleans and None.

    Any other type becomes a number if it can (such as a number of NumPy), or else a string.
    """
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, inf_nan_mode="null", fallback=_number_or_text)


def _number_or_text(value: Any) -> float | str:
    """Return a value of a type that pydantic does not know, as a number or as text."""
    return float(value) if hasattr(value, "__float__") else str(value)


def from_plain(kind: type[T], value: Any) -> T:
    """Build a dataclass, or a tuple of them, from the output of `to_plain`.

    Missing fields get their defaults, and unknown fields are dropped. Raise ValueError if a value does not fit.
    """
    hashable: Any = kind
    typed: T = _adapter(hashable).validate_python(value)
    return typed


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def to_json(value: Any, indent: int | None = 2) -> str:
    """Return the value as JSON text; NaN and infinities become null."""
    import json

    return json.dumps(to_plain(value), ensure_ascii=False, indent=indent)
