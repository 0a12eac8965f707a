"""The words of the project: frozen values and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from langchain_core.documents import Document

Source = Literal["vectorstore", "web_search", "direct"]
Complexity = Literal["direct", "single", "multi"]
RelevanceLabel = Literal["relevant", "irrelevant", "unparsed"]
Support = Literal["fully", "partially", "no", "unparsed"]
Status = Literal["grounded", "partial", "ungrounded", "abstained", "direct"]
Origin = Literal["files", "web"]
Located = Literal["exact", "near", "words"]
"""How a quote was found: the sentence stands there; nearly so, letter by letter; or by the words that they share."""
Target = Literal["vectorstore", "web"]
Check = Literal["both", "support", "usefulness"]
"""What of a generation is graded: the tutorials' hallucination grader, their answer grader, or both at once."""
Kind = Literal["rewrites", "generations", "web_searches", "steps"]
"""What a graph counts and bounds; the wall clock is the fourth bound."""

NOT_IN_PASSAGES = "The passages do not contain the answer."
"""The one fixed reply of every engine for "your files do not say". Code compares with it; nothing parses prose."""

OUT_OF_TIME = "out of time"
"""How the reason of an answer begins that the wall clock ended."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a language model, in the server's own figures; `seconds` is wall clock here.

    `prompt_tokens` counts the whole prompt, `prompt_seconds` what was really read, which a remembered prefix is not.
    `loaded`: the model had to be loaded first. `retry`: the reply before it was not usable.
    """

    role: str
    model: str
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    load_seconds: float = 0.0
    prompt_seconds: float = 0.0
    output_seconds: float = 0.0
    loaded: bool = False
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """What one task cost. `seconds` is wall clock; tokens are 0 where no language model was asked.

    `unparsed` counts verdicts that stayed unusable after the retry; `log` holds the single calls in their order;
    `notes` is what a person should know besides: a passage that did not fit, a model that was loaded again.
    """

    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    loads: int = 0
    retries: int = 0
    unparsed: int = 0
    log: tuple[Call, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.output_tokens + other.output_tokens,
            self.seconds + other.seconds,
            self.loads + other.loads,
            self.retries + other.retries,
            self.unparsed + other.unparsed,
            self.log + other.log,
            self.notes + other.notes,
        )


@dataclass(frozen=True, slots=True)
class Route:
    """Where the evidence for a question should come from, and how many steps it needs (Adaptive-RAG, section 3.2)."""

    source: Source
    complexity: Complexity = "single"
    why: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Need:
    """Does a question need the files (Self-RAG, Retrieve)? `score` is P(yes) in [0, 1], None where unknown."""

    needed: bool
    score: float | None = None
    why: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Thought:
    """One sentence of reasoning towards an answer (IRCoT). `done`: the answer is there, nothing more is needed.

    `query` is what to search for next; empty where the sentence itself is the query.
    """

    text: str
    done: bool = False
    query: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Relevance:
    """The verdict on one document. `score` is in [0, 1], None where it is not known: never 0 or 1 for want of better.

    One call may grade a list: the first verdict then carries the whole usage, so that sums are right.
    """

    label: RelevanceLabel
    score: float | None = None
    why: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on one generation: ISSUP and ISUSE of Self-RAG (table 1).

    `sentences` has one support for each of `text.claims(generation)`, or is empty. `usefulness` is 1 (worst) to 5, or
    0 where the verdict could not be parsed or was not asked for. Where the grader's own probabilities are known,
    `support_score` is P(fully) + P(partially) / 2 and `usefulness_score` the mean of -1, -0.5, 0, 0.5, 1 over ISUSE 1
    to 5 (section 3.3); None otherwise. `score` in [0, 1] is the chance that the generation answers the question from
    the documents, None where the engine has no opinion.
    """

    support: Support
    usefulness: int
    sentences: tuple[Support, ...] = ()
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    support_score: float | None = None
    usefulness_score: float | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A bit of an answer as it is written; the last one carries the usage of the whole.

    `logprob` is the natural logarithm of the token's probability, None where unknown. `restart`: what came before it
    broke off and is to be forgotten, the answer begins anew.
    """

    text: str
    logprob: float | None = None
    usage: Usage | None = None
    restart: bool = False


