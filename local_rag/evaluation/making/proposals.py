"""Proposals for a set of cases, one after the other: from a language model if there is one, else from rules."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import ceil
from typing import TYPE_CHECKING, TypeVar

from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.making.model_questions import ModelQuestions
from local_rag.evaluation.making.rules import ideas
from local_rag.evaluation.making.unanswerable import foreign, unsaid, unsaid_of_sections
from local_rag.evaluation.making.wording import is_contents, is_in_english, is_prose, located, sentence_at
from local_rag.evaluation.matching import holds
from local_rag.index.search import document
from local_rag.index.store.schema import Passage
from local_rag.text.display import is_page
from local_rag.text.sentences import Span
from local_rag.text.words import words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.engines.language_model.judge import QuestionProposer
    from local_rag.index.index import Index

T = TypeVar("T")

ROUNDS = 3
"""How often the passages are gone through: the second time for their second question."""
LOOKED = 5000
"""Passages in a row that may give nothing before a round ends, and that are searched for what was kept before."""
FACTS = 3
"""Questions with a short answer for each one from a heading."""
TERMS = 60
"""Terms of the files that questions without an answer may be about."""
LONGEST_TERM = 4
"""Words of such a term."""
FEW_TERMS = 12
"""With fewer they may be about sections too."""
SAMPLE = 40
"""Passages of prose by which the language of an index is told."""
MADE_BY_RULES = frozenset(("definition", "figure", "name", "heading"))
"""Kinds of proposals with an answer that no model made."""


@dataclass(frozen=True)
class Proposal:
    """A case as it would be kept, the passage to show beside it, and where in it the answer stands.

    For a question without an answer the passage is the one that comes nearest, None in an index of no such words.
    """

    case: Case
    passage: Document | None
    marked: Span | None
    kind: str


def edited(proposal: Proposal, question: str, answers: tuple[str, ...]) -> tuple[Proposal, bool]:
    """The proposal with other words, quoting the sentence that holds an answer; False where no sentence does."""
    case = proposal.case
    case = replace(case, id=named(question), question=question, answers=answers, note=f"{case.note}, edited")
    if proposal.passage is None or not (case.relevant and answers):
        return replace(proposal, case=case), True
    target, text = case.relevant[0], proposal.passage.page_content
    if any(located(answer, target.quote) for answer in answers):
        return replace(proposal, case=case), True
    spans = [span for answer in answers if (span := located(answer, text))]
    if spans:
        quote = " ".join(sentence_at(text, spans[0]).of(text).split())
        case = replace(case, relevant=(replace(target, quote=quote),))
    return replace(proposal, case=case), bool(spans)


def named(question: str) -> str:
    """The id of a case: a hash of its question, the same for the same words."""
    return hashlib.sha256(same(question).encode()).hexdigest()[:10]


def same(question: str) -> str:
    """What two questions are compared by."""
    return " ".join(words(question)) or question.strip()


def tails(sources: Sequence[str]) -> dict[str, str]:
    """For each file the shortest end of its path that no other has; a URL stays whole."""
    parts = {source: source.replace("\\", "/").split("/") for source in sources}
    taken = Counter("/".join(path[-size:]) for path in parts.values() for size in range(1, len(path) + 1))
    return {
        source: source
        if is_page(source)
        else next((tail for size in range(1, len(path) + 1) if taken[tail := "/".join(path[-size:])] == 1), source)
        for source, path in parts.items()
    }


class CaseProposals:
    """Proposes questions about an index. `known` are the cases that are there already; none of them comes again.

    Which passages come is decided by the seed. Facts and headings are walked through on their own, each behind the
    last passage that a known case of its kind quotes, so that the same command goes on, and what was dropped before
    that comes again at the very end only.
    """

    def __init__(
        self, index: Index, known: Sequence[Case], seed: int = 0, question_proposer: QuestionProposer | None = None
    ) -> None:
        self.thrown: Counter[str] = Counter()
        """Replies of the model that were not shown, by why."""
        self.notes: list[str] = []
        """What a person should know of how the proposals are made; whoever shows them takes them out."""
        self._index, self._seed = index, seed
        self._model = ModelQuestions(question_proposer, index, self.thrown, self.notes) if question_proposer else None
        self._known = {same(case.question) for case in known}
        self._unanswerable = sum(case.answerable is False for case in known)
        self._files = tails([file.path for file in index.files()])
        self._targets: dict[bool, list[Target]] = {True: [], False: []}
        """What was quoted before: under True for headings, under False for facts."""
        for case in known:
            self._targets[case.note.startswith("proposed: heading")] += [
                target for target in case.relevant if target.quote
            ]

    def mixed(self, answerable: int, unanswerable: int) -> Iterator[Proposal]:
        """So many of both kinds, mixed as evenly as their numbers are, so that a set that is left early is of use.

        Where there are fewer answerable ones than asked for, the unanswerable ones are fewer in proportion.
        """
        sources = {True: self.answered(), False: self.unanswered()}
        wanted = {True: answerable, False: unanswerable}
        left = dict(wanted)
        while any(left.values()):
            kind = max(filter(left.get, left), key=lambda kind: left[kind] / wanted[kind])
            proposal = next(sources[kind], None)
            if proposal is not None:
                left[kind] -= 1
                yield proposal
                continue
            if kind:
                share = 1 - left[True] / wanted[True]
                left[False] = max(0, ceil(share * wanted[False]) - (wanted[False] - left[False]))
            left[kind] = 0

    def answered(self) -> Iterator[Proposal]:
        """Questions with the words that answer them."""
        seen: set[str] = set()
        for proposal in chain(self._by_model(), self._by_rules()):
            if self._is_new(proposal.case.question, seen):
                yield proposal

    def unanswered(self) -> Iterator[Proposal]:
        """Questions that the files do not answer: in turn near ones, about what they do speak of, and foreign ones."""
        seen: set[str] = set()
        near = chain(self._unanswered_by_model(), self._near_by_rules())
        far = ((question, "foreign") for question in foreign(self._index, self._seed))
        for question, kind in _in_turn(near, far):
            if self._is_new(question, seen):
                case = Case(named(question), question, answerable=False, note=f"proposed: {kind}")
                nearest = self._index.search(question, 1)
                yield Proposal(case, nearest[0] if nearest else None, None, kind)

    def _is_new(self, question: str, seen: set[str]) -> bool:
        key = same(question)
        new = key not in self._known and key not in seen
        seen.add(key)
        return new

    # --- the walk

    def _walk(self, *, headings: bool = False) -> Iterator[Passage]:
        """Each passage once, the one behind the last known case of this kind first."""
        quoted, done = self._targets[headings], 0
        passages = islice(self._index.passages(self._seed), LOOKED) if quoted else ()
        for number, passage in enumerate(passages, start=1):
            if any(holds(target, passage.source, passage.page, passage.text) for target in quoted):
                done = number
        later, earlier = (self._index.passages(self._seed) for _ in range(2))
        return chain(islice(later, done, None), islice(earlier, done))

    # --- by a model

    def _by_model(self) -> Iterator[Proposal]:
        """Prose first, then the rest."""
        if self._model:
            prose = (passage for passage in self._walk() if is_prose(passage.text))
            rest = (passage for passage in self._walk() if not (is_prose(passage.text) or is_contents(passage.text)))
            for passage, question, answer in self._model.answered(chain(prose, rest)):
                words_of_answer = " ".join(answer.of(passage.text).split())
                quote = sentence_at(passage.text, answer)
                yield self._proposal(passage, question, words_of_answer, quote, answer, self._model.name)

    def _unanswered_by_model(self) -> Iterator[tuple[str, str]]:
        if self._model:
            prose = (passage for passage in self._index.passages(self._seed + 1) if is_prose(passage.text))
            for question in self._model.unanswered(islice(prose, self._unanswerable, None)):
                yield question, self._model.name

    # --- by rules

    def _by_rules(self) -> Iterator[Proposal]:
        """Mostly sentences with a fact, which have a short answer; now and then a heading, which has none.

        None where a model makes the proposals.
        """
        if self._model and not self._model.given_up:
            return
        passages = (passage for passage in self._index.passages(self._seed) if is_prose(passage.text))
        prose = list(islice(passages, SAMPLE))
        if sum(map(is_in_english, prose)) * 2 < len(prose):
            self.notes.append("the text is not English: only headings can be asked")
        yield from _in_turn(self._of_rules(headings=False), self._of_rules(headings=True), pace=FACTS)

    def _of_rules(self, *, headings: bool) -> Iterator[Proposal]:
        for turn in range(ROUNDS):
            idle = 0
            for passage in self._walk(headings=headings):
                matching = [idea for idea in ideas(passage) if (idea.kind == "heading") == headings]
                if len(matching) > turn:
                    idle = 0
                    idea = matching[turn]
                    span = located(idea.answer, idea.quote.of(passage.text))
                    marked = Span(idea.quote.start + span.start, idea.quote.start + span.end) if span else idea.quote
                    yield self._proposal(passage, idea.question, idea.answer, idea.quote, marked, idea.kind)
                elif not is_contents(passage.text) and (idle := idle + 1) >= LOOKED:
                    break

    def _proposal(self, passage: Passage, question: str, answer: str, quote: Span, marked: Span, kind: str) -> Proposal:
        target = Target(
            self._files.get(passage.source, passage.source), passage.page, " ".join(quote.of(passage.text).split())
        )
        answers = (answer,) if answer else ()
        case = Case(named(question), question, answers, True, (target,), note=f"proposed: {kind}")
        return Proposal(case, document(passage), marked, kind)

    def _near_by_rules(self) -> Iterator[tuple[str, str]]:
        if self._model and not self._model.unanswered_given_up:
            return
        terms: dict[str, bool] = {}
        sections: dict[tuple[str, str], None] = {}
        for passage in islice(self._walk(), LOOKED):
            terms_of_passage = [idea for idea in ideas(passage) if 0 < len(idea.term.split()) <= LONGEST_TERM]
            terms |= {idea.term: idea.many for idea in terms_of_passage if idea.kind != "heading"}
            sections |= {(idea.term, idea.about): None for idea in terms_of_passage if idea.kind == "heading"}
            if len(terms) >= TERMS:
                break
        near = unsaid(self._index, list(terms.items()), self._seed)
        if len(terms) < FEW_TERMS:
            near = chain(near, unsaid_of_sections(self._index, list(sections)[:TERMS], self._seed))
        yield from ((question, "near") for question in near)


def _in_turn(first: Iterator[T], second: Iterator[T], pace: int = 1) -> Iterator[T]:
    """So many of one, then one of the other, until both are used up."""
    while taken := [*islice(first, pace), *islice(second, 1)]:
        yield from taken
