"""Documents and what is told of them: headings, the report of a sync, a catalog, results of a web search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from langchain_core.documents import Document
from local_rag.core.verdicts import Source

Origin = Literal["files", "web"]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and where it starts: a code point of the text it stands in. `level` is 1 for the outermost."""

    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """The text of a file, or of one page of it (`page` counts from 1, None for files without pages).

    `url` is where a page of the web is from. `author`, `date` and `subject` are what the file says of itself:
    names; ISO 8601, as precise as it is known ("2023", "2023-03", "2023-03-31", for a mail with the time in UTC,
    "2023-03-31T09:30Z"); subject and keywords. All are empty where they are not known.
    """

    text: str
    title: str = ""
    page: int | None = None
    headings: tuple[Heading, ...] = ()
    url: str = ""
    author: str = ""
    date: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or pages of a file, that could not be indexed. `new`: no earlier sync reported the same."""

    path: str
    reason: str
    new: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did; each list but `unchanged` names files. `kept` could not be observed and was left as it was.

    `forgotten` are those of `removed` that are still there, each with the rule that leaves it out now. `excludes` are
    the patterns in force by root. `ignored` counts files of kinds that nothing reads, by suffix; `empty` are folders
    that were to be indexed and hold no file to index.

    `chunks` are the passages whose text was stored, after `text_seconds` searchable by their words. Of these `reused`
    took over the vector of an equal text; `embedded` got a new one, passages of earlier syncs included, and
    `not_embedded` have none yet: the next sync goes on with them. `seconds` are those of the whole sync.
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


@dataclass(frozen=True, slots=True)
class WebResults:
    """What a web search brought, one document per page, and in one line each what to know of it."""

    documents: tuple[Document, ...] = ()
    notes: tuple[str, ...] = ()
