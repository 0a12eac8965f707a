"""An HTTP server on loopback that speaks Ollama's API, for tests: the protocol is as recorded, the model is a script.

    with OllamaServer() as server:
        server.script("yes", stall(2, 30), error(500, "out of memory"))
        ...  # a client that talks to server.host
        assert server.chats[0]["options"]["num_ctx"] == 4096

What the server itself refuses (no such model, a prompt that does not fit) takes nothing from the script. Chats run
one at a time, as with OLLAMA_NUM_PARALLEL=1.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from support.ollama_models import Model, digest, full_name, is_cloud, running, shown, tag
from support.ollama_replies import (
    Case,
    Reply,
    Turn,
    cut,
    empty,
    error,
    error_line,
    no_done,
    obedient,
    raw,
    recordings,
    redirect,
    replay,
    reply_of,
    say,
    slow,
    stall,
    tokens,
    too_long,
)
from support.ollama_schema import instance
from support.ollama_wire import NDJSON, Closed, Gone, Http, Request, Wire, encode

__all__ = [
    "Case",
    "Model",
    "OllamaServer",
    "Reply",
    "Request",
    "cut",
    "empty",
    "error",
    "error_line",
    "instance",
    "no_done",
    "obedient",
    "raw",
    "recordings",
    "redirect",
    "replay",
    "say",
    "slow",
    "stall",
    "too_long",
]

Scripted = Reply | str | Callable[[dict[str, Any]], Reply | str]
_ABROAD = "dial tcp: lookup ollama.com: no such host"


class OllamaServer:
    """One server; `version` decides between the habits of 0.24 and those from 0.30 on."""

    def __init__(self, version: str = "0.33.0-rc2", port: int = 0) -> None:
        self.version = version
        number = tuple(int(part.partition("-")[0]) for part in version.split(".")[:3])
        self.old = number < (0, 30)
        self.gives_logprobs = number >= (0, 12, 11)
        self.requests: list[Request] = []
        self.failures: list[BaseException] = []
        self.models: dict[str, Model] = {"tiny:latest": Model()}
        self.cloud: dict[str, Any] = {"disabled": False, "source": "none"}
        self.registry = {"tiny", "llama3.2:3b"}
        self.always: Scripted = obedient
        self.instead: dict[str, Reply] = {}
        """Path -> what answers there in place of the server."""
        self.pull_pace = 0.0
        """Seconds between two lines of a pull."""
        self.loads = 0
        self._script: deque[Scripted] = deque()
        self._loaded: dict[str, tuple[Any, ...]] = {}
        self._slot = threading.Lock()
        self._changed = threading.Condition()
        self._answering = 0
        self._bell, self._ringer = socket.socketpair()
        self._http = Http(("127.0.0.1", port), self.handle, self.failures.append, self._bell)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._closed = False
        self._thread.start()

    def __enter__(self) -> OllamaServer:
        return self

    def __exit__(self, kind: object, exception: BaseException | None, trace: object) -> None:
        self.close()
        for failure in self.failures:
            if exception is None:
                raise AssertionError(f"the test server failed: {failure!r}") from failure
            exception.add_note(f"the test server failed: {failure!r}")

    def close(self) -> None:
        """Every connection ends, in the middle of a reply too; may be called twice."""
        if self._closed:
            return
        self._closed = True
        self._ringer.send(b"!")
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        self._http.abort()
        self._bell.close()
        self._ringer.close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_address[1]}"

    @property
    def chats(self) -> list[dict[str, Any]]:
        """Bodies of /api/chat with messages, in the order in which they came, refused ones included."""
        return [body for body in self._chat_bodies() if body.get("messages")]

    @property
    def preloads(self) -> list[dict[str, Any]]:
        return [body for body in self._chat_bodies() if not body.get("messages")]

    def _chat_bodies(self) -> list[dict[str, Any]]:
        asked = [request.body for request in list(self.requests) if request.path == "/api/chat"]
        return [body for body in asked if isinstance(body, dict)]

    def script(self, *replies: Scripted) -> None:
        """Replies for the coming chats, in order, after those that are still waiting."""
        self._script.extend(replies)

    def unload(self) -> None:
        """The next chat loads its model again."""
        self._loaded.clear()

    def wait_for(self, n_chats: int, seconds: float = 60) -> None:
        """Until so many chats in all have been let in and are being answered, or were."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._answering >= n_chats, seconds):
                raise AssertionError(f"{self._answering} chats were answered, expected {n_chats}")

    def wait_idle(self, n_requests: int = 0, seconds: float = 60) -> None:
        """Until so many requests have come, and all that came have ended; then their `aborted` is final."""
        until = time.monotonic() + seconds
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= n_requests, seconds):
                raise AssertionError(f"{len(self.requests)} requests came, expected {n_requests}")
        for request in list(self.requests):
            if not request.ended.wait(max(0, until - time.monotonic())):
                raise AssertionError(f"{request.method} {request.path} has not ended")

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(tokens(text))

    def render(self, messages: list[dict[str, Any]]) -> str:
        """The prompt that the model reads."""
        return "".join(f"<|{m['role']}|>\n{m['content']}\n" for m in messages) + "<|assistant|>\n"

    def handle(self, wire: Wire, request: Request, bad: bool) -> None:
        """Record, then answer; `bad`: the body was not JSON."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        try:
            self._answer(wire, request, bad)
        except Gone:
            request.aborted = True
            wire.drop()
        except Closed:
            wire.drop()
        except Exception as failure:
            self.failures.append(failure)
            if wire.started:
                wire.drop()
            else:
                with contextlib.suppress(Gone):
                    wire.json(500, {"error": f"the test server failed: {failure!r}"})
        finally:
            request.ended.set()

    def _answer(self, wire: Wire, request: Request, bad: bool) -> None:
        body = request.body if isinstance(request.body, dict) else {}
        if request.path in self.instead:
            return self.instead[request.path].send(Turn(wire, {"model": ""} | body, old=self.old))
        if bad:
            return wire.json(400, {"error": "unexpected EOF"})
        method = "GET" if request.method == "HEAD" else request.method
        work = {
            ("GET", "/"): lambda: wire.whole(200, "text/plain; charset=utf-8", b"Ollama is running"),
            ("GET", "/api/version"): lambda: wire.json(200, {"version": self.version}),
            ("GET", "/api/status"): lambda: wire.json(200, {"cloud": self.cloud}),
            ("GET", "/api/tags"): lambda: wire.json(200, {"models": self._tags()}),
            ("GET", "/api/ps"): lambda: wire.json(200, {"models": self._running()}),
            ("POST", "/api/show"): lambda: self._show(wire, body),
            ("POST", "/api/pull"): lambda: self._pull(wire, body),
            ("POST", "/api/chat"): lambda: self._chat(wire, body),
        }.get((method, request.path))
        return work() if work else wire.whole(404, "text/plain", b"404 page not found")

    def _tags(self) -> list[dict[str, Any]]:
        return [tag(name, model, self.old) for name, model in self.models.items()]

    def _running(self) -> list[dict[str, Any]]:
        known = [(name, key[0]) for name, key in list(self._loaded.items()) if name in self.models]
        return [running(name, self.models[name], window) for name, window in known]

    def _show(self, wire: Wire, body: dict[str, Any]) -> None:
        asked = str(body.get("model", ""))
        name = full_name(asked)
        if name not in self.models:
            return wire.json(404, {"error": f"model '{asked if self.old else name}' not found"})
        wire.json(200, shown(name, self.models[name]))

    def _pull(self, wire: Wire, body: dict[str, Any]) -> None:
        name = str(body.get("model", ""))
        layer, total = digest(name), Model().size
        lines: list[dict[str, Any]] = [{"status": "pulling manifest"}]
        if name in self.registry:
            part = {"status": f"pulling {layer[:12]}", "digest": f"sha256:{layer}", "total": total}
            lines += [part, *(part | {"completed": total * tenth // 10} for tenth in (3, 7, 10))]
            lines += [{"status": status} for status in ("verifying sha256 digest", "writing manifest", "success")]
        else:
            lines.append({"error": "pull model manifest: file does not exist"})
        if body.get("stream") is not False:
            wire.start(200, NDJSON)
            for line in lines:
                wire.write(encode(line) + b"\n")
                wire.check(self.pull_pace)
        if name in self.registry:
            self.models.setdefault(full_name(name), Model())
        if body.get("stream") is not False:
            wire.end()
        else:
            wire.json(200 if name in self.registry else 500, lines[-1])

    def _chat(self, wire: Wire, body: dict[str, Any]) -> None:
        refusal = self._refusal(body)
        if refusal:
            return wire.json(refusal[0], {"error": refusal[1]})
        while not self._slot.acquire(timeout=0.02):
            wire.check()
        try:
            wire.check()
            self._run(self._turn(wire, body))
        finally:
            self._slot.release()

    def _refusal(self, body: dict[str, Any]) -> tuple[int, str] | None:
        """Status and message, where the server refuses before it loads anything."""
        asked, options = str(body.get("model", "")), body.get("options") or {}
        model = self.models.get(full_name(asked))
        if not asked:
            return 400, "model is required"
        cloud = is_cloud(asked)
        if (cloud or (model and model.remote_host)) and self.cloud["disabled"]:
            return 403, "ollama cloud is disabled: remote model is unavailable"
        if cloud or (model and model.remote_host):
            host = "https://ollama.com:443" if cloud or model is None else model.remote_host
            return 502 if cloud else 500, f'Post "{host}/api/chat?ts={int(time.time())}": {_ABROAD}'
        if model is None:
            return 404, f"model '{asked}' not found"
        for option in ("num_ctx", "num_predict", "num_batch", "seed"):
            if not isinstance(options.get(option) or 0, int):
                return 500, f'option "{option}" must be of type integer'
        if body.get("top_logprobs", 0) > 20:
            return 400, "top_logprobs must be between 0 and 20"
        if refused := model.refuses(body.get("think")):
            return 400, refused.format(asked)
        if isinstance(form := body.get("format"), str) and form not in ("", "json"):
            return 500, f'invalid format: {json.dumps(json.dumps(form))}; expected "json" or a valid JSON Schema object'
        return None

    def _load(self, name: str, body: dict[str, Any]) -> tuple[int, int]:
        """The window, and the nanoseconds that loading took, or would have taken."""
        options = body.get("options") or {}
        window = min(options.get("num_ctx") or 4096, self.models[name].window)
        others = tuple(options.get(option) for option in ("num_batch", "num_gpu", "num_thread"))
        key = (window, others, None if self.old else body.get("shift", True))
        if self._loaded.get(name) == key:
            return window, 10_000_000 if self.old else 1_000_000
        self._loaded[name] = key
        self.loads += 1
        return window, 345_000_000 if self.old else 259_000_000

    def _turn(self, wire: Wire, body: dict[str, Any]) -> Turn:
        model = self.models[full_name(body["model"])]
        thinks = "thinking" in model.capabilities and body.get("think") is not False
        swallows = (
            (model.family == "gptoss" or model.harmony) and bool(body.get("format")) and body.get("think") is False
        )
        known = {"old": self.old, "gives_logprobs": self.gives_logprobs}
        return Turn(wire, body, thinks=thinks, swallows=swallows, **known)

    def _run(self, turn: Turn) -> None:
        """Load and generate; with a keep_alive of nothing the model is gone before the reply ends, so that a test
        sees it gone."""
        body, name = turn.body, full_name(turn.body["model"])
        leave, window = body.get("keep_alive") in (0, "0", "0s"), 0
        if body.get("messages") or not leave:
            window, turn.load_ns = self._load(name, body)
        if leave:
            self._loaded.pop(name, None)
        if body.get("_debug_render_only"):
            debug = {"done": False, "_debug_info": {"rendered_template": self.render(body["messages"])}}
            return turn.wire.json(200, turn.message({"role": "", "content": ""}) | debug)
        if body.get("messages"):
            return self._generate(turn, window)
        end = {"done": True, "done_reason": "unload" if leave else "load"}
        return turn.wire.json(200, turn.message({"content": ""}) | end)

    def _generate(self, turn: Turn, window: int) -> None:
        refused = self._fit(turn, window)
        if refused:
            return refused.send(turn)
        predict = (turn.body.get("options") or {}).get("num_predict")
        rooms = [] if predict is None or predict < 0 else [predict]
        if turn.body.get("shift") is False:
            rooms.append(max(1, window - turn.prompt_tokens))
        turn.room = min(rooms, default=None)
        chosen = self._script.popleft() if self._script else self.always
        with self._changed:
            self._answering += 1
            self._changed.notify_all()
        return reply_of(chosen(turn.body) if callable(chosen) else chosen).send(turn)

    def _fit(self, turn: Turn, window: int) -> Reply | None:
        """Counts the prompt: too long, it is refused, or loses its oldest messages and then its beginning."""
        body, messages = turn.body, list(turn.body["messages"])
        turn.prompt_tokens = whole = self.count(self.render(messages))
        if whole > window and body.get("truncate") is False:
            return too_long("input") if self.old else too_long("counts", n_prompt=whole, n_ctx=window)
        while turn.prompt_tokens > window:
            dropped = next((m for m in messages[:-1] if m["role"] != "system"), None)
            if dropped is None:
                if body.get("shift") is False and not self.old:
                    return too_long("available")
                turn.prompt_tokens = window if self.old else window // 2 + 2
                return None
            messages.remove(dropped)
            turn.prompt_tokens = self.count(self.render(messages))
        return None
