"""Define documents, headings, sync reports, catalogs, and the conditions that narrow a search."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from local_rag.core.errors import UsageError
from local_rag.core.verdicts import Source

if TYPE_CHECKING:
    from langchain_core.documents import Document

Origin = Literal["files", "web"]
FileChange = Literal["changed", "gone", ""]
"""How a file has changed since it was indexed; empty if it has not, or if that cannot be found out."""


@dataclass(frozen=True)
class Catalog:
    """Describe an index to a router, using only the index itself.

    `about` is a person's description (`local-rag index --about`). `folders` hold the most files, `kinds` are suffixes
    with their counts, `topics` are titles spread evenly over all files; `text.display` makes a line of them. `passages`
    are the passages nearest to the question in a quick search, best first, and `nearest` is the cosine of the best one,
    None in an empty index. `allowed` are the routes of this run: the web only if it is on, `direct` only if the user
    allows it. `multi`: an answer in several steps is possible too.
    """

    documents: int = 0
    chunks: int = 0
    titles: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    nearest: float | None = None
    allowed: tuple[Source, ...] = ("vectorstore",)
    headings: tuple[str, ...] = ()
    multi: bool = False
    files: int = 0
    about: str = ""
    folders: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    passages: tuple[Document, ...] = ()


MEMBER = " » "
"""The separator between the path of a file and the name of a file inside it, such as an attachment: mail.eml »
contract.pdf.
"""

PLACE = 9
"""The level of a heading that only names a part of a section, such as a row of a sheet; passages are not split at it.
"""


@dataclass(frozen=True)
class Heading:
    """Hold a heading; `start` is its first code point in its text, and `level` is 1 for the outermost."""

    start: int
    level: int
    text: str


class ReadLine(NamedTuple):
    """Hold a line that OCR has read in a picture: code points [start, end) of its document, and its position.

    The sides are fractions of the page as it is shown. `confidence` in [0, 1] is the confidence of OCR in the line.
    """

    start: int
    end: int
    left: float
    top: float
    width: float
    height: float
    confidence: float


@dataclass(frozen=True)
class LoadedDocument:
    """Hold the text of a file, or of one page of it; `page` counts from 1 and is None for files without pages.

    `url` is the address of a web page. `author`, `date` and `subject` are what the file states about itself: names; a
    date in ISO 8601, as precise as it is known ("2023", "2023-03", "2023-03-31", for a mail with the time in UTC,
    "2023-03-31T09:30Z"); subject and keywords. Each is empty if it is unknown. `lines` were read by OCR; they are empty
    for text that was not read by OCR.
    """

    text: str
    title: str = ""
    page: int | None = None
    headings: tuple[Heading, ...] = ()
    url: str = ""
    author: str = ""
    date: str = ""
    subject: str = ""
    lines: tuple[ReadLine, ...] = ()


@dataclass(frozen=True)
class Skipped:
    """Name a file, or pages of a file, that could not be indexed; `new`: no earlier sync reported the same."""

    path: str
    reason: str
    new: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class SyncReport:
    """Report the results of a sync; every tuple names files or folders.

    `kept` files could not be examined and stay indexed. `forgotten` are the files of `removed` that still exist, each
    with the rule that now excludes it. `excludes` are the patterns in force by root. `ignored` counts files of
    unsupported kinds, by suffix. `empty` are folders to index that contain no file to index.

    `chunks` counts the passages whose text was stored; their words could be searched after `text_seconds`. `reused` of
    them took the vector of an equal text. `embedded` counts new vectors, including those of passages from earlier
    syncs. `not_embedded` passages have no vector yet: the next sync continues with them. `seconds` is the time of the
    whole sync.

    OCR has read `scans_read` pages without a text layer; `scans` pages of the whole index wait for it. `images` were
    left out and could be read by OCR. `dated` of all `documents` of the index have a date.
    """

    new: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    kept: tuple[Skipped, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    chunks: int = 0
    seconds: float = 0.0
    forgotten: tuple[Skipped, ...] = ()
    excludes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    embedded: int = 0
    reused: int = 0
    not_embedded: int = 0
    text_seconds: float = 0.0
    empty: tuple[str, ...] = ()
    scans: int = 0
    scans_read: int = 0
    images: tuple[str, ...] = ()
    documents: int = 0
    dated: int = 0


@dataclass(frozen=True)
class WebResults:
    """Hold the results of a web search: one document per page, and notes of one line each for a person."""

    documents: tuple[Document, ...] = ()
    notes: tuple[str, ...] = ()


_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_FIRST = "0000-01-01"


class Condition(NamedTuple):
    """Describe a condition on documents: its command-line option, and its field on the page with an example."""

    option: str
    metavar: str
    help: str
    label: str
    example: str = ""
    several: bool = True


CONDITIONS = {
    "within": Condition(
        "--in", "PATH|URL|GLOB", "Use only these files or pages; repeatable.", "Files by pattern", "all, or *.pdf"
    ),
    "after": Condition(
        "--after",
        "DATE",
        "Only documents of this day or later: 2023-03-31, 2023-03 or 2023 (its first day).",
        "Dated since",
        several=False,
    ),
    "before": Condition(
        "--before",
        "DATE",
        "Only documents before this day; --after 2023 --before 2024 means 2023.",
        "Dated before",
        several=False,
    ),
    "types": Condition(
        "--type",
        "TYPE",
        "Only files of this suffix or kind: pdf, md, mail, html; repeatable.",
        "File types",
        "all, or pdf, mail",
    ),
    "authors": Condition(
        "--from", "NAME", "Only documents by this author or sender; repeatable.", "Author or sender", "anybody"
    ),
}
"""The conditions that a person can set, by their names in `Narrowing`."""


@dataclass(frozen=True)
class Narrowing:
    """Limit which passages a search may return; all conditions must hold, and of several values of one condition any.

    - `within`: files, folders, globs or URLs (see `index.filters.matching`).
    - `after` and `before`: a date, "2023", "2023-03" or "2023-03-31"; a partial date means its first day. `after`
      includes its day, and `before` excludes its day: after "2023" and before "2024" is the year 2023. The document's
      own date counts, else the date of its file. A document with a partial date is included if any day of that date is.
    - `types`: suffixes ("pdf") or kinds ("mail").
    - `authors`: names of authors or senders; all words of a name must occur, in any order and case.
    - `phrases`: word sequences that must occur in the passage, its heading or its title; `without`: sequences that must
      not.

    A single text is accepted in place of a sequence. Raise UsageError for a text that is no date, and for two dates
    between which there is no day.
    """

    within: tuple[str, ...] = ()
    after: str = ""
    before: str = ""
    types: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for condition in fields(self):
            read = _checked if condition.name in ("after", "before") else _texts
            object.__setattr__(self, condition.name, read(condition.name, getattr(self, condition.name)))
        object.__setattr__(
            self, "types", tuple(kind.lower().removeprefix("*").removeprefix(".") for kind in self.types)
        )
        if self.after and self.before and first_day(self.before) <= first_day(self.after):
            raise UsageError(
                f"no date is from {self.after} on and before {self.before}",
                hint=f"after 2023 and before 2024 is the year 2023; or after {self.before} and before {self.after}?",
            )

    def __bool__(self) -> bool:
        """Return whether any condition is set."""
        return bool(self.conditions)

    @classmethod
    def of(cls, given: Narrowing | Sequence[str] | None) -> Narrowing:
        """Return a narrowing for the `within` of a caller, which is a narrowing or only names of files."""
        return given if isinstance(given, Narrowing) else cls(within=given or ())  # type: ignore[arg-type]

    @property
    def conditions(self) -> dict[str, Any]:
        """Return the conditions that are set, as JSON values."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value}

    @property
    def of_documents(self) -> Narrowing:
        """Return this narrowing without the conditions on single passages."""
        return replace(self, phrases=(), without=())

    def described(self) -> str:
        """Return the conditions on documents as part of a sentence: in notes of type pdf or md dated since 2023."""
        dates = [f"since {self.after}"] * bool(self.after) + [f"before {self.before}"] * bool(self.before)
        conditions = {
            "in": " or ".join(self.within),
            "of type": " or ".join(self.types),
            "by": " or ".join(self.authors),
            "dated": " and ".join(dates),
        }
        return " ".join(f"{name} {value}" for name, value in conditions.items() if value)


def first_day(partial: str) -> str:
    """Return the first day of a date that may lack its day or its month: 2023-03-01 for 2023-03."""
    return partial[:10] + _FIRST[len(partial[:10]) :]


def _checked(name: str, given: object) -> str:
    """Return a date as text, from text or from a date of Python; raise UsageError for anything else."""
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
        f"{CONDITIONS[name].option} takes a date as 2023, 2023-03 or 2023-03-31, not {str(text)[:40]!r}",
        hint=f"{CONDITIONS[name].option} {date.today():%Y-%m}",
    )


def _texts(name: str, given: object) -> tuple[str, ...]:
    several = given if isinstance(given, Iterable) and not isinstance(given, str | os.PathLike) else [given]
    texts = [os.fspath(text) if isinstance(text, os.PathLike) else text for text in several]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            option = CONDITIONS[name].option if name in CONDITIONS else name
            raise UsageError(f"{option} takes a text, not {text!r}", hint="local-rag files   lists what is indexed")
    return tuple(str(text).strip() if name != "within" else str(text) for text in texts)


EVERYTHING = Narrowing()
"""The narrowing that excludes nothing."""
