"""Propose cases: questions that a language model makes from passages, or without a model questions from headings.

Each is written to the file of cases with `"keep": false`, and `eval` leaves it out until a person has read it and set
true.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.core.progress import Display
from local_rag.core.protocols import Attempt
from local_rag.engines.language_model.engine import LanguageModelEngine
from local_rag.engines.language_model.judge import QuestionProposer
from local_rag.evaluation.cases import Case, CaseFile, Target, named
from local_rag.evaluation.headings import is_prose, of_heading
from local_rag.evaluation.matching import holds, located, tails
from local_rag.index.search import document
from local_rag.runtime.engine_choice import choose_engine
from local_rag.runtime.opening import open_embedder, open_index
from local_rag.runtime.written import enter
from local_rag.text.citations import reads_as_refusal
from local_rag.text.sentences import Span, sentences

if TYPE_CHECKING:
    from local_rag.index.index import Index
    from local_rag.index.store.values import Passage

USELESS = 8
"""The number of unusable replies in a row after which a model is no longer asked."""
NEAREST = 4
"""The number of nearest passages from which a model must be unable to answer a question without an answer."""

_POINTS = re.compile(r"\b(?:this|the|that) (?:passage|excerpt|text|paragraph|extract)\b|\b(?:above|provided)\b", re.I)


@dataclass(frozen=True)
class Made:
    """Hold the proposed cases and their file; `thrown` counts unusable replies of the model by reason."""

    file: CaseFile
    cases: Sequence[Case]
    by_model: bool
    thrown: Counter[str]


def make_cases(
    settings: Settings,
    path: Path,
    display: Display,
    *,
    count: int,
    unanswerable: int,
    seed: int,
    keep: bool,
) -> Made:
    """Propose questions with and without an answer, and append them to a file, accepted or not yet.

    The same command proposes new questions that are not in the file. Without a language model, all have an answer.
    Raise UsageError for an empty index, and what opening the index and the engine raises.
    """
    file = CaseFile(path)
    embedder = open_embedder(settings, display)
    with open_index(settings, embedder) as index:
        if not index.catalog().chunks:
            raise UsageError(f"the index {settings.values.index} is empty", hint="local-rag index FOLDER")
        choice = choose_engine(settings, embedder, index)
        for line in choice.lines:
            display.say(line)
        enter(settings.data_folder, "cases", file.path, index=settings.index_path)
        with closing(choice.engine), display.progress("proposing") as show:
            proposer = QuestionProposer(choice.engine) if isinstance(choice.engine, LanguageModelEngine) else None
            proposals = Proposals(index, file.cases, seed, proposer)
            made: list[Case] = []
            for case in chain(islice(proposals.answered(), count), islice(proposals.unanswered(), unanswerable)):
                file.append(case, keep=keep)
                made.append(case)
                show(len(made) / (count + unanswerable), f"{len(made)} of {count + unanswerable}: {case.question}")
    return Made(file, made, proposer is not None, proposals.thrown)


@dataclass
class Proposals:
    """Propose questions about an index, as cases; none of them is in `known`.

    The seed decides the order of passages; passages that a known case quotes are left out.
    """

    index: Index
    known: Sequence[Case]
    seed: int = 0
    proposer: QuestionProposer | None = None
    thrown: Counter[str] = field(default_factory=Counter)

    def answered(self) -> Iterator[Case]:
        """Yield questions with the words that answer them, or with the passage that follows their heading."""
        return self._new(self._by_model if self.proposer else self._by_heading)

    def unanswered(self) -> Iterator[Case]:
        """Yield questions of the model that it cannot answer from the nearest passages; none without a model."""
        return self._new(self._missing) if self.proposer else iter(())

    @cached_property
    def _files(self) -> dict[str, str]:
        return tails([file.path for file in self.index.files()])

    def _new(self, propose: Callable[[Passage], Case | None]) -> Iterator[Case]:
        """Yield a case per usable passage, each question once, until the model has failed too often in a row."""
        seen = {case.id for case in self.known} | {named(case.question) for case in self.known}
        quoted = [target for case in self.known for target in case.relevant if target.quote]
        useless = 0
        for passage in self.index.passages(self.seed):
            if any(holds(target, passage.source, passage.page, passage.text) for target in quoted):
                continue
            case = propose(passage)
            if case is not None and case.id not in seen:
                seen.add(case.id)
                useless = 0
                yield case
            elif self.proposer and is_prose(passage.text) and (useless := useless + 1) == USELESS:
                return

    def _by_heading(self, passage: Passage) -> Case | None:
        found = of_heading(passage)
        return found and self._case(passage, found[0], (), found[1], "heading")

    def _by_model(self, passage: Passage) -> Case | None:
        assert self.proposer
        if not is_prose(passage.text):
            return None
        question, words = self.proposer.propose(document(passage))
        if not self._is_question(question):
            return None
        answer = located(words, passage.text) if words else None
        if answer is None:
            self.thrown["the words of the answer are not in the passage"] += 1
            return None
        words_of_answer = " ".join(answer.of(passage.text).split())
        return self._case(passage, question, (words_of_answer,), answer, self.proposer.engine.name)

    def _missing(self, passage: Passage) -> Case | None:
        assert self.proposer
        if not is_prose(passage.text):
            return None
        question, text = self.proposer.propose_missing(document(passage)), ""
        if not self._is_question(question):
            return None
        for delta in self.proposer.engine.answer(question, self.index.search(question, NEAREST), Attempt()):
            text = "" if delta.restart else text + delta.text
        if not any(reads_as_refusal(span.of(text)) for span in sentences(text)[:1]):  # models often go on after it
            self.thrown["the files answer what was to have no answer"] += 1
            return None
        return Case(named(question), question, answerable=False, note=f"proposed: {self.proposer.engine.name}")

    def _is_question(self, question: str) -> bool:
        """Return whether a model's question is usable, and count the reason if not."""
        if not question:
            self.thrown["the reply could not be read"] += 1
        elif _POINTS.search(question):
            self.thrown["the question points at its passage"] += 1
        elif not 8 <= len(question) <= 300:
            self.thrown["the question is too short or too long"] += 1
        else:
            return True
        return False

    def _case(self, passage: Passage, question: str, answers: tuple[str, ...], answer: Span, kind: str) -> Case:
        """Return a question whose label is the sentence, or the sentences, of the passage that contain the answer."""
        touched = [span for span in sentences(passage.text) if span.start < answer.end and span.end > answer.start]
        quote = passage.text[touched[0].start : touched[-1].end] if touched else answer.of(passage.text)
        file = self._files.get(passage.source, passage.source)
        target = Target(file, passage.page, " ".join(quote.split()))
        return Case(named(question), question, answers, True, (target,), note=f"proposed: {kind}")
