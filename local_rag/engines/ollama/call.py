"""One call to a model: streamed on a thread of its own, watched, hung up when told to, and judged by how it ended.

langchain-ollama blocks while a model is loaded and a prompt is read, and returns normally from a stream that broke
off. So the reading is done elsewhere; who asked waits with an eye on the clock and on Ctrl-C, and looks at `done`.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import httpx

from local_rag.config.settings import Ollama
from local_rag.core import cancel
from local_rag.core.errors import EngineError, LocalRagError
from local_rag.engines.ollama.clients import chat_ollama, ollama
from local_rag.engines.ollama.context_window import Use, estimate, too_long
from local_rag.engines.ollama.model_loads import Loads, duration
from local_rag.engines.ollama.replies import AGAIN, Ask, BrokenOff, Overlong, Reply, Unusable, call_of, judged
from local_rag.engines.ollama.server import Server, explained, same_model
from local_rag.engines.ollama.thinking import Thoughts
from local_rag.engines.ollama.token_probabilities import Token, tokens_of
from local_rag.engines.ollama.transport import CONNECT, Line, NoTransport, on

if TYPE_CHECKING:
    from langchain_ollama import ChatOllama

POLL = 0.05
"""Seconds between two looks at the stop button while nothing arrives."""

LETTING_GO = 1.0
"""Seconds that a call which was hung up may take to end; milliseconds are usual."""

READING = 5.0
"""Tokens per second that the slowest machine reads of a prompt.

