"""ExtractiveEngine: an engine without a language model. It quotes; similarity, words and kinds of answer decide."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core import cancel, question_memory
from local_rag.core.critique import overall
from local_rag.core.documents import Catalog
from local_rag.core.generation import AnswerDelta, Attempt, Rewrite, Shape, Turn
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Check, Grade, Need, Relevance, Route, Source, Target, Thought
from local_rag.engines.extractive import questions, reasoning, routing
from local_rag.engines.extractive.analysis import Analyses, Analysis, probability
from local_rag.engines.extractive.answerability import Answerability, shipped
from local_rag.engines.extractive.document_answers import (
    SCORE,
    document_answers,
    holds_answer,
    marked_answers,
    of_named,
    sentences_on_topic,
)
from local_rag.engines.extractive.quotes import as_written
from local_rag.engines.extractive.rare_terms import terms_near
from local_rag.engines.extractive.reader import Reader
from local_rag.engines.extractive.selection import ANSWERS, choose
from local_rag.engines.extractive.setting_out import set_out, unmet
from local_rag.engines.extractive.usefulness import covered, usefulness
from local_rag.index.names import head
from local_rag.text.answer_texts import is_refusal
from local_rag.text.display import joined, shorten
from local_rag.text.marks import without_marks
from local_rag.text.parts import stored
from local_rag.text.properties import properties
from local_rag.text.support import sentence_supports
from local_rag.text.words import words as words_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Corpus, Embedder, Evaluator
    from local_rag.core.verdicts import Support

SCORES = 3
"""Counts up whenever the scores change: thresholds that were calibrated before hold no longer."""
RELEVANT = 0.5
"""Probability from which a passage is relevant; see `analysis.PASSAGE_WEIGHTS`."""
FOR_FILES = 0.5
"""Probability from which a question is one for the files; see `routing.WEIGHTS`."""
NEAREST = 0.30
"""Cosine of the nearest passage below which the files are not worth searching (SQuAD v2 dev)."""
READ = 12_000
"""Code points of passages that are read for one answer: three times four passages of 250 tokens."""


class ExtractiveEngine:
    """Quotes the sentences that answer best. `corpus` tells how rare words are; without it all weigh alike.

    `evaluator` reads question and passage together; without it similarity and words decide. `relevant` and `answers`
    are the least probabilities of a passage that is relevant and of an answer that is given; those of the evaluator's
    calibration by default.
    """

    name = "extractive"
    describe = "extractive: quotes sentences from your files; it does not write, summarise or reason"

    def __init__(
        self,
        embedder: Embedder,
        corpus: Corpus | None = None,
        *,
        relevant: float | None = None,
        answers: float | None = None,
        answerability: Answerability | None = None,
        evaluator: Evaluator | None = None,
    ) -> None:
        self._embedder = embedder
        self._corpus = corpus
        self._relevant = RELEVANT if relevant is None else relevant
        self._answers = ANSWERS if answers is None else answers
        self._answerability = answerability or shipped()
        self._reader = Reader(evaluator, relevant, answers) if evaluator else None

    @property
    def fingerprint(self) -> str:
        read = f"; evaluator {self._reader.evaluator.fingerprint}" if self._reader else ""
        return f"extractive {SCORES}-{self._answerability.fingerprint}; {self._embedder.fingerprint}{read}"

    def prepare(self) -> None:
        """Nothing: whoever opened the embedder loads it, with a word about the pause."""

    def close(self) -> None:
        """Nothing: the index and the embedder belong to whoever opened them."""

    def route(self, question: str, catalog: Catalog) -> Route:
        """The files, unless nothing in them comes near and the web is allowed. Never `direct`: it cannot write.

        Small talk is for neither. Of a catalog without passages the nearest cosine counts.
        """
        started = time.perf_counter()
        cancel.check()
        if questions.is_small_talk(question) or questions.is_chat(question):
            why = "small talk, which no file and no page answers"
            return Route(_first(["vectorstore"], catalog), why=why, usage=_usage(started), small_talk=True)
        near = catalog.nearest
        if catalog.passages:
            chance, why = routing.for_files(question, catalog, self._corpus, self._embedder)
        else:
            chance = 0.0 if near is None or near < NEAREST else 1.0
            why = "the index is empty" if near is None else f"nearest passage {near:.2f}, limit {NEAREST:.2f}"
        source = _first(["vectorstore"] if chance >= FOR_FILES else ["web_search", "vectorstore"], catalog)
        steps = reasoning.complexity(question) if catalog.multi and source == "vectorstore" else "single"
        return Route(source, steps, why, _usage(started))

    def needs_retrieval(
        self, question: str, catalog: Catalog, documents: Sequence[Document] = (), written: str = ""
    ) -> Need:
        """The files first: it cannot write, so without them it has nothing to say. Then by what is not covered yet."""
        started = time.perf_counter()
        cancel.check()
        need = reasoning.next_need(question, written) if written else Need("yes", why="this engine only quotes")
        return replace(need, usage=_usage(started))

    def room(self, question: str, documents: Sequence[Document]) -> int:
        """What is left of `READ`: it reads every passage, or embeds every sentence."""
        return max(0, READ - sum(len(document.page_content) for document in documents))

    def relevance(self, question: str, documents: Sequence[Document]) -> list[Relevance]:
        """Probabilities that the passages hold the answer, as the evaluator reads them; without it that they are about
        the question, with the words and the similarity behind them.
        """
        started = time.perf_counter()
        cancel.check()
        if not documents:
            return []
        reader = self._reader
        verdicts = reader.relevance(question, documents) if reader else self._compared(question, documents)
        answers = document_answers(question, documents) or sentences_on_topic(question, documents)
        for number in {answer.passage for answer in answers}:
            score, why = (
                max(verdicts[number].score or 0.0, SCORE),
                f"it says this of its document; {verdicts[number].why}",
            )
            verdicts[number] = Relevance("relevant" if score >= self._relevant else "irrelevant", score, why)
        return [replace(verdicts[0], usage=_usage(started)), *verdicts[1:]]

    def _compared(self, question: str, documents: Sequence[Document]) -> list[Relevance]:
        """The verdicts without an evaluator."""
        analysis = self._analyses().of(question, documents)
        scores = [probability(logit) for logit in analysis.passages]
        return [
            Relevance("relevant" if score >= self._relevant else "irrelevant", score, _why(analysis, number))
            for number, score in enumerate(scores)
        ]

    def answer(self, question: str, documents: Sequence[Document], attempt: Attempt) -> Iterator[AnswerDelta]:
        """The best sentences, three unless another number is asked for, each with its mark; else the fixed reply.

        With an evaluator it is the sentence around the best short answer; several only where the question is open, or
        where the user has set a style or a number of sentences.

        A sentence is verbatim but for its line breaks, which become blanks; a list keeps its lines. After several steps
        of reasoning the sentences that answer the last of them are added. A part of an answer is new all through.
        """
        started = time.perf_counter()
        cancel.check()
        sentences: list[str] = []
        if documents and not attempt.direct:
            failed = " ".join([attempt.written or "", *(draft for draft, _ in attempt.failed)])
            sentences = marked_answers(question, documents, attempt.shape, failed)
            sentences = sentences or self._quoted(question, documents, attempt, failed)
        quotes = list(dict.fromkeys(sentences))
        if quotes:
            yield from _deltas(list(set_out(quotes, attempt.shape)), tuple(unmet(quotes, attempt.shape)), started)
        else:
            yield AnswerDelta(attempt.shape.refusal, usage=_usage(started))

    def _quoted(self, question: str, documents: Sequence[Document], attempt: Attempt, failed: str) -> list[str]:
        """The best sentences with their marks; of what a question names alone, where that answers."""
        following = reasoning.next_need(question, attempt.written).query if attempt.written else ""
        queries = [following or question, *reasoning.last_query(question, attempt.thoughts)]
        every = [(part, number) for number, document in enumerate(documents, 1) for part in stored(document)]
        named = [every[place] for place in of_named(question, [passage for passage, _ in every])]
        sentences: list[str] = []
        for passages in filter(None, (named, every)):
            plain = [passage for passage, _ in passages]
            for query in queries:
                chosen = self._chosen(query, plain, failed, attempt, whole=query == question)
                sentences += [f"{sentence} [{passages[place][1]}]" for sentence, place in chosen]
            sentences = sentences or marked_answers(question, documents, attempt.shape, failed, on_topic=True)
            if sentences:
                break
        return sentences

    def _chosen(
        self, query: str, passages: Sequence[Document], failed: str, attempt: Attempt, *, whole: bool
    ) -> Sequence[tuple[str, int]]:
        """The sentences that answer best, each with the number of its passage (from 0).

        The evaluator reads for a `whole` question; the words of a further step are none.
        """
        read = list[tuple[str, int]]()
        if self._reader and whole:
            shape = attempt.shape
            several = shape.style != "short" or (attempt.written is None and shape.sentences != Shape().sentences)
            read = self._reader.chosen(query, passages, failed, shape.sentences, several=several)
            if not attempt.thoughts:
                return read
        analysis = self._analyses().of(query, passages)
        answers = ANSWERS if self._reader else self._answers
        quotes = choose(analysis, failed, self._answerability, answers, attempt.shape.sentences)
        return [*read, *((as_written(quote, set(analysis.weights)), quote.document) for quote in quotes)]

    def reason(self, question: str, documents: Sequence[Document], thoughts: Sequence[str]) -> Thought:
        """The sentence that leads on, and a query for what it names; see `reasoning`."""
        started = time.perf_counter()
        cancel.check()
        if not documents:
            return Thought("", done=True, usage=_usage(started))
        thought = reasoning.next_step(self._analyses().of(question, documents), thoughts)
        return replace(thought, usage=_usage(started))

    def grade(self, question: str, documents: Sequence[Document], generation: str, *, check: Check = "both") -> Grade:
        """Support from containment in the passages, usefulness from the chance that the text answers the question."""
        started = time.perf_counter()
        cancel.check()
        if is_refusal(generation.strip()) or not words_of(generation):
            return Grade("no", 1, (), "no answer", _usage(started), score=0.0)
        judge = self._reader.supports if self._reader else None
        judged = sentence_supports(generation, [_with_properties(document) for document in documents], judge)
        supports: tuple[Support, ...] = tuple(support for _, support in judged)
        foreign = next((sentence for sentence, support in judged if support != "fully"), "")
        reason = f"not in the passages: {shorten(foreign, 80)!r}" if foreign else ""
        if check == "support":
            return Grade(overall(supports), 0, supports, reason, _usage(started))
        level, score, why = self._usefulness(question, documents, generation)
        if check == "usefulness":
            return Grade("unparsed", level, (), why, _usage(started), score=score)
        why = "; ".join(filter(None, (reason, why)))
        return Grade(overall(supports), level, supports, why, _usage(started), score=score)

    def _usefulness(self, question: str, documents: Sequence[Document], generation: str) -> tuple[int, float, str]:
        if self._reader and documents and not holds_answer(question, documents, without_marks(generation)):
            return self._reader.usefulness(question, documents, generation)
        return usefulness(self._analyses(), self._answerability, question, documents, generation)

    def rewrite(self, question: str, tried: Sequence[str], target: Target) -> Rewrite:
        """A new query: for the files with rare words of the nearest passages, for the web with the question's own."""
        started = time.perf_counter()
        cancel.check()
        if target == "web":
            candidates = questions.for_web(question)
        else:
            candidates = questions.for_files(question, terms_near(question, self._corpus))
        return Rewrite(questions.first_new(candidates, tried), _usage(started))

    def standalone(self, question: str, history: Sequence[Turn]) -> Rewrite:
        """The follow-up with the content words of the last question, where it does not stand alone."""
        started = time.perf_counter()
        cancel.check()
        return Rewrite(questions.standalone(question, history), _usage(started))

    def _analyses(self) -> Analyses:
        return question_memory.current().get(self, lambda: Analyses(self._embedder, self._corpus))


def _first(sources: Sequence[Source], catalog: Catalog) -> Source:
    """The first of these sources that is allowed, or else the first allowed one."""
    return next((source for source in sources if source in catalog.allowed), catalog.allowed[0])


def _usage(started: float) -> Usage:
    return Usage(seconds=time.perf_counter() - started)


def _with_properties(document: Document) -> str:
    """The text of a passage, and what its file says of itself outside of it."""
    return "\n\n".join([document.page_content, *(known.sentence for known in properties(document))])


def _why(analysis: Analysis, number: int) -> str:
    """The evidence for a verdict in plain words."""
    document = analysis.documents[number]
    coverage, missing = covered(analysis.question, f"{head(document)} {document.page_content}")
    lacking = f"; missing: {joined(map(repr, missing))}" if missing else ""
    return f"{coverage}, similarity {analysis.features[number].cosine:.2f}{lacking}"


def _deltas(sentences: Sequence[str], notes: tuple[str, ...], started: float) -> Iterator[AnswerDelta]:
    for number, sentence in enumerate(sentences):
        cancel.check()
        last = number == len(sentences) - 1
        yield AnswerDelta(sentence, usage=replace(_usage(started), notes=notes) if last else None)
