"""One task of the engine: the calls that it takes, replies that cannot be used, and what all of it cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

from local_rag.config.models import Role
from local_rag.core import cancel
from local_rag.core.generation import Rewrite
from local_rag.core.usage import Call, Usage
from local_rag.engines.language_model import prompts, schemas
from local_rag.engines.language_model.context_window import FittedPrompt, Message, ModelSetup, Prompt, PromptTooLong
from local_rag.engines.language_model.parsed_verdict import ParsedVerdict, corrected, parsed_reply
from local_rag.engines.language_model.prompt_texts import PromptTexts
from local_rag.engines.language_model.replies import (
    BrokenOff,
    ChatRequest,
    Empty,
    Reply,
    ThinkRefused,
    Unusable,
    first_line,
)
from local_rag.engines.language_model.schemas import R
from local_rag.engines.language_model.thinking import Thinking
from local_rag.engines.language_model.token_probabilities import ALTERNATIVES, Token
from local_rag.text.display import plural
from local_rag.text.words import query_key

ANSWER_TOKENS = 512
"""The most that an answer may take; three sentences take about 100."""
LINE_TOKENS = 96
"""The most that a query or a question may take."""
TRIES = 2
"""How often a line is asked for."""
Reasons = Literal["one", "each"]
"""One reason for the verdict, or one for each verdict of a list."""


class Calls(Protocol):
    """What asks a language model. Serves several threads."""

    def ask(self, request: ChatRequest) -> Reply:
        """The whole reply. Raises PromptTooLong, BrokenOff, Empty, EngineError, Stopped."""

    def stream(self, request: ChatRequest) -> Generator[Token | None, None, Reply]:
        """The reply bit by bit, and as a whole at its end; None where it begins anew. Closing it aborts the call."""

    def preloads(self) -> list[Call]:
        """The models that were loaded ahead since the last call of this, for the usage."""


class AskOtherwise(Exception):
    """A model turned out to think: the same is asked for once more, in the setup that it has by now."""


class Task:
    """The calls of one task, in turn, with their costs."""

    def __init__(
        self,
        caller: Calls,
        setups: Mapping[Role, ModelSetup],
        thinking: Thinking,
        texts: PromptTexts,
        logprobs: bool,
        explain: bool,
    ) -> None:
        cancel.check()
        self._texts = texts
        self._caller = caller
        self._setups = setups
        self._thinking = thinking
        self._logprobs = logprobs
        self._explain = explain
        self._started = time.perf_counter()
        self._calls: list[Call] = []
        self._notes: list[str] = []
        self._unparsed = 0

    def usage(self) -> Usage:
        """What it has cost so far."""
        counted = [call for call in self._calls if call.role != "preload"]
        return Usage(
            calls=len(counted),
            prompt_tokens=sum(call.prompt_tokens for call in counted),
            output_tokens=sum(call.output_tokens for call in counted),
            seconds=time.perf_counter() - self._started,
            loads=sum(call.loaded for call in self._calls),
            retries=sum(call.retry for call in counted),
            unparsed=self._unparsed,
            log=tuple(self._calls),
            notes=tuple(dict.fromkeys(self._notes)),
        )

    def verdict(
        self,
        role: Role,
        label: str,
        prompt: Prompt,
        order: Sequence[int],
        schema: Callable[[int], type[R]],
        *,
        spare: int = 0,
        needed: int = 1,
        more: bool = False,
        scored: bool = False,
        reasons: Reasons | None = None,
        texts: Sequence[str] = (),
    ) -> ParsedVerdict[R]:
        """One verdict, or one for each passage. Raises DoesNotFit where not even the first `needed` passages fit.

        `label` names the call, and `texts` the prompt texts it is made of, by default the one of that name; `order`
        lists the passages, the most wanted first, the last `spare` of them read already and not needed; `schema` is for
        so many passages. `more`: another call asks about those that do not fit. `scored` asks how sure the model is,
        `reasons` says what a task that explains asks a reason for.
        """
        if self._explain and reasons:
            prompt, schema = _with_reasons(prompt, schema, several=reasons == "each")
        shapes = schema

        def cap(count: int) -> int:
            return schemas.most_tokens(shapes(count))

        fitted = FittedPrompt(prompt, order, self._setup(role), cap, spare, needed)
        alternatives, retry = ALTERNATIVES if self._asks(scored) else None, False
        while True:
            shape, most = shapes(len(fitted.kept)), cap(len(fitted.kept))
            wire = schemas.wire(shape)
            request = self._request(label, texts, fitted, most, schema=wire, logprobs=alternatives, retry=retry)
            try:
                parsed, raw, wrong = self._strict(request, shape)
            except PromptTooLong as size:
                fitted.shrink(size)
                continue
            except AskOtherwise:
                retry = True
                fitted.change(self._setup(role))
                continue
            self.note("" if more else fitted.note)
            if parsed is None:
                self._unparsed += 1
                self.note(f"{label}: no usable verdict of {fitted.setup.model}: {wrong}")
            return ParsedVerdict(parsed, fitted.kept, wrong, raw)

    def single(
        self,
        role: Role,
        label: str,
        messages: Sequence[Message],
        schema: type[R],
        *,
        scored: bool = False,
        reasons: Reasons | None = None,
        texts: Sequence[str] = (),
    ) -> ParsedVerdict[R]:
        """A verdict by a prompt of which nothing can be left out."""
        return self.verdict(
            role, label, lambda _: messages, (), lambda _: schema, scored=scored, reasons=reasons, texts=texts
        )

    def text(
        self,
        label: str,
        prompt: Prompt,
        order: Sequence[int],
        variant: int,
        *,
        spare: int = 0,
        scored: bool = False,
        texts: Sequence[str] = (),
    ) -> Iterator[Token | None]:
        """An answer as it is written, with as many of the passages as fit; None where it begins anew.

        `order`, `spare` and `texts` as in `verdict`.

        A reply that broke off is asked for once more, warmer: at temperature 0 it would break off again.
        """
        fitted = FittedPrompt(prompt, order, self._setup("generator"), ANSWER_TOKENS, spare)
        figures = 0 if self._asks(scored) else None
        request = self._request(label, texts, fitted, ANSWER_TOKENS, logprobs=figures, variant=variant)
        wrote = False
        while True:
            try:
                for token in self._streamed(replace(request, messages=fitted.messages)):
                    wrote = token is not None
                    yield token
                return self.note(fitted.note)
            except PromptTooLong as size:
                fitted.shrink(size)
            except AskOtherwise:
                fitted.change(self._setup("generator"))
                request = replace(request, setup=fitted.setup, retry=True)
            except BrokenOff:
                if request.retry:
                    raise
                request = replace(request, retry=True, variant=request.variant + 1)
            if wrote:
                wrote = False
                yield None

    def line(
        self, label: str, prompt: Prompt, order: Sequence[int], tried: set[str], texts: Sequence[str] = ()
    ) -> Rewrite:
        """One line of text that is not among those tried (casefolded), empty where the model has none.

        `order` lists what the prompt may do without, the most wanted first.
        """
        variant, retry = 0, False
        fitted = FittedPrompt(prompt, order, self._setup("rewriter"), LINE_TOKENS)
        while variant < TRIES:
            request = self._request(label, texts, fitted, LINE_TOKENS, variant=variant, retry=retry)
            try:
                line = first_line(self._whole(request).text)
            except PromptTooLong as size:
                fitted.shrink(size)
                continue
            except AskOtherwise:
                retry = True
                fitted.change(self._setup("rewriter"))
                continue
            except (BrokenOff, Empty) as error:
                self.note(_note_of(error))
                line = ""
            if line and query_key(line) not in tried:
                return Rewrite(line, self.usage())
            variant, retry = variant + 1, True
        return Rewrite("", self.usage())

    def _setup(self, role: Role) -> ModelSetup:
        return self._thinking.of(self._setups[role])

    def _request(self, label: str, texts: Sequence[str], fitted: FittedPrompt, cap: int, **others: Any) -> ChatRequest:
        """A prompt as it fits by now, with the names of the texts that it was made of, and their digest."""
        texts = texts or (label,)
        task, digest = "+".join(texts), self._texts.digest(texts)
        return ChatRequest(label, fitted.setup, fitted.messages, cap, task=task, prompt=digest, **others)

    def _asks(self, scored: bool) -> bool:
        return scored and self._logprobs

    def _strict(self, request: ChatRequest, schema: type[R]) -> tuple[R | None, Reply | None, str]:
        """Ask, parse strictly, ask once more with the error quoted: the parsed reply, the raw one, and what was wrong.

        No probabilities are asked for then: with the first reply before it, the second one says little of them.
        """
        messages, wrong = request.messages, ""
        for retry in (False, True):
            rejected = ""
            try:
                reply = self._whole(replace(request, retry=retry or request.retry))
            except Empty as error:
                return None, None, _note_of(error)
            except BrokenOff as error:
                wrong = str(error)
            except PromptTooLong:
                if not retry:
                    raise
                return None, None, wrong
            else:
                rejected = reply.text
                parsed, wrong = parsed_reply(reply, schema)
                if parsed is not None:
                    return parsed, reply, ""
            again = corrected(messages, rejected, wrong, schema)
            request = replace(request, messages=again, variant=0 if rejected else 1, logprobs=None)
        return None, None, wrong

    def _streamed(self, request: ChatRequest) -> Iterator[Token | None]:
        try:
            reply = yield from self._caller.stream(request)
        except Unusable as error:
            self._failed(request, error)
            raise
        self._book(request, reply)
        if reply.cut:
            note = (
                f"the answer was cut off after {plural(reply.call.output_tokens, 'token')}, the most that it may take"
            )
            self.note(f"{note}; ask for less at a time")

    def _whole(self, request: ChatRequest) -> Reply:
        try:
            reply = self._caller.ask(request)
        except Unusable as error:
            self._failed(request, error)
            raise
        self._book(request, reply)
        return reply

    def _failed(self, request: ChatRequest, error: Unusable) -> None:
        """Raises AskOtherwise where the model is to be told something else about thinking."""
        self._calls += [*self._caller.preloads(), error.call]
        after = {Empty: self._thinking.after_empty, ThinkRefused: self._thinking.after_refusal}.get(type(error))
        if after and after(request.setup):
            raise AskOtherwise from error

    def _book(self, request: ChatRequest, reply: Reply) -> None:
        self._calls += [*self._caller.preloads(), reply.call]
        self.note(reply.note)
        self.note(self._thinking.note(request.setup))

    def note(self, note: str) -> None:
        """What a person should know; nothing where it is empty."""
        if note:
            self._notes.append(note)


def _with_reasons(
    prompt: Prompt, schema: Callable[[int], type[R]], several: bool
) -> tuple[Prompt, Callable[[int], type[R]]]:
    """The same with the request for a reason, or for one for each passage."""
    return (
        lambda numbers: prompts.with_reasons(prompt(numbers), several),
        lambda count: schemas.with_reasons(schema(count), count if several else 0),
    )


def _note_of(error: Unusable) -> str:
    """A failure as a note: what happened, and if there is one the remedy."""
    return f"{error}; {error.hint}" if isinstance(error, Empty) else str(error)
