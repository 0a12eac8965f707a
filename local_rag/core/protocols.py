"""Define the protocols that graphs use, and the values of an engine's tasks.

The protocols are engine, embedder, reranker, evaluator, corpus and web search.
"""

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
    """Perform the tasks of a graph; an engine keeps no state between questions and serves several threads.

    `graded` are the documents of the last prompt of `relevance`, in their order (see `Relevance.shown`): the server
    need not read the beginning of a prompt again if it equals the beginning of that one.

    Long tasks call `cancel.check()` between tokens. A task that fails raises `EngineError`.
    """

    @property
    def name(self) -> str: ...

    @property
    def describe(self) -> str:
        """Return one line for stderr: which engine answers, and how."""

    @property
    def fingerprint(self) -> str:
        """Return a text that changes whenever the scores would; calibrated thresholds hold for one fingerprint."""

    @property
    def writes(self) -> bool:
        """Return whether the engine writes its answers; another engine quotes the documents."""

    @property
    def grades_by(self) -> Literal["model", "evaluator"]:
        """Return who grades passages: a language model, or the evaluator, which gives scores."""

    def prepare(self) -> None:
        """Start loading in the background for the first task; return at once and never raise."""

    def close(self) -> None:
        """End running tasks and release all resources."""

    def route(self, question: str, catalog: Catalog) -> Route:
        """Return one of `catalog.allowed`, with `multi` only if the catalog offers it."""

    def needs_retrieval(
        self,
        question: str,
        catalog: Catalog,
        documents: Sequence[Document] = (),
        written: str = "",
        graded: Sequence[Document] = (),
    ) -> Need:
        """Return what the answer needs next (Self-RAG, Retrieve).

        If nothing is `written` yet, decide whether to search the files; if unsure, yes. Otherwise decide how the text
        goes on, whose last part comes from `documents`; if unsure, no retrieval.
        """

    def relevance(self, question: str, documents: Sequence[Document]) -> list[Relevance]:
        """Return one verdict per document, in their order."""

    def answer(self, question: str, documents: Sequence[Document], attempt: Attempt) -> Iterator[AnswerDelta]:
        """Yield an answer whose sentences end in marks [n] of the n-th document, or exactly `attempt.shape.refusal`."""

    def grade(
        self,
        question: str,
        documents: Sequence[Document],
        generation: str,
        *,
        check: Check = "both",
        graded: Sequence[Document] = (),
    ) -> Grade:
        """Grade the support of every sentence by its cited passages and the usefulness of the whole, or one of both."""

    def reason(self, question: str, documents: Sequence[Document], thoughts: Sequence[str]) -> Thought:
        """Return the next sentence of reasoning towards the answer, after `thoughts` (IRCoT, arXiv 2212.10509)."""

    def rewrite(self, question: str, tried: Sequence[str], target: Target) -> Rewrite:
        """Return a new query for the question that adds to those in `tried`, which include the question itself."""

    def standalone(self, question: str, history: Sequence[Turn]) -> Rewrite:
        """Return the question in a form that can be understood without the chat before it."""


class Embedder(Protocol):
    """Turn texts into unit vectors; `window` is the longest text in tokens, special tokens excluded."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def window(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Return a text that changes whenever the vectors would."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts: (n, d) float32, unit rows."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the queries: (n, d) float32, unit rows."""

    def token_ends(self, text: str) -> Sequence[int]:
        """Return where each token of a text of any length ends, in code points, ascending; special tokens excluded."""


class OwnEmbedder(Embedder, Protocol):
    """Embed with a model that the settings name; it runs on this machine and is loaded when it is needed."""

    @property
    def ready(self) -> bool:
        """Return whether the model is loaded, so that the next text does not wait some seconds for loading."""

    @property
    def served_by(self) -> tuple[str, str]:
        """Return what computes the vectors and why, and a hint if something can be done about it."""

    def reads(self, language: str) -> bool:
        """Return whether the model reads the language of this code, as far as is known."""

    def load(self) -> None:
        """Load the model now."""

    def verify(self) -> str:
        """Check the weights and return what was found; raise ModelMissing or ModelChanged."""


