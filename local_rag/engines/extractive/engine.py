"""ExtractiveEngine: an engine without a language model. It quotes; a small trained evaluator decides what."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core import cancel, question_memory
from local_rag.core.critique import overall
from local_rag.core.documents import Catalog
from local_rag.core.generation import AnswerDelta, Attempt, Rewrite, Shape, Turn
from local_rag.core.readings import probability
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Check, Grade, Need, Relevance, Route, Source, Target, Thought
from local_rag.engines.extractive import questions
from local_rag.engines.extractive.documents import (
    SCORE,
    document_answers,
    holds_answer,
    marked_answers,
    of_named,
    sentences_on_topic,
)
from local_rag.engines.extractive.quotes import as_written, quotes
from local_rag.engines.extractive.reader import Reader
from local_rag.engines.extractive.support import sentence_supports
from local_rag.index.names import head
from local_rag.text.answer_texts import is_refusal
from local_rag.text.display import joined, shorten
from local_rag.text.languages import code_of, detected
from local_rag.text.lexicon import PRESENT
from local_rag.text.marks import without_marks
from local_rag.text.names import names
from local_rag.text.numbers import numbers
from local_rag.text.parts import stored
from local_rag.text.properties import properties
from local_rag.text.sentences import sentences as sentences_of
from local_rag.text.words import stem
from local_rag.text.words import words as words_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Corpus, Embedder, Evaluator

SCORES = 4
"""Counts up whenever the scores change: thresholds that were calibrated before hold no longer."""
READ = 12_000
"""Code points of passages that are read for one answer: three times four passages of 250 tokens."""
COVERED = 0.75
"""What a sentence must hold of a further search to be quoted for it: the share of its words in the sentence, and half
the share in that and its neighbours."""
ENGLISH_ONLY = "the extractive engine answers questions in English only; with Ollama any language is answered"
"""What a person is told who asks in another language: the evaluator was trained on English."""

ROUTE_WEIGHTS, ROUTE_BIAS = (4.8, 5.6, -0.9, -2.1), -4.2
"""Weights of a passage's cosine, of the share of the question that it holds, of the share of the question's names that
it lacks, and of asking about the present: a logistic regression on half of the questions of `scripts/bench.py routing`,
over indexes of 5, 500 and 5,000 documents, and on questions of SQuAD v2 and ClapNQ dev; see docs/measurements.md."""
_RELATIVE = re.compile(
    r"\b(?:this|last|next) (?:week|weekend|month|year|season|spring|summer|autumn|winter|[a-z]+day)\b"
)


class ExtractiveEngine:
    """Quotes the sentences that answer best, as the evaluator reads them.

    `corpus` tells how rare words are; without it all weigh alike. `relevant` and `answers` are the least probabilities
    of a passage that is relevant and of an answer that is given; those of the evaluator's calibration by default.
    """

    name = "extractive"
    describe = "extractive: quotes sentences from your files; it does not write, summarise or reason"

    def __init__(
        self,
        embedder: Embedder,
        evaluator: Evaluator,
        corpus: Corpus | None = None,
        *,
        relevant: float | None = None,
        answers: float | None = None,
    ) -> None:
        self._embedder, self._corpus = embedder, corpus
        self._reader = Reader(evaluator, relevant, answers)

    @property
    def fingerprint(self) -> str:
        return f"extractive {SCORES}; {self._embedder.fingerprint}; evaluator {self._reader.evaluator.fingerprint}"

    def prepare(self) -> None:
        """Nothing: whoever opened the embedder and the evaluator loads them, with a word about the pause."""

    def close(self) -> None:
        """Nothing: index, embedder and evaluator belong to whoever opened them."""

    def route(self, question: str, catalog: Catalog) -> Route:
        """The files, unless they hardly answer and the web is allowed. Never `direct`: it cannot write.

        Small talk is for neither. What a person says the index is about counts like a passage of it.
        """
        started = time.perf_counter()
        cancel.check()
        if questions.kind_of(question) == "small talk":
            why = "small talk, which no file and no page answers"
            return Route(_first(["vectorstore"], catalog), why=why, usage=_usage(started), small_talk=True)
        chance, why = self._for_files(question, catalog)
        source = _first(["vectorstore"] if chance >= 0.5 else ["web_search", "vectorstore"], catalog)
        steps = questions.complexity(question) if catalog.multi and source == "vectorstore" else "single"
        return Route(source, steps, why, _usage(started))

    def _for_files(self, question: str, catalog: Catalog) -> tuple[float, str]:
        """The probability that the files answer the question, by their nearest passages, and the evidence in words."""
        near = [(float(p.metadata.get("score") or 0.0), f"{head(p)} {p.page_content}") for p in catalog.passages]
        if catalog.about:
            vectors = self._embedder.embed_documents([catalog.about]), self._embedder.embed_queries([question])
            near.append((float(vectors[0][0] @ vectors[1][0]), catalog.about))
        if not near:
            return 0.0, "the index is empty"
        weights, lowered = questions.stem_weights(question, self._corpus), question.casefold()
        present = not PRESENT.isdisjoint(words_of(lowered)) or bool(_RELATIVE.search(lowered))
        named = names(question) | numbers(question)
        rows = [(cosine, questions.coverage(weights, text), _lacking(named, text), present) for cosine, text in near]
        logit, best = max(
            (ROUTE_BIAS + sum(weight * value for weight, value in zip(ROUTE_WEIGHTS, row, strict=True)), row)
            for row in rows
        )
        why = f"nearest passage {best[0]:.2f}, holds {best[1]:.0%} of the question"
        why += f" and lacks {best[2]:.0%} of its names" if best[2] else ""
        return probability(logit), why + ("; it asks about the present" if present else "")

    def needs_retrieval(
        self, question: str, catalog: Catalog, documents: Sequence[Document] = (), written: str = ""
    ) -> Need:
        """The files first: it cannot write, so without them it has nothing to say.

        Then a search for what the last sentence names while words of the question are not covered; where it names
        nothing new the passages at hand may hold the rest.
        """
        started = time.perf_counter()
        cancel.check()
        if not written:
            return Need("yes", 1.0, "this engine only quotes", _usage(started))
        left, query = questions.uncovered(question, written), _after(question, written)
        if not left:
            return Need("no", why="every word of the question is covered", usage=_usage(started))
        why = f"not covered: {joined(map(repr, left))}"
        return Need("yes" if query else "continue", why=why, usage=_usage(started), query=query)

    def room(self, question: str, documents: Sequence[Document]) -> int:
        """What is left of `READ`."""
        return max(0, READ - sum(len(document.page_content) for document in documents))

    def relevance(self, question: str, documents: Sequence[Document], *, scored: bool = False) -> list[Relevance]:
        """Probabilities that the passages hold the answer, as the evaluator reads them; none in another language."""
        started = time.perf_counter()
        cancel.check()
        if not documents:
            return []
        english = _is_english(question)
        verdicts = (
            self._reader.relevance(question, documents) if english else [Relevance("irrelevant") for _ in documents]
        )
        answers = document_answers(question, documents) or sentences_on_topic(question, documents)
        for number in {answer.passage for answer in answers}:
            known = verdicts[number]
            why = "; ".join(filter(None, ("it says this of its document", known.why)))
            verdicts[number] = Relevance("relevant", max(known.score or 0.0, SCORE), why)
        usage = _usage(started) if english or answers else self._not_english(started)
        return [replace(verdicts[0], usage=usage), *verdicts[1:]]

    def answer(self, question: str, documents: Sequence[Document], attempt: Attempt) -> Iterator[AnswerDelta]:
        """The sentence around the best short answer, with its mark; else the fixed reply.

        Several only where the question is open, or where the user has set a style or a number of sentences. A sentence
        is verbatim but for its line breaks, which become blanks; a list keeps its lines. After several steps of
        reasoning the sentence that answers the last of them is added. A part of an answer is new all through.
        """
        started = time.perf_counter()
        cancel.check()
        sentences: list[str] = []
        if documents and not attempt.direct:
            failed = " ".join([attempt.written or "", *(draft for draft, _ in attempt.failed)])
            sentences = marked_answers(question, documents, attempt.shape, failed)
            sentences = sentences or self._quoted(question, documents, attempt, failed)
        pieces = list(_pieces(list(dict.fromkeys(sentences)), attempt.shape))
        for piece in pieces[:-1]:
            cancel.check()
            yield AnswerDelta(piece)
        if pieces:
            yield AnswerDelta(pieces[-1], usage=replace(_usage(started), notes=tuple(_unmet(pieces, attempt.shape))))
        else:
            usage = _usage(started) if _is_english(question) else self._not_english(started)
            yield AnswerDelta(attempt.shape.refusal, usage=usage)

    def _quoted(self, question: str, documents: Sequence[Document], attempt: Attempt, failed: str) -> list[str]:
        """The best sentences with their marks; of what a question names alone, where that answers."""
        every = [(part, number) for number, document in enumerate(documents, 1) for part in stored(document)]
        named = [every[place] for place in of_named(question, [passage for passage, _ in every])]
        for passages in filter(None, (named, every)):
            plain = [passage for passage, _ in passages]
            chosen = self._chosen(question, plain, attempt, failed)
            sentences = [f"{sentence} [{passages[place][1]}]" for sentence, place in chosen]
            sentences = sentences or marked_answers(question, documents, attempt.shape, failed, on_topic=True)
            if sentences:
                return sentences
        return []

    def _chosen(
        self, question: str, passages: Sequence[Document], attempt: Attempt, failed: str
    ) -> list[tuple[str, int]]:
        """The sentences that answer best, each with the number of its passage (from 0)."""
        shape, thoughts = attempt.shape, attempt.thoughts
        following = _after(question, attempt.written) if attempt.written else ""
        chosen: list[tuple[str, int]] = []
        if not following and _is_english(question):
            several = shape.style != "short" or (attempt.written is None and shape.sentences != Shape().sentences)
            chosen = self._reader.chosen(question, passages, failed, shape.sentences, several=several)
        last = questions.next_query(question, thoughts[-2], thoughts[:-2]) if len(thoughts) > 1 else ""
        for query in filter(None, (following, last)):
            chosen += self._leading(query, passages, failed)[: shape.sentences]
        return chosen

    def _leading(
        self, query: str, passages: Sequence[Document], failed: str, least: float = COVERED
    ) -> list[tuple[str, int]]:
        """The sentences that hold most of the words of a query, best first, none that `failed` holds."""
        weights = questions.stem_weights(query, self._corpus)
        wanted, drafts = set(weights), f" {' '.join(words_of(without_marks(failed)))} "
        scored = [
            (questions.coverage(weights, quote.text) + questions.coverage(weights, quote.context) / 2, quote)
            for quote in quotes(passages)
        ]
        ranked = sorted((pair for pair in scored if pair[0] >= least), key=lambda pair: -pair[0])
        written = [(as_written(quote, wanted), quote.document) for _, quote in ranked]
        return [(text, place) for text, place in written if f" {' '.join(words_of(text))} " not in drafts]

    def reason(self, question: str, documents: Sequence[Document], thoughts: Sequence[str]) -> Thought:
        """The sentence that leads on, and a query for what it names; `done` where nothing is left to look for."""
        started = time.perf_counter()
        cancel.check()
        leading = self._leading(question, documents, "", least=0.0)
        known = {" ".join(words_of(thought)) for thought in thoughts}
        plain = (" ".join(text.split()) for text, _ in leading)
        sentence = next((text for text in plain if " ".join(words_of(text)) not in known), "")
        query = questions.next_query(question, sentence, thoughts) if sentence else ""
        return Thought(sentence, done=not query, query=query, usage=_usage(started))

    def grade(self, question: str, documents: Sequence[Document], generation: str, *, check: Check = "both") -> Grade:
        """Support from containment in the passages, usefulness from the chance that the text answers the question."""
        started = time.perf_counter()
        cancel.check()
        if is_refusal(generation.strip()) or not words_of(generation):
            return Grade("no", 1, (), "no answer", _usage(started), score=0.0)
        judged = sentence_supports(generation, list(map(_with_properties, documents)), self._reader.supports)
        supports = tuple(support for _, support in judged)
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
        if holds_answer(question, documents, without_marks(generation)):
            return 5, SCORE, "what the document says of itself"
        return self._reader.usefulness(question, documents, generation)

    def rewrite(self, question: str, tried: Sequence[str], target: Target) -> Rewrite:
        """A new query of the question's own words; for the web, at most six of them."""
        started = time.perf_counter()
        cancel.check()
        query = questions.another_query(question, tried, questions.MAX_WEB_WORDS if target == "web" else None)
        return Rewrite(query, _usage(started))

    def standalone(self, question: str, history: Sequence[Turn]) -> Rewrite:
        """The follow-up with the content words of the last question, where it does not stand alone."""
        started = time.perf_counter()
        cancel.check()
        return Rewrite(questions.standalone(question, history), _usage(started))

    def _not_english(self, started: float) -> Usage:
        """The usage of a task that reads English alone, with a word about it, once in a question."""
        told: list[str] = question_memory.current().get((self, "told"), list)
        told.append(ENGLISH_ONLY)
        return replace(_usage(started), notes=(ENGLISH_ONLY,) if len(told) == 1 else ())


