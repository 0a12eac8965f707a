"""Proposals for a set of cases, one after the other: from a language model if there is one, else from rules."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.make_missing import foreign, unsaid
from local_rag.evaluation.make_rules import Idea, ideas
from local_rag.evaluation.make_words import is_contents, is_prose, located, sentence_at
from local_rag.evaluation.matching import holds
from local_rag.index.rows import Passage
from local_rag.index.urls import is_page
from local_rag.text import Span, without_marks, words
from local_rag.types import NOT_IN_PASSAGES, Attempt

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.engines.ollama.examiner import Examiner
    from local_rag.index.index import Index

T = TypeVar("T")

ROUNDS = 3
"""How often the passages are gone through: the second time for their second question."""
LOOKED = 5000
"""Passages in a row that may give nothing before a round ends, and that are searched for what was kept before."""
USELESS = 8
"""Replies of a model in a row that cannot be used before it is asked no more."""
FACTS = 3
"""Questions with a short answer for each one from a heading."""
TERMS = 60
"""Terms of the files that questions without an answer may be about."""
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

    Which passages come is decided by the seed. The walk begins behind the last passage that a known case quotes, so
    that the same command goes on, and what was dropped before that comes again at the very end only.
    """

    def __init__(self, index: Index, known: Sequence[Case], seed: int = 0, examiner: Examiner | None = None) -> None:
        self.thrown: Counter[str] = Counter()
        """Replies of the model that were not shown, by why."""
        self._index, self._seed, self._examiner = index, seed, examiner
        self._known = {same(case.question) for case in known}
        self._unanswerable = sum(case.answerable is False for case in known)
        self._files = tails([file.path for file in index.files()])
        self._targets = [target for case in known for target in case.relevant if target.quote]

    def answered(self) -> Iterator[Proposal]:
        """Questions with the words that answer them."""
        seen: set[str] = set()
        for proposal in self._by_model() if self._examiner else self._by_rules():
            if self._is_new(proposal.case.question, seen):
                yield proposal

    def unanswered(self) -> Iterator[Proposal]:
        """Questions that the files do not answer: in turn near ones, about what they do speak of, and foreign ones."""
        seen: set[str] = set()
        near = self._missing_by_model() if self._examiner else self._missing_by_rules()
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

    def _walk(self, wanted: Callable[[Passage], bool]) -> Iterator[Passage]:
        """Each passage that is wanted, once, the one behind the last known case first."""
        done = self._done()
        later, earlier = (self._index.passages(self._seed) for _ in range(2))
        walk = chain(islice(later, done, None), islice(earlier, done))
        return (passage for passage in walk if wanted(passage))

    def _done(self) -> int:
        """How many passages were gone through before."""
        if not self._targets:
            return 0
        passages = islice(self._index.passages(self._seed), LOOKED)
        return max((place for place, passage in enumerate(passages, start=1) if self._is_kept(passage)), default=0)

    def _is_kept(self, passage: Passage) -> bool:
        return any(holds(target, passage.source, passage.page, passage.text) for target in self._targets)

    # --- by rules

    def _by_rules(self) -> Iterator[Proposal]:
        """Mostly sentences with a fact, which have a short answer; now and then a heading, which has none."""
        facts = self._of_rules(lambda idea: idea.kind != "heading")
        return _in_turn(facts, self._of_rules(lambda idea: idea.kind == "heading"), pace=FACTS)

    def _of_rules(self, wanted: Callable[[Idea], bool]) -> Iterator[Proposal]:
        for turn in range(ROUNDS):
            idle = 0
            for passage in self._walk(lambda passage: not is_contents(passage.text)):
                found = list(filter(wanted, ideas(passage)))
                if len(found) > turn:
                    idle = 0
                    yield self._proposal(passage, found[turn])
                elif (idle := idle + 1) >= LOOKED:
                    break

    def _proposal(self, passage: Passage, idea: Idea) -> Proposal:
        found = located(idea.answer, idea.quote.of(passage.text))
        marked = Span(idea.quote.start + found.start, idea.quote.start + found.end) if found else idea.quote
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
        terms: dict[str, bool] = {}
        for passage in islice(self._walk(lambda _: True), LOOKED):
            terms |= {idea.term: idea.many for idea in ideas(passage) if idea.term}
            if len(terms) >= TERMS:
                break
        return ((question, "near") for question in unsaid(self._index, list(terms.items()), self._seed))

    # --- by a model

    def _by_model(self) -> Iterator[Proposal]:
        """Prose first, then the rest; ends where the model gives nothing that can be used."""
        assert self._examiner
        for wanted in (_prose, _rest):
            useless = 0
            for passage in self._walk(wanted):
                found = self._asked(passage)
                if found:
                    useless = 0
                    yield found
                elif (useless := useless + 1) >= USELESS:
                    return

    def _asked(self, passage: Passage) -> Proposal | None:
        assert self._examiner
        said = self._examiner.propose(document(passage))
        marked = located(said.answer, passage.text) if said.answer else None
        if not self._is_question(said.question):
            return None
        if marked is None:
            self.thrown["the words of the answer are not in the passage"] += 1
            return None
        answer = " ".join(marked.of(passage.text).split())
        quote = sentence_at(passage.text, marked)
        return self._labelled(passage, said.question, (answer,), quote, marked, self._examiner.engine.name)

    def _missing_by_model(self) -> Iterator[tuple[str, str]]:
        """Questions that the model raises and then cannot answer from the passages nearest to them."""
        assert self._examiner
        useless = 0
        walk = filter(_prose, self._index.passages(self._seed + 1))
        for passage in islice(walk, self._unanswerable, None):
            question = self._examiner.propose_missing(document(passage)).question
            if self._is_question(question) and not self._answers(question):
                useless = 0
                yield question, self._examiner.engine.name
            elif (useless := useless + 1) >= USELESS:
                return

    def _answers(self, question: str) -> bool:
        assert self._examiner
        passages = self._index.search(question, NEAREST)
        pieces = self._examiner.engine.answer(question, passages, Attempt())
        text = ""
        for piece in pieces:
            text = "" if piece.restart else text + piece.text
        found = not without_marks(text).strip().startswith(NOT_IN_PASSAGES.rstrip("."))
        if found:
            self.thrown["the files answer what was to have no answer"] += 1
        return found

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


def document(passage: Passage) -> Document:
    """A passage as `Index.search` gives it, without scores."""
    from langchain_core.documents import Document

    about = {
        "source": passage.source,
        "title": passage.title,
        "page": passage.page,
        "heading": passage.heading,
        "start": passage.start,
        "end": passage.end,
        "chunk_id": passage.key,
        "origin": "files",
        "url": passage.source if is_page(passage.source) else "",
    }
    return Document(passage.text, metadata=about)


def _prose(passage: Passage) -> bool:
    return is_prose(passage.text)


def _rest(passage: Passage) -> bool:
    return not is_prose(passage.text) and not is_contents(passage.text)


def _in_turn(one: Iterator[T], other: Iterator[T], pace: int = 1) -> Iterator[T]:
    """So many of one, then one of the other, until both are used up."""
    while taken := [*islice(one, pace), *islice(other, 1)]:
        yield from taken
