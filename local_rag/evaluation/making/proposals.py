"""Proposals for a set of cases, one after the other: from a language model if there is one, else from rules."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import ceil
from typing import TYPE_CHECKING, TypeVar

from local_rag.core.generation import NOT_IN_PASSAGES, Attempt
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.making.idea import Idea, is_in_english
from local_rag.evaluation.making.rules import ideas
from local_rag.evaluation.making.unanswerable import foreign, unsaid, unsaid_of_sections
from local_rag.evaluation.making.wording import is_contents, is_prose, located, sentence_at
from local_rag.evaluation.matching import holds
from local_rag.index.search import document
from local_rag.index.store.schema import Passage
from local_rag.text.display import plural
from local_rag.text.marks import without_marks
from local_rag.text.sentences import Span
from local_rag.text.urls import is_page
from local_rag.text.words import words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.engines.ollama.question_proposer import QuestionProposer
    from local_rag.index.index import Index

T = TypeVar("T")

ROUNDS = 3
"""How often the passages are gone through: the second time for their second question."""
LOOKED = 5000
"""Passages in a row that may give nothing before a round ends, and that are searched for what was kept before."""
USELESS = 8
"""Replies of a model in a row that cannot be used before it is asked no more, and rules go on."""
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
NEAREST = 4
"""Passages from which a model must not be able to answer what is to have no answer."""

_POINTS = re.compile(r"\b(?:this|the|that) (?:passage|excerpt|text|paragraph|extract)\b|\b(?:above|provided)\b", re.I)


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


class Proposer:
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
        self._index, self._seed, self._question_proposer = index, seed, question_proposer
        self._given_up = False
        """Whether the model gave nothing usable for too long."""
        self._missing_given_up = False
        """The same for questions without an answer."""
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
        near = chain(self._missing_by_model(), self._missing_by_rules())
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

    def _walk(self, wanted: Callable[[Passage], bool], *, headings: bool = False) -> Iterator[Passage]:
        """Each passage that is wanted, once, the one behind the last known case of this kind first."""
        done = self._done(self._targets[headings])
        later, earlier = (self._index.passages(self._seed) for _ in range(2))
        walk = chain(islice(later, done, None), islice(earlier, done))
        return (passage for passage in walk if wanted(passage))

    def _done(self, targets: Sequence[Target]) -> int:
        """How many passages were gone through before, by what was quoted of them."""
        if not targets:
            return 0
        passages = islice(self._index.passages(self._seed), LOOKED)
        return max(
            (number for number, passage in enumerate(passages, start=1) if _is_quoted(passage, targets)), default=0
        )

    # --- by rules

    def _by_rules(self) -> Iterator[Proposal]:
        """Mostly sentences with a fact, which have a short answer; now and then a heading, which has none.

        None where a model makes the proposals.
        """
        if self._question_proposer and not self._given_up:
            return
        prose = list(islice(filter(_prose, self._index.passages(self._seed)), SAMPLE))
        if sum(map(is_in_english, prose)) * 2 < len(prose):
            self.notes.append("the text is not English: only headings can be asked")
        yield from _in_turn(self._of_rules(headings=False), self._of_rules(headings=True), pace=FACTS)

    def _of_rules(self, *, headings: bool) -> Iterator[Proposal]:
        for turn in range(ROUNDS):
            idle = 0
            for passage in self._walk(lambda passage: not is_contents(passage.text), headings=headings):
                matching = [idea for idea in ideas(passage) if (idea.kind == "heading") == headings]
                if len(matching) > turn:
                    idle = 0
                    yield self._proposal(passage, matching[turn])
                elif (idle := idle + 1) >= LOOKED:
                    break

    def _proposal(self, passage: Passage, idea: Idea) -> Proposal:
        span = located(idea.answer, idea.quote.of(passage.text))
        marked = Span(idea.quote.start + span.start, idea.quote.start + span.end) if span else idea.quote
        answers = (idea.answer,) if idea.answer else ()
        return self._labelled(passage, idea.question, answers, idea.quote, marked, idea.kind)

    def _labelled(
        self, passage: Passage, question: str, answers: tuple[str, ...], quote: Span, marked: Span, kind: str
    ) -> Proposal:
        target = Target(
            self._files.get(passage.source, passage.source), passage.page, " ".join(quote.of(passage.text).split())
        )
        case = Case(named(question), question, answers, True, (target,), note=f"proposed: {kind}")
        return Proposal(case, document(passage), marked, kind)

    def _missing_by_rules(self) -> Iterator[tuple[str, str]]:
        if self._question_proposer and not self._missing_given_up:
            return
        terms: dict[str, bool] = {}
        sections: dict[tuple[str, str], None] = {}
        for passage in islice(self._walk(lambda _: True), LOOKED):
            terms_of_passage = [idea for idea in ideas(passage) if 0 < len(idea.term.split()) <= LONGEST_TERM]
            terms |= {idea.term: idea.many for idea in terms_of_passage if idea.kind != "heading"}
            sections |= {(idea.term, idea.about): None for idea in terms_of_passage if idea.kind == "heading"}
            if len(terms) >= TERMS:
                break
        near = unsaid(self._index, list(terms.items()), self._seed)
        if len(terms) < FEW_TERMS:
            near = chain(near, unsaid_of_sections(self._index, list(sections)[:TERMS], self._seed))
        yield from ((question, "near") for question in near)

    # --- by a model

    def _by_model(self) -> Iterator[Proposal]:
        """Prose first, then the rest; ends where the model gives nothing that can be used."""
        if self._question_proposer is None:
            return
        useful = useless = 0
        for passage in chain(self._walk(_prose), self._walk(_rest)):
            proposal = self._asked(passage)
            if proposal:
                useful, useless = useful + 1, 0
                yield proposal
            elif (useless := useless + 1) >= USELESS:
                break
        self._given_up = useless >= USELESS or (not useful and useless > 0)
        if self._given_up:
            self.notes.append(f"the model gave nothing usable {plural(useless, 'time')} in a row; going on with rules")

    def _asked(self, passage: Passage) -> Proposal | None:
        assert self._question_proposer
        proposed = self._question_proposer.propose(document(passage))
        marked = located(proposed.answer, passage.text) if proposed.answer else None
        if not self._is_question(proposed.question):
            return None
        if marked is None:
            self.thrown["the words of the answer are not in the passage"] += 1
            return None
        answer = " ".join(marked.of(passage.text).split())
        quote = sentence_at(passage.text, marked)
        return self._labelled(passage, proposed.question, (answer,), quote, marked, self._question_proposer.engine.name)

    def _missing_by_model(self) -> Iterator[tuple[str, str]]:
        """Questions that the model raises and then cannot answer from the passages nearest to them."""
        if self._question_proposer is None:
            return
        useful = useless = 0
        walk = filter(_prose, self._index.passages(self._seed + 1))
        for passage in islice(walk, self._unanswerable, None):
            if self._given_up:
                break
            question = self._question_proposer.propose_missing(document(passage)).question
            if self._is_question(question) and not self._answers(question):
                useful, useless = useful + 1, 0
                yield question, self._question_proposer.engine.name
            elif (useless := useless + 1) >= USELESS:
                break
        self._missing_given_up = self._given_up or useless >= USELESS or not useful
        if self._missing_given_up and useless and not self._given_up:
            times = plural(useless, "time")
            self.notes.append(f"the model raised no question without an answer {times} in a row; going on with rules")

    def _answers(self, question: str) -> bool:
        assert self._question_proposer
        passages = self._index.search(question, NEAREST)
        deltas = self._question_proposer.engine.answer(question, passages, Attempt())
        text = ""
        for delta in deltas:
            text = "" if delta.restart else text + delta.text
        is_answered = not without_marks(text).strip().startswith(NOT_IN_PASSAGES.rstrip("."))
        if is_answered:
            self.thrown["the files answer what was to have no answer"] += 1
        return is_answered

    def _is_question(self, question: str) -> bool:
        """Whether a model's question can be shown; if not, why is counted."""
        if not question:
            self.thrown["the reply could not be read"] += 1
        elif _POINTS.search(question):
            self.thrown["the question points at its passage"] += 1
        elif not 8 <= len(question) <= 300:
            self.thrown["the question is too short or too long"] += 1
        else:
            return True
        return False


def _is_quoted(passage: Passage, targets: Sequence[Target]) -> bool:
    return any(holds(target, passage.source, passage.page, passage.text) for target in targets)


def _prose(passage: Passage) -> bool:
    return is_prose(passage.text)


def _rest(passage: Passage) -> bool:
    return not is_prose(passage.text) and not is_contents(passage.text)


def _in_turn(first: Iterator[T], second: Iterator[T], pace: int = 1) -> Iterator[T]:
    """So many of one, then one of the other, until both are used up."""
    while taken := [*islice(first, pace), *islice(second, 1)]:
        yield from taken
