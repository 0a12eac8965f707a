"""Documents and what is told of them: headings, the report of a sync, a catalog, which part of an index is searched."""

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
"""What became of a file since it was indexed; empty where it is as it was, or where that cannot be seen."""


@dataclass(frozen=True)
class Catalog:
    """What a router may know of the index, all of it read from the index itself.

    `about` is what a person said of it (`local-rag index --about`). `folders` hold the most files, `kinds` are suffixes
    with their counts, `topics` titles spread evenly over all files; `text.display` makes a line of them. `passages`
    are those nearest to the question, best first, as a quick search brings them, and `nearest` is the cosine of the
    best, None in an empty index. `allowed` are the routes of this run: the web only when it is on, `direct` only when
    the user allows it. `multi`: whether an answer in several steps is on offer, too.
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
"""Between the path of a file and the name of a file inside of it, such as an attachment: mail.eml » contract.pdf."""

PLACE = 9
"""The level of a heading that only names a place in its section, such as a row of a sheet: no passage is cut at it."""


@dataclass(frozen=True)
class Heading:
    """A heading and where it starts: a code point of the text it stands in. `level` is 1 for the outermost."""

    start: int
    level: int
    text: str


class ReadLine(NamedTuple):
    """A line of a picture that OCR has read: code points [start, end) of its document, and where it stands.

    The sides are shares of the page as it is shown. `confidence` in [0, 1] is how sure OCR is of it.
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
    """The text of a file, or of one page of it (`page` counts from 1, None for files without pages).

    `url` is where a page of the web is from. `author`, `date` and `subject` are what the file says of itself:
    names; ISO 8601, as precise as it is known ("2023", "2023-03", "2023-03-31", for a mail with the time in UTC,
    "2023-03-31T09:30Z"); subject and keywords. All are empty where they are not known. `lines` are those that OCR has
    read, empty where the text is the file's own.
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
    """A file, or pages of a file, that could not be indexed. `new`: no earlier sync reported the same."""

    path: str
    reason: str
    new: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class SyncReport:
    """What a sync did; each list but `unchanged` names files. `kept` could not be observed and was left as it was.

    `forgotten` are those of `removed` that are still there, each with the rule that leaves it out now. `excludes` are
    the patterns in force by root. `ignored` counts files of kinds that nothing reads, by suffix; `empty` are folders
    that were to be indexed and hold no file to index.

    `chunks` are the passages whose text was stored, after `text_seconds` searchable by their words. Of these `reused`
    took over the vector of an equal text; `embedded` got a new one, passages of earlier syncs included, and
    `not_embedded` have none yet: the next sync goes on with them. `seconds` are those of the whole sync. OCR has read
    `scans_read` pages without a text layer, and `scans` of the whole index wait for it; `images` were left out, and it
    would read them. Of all `documents` of the index `dated` say when they are from.
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
    """What a web search brought, one document per page, and in one line each what to know of it."""

    documents: tuple[Document, ...] = ()
    notes: tuple[str, ...] = ()


_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_FIRST = "0000-01-01"


class Condition(NamedTuple):
    """A condition on documents as people set it: an option of the command line, a field of the page with an example."""

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
        "Only documents before this day; --after 2023 --before 2024: of 2023.",
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
"""Those that people set, by their names in a `Narrowing`."""


@dataclass(frozen=True)
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
        """Whether it leaves anything out."""
        return bool(self.conditions)

    @classmethod
    def of(cls, given: Narrowing | Sequence[str] | None) -> Narrowing:
        """What a caller gives as `within`: files alone, or a whole narrowing."""
        return given if isinstance(given, Narrowing) else cls(within=given or ())  # type: ignore[arg-type]

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions that are set, as values of JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
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
"""The narrowing that leaves nothing out."""
