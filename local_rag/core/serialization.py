"""Values as what JSON knows, and back, by pydantic: dataclasses and models become objects, tuples and paths plain."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


class TuplesFromLists:
    """A frozen dataclass whose lists, as a checkpoint of LangGraph gives them back, become tuples."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            if isinstance(value := getattr(self, field.name), list):
                object.__setattr__(self, field.name, tuple(value))


def to_plain(value: Any) -> Any:
    """The value as dicts, lists, strings, finite numbers, booleans and None; any other type as a number or a string."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, inf_nan_mode="null", fallback=_number_or_text)


def _number_or_text(value: Any) -> float | str:
    """What pydantic does not know, such as a number of NumPy."""
    return float(value) if hasattr(value, "__float__") else str(value)


def from_plain(kind: type[T], value: Any) -> T:
    """A dataclass, or a tuple of them, as `to_plain` wrote it; what is missing has its default, what is unknown goes.

    Raises ValueError for a value that is none.
    """
    hashable: Any = kind
    typed: T = _adapter(hashable).validate_python(value)
    return typed


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def to_json(value: Any, indent: int | None = 2) -> str:
    """The value as JSON text; NaN and infinities are written as null."""
    import json

    return json.dumps(to_plain(value), ensure_ascii=False, indent=indent)
