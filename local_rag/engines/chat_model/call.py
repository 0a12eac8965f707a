"""One call to a chat model of LangChain: read on a thread of its own, left behind when told to stop.

Such a model blocks for as long as it likes and cannot be interrupted. So who asked waits with an eye on the clock and
on Ctrl-C. The thread works in a copy of the caller's context: LangChain finds its callbacks there.
"""

from __future__ import annotations

import contextvars
import json
import queue
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local_rag.core import cancel
from local_rag.core.callbacks import SILENT
from local_rag.core.errors import EngineError, LocalRagError
from local_rag.core.usage import Call
from local_rag.engines.language_model.context_window import PromptTooLong
from local_rag.engines.language_model.replies import (
    AGAIN,
    BrokenOff,
    ChatRequest,
    Reply,
    Thoughts,
    Unusable,
    call_of,
    drained,
)
from local_rag.engines.language_model.token_probabilities import Token
from local_rag.text.display import shorten

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import Runnable, RunnableConfig

POLL = 0.05
"""Seconds between two looks at the stop button while nothing arrives."""

THOUGHTS = 2_048
"""Bits of a reply that a model may spend on thoughts before it answers."""

Options = dict[str, Any]
WAYS: tuple[Options | None, ...] = ({}, {"method": "function_calling"}, {"method": "json_mode"}, None)
"""How a model is told to reply in JSON: options of `with_structured_output`; None: by the prompt alone."""


@dataclass
class _Shared:
    """What all engines of one chat model have in common: whose turn it is, and which of `WAYS` the model knows."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    way: int = 0
    proven: bool = False


class ChatModelCalls:
    """All calls to one chat model, one at a time: a model in this process is rarely made for more."""

    def __init__(self, model: BaseChatModel, name: str, shared: _Shared | None = None) -> None:
        self._model = model
        self._name = name
        self._shared = shared or _Shared()
        self._closed = threading.Event()

    def for_another_engine(self) -> ChatModelCalls:
        """Calls that take turns with these, and end on their own."""
        return ChatModelCalls(self._model, self._name, self._shared)

    def close(self) -> None:
        """No further call begins; who waits for one is told so."""
        self._closed.set()

    def preloads(self) -> list[Call]:
        """None: how a model of LangChain is loaded is not known."""
        return []

    def ask(self, request: ChatRequest) -> Reply:
        """The whole reply. Raises PromptTooLong, BrokenOff, EngineError, Stopped."""
        return drained(self.stream(request))

    def stream(self, request: ChatRequest) -> Generator[Token | None, None, Reply]:
        """The reply bit by bit, without thoughts, and as a whole at its end; None where it begins anew."""
        cancel.check()
        started, thoughts, bits = time.perf_counter(), Thoughts(), 0
        whole: Any = None
        arriving = self._arriving(request)
        try:
            for message in arriving:
                whole = message if whole is None else whole + message
                if text := thoughts.feed(_text_of(message)):
                    if thoughts.restarted:
                        yield None
                    yield Token(text)
                if (bits := bits + 1) > request.cap + THOUGHTS:
                    break  # a bit is one token or more, and how many there may be cannot be told every model
            if text := thoughts.end():
                yield Token(text)
            if not thoughts.text.strip():
                raise BrokenOff(f"{self._name} returned no text", hint=AGAIN)
        except Unusable as error:
            error.call = self._call(request, whole, started)
            raise
        finally:
            arriving.close()
        cut = _was_cut(whole) or bits > request.cap + THOUGHTS
        return Reply(thoughts.text.strip(), cut, self._call(request, whole, started))

    def _call(self, request: ChatRequest, whole: AIMessage | None, started: float) -> Call:
        used: Mapping[str, Any] = (whole.usage_metadata if whole is not None else None) or {}
        figures = {"prompt_eval_count": used.get("input_tokens"), "eval_count": used.get("output_tokens")}
        return call_of(request, figures, time.perf_counter() - started)

    def _arriving(self, request: ChatRequest) -> Generator[AIMessage, None, None]:
        """What the reading thread sends, until its end or until the question is stopped."""
        out, left = queue.SimpleQueue[Any](), threading.Event()
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(self._read, request, left, out), name="local-rag-call", daemon=True
        ).start()
        try:
            while True:
                try:
                    item = out.get(timeout=POLL)
                except queue.Empty:
                    cancel.check()
                    if self._closed.is_set():
                        raise EngineError("the engine was closed while it was asked") from None
                    continue
                cancel.check()
                if isinstance(item, StopIteration):
                    return
                if isinstance(item, BaseException):
                    raise self._error_of(item) from item
                yield item
        finally:
            left.set()

    # --- the thread that reads ------------------------------------------------------------------------------------

    def _read(self, request: ChatRequest, left: threading.Event, out: queue.SimpleQueue[Any]) -> None:
        from langsmith import tracing_context

        while not self._shared.turn.acquire(timeout=POLL):
            if left.is_set() or self._closed.is_set():
                return out.put(StopIteration())
        try:
            with tracing_context(enabled=False):
                for message in self._asked(request):
                    if left.is_set():
                        break
                    out.put(message)
            out.put(StopIteration())
        except BaseException as error:
            out.put(error)
        finally:
            self._shared.turn.release()

    def _asked(self, request: ChatRequest) -> Iterator[AIMessage]:
        config: RunnableConfig = {"run_name": request.role, "tags": [SILENT]}
        messages = list(request.messages)
        if request.schema is None:
            yield from self._model.stream(messages, config)
            return
        schema = {"title": request.role, "description": "The reply to the task.", **request.schema}
        errors: list[Exception] = []
        for number in range(self._shared.way, len(WAYS)):
            try:
                reply = _bound(self._model, WAYS[number], schema).invoke(messages, config)
            except Exception as error:
                if self._shared.proven or _is_too_long(error):
                    raise
                errors.append(error)
            else:
                self._shared.way, self._shared.proven = number, True
                yield reply
                return
        raise errors[-1]

    def _error_of(self, error: BaseException) -> BaseException:
        if isinstance(error, LocalRagError) or not isinstance(error, Exception):
            return error
        if _is_too_long(error):
            return PromptTooLong()
        what = shorten(" ".join(f"{type(error).__name__}: {error}".split()), 300)
        return EngineError(
            f"the chat model {self._name} failed: {what}", hint="try the model alone: model.invoke('Hello')"
        )


def _bound(model: BaseChatModel, way: Options | None, schema: Options) -> Runnable[Any, Any]:
    """The model, told to reply in JSON. Raises NotImplementedError where it cannot be told so in this way.

    The first step of what `with_structured_output` makes is the model; the second parses, which is done strictly here.
    """
    if way is None:
        return model
    from langchain_core.runnables import RunnableSequence

    structured = model.with_structured_output(schema, **way)
    if not isinstance(structured, RunnableSequence):
        raise NotImplementedError(f"{type(model).__name__} has a structured output of its own kind")
    return structured.first


def _text_of(message: AIMessage) -> str:
    """The text of a reply, or of a bit of one; of a call to a tool its arguments."""
    if calls := [*message.tool_calls, *message.invalid_tool_calls]:
        arguments = calls[0]["args"]
        return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return str(message.text)


def _was_cut(message: AIMessage) -> bool:
    """Whether the most tokens were reached, in the words of the usual servers."""
    about = message.response_metadata
    return any(about.get(key) in ("length", "max_tokens") for key in ("finish_reason", "done_reason", "stop_reason"))


def _is_too_long(error: Exception) -> bool:
    from langchain_core.exceptions import ContextOverflowError

    return isinstance(error, ContextOverflowError | PromptTooLong)