360 a second were measured for 240 million parameters on two cores; that makes about 10 for 8 billion.
"""

SEED = 42


class Caller:
    """All calls to one server, one at a time: Ollama would queue them, and waiting in its queue looks like a stall."""

    def __init__(self, server: Server, settings: Ollama) -> None:
        self.server = server
        self.settings = settings
        self._turn = threading.Lock()
        self._chats: dict[tuple[Use, int, int], ChatOllama] = {}
        self._lines: set[Line] = set()
        self.loads = Loads(settings.keep_alive)
        self._preloading: set[str] = set()
        self._closed = False

    def close(self) -> None:
        """Hang up every call, also those that wait for their turn; there are no further ones."""
        self._closed = True
        for line in list(self._lines):
            line.hang_up()
        # A socket that is closed while its thread still reads leaves that thread on a number that others get anew.
        if self._turn.acquire(timeout=LETTING_GO):
            self._turn.release()
            self.server.close()

    def ask(self, ask: Ask) -> Reply:
        """The whole reply. Raises Overlong, BrokenOff, Empty, EngineError, Stopped."""
        stream = self.stream(ask)
        while True:
            try:
                next(stream)
            except StopIteration as end:
                reply: Reply = end.value
                return reply

    def stream(self, ask: Ask) -> Generator[Token | None, None, Reply]:
        """The reply bit by bit, without thoughts, and as a whole at its end; None where it begins anew.

        Closing it hangs up. A bit has a log-probability where it is one token, and the server gave one.
        """
        cancel.check()
        started = time.perf_counter()
        thoughts, last, tokens = Thoughts(), dict[str, Any](), list[Token]()
        chunks = self._chunks(ask)
        try:
            for token, about in chunks:
                last = about if about.get("done") else last
                tokens.append(token)
                text = thoughts.feed(token.text)
                if thoughts.restarted:
                    yield None
                if text:
                    yield token if text == token.text else Token(text)
            if text := thoughts.end():
                yield Token(text)
            if self._closed and not last:
                raise EngineError(_CLOSED)
            cut = judged(ask, thoughts.text, last)
            call, note = self.loads.counted(call_of(ask, last, time.perf_counter() - started))
            return Reply(thoughts.text.strip(), cut, call, note, tuple(tokens))
        except Unusable as error:
            error.call = call_of(ask, last, time.perf_counter() - started)
            raise
        finally:
            chunks.close()

    def preload(self, use: Use) -> None:
        """Load a model in the background, in the options of the calls that follow. Whatever goes wrong shows there."""
        if use.model in self._preloading or self.loads.stayed(use.model, time.monotonic()):
            return
        self._preloading.add(use.model)
        line = Line()
        self._lines.add(line)
        threading.Thread(
            target=contextvars.Context().run, args=(self._preload, use, line), name="local-rag-preload", daemon=True
        ).start()

    # --- the thread that reads ------------------------------------------------------------------------------------

    def _preload(self, use: Use, line: Line) -> None:
        if not self._take_turn(line):
            return self._preloading.discard(use.model)
        started = time.perf_counter()
        try:
            with on(line):
                there = self._in_memory(use)
                patience = self.settings.load_seconds + self.settings.idle_seconds
                self.server.preload(use.model, use.options, duration(self.settings.keep_alive), patience)
            self.loads.preloaded(use.model, time.perf_counter() - started, loaded=not there)
        except (LocalRagError, RuntimeError):
            pass  # the first question meets the same trouble, and reports it; a client closed by now: RuntimeError
        finally:
            self._lines.discard(line)
            self._preloading.discard(use.model)
            self._turn.release()

    def _in_memory(self, use: Use) -> bool:
        """Whether it is there with this window; old servers do not tell the window."""
        return any(
            same_model(one.name, use.model) and one.window in (None, use.num_ctx) for one in self.server.loaded()
        )

    def _take_turn(self, line: Line) -> bool:
        while not (line.hung_up or self._closed):
            if self._turn.acquire(timeout=POLL):
                return True
        return False

    def _read(self, ask: Ask, line: Line, out: queue.SimpleQueue[Any]) -> None:
        if not self._take_turn(line):
            return out.put(StopIteration())
        try:
            from langsmith.run_helpers import tracing_context

            out.put(None)
            with on(line), tracing_context(enabled=False):
                for chunk in self._chat(ask).stream(list(ask.messages), format=ask.schema, **_figures(ask)):
                    if line.hung_up:
                        break
                    about = dict(chunk.response_metadata)
                    for token in tokens_of(str(chunk.content), about.pop("logprobs", None)):
                        out.put((token, about))
            out.put(StopIteration())
        except BaseException as error:
            out.put(error)
        finally:
            self._turn.release()

    def _chat(self, ask: Ask) -> ChatOllama:
        """The client for these options, built once: `bind(options=…)` would replace the whole set, `num_ctx` too."""
        key = (ask.use, ask.cap, ask.variant)
        if key not in self._chats:
            self._chats[key] = chat_ollama()(
                model=ask.use.model,
                base_url=self.server.address.url,
                num_ctx=ask.use.num_ctx,
                num_predict=ask.cap + ask.use.thoughts,
                temperature=0.7 if ask.variant else 0.0,
                seed=SEED + ask.variant,
                reasoning=ask.use.think,
                keep_alive=duration(self.settings.keep_alive),
                sync_client_kwargs={
                    "transport": self.server.transport,
                    "trust_env": False,
                    "follow_redirects": False,
                    "timeout": httpx.Timeout(None, connect=CONNECT),
                },
                async_client_kwargs={"transport": NoTransport(), "trust_env": False},
            )
        return self._chats[key]

    # --- who asked ------------------------------------------------------------------------------------------------

    def _chunks(self, ask: Ask) -> Generator[tuple[Token, dict[str, Any]], None, None]:
        line, out = Line(), queue.SimpleQueue[Any]()
        self._lines.add(line)
        thread = threading.Thread(
            target=contextvars.Context().run, args=(self._read, ask, line, out), name="local-rag-call", daemon=True
        )
        thread.start()
        try:
            for item in self._arriving(ask, out, thread):
                if isinstance(item, BaseException):
                    raise self._meaning(ask, item) from item
                yield item
        finally:
            self._lines.discard(line)
            line.hang_up()
            thread.join(POLL)

    def _arriving(self, ask: Ask, out: queue.SimpleQueue[Any], thread: threading.Thread) -> Iterator[Any]:
        """What the reading thread sends, until its end; silence beyond what the prompt explains is an error.

        While a model is being loaded the clock of the question stands still.
        """
        idle = self.settings.idle_seconds
        reading = idle + self.settings.load_seconds + estimate(ask.messages) / READING
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
                    raise self._silent(ask, patience, patience == idle) from None
                continue
            cancel.check()
            if isinstance(item, StopIteration):
                return
            since, patience = time.monotonic(), reading if item is None else idle
            if item is not None:
                yield item

    def _silent(self, ask: Ask, seconds: float, started: bool) -> EngineError:
        what = "stopped in the middle of its reply" if started else "sent nothing"
        return EngineError(
            f"{ask.use.model} {what} for {seconds:.0f} s, so the connection was closed",
            hint="ollama ps shows whether it still works; LOCAL_RAG_OLLAMA_IDLE_SECONDS allows it more time",
        )

    def _meaning(self, ask: Ask, error: BaseException) -> BaseException:
        if isinstance(error, LocalRagError) or not isinstance(error, Exception):
            return error
        if self._closed:
            return EngineError(_CLOSED)
        if isinstance(error, ollama().ResponseError):
            if said := too_long(error.status_code, error.error):
                return Overlong(said)
            if error.status_code == -1:
                return BrokenOff(f"{ask.use.model} failed in the middle of its reply: {error.error}", hint=AGAIN)
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
            return BrokenOff(f"the connection to {self.server.address} was cut in the middle of a reply", hint=AGAIN)
        if isinstance(error, ValueError) and "No generation chunks" in str(error):
            return BrokenOff(f"{ask.use.model} ended its reply before it began", hint=AGAIN)
        return explained(error, self.server.address, ask.use.model, "chat")


def _figures(ask: Ask) -> dict[str, Any]:
    if ask.logprobs is None:
        return {}
    return {"logprobs": True} | ({"top_logprobs": ask.logprobs} if ask.logprobs else {})


_CLOSED = "the engine was closed while it was asked"
