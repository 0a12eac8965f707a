"""Answer by quotes that a small trained evaluator selects, without a language model: ExtractiveEngine."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from local_rag.core import cancel
from local_rag.core.documents import Catalog
from local_rag.core.protocols import AnswerDelta, Attempt, Rewrite, Shape, Turn
from local_rag.core.readings import probability
from local_rag.core.verdicts import Check, Grade, Need, Relevance, Route, Source, Target, Thought, Usage, overall
from local_rag.engines.assessment import DOUBTFUL, EVEN, SURELY, assess, usefulness_of
from local_rag.engines.extractive import queries
from local_rag.engines.extractive.by_words import by_words
from local_rag.engines.extractive.documents import SCORE, document_answers, holds_answer, marked_answers, of_named
from local_rag.engines.extractive.lines import (
    COMPUTED,
    ITEM,
    LISTED,
    Line,
    computed_answers,
    computed_places,
    facts,
    is_all_computed,
    laid_out,
    listed,
    may_be_all,
    statements,
    unmet,
)
from local_rag.engines.extractive.quotes import as_written, quotes, spoken
from local_rag.engines.extractive.reader import ExtractiveReader
from local_rag.text import questions
from local_rag.text.answer_language import OF_QUESTION, TABLES, is_refusal, texts_for
from local_rag.text.display import joined, reasons, shorten
from local_rag.text.languages import NAMES, detected
from local_rag.text.lexicon import PRESENT
from local_rag.text.marks import without_marks
from local_rag.text.metadata import properties
from local_rag.text.names import head
from local_rag.text.numbers import names, numbers
from local_rag.text.support import sentence_supports
from local_rag.text.words import words as words_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Corpus, Embedder, Evaluator

SCORES = 8
"""The version of the scores, increased with every change: thresholds that were calibrated for earlier ones are void."""
COVERED = 0.75
"""The least coverage of a sentence that is quoted for a further search: the share of the query's words in it, plus half
of the share in it and its neighbours.
"""
ONE_LANGUAGE = "the extractive engine reads {language}, and others by their words alone; with Ollama any is answered"
"""The note for a person who asks in a language that the evaluator was not trained on."""

ROUTE_WEIGHTS, ROUTE_BIAS = (4.8, 5.6, -0.9, -2.1), -4.2
"""The weights of a passage's cosine, of the share of the question that it holds, of the share of the question's names
that it lacks, and of a question about the present: a logistic regression on half of the questions of
`tests/data/routing`, over indexes of 5, 500 and 5,000 documents, and on questions of SQuAD v2 and ClapNQ dev; see
docs/measurements.md.
"""
_RELATIVE = re.compile(
    r"\b(?:this|last|next) (?:week|weekend|month|year|season|spring|summer|autumn|winter|[a-z]+day)\b"
)
_UNTOLD = re.compile(rf"\s*(?:{'|'.join(re.escape(texts.not_told) for texts in TABLES.values())}): .+\Z", re.DOTALL)
"""The line that names the parts of a question without an answer."""
_LABEL = re.compile(r"^[^\n\[\]]{1,60}:\n(?=- )", re.MULTILINE)
"""The name of a side, above the quotes for it."""

P = ParamSpec("P")
Verdict = TypeVar("Verdict", Route, Need, Thought, Grade, Rewrite)


def _timed(task: Callable[P, Verdict]) -> Callable[P, Verdict]:
    """Add the seconds of a task to the usage of its verdict; the task does not begin after a stop."""

    @wraps(task)
    def timed(*given: P.args, **named: P.kwargs) -> Verdict:
        started = time.perf_counter()
        cancel.check()
        return replace(task(*given, **named), usage=_usage(started))

    return timed


class ExtractiveEngine:
    """Quote the sentences that answer best by the evaluator's reading.

    `corpus` provides the frequency of words; without it all words weigh alike. `relevant` and `answers` are the least
    probabilities of a relevant passage and of an answer that is given; by default those of the evaluator's calibration.
    """

    name = "extractive"
    describe = "extractive: quotes sentences from your files; it does not write, summarise or reason"
    writes = False
    grades_by: Literal["evaluator"] = "evaluator"

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
        self._reader = ExtractiveReader(evaluator, corpus, relevant, answers)

    @property
    def fingerprint(self) -> str:
        return f"extractive {SCORES}; {self._embedder.fingerprint}; evaluator {self._reader.evaluator.fingerprint}"

    def prepare(self) -> None:
        """Do nothing: the caller that opened the embedder and the evaluator loads them, and reports the pause."""

    def close(self) -> None:
        """Do nothing: index, embedder and evaluator belong to the caller that opened them."""

    @_timed
    def route(self, question: str, catalog: Catalog) -> Route:
        """Choose the files, unless they hardly answer and the web is allowed; never `direct`, because the engine cannot
        write.

        Small talk is searched for nowhere. The owner's description of the index counts like one of its passages.
        """
        if questions.kind_of(question) == "small talk":
            why = "small talk, which no file and no page answers"
            return Route(_first(["vectorstore"], catalog), why=why, small_talk=True)
        chance, why = self._for_files(question, catalog)
        source = _first(["vectorstore"] if chance >= 0.5 else ["web_search", "vectorstore"], catalog)
        steps = questions.complexity(question) if catalog.multi and source == "vectorstore" else "single"
        return Route(source, steps, why)

    def _for_files(self, question: str, catalog: Catalog) -> tuple[float, str]:
        """Return the probability that the files answer the question, by their nearest passages, and the evidence in
        words.
        """
        near = [(float(p.metadata.get("score") or 0.0), f"{head(p)} {p.page_content}") for p in catalog.passages]
        if catalog.about:
            vectors = self._embedder.embed_documents([catalog.about]), self._embedder.embed_queries([question])
            near.append((float(vectors[0][0] @ vectors[1][0]), catalog.about))
        if not near:
            return 0.0, "the index is empty"
        weights, lowered = questions.stem_weights(question, self._corpus), question.casefold()
        present = not PRESENT.isdisjoint(words_of(lowered)) or bool(_RELATIVE.search(lowered))
        named = names(question) | numbers(question)
        most = max(1, len(named))
        rows = [
            (score, questions.coverage(weights, text), len(questions.lacking(named, text)) / most, present)
            for score, text in near
        ]
        logit, best = max(
            (ROUTE_BIAS + sum(weight * value for weight, value in zip(ROUTE_WEIGHTS, row, strict=True)), row)
            for row in rows
        )
        why = f"nearest passage {best[0]:.2f}, holds {best[1]:.0%} of the question"
        why += f" and lacks {best[2]:.0%} of its names" if best[2] else ""
        return probability(logit), why + ("; it asks about the present" if present else "")

    @_timed
    def needs_retrieval(
        self,
        question: str,
        catalog: Catalog,
        documents: Sequence[Document] = (),
        written: str = "",
        graded: Sequence[Document] = (),
    ) -> Need:
        """Ask for the files first: the engine cannot write, so without them it has no answer.

        Later, ask for a search for the names of the last sentence while words of the question are not covered; if it
        names nothing new, the present passages may hold the rest.
        """
        if not written:
            return Need("yes", why="this engine only quotes")
        left, query = questions.uncovered(question, written), queries.query_after(question, written)
        if not left:
            return Need("no", why="every word of the question is covered")
        why = f"not covered: {joined(map(repr, left))}"
        return Need("yes" if query else "continue", why=why, query=query)

    def relevance(self, question: str, documents: Sequence[Document]) -> list[Relevance]:
        """Return the probabilities that the passages hold the answer, by the evaluator; by words alone in another
        language.
        """
        started = time.perf_counter()
        cancel.check()
        if not documents:
            return []
        readable = self.reads(question)
        nowhere = queries.nowhere(question, documents, self._corpus) if readable else ""
        verdicts = [Relevance("irrelevant", why=nowhere) for _ in documents]
        if readable and not nowhere:
            read = zip(self._reader.relevance(question, documents), documents, strict=True)
            verdicts = [self._unless_of_another(question, document, documents, verdict) for verdict, document in read]
        answers = document_answers(question, documents)
        asked = [] if nowhere else questions.asked(question) if readable else [question]
        set_out = [line for text in asked for line in self._set_out(text, documents)]
        known = {answer.passage: (SCORE, "it says this of its document") for answer in answers}
        computed = dict.fromkeys(computed_places(documents), (SCORE, COMPUTED))
        known = {line.passage: (line.share, "its words are those of the question") for line in set_out} | known
        known |= computed
        for number, (score, reason) in known.items():
            verdict = verdicts[number]
            verdicts[number] = Relevance("relevant", max(verdict.score or 0.0, score), reasons(reason, verdict.why))
        usage = _usage(started)
        if not known and (nowhere or not readable):
            usage = self._noted(started, nowhere) if nowhere else self._unread(started)
        return [replace(verdicts[0], usage=usage), *verdicts[1:]]

    def _unless_of_another(
        self, question: str, document: Document, documents: Sequence[Document], verdict: Relevance
    ) -> Relevance:
        """Reject a passage for a question about one fact if it lacks words of the question that another file is named
        after.
        """
        several = questions.complexity(question) == "multi" or len(questions.parts(question)) > 1
        if questions.kind_of(question) != "fact" or several:
            return verdict
        weights = questions.stem_weights(question, self._corpus)
        lacks = set(questions.missing(question, f"{head(document)} {document.page_content}", weights))
        other = next((d for d in documents if lacks and not questions.lacking(lacks, head(d))), None)
        if other is None:
            return verdict
        why = f"it does not mention {joined(map(repr, sorted(lacks)), 'or')}, which another file is about"
        return Relevance("irrelevant", verdict.score, why)

    def answer(self, question: str, documents: Sequence[Document], attempt: Attempt) -> Iterator[AnswerDelta]:
        """Yield the sentence around the best short answer, with its mark; else the fixed refusal.

        Several sentences are given only if the question is open or the user has set a style or a number of sentences. A
        sentence is verbatim but for its line breaks, which become blanks; a list keeps its lines. After several steps
        of reasoning the sentence that answers the last step is added. A part of an answer never repeats earlier parts.
        """
        started = time.perf_counter()
        cancel.check()
        sentences: list[str] = []
        if documents and not attempt.direct:
            failed = " ".join([attempt.written or "", *(draft for draft, _ in attempt.failed)])
            sentences = computed_answers(documents, failed)
            sentences = sentences or self._of_parts(question, documents, attempt, failed)
            sentences = sentences or self._said(question, documents, attempt, failed)
        pieces = list(laid_out(list(dict.fromkeys(sentences)), attempt.shape))
        for piece in pieces[:-1]:
            cancel.check()
            yield AnswerDelta(piece)
        if pieces:
            every = self._set_out(question, documents) if questions.kind_of(question) in LISTED else ()
            cut = [f"{len(pieces)} of {len(every)} shown"] if len(pieces) < len(every) else []
            notes = (*unmet(pieces, attempt.shape), *cut)
            yield AnswerDelta(pieces[-1], usage=replace(_usage(started), notes=notes))
        else:
            usage = _usage(started) if self.reads(question) else self._unread(started)
            yield AnswerDelta(attempt.shape.refusal, usage=usage)

    def _of_parts(self, question: str, documents: Sequence[Document], attempt: Attempt, failed: str) -> list[str]:
        """Return the answers to the parts of a question, and a line that names those without one; empty if all are, or
        if it has one part.
        """
        each = list(zip(questions.parts(question), questions.whole_parts(question), strict=True))
        if len(each) < 2:
            return []
        found, missing = list[str](), list[str]()
        for written, part in each:
            said = self._said(part, documents, attempt, failed)
            if said and self._answers(part, documents, " ".join(said))[0] >= DOUBTFUL:
                found += [text for text in said if spoken(text) not in spoken(" ".join(found))]
            else:
                missing.append(f"{written[:1].lower()}{written[1:-1]}")
        untold = f"\n{texts_for(OF_QUESTION, question).not_told}: {'; '.join(missing)}."
        return [*found, *([untold] if missing else [])] if found else []

    def _said(self, question: str, documents: Sequence[Document], attempt: Attempt, failed: str) -> list[str]:
        """Return what the documents say of themselves if that answers, else the best sentences, with their marks."""
        said = marked_answers(question, documents, attempt.shape, failed)
        return said or self._quoted(question, documents, attempt, failed)

    def _quoted(self, question: str, documents: Sequence[Document], attempt: Attempt, failed: str) -> list[str]:
        """Return the best sentences with their marks; from the documents that the question names, if these answer."""
        for places in filter(None, (of_named(question, documents), range(len(documents)))):
            chosen = self._chosen(question, [documents[place] for place in places], attempt, failed)
            if chosen:
                return [f"{sentence} [{places[place] + 1}]" for sentence, place in chosen]
        return []

    def _chosen(
        self, question: str, passages: Sequence[Document], attempt: Attempt, failed: str
    ) -> list[tuple[str, int]]:
        """Return the sentences that answer best, each with the number of its passage (from 0)."""
        thoughts = attempt.thoughts
        following = queries.query_after(question, attempt.written) if attempt.written else ""
        chosen: list[tuple[str, int]] = []
        if not following:
            chosen = self._sides(question, passages, failed) or self._best(question, passages, attempt, failed)
        last = queries.next_query(question, thoughts[-2], thoughts[:-2]) if len(thoughts) > 1 else ""
        for query in filter(None, (following, last)):
            chosen += self._leading(query, passages, failed)[: attempt.shape.sentences]
        return chosen

    def _set_out(self, question: str, passages: Sequence[Document]) -> list[Line]:
        """Return the lines that answer a question by their words, or the items of the list that does."""
        if not self.reads(question):
            return by_words(question, passages, detected(question))
        weights = questions.stem_weights(question, self._corpus)
        found = statements(question, passages, weights) or listed(question, passages, weights)
        return found or facts(question, passages, weights)

    def _best(
        self, question: str, passages: Sequence[Document], attempt: Attempt, failed: str
    ) -> list[tuple[str, int]]:
        """Return the lines that answer by their words, else the answers that the evaluator finds."""
        shape, drafts = attempt.shape, spoken(failed)
        if lines := [line for line in self._set_out(question, passages) if spoken(line.text) not in drafts]:
            every = questions.kind_of(question) in LISTED and shape.sentences == Shape().sentences
            return [(line.text, line.passage) for line in lines[: None if every else shape.sentences]]
        if not self.reads(question):
            return []
        several = shape.style != "short" or (attempt.written is None and shape.sentences != Shape().sentences)
        return self._reader.chosen(question, passages, failed, shape.sentences, several=several)

    def _sides(self, question: str, passages: Sequence[Document], failed: str) -> list[tuple[str, int]]:
        """Return both sides of a comparison: the sentence that holds both, or for each side the answer to its own
        question.

        The answer is from a passage about this side. It stands below the name of the side if its own words do not tell
        the side.
        """
        sides = questions.sides(question)
        best = self._reader.chosen(question, passages, failed, 1) if sides else []
        if not sides or questions.holds_sides(question, " ".join(text for text, _ in best)):
            return best
        chosen: dict[tuple[str, int], str] = {}
        for (label, asked), (other, _) in zip(sides, reversed(sides), strict=True):
            places = _of_side(label, other, passages)
            about = [passages[number] for number in places]
            lines = [(line.text, line.passage) for line in self._set_out(asked, about)]
            for text, place in lines[:1] or self._reader.chosen(asked, about, failed, 1):
                if questions.of_side(label, other, text):
                    chosen.setdefault((text, places[place]), f"{ITEM}{text}")
                elif places[place] not in _of_side(other, label, passages):
                    chosen.setdefault((text, places[place]), f"{label[:1].upper()}{label[1:]}:\n{ITEM}{text}")
        return [(text, place) for (_, place), text in chosen.items()]

    def _leading(
        self, query: str, passages: Sequence[Document], failed: str, least: float = COVERED
    ) -> list[tuple[str, int]]:
        """Return the sentences that hold most of the words of a query, best first, but none that `failed` holds."""
        weights = questions.stem_weights(query, self._corpus)
        wanted, drafts = set(weights), spoken(failed)
        scored = [
            (questions.coverage(weights, quote.text) + questions.coverage(weights, quote.context) / 2, quote)
            for quote in quotes(passages)
        ]
        ranked = sorted((pair for pair in scored if pair[0] >= least), key=lambda pair: -pair[0])
        written = [(as_written(quote, wanted), quote.document) for _, quote in ranked]
        return [(text, place) for text, place in written if spoken(text) not in drafts]

    @_timed
    def reason(self, question: str, documents: Sequence[Document], thoughts: Sequence[str]) -> Thought:
        """Return the sentence that leads to the next step, and a query for its names; `done` if nothing is left to
        search for.
        """
        leading = self._leading(question, documents, " \n".join(thoughts), least=0.0)
        sentence = " ".join(leading[0][0].split()) if leading else ""
        query = queries.next_query(question, sentence, thoughts)
        return Thought(sentence, done=not query, query=query)

    @_timed
    def grade(
        self,
        question: str,
        documents: Sequence[Document],
        generation: str,
        *,
        check: Check = "both",
        graded: Sequence[Document] = (),
        written: bool = False,
    ) -> Grade:
        """Grade support by comparing the text with the passages, and usefulness by the probability that it answers the
        question; `written`: by a language model.
        """
        if is_refusal(generation.strip()) or not words_of(generation):
            return Grade("no", 1, (), "no answer", score=0.0)
        if is_all_computed(generation, documents):
            return Grade("fully", SURELY, (), COMPUTED, score=SCORE)
        passages = list(map(_with_properties, documents))
        headers = list(map(head, documents))
        said, untold = _UNTOLD.sub("", generation), _UNTOLD.search(generation)
        judged = sentence_supports(_LABEL.sub("", said), passages, self._reader.supports, question, headers)
        supports = tuple(support for _, support in judged)
        foreign = next((sentence for sentence, support in judged if support != "fully"), "")
        reason = f"not in the passages: {shorten(foreign, 80)!r}" if foreign else ""
        if check == "support":
            return Grade(overall(supports), 0, supports, reason, assessed=True)
        each = dict(zip(questions.whole_parts(question), questions.parts(question), strict=True))
        asked = [part for part, written in each.items() if not untold or written[1:-1] not in untold[0]]
        about = [(part, documents) for part in asked or [question]]
        if len(judged) > 1 and (sides := questions.sides(question)):
            about = [
                (part, [documents[place] for place in _of_side(label, other, documents)])
                for (label, part), (other, _) in zip(sides, reversed(sides), strict=True)
            ]
        held = " ".join(map(spoken, passages))
        written = written and not all(spoken(sentence) in held for sentence, _ in judged)  # and not quoted
        level, score, why = min(self._answers(part, within, said, written=written) for part, within in about)
        if written and score >= EVEN:  # the evaluator finds its answer in the passages, if not all of its words
            supports = tuple("partially" if support == "no" else support for support in supports)
        if level > DOUBTFUL and (untold or not may_be_all(question, said, len(judged))):
            level, why = DOUBTFUL, untold[0].strip() if untold else f"it is hardly the whole answer; {why}"
        if check == "usefulness":
            return Grade("unparsed", level, (), why, score=score, assessed=True)
        return Grade(overall(supports), level, supports, reasons(reason, why), score=score, assessed=True)

    def _answers(
        self, question: str, documents: Sequence[Document], generation: str, *, written: bool = False
    ) -> tuple[int, float, str]:
        """Assess the items of a list by its introduction, and any other text by the evaluator."""
        if holds_answer(question, documents, without_marks(generation)):
            return SURELY, SCORE, "what the document says of itself"
        held, weights = spoken(generation), questions.stem_weights(question, self._corpus)
        lines = [line for line in self._set_out(question, documents) if spoken(line.text) in held]
        counted = questions.kind_of(question) in LISTED or statements(question, documents, weights)
        if lines and (counted or not self.reads(question)):
            first = lines[0]
            why = f"it holds {first.share:.0%} of the question"
            if first.of > len(lines):
                why = f"{len(lines)} of {first.of} shown"
            return (SURELY if first.complete else DOUBTFUL), first.share, why
        readings = self._reader.read(question, documents, weights)
        chance, why = assess(question, documents, readings, generation, weights, by_words=bool(lines), written=written)
        return usefulness_of(chance), chance, why

    @_timed
    def rewrite(self, question: str, tried: Sequence[str], target: Target) -> Rewrite:
        """Return a query of the question's own words, for the web at most six; empty if it adds nothing."""
        return Rewrite(queries.another_query(question, tried, queries.MAX_WEB_WORDS if target == "web" else None))

    @_timed
    def standalone(self, question: str, history: Sequence[Turn]) -> Rewrite:
        """Add the content words of the last question to a follow-up that does not stand alone."""
        return Rewrite(queries.standalone(question, history))

    def reads(self, question: str) -> bool:
        """Return whether a question is in the evaluator's language; only English and German are told from other
        languages.
        """
        language = self._reader.evaluator.language
        known = language if language in ("en", "de") else ""
        return detected(question, known) == known

    def _unread(self, started: float) -> Usage:
        """Return the usage of a task that could not read the passages because of the question's language."""
        language = self._reader.evaluator.language
        return self._noted(started, ONE_LANGUAGE.format(language=NAMES.get(language, language)))

    def _noted(self, started: float, note: str) -> Usage:
        """Return the usage of a task with a note, which is given once per question."""
        notes: list[str] = cancel.current().memory.setdefault((self, "notes"), [])
        notes.append(note)
        return replace(_usage(started), notes=(note,) if len(notes) == 1 else ())


def _of_side(label: str, other: str, passages: Sequence[Document]) -> list[int]:
    """Return the passages (from 0) about a side of a comparison: those whose header tells it, else those that hold
    its words.
    """
    headed = [n for n, passage in enumerate(passages) if questions.of_side(label, other, head(passage))]
    texts = (f"{head(passage)} {passage.page_content}" for passage in passages)
    return headed or [n for n, text in enumerate(texts) if questions.of_side(label, other, text)]


def _first(sources: Sequence[Source], catalog: Catalog) -> Source:
    """Return the first of these sources that is allowed, else the first allowed one."""
    return next((source for source in sources if source in catalog.allowed), catalog.allowed[0])


def _usage(started: float) -> Usage:
    return Usage(seconds=time.perf_counter() - started)


def _with_properties(document: Document) -> str:
    """Return the text of a passage, followed by sentences that state the properties of its file."""
    return "\n\n".join([document.page_content, *(known.sentence for known in properties(document))])
