"""ExtractiveEngine: an engine without a language model. It quotes; similarity, words and kinds of answer decide."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core import cancel, question_memory
from local_rag.core.critique import overall
from local_rag.core.documents import Catalog
from local_rag.core.generation import NOT_IN_PASSAGES, AnswerDelta, Attempt, Rewrite, Turn
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Check, Grade, Need, Relevance, RelevanceLabel, Route, Source, Target, Thought
from local_rag.engines.extractive import questions, reasoning
from local_rag.engines.extractive.answerability import Answerability, shipped
from local_rag.engines.extractive.quotes import Quote, about, as_written
from local_rag.engines.extractive.scoring import Reading, Readings, probability
from local_rag.engines.extractive.support import sentence_supports
from local_rag.text.display import joined, plural, shorten
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.marks import marks, without_marks
from local_rag.text.sentences import Span
from local_rag.text.words import content_stems, stem
from local_rag.text.words import words as words_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Corpus, Embedder
    from local_rag.core.verdicts import Support

SCORES = 2
"""Counts up whenever the scores change: thresholds that were calibrated before hold no longer."""
RELEVANT = 0.5
"""Probability from which a passage is relevant; see `scoring.PASSAGE_WEIGHTS`."""
PRESENT = 0.5
"""Probability from which the passages are about the question at all; see `answerability`.

SQuAD v2 in the index of 1,189 passages, each answerable question with its article and without it, precision/recall of
refusing: .946/.940 on test with coefficients and balance of dev, .941/.945 on dev with those of test (top-1 cosine
alone: .890/.922 and .900/.845).
"""
ANSWERS = 0.1
"""Chance of the right answer below which nothing is quoted; see `answerability`.

