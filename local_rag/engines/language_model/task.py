"""Do one task of the engine: make its calls, handle unusable replies, and add up the cost."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple

from pydantic import ValidationError

from local_rag.config.models import Role
from local_rag.core import cancel
from local_rag.core.errors import mistake_of
from local_rag.core.protocols import Rewrite
from local_rag.core.verdicts import Call, Usage
from local_rag.engines.calls import BrokenOff, ChatCalls, ChatRequest, Reply
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.prompts import Prompts, correction, with_reasons
from local_rag.engines.language_model.schemas import R
from local_rag.engines.language_model.window import FittedPrompt, Message, ModelSetup, Prompt, PromptTooLong
from local_rag.text.display import plural, shorten
from local_rag.text.fences import fenced
from local_rag.text.words import query_key

ANSWER_TOKENS = 512
"""The most tokens of an answer; three sentences take about 100."""
LINE_TOKENS = 96
"""The most tokens of a query or a question."""
TRIES = 2
"""The number of times that a line is asked for."""
QUOTED = 400
"""The most characters of an unusable reply that the retry is shown."""
LONGEST_REASON = 200
"""The most characters of a reason that are kept; the grammar allows 160, and not every server has one."""


class Verdict(NamedTuple, Generic[R]):
    """Hold a parsed reply, None if no reply could be used; `error` is the error of the last one.

    `kept` are the positions of the passages that the model was shown.
    """

    reply: R | None
    kept: list[int]
    error: str = ""

    @property
    def why(self) -> str:
        """The error of the reply, else the reason that the model gave, if it was asked for one."""
        return self.error or self.reason()

    def reason(self, number: int = 0) -> str:
        """Return the reason given for the verdict, or for one of several."""
        given = getattr(self.reply, "why", "")
        return shorten(given[number] if isinstance(given, list) else given, LONGEST_REASON)


class Task:
    """Make the calls of one task, in turn, with their costs.

    In each call `role` names the model, and `name` the prompt text, or several joined by "+". `order` lists the
    positions of the passages that its prompt may leave out, the most wanted first.
    """

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
        """Return the cost so far."""
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

    def note(self, note: str) -> None:
        """Add a note for the person who asked."""
        self._notes.append(note)

    def verdict(
        self,
        role: Role,
        name: str,
        prompt: Prompt,
        schema: type[R],
        order: Sequence[int] = (),
        *,
        each: bool = False,
        needed: int = 1,
        check: Callable[[R], None] = lambda reply: None,
    ) -> Verdict[R]:
        """Return one verdict, or one for `each` passage; a reply for which `check` raises ValueError is unusable.

        Raises DoesNotFit if not even the first `needed` passages fit.
        """
        explain = self._explain and schema.explained

        def shape(count: int) -> type[R]:
            sized: type[R] = schemas.of_length(schema, count) if each else schema
            return schemas.with_reasons(sized, count if each else 0) if explain else sized

        def explained(positions: Sequence[int]) -> Sequence[Message]:
            messages = prompt(positions)
            return with_reasons(messages, several=each) if explain else messages

        def send(messages: Sequence[Message]) -> tuple[R | None, str]:
            sized = shape(len(fitted.kept))
            request = self._request(role, name, messages, schemas.most_tokens(sized), schema=schemas.wire(sized))
            return self._strict(request, sized, check)

        setup = self._setups[role]
        fitted = FittedPrompt(explained, order, setup, lambda count: schemas.most_tokens(shape(count)), needed)
        parsed, wrong = fitted.sent(send)
        if parsed is None:
            self._unparsed += 1
            self.note(f"{name}: no usable verdict of {setup.model}: {wrong}")
        return Verdict(parsed, fitted.kept, wrong)

    def text(
        self, name: str, prompt: Prompt, order: Sequence[int], counting: int, variant: int
    ) -> Iterator[str | None]:
        """Yield an answer as it is written, with as many of the passages as fit; yield None if it begins again.

        The first `counting` of `order` are those whose loss is reported. A reply that broke off is asked for once more,
        at a higher temperature: at 0 it would break off again.
        """
        fitted = FittedPrompt(prompt, order, self._setups["generator"], lambda _: ANSWER_TOKENS)
        retry = wrote = False
        while True:
            try:
                messages = fitted.messages
                request = self._request("generator", name, messages, ANSWER_TOKENS, variant=variant, retry=retry)
                for bit in self._streamed(request):
                    wrote = bit is not None
                    yield bit
                if len(fitted.kept) < counting:
                    self.note(fitted.note)
                return
            except PromptTooLong as size:
                fitted.shrink(size)
            except BrokenOff:
                if retry:
                    raise
                retry, variant = True, variant + 1
            if wrote:
                wrote = False
                yield None

    def line(self, name: str, prompt: Prompt, order: Sequence[int], tried: set[str]) -> Rewrite:
        """Return one line of text whose `query_key` is not among those tried; empty if the model has none."""
        fitted = FittedPrompt(prompt, order, self._setups["rewriter"], lambda _: LINE_TOKENS)
        for variant in range(TRIES):
            try:
                line = fitted.sent(partial(self._line, name, variant))
            except BrokenOff as error:
                self.note(str(error))
                continue
            if line and query_key(line) not in tried:
                return Rewrite(line, self.usage())
        return Rewrite("", self.usage())

    def _line(self, name: str, variant: int, messages: Sequence[Message]) -> str:
        request = self._request("rewriter", name, messages, LINE_TOKENS, variant=variant, retry=variant > 0)
        return first_line(self._calls.ask(request, self._log).text)

    def _request(self, role: Role, name: str, messages: Sequence[Message], cap: int, **others: Any) -> ChatRequest:
        """Return a request with the digest of the texts that its prompt was made of."""
        digest = self.prompts.texts.digest(name.split("+"))
        return ChatRequest(name, self._setups[role], messages, cap, prompt=digest, **others)

    def _strict(self, request: ChatRequest, schema: type[R], check: Callable[[R], None]) -> tuple[R | None, str]:
        """Ask, parse strictly, and ask once more with the error quoted; return the parsed reply and the error."""
        wrong = ""
        for retry in (False, True):
            try:
                reply = self._calls.ask(request._replace(retry=retry), self._log)
            except BrokenOff as error:
                wrong, request = str(error), request._replace(variant=1)
                continue
            except PromptTooLong:
                if not retry:
                    raise
                break
            parsed, wrong = parsed_reply(reply, schema)
            if parsed is not None:
                try:
                    check(parsed)
                except ValueError as error:
                    wrong = str(error)
                else:
                    return parsed, ""
            keys = [each.alias or name for name, each in schema.model_fields.items()]
            again = ("assistant", fenced(shorten(reply.text, QUOTED))), ("user", correction(wrong, keys))
            request = request._replace(messages=[*request.messages, *again])
        return None, wrong

    def _streamed(self, request: ChatRequest) -> Iterator[str | None]:
        reply = yield from self._calls.stream(request, self._log)
        if reply.cut:
            most = plural(reply.tokens, "token")
            self.note(f"the answer was cut off after {most}, the most that it may take; ask for less at a time")


def parsed_reply(reply: Reply, schema: type[R]) -> tuple[R | None, str]:
    """Return the reply parsed by its schema, else the error."""
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
    """Return the relevant line of a reply, without a preamble before it and the marks and labels around it."""
    lines = [line.strip() for line in reply.splitlines() if line.strip() and not line.strip().startswith("```")]
    if len(lines) > 1 and lines[0].endswith(":"):
        del lines[0]
    line = _LABEL.sub("", lines[0]).strip() if lines else ""
    while len(line) > 1 and _PAIRS.get(line[0]) == line[-1] and line[0] not in line[1:-1]:
        line = line[1:-1].strip()
    return line.strip("*` ")[:300]
