"""One call to a model: streamed on a thread of its own, watched, hung up when told to, and judged by how it ended.

langchain-ollama blocks while a model is loaded and a prompt is read, and returns normally from a stream that broke
off. So the reading is done elsewhere; who asked waits with an eye on the clock and on Ctrl-C, and looks at `done`.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from local_rag import cancel
from local_rag.config import Ollama
from local_rag.engines.ollama.budget import Message, TooLong, Use, estimate, too_long, was_cut
from local_rag.engines.ollama.clients import chat_ollama, ollama
from local_rag.engines.ollama.server import Server, explained, same_model
from local_rag.engines.ollama.thoughts import Thoughts
from local_rag.engines.ollama.transport import CONNECT, Line, NoTransport, on
from local_rag.errors import EngineError, LocalRagError
from local_rag.types import Call

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

LOADED = 0.1
"""Seconds of `load_duration` from which a model was loaded for a call.

Recorded for a model of 7 MB: 0.02 at most where it was in memory, 0.26 and more where it was not.
"""

SEED = 42


@dataclass(frozen=True, slots=True)
class Ask:
    """One prompt. `cap` is the most tokens of the reply, `schema` its JSON schema; `variant` 0 is the fixed seed at
    temperature 0, others are further tries at temperature 0.7.
    """

    role: str
    use: Use
    messages: Sequence[Message]
    cap: int
    schema: Mapping[str, Any] | None = None
    variant: int = 0
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `cut`: it reached its cap or the end of the window. `note`: what a person should know of it."""

    text: str
    cut: bool
    call: Call
    note: str = ""


class Unusable(EngineError):
    """A call without a reply; `call` is what it cost."""

    call = Call("", "")


class BrokenOff(Unusable):
    """A reply that did not end as it should; the same call may work the next time."""


class Empty(Unusable):
    """Tokens were generated and no text came: a model that thinks and was told not to."""


class Overlong(Exception):
    """The prompt does not fit into the window; `said` is what the server knows of it."""

    def __init__(self, said: TooLong) -> None:
        super().__init__(said)
        self.said = said


