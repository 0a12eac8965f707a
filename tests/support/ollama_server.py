"""!Serve Ollama's API over HTTP on loopback, for tests: recordings of real servers, and a script of replies.

    with OllamaServer() as server:
        server.script("yes", stall(2, 30), error(500, "out of memory"))
        ...  # a client that talks to server.host
        assert server.chats[0]["options"]["num_ctx"] == 4096

What the server itself refuses (no such model, a prompt that does not fit) takes nothing from the script. Chats run one
at a time, as with OLLAMA_NUM_PARALLEL=1, and are streamed.
"""

import contextlib
import hashlib
import json
import re
import select
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from functools import wraps
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer

_DATA = Path(__file__).parents[1] / "data" / "ollama"
_TEXT = "It costs 100 euros [1]."
_NOW = "2026-11-20T23:18:14.686196969Z"
NDJSON = "application/x-ndjson"


def tokens(text):
    """Return the test server's tokens: five letters or one mark, with the white space before.

    Together they are the text.
    """
    return re.findall(r"\s*(?:\w{1,5}|[^\w\s])|\s+", text)


def letters(text, dimension):
    """Return a vector that is similar for texts with the same parts of words."""
    row = [0.01] * dimension
    for word in re.findall(r"\w+", text.lower()):
        for first in range(max(1, len(word) - 3)):
            row[int(digest(word[first : first + 4])[:8], 16) % dimension] += 1.0
    return row


def full_name(name):
    return name if ":" in name else f"{name}:latest"


def digest(name):
    return hashlib.sha256(name.encode()).hexdigest()


@dataclass(frozen=True)
class Model:
    """Describe an installed model."""

    size: int = 2_000_000_000
    window: int = 8192
    capabilities: tuple[str, ...] = ("completion",)
    family: str = "llama"
    remote_host: str = ""
    remote_model: str = ""
    dimension: int = 0

    def tag(self, name):
        """Return an entry of /api/tags."""
        details = {"family": self.family, "parameter_size": "3.2B", "quantization_level": "Q4_K_M"}
        remote = {"remote_model": self.remote_model, "remote_host": self.remote_host} if self.remote_host else {}
        return {"name": name, "model": name, "size": self.size, "digest": digest(name), "details": details} | remote

    def card(self):
        """Return the body of /api/show."""
        info = {"general.architecture": self.family, f"{self.family}.context_length": self.window}
        about = {"details": {"family": self.family}, "model_info": info, "capabilities": list(self.capabilities)}
        if self.dimension:
            about["capabilities"] = ["embedding"]
        return about | ({"remote_host": self.remote_host, "model_info": {}} if self.remote_host else {})


@dataclass
class Request:
    """Hold a request; `aborted`: the client closed the connection before the reply had ended, which sets `ended`."""

    method: str
    path: str
    body: object
    headers: dict[str, str]
    at: float = field(default_factory=time.monotonic)
    aborted: bool = False
    ended: threading.Event = field(default_factory=threading.Event)


# --- what a test lets it answer ---------------------------------------------------------------------------------------


@dataclass
class Turn:
    """Hold one chat that is answered; `room` limits the generated tokens, `thinks` says whether thoughts come first."""

    wire: object
    body: dict
    prompt_tokens: int = 12
    load_ns: int = 1_000_000
    room: int | None = None
    thinks: bool = False

    def line(self, message, **more):
        """Write one line of the stream; the first one starts it."""
        if not self.wire.started:
            self.wire.start(200, NDJSON)
        told = {"model": self.body["model"], "created_at": _NOW, "message": {"role": "assistant"} | message}
        self.wire.write(encoded(told | more) + b"\n")

    def pieces(self, parts, kind="content", pace=0):
        for part in parts:
            self.wire.check(pace)
            self.line({"content": part} if kind == "content" else {"content": "", "thinking": part}, done=False)

    def finish(self, reason, output, prompt=None):
        """Write the end of a good reply, with the counts (nanoseconds)."""
        prompt = self.prompt_tokens if prompt is None else prompt
        counts = {"load_duration": self.load_ns, "prompt_eval_count": prompt, "prompt_eval_duration": 20_000 * prompt}
        counts |= {"eval_count": output, "eval_duration": 400_000 * output, "total_duration": 10**9}
        self.line({"content": ""}, done=True, done_reason=reason, **{key: one for key, one in counts.items() if one})
        self.wire.end()


@dataclass(frozen=True)
class Reply:
    """Hold a function of a Turn that sends the reply to one chat."""

    send: object


def reply(send):
    """Make a maker of replies; `send` is a function of the Turn and of the maker's arguments."""

    @wraps(send)
    def made(*given, **named):
        return Reply(lambda turn: send(turn, *given, **named))

    return made


