"""Call chat models of LangChain, Ollama's among them; each call is read on its own thread and can be stopped.

A client blocks while a model is loaded and a prompt is read, so the caller's thread only waits and checks the clock and
Ctrl-C. The reading thread works in a copy of the caller's context, in which LangChain finds the callbacks of the
calling program.
"""

from __future__ import annotations

import contextvars
import json
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from local_rag.config.values import Ollama
from local_rag.core import cancel
from local_rag.core.cancel import Connection
from local_rag.core.errors import EngineError, LocalRagError
from local_rag.core.events import SILENT
from local_rag.core.verdicts import Call
from local_rag.engines.language_model.window import Message, ModelSetup, PromptTooLong, estimate, was_cut
from local_rag.engines.ollama.transport import CUT, GuardedServer, over

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableConfig

ABORT_SECONDS = 1.0
"""Seconds that an aborted call may take to end; milliseconds are usual."""

READING = 5.0
"""Tokens of a prompt per second that the slowest machine reads.

360 per second were measured for 240 million parameters on two cores, which makes about 10 for 8 billion.
"""

SEED = 42

POLL = 0.05
"""Seconds between two checks for a stop while nothing arrives."""

CLOSED = "the engine was closed while it was asked"


class ChatRequest(NamedTuple):
    """Hold one prompt. `cap` is the most tokens of the reply, `schema` its JSON schema; `variant` 0 has the fixed seed
    at temperature 0, other variants are further tries at temperature 0.7. `role`, `retry` and `prompt` are as in
    `Call`.
    """

    role: str
    setup: ModelSetup
    messages: Sequence[Message]
    cap: int
    schema: Mapping[str, Any] | None = None
    variant: int = 0
    retry: bool = False
    prompt: str = ""


class Reply(NamedTuple):
    """Hold a reply without thoughts, and its number of tokens. `cut`: it reached its cap or the end of the window."""

    text: str
    cut: bool
    tokens: int


class BrokenOff(EngineError):
    """Report a reply that did not end as it should; the same call may work the next time."""

    def __init__(self, what: str) -> None:
        super().__init__(what, hint="ask again; if it happens often, try another model: local-rag models")