def _is_english(question: str) -> bool:
    return detected(question, "en") == "en"


def _after(question: str, written: str) -> str:
    """What to look for after the last sentence of a text."""
    *before, last = [span.of(written) for span in sentences_of(written)] or [""]
    return questions.next_query(question, last, before)


def _lacking(named: set[str], text: str) -> float:
    """Share of a question's names and numbers that a text does not hold."""
    held = set(words_of(text)) | numbers(text)
    stems = {stem(word) for word in held}
    return sum(name not in held and stem(name) not in stems for name in named) / max(1, len(named))


def _first(sources: Sequence[Source], catalog: Catalog) -> Source:
    """The first of these sources that is allowed, or else the first allowed one."""
    return next((source for source in sources if source in catalog.allowed), catalog.allowed[0])


def _usage(started: float) -> Usage:
    return Usage(seconds=time.perf_counter() - started)


def _with_properties(document: Document) -> str:
    """The text of a passage, and what its file says of itself outside of it."""
    return "\n\n".join([document.page_content, *(known.sentence for known in properties(document))])


def _pieces(quotes: Sequence[str], shape: Shape) -> Iterator[str]:
    """The quotes with what stands before each of them: a blank, a new line, or the bullet or number of a list."""
    listed = shape.style != "short"
    for number, quote in enumerate(quotes):
        before = "" if number == 0 else "\n" if listed or "\n" in quote + quotes[number - 1] else " "
        bullet = f"{number + 1}. " if shape.style == "steps" else "- "
        yield f"{before}{bullet if listed and chr(10) not in quote else ''}{quote}"


def _unmet(quotes: Sequence[str], shape: Shape) -> Iterator[str]:
    """What a person should know who asked for more than quotes can give."""
    if shape.style == "table":
        yield "the extractive engine quotes sentences: they are set out as a list, not as a table"
    wanted, written = code_of(shape.language), detected(" ".join(quotes))
    if wanted and written and wanted != written:
        yield f"the extractive engine quotes: its answer keeps the language of the files and is not in {shape.language}"
