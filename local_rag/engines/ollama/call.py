"""One call to a model: streamed on a thread of its own, watched, aborted when told to, and checked for how it ended.

langchain-ollama blocks while a model is loaded and a prompt is read, and returns normally from a stream that broke
off. So the reading is done elsewhere; who asked waits with an eye on the clock and on Ctrl-C, and looks at `done`.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Generator, Iterator
from typing import Any

import httpx

from local_rag.config.values import Ollama
from local_rag.core import cancel
from local_rag.core.callbacks import ModelRun
from local_rag.core.errors import EngineError, LocalRagError, Stopped
from local_rag.core.usage import Call
from local_rag.engines.language_model.context_window import ModelSetup, estimate, too_long
from local_rag.engines.language_model.replies import (
    AGAIN,
    BrokenOff,
    ChatRequest,
    Reply,
    ThinkRefused,
    Thoughts,
    Unusable,
    call_of,
    check_end,
    drained,
)
from local_rag.engines.language_model.token_probabilities import Token, tokens_of
from local_rag.engines.ollama.clients import ChatClients, about, ollama
from local_rag.engines.ollama.model_loads import Loads, duration
from local_rag.engines.ollama.model_names import same_model
from local_rag.engines.ollama.server import Server, one_line, project_error, refuses_thinking
from local_rag.engines.ollama.transport import Connection, over

POLL = 0.05
"""Seconds between two looks at the stop button while nothing arrives."""

ABORT_SECONDS = 1.0
"""Seconds that an aborted call may take to end; milliseconds are usual."""

READING = 5.0
"""Tokens per second that the slowest machine reads of a prompt.

