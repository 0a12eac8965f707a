"""A real llama.cpp behind the part of Ollama's API that local-rag speaks, on loopback and in a process of its own.

    with Endpoint.start(model_file, threads=2) as endpoint:
        ...  # an OllamaEngine that talks to endpoint.host
        endpoint.calls()  # what each chat really read and wrote

The model's weights are random, so what it says is written for it: `llama_replies.reply` reads the prompt and decides,
and a grammar of exactly those tokens lets the model generate them, one by one, as it would its own. What is told beside
Ollama's own figures comes from llama.cpp: `read` are the tokens of the prompt that it evaluated, `kept` those that it
had in memory.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.llama_replies import reply

NAME = "random:latest"
VERSION = "0.33.0"
HOST_CACHE = 8192
"""MiB of memory for earlier prompts, the default of llama.cpp's server and so of Ollama since 0.30."""


class Endpoint:
    """The process, and short ways to steer it."""

    def __init__(self, process: Any, port: int) -> None:
        self._process = process
        self.host = f"127.0.0.1:{port}"

    @classmethod
    def start(cls, model: Path, threads: int, host_cache: int = HOST_CACHE) -> Endpoint:
        """Listen on a free port; the model is loaded by the first chat. Raises ModuleNotFoundError: no xllamacpp."""
        importlib.import_module("xllamacpp")  # the child would fail out of sight
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there, str(model), threads, host_cache), daemon=True)
        process.start()
        there.close()  # where the process dies, `recv` ends
        return cls(process, here.recv())

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def begin(self, rejected: list[str]) -> None:
        """A run of its own: nothing read before is remembered, and passages with one of these words are irrelevant."""
        self._post("/bench/begin", {"rejected": rejected})

    def calls(self) -> list[dict[str, Any]]:
        """The chats since `begin`."""
        found: list[dict[str, Any]] = self._post("/bench/calls", {})["calls"]
        return found

    def count(self, texts: list[str]) -> int:
        """Tokens of some texts, each by itself."""
        return int(self._post("/bench/count", {"texts": texts})["tokens"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return _posted(f"http://{self.host}{path}", body)


def _serve(pipe: Any, model: str, threads: int, host_cache: int) -> None:
    """The process: one model, one chat at a time."""
    runner = _Runner(model, threads, host_cache)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"runner": runner}))
    pipe.send(server.server_address[1])
    server.serve_forever()


