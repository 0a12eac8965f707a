"""Provide scripted parts of a graph: an engine, a corpus and a web, about ten lines each."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain, repeat

from langchain_core.documents import Document

from local_rag.core import cancel
from local_rag.core.documents import Catalog, Narrowing, WebResults
from local_rag.core.errors import EngineError
from local_rag.core.outline import FileHit, OutlineLine, Place
from local_rag.core.protocols import NOT_IN_PASSAGES, AnswerDelta, Corpus, Rewrite
from local_rag.core.readings import NOTHING, Calibration, Reading, ReadSpan
from local_rag.core.verdicts import Grade, Need, Relevance, Route, Thought, Usage

ONE_CALL = Usage(calls=1, prompt_tokens=10, output_tokens=2)


def passage(number, text="", score=0.5, **about):
    text = text or f"Passage {number} says that the plan costs {number}00 euros."
    base = {"source": f"/notes/{number}.md", "title": "", "page": None, "heading": "", "start": 0, "end": len(text)}
    scores = {"chunk_id": str(number), "score": score, "rank_score": 0.1, "origin": "files", "url": ""}
    return Document(text, metadata=base | scores | about)


def then_last(values):
    """Yield the values in turn, and the last one without end."""
    return chain(values, repeat(values[-1]))


_SCRIPTS = {
    "relevance": ["_relevant", "_scores"],
    "answer": ["_drafts"],
    "grade": ["_grades"],
    "rewrite": ["_rewrites"],
    "reason": ["_thoughts"],
    "goes_on": ["_next"],
}
"""The parts of the script that each call consumes."""


@dataclass
class ScriptedEngine:
    """Obey a script: y/n strings per grading, drafts, grades as (support, usefulness), routes, rewrites.

    A follow-up that begins with "And" is made standalone with the question before it. `at` is called with the name of
    each task before it is done: it may stop the clock, wait or raise. A `broken` engine writes no answer.
    """

    broken = False

    relevant: list[str] = field(default_factory=lambda: ["y"])
    drafts: list[str] = field(default_factory=lambda: ["It costs 100 euros [1]."])
    grades: list[tuple[str, int]] = field(default_factory=lambda: [("fully", 5)])
    source: str = "vectorstore"
    rewritten: list[str] | None = None
    scores: list[list[float | None]] | None = None
    needed: bool = True
    next: list[str] = field(default_factory=lambda: ["no"])
    complexity: str = "single"
    thoughts: list[Thought] = field(default_factory=lambda: [Thought("So it is.", done=True)])
    at: Callable[[str], object] = field(default=lambda task: None, repr=False)
    name: str = "scripted"
    describe: str = "obeys a script"
    fingerprint: str = "scripted 1"
    writes: bool = True
    grades_by: str = "model"

    def __post_init__(self):
        self.asked = []
        self._relevant, self._drafts, self._grades = map(then_last, (self.relevant, self.drafts, self.grades))
        self._rewrites = iter(self.rewritten) if self.rewritten is not None else None
        self._scores = then_last(self.scores) if self.scores else repeat([])
        self._thoughts = then_last(self.thoughts)
        self._next = then_last(self.next)

    def going_on(self, asked=None):
        """Return another engine at the place in the script that this one has reached, or one that was `asked` so."""
        other = replace(self)
        for kind in [what[0] for what in self.asked] if asked is None else asked:
            for script in filter(None, (getattr(other, name) for name in _SCRIPTS.get(kind, ()))):
                next(script, None)
            other.asked.append((kind,))
        return other

    def _called(self, task, *about):
        self.asked.append((task, *about))
        self.at(task)

    def prepare(self):
        self._called("prepare")

    def close(self):
        self._called("close")

    def route(self, question, catalog: Catalog):
        self._called("route", question, catalog)
        return Route(self.source, self.complexity if catalog.multi else "single", usage=ONE_CALL)

    def needs_retrieval(self, question, catalog: Catalog, documents=(), written="", graded=()):
        if written:
            self._called("goes_on", question, tuple(documents), written)
            return Need(next(self._next), usage=ONE_CALL)
        self._called("needs_retrieval", question, catalog)
        return Need("yes" if self.needed else "no", usage=ONE_CALL)

    def reason(self, question, documents, thoughts):
        self._called("reason", question, tuple(documents), tuple(thoughts))
        return replace(next(self._thoughts), usage=ONE_CALL)

    def relevance(self, question, documents):
        self._called("relevance", question, tuple(documents))
        letters = (next(self._relevant) * len(documents))[: len(documents)]
        labels = {"y": "relevant", "n": "irrelevant", "?": "unparsed"}
        scores = [*next(self._scores), *[None] * len(documents)]
        whys = ["it said nothing" * (letter == "?") for letter in letters]
        costs = [ONE_CALL, *[Usage()] * len(documents)]
        return [Relevance(labels[letter], *more) for letter, *more in zip(letters, scores, whys, costs, strict=False)]

    def answer(self, question, documents, attempt):
        if self.broken:
            raise EngineError("the model fell over", hint="ollama serve")
        self._called("answer", tuple(documents), attempt)
        for word in next(self._drafts).split(" "):
            yield AnswerDelta(word + " ")
        yield AnswerDelta("", usage=ONE_CALL)

    def grade(self, question, documents, generation, *, check="both", graded=()):
        assert generation != NOT_IN_PASSAGES, "the fixed reply is never graded for support"
        self.asked.append(("grade", question, generation, check))
        self.at("grade" if check == "both" else check)
        support, usefulness, *more = next(self._grades)
        sentences = tuple(more[0]) if more else ()
        grade = Grade(support, usefulness, sentences, usage=ONE_CALL)
        return replace(grade, score=more[1] if len(more) > 1 else None)

    def rewrite(self, question, tried, target):
        self._called("rewrite", question, tuple(tried), target)
        return Rewrite(next(self._rewrites) if self._rewrites else f"{question} {len(tried)}", ONE_CALL)

    def standalone(self, question, history):
        self._called("standalone", question, tuple(history))
        return Rewrite(f"{question} ({history[-1].question})" if question.startswith("And") else question)


def during(task, do, **script):
    """Return an engine that does something before each of its tasks of this name."""
    return ScriptedEngine(at=lambda name: do() if name == task else None, **script)


def time_is_up():
    """End the time of the current question."""
    cancel.current().deadline = 0.0


@dataclass
class FakeCorpus(Corpus):
    """Find always the same passages, minus the excluded ones.

    Passages with one `source` and page are of one document.
    """

    passages: list[Document] = field(default_factory=lambda: [passage(n) for n in range(1, 5)])

    def __post_init__(self):
        self.queries, self.closed = [], False

    def close(self):
        self.closed = True

    def search(self, query, k, *, within=(), exclude=()):
        self.queries.append((query, k, Narrowing.of(within).within, tuple(exclude)))
        return [one for one in self.passages if one.metadata["chunk_id"] not in exclude][:k]

    def catalog(self):
        return Catalog(1, len(self.passages), ("Plan",), ("plan",))

    def count(self):
        return self.catalog().chunks

    def vectors(self, documents):
        return [None] * len(documents)

    def document_frequency(self, terms):
        return {term: 1 for term in terms}


@dataclass
class FakeFile(FakeCorpus):
    """A corpus that is one file, named as a question says, with an outline of one line."""

    narrows = True

    def files_with(self, wanted, within=(), kind=""):
        found = [each for each in self.passages if wanted in each.page_content]
        return [
            FileHit(each, each.page_content, 0, len(each.page_content), len(found) - 1, False) for each in found[:1]
        ]

    def whole_files(self, name, within=()):
        return [each.metadata["source"] for each in self.passages if name in each.metadata["source"]][:1]

    def outline(self, source, language="en"):
        return [OutlineLine("about", f"{source}: 4 passages", (Place(0, None, 0, 9),))]

    def passages_of(self, source):
        return self.passages


@dataclass
class FakeWeb:
    enabled: bool = True
    engine: str = "stand-in"
    found: int = 1
    fallback_corpus: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        self.queries = []

    def words(self, query):
        return query

    def search(self, query, k):
        self.queries.append(query)
        pages = [
            passage(90 + n, "The web says that the plan costs 900 euros.", origin="web", url=f"https://web.test/{n}")
            for n in range(min(self.found, k))
        ]
        return WebResults(tuple(pages), self.notes)


@dataclass
class ScriptedEvaluator:
    """Read in a passage the first of `answers` that it contains, with that probability.

    It supports only what a passage says word for word.
    """

    answers: dict[str, float] = field(default_factory=dict)
    error: Exception | None = None
    fingerprint: str = "scripted reader 1"
    calibration: Calibration = field(default_factory=Calibration)
    name: str = "scripted"
    language: str = "en"

    def __post_init__(self):
        self.questions = []

    def read(self, question, documents):
        if self.error:
            raise self.error
        self.questions.append((question, tuple(document.page_content for document in documents)))
        return [self._reading(document.page_content) for document in documents]

    def _reading(self, text):
        for answer, chance in self.answers.items():
            if (start := text.find(answer)) >= 0:
                span = ReadSpan(start, start + len(answer), answer, 8.0)
                return Reading(0.01, 0.99 - chance, chance, (span,), chance)
        return NOTHING

    def supports(self, pairs):
        return [float(statement.rpartition("? ")[2] in text) for statement, text in pairs]

    def knows(self, word):
        return True

    def prepare(self):
        pass

    def close(self):
        pass