360 a second were measured for 240 million parameters on two cores; that makes about 10 for 8 billion.
"""


class Caller:
    """All calls to one server, one at a time: Ollama would queue them, and waiting in its queue looks like a stall."""

    def __init__(self, server: Server, settings: Ollama) -> None:
        self.server = server
        self.settings = settings
        self._turn = threading.Lock()
        self._chats = ChatClients(server, settings.keep_alive)
        self._connections: set[Connection] = set()
        self.loads = Loads(settings.keep_alive)
        self._preloading: set[str] = set()
        self._closed = False

    def close(self) -> None:
        """Abort every call, also those that wait for their turn; there are no further ones."""
        self._closed = True
        for connection in list(self._connections):
            connection.abort()
        # A socket that is closed while its thread still reads leaves that thread on a number that others get anew.
        if self._turn.acquire(timeout=ABORT_SECONDS):
            self._turn.release()
            self.server.close()

    def ask(self, request: ChatRequest) -> Reply:
        """The whole reply. Raises PromptTooLong, BrokenOff, Empty, EngineError, Stopped."""
        return drained(self.stream(request))

    def stream(self, request: ChatRequest) -> Generator[Token | None, None, Reply]:
        """The reply bit by bit, without thoughts, and as a whole at its end; None where it begins anew.

        Closing it aborts the call. A bit has a log-probability where it is one token, and the server gave one.
        """
        cancel.check()
        started = time.perf_counter()
        thoughts, last, tokens = Thoughts(), dict[str, Any](), list[Token]()
        run = ModelRun(request.role, "ollama", request.setup.model, request.messages, about(request))
        chunks = self._chunks(request)
        try:
            for token, metadata in chunks:
                last = metadata if metadata.get("done") else last
                tokens.append(token)
                text = thoughts.feed(token.text)
                if thoughts.restarted:
                    yield None
                if text:
                    if request.schema is None:
                        run.token(text)
                    yield token if text == token.text else Token(text)
            if text := thoughts.end():
                yield Token(text)
            if self._closed and not last:
                raise EngineError(_CLOSED)
            cut = check_end(request, thoughts.text, last)
            call, note = self.loads.counted(call_of(request, last, time.perf_counter() - started))
            run.end(thoughts.text.strip(), call)
            return Reply(thoughts.text.strip(), cut, call, note, tuple(tokens))
        except BaseException as error:
            if isinstance(error, Unusable):
                error.call = call_of(request, last, time.perf_counter() - started)
            run.error(Stopped("stopped") if isinstance(error, GeneratorExit) else error)
            raise
        finally:
            chunks.close()

    def preloads(self) -> list[Call]:
        """The models that were loaded ahead since the last call of this, for the usage."""
        return self.loads.preloads()

    def preload(self, setup: ModelSetup) -> None:
        """Load a model in the background, in the options of the calls that follow. Whatever goes wrong shows there."""
        if setup.model in self._preloading or self.loads.stayed(setup.model, time.monotonic()):
            return
        self._preloading.add(setup.model)
        connection = Connection()
        self._connections.add(connection)
        threading.Thread(
            target=contextvars.Context().run,
            args=(self._preload, setup, connection),
            name="local-rag-preload",
            daemon=True,
        ).start()

    # --- the thread that reads ------------------------------------------------------------------------------------

    def _preload(self, setup: ModelSetup, connection: Connection) -> None:
        if not self._take_turn(connection):
            return self._preloading.discard(setup.model)
        started = time.perf_counter()
        try:
            with over(connection):
                in_memory = self._in_memory(setup)
                patience = self.settings.load_seconds + self.settings.idle_seconds
                self.server.preload(setup.model, setup.options, duration(self.settings.keep_alive), patience)
            self.loads.preloaded(setup.model, time.perf_counter() - started, loaded=not in_memory)
        except (LocalRagError, RuntimeError):
            pass  # the first question meets the same trouble, and reports it; a client closed by now: RuntimeError
        finally:
            self._connections.discard(connection)
            self._preloading.discard(setup.model)
            self._turn.release()

    def _in_memory(self, setup: ModelSetup) -> bool:
        """Whether it is there with this window; old servers do not tell the window."""
        return any(
            same_model(model.name, setup.model) and model.window in (None, setup.num_ctx)
            for model in self.server.loaded()
        )

    def _take_turn(self, connection: Connection) -> bool:
        while not (connection.aborted or self._closed):
            if self._turn.acquire(timeout=POLL):
                return True
        return False

    def _read(self, request: ChatRequest, connection: Connection, out: queue.SimpleQueue[Any]) -> None:
        if not self._take_turn(connection):
            return out.put(StopIteration())
        try:
            from langsmith.run_helpers import tracing_context

            out.put(None)
            with over(connection), tracing_context(enabled=False):
                for chunk in self._chats.of(request).stream(
                    list(request.messages), format=request.schema, **_figures(request)
                ):
                    if connection.aborted:
                        break
                    metadata = dict(chunk.response_metadata)
                    text = str(chunk.content).encode("utf-8", "replace").decode()  # JSON may hold half a character
                    for token in tokens_of(text, metadata.pop("logprobs", None)):
                        out.put((token, metadata))
            out.put(StopIteration())
        except BaseException as error:
            out.put(error)
        finally:
            self._turn.release()

    # --- who asked ------------------------------------------------------------------------------------------------

    def _chunks(self, request: ChatRequest) -> Generator[tuple[Token, dict[str, Any]], None, None]:
        connection, out = Connection(), queue.SimpleQueue[Any]()
        self._connections.add(connection)
        thread = threading.Thread(
            target=contextvars.Context().run,
            args=(self._read, request, connection, out),
            name="local-rag-call",
            daemon=True,
        )
        thread.start()
        try:
            for item in self._arriving(request, out, thread):
                if isinstance(item, BaseException):
                    raise self._error_of(request, item) from item
                yield item
        finally:
            self._connections.discard(connection)
            connection.abort()
            thread.join(POLL)

    def _arriving(self, request: ChatRequest, out: queue.SimpleQueue[Any], thread: threading.Thread) -> Iterator[Any]:
        """What the reading thread sends, until its end; silence beyond what the prompt explains is an error.

        While a model is being loaded the clock of the question stands still.
        """
        idle = self.settings.idle_seconds
        reading = idle + self.settings.load_seconds + estimate(request.messages) / READING
        since, patience = time.monotonic(), float("inf")
        while True:
            try:
                item = out.get(timeout=POLL)
            except queue.Empty:
                if self._preloading:
                    cancel.current().extend(POLL)
                cancel.check()
                if not thread.is_alive() and out.empty():
                    raise EngineError(
                        "the thread that reads Ollama's replies has died", hint="local-rag doctor"
                    ) from None
                if time.monotonic() - since > patience:
                    raise self._silent(request, patience, patience == idle) from None
                continue
            cancel.check()
            if isinstance(item, StopIteration):
                return
            since, patience = time.monotonic(), reading if item is None else idle
            if item is not None:
                yield item

    def _silent(self, request: ChatRequest, seconds: float, started: bool) -> EngineError:
        what = "stopped in the middle of its reply" if started else "sent nothing"
        return EngineError(
            f"{request.setup.model} {what} for {seconds:.0f} s, so the connection was closed",
            hint="ollama ps shows whether it still works; LOCAL_RAG_OLLAMA_IDLE_SECONDS allows it more time",
        )

    def _error_of(self, request: ChatRequest, error: BaseException) -> BaseException:
        if isinstance(error, LocalRagError) or not isinstance(error, Exception):
            return error
        if self._closed:
            return EngineError(_CLOSED)
        if isinstance(error, ollama().ResponseError):
            if refused := too_long(error.status_code, error.error):
                return refused
            if error.status_code == -1:
                return BrokenOff(
                    f"{request.setup.model} failed in the middle of its reply: {one_line(error.error)}", hint=AGAIN
                )
            if request.setup.think and refuses_thinking(error.error):
                refusal = project_error(error, self.server.address, request.setup.model)
                return ThinkRefused(str(refusal), hint=refusal.hint)
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
            return BrokenOff(f"the connection to {self.server.address} was cut in the middle of a reply", hint=AGAIN)
        if isinstance(error, ValueError) and "No generation chunks" in str(error):
            return BrokenOff(f"{request.setup.model} ended its reply before it began", hint=AGAIN)
        return project_error(error, self.server.address, request.setup.model, "chat")


def _figures(request: ChatRequest) -> dict[str, Any]:
    if request.logprobs is None:
        return {}
    return {"logprobs": True} | ({"top_logprobs": request.logprobs} if request.logprobs else {})


_CLOSED = "the engine was closed while it was asked"
