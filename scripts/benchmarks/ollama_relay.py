"""A relay on loopback between local-rag and a running Ollama, through which a real model says what a case wants.

    with Relay.start("127.0.0.1:11434", "llama3.2:3b") as relay:
        relay.begin(["word"])  # a run of its own: the model is out of memory, and with it all that it has read
        ...  # an OllamaEngine that talks to relay.host

`llama_replies.reply` reads each prompt and decides, as for `llama_endpoint`; a schema with that single value lets the
model generate it, token by token. So both sides of a comparison take the same way, whatever the model would say.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.llama_replies import reply

UNLOADING = 60.0
"""Seconds in which a model must be out of memory."""


class Relay:
    """The relay, and short ways to steer it and the server behind it."""

    def __init__(self, server: str, model: str) -> None:
        self.server, self.model = server, model
        self.rejected: list[str] = []
        handler = type("Handler", (_Handler,), {"relay": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.host = f"127.0.0.1:{self._http.server_address[1]}"

    @classmethod
    def start(cls, server: str, model: str) -> Relay:
        """Listen on a free port; `server` is the address of Ollama."""
        relay = cls(server, model)
        threading.Thread(target=relay._http.serve_forever, args=(0.05,), daemon=True).start()
        return relay

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def begin(self, rejected: list[str]) -> None:
        """A run of its own: nothing read before is remembered, and passages with one of these words are irrelevant."""
        self.rejected = rejected
        self._asked("POST", "/api/chat", {"model": self.model, "messages": [], "keep_alive": 0, "stream": False})
        from local_rag.engines.ollama.server import same_model

        until = time.monotonic() + UNLOADING
        while any(same_model(one["name"], self.model) for one in self._asked("GET", "/api/ps")["models"]):
            if time.monotonic() > until:
                raise TimeoutError(f"{self.model} is still in memory: another program uses it")
            time.sleep(0.05)

    def calls(self) -> list[dict[str, Any]]:
        """Ollama does not tell which tokens of a prompt it had in memory."""
        return []

    def connection(self) -> http.client.HTTPConnection:
        """A new one to Ollama."""
        return http.client.HTTPConnection(self.server)

    def _asked(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        connection = self.connection()
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            found: dict[str, Any] = json.loads(connection.getresponse().read())
            return found
        finally:
            connection.close()


def forced(body: dict[str, Any], rejected: list[str]) -> dict[str, Any]:
    """The chat with a schema that allows the scripted reply alone; a plain text becomes one JSON string."""
    said = reply(body, rejected)
    if not body.get("format"):
        if json.dumps(said) != f'"{said}"':
            raise ValueError(f"a scripted text needs no escapes: {said}")
        plain = {key: value for key, value in body.items() if key not in ("logprobs", "top_logprobs")}
        return plain | {"format": {"type": "string", "enum": [said]}}
    values = json.loads(said)
    properties = {key: {"enum": [value]} for key, value in values.items()}
    return body | {"format": {"type": "object", "properties": properties, "required": list(values)}}


def unquoted(line: bytes) -> bytes:
    """A line of a stream without the quotes of the JSON string; the scripted texts hold none themselves."""
    told = json.loads(line)
    if "message" in told:
        told["message"]["content"] = told["message"].get("content", "").replace('"', "")
    return json.dumps(told).encode() + b"\n"


class _Handler(BaseHTTPRequestHandler):
    relay: Relay
    protocol_version = "HTTP/1.0"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._forwarded(b"")

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"] or 0))
        body = json.loads(sent) if self.path == "/api/chat" else {}
        if body.get("messages"):
            chat = json.dumps(forced(body, self.relay.rejected)).encode()
            self._forwarded(chat, plain=not body.get("format"))
        else:
            self._forwarded(sent)

    def _forwarded(self, body: bytes, plain: bool = False) -> None:
        """Ask Ollama, and hand on what it says as it comes. Where the client leaves, the call ends."""
        connection = self.relay.connection()
        try:
            connection.request(self.command, self.path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
            self.end_headers()
            for line in answer:
                self.wfile.write(unquoted(line) if plain and answer.status == 200 else line)
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            return
        finally:
            connection.close()