class ChatCalls(ABC):
    """Make the calls of one engine, one at a time: a server would queue them, and waiting there looks
    like a failure.
    """

    patience = float("inf")
    """Seconds of silence in the middle of a reply that count as no failure."""

    loads_ahead = False
    """Whether a model is being loaded before it is needed; the question's clock stands still meanwhile."""

    at_silence = "ollama ps shows whether it still works; LOCAL_RAG_OLLAMA_IDLE_SECONDS allows it more time"
    """The hint for a reply that stops arriving."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._closed = False
        self._connections: set[Connection] = set()

    @abstractmethod
    def chunks(self, request: ChatRequest, config: RunnableConfig) -> Iterator[AIMessage]:
        """Yield the reply as LangChain streams it."""

    @abstractmethod
    def check_end(self, request: ChatRequest, text: str, about: Mapping[str, Any]) -> bool:
        """Return whether a reply was cut; `about` is its response metadata. Raises PromptTooLong, BrokenOff,
        EngineError.
        """

    @abstractmethod
    def error_of(self, request: ChatRequest, error: Exception) -> Exception:
        """Convert a failure of the client to PromptTooLong, BrokenOff or an EngineError with what to do."""

    def first_patience(self, request: ChatRequest) -> float:
        """Return the seconds that the first part of a reply may take."""
        return self.patience

    def close(self) -> None:
        """Abort every call, also those that wait for their turn; no further call begins."""
        self._closed = True
        for connection in list(self._connections):
            connection.abort()

    def ask(self, request: ChatRequest, log: list[Call]) -> Reply:
        """Return the whole reply; see `stream`."""
        stream = self.stream(request, log)
        while True:
            try:
                next(stream)
            except StopIteration as end:
                reply: Reply = end.value
                return reply

    def stream(self, request: ChatRequest, log: list[Call]) -> Generator[str | None, None, Reply]:
        """Yield the reply part by part and return it whole at its end; yield None if it begins again. Closing aborts
        the call.

        Its cost is added to the log. Raises PromptTooLong, BrokenOff, EngineError, Stopped.
        """
        cancel.check()
        started, whole, given = time.perf_counter(), None, ""
        try:
            with closing(self._arriving(request)) as arriving:
                for chunk in arriving:
                    whole = chunk if whole is None else cast("AIMessage", whole + chunk)
                    said = without_thoughts(text_of(whole))
                    if not said.startswith(given):
                        yield None
                        given = ""
                    if said != given:
                        yield said[len(given) :]
                    given = said
            if self._closed and whole is None:
                raise EngineError(CLOSED)
            cut = self.check_end(request, given, whole.response_metadata if whole is not None else {})
        except BrokenOff:
            log.append(call_of(request, whole, time.perf_counter() - started))
            raise
        log.append(call := call_of(request, whole, time.perf_counter() - started))
        cancel.current().extend(call.load_seconds if call.loaded else 0.0)  # loading is no part of answering
        return Reply(given.strip(), cut, call.output_tokens)

    def _arriving(self, request: ChatRequest) -> Generator[AIMessage, None, None]:
        """Yield the messages of the reading thread until its end; raise an error after a longer silence than the prompt
        explains.
        """
        connection, out = Connection(), queue.SimpleQueue[Any]()
        reading = partial(contextvars.copy_context().run, self._read, request, connection, out)
        threading.Thread(target=reading, name="local-rag-call", daemon=True).start()
        since, patience = time.monotonic(), float("inf")
        try:
            while True:
                try:
                    item = out.get(timeout=POLL)
                except queue.Empty:
                    if self.loads_ahead:
                        cancel.current().extend(POLL)
                    cancel.check()
                    if self._closed:
                        raise EngineError(CLOSED) from None
                    if time.monotonic() - since > patience:
                        raise self._silent(request, patience) from None
                    continue
                cancel.check()
                if isinstance(item, StopIteration):
                    return
                if isinstance(item, BaseException):
                    raise self._error_of(request, item) from item
                since, patience = time.monotonic(), self.first_patience(request) if item is None else self.patience
                if item is not None:
                    yield item
        finally:
            connection.abort()

    def _read(self, request: ChatRequest, connection: Connection, out: queue.SimpleQueue[Any]) -> None:
        """Read a reply on its own thread: send None when its turn has come, then the chunks, then StopIteration or an
        error.
        """
        from langsmith import tracing_context

        about = {"prompt": request.prompt, "retry": request.retry}
        config: RunnableConfig = {"run_name": request.role, "tags": [SILENT], "metadata": about}
        try:
            with self.turn(connection) as come, tracing_context(enabled=False):
                if come:
                    out.put(None)
                    for chunk in self.chunks(request, config):
                        if connection.aborted:
                            break
                        out.put(chunk)
            out.put(StopIteration())
        except BaseException as error:
            out.put(error)

    @contextmanager
    def turn(self, connection: Connection) -> Iterator[bool]:
        """Wait for the turn of a call over this connection; yield whether it came before the call was aborted."""
        self._connections.add(connection)
        come = False
        try:
            while not (come or connection.aborted or self._closed):
                come = self._turn.acquire(timeout=POLL)
            with over(connection):
                yield come
        finally:
            self._connections.discard(connection)
            if come:
                self._turn.release()

    def _error_of(self, request: ChatRequest, error: BaseException) -> BaseException:
        if isinstance(error, LocalRagError) or not isinstance(error, Exception):
            return error
        return EngineError(CLOSED) if self._closed else self.error_of(request, error)

    def _silent(self, request: ChatRequest, seconds: float) -> EngineError:
        what = "stopped in the middle of its reply" if seconds == self.patience else "sent nothing"
        return EngineError(
            f"{request.setup.model} {what} for {seconds:.0f} s, so the connection was closed",
            hint=self.at_silence,
        )


class ServerCalls(ChatCalls):
    """Make all calls to one server of this machine."""

    def __init__(self, server: GuardedServer, settings: Ollama) -> None:
        super().__init__()
        self._server, self.settings, self.patience = server, settings, settings.idle_seconds

    def close(self) -> None:
        """Abort every call, also those that wait for their turn; no further call begins."""
        super().close()
        # A socket that is closed while its thread still reads leaves that thread on a number that others get anew.
        if self._turn.acquire(timeout=ABORT_SECONDS):
            self._turn.release()
            self._server.close()

    def error_of(self, request: ChatRequest, error: Exception) -> Exception:
        if isinstance(error, CUT):
            return BrokenOff(f"the connection to {self._server} was cut in the middle of a reply")
        return self._server.error_of(error, request.setup.model, "chat")

    def first_patience(self, request: ChatRequest) -> float:
        return self.patience + self.settings.load_seconds + estimate(request.messages) / READING

    def is_cut(self, request: ChatRequest, reason: object, counted: int | None, generated: int) -> bool:
        """Return whether a reply ended at its cap, by the server's reason and counts of tokens. Raises PromptTooLong
        where the prompt, or the prompt with its reply, filled the window.
        """
        window = request.setup.num_ctx
        if was_cut(request.messages, counted, window):
            raise PromptTooLong()
        if reason == "length" and counted and counted + generated >= window:
            raise PromptTooLong(counted, window)
        return reason == "length"


LOADED = 0.25
"""The seconds of `load_duration` from which a model counts as loaded for a call.

Recorded for a model of 7 MB: 0.02 at most when it was in memory, 0.26 and more when it was not.
"""


def call_of(request: ChatRequest, message: AIMessage | None, seconds: float) -> Call:
    """Return the figures of a call from LangChain's message; Ollama adds its measured durations (nanoseconds)."""
    used: Mapping[str, Any] = (message.usage_metadata if message is not None else None) or {}
    about = message.response_metadata if message is not None else {}
    load, read, wrote = (
        float(about.get(key) or 0) / 1e9 for key in ("load_duration", "prompt_eval_duration", "eval_duration")
    )
    return Call(
        role=request.role,
        model=request.setup.model,
        prompt_tokens=int(used.get("input_tokens") or 0),
        output_tokens=int(used.get("output_tokens") or 0),
        seconds=seconds,
        load_seconds=load,
        prompt_seconds=read,
        output_seconds=wrote,
        loaded=load >= LOADED,
        retry=request.retry,
        prompt=request.prompt,
    )


def text_of(message: AIMessage) -> str:
    """Return the text of a reply, or of its beginning; for a tool call its arguments."""
    if calls := [*message.tool_calls, *message.invalid_tool_calls]:
        arguments = calls[0]["args"]
        return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return str(message.text).encode("utf-8", "replace").decode()  # JSON may hold half a character


_OPEN, _CLOSE = "<think>", "</think>"


def without_thoughts(text: str) -> str:
    """Remove the thoughts that a template leaves in a reply or its beginning; some templates lose the opening mark."""
    before, closed, rest = text.partition(_CLOSE)
    start = before.lstrip()
    if closed and (start.startswith(_OPEN) or _OPEN not in before):
        return rest.lstrip()
    return "" if start.startswith(_OPEN) or _OPEN.startswith(start) else text
