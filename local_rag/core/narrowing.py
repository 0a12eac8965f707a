"""Which part of an index is searched: its files, their dates, kinds and authors, and words that must stand there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import Any

from local_rag.core.errors import UsageError

_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_FIRST = "0000-01-01"

OPTIONS = {
    "within": "--in",
    "after": "--after",
    "before": "--before",
    "types": "--type",
    "authors": "--from",
}
"""The condition -> the option of the command line that sets it."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which passages a search may bring. All conditions hold; of several values of a condition, any.

    - `within`: files, folders, globs or URLs (see `index.filters.matching`).
    - `after` and `before`: a date, "2023", "2023-03" or "2023-03-31", of which a partial one means its first day. A
      document is taken from `after` on, that day included, and up to `before`, that day excluded: after "2023" and
      before "2024" is the year 2023. What counts is the document's own date, else that of its file. A document whose
      own date is partial is taken where any day of it is.
    - `types`: suffixes ("pdf") or kinds ("mail").
    - `authors`: names of authors or senders; all words of a name occur there, in any order and case.
    - `phrases`: words that a passage, its heading or its title holds one after the other; `without`: that it does not.

    A single text in place of a sequence means itself. Raises UsageError for what is no date, and for dates between
    which there is none.
    """

    within: tuple[str, ...] = ()
    after: str = ""
    before: str = ""
    types: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if field.name in ("after", "before"):
                value: Any = _checked(field.name, given)
            else:
                value = _texts(field.name, given)
            object.__setattr__(self, field.name, value)
        object.__setattr__(
            self, "types", tuple(kind.lower().removeprefix("*").removeprefix(".") for kind in self.types)
        )
        if self.after and self.before and first_day(self.before) <= first_day(self.after):
            raise UsageError(
                f"no date is from {self.after} on and before {self.before}",
                hint=f"after 2023 and before 2024 is the year 2023; or after {self.before} and before {self.after}?",
            )

    def __bool__(self) -> bool:
        """Whether it leaves anything out."""
        return any(getattr(self, field.name) for field in fields(self))

    @classmethod
    def of(cls, given: Narrowing | Sequence[str] | None) -> Narrowing:
        """What a caller gives as `within`: files alone, or a whole narrowing."""
        return given if isinstance(given, Narrowing) else cls(within=given or ())  # type: ignore[arg-type]

    @property
    def plain(self) -> Narrowing | tuple[str, ...]:
        """The files alone where it says nothing else: what a corpus of a program has always been given."""
        return self if any(value for name, value in self.conditions.items() if name != "within") else self.within

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions that are set, as values of JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value}

    @property
    def of_documents(self) -> Narrowing:
        """The same without the conditions on single passages."""
        return replace(self, phrases=(), without=())

    def described(self) -> str:
        """The conditions on documents as a sentence has them: in notes of type pdf or md dated since 2023."""
        dates = [f"since {self.after}"] * bool(self.after) + [f"before {self.before}"] * bool(self.before)
        conditions = {
            "in": " or ".join(self.within),
            "of type": " or ".join(self.types),
            "by": " or ".join(self.authors),
            "dated": " and ".join(dates),
        }
        return " ".join(f"{name} {value}" for name, value in conditions.items() if value)


def first_day(partial: str) -> str:
    """The first day of a date that may lack its day or its month: 2023-03 is 2023-03-01."""
    return partial[:10] + _FIRST[len(partial[:10]) :]


def _checked(name: str, given: object) -> str:
    """A date as it is typed, or what Python has for one. Raises UsageError."""
    text = given.isoformat()[:10] if isinstance(given, date | datetime) else given
    if text in ("", None):
        return ""
    if isinstance(text, str) and _DATE.fullmatch(text):
        try:
            date.fromisoformat(first_day(text))
            return text
        except ValueError:
            pass
    raise UsageError(
        f"{OPTIONS[name]} takes a date as 2023, 2023-03 or 2023-03-31, not {str(text)[:40]!r}",
        hint=f"{OPTIONS[name]} {date.today():%Y-%m}",
    )


def _texts(name: str, given: object) -> tuple[str, ...]:
    several = given if isinstance(given, Iterable) and not isinstance(given, str | os.PathLike) else [given]
    texts = [os.fspath(text) if isinstance(text, os.PathLike) else text for text in several]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            option = OPTIONS.get(name, name)
            raise UsageError(f"{option} takes a text, not {text!r}", hint="local-rag files   lists what is indexed")
    return tuple(str(text).strip() if name != "within" else str(text) for text in texts)
