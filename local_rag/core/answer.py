"""Define an answer: its text, its status, and the passages that its sentences come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from local_rag.core.documents import FileChange, Origin
from local_rag.core.serialization import TuplesFromLists
from local_rag.core.verdicts import Graded, Support, Usage

Status = Literal["grounded", "partial", "ungrounded", "abstained", "direct"]
Certainty = Literal["sure", "probably", "in doubt", ""]
"""How far a person can rely on an answer.

`sure`: the answer is grounded. `probably`: the passages say all of it, and it more likely than not answers the
question. `in doubt`: anything else. The certainty is one step lower where OCR was unsure of a quote. It is empty for an
answer that does not come from files.
"""
QuoteMatch = Literal["exact", "words", "evaluator", "property", "computed"]
"""How a quote was found in the passage.

`exact`: the sentence stands there word for word. `words`: the sentence and the quote share words. `evaluator`: only the
evaluator finds the sentence in the passage. `property`: the quote is a property of the file, such as its author.
`computed`: the answer was computed from rows of a table.
"""
BudgetKind = Literal["rewrites", "generations", "web_searches", "steps"]
"""What a graph counts and limits; a limit on seconds comes on top."""
OUT_OF_TIME = "out of time"
"""The first words of an answer's reason when the time limit ended the run."""
ENGINE_FAILED = "the engine failed"
"""The first words of an answer's reason when the engine failed after the answer was written, and the answer is kept."""


@dataclass(frozen=True)
class Citation:
    """Name the passage and the quote that a sentence of the answer rests on.

    `number` is its mark [n] in the text; each passage has one number.

    `quote` is cut from the passage by code. `start` and `end` are its code points in the stored text of the document (a
    PDF page is one document); for a property of the file both are the start of the passage. `verified` is explained at
    `citations.check`. `fallback_corpus` names the folder or index that was searched in place of the web, if the passage
    comes from there; `url` is then the address of the saved page, or its path.

    `title`, `author` and `date` (ISO 8601) are stated by the document itself, and empty if it does not state them.
    `index` names the passage's index when several indexes are searched together; `chunk_id` is the passage's ID in its
    index. `ocr` is the confidence of OCR in the least certain line of the quote, None for text that was not read by
    OCR. `changed` tells whether the file has changed since it was indexed. `rows` are the code points of the rows that
    a `computed` quote was computed from; if there are many, only the first ones.
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
    """Hold a sentence of an answer and a grader's verdict on it.

    The sentence is at code points [start, end) of the answer's text, marks included.
    """

    text: str
    start: int
    end: int
    support: Support


@dataclass(frozen=True)
class Position(TuplesFromLists):
    """Hold one side of a disagreement: a short answer in the wording of its newest file, and its citations.

    `date` (ISO 8601) is the newest date of its files: the date that the document states or, if it states none, the time
    of the file's last change, and then `dated` is "file". Both are empty if no date is known. The numbers of
    `citations` continue those of the answer for passages that the answer does not cite. Each quote holds the short
    answer. `standing` is the word by which its newest file calls itself a draft, signed or superseded, if it does.
    """

    text: str
    date: str
    citations: tuple[Citation, ...]
    dated: Literal["document", "file", ""] = ""
    standing: str = ""


@dataclass(frozen=True)
class Conflict(TuplesFromLists):
    """Hold two or more positions on one fact about which files disagree: a signed file first, else the newest."""

    positions: tuple[Position, ...]


@dataclass(frozen=True)
class Highlight:
    """Mark the words of the answer's text that answer the question: code points [start, end), without marks."""

    start: int
    end: int


@dataclass(frozen=True)
class Answer(TuplesFromLists):
    """Hold an answer, its citations, and a record of how it was made.

    `reason` explains the status, and `certainty` says how far to rely on the answer. If nothing answered, `nearest`
    lists the closest passages and `about` the main titles of the index.

    `asked` is the question as it was understood when it followed others of a `thread`. `sentences` is empty if no
    grader graded the sentences one by one. `removed` are the sentences that were taken out because no passage supports
    them. `lacks` are the names and numbers of the question that no cited passage mentions. `quotes_only` is true for an
    engine that only quotes. `used_web` is true if a query was sent to a search engine. `fallback_corpus` names the
    folder or index that was searched in place of the web, and is empty if none was.

    `conflicts` holds the facts on which the files of the answer disagree. `run` is the ID of the record of this
    question (`local-rag runs`), empty if there is none. `language` (ISO 639-1) is the language of the program's own
    words in the answer.

    `short` is the short answer, and `highlights` are the places of its words in the text, best first. Both are empty if
    no evaluator has read the passages, or if the text contains none of their short answers. If files disagree, both
    belong to the first side that the text contains, because a model may write another one only.
    """

    question: str
    text: str
    status: Status
    reason: str = ""
    citations: tuple[Citation, ...] = ()
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
    """The HTML that a notebook shows; `Rag` sets this, because a higher package makes it."""

    @property
    def cited(self) -> list[Citation]:
        """Return all citations by number: those of the answer, then those of positions that cite other passages."""
        cited = {citation.number for citation in self.citations}
        sides = [each for conflict in self.conflicts for side in conflict.positions for each in side.citations]
        every = (*self.citations, *(each for each in sides if each.number not in cited))
        return sorted(every, key=lambda citation: citation.number)
