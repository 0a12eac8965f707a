"""OllamaEngine: the six tasks by a language model on this machine, with verdicts in JSON.

Every verdict is strictly parsed. A reply that cannot be used is asked for once more, quoting what was wrong; a second
one becomes the verdict `unparsed`, which is never "yes".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag import cancel
from local_rag.config import Ollama
from local_rag.engines.ollama import prompts, schemas
from local_rag.engines.ollama.budget import Message, Use
from local_rag.engines.ollama.calls import Caller
from local_rag.engines.ollama.server import Server, check_name, check_remote
from local_rag.engines.ollama.task import Task, same
from local_rag.models import OllamaModelSpec, Role
from local_rag.text import marks
from local_rag.types import (
    NOT_IN_PASSAGES,
    Attempt,
    Catalog,
    Grade,
    Piece,
    Relevance,
    RelevanceLabel,
    Route,
    Source,
    Support,
    Target,
    Text,
    Turn,
)

if TYPE_CHECKING:
    from langchain_core.documents import Document

USEFUL, USELESS = 5, 1
"""What the tutorials' yes and no of the answer grader are on the scale of 1 to 5."""
HARMONY = ("gptoss", "gpt-oss")
"""Families that cannot be told not to think: with `think: false` their JSON is generated and then lost."""
_LABELS: dict[str, RelevanceLabel] = {"yes": "relevant", "no": "irrelevant"}


