"""One task of the engine: the calls that it takes, replies that cannot be used, and what all of it cost."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal

from pydantic import ValidationError

from local_rag.config.models import Role
from local_rag.core import cancel
from local_rag.core.generation import Rewrite
from local_rag.core.reasons import mistake_of
from local_rag.core.usage import Call, Usage
from local_rag.engines.calls import BrokenOff, ChatCalls, ChatRequest, Reply
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.prompts import Prompts, correction, with_reasons
from local_rag.engines.language_model.schemas import R
from local_rag.engines.language_model.window import FittedPrompt, Message, ModelSetup, Prompt, PromptTooLong
from local_rag.text.display import plural, shorten
from local_rag.text.fences import fenced
from local_rag.text.words import query_key

ANSWER_TOKENS = 512
"""The most that an answer may take; three sentences take about 100."""
LINE_TOKENS = 96
"""The most that a query or a question may take."""
TRIES = 2
"""How often a line is asked for."""
QUOTED = 400
"""Characters of a reply that cannot be used which the retry is shown."""
LONGEST_REASON = 200
"""Characters of a reason that are kept; the grammar allows 160, and not every server has one."""

Reasons = Literal["one", "each"]
"""One reason for the verdict, or one for each verdict of a list."""


@dataclass(frozen=True, slots=True)
class Verdict(Generic[R]):
    """`reply` is None where no reply could be used; `error` says why, of the last one.

    `kept` are the positions of the passages that the model was shown.
    """

    reply: R | None
    kept: list[int] = field(default_factory=list)
    error: str = ""

    @property
    def why(self) -> str:
        """What was wrong with the reply, else the reason that the model gave, if it was asked for one."""
        return self.error or self.reason()

    def reason(self, number: int = 0) -> str:
        """The reason given for the verdict, or for one of them."""
        given = getattr(self.reply, "why", "")
        return shorten(given[number] if isinstance(given, list) else given, LONGEST_REASON)


class Task:
    """The calls of one task, in turn, with their costs."""

    def __init__(
        self, calls: ChatCalls, setups: Mapping[Role, ModelSetup], prompts: Prompts, *, explain: bool = False
    ) -> None:
        cancel.check()
        self.prompts, self._calls, self._setups, self._explain = prompts, calls, setups, explain
        self._started = time.perf_counter()
        self._log: list[Call] = []
        self._notes: list[str] = []
        self._unparsed = 0

    def usage(self) -> Usage:
        """What it has cost so far."""
        return Usage(
            calls=len(self._log),
            prompt_tokens=sum(call.prompt_tokens for call in self._log),
            output_tokens=sum(call.output_tokens for call in self._log),
            seconds=time.perf_counter() - self._started,
            loads=sum(call.loaded for call in self._log),
            retries=sum(call.retry for call in self._log),
            unparsed=self._unparsed,
            log=tuple(self._log),
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
        needed: int = 1,
        reasons: Reasons | None = None,
        texts: Sequence[str] = (),
    ) -> Verdict[R]:
        """One verdict, or one for each passage. Raises DoesNotFit where not even the first `needed` passages fit.

        `label` names the call, and `texts` the prompt texts it is made of, by default the one of that name; `order`
        lists the positions of the passages, the most wanted first; `schema` is for so many passages. `reasons` says
        what a task that explains asks a reason for.
        """
        if self._explain and reasons:
            prompt, schema = _with_reasons(prompt, schema, several=reasons == "each")
        shapes = schema
        fitted = FittedPrompt(
            prompt, order, self._setups[role], lambda count: schemas.most_tokens(shapes(count)), needed
        )
        while True:
            shape = shapes(len(fitted.kept))
            wire, most = schemas.wire(shape), schemas.most_tokens(shape)
            request = self._request(role, label, texts, fitted.messages, most, schema=wire)
            try:
                parsed, wrong = self._strict(request, shape)
            except PromptTooLong as size:
                fitted.shrink(size)
                continue
            if parsed is None:
                self._unparsed += 1
                self.note(f"{label}: no usable verdict of {request.setup.model}: {wrong}")
            return Verdict(parsed, fitted.kept, wrong)

    def single(
        self,
        role: Role,
        label: str,
        messages: Sequence[Message],
        schema: type[R],
        *,
        reasons: Reasons | None = None,
        texts: Sequence[str] = (),
    ) -> Verdict[R]:
        """A verdict by a prompt of which nothing can be left out."""
        return self.verdict(role, label, lambda _: messages, (), lambda _: schema, reasons=reasons, texts=texts)

    def text(
        self, label: str, prompt: Prompt, order: Sequence[int], counting: int, variant: int, texts: Sequence[str]
    ) -> Iterator[str | None]:
        """An answer as it is written, with as many of the passages as fit; None where it begins anew.

        The first `counting` of `order` are those that a person misses. A reply that broke off is asked for once more,
        warmer: at temperature 0 it would break off again.
        """
        fitted = FittedPrompt(prompt, order, self._setups["generator"], lambda _: ANSWER_TOKENS)
        retry = wrote = False
        while True:
            request = self._request(
                "generator", label, texts, fitted.messages, ANSWER_TOKENS, variant=variant, retry=retry
            )
            try:
                for bit in self._streamed(request):
                    wrote = bit is not None
                    yield bit
                return self.note(fitted.note if len(fitted.kept) < counting else "")
            except PromptTooLong as size:
                fitted.shrink(size)
            except BrokenOff:
                if retry:
                    raise
                retry, variant = True, variant + 1
            if wrote:
                wrote = False
                yield None

    def line(
        self, label: str, prompt: Prompt, order: Sequence[int], tried: set[str], texts: Sequence[str] = ()
    ) -> Rewrite:
        """One line of text that is not among those tried (casefolded), empty where the model has none.

        `order` lists what the prompt may do without, the most wanted first.
        """
        variant = 0
        fitted = FittedPrompt(prompt, order, self._setups["rewriter"], lambda _: LINE_TOKENS)
        while variant < TRIES:
            request = self._request(
                "rewriter", label, texts, fitted.messages, LINE_TOKENS, variant=variant, retry=variant > 0
            )
            try:
                line = first_line(self._calls.ask(request, self._log).text)
            except PromptTooLong as size:
                fitted.shrink(size)
                continue
            except BrokenOff as error:
                self.note(str(error))
                line = ""
            if line and query_key(line) not in tried:
                return Rewrite(line, self.usage())
            variant += 1
        return Rewrite("", self.usage())

    def _request(
        self, role: Role, label: str, texts: Sequence[str], messages: Sequence[Message], cap: int, **others: Any
    ) -> ChatRequest:
        """A prompt with the names of the texts that it was made of, and their digest."""
        texts = texts or (label,)
        digest = self.prompts.texts.digest(texts)
        return ChatRequest(label, self._setups[role], messages, cap, task="+".join(texts), prompt=digest, **others)

    def _strict(self, request: ChatRequest, schema: type[R]) -> tuple[R | None, str]:
        """Ask, parse strictly, ask once more with the error quoted: the parsed reply, and what was wrong."""
        messages, wrong = request.messages, ""
        for retry in (False, True):
            rejected = ""
            try:
                reply = self._calls.ask(replace(request, retry=retry), self._log)
                parsed, wrong = parsed_reply(reply, schema)
                if parsed is not None:
                    return parsed, ""
                rejected = reply.text
            except BrokenOff as error:
                wrong = str(error)
            except PromptTooLong:
                if not retry:
                    raise
                return None, wrong
            if rejected:
                keys = [str(each.alias) for each in schema.model_fields.values()]
                again = ("assistant", fenced(shorten(rejected, QUOTED))), ("user", correction(wrong, keys))
                request = replace(request, messages=[*messages, *again])
            else:
                request = replace(request, variant=1)
        return None, wrong

    def _streamed(self, request: ChatRequest) -> Iterator[str | None]:
        reply = yield from self._calls.stream(request, self._log)
        if reply.cut:
            most = plural(reply.tokens, "token")
            self.note(f"the answer was cut off after {most}, the most that it may take; ask for less at a time")

    def note(self, note: str) -> None:
        """What a person should know; nothing where it is empty."""
        if note:
            self._notes.append(note)


def _with_reasons(
    prompt: Prompt, schema: Callable[[int], type[R]], several: bool
) -> tuple[Prompt, Callable[[int], type[R]]]:
    """The same with the request for a reason, or for one for each passage."""
    return (
        lambda numbers: with_reasons(prompt(numbers), several),
        lambda count: schemas.with_reasons(schema(count), count if several else 0),
    )


def parsed_reply(reply: Reply, schema: type[R]) -> tuple[R | None, str]:
    """The reply in the form of its schema, else what is wrong with it."""
    if reply.cut:
        return None, f"it was cut off after {plural(reply.tokens, 'token')}"
    try:
        return schema.model_validate_json(reply.text), ""
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return None, f"{where + ': ' if where else ''}{mistake_of(first)} (it was {shorten(repr(first['input']), 80)})"


_LABEL = re.compile(
    r"^(?:[-*•>]\s+|\d+[.)]\s+)?(?:\W*(?:new |rewritten |search |web )*(?:query|question)\W*:\W*)?", re.I
)
_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "*": "*"}


def first_line(reply: str) -> str:
    """The line that is meant: not the preamble before it, nor the marks and labels around it."""
    lines = [line.strip() for line in reply.splitlines() if line.strip() and not line.strip().startswith("```")]
    if len(lines) > 1 and lines[0].endswith(":"):
        del lines[0]
    line = _LABEL.sub("", lines[0]).strip() if lines else ""
    while len(line) > 1 and _PAIRS.get(line[0]) == line[-1] and line[0] not in line[1:-1]:
        line = line[1:-1].strip()
    return line.strip("*` ")[:300]