class Caller:
    """All calls to one server, one at a time: Ollama would queue them, and waiting in its queue looks like a stall."""

    def __init__(self, server: Server, settings: Ollama) -> None:
        self.server = server
        self.settings = settings
        self._turn = threading.Lock()
        self._chats: dict[tuple[Use, int, int], ChatOllama] = {}
        self._lines: set[Line] = set()
        self._used: dict[str, float] = {}
        self._preloaded: list[Call] = []
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

    def stream(self, ask: Ask) -> Generator[str, None, Reply]:
        """The reply bit by bit, without thoughts, and as a whole at its end. Closing it hangs up."""
        cancel.check()
        started = time.perf_counter()
        thoughts, last = Thoughts(), dict[str, Any]()
        chunks = self._chunks(ask)
        try:
            for content, about in chunks:
                last = about if about.get("done") else last
                if text := thoughts.feed(content):
                    yield text
            if text := thoughts.end():
                yield text
            return self._judged(ask, thoughts.text, last, time.perf_counter() - started)
        except Unusable as error:
            error.call = _call(ask, last, time.perf_counter() - started)
            raise
        finally:
            chunks.close()

    def preload(self, use: Use) -> None:
        """Load a model in the background, in the options of the calls that follow. Whatever goes wrong shows there."""
        if self._stayed(use.model, time.monotonic()):
            return
        line = Line()
        self._lines.add(line)
        threading.Thread(
            target=contextvars.Context().run, args=(self._preload, use, line), name="local-rag-preload", daemon=True
        ).start()

    # --- the thread that reads ------------------------------------------------------------------------------------

    def _preload(self, use: Use, line: Line) -> None:
        if not self._take_turn(line):
            return
        started = time.perf_counter()
        try:
            with on(line):
                loaded = self._in_memory(use)
                patience = self.settings.load_seconds + self.settings.idle_seconds
                self.server.preload(use.model, use.options, duration(self.settings.keep_alive), patience)
            self._used[use.model] = time.monotonic()
            if not loaded:
                seconds = time.perf_counter() - started
                call = Call("preload", use.model, seconds=seconds, load_seconds=seconds, loaded=True)
                self._preloaded.append(call)
        except (LocalRagError, RuntimeError):
            pass  # the first question meets the same trouble, and reports it; a client closed by now: RuntimeError
        finally:
            self._lines.discard(line)
            self._turn.release()

    def _in_memory(self, use: Use) -> bool:
        return any(same_model(one.name, use.model) and one.window == use.num_ctx for one in self.server.loaded())

    def _take_turn(self, line: Line) -> bool:
        while not (line.hung_up or self._closed):
            if self._turn.acquire(timeout=POLL):
                return True
        return False

    def _read(self, ask: Ask, line: Line, out: queue.SimpleQueue[Any]) -> None:
        from langsmith.run_helpers import tracing_context

        if not self._take_turn(line):
            return out.put(StopIteration())
        try:
            out.put(None)
            with on(line), tracing_context(enabled=False):
                stream = self._chat(ask).stream(list(ask.messages), format=ask.schema)
                for chunk in stream:
                    if line.hung_up:
                        break
                    out.put((str(chunk.content), dict(chunk.response_metadata)))
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
                cache=False,
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

    def _chunks(self, ask: Ask) -> Generator[tuple[str, dict[str, Any]], None, None]:
        line, out = Line(), queue.SimpleQueue[Any]()
        self._lines.add(line)
        thread = threading.Thread(
            target=contextvars.Context().run, args=(self._read, ask, line, out), name="local-rag-call", daemon=True
        )
        thread.start()
        try:
            for item in self._arriving(ask, out):
                if isinstance(item, BaseException):
                    raise self._meaning(ask, item) from item
                yield item
        finally:
            self._lines.discard(line)
            line.hang_up()
            thread.join(POLL)

    def _arriving(self, ask: Ask, out: queue.SimpleQueue[Any]) -> Iterator[Any]:
        """What the reading thread sends, until its end; silence beyond what the prompt explains is an error."""
        idle = self.settings.idle_seconds
        reading = idle + self.settings.load_seconds + estimate(ask.messages) / READING
        since, patience = time.monotonic(), float("inf")
        while True:
            try:
                item = out.get(timeout=POLL)
            except queue.Empty:
                cancel.check()
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
                return BrokenOff(f"{ask.use.model} failed in the middle of its reply: {error.error}", hint=_AGAIN)
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
            return BrokenOff(f"the connection to {self.server.address} was cut in the middle of a reply", hint=_AGAIN)
        if isinstance(error, ValueError) and "No generation chunks" in str(error):
            return BrokenOff(f"{ask.use.model} ended its reply before it began", hint=_AGAIN)
        return explained(error, self.server.address, ask.use.model, "chat")

    def _judged(self, ask: Ask, text: str, last: Mapping[str, Any], seconds: float) -> Reply:
        if not last.get("done"):
            if self._closed:
                raise EngineError(_CLOSED)
            raise BrokenOff(
                f"the reply of {ask.use.model} broke off without an end, as Ollama does when a model repeats itself",
                hint=_AGAIN,
            )
        counted, generated = last.get("prompt_eval_count"), int(last.get("eval_count") or 0)
        if was_cut(ask.messages, counted, ask.use.num_ctx):
            raise Overlong(TooLong())
        if generated and not text.strip():
            raise Empty(
                f"{ask.use.model} generated {generated} tokens and returned no text, as models do that think; it was "
                f"sent think: {str(ask.use.think).lower()}",
                hint=_think(ask.use),
            )
        call, note = self._counted(ask, last, seconds)
        return Reply(text.strip(), last.get("done_reason") == "length", call, note)

    def _counted(self, ask: Ask, last: Mapping[str, Any], seconds: float) -> tuple[Call, str]:
        """The call for the books, and a note where it loaded a model that should have been in memory."""
        now = time.monotonic()
        stayed = self._stayed(ask.use.model, now - seconds)
        self._used[ask.use.model] = now
        call = _call(ask, last, seconds)
        return call, _loaded_again(call) if call.loaded and stayed else ""

    def _stayed(self, model: str, at: float) -> bool:
        """Whether a model that was used here should still have been in memory at a time."""
        before = self._used.get(model)
        return before is not None and at - before < lasting(self.settings.keep_alive)

    def preloads(self) -> list[Call]:
        """The preloads since the last call of this, for the books."""
        done, self._preloaded = self._preloaded, []
        return done


def _think(use: Use) -> str:
    if use.think:
        return "its thoughts left no room for the answer; take another model: local-rag models"
    return f"give it a line 'think: low' under ollama: models: {use.model}: in your models.yaml"


_AGAIN = "ask again; if it happens often, try another model: local-rag models"
_CLOSED = "the engine was closed while it was asked"


def _call(ask: Ask, last: Mapping[str, Any], seconds: float) -> Call:
    load = _seconds(last, "load_duration")
    return Call(
        role=ask.role,
        model=ask.use.model,
        prompt_tokens=int(last.get("prompt_eval_count") or 0),
        output_tokens=int(last.get("eval_count") or 0),
        seconds=seconds,
        load_seconds=load,
        prompt_seconds=_seconds(last, "prompt_eval_duration"),
        output_seconds=_seconds(last, "eval_duration"),
        loaded=load >= LOADED,
        retry=ask.retry,
    )


def _loaded_again(call: Call) -> str:
    return (
        f"{call.model} was loaded again ({call.load_seconds:.1f} s), although it had just been used: another model or "
        "program pushed it out, or uses it with another num_ctx"
    )


def _seconds(last: Mapping[str, Any], key: str) -> float:
    return float(last.get(key) or 0) / 1e9


def duration(keep_alive: str) -> str:
    """As Ollama reads a string: it refuses one without a unit ("time: missing unit in duration"), which are seconds."""
    return f"{keep_alive}s" if keep_alive[-1].isdigit() else keep_alive


def lasting(keep_alive: str) -> float:
    """Seconds of an Ollama duration such as 5m, 30s, 0 or -1 (for ever)."""
    if keep_alive.startswith("-"):
        return float("inf")
    unit = keep_alive.lstrip("0123456789.")
    return float(keep_alive.removesuffix(unit)) * {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]