SQuAD v2 test in the index of 1,189 passages, coefficients of dev. Least chance: right answers, adversarial questions
refused. 0: .775, .162; 0.1: .770, .249; 0.2: .740, .432; 0.3: .671, .581; 0.4: .563, .725. Dev, coefficients of test:
0: .758, .125; 0.1: .734, .232; 0.2: .700, .368; 0.3: .608, .524. With the threshold that balances the other split the
refusals of adversarial questions (index of the split's own articles) have precision/recall .713/.711 on test and
.638/.678 on dev; the top-1 cosine alone .627/.659 and .608/.580.
"""
NEAREST = 0.30
"""Cosine of the nearest passage below which the files are not worth searching.

SQuAD v2 dev: under it are 2.8 % of the questions that the index answers and 62 % of the others; 0.8 and 28 % in the
larger index.
"""
MAX_SENTENCES = 3
MARGIN = {True: 0.5, False: 1.0}
"""How far (logit) a further sentence may stand behind the best: for short answers, for others.

Gold string in the answer, SQuAD v2 dev (831 questions, four nearest passages): .782 with 1.3 sentences each; .72 with
one sentence, .815 with margins of 2 and 1.8 sentences. Test (890 questions): .793 with 1.4. All before
`answerability`, which refuses some of them.
"""
KIND = 0.5
"""Logits by which a sentence without the kind asked for steps back behind one that holds it (time, number, …).

Not measured alone. With it and the stricter reading of kinds .763 of dev's answers hold the gold string, before .764.
"""
SAME = 0.9
"""Cosine from which two sentences say the same."""
USEFUL = (0.1, 0.3, 0.5, 0.9)
"""Probabilities from which an answer has usefulness 2, 3, 4 and 5; what is good enough to be given is useful (4).
"""
DOUBTED = 3
"""The most that an answer is worth which may be to another question: shown, and marked as not good enough.

SQuAD v2 in the index of 1,189 passages, first attempts, without and with such doubts (dev; test): useful answers that
hold the gold string .807 and .850; .826 and .855. Useful answers to adversarial questions .880 and .639; .850 and .676;
to questions whose article was left out .064 and .031; .067 and .031. The price: right and useful .762 and .670; .778
and .687. Right answers of the dev answers that each doubt lowers: kind 3 of 8, missing name or number 39 of 56,
missing rare word 11 of 24, little covered 23 of 42. With `ANSWERS` besides: useful answers with the gold .850 and
.858, to adversarial questions .602 and .604, article left out .026 and .024; right and useful .662 and .684.
"""
TELLING = 0.4
"""Share of the question's weight from which a missing word is one that tells; names and numbers always are."""
LEAST_COVERED = {True: 0.5, False: 0.3}
"""Share of the question's weight that the quotes must hold, with title and heading: short answers, others."""
NEIGHBOURS, MAX_TERMS = 4, 30
"""Passages whose rarest terms a rewritten query may borrow, and how many of them in all."""


class ExtractiveEngine:
    """Quotes the sentences that answer best. `corpus` tells how rare words are; without it all weigh alike.

    `relevant` and `answers` are the least probabilities of a passage that is relevant and of an answer that is given.
    """

    name = "extractive"
    describe = "extractive: quotes sentences from your files; it does not write, summarise or reason"

    def __init__(
        self,
        embedder: Embedder,
        corpus: Corpus | None = None,
        *,
        relevant: float = RELEVANT,
        answers: float = ANSWERS,
        answerability: Answerability | None = None,
    ) -> None:
        self._embedder = embedder
        self._corpus = corpus
        self._relevant = relevant
        self._answers = answers
        self._answerability = answerability or shipped()

    @property
    def fingerprint(self) -> str:
        return f"extractive {SCORES}-{self._answerability.fingerprint}; {self._embedder.fingerprint}"

    def prepare(self) -> None:
        """Nothing: whoever opened the embedder loads it, with a word about the pause."""

    def close(self) -> None:
        """Nothing: the index and the embedder belong to whoever opened them."""

    def route(self, question: str, catalog: Catalog) -> Route:
        """The files, unless nothing in them comes near and the web is allowed. Never `direct`: it cannot write."""
        started = time.perf_counter()
        cancel.check()
        near = catalog.nearest
        far = near is None or near < NEAREST
        source: Source = "web_search" if far and "web_search" in catalog.allowed else "vectorstore"
        if source not in catalog.allowed:
            source = catalog.allowed[0]
        found = "the index is empty" if near is None else f"nearest passage {near:.2f}, limit {NEAREST:.2f}"
        steps = reasoning.complexity(question) if catalog.multi and source == "vectorstore" else "single"
        return Route(source, steps, found, _usage(started))

    def needs_retrieval(self, question: str, catalog: Catalog) -> Need:
        """Always: it cannot write, so without the files it has nothing to say."""
        started = time.perf_counter()
        cancel.check()
        return Need(True, 1.0, "this engine only quotes", _usage(started))

    def relevance(self, question: str, documents: Sequence[Document], *, scored: bool = False) -> list[Relevance]:
        """Probabilities that the passages are about the question, and the words and similarity behind them."""
        started = time.perf_counter()
        cancel.check()
        if not documents:
            return []
        reading = self._readings().of(question, documents)
        verdicts = []
        for number, logit in enumerate(reading.passages):
            score = probability(logit)
            label: RelevanceLabel = "relevant" if score >= self._relevant else "irrelevant"
            usage = _usage(started) if number == 0 else Usage()
            verdicts.append(Relevance(label, score, _why(reading, number), usage))
        return verdicts

    def answer(self, question: str, documents: Sequence[Document], attempt: Attempt) -> Iterator[AnswerDelta]:
        """The best one to three sentences, each with its mark; the fixed reply where none is good enough.

        A sentence is verbatim but for its line breaks, which become blanks; a list keeps its lines. After several steps
        of reasoning the sentences that answer the last of them are added.
        """
        started = time.perf_counter()
        cancel.check()
        chosen: list[str] = []
        if documents and not attempt.direct:
            failed = " ".join(draft for draft, _ in attempt.failed)
            for asked in [question, *reasoning.last_query(question, attempt.thoughts)]:
                reading = self._readings().of(asked, documents)
                chosen += [
                    f"{as_written(quote, set(reading.weights))} [{quote.document + 1}]"
                    for quote in self._choose(reading, failed)
                ]
            chosen = list(dict.fromkeys(chosen))
        yield from _pieces(chosen or [NOT_IN_PASSAGES], started)

    def reason(self, question: str, documents: Sequence[Document], thoughts: Sequence[str]) -> Thought:
        """The sentence that leads on, and a query for what it names; see `stepping`."""
        started = time.perf_counter()
        cancel.check()
        if not documents:
            return Thought("", done=True, usage=_usage(started))
        thought = reasoning.next_step(self._readings().of(question, documents), thoughts)
        return replace(thought, usage=_usage(started))

    def grade(self, question: str, documents: Sequence[Document], generation: str, *, check: Check = "both") -> Grade:
        """Support from containment in the passages, usefulness from the chance that the text answers the question."""
        started = time.perf_counter()
        cancel.check()
        if generation.strip() == NOT_IN_PASSAGES or not words_of(generation):
            return Grade("no", 1, (), "no answer", _usage(started), score=0.0)
        found = sentence_supports(generation, [document.page_content for document in documents])
        supports: tuple[Support, ...] = tuple(support for _, support in found)
        foreign = next((piece for piece, support in found if support != "fully"), "")
        if check == "support":
            return Grade(overall(supports), 0, supports, _foreign(foreign), _usage(started))
        usefulness, score, why = self._usefulness(question, documents, generation)
        if check == "usefulness":
            return Grade("unparsed", usefulness, (), why, _usage(started), score=score)
        why = "; ".join(filter(None, (_foreign(foreign), why)))
        return Grade(overall(supports), usefulness, supports, why, _usage(started), score=score)

    def rewrite(self, question: str, tried: Sequence[str], target: Target) -> Rewrite:
        """A new query: for the files with rare words of the nearest passages, for the web with the question's own."""
        started = time.perf_counter()
        cancel.check()
        if target == "web":
            candidates = questions.web_queries(question)
        else:
            candidates = questions.file_queries(question, self._terms_near(question))
        return Rewrite(questions.first_new(candidates, tried), _usage(started))

    def standalone(self, question: str, history: Sequence[Turn]) -> Rewrite:
        """The follow-up with the content words of the last question, where it does not stand alone."""
        started = time.perf_counter()
        cancel.check()
        return Rewrite(questions.standalone(question, history), _usage(started))

    def _choose(self, reading: Reading, drafts: str) -> list[Quote]:
        return choose(reading, drafts, self._answerability, self._answers)

    def _readings(self) -> Readings:
        return question_memory.current().get(self, lambda: Readings(self._embedder, self._corpus))

    def _usefulness(self, question: str, documents: Sequence[Document], generation: str) -> tuple[int, float, str]:
        if not documents:
            return 1, 0.0, "no passages"
        plain = " ".join(without_marks(generation).split())
        whole = [
            Quote(number, 0, Span(0, 0), plain, document.page_content) for number, document in enumerate(documents)
        ]
        reading = self._readings().read(question, documents, whole)
        score = self._score(question, documents, plain)
        if score is None:
            score = self._judged(reading)
        level = 1 + sum(probability(max(reading.answers)) >= least for least in USEFUL)
        doubt = _doubt(reading, _cited(documents, generation), plain)
        if doubt:
            return min(level, DOUBTED), score, doubt
        return level, score, f"{_covered(question, plain)[0]} of the question"

    def _score(self, question: str, documents: Sequence[Document], generation: str) -> float | None:
        """The chance that the best of the quotes in a text is right; None where it holds none."""
        reading = self._readings().of(question, documents)
        said, wanted = f" {' '.join(words_of(generation))} ", set(reading.weights)
        held = [
            place
            for place, quote in enumerate(reading.quotes)
            if f" {' '.join(words_of(as_written(quote, wanted)))} " in said
        ]
        return self._judged(reading, held) if held else None

    def _judged(self, reading: Reading, places: Sequence[int] = ()) -> float:
        best = max(places or range(len(reading.quotes)), key=lambda place: reading.answers[place])
        return self._answerability.judge(reading, best).score

    def _terms_near(self, question: str) -> list[str]:
        """Words of the nearest passages that the question lacks, best first by tf·idf; none without a corpus."""
        if self._corpus is None:
            return []
        known = set(content_stems(question)) | STOP_WORDS
        counts = Counter(
            word
            for document in self._corpus.search(question, NEIGHBOURS)
            for word in words_of(document.page_content)
            if len(word) > 3 and word.isalpha() and stem(word) not in known and word not in known
        )
        frequency = self._corpus.document_frequency(sorted(counts))
        chunks = 1 + self._corpus.count()
        weight = {word: count * math.log(1 + chunks / (1 + frequency.get(word, 0))) for word, count in counts.items()}
        return sorted(weight, key=lambda word: (-weight[word], word))[:MAX_TERMS]


def _foreign(sentence: str) -> str:
    return f"not in the passages: {shorten(sentence, 80)!r}" if sentence else ""


def _usage(started: float) -> Usage:
    return Usage(seconds=time.perf_counter() - started)


def _why(reading: Reading, number: int) -> str:
    """The evidence for a verdict in plain words."""
    covered, missing = _covered(reading.question, reading.documents[number].page_content)
    lacking = f"; missing: {joined(map(repr, missing))}" if missing else ""
    return f"{covered}, similarity {reading.features[number].cosine:.2f}{lacking}"


def _cited(documents: Sequence[Document], generation: str) -> list[Document]:
    """The passages that an answer cites; all of them where it cites none."""
    cited = {number - 1 for _, numbers in marks(generation) for number in numbers}
    return [document for place, document in enumerate(documents) if place in cited] or list(documents)


def _doubt(reading: Reading, cited: Sequence[Document], quoted: str) -> str:
    """Why an answer may be to another question, in plain words; empty where nothing says so."""
    if questions.lacks_kind(reading.asked, reading.question, quoted):
        return f"the question asks for a {reading.asked}, and no quoted sentence holds one"
    heads = " ".join(map(about, cited))
    missing = reading.telling_words(
        f"{quoted} {heads} {' '.join(document.page_content for document in cited)}", TELLING
    )
    if missing:
        return f"neither the quotes nor their passages hold {joined(map(repr, missing), 'or')}"
    if reading.covered(f"{quoted} {heads}") < LEAST_COVERED[reading.asked in questions.SHORT_ANSWERS]:
        return f"the quotes hold little of the question: {_covered(reading.question, quoted)[0]}"
    return ""


def _covered(question: str, passage: str) -> tuple[str, list[str]]:
    words = questions.subject_words(question)
    held = set(content_stems(passage))
    missing = [word for word in words if stem(word) not in held]
    return f"covers {len(words) - len(missing)} of {plural(len(words), 'word')}", missing


def choose(
    reading: Reading, drafts: str, answerability: Answerability | None = None, answers: float = ANSWERS
) -> list[Quote]:
    """The best quotes, none that a failed draft held; none at all where the best one hardly is the right answer.

    They come in the order of the passages; where a short answer is asked for, the best comes first.
    """
    model = answerability or shipped()
    failed = " ".join(words_of(without_marks(drafts)))
    wanted = set(reading.weights)
    ranked = sorted(range(len(reading.quotes)), key=lambda place: (-reading.answers[place], place))
    short = reading.asked in questions.SHORT_ANSWERS
    if short:
        ranked.sort(key=lambda place: (-reading.answers[place] + KIND * (reading.quote(place).fits < 0), place))
    chosen: list[int] = []
    for place in ranked:
        cancel.check()
        if len(chosen) == MAX_SENTENCES:
            break
        if chosen and reading.answers[place] < reading.answers[chosen[0]] - MARGIN[short]:
            break
        if " ".join(words_of(as_written(reading.quotes[place], wanted))) in failed:
            continue
        judged = model.judge(reading, place)
        if not chosen and (judged.present < PRESENT or judged.score < answers):
            return []
        if judged.present < PRESENT:
            continue
        off_target = short and reading.quote(place).fits < 0
        if not chosen or not (off_target or any(_same(reading, place, other) for other in chosen)):
            chosen.append(place)
    return [reading.quotes[place] for place in (chosen if short else sorted(chosen))]


def _same(reading: Reading, one: int, other: int) -> bool:
    """Whether two quotes say the same, or one holds the other."""
    first, second = reading.quotes[one], reading.quotes[other]
    if first.document == second.document and first.span.start < second.span.end and second.span.start < first.span.end:
        return True
    return float(reading.vectors[one] @ reading.vectors[other]) >= SAME


def _pieces(sentences: Sequence[str], started: float) -> Iterator[AnswerDelta]:
    for number, sentence in enumerate(sentences):
        cancel.check()
        gap = "" if number == 0 else "\n" if "\n" in sentence + sentences[number - 1] else " "
        last = number == len(sentences) - 1
        yield AnswerDelta(gap + sentence, usage=_usage(started) if last else None)