class _Runner:
    """llama.cpp's server inside this process, loaded again where Ollama would."""

    def __init__(self, model: str, threads: int, host_cache: int) -> None:
        self.model, self.threads, self.host_cache = model, threads, host_cache
        self.turn = threading.Lock()
        self.calls: list[dict[str, Any]] = []
        self.rejected: list[str] = []
        self.run = 0
        self._loaded: tuple[Any, ...] | None = None
        self._server: Any = None

    def load(self, body: dict[str, Any]) -> float:
        """Seconds that it took; a changed window, batch or `shift` loads the model again, as Ollama does."""
        began = time.perf_counter()
        options = body.get("options") or {}
        key = (options.get("num_ctx"), options.get("num_batch"), body.get("shift"))
        if key != self._loaded:
            self._server = None
            self._server = self._started(options.get("num_ctx") or 4096)
            self._loaded = key
        return time.perf_counter() - began

    @property
    def window(self) -> int | None:
        return (self._loaded[0] or 4096) if self._loaded else None

    def _started(self, window: int) -> Any:
        xllamacpp = importlib.import_module("xllamacpp")
        params = xllamacpp.CommonParams()
        params.model.path = self.model
        params.n_ctx, params.n_parallel, params.fit_params = window, 1, False
        params.cache_ram_mib, params.verbosity = self.host_cache, -1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self.threads
        return xllamacpp.Server(params)

    def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return _posted(self._server.listening_address + path, body)

    def tokens(self, text: str) -> list[int]:
        found: list[int] = self.ask("/tokenize", {"content": text})["tokens"]
        return found

    def stream(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What llama.cpp sends for a chat; the reply is fixed, token by token."""
        rendered: str = self.ask("/apply-template", {"messages": body["messages"]})["prompt"]
        start, mark, rest = rendered.partition("<|start_header|>")
        options = body.get("options") or {}
        wanted = " ".join(f"<[{number}]>" for number in self.tokens(reply(body, self.rejected)))
        asked = {
            "prompt": f"{start}{self.run} {mark}{rest}",  # the number of the run: no earlier run is remembered
            "grammar": f"root ::= {wanted}",
            "n_predict": options.get("num_predict", -1),
            "n_probs": int(body.get("top_logprobs") or 0) if body.get("logprobs") else 0,
            "temperature": 0.0,
            "cache_prompt": True,
            "stream": True,
        }
        address = f"{self._server.listening_address}/completion"
        with urllib.request.urlopen(_request(address, asked)) as lines:
            for line in lines:
                if line.startswith(b"data: ") and line != b"data: [DONE]\n":
                    yield json.loads(line[6:])


class _Handler(BaseHTTPRequestHandler):
    runner: _Runner
    protocol_version = "HTTP/1.0"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        told: dict[str, Any] = {
            "/api/version": {"version": VERSION},
            "/api/status": {"cloud": {"disabled": True, "source": "env"}},
            "/api/tags": {"models": [_MODEL]},
            "/api/ps": {"models": [_MODEL | {"context_length": window}] if (window := self.runner.window) else []},
        }
        self._json(200 if self.path in told else 404, told.get(self.path, {"error": "not found"}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        with self.runner.turn:
            if self.path == "/api/show":
                info = {"general.architecture": "llama", "llama.context_length": 8192}
                self._json(200, {"model_info": info, "capabilities": ["completion"], "details": {"family": "llama"}})
            elif self.path == "/api/chat":
                self._chat(body)
            else:
                self._json(200, self._steered(body))

    def _steered(self, body: dict[str, Any]) -> dict[str, Any]:
        runner = self.runner
        if self.path == "/bench/count":
            return {"tokens": sum(len(runner.tokens(text)) for text in body["texts"])}
        if self.path == "/bench/begin":
            runner.run, runner.rejected, runner.calls = runner.run + 1, body["rejected"], []
        return {"calls": runner.calls}

    def _chat(self, body: dict[str, Any]) -> None:
        load = self.runner.load(body)
        if not body.get("messages"):
            return self._json(200, {"model": NAME, "message": {"content": ""}, "done": True, "done_reason": "load"})
        began = time.perf_counter(), time.process_time()
        try:
            self._stream(body, load, began)
        except urllib.error.HTTPError as error:
            self._json(error.code, {"error": error.read().decode()})
        except (BrokenPipeError, ConnectionResetError):
            return None

    def _stream(self, body: dict[str, Any], load: float, began: tuple[float, float]) -> None:
        begun = False
        for part in self.runner.stream(body):
            if "timings" in part and part.get("stop"):
                self._line(body, {"content": ""}, self._booked(body, part, load, began))
                continue
            if not begun:
                self.send_response(200)
                self.send_header("Content-Type", "application/x-ndjson")
                self.end_headers()
                begun = True
            self._part(body, part)

    def _part(self, body: dict[str, Any], part: dict[str, Any]) -> None:
        listed = [
            {"token": one["token"], "logprob": one["logprob"], "top_logprobs": one["top_logprobs"]}
            for one in part.get("completion_probabilities") or ()
        ]
        self._line(body, {"content": part["content"]}, {"done": False} | ({"logprobs": listed} if listed else {}))

    def _line(self, body: dict[str, Any], message: dict[str, str], about: dict[str, Any]) -> None:
        line = {"model": body["model"], "created_at": "", "message": {"role": "assistant"} | message} | about
        self.wfile.write(json.dumps(line).encode() + b"\n")
        self.wfile.flush()

    def _booked(
        self, body: dict[str, Any], last: dict[str, Any], load: float, began: tuple[float, float]
    ) -> dict[str, Any]:
        """The last line as Ollama writes it; `prompt_eval_count` is the whole prompt, in nanoseconds the rest."""
        times, whole = last["timings"], time.perf_counter() - began[0]
        call = {"read": times["prompt_n"], "kept": times["cache_n"], "wrote": times["predicted_n"]}
        seconds = {"load": load, "reading": times["prompt_ms"] / 1e3, "writing": times["predicted_ms"] / 1e3}
        texts = [message["content"] for message in body["messages"]]
        self.runner.calls.append(
            call | seconds | {"seconds": whole, "busy": time.process_time() - began[1], "texts": texts}
        )
        return {
            "done": True,
            "done_reason": "length" if last.get("stop_type") == "limit" else "stop",
            "total_duration": round((load + whole) * 1e9),
            "load_duration": round(load * 1e9),
            "prompt_eval_count": call["read"] + call["kept"],
            "prompt_eval_duration": round(seconds["reading"] * 1e9),
            "eval_count": call["wrote"],
            "eval_duration": round(seconds["writing"] * 1e9),
        }

    def _json(self, status: int, told: dict[str, Any]) -> None:
        content = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


_MODEL: dict[str, Any] = {
    "name": NAME,
    "model": NAME,
    "size": 330_000_000,
    "size_vram": 0,
    "digest": "0" * 64,
    "details": {"family": "llama", "parameter_size": "310M", "quantization_level": "Q8_0"},
}


def _request(address: str, body: dict[str, Any]) -> urllib.request.Request:
    return urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})


def _posted(address: str, body: dict[str, Any]) -> dict[str, Any]:
    with urllib.request.urlopen(_request(address, body)) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found