class Text(str):
    """A string that an engine wrote, and what it cost."""

    usage: Usage

    def __new__(cls, text: str, usage: Usage | None = None) -> Text:
        made = super().__new__(cls, text)
        made.usage = usage or Usage()
        return made


@dataclass(frozen=True, slots=True)
class Attempt:
    """Which try at an answer this is, and what was wrong with the ones before it.

    `number` counts from 1. `failed` holds (draft, why it was rejected), oldest first. `direct` asks for an answer
    without documents, which only the route `direct` does. `scored` asks for the log-probability of each piece.
    `thoughts` led to the documents, if any: sentences of reasoning.
    """

    number: int = 1
    failed: tuple[tuple[str, str], ...] = ()
    direct: bool = False
    scored: bool = False
    thoughts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of a chat and the answer it got."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Catalog:
    """What a router may know of the index, all of it read from the index itself.

    `nearest` is the cosine of the best passage to the question, None in an empty index. `allowed` are the routes of
    this run: the web only when it is on, `direct` only when the user allows it. `multi`: whether an answer in several
    steps is on offer, too.
    """

    documents: int = 0
    chunks: int = 0
    titles: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    nearest: float | None = None
    allowed: tuple[Source, ...] = ("vectorstore",)
    headings: tuple[str, ...] = ()
    multi: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and where it starts: a code point of the text it stands in. `level` is 1 for the outermost."""

    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """The text of a file, or of one page of it (`page` counts from 1, None for files without pages)."""

    text: str
    title: str = ""
    page: int | None = None
    headings: tuple[Heading, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or pages of a file, that could not be indexed."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did; each list but `unchanged` names files. `kept` could not be observed and was left as it was.

    `ignored` counts files of kinds that nothing reads, by suffix.
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


@dataclass(frozen=True, slots=True)
class Found:
    """What a web search brought, one document per page, and in one line each what to know of it."""

    documents: tuple[Document, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a sentence of the answer stands. `number` is its mark [n] in the text, one per passage.

    `quote` is cut from the passage by code; `start` and `end` are its code points in the stored text of the document
    (a PDF page is one document). `verified`: see `citations.check`.
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
    located: Located = "words"
    why: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, code points [start, end) of its text, marks included, and what a grader says of it."""

    text: str
    start: int
    end: int
    support: Support


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, where it stands, and how it came about.

    `reason` says why the status is what it is; `nearest` lists the passages that came closest when nothing answered,
    and `about` the main titles of the index then. `asked` is the question as it was understood where it followed
    others of a `thread`. `sentences` is empty where no grader looked at them one by one; `removed` are those that
    were taken out for want of support.
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
    path: tuple[str, ...] = ()
    decisions: tuple[Graded, ...] = ()
    tries: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    sentences: tuple[Sentence, ...] = ()
    removed: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    thread: str = ""
    asked: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Started:
    """A node has started; `doing` is what a person is shown meanwhile ("grading 4 passages")."""

    node: str
    doing: str


@dataclass(frozen=True, slots=True)
class Step:
    """A node has ended after so many seconds; `state` is that of the graph then: question, documents, decisions, …"""

    node: str
    seconds: float
    state: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Graded:
    """A verdict: one per passage (with its `chunk_id` and file), one per check, one for the label an edge takes."""

    kind: str
    verdict: str
    why: str = ""
    chunk_id: str | None = None
    score: float | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The passages that a query brought, best first: of the index, or of the web."""

    query: str
    documents: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Called:
    """A language model was asked, and what that cost."""

    call: Call


@dataclass(frozen=True, slots=True)
class Note:
    """What a person should know while it happens, such as a passage that had to be left out."""

    text: str


@dataclass(frozen=True, slots=True)
class Token:
    """A bit of a draft. A draft can still be rejected: `attempt` counts them from 1, `candidate` those of one attempt.

    `restart`: it begins anew.
    """

    text: str
    attempt: int
    restart: bool = False
    candidate: int = 1


@dataclass(frozen=True, slots=True)
class WebQuery:
    """The exact words that are about to leave this machine, and to which search engine."""

    query: str
    engine: str


@dataclass(frozen=True, slots=True)
class Done:
    answer: Answer


Event = Started | Step | Retrieved | Graded | Called | Note | Token | WebQuery | Done