class Reranker(Protocol):
    """Order passages by how well they answer a question; search, graphs and evaluation use this protocol."""

    @property
    def fingerprint(self) -> str:
        """Return a text that changes whenever the scores would."""

    def rerank(self, question: str, documents: Sequence[Document]) -> list[tuple[Document, float]]:
        """Return the documents with their scores in [0, 1], best first."""


class Evaluator(Protocol):
    """Read question and passage together (a cross-encoder).

    It serves several threads, calls `cancel.check()` between two batches, and remembers its readings within one
    question (`cancel.current().memory`).
    """

    @property
    def fingerprint(self) -> str:
        """Return a text that changes whenever the scores would; it depends on the weights and their calibration."""

    @property
    def calibration(self) -> Calibration:
        """Return how logits become probabilities, and the thresholds for using them."""

    @property
    def language(self) -> str:
        """Return the code (ISO 639-1) of the language that the model was trained to read."""

    def read(self, question: str, documents: Sequence[Document]) -> list[Reading]:
        """Return the reading of each document for the question, in their order.

        The words of the file's name, the title and the heading, from the metadata, are read with the text. A document
        that is too long is read in windows.
        """

    def supports(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return for each (statement, passage text) the probability in [0, 1] that the passage supports all of it."""

    def knows(self, word: str) -> bool:
        """Return whether the vocabulary of the model holds a lower-case word whole: it is no misspelling then."""

    def prepare(self) -> None:
        """Start loading in the background for the first reading; return at once and never raise."""

    def close(self) -> None:
        """Release all resources."""


class IndexedPath(Protocol):
    """Name a file of a corpus by its path or URL."""

    @property
    def path(self) -> str:
        """Return the path, or the URL."""


class Corpus(Protocol):
    """Define what graphs, engines and displays may ask of an index.

    A corpus of your own that inherits from this class may leave out the methods that have a body here.
    """

    @abstractmethod
    def search(
        self, query: str, k: int, *, within: Narrowing = EVERYTHING, exclude: Collection[str] = ()
    ) -> list[Document]:
        """Return the k best passages within `within`, best first, without those whose `chunk_id` is in `exclude`.

        Metadata: source, page, heading, start, end, chunk_id, score (cosine), rank_score, origin, url; title, author
        and date (ISO 8601), which the document states about itself; `modified`, the time of the file's last change (ISO
        8601 or ""); `named`, the words of the query that name the document, or ""; `sparse`, BM25 as a share of the
        highest possible value, which a corpus may leave out.
        """

    @abstractmethod
    def catalog(self) -> Catalog: ...

    @abstractmethod
    def count(self) -> int:
        """Return the number of passages, which costs less than a catalog."""

    @abstractmethod
    def vectors(self, documents: Sequence[Document]) -> list[Vectors | None]:
        """Return the stored vector (d,) of each document that is a whole passage of this index, None for any other."""

    def tables(self, documents: Sequence[Document]) -> list[bytes]:
        """Return for each passage the tables of its document (`index.tables`), or empty bytes."""
        return [b""] * len(documents)

    def files_with(self, wanted: str, within: Narrowing = EVERYTHING, kind: str = "") -> Sequence[FileHit]:
        """All files that hold something, or else come near it in meaning; of a `kind`, a stem in their names."""
        return ()

    def whole_files(self, name: str, within: Narrowing = EVERYTHING) -> Sequence[str]:
        """Return the files that a name means in a question for all of a document, the best first."""
        return ()

    def outline(self, source: str, language: str = "en") -> Sequence[OutlineLine]:
        """Return the outline of a file in a language, or an empty one."""
        return ()

    def passages_of(self, source: str) -> list[Document]:
        """All passages of a file in the order of its text."""
        return []

    @abstractmethod
    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many chunks each term occurs, stemmed as in the index."""

    def spelled_like(self, word: str) -> Sequence[str]:
        """Return words of the passages that are spelled nearly like a word, in lower case; none if that is unknown."""
        return ()

    @property
    def narrows(self) -> bool:
        """Return whether the corpus can search for the phrases of a narrowing."""
        return False

    def content(self) -> str:
        """Return a text that changes when any passage does, "" if it is unknown."""
        return ""

    def waiting_notes(self) -> list[str]:
        """Return messages for a person before a search, such as that some passages are not embedded yet."""
        return []

    def files(self, within: Narrowing = EVERYTHING) -> Sequence[IndexedPath]:
        """Return the files that have passages within `within`; empty for a corpus without files."""
        return ()

    def changed(self, sources: Collection[str]) -> Mapping[str, FileChange]:
        """Return how these files differ from their indexed state, by size and time; unchanged files are left out."""
        return {}

    def path_labels(self, here: Path | None = None) -> Callable[[str], str]:
        """Return a function that names a source for a person whose current folder is `here`."""
        return str


