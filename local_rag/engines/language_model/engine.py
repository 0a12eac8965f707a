"""LanguageModelEngine: the tasks of an engine by language models, with verdicts in JSON.

Every verdict is strictly parsed. A reply that cannot be used is asked for once more, quoting what was wrong; a second
one becomes the verdict `unparsed`, which is never "yes".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.config.models import Role
from local_rag.config.values import Grading
from local_rag.core import cancel
from local_rag.core.documents import Catalog
from local_rag.core.generation import AnswerDelta, Attempt, Rewrite, Turn
from local_rag.core.verdicts import Check, Complexity, Grade, Need, Relevance, Route, Source, Target, Thought
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.context_window import Message, ModelSetup, estimate
from local_rag.engines.language_model.grader import Grader
from local_rag.engines.language_model.prompt_contents import chat_so_far, picture
from local_rag.engines.language_model.prompt_layout import Renumbering, layouts
from local_rag.engines.language_model.prompt_texts import PromptTexts
from local_rag.engines.language_model.prompts import REWRITERS, Prompts
from local_rag.engines.language_model.task import ANSWER_TOKENS, Calls, Task
from local_rag.engines.language_model.thinking import Thinking
from local_rag.text.sentences import sentences
from local_rag.text.words import query_key

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator

RESERVED = 3 * ANSWER_TOKENS
"""Tokens of a window that wider passages leave free: a reply, a draft to check, a rejected one."""
THE_ANSWER = "answer is"
"""Words by which IRCoT knows that a chain of reasoning has come to its end (arXiv 2212.10509, section 3.1)."""


class LanguageModelEngine(ABC):
    """The tasks of an engine by language models; `caller` asks them, `setups` says which model has which role.

    `grading` says who grades passages and in how many calls, `logprobs` asks for probabilities, `explain` for reasons.
    `evaluator` grades with `grading: evaluator`, and gives scores where the model has none. Serves several threads, if
    `caller` does.
    """

    def __init__(
        self,
        caller: Calls,
        setups: Mapping[Role, ModelSetup],
        *,
        grading: Grading = "list",
        logprobs: bool = False,
        explain: bool = False,
        texts: PromptTexts | None = None,
        evaluator: Evaluator | None = None,
    ) -> None:
        self.prompts = Prompts(texts or PromptTexts())
        self.setups = setups
        self._caller = caller
        self._logprobs = logprobs
        self._explain = explain
        self.grading: Grading = grading
        self._evaluator = evaluator
        self._thinking = Thinking()
        self._grader = Grader(self.task, self.prompts, grading, evaluator)

    @property
    @abstractmethod
    def name(self) -> str:
        """What kind of engine it is, and the model that answers."""

    @abstractmethod
    def close(self) -> None:
        """Begin no further call."""

    @property
    def manner(self) -> str:
        """How verdicts and scores come about, for a fingerprint: the end of it."""
        scores = "logprobs" if self._logprobs else "levels" if self._evaluator is None else "evaluator"
        how = ", ".join([self.grading, scores, *(["explain"] if self._explain else [])])
        return f"{how}; evaluator {self._evaluator.fingerprint}" if self._evaluator else how

    @property
    def by_evaluator(self) -> str:
        """That the evaluator grades passages, for the end of `describe`; empty where the model does."""
        return "; the evaluator grades passages" if self.grading == "evaluator" else ""

    @property
    def models(self) -> list[ModelSetup]:
        """Each model once, in the order of the roles."""
        return list(dict.fromkeys(self.setups.values()))

    @property
    def notes(self) -> list[str]:
        """What came out about the models since it was opened, with the lines for models.yaml."""
        return self._thinking.notes

    def route(self, question: str, catalog: Catalog) -> Route:
        """The router; without a choice nothing is asked. What cannot be parsed is looked for in the first allowed.

        Several steps are for the files alone.
        """
        cancel.check()
        first = catalog.allowed[0]
        catalog = replace(catalog, multi=catalog.multi and "vectorstore" in catalog.allowed)
        if len(catalog.allowed) == 1 and not catalog.multi:
            return Route(first, "direct" if first == "direct" else "single")
        task = self.task()
        messages = self.prompts.chat(self.prompts.route_task(catalog), question, before=picture(catalog))
        schema = schemas.route_among(catalog.allowed, catalog.multi)
        texts = [*(["router"] if len(catalog.allowed) > 1 else []), *(["router_steps"] if catalog.multi else [])]
        verdict = task.single("router", "router", messages, schema, reasons="one", texts=texts)
        source: Source = getattr(verdict.reply, "datasource", first)
        steps: Complexity = getattr(verdict.reply, "complexity", "single") if source == "vectorstore" else "single"
        return Route(source, "direct" if source == "direct" else steps, verdict.why, task.usage())

    def needs_retrieval(
        self, question: str, catalog: Catalog, documents: Sequence[Document] = (), written: str = ""
    ) -> Need:
        """Retrieve of Self-RAG. What cannot be parsed is a yes; where something is written, a no."""
        if written:
            return self._next(question, documents, written)
        task = self.task()
        messages = self.prompts.chat(self.prompts.need_task(), question, before=picture(catalog))
        verdict = task.single("router", "retrieval_decision", messages, schemas.GradeNeed, scored=True, reasons="one")
        needed = verdict.reply.needed if verdict.reply else "yes"
        return Need(needed, verdict.yes("n"), verdict.why, task.usage())

    def _next(self, question: str, documents: Sequence[Document], written: str) -> Need:
        """How an answer goes on, with the passages in sight that its last part is from."""
        task, layout = self.task(), layouts().of(question, documents)

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            return self.prompts.chat(self.prompts.next_task(written), question, layout.shown, numbers)

        verdict = task.verdict(
            "grader",
            "retrieval_decision",
            prompt,
            layout.order,
            lambda _: schemas.GradeNext,
            spare=layout.spare,
            needed=0,
            scored=True,
            reasons="one",
            texts=["continuation"],
        )
        needed = verdict.reply.needed if verdict.reply else "no"
        return Need(needed, verdict.yes("n"), verdict.why, task.usage())

    def room(self, question: str, documents: Sequence[Document]) -> int:
        """What is left of the smallest window beside the prompt and the reply, in code points like those passages'."""
        task = self.prompts.answer_task(Attempt())
        prompt = self.prompts.chat(task, question, documents, range(len(documents)))
        left = min(setup.num_ctx - setup.thoughts for setup in self.models) - estimate(prompt) - RESERVED
        text = "".join(document.page_content for document in documents)
        return max(0, int(left * len(text) / max(1, estimate([("user", text)]))))

    def relevance(self, question: str, documents: Sequence[Document], *, scored: bool = False) -> list[Relevance]:
        """The retrieval grader: one call for the list, one for each, or none, as `grading` says; see `Grader`."""
        cancel.check()
        return self._grader.relevance(question, documents, scored) if documents else []

    def answer(self, question: str, documents: Sequence[Document], attempt: Attempt) -> Iterator[AnswerDelta]:
        """The generator. The first attempt is at temperature 0; later ones know why the last one failed."""
        task = self.task()
        if documents or attempt.direct:
            yield from self._written(task, question, documents, attempt)
        else:
            yield AnswerDelta(attempt.shape.refusal)
        yield AnswerDelta("", usage=task.usage())

    def _written(
        self, task: Task, question: str, documents: Sequence[Document], attempt: Attempt
    ) -> Iterator[AnswerDelta]:
        layout = layouts().of(question, documents)

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            if attempt.direct:
                wanted = self.prompts.direct_task(attempt.shape)
            else:
                wanted = self.prompts.answer_task(attempt, layout.only(numbers))
            return self.prompts.chat(wanted, question, layout.shown, numbers)

        ours, variant = Renumbering(layout), attempt.number - 1
        texts = ["direct" if attempt.direct else "generator" if attempt.written is None else "generator_part"]
        for token in task.text(
            "generator", prompt, layout.order, variant, spare=layout.spare, scored=attempt.scored, texts=texts
        ):
            if token is None:
                ours = Renumbering(layout)
                yield AnswerDelta("", restart=True)
            else:
                yield AnswerDelta(ours.feed(token.text), token.logprob)
        if rest := ours.end():
            yield AnswerDelta(rest)

    def grade(self, question: str, documents: Sequence[Document], generation: str, *, check: Check = "both") -> Grade:
        """The hallucination grader and the answer grader: one call, or two with `grading: each`; see `Grader`.

        What was not asked for is `unparsed`, or usefulness 0.
        """
        return self._grader.grade(question, documents, generation, check)

    def reason(self, question: str, documents: Sequence[Document], thoughts: Sequence[str]) -> Thought:
        """The next sentence of a chain of reasoning. What cannot be parsed ends it: the answer is then written."""
        task = self.task()

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            return self.prompts.chat(self.prompts.reason_task(thoughts), question, documents, numbers)

        order = range(len(documents))
        verdict = task.verdict("generator", "reasoner", prompt, order, lambda _: schemas.ReasonStep)
        sentence = " ".join(verdict.reply.sentence.split()) if verdict.reply else ""
        first = next((span.of(sentence) for span in sentences(sentence)), "")
        done = not first or verdict.reply is None or verdict.reply.done or THE_ANSWER in first.casefold()
        return Thought(first, done, usage=task.usage())

    def rewrite(self, question: str, tried: Sequence[str], target: Target) -> Rewrite:
        """The question rewriter; it sees no passage. A query that was tried before is asked for once more."""
        messages = self.prompts.chat(self.prompts.rewrite_task(tried, target), question)
        known = {query_key(query) for query in tried}
        return self.task().line("rewriter", lambda _: messages, (), known, [REWRITERS[target]])

    def standalone(self, question: str, history: Sequence[Turn]) -> Rewrite:
        """The question as it would be asked without the chat before it."""
        cancel.check()
        if not history:
            return Rewrite(question)

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            turns = [history[number] for number in numbers]
            return self.prompts.chat(self.prompts.standalone_task(), question, before=chat_so_far(turns))

        standalone = self.task().line("standalone", prompt, range(len(history) - 1, -1, -1), set())
        return standalone if standalone.text else Rewrite(question, standalone.usage)

    def task(self) -> Task:
        """A new task, also for calls that no graph makes (`judge`, `question_proposer`)."""
        texts = self.prompts.texts
        return Task(self._caller, self.setups, self._thinking, texts, self._logprobs, self._explain)
