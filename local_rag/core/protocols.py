"""The seams: what graphs ask of an engine, an embedder, an index and a web search, and what an engine writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from local_rag.core.documents import EVERYTHING, Catalog, FileChange, Narrowing, WebResults
from local_rag.core.outline import FileHit, OutlineLine
from local_rag.core.readings import Calibration, Reading
from local_rag.core.verdicts import Check, Grade, Need, Relevance, Route, Target, Thought, Usage

if TYPE_CHECKING:
    import numpy as np
    from langchain_core.documents import Document
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Engine(Protocol):
    """What a graph asks for. An engine keeps no state between questions: one serves several threads.

    `graded` are the documents that stood in the last prompt of `relevance`, in their order (see `Relevance.shown`): a
    prompt that begins as that one did is not read again up to where it differs.

    Long tasks call `cancel.check()` between tokens. A task that fails raises `EngineError`.
    """

    @property
    def name(self) -> str: ...

    @property
    def describe(self) -> str:
        """One line for stderr: what answers, and how."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever its scores would: calibrated thresholds hold for one fingerprint."""

    @property
    def writes(self) -> bool:
        """Whether it writes its answers; one that does not quotes the documents."""

    @property
    def grades_by(self) -> Literal["model", "evaluator"]:
        """Who grades passages: a language model, or the evaluator, which gives scores."""

    def prepare(self) -> None:
        """Start in the background what the first task would wait for; returns at once and never raises."""

    def close(self) -> None:
        """Give back what it holds; whatever it is doing ends."""

    def route(self, question: str, catalog: Catalog) -> Route:
        """One of `catalog.allowed`, and `multi` only where that is on offer."""

    def needs_retrieval(
        self,
        question: str,
        catalog: Catalog,
        documents: Sequence[Document] = (),
        written: str = "",
        graded: Sequence[Document] = (),
    ) -> Need:
        """What the answer needs next (Self-RAG, Retrieve). Nothing is `written` yet: whether the files should be looked
        at; in doubt, yes. Else how the text goes on, whose last part is from `documents`; in doubt, no.
        """

    def relevance(self, question: str, documents: Sequence[Document]) -> list[Relevance]:
        """One verdict per document, in their order."""

    def answer(self, question: str, documents: Sequence[Document], attempt: Attempt) -> Iterator[AnswerDelta]:
        """An answer whose sentences end in marks [n] for the n-th document, or exactly `attempt.shape.refusal`."""

    def grade(
        self,
        question: str,
        documents: Sequence[Document],
        generation: str,
        *,
        check: Check = "both",
        graded: Sequence[Document] = (),
    ) -> Grade:
        """Support of every sentence by the passages that it cites, usefulness of the whole; or only one of the two."""

    def reason(self, question: str, documents: Sequence[Document], thoughts: Sequence[str]) -> Thought:
        """The next sentence of reasoning towards the answer, after `thoughts` (IRCoT, arXiv 2212.10509)."""

    def rewrite(self, question: str, tried: Sequence[str], target: Target) -> Rewrite:
        """Another query for the question that adds to the earlier ones, `tried`, the question itself included."""

    def standalone(self, question: str, history: Sequence[Turn]) -> Rewrite:
        """The question as it would be asked without the chat before it."""


class Embedder(Protocol):
    """Text -> unit vectors. `window` is the longest text in tokens, special tokens excluded."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def window(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever the vectors would."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, unit rows."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, unit rows."""

    def token_ends(self, text: str) -> Sequence[int]:
        """Where each token of a text of any length ends, in code points, ascending; special tokens excluded."""


class OwnEmbedder(Embedder, Protocol):
    """An embedder that the settings name: on this machine, loaded when it is needed."""

    @property
    def ready(self) -> bool:
        """Whether the next text is embedded in a moment, or only after some seconds of loading."""

    @property
    def served_by(self) -> tuple[str, str]:
        """What computes the vectors, or what will, and why; and what to do about it, if anything."""

    def reads(self, language: str) -> bool:
        """Whether it reads the language of this code, as far as is known."""

    def load(self) -> None:
        """Load the model now."""

    def verify(self) -> str:
        """Raise ModelMissing or ModelChanged, else say what was found."""


class Reranker(Protocol):
    """Orders passages by how well they answer a question; search, graphs and evaluation take it by this protocol."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the scores would."""

    def rerank(self, question: str, documents: Sequence[Document]) -> list[tuple[Document, float]]:
        """The documents with their scores in [0, 1], best first."""