class OllamaEngine:
    """An engine on one Ollama server. Serves several threads; their calls take turns."""

    def __init__(self, server: Server, uses: Mapping[Role, Use], settings: Ollama, version: str = "") -> None:
        self.server = server
        self.uses = uses
        self._each = settings.grading == "each"
        self._version = version
        self._caller = Caller(server, settings)

    @classmethod
    def open(
        cls, server: Server, specs: Mapping[Role, OllamaModelSpec], num_ctx: int, settings: Ollama
    ) -> OllamaEngine:
        """Look at the models before any message is sent, and fix how each is used. `num_ctx` is in tokens.

        Raises NotLocal for a model that answers from elsewhere, ModelMissing, ServerDown.
        """
        named = {spec.name: spec for spec in specs.values()}
        for name in named:
            check_name(name, settings.allow_cloud)
        known = {name: use_of(server, spec, num_ctx, settings) for name, spec in named.items()}
        return cls(server, {role: known[spec.name] for role, spec in specs.items()}, settings, server.version())

    @property
    def name(self) -> str:
        return f"ollama/{self.uses['generator'].model}"

    @property
    def models(self) -> list[Use]:
        """Each model once, in the order of the roles."""
        return list(dict.fromkeys(self.uses.values()))

    @property
    def describe(self) -> str:
        listed = ", ".join(f"{use.model} (window {use.num_ctx:,} tokens)" for use in self.models)
        return f"ollama: {listed} at {self.server.address}, Ollama {self._version}"

    def prepare(self) -> None:
        """Load the model that is asked first while other things go on."""
        self._caller.preload(self.uses["grader"])

    def forget(self) -> None:
        """Nothing is remembered here; the server remembers the last prompt, which the next question does not share."""

    def close(self) -> None:
        """Hang up whatever is running."""
        self._caller.close()

    def route(self, question: str, catalog: Catalog) -> Route:
        """The router; without a choice nothing is asked. What cannot be parsed is looked for in the first allowed."""
        cancel.check()
        first = catalog.allowed[0]
        if len(catalog.allowed) == 1:
            return Route(first)
        task = self.task()
        messages = prompts.chat(prompts.opening(question, (), ()), prompts.route_task(catalog))
        found, _, wrong = task.verdict(
            "router", "router", lambda _: messages, (), lambda _: schemas.route_among(catalog.allowed)
        )
        source: Source = found.datasource if found else first  # type: ignore[assignment]
        return Route(source, "direct" if source == "direct" else "single", wrong, task.usage())

    def relevance(self, question: str, documents: Sequence[Document]) -> list[Relevance]:
        """The retrieval grader: one call for the list, or one for each with `grading: each`."""
        cancel.check()
        if not documents:
            return []
        if self._each:
            return [self._relevance_of_one(question, document) for document in documents]
        task = self.task()

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            return prompts.chat(prompts.opening(question, documents, numbers), prompts.grade_task(len(numbers)))

        found, judged, wrong = task.verdict(
            "grader", "retrieval_grader", prompt, range(len(documents)), schemas.grades_of
        )
        scores = dict(zip(judged, found.binary_scores, strict=True)) if found else {}
        verdicts = [
            Relevance(_LABELS[scores[number]])
            if number in scores
            else Relevance("unparsed", why=wrong or "left out: the prompt did not fit the window")
            for number in range(len(documents))
        ]
        return [replace(verdicts[0], usage=task.usage()), *verdicts[1:]]

    def answer(self, question: str, documents: Sequence[Document], attempt: Attempt) -> Iterator[Piece]:
        """The generator. The first attempt is at temperature 0; later ones know why the last one failed."""
        task = self.task()
        if documents or attempt.direct:
            wanted = prompts.DIRECT if attempt.direct else prompts.answer_task(attempt)

            def prompt(numbers: Sequence[int]) -> Sequence[Message]:
                return prompts.chat(prompts.opening(question, documents, numbers), wanted)

            for text in task.text("generator", prompt, len(documents), attempt.number - 1):
                yield Piece("", restart=True) if text is None else Piece(text)
        else:
            yield Piece(NOT_IN_PASSAGES)
        yield Piece("", usage=task.usage())

    def grade(self, question: str, documents: Sequence[Document], generation: str) -> Grade:
        """The hallucination grader and the answer grader: one call, or two with `grading: each`."""
        task = self.task()
        if not documents:
            return Grade("no", 1, why="there are no passages to support it", usage=task.usage())
        if self._each:
            return self._two_checks(task, question, documents, generation)

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            return prompts.chat(prompts.opening(question, documents, numbers), prompts.check_task(generation))

        found, _, wrong = task.verdict(
            "grader",
            "generation_grader",
            prompt,
            _cited_first(documents, generation),
            lambda _: schemas.GradeGeneration,
        )
        if found is None:
            return Grade("unparsed", 0, why=wrong, usage=task.usage())
        return Grade(found.support, found.usefulness, usage=task.usage())

    def rewrite(self, question: str, tried: Sequence[str], target: Target) -> Text:
        """The question rewriter; it sees no passage. A query that was tried before is asked for once more."""
        messages = prompts.chat(prompts.opening(question, (), ()), prompts.rewrite_task(tried, target))
        return self.task().line("rewriter", lambda _: messages, (), {same(query) for query in tried})

    def standalone(self, question: str, history: Sequence[Turn]) -> Text:
        """The question as it would be asked without the chat before it."""
        cancel.check()
        if not history:
            return Text(question)

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            turns = [history[number] for number in numbers]
            return prompts.chat(prompts.opening(question, (), ()), prompts.standalone_task(turns))

        line = self.task().line("standalone", prompt, range(len(history) - 1, -1, -1), set())
        return line if line else Text(question, line.usage)

    def task(self) -> Task:
        """A new task, also for calls that are none of the six; see `examiner`."""
        return Task(self._caller, self.uses)

    def _relevance_of_one(self, question: str, document: Document) -> Relevance:
        task, messages = self.task(), prompts.each_retrieval(question, document)
        found, _, wrong = task.verdict(
            "grader", "retrieval_grader", lambda _: messages, (), lambda _: schemas.GradeDocuments
        )
        return Relevance(_LABELS[found.binary_score] if found else "unparsed", why=wrong, usage=task.usage())

    def _two_checks(self, task: Task, question: str, documents: Sequence[Document], generation: str) -> Grade:
        """The tutorials' order: usefulness is asked for only where the generation is grounded."""

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            return prompts.each_hallucination(documents, numbers, generation)

        grounded, _, wrong = task.verdict(
            "grader",
            "hallucination_grader",
            prompt,
            _cited_first(documents, generation),
            lambda _: schemas.GradeHallucinations,
        )
        support: Support = "unparsed" if grounded is None else "fully" if grounded.binary_score == "yes" else "no"
        if support != "fully":
            return Grade(support, 0, why=wrong, usage=task.usage())
        messages = prompts.each_answer(question, generation)
        useful, _, wrong = task.verdict(
            "grader", "answer_grader", lambda _: messages, (), lambda _: schemas.GradeAnswer
        )
        if useful is None:
            return Grade("unparsed", 0, why=wrong, usage=task.usage())
        return Grade(support, USEFUL if useful.binary_score == "yes" else USELESS, usage=task.usage())


def use_of(server: Server, spec: OllamaModelSpec, num_ctx: int, settings: Ollama) -> Use:
    """How a model is used: never a window beyond the trained one, which Ollama would accept without a word."""
    shown = server.show(spec.name)
    check_remote(spec.name, shown.remote_host, settings.allow_cloud)
    window = spec.num_ctx or num_ctx
    think = spec.think or ("low" if shown.family in HARMONY else False)
    thinks = "thinking" in shown.capabilities if shown.capabilities else None
    return Use(spec.name, min(window, shown.window or window), think, thinks)


def _cited_first(documents: Sequence[Document], generation: str) -> list[int]:
    """The passages' numbers in the order in which a check wants them: what the answer cites comes first."""
    cited = {number - 1 for _, numbers in marks(generation) for number in numbers}
    return sorted(range(len(documents)), key=lambda number: number not in cited)