class WebSearch(Protocol):
    """Search the web without a key; `enabled` is False for `Off`, and then `search` is never called.

    A search that fails returns notes instead of documents; it never ends a question with an error.
    """

    @property
    def fallback_corpus(self) -> str:
        """Return the folder or index that is searched in place of the web; empty for the web.

        Nothing leaves this machine then.
        """

    @property
    def enabled(self) -> bool: ...

    @property
    def engine(self) -> str: ...

    def words(self, query: str) -> str:
        """Return the words of a query that leave this machine, exactly as a person is shown them.

        No character is hidden.
        """

    def search(self, query: str, k: int) -> WebResults:
        """Return up to k pages, best first."""


NOT_IN_PASSAGES = "The passages do not contain the answer."
"""The fixed reply of every engine for "your files do not say"; code compares with it, and never parses prose."""


Style = Literal["short", "list", "steps", "table"]
"""The layout of an answer: running text, a list, numbered steps, or a table."""


@dataclass(frozen=True)
class Shape:
    """Describe the form of an answer: the maximum number of sentences (items, steps, rows), and the layout.

    `language` is its name in English, empty if any language will do; `refusal` is the fixed reply in that language.
    """

    sentences: int = 3
    style: Style = "short"
    language: str = ""
    refusal: str = NOT_IN_PASSAGES


@dataclass(frozen=True)
class AnswerDelta:
    """Hold a part of an answer as it is written; the last part carries the usage of the whole answer.

    `restart`: the earlier parts broke off and must be forgotten; the answer begins anew.
    """

    text: str
    usage: Usage | None = None
    restart: bool = False


@dataclass(frozen=True)
class Rewrite:
    """Hold another query for a question, or the standalone question; the text is empty if the engine has none."""

    text: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Attempt:
    """Describe an attempt at an answer, and why the earlier ones were rejected.

    `number` counts from 1. `failed` holds (draft, reason for its rejection), oldest first. `direct` requests an answer
    without documents, on the route `direct` only. `thoughts` are the sentences of reasoning that led to the documents.
    `written` requests only the part of an answer, possibly empty, that follows this text without marks; None requests
    the whole answer. `shape` is the form of the answer or part; `shape.sentences` is then the number of sentences that
    may still be added. `graded` is explained at `Engine`. `quotes` asks an engine that writes for the sentences of the
    passages that answer best instead, without a call.
    """

    number: int = 1
    failed: tuple[tuple[str, str], ...] = ()
    direct: bool = False
    thoughts: tuple[str, ...] = ()
    written: str | None = None
    shape: Shape = Shape()
    graded: tuple[Document, ...] = ()
    quotes: bool = False


@dataclass(frozen=True)
class Turn:
    """Hold one question of a chat and its answer."""

    question: str
    answer: str