def reply_of(value):
    """Return a reply; a str is short for say(str)."""
    return say(value) if isinstance(value, str) else value


@reply
def say(turn, text, *, done_reason="stop", prompt_tokens=None, output_tokens=None, load_ms=None, pace=0):
    """Send a good reply, token by token, `pace` seconds apart, cut at num_predict or at the end of the window."""
    thought, content = tokens("First I look at the question.") * turn.thinks, tokens(text)
    turn.pieces(thought[: turn.room], "thinking", pace)
    turn.pieces(content[: None if turn.room is None else max(0, turn.room - len(thought))], pace=pace)
    whole = len(thought) + len(content)
    if load_ms is not None:
        turn.load_ns = int(load_ms * 1e6)
    cut = turn.room is not None and whole > turn.room
    output = min(whole, turn.room or whole) if output_tokens is None else output_tokens
    turn.finish("length" if cut else done_reason, output, prompt_tokens)


@reply
def empty(turn, eval_count=14):
    """Send no text although tokens were generated: gpt-oss with a schema and `think: false`."""
    turn.finish("stop", eval_count)


@reply
def error(turn, status, message):
    """Send an HTTP error before any text."""
    turn.wire.json(status, {"error": message})


@reply
def error_line(turn, after, message, text=_TEXT):
    """Send an error in the middle of a stream, after `after` tokens."""
    turn.pieces(tokens(text)[:after])
    turn.wire.write(encoded({"error": message}) + b"\n")
    turn.wire.end()


@reply
def no_done(turn, text):
    """Stop the reply: HTTP 200, no error, no `done: true`, no counts (a model that repeats one token)."""
    turn.pieces(tokens(text))
    if not turn.wire.started:
        turn.wire.start(200, NDJSON)
    turn.wire.end()


@reply
def cut(turn, after, text=_TEXT):
    """End the connection after `after` tokens."""
    turn.pieces(tokens(text)[:after])
    turn.wire.close_connection = True


@reply
def stall(turn, after, seconds, text=_TEXT):
    """Pause after `after` tokens, then send the rest."""
    parts = tokens(text)
    turn.pieces(parts[:after])
    turn.wire.check(seconds)
    turn.pieces(parts[after:])
    turn.finish("stop", len(parts))


def slow(seconds, text):
    """Pause before the first byte: a model that loads, or a long prompt that is read."""
    return stall(0, seconds, text)


@reply
def redirect(turn, url, status=307):
    turn.wire.whole(status, "text/plain; charset=utf-8", b"", Location=url)


def too_long(*, n_prompt, n_ctx):
    """Send a 400 for a prompt that does not fit, in the words of the new server."""
    said = f"request ({n_prompt} tokens) exceeds the available context size ({n_ctx} tokens)"
    inner = {"code": 400, "message": said, "type": "exceed_context_size_error"}
    return error(400, encoded({"error": inner | {"n_prompt_tokens": n_prompt, "n_ctx": n_ctx}}).decode())


@reply
def raw(turn, status, content_type, lines):
    """Send lines unchanged, one chunk each."""
    end = "\n" if content_type.startswith(NDJSON) else ""
    turn.wire.start(status, content_type)
    for line in lines:
        turn.wire.write((line + end).encode())
    turn.wire.end()


def obedient(body):
    """Return the smallest reply that a schema of this project allows, or else a short plain text."""
    schema = body.get("format")
    return say(json.dumps(_least(schema)) if schema else _TEXT)


def _least(schema):
    """Return the first word of an enumeration or of each group of a pattern, the least number, or a short text."""
    if "enum" in schema or "const" in schema:
        return schema.get("const") or schema["enum"][0]
    if "pattern" in schema:
        return " ".join(group.split("|")[0] for group in re.findall(r"\(([^)]*)\)", schema["pattern"]))
    if "properties" in schema:
        return {key: _least(one) for key, one in schema["properties"].items()}
    if schema["type"] == "array":
        return ["aaa"] * schema["minItems"]
    return {"integer": schema.get("minimum", 0), "boolean": False}.get(schema["type"], "aaa")


