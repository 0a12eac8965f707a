"""An answer: its text, its status, and where each of its sentences stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from local_rag.core.documents import FileChange, Origin
from local_rag.core.serialization import TuplesFromLists
from local_rag.core.verdicts import Graded, Support, Usage

Status = Literal["grounded", "partial", "ungrounded", "abstained", "direct"]
Certainty = Literal["sure", "probably", "in doubt", ""]
"""How far to rely on an answer: `sure` where it is grounded; `probably` where the passages say all of it, and it is
more likely than not that this answers the question; else `in doubt`. One step less where OCR was not sure of a quote.
Empty for what is not from files.
"""
QuoteMatch = Literal["exact", "words", "property", "computed"]
"""How a quote was found: the sentence stands there; nearly so, letter by letter; by the words that they share; it
is a property of the file, such as its author; or it was computed from rows of a table."""
BudgetKind = Literal["rewrites", "generations", "web_searches", "steps"]
"""What a graph counts and bounds; the wall clock is the fourth bound."""
OUT_OF_TIME = "out of time"
"""How the reason of an answer begins that the wall clock ended."""
ENGINE_FAILED = "the engine failed"
"""How the reason of an answer begins that stands, though the engine failed after it was written."""


@dataclass(frozen=True)
class Citation:
    """Where a sentence of the answer stands. `number` is its mark [n] in the text, one per passage.

    `quote` is cut from the passage by code; `start` and `end` are its code points in the stored text of the document
    (a PDF page is one document); of a property of the file both are the start of the passage. `verified`: see
    `citations.check`. `fallback_corpus` names the folder or index that was searched in place of the web, where the
    passage is of that; `url` is then that of the saved page, or its path.
    `title`, `author` and `date` (ISO 8601) are what the document says of itself, empty where it does not.
    `index` names the index of the passage where several are asked as one; `chunk_id` is the passage in the index. `ocr`
    is how sure OCR was of the quote's least certain line, None for a text that is the file's own. `changed` is what
    became of the file since it was indexed. `rows` are the code points of the rows that a `computed` quote is from, of
    many the first.
    """

    number: int
    source: str
    page: int | None
    heading: str
    quote: str
    start: int
    end: int
    url: str
    verified: bool
    sentence: str = ""
    origin: Origin = "files"
    located: QuoteMatch = "words"
    why: str = ""
    fallback_corpus: str = ""
    title: str = ""
    author: str = ""
    date: str = ""
    index: str = ""
    chunk_id: str = ""
    ocr: float | None = None
    changed: FileChange = ""
    rows: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Sentence:
    """A sentence of an answer, code points [start, end) of its text, marks included, and what a grader says of it."""

    text: str
    start: int
    end: int
    support: Support


@dataclass(frozen=True)
class Position(TuplesFromLists):
    """What one side of a disagreement says: a short answer as its newest file writes it, and where it stands.

    `date` (ISO 8601) is the newest of its files: what the document says of itself, or where it says nothing when the
    file was last changed, and then `dated` is "file"; both are empty where neither is known. The numbers of `citations`
    go on from those of the answer's own for passages that it does not cite; each quote holds the answer.
    """

    text: str
    date: str
    citations: tuple[Citation, ...]
    dated: Literal["document", "file", ""] = ""


@dataclass(frozen=True)
class Conflict(TuplesFromLists):
    """Files that disagree about one fact: what they say, two positions or more, the newest first."""

    positions: tuple[Position, ...]


@dataclass(frozen=True)
class Highlight:
    """The answering words of an answer: code points [start, end) of its text, without marks."""

    start: int
    end: int


@dataclass(frozen=True)
class Answer(TuplesFromLists):
    """An answer, where it stands, and how it came about.

    `reason` says why the status is what it is, and `certainty` how far to rely on the answer; `nearest` lists the
    passages that came closest when nothing answered, and `about` the main titles of the index then. `asked` is the
    question as it was understood where it followed others of a `thread`. `sentences` is empty where no grader looked at
    them one by one; `removed` are those that were taken out for want of support, and `lacks` the names and numbers of
    the question that no cited passage mentions. `quotes_only`: the engine writes nothing of its own. `used_web`: a
    query has left for a search engine; `fallback_corpus` names the folder or index that was searched in its place,
    empty where none was. `conflicts` say where the files that it is from disagree. `run` is the ID of the record of
    this question (`local-rag runs`), empty where there is none. `language` is that of the program's own words in the
    answer (ISO 639-1). `short` are the answering words by themselves, and `highlights` where they stand in the text,
    best first; both are empty where no evaluator has read the passages, or where the text holds no short answer of
    theirs. Where files disagree they are those of the newest side that the text holds: a model may write the older one
    only.
    """

    question: str
    text: str
    status: Status
    reason: str = ""
    citations: tuple[Citation, ...] = ()
    dropped_citations: int = 0
    nearest: tuple[Citation, ...] = ()
    used_web: bool = False
    graph: str = ""
    engine: str = ""
    quotes_only: bool = False
    path: tuple[str, ...] = ()
    decisions: tuple[Graded, ...] = ()
    tries: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    sentences: tuple[Sentence, ...] = ()
    removed: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    thread: str = ""
    asked: str = ""
    language: str = "en"
    fallback_corpus: str = ""
    short: str = ""
    highlights: tuple[Highlight, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    certainty: Certainty = ""
    run: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.text

    _repr_html_: ClassVar[Callable[[Answer], str] | None] = None
    """What a notebook shows, made by what lies above this package: `Rag` sets it."""

    @property
    def cited(self) -> list[Citation]:
        """Return by their numbers the citations, and those of positions whose passages the answer does not cite."""
        cited = {citation.number for citation in self.citations}
        sides = [each for conflict in self.conflicts for side in conflict.positions for each in side.citations]
        every = (*self.citations, *(each for each in sides if each.number not in cited))
        return sorted(every, key=lambda citation: citation.number)