class Evaluator(Protocol):
    """Reads question and passage together (a cross-encoder). It serves several threads, looks at `core.cancel` between
    two batches, and remembers within one question what it has read (`cancel.current().memory`).
    """

    @property
    def fingerprint(self) -> str:
        """Changes whenever its scores would: it follows the weights and their calibration."""

    @property
    def calibration(self) -> Calibration:
        """How its logits become probabilities, and from which probability on they are believed."""

    @property
    def language(self) -> str:
        """The code of the language (ISO 639-1) that it was trained to read."""

    def read(self, question: str, documents: Sequence[Document]) -> list[Reading]:
        """What each document holds for the question, in their order. The words of the file's name, the title and the
        heading are read with it, from the metadata; a document that is too long at once is read in windows.
        """

    def supports(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (statement, text of a passage) the probability in [0, 1] that the passage supports all of it."""

    def prepare(self) -> None:
        """Start in the background what the first reading would wait for; returns at once and never raises."""

    def close(self) -> None:
        """Give back what it holds."""


class Corpus(Protocol):
    """What graphs, engines and displays may ask of an index. A corpus of one's own that inherits from this class may
    leave out what has a body.
    """

    @abstractmethod
    def search(
        self, query: str, k: int, *, within: Narrowing = EVERYTHING, exclude: Collection[str] = ()
    ) -> list[Document]:
        """The k best passages, best first; no `chunk_id` in `exclude`; only what `within` leaves.

        Metadata: source, page, heading, start, end, chunk_id, score (cosine), rank_score, origin, url; title, author
        and date (ISO 8601) are what the document says of itself, `modified` is when its file was last changed (ISO 8601
        or ""), `named` the words of the query that name it, or ""; `sparse`, which a corpus may leave out, is BM25 as a
        share of the highest possible.
        """

    @abstractmethod
    def catalog(self) -> Catalog: ...

    @abstractmethod
    def count(self) -> int:
        """How many passages there are; a catalog costs more."""

    @abstractmethod
    def vectors(self, documents: Sequence[Document]) -> list[Vectors | None]:
        """The stored vector (d,) of each document that is a whole passage of this index, None for any other."""

    def tables(self, documents: Sequence[Document]) -> list[bytes]:
        """Of each passage the tables of its document (`index.tables`), empty where there are none."""
        return [b""] * len(documents)

    def files_with(self, wanted: str, within: Narrowing = EVERYTHING, kind: str = "") -> Sequence[FileHit]:
        """All files that hold something, or else come near it in meaning; of a `kind`, a stem in their names."""
        return ()

    def whole_files(self, name: str, within: Narrowing = EVERYTHING) -> Sequence[str]:
        """The files that a name means in a question for all of a document, the best first."""
        return ()

    def outline(self, source: str, language: str = "en") -> Sequence[OutlineLine]:
        """The outline of a file, empty where there is none, with words of the program in a language."""
        return ()

    def passages_of(self, source: str) -> list[Document]:
        """All passages of a file in the order of its text."""
        return []

    @abstractmethod
    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term (as the index stems it) occurs."""

    @property
    def narrows(self) -> bool:
        """Whether it can look for the phrases of a narrowing."""
        return False

    def content(self) -> str:
        """What changes when any passage does, "" where that is not known."""
        return ""

    def waiting_notes(self) -> list[str]:
        """What a person should know before a search, such as passages that are not embedded yet."""
        return []

    def files(self, within: Narrowing = EVERYTHING) -> Sequence[object]:
        """The files of which `within` leaves something, none where there are no files."""
        return ()

    def changed(self, sources: Collection[str]) -> Mapping[str, FileChange]:
        """Those of these files that are not on the disk as they were indexed, by size and time."""
        return {}

    def path_labels(self, here: Path | None = None) -> Callable[[str], str]:
        """How a source is named to a person, whose current folder is `here` at a terminal."""
        return str


class WebSearch(Protocol):
    """A keyless web search. `enabled` is False for `Off`, and then `search` is never called.

    A search that fails brings notes instead of documents; it never ends a question with an error.
    """

    @property
    def fallback_corpus(self) -> str:
        """The folder or index that is searched in place of the web, so that nothing leaves; empty for the web."""

    @property
    def enabled(self) -> bool: ...

    @property
    def engine(self) -> str: ...

    def words(self, query: str) -> str:
        """What of a query leaves this machine, exactly as a person is shown it before: no character is hidden."""

    def search(self, query: str, k: int) -> WebResults:
        """Up to k pages, best first."""


NOT_IN_PASSAGES = "The passages do not contain the answer."
"""The one fixed reply of every engine for "your files do not say". Code compares with it; nothing parses prose."""


Style = Literal["short", "list", "steps", "table"]
"""How an answer is set out: running text, a list, numbered steps, or a table."""


@dataclass(frozen=True)
class Shape:
    """What an answer is to look like: at most so many sentences (items, steps, rows), and how they are set out.

    `language` is its name in English, empty where nothing is asked for; `refusal` is the fixed reply in it.
    """

    sentences: int = 3
    style: Style = "short"
    language: str = ""
    refusal: str = NOT_IN_PASSAGES


@dataclass(frozen=True)
class AnswerDelta:
    """A bit of an answer as it is written; the last one carries the usage of the whole.

    `restart`: what came before it broke off and is to be forgotten, the answer begins anew.
    """

    text: str
    usage: Usage | None = None
    restart: bool = False


@dataclass(frozen=True)
class Rewrite:
    """Another query for a question, or the question made standalone; empty where the engine has none."""

    text: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Attempt:
    """Which try at an answer this is, and what was wrong with the ones before it.

    `number` counts from 1. `failed` holds (draft, why it was rejected), oldest first. `direct` asks for an answer
    without documents, which only the route `direct` does. `thoughts` led to the documents, if any: sentences of
    reasoning. `written` asks for a part of an answer alone: what comes next after this, which may be empty; None asks
    for the whole answer. It has no marks. `shape` is what the answer is to look like, or the part: its `sentences` are
    then those that the answer may still get. `graded` are those of `Engine`.
    """

    number: int = 1
    failed: tuple[tuple[str, str], ...] = ()
    direct: bool = False
    thoughts: tuple[str, ...] = ()
    written: str | None = None
    shape: Shape = Shape()
    graded: tuple[Document, ...] = ()


@dataclass(frozen=True)
class Turn:
    """One question of a chat and the answer it got."""

    question: str
    answer: str