def recordings(version):
    """Return the responses recorded with this version by their names: {status, content_type, transfer, lines}."""
    lines = (_DATA / f"v{version}.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["case"]: line["response"] for line in map(json.loads, lines)}


def replay(response):
    """Send a recorded response unchanged."""
    return raw(response["status"], response["content_type"], response["lines"])


# --- the server -------------------------------------------------------------------------------------------------------


def encoded(value):
    """Return JSON as Go writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").encode()


class Gone(Exception):
    """Report that the connection has ended."""


class Handler(BaseHTTPRequestHandler):
    """Handle one connection; `check` waits, and notices when it ends."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    started = chunked = False

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        self.close_connection = len(data) < length
        if self.close_connection:
            return  # the client has left before it had sent everything
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.started = False
        body = None
        with contextlib.suppress(ValueError):
            body = json.loads(data)
        self.server.owner.handle(self, Request(self.command, self.path.partition("?")[0], body, headers))

    do_GET = do_POST

    def check(self, seconds=0):
        """Wait; raise Gone as soon as the connection has ended."""
        ready, _, _ = select.select([self.connection], [], [], seconds)
        if ready:
            with contextlib.suppress(ConnectionError):
                if self.connection.recv(1, socket.MSG_PEEK):
                    return time.sleep(seconds)
            raise Gone

    def start(self, status, kind, length=None, **headers):
        """Send status and headers; without a length the body is sent in chunks."""
        self.started, self.chunked = True, length is None
        self.send_response(status)
        framing = {"Transfer-Encoding": "chunked"} if length is None else {"Content-Length": str(length)}
        for name, value in ({"Content-Type": kind} | headers | framing).items():
            self.send_header(name, value)
        self.end_headers()

    def write(self, data):
        """Send a part of the body at once."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data)

    def end(self):
        if self.chunked:
            self.wfile.write(b"0\r\n\r\n")

    def whole(self, status, kind, data, **headers):
        self.start(status, kind, len(data), **headers)
        self.write(data)

    def json(self, status, value):
        self.whole(status, "application/json; charset=utf-8", encoded(value))

    def log_message(self, *_):
        pass


class Http(ThreadingTCPServer):
    """Serve connections, without the name lookup of HTTPServer; `open` are those whose threads run."""

    daemon_threads = True

    def __init__(self, owner):
        self.owner, self.open = owner, {}
        super().__init__(("127.0.0.1", 0), Handler)

    def process_request(self, request, client_address):
        self.open[request] = threading.Event()
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.open.pop(request).set()

    def handle_error(self, *_):
        """Ignore a client that went away, and add unexpected errors to the failures."""


class OllamaServer:
    """Run one server; `instead` maps a path to its reply."""

    def __init__(self, version="0.33.0-rc2"):
        self.version = version
        self.requests, self.failures = [], []
        self.models = {"tiny:latest": Model()}
        self.cloud = {"disabled": False, "source": "none"}
        self.registry = {"tiny", "llama3.2:3b"}
        self.always, self.instead, self.pull_pace, self.embed_pace, self.loads = obedient, {}, 0.0, 0.0, 0
        self._script, self._loaded, self._answering = deque(), {}, 0
        self._slot, self._changed = threading.Lock(), threading.Condition()
        self._http = Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, exception, trace):
        self.close()
        if self.failures and exception is None:
            raise AssertionError(f"the test server failed: {self.failures[0]!r}") from self.failures[0]

    def close(self):
        """End every connection, even in the middle of a reply; a second call is allowed."""
        if not self._thread.is_alive():
            return
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        for connection, ended in list(self._http.open.items()):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            ended.wait(5)

    @property
    def host(self):
        return f"127.0.0.1:{self._http.server_address[1]}"

    @property
    def chats(self):
        """Return the bodies of /api/chat with messages, in their order, including refused ones."""
        return [body for body in self._bodies() if body.get("messages")]

    @property
    def preloads(self):
        return [body for body in self._bodies() if not body.get("messages")]

    def _bodies(self):
        asked = [request.body for request in list(self.requests) if request.path == "/api/chat"]
        return [body for body in asked if isinstance(body, dict)]

    def script(self, *replies):
        """Add replies for the coming chats, in order, after those that still wait; functions of a body are allowed."""
        self._script.extend(replies)

    def wait_for(self, n_chats, seconds=60):
        """Wait until that many chats in all are being answered, or were."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._answering >= n_chats, seconds), "too few chats"

    def wait_idle(self, seconds=60):
        """Wait until all received requests have ended; their `aborted` is final then."""
        for request in list(self.requests):
            assert request.ended.wait(seconds), f"{request.path} has not ended"

    def count(self, text):
        return len(tokens(text))

    def render(self, messages):
        """Return the prompt that the model reads."""
        return "".join(f"<|{m['role']}|>\n{m['content']}\n" for m in messages) + "<|assistant|>\n"

    def handle(self, wire, request):
        self.requests.append(request)
        try:
            self._answer(wire, request)
        except (Gone, ConnectionError):
            request.aborted = wire.close_connection = True
        except Exception as failure:
            self.failures.append(failure)
            wire.close_connection = True
        finally:
            request.ended.set()

    def _answer(self, wire, request):
        body = request.body if isinstance(request.body, dict) else {}
        if request.path in self.instead:
            return self.instead[request.path].send(Turn(wire, {"model": ""} | body))
        lists = {
            "/api/version": lambda: {"version": self.version},
            "/api/status": lambda: {"cloud": self.cloud},
            "/api/tags": lambda: {"models": [model.tag(name) for name, model in self.models.items()]},
            "/api/ps": lambda: {"models": [self._running(name) for name in self._loaded if name in self.models]},
        }
        posts = {"/api/show": self._show, "/api/pull": self._pull, "/api/embed": self._embed, "/api/chat": self._chat}
        if request.path in lists:
            wire.json(200, lists[request.path]())
        elif request.path in posts:
            posts[request.path](wire, body)
        elif request.path == "/":
            wire.whole(200, "text/plain; charset=utf-8", b"Ollama is running")
        else:
            wire.whole(404, "text/plain", b"404 page not found")

    def _show(self, wire, body):
        model = self.models.get(full_name(body["model"]))
        if model is None:
            return wire.json(404, {"error": f"model '{body['model']}' not found"})
        return wire.json(200, model.card())

    def _running(self, name):
        return self.models[name].tag(name) | {"size_vram": 0, "context_length": self._loaded[name][0]}

    def _pull(self, wire, body):
        name = str(body["model"])
        layer, total = f"sha256:{digest(name)}", Model().size
        part = {"status": f"pulling {layer[7:19]}", "digest": layer, "total": total}
        lines = [part, *(part | {"completed": total * tenth // 10} for tenth in (3, 7, 10))]
        lines += [{"status": status} for status in ("verifying sha256 digest", "writing manifest", "success")]
        wire.start(200, NDJSON)
        known = name in self.registry
        for line in [{"status": "pulling manifest"}, *(lines if known else [{"error": "file does not exist"}])]:
            wire.write(encoded(line) + b"\n")
            wire.check(self.pull_pace)
        if known:
            self.models.setdefault(full_name(name), Model())
        wire.end()

    def _embed(self, wire, body):
        """Send vectors by the letters of the words; `truncate: false` refuses a text that does not fit."""
        model = self.models.get(full_name(body["model"]))
        if model is None:
            return wire.json(404, {"error": f"model '{body['model']}' not found"})
        if not model.dimension:
            return wire.json(501, {"error": "this model does not support embeddings"})
        if any(self.count(text) > body["options"]["num_ctx"] for text in body["input"]) and not body["truncate"]:
            return wire.json(400, {"error": "the input length exceeds the context length"})
        wire.check(self.embed_pace)
        return wire.json(200, {"embeddings": [letters(text, model.dimension) for text in body["input"]]})

    def _chat(self, wire, body):
        if refusal := self._refusal(body):
            return wire.json(refusal[0], {"error": refusal[1]})
        while not self._slot.acquire(timeout=0.02):
            wire.check()
        try:
            wire.check()
            self._run(wire, body)
        finally:
            self._slot.release()

    def _refusal(self, body):
        """Return status and message if the server refuses before it loads anything."""
        asked, tag = body["model"], full_name(body["model"]).rpartition(":")[2]
        model = self.models.get(full_name(asked))
        if tag == "cloud" or tag.endswith("-cloud") or (model and model.remote_host):
            return 502, 'Post "https://ollama.com:443/api/chat": dial tcp: lookup ollama.com: no such host'
        if model is None:
            return 404, f"model '{asked}' not found"
        cannot = body.get("think") and "thinking" not in model.capabilities
        return (400, f'"{asked}" does not support thinking') if cannot else None

    def _run(self, wire, body):
        """Load and generate; with a keep_alive of zero the model is unloaded before the reply ends."""
        name, options = full_name(body["model"]), body.get("options") or {}
        model, leave = self.models[name], body.get("keep_alive") in (0, "0", "0s")
        window = min(options.get("num_ctx") or 4096, model.window)
        key, turn = (window, body.get("shift", True)), Turn(wire, body)
        if self._loaded.get(name) != key and (body.get("messages") or not leave):
            self.loads += 1
            turn.load_ns = 300_000_000
            self._loaded[name] = key
        if leave:
            self._loaded.pop(name, None)
        if not body.get("messages"):
            end = {"done": True, "done_reason": "unload" if leave else "load"}
            return wire.json(200, {"model": body["model"], "message": {"role": "assistant", "content": ""}} | end)
        turn.thinks = "thinking" in model.capabilities and body.get("think") is not False
        turn.prompt_tokens = self.count(self.render(body["messages"]))
        if turn.prompt_tokens > window:
            return too_long(n_prompt=turn.prompt_tokens, n_ctx=window).send(turn)
        turn.room = min(options.get("num_predict") or 10**6, max(1, window - turn.prompt_tokens))
        chosen = self._script.popleft() if self._script else self.always
        with self._changed:
            self._answering += 1
            self._changed.notify_all()
        return reply_of(chosen(body) if callable(chosen) else chosen).send(turn)
