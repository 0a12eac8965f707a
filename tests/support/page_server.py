"""The page over a scripted API on loopback: what a question does is decided by the test, step by step.

    with PageServer() as server:
        server.script(started("retrieve", "searching your files"), server.hold, answer("Yes [1]."))
        ...  # a browser at server.url asks
        server.release()

`hold` keeps the stream open until `release`. What arrived is in `server.posted`: (path, body).
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

import local_rag

PAGE = Path(local_rag.__file__).parent / "server" / "page"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HOLD = object()
GRAPH = {
    "nodes": [
        {"id": name, "label": name, "x": x, "y": y}
        for name, x, y in (
            ("__start__", 200, 0),
            ("retrieve", 200, 70),
            ("grade_documents", 200, 140),
            ("transform_query", 60, 210),
            ("generate", 240, 210),
            ("grade_generation", 240, 280),
            ("give_up", 80, 350),
            ("__end__", 240, 420),
        )
    ],
    "edges": [
        {"from": begin, "to": end, "label": label, "conditional": conditional}
        for begin, end, label, conditional in (
            ("__start__", "retrieve", "", False),
            ("retrieve", "grade_documents", "", False),
            ("grade_documents", "generate", "", True),
            ("grade_documents", "transform_query", "", True),
            ("grade_documents", "give_up", "max retries", True),
            ("generate", "grade_generation", "", False),
            ("grade_generation", "generate", "not supported", True),
            ("grade_generation", "__end__", "useful", True),
            ("grade_generation", "transform_query", "not useful", True),
            ("transform_query", "retrieve", "", False),
            ("give_up", "__end__", "", False),
        )
    ],
}


def passage(number: int = 1, label: str = "lease.pdf", text: str = "The rent is 900 euros a month.") -> dict[str, Any]:
    """A passage as the API shows it."""
    scores = {"score": 0.9 / number, "dense": 0.81, "sparse": 4.2}
    where = {"page": number, "heading": "", "url": "", "start": 0, "end": len(text)}
    return {"chunk_id": f"c{number}", "file_id": f"f{number}", "label": label, "text": text, **scores, **where}


def quote(number: int = 1, label: str = "lease.pdf", text: str = "The rent is 900 euros a month.") -> dict[str, Any]:
    """A citation as the API shows it."""
    place = {"file_id": f"f{number}", "label": label, "where": f"p. {number}", "line": "", "page": number}
    span = {"heading": "", "quote": text, "start": 0, "end": len(text), "url": "", "verified": True}
    return {"number": number, **place, **span, "origin": "files", "how": "word for word", "source": label}


def answer(text: str = "The rent is 900 euros a month", *numbers: int, **values: Any) -> tuple[str, dict[str, Any]]:
    """The last event: an answer of one paragraph, with a mark for each number (1 unless given)."""
    marks = [{"t": "cite", "n": number} for number in numbers or (1,)]
    view = {
        "question": "",
        "text": text,
        "status": "grounded",
        "status_text": "Grounded in your files",
        "reason": "",
        "blocks": [{"t": "p", "c": [{"t": "text", "s": text + " "}, *marks]}],
        "citations": [quote(number) for number in numbers or (1,)],
        "nearest": [],
        "conflicts": [],
        "lines": {},
        "removed": [],
        "path": ["retrieve", "grade_documents", "generate", "grade_generation"],
        "decisions": [
            {
                "kind": "relevance",
                "verdict": "relevant",
                "why": "it names the rent",
                "score": 0.91,
                "chunk_id": "c1",
                "source": "lease.pdf",
            }
        ],
        "graph": "self-rag",
        "engine": "extractive",
        "seconds": 1.2,
        "language": "en",
        "run": "",
    }
    return "answer", {**view, **values}


def started(node: str, doing: str) -> tuple[str, dict[str, Any]]:
    """A node begins."""
    return "node_started", {"node": node, "doing": doing}


def ended(node: str, seconds: float = 0.4) -> tuple[str, dict[str, Any]]:
    """A node ends."""
    return "node_ended", {"node": node, "seconds": seconds}


def token(text: str, attempt: int = 1) -> tuple[str, dict[str, Any]]:
    """A bit of a draft."""
    return "token", {"text": text, "attempt": attempt, "candidate": 1, "restart": False}


class PageServer:
    """One server; threads that its questions name are kept in `threads`."""

    def __init__(self, port: int = 0) -> None:
        self.hold = HOLD
        self.threads: dict[str, dict[str, Any]] = {}
        self.posted: list[tuple[str, Any]] = []
        self.answers: dict[str, Any] = {}
        self.left = threading.Event()
        self._released = threading.Semaphore(0)
        self._scripts: deque[tuple[Any, ...]] = deque()
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        routes = [
            Route("/", self._page),
            Route("/favicon.ico", self._page),
            Route("/page/{path:path}", self._page),
            Route("/api/ask", self._ask, methods=["POST"]),
            Route("/api/{path:path}", self._api, methods=["GET", "POST"]),
        ]
        config = uvicorn.Config(Starlette(routes=routes), log_config=None, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def script(self, *steps: Any) -> None:
        """What the next question does: events, and `hold`. `begun` comes by itself."""
        self._scripts.append(steps)

    def release(self) -> None:
        """Let one `hold` end."""
        self._released.release()

    def __enter__(self) -> PageServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._released.release(100)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    async def _page(self, request: Request) -> Response:
        name = request.path_params.get("path") or ("icon.svg" if request.url.path == "/favicon.ico" else "index.html")
        path = PAGE / name
        if path.suffix not in KINDS or not path.is_file():
            return PlainTextResponse("no such file", 404)
        headers = {"content-security-policy": CSP, "cache-control": "no-store", "x-content-type-options": "nosniff"}
        return Response(path.read_bytes(), media_type=KINDS[path.suffix], headers=headers)

    async def _api(self, request: Request) -> Response:
        path = request.path_params["path"]
        if request.method == "POST":
            self.posted.append((path, await request.json()))
        if path in self.answers:
            status, value = self.answers[path]
            return JSONResponse(value, status)
        if path == "threads":
            return JSONResponse({"threads": [self._row(thread) for thread in reversed(self.threads.values())]})
        if path == "choices":
            return JSONResponse(self._choices())
        if path == "index":
            return JSONResponse({"exists": True})
        if path.startswith("graphs/"):
            return JSONResponse(GRAPH)
        action = path.split("/")
        if action[0] == "threads" and action[1] in self.threads:
            return self._thread_reply(*action[1:], body=self.posted[-1][1] if request.method == "POST" else None)
        if path == "health" or request.method == "POST":
            return JSONResponse({})
        return JSONResponse({"error": {"code": "usage", "message": f"there is no {path}", "hint": ""}}, 404)

    def _choices(self) -> dict[str, Any]:
        graphs = [{"name": name, "about": ""} for name in ("plain", "self-rag", "crag", "adaptive")]
        defaults = {"index": ["main"], "graph": "self-rag", "engine": "auto", "model": "", "web": "off", "k": 4}
        known = {"indexes": ["main", "mail"], "models": ["qwen3:4b"], "web": ["off", "ask"]}
        return {**known, "graphs": graphs, "defaults": defaults}

    def _thread_reply(self, name: str, action: str = "", *rest: str, body: Any = None) -> Response:
        if action == "rename":
            self.threads[body["to"]] = {**self.threads.pop(name), "name": body["to"]}
        elif action == "delete":
            del self.threads[name]
        return JSONResponse({} if action else self.threads[name])

    def _row(self, thread: dict[str, Any]) -> dict[str, Any]:
        turns = thread["turns"]
        stopped = thread["stopped"] or ""
        first = turns[0]["question"] if turns else stopped
        return {"name": thread["name"], "turns": len(turns), "first": first, "at": "", "stopped": bool(stopped)}

    async def _ask(self, request: Request) -> Response:
        body = await request.json()
        self.posted.append(("ask", body))
        if "ask" in self.answers:
            status, value = self.answers["ask"]
            return JSONResponse(value, status)
        name = body["thread"] or f"2026-11-23 {body['question'][:40]}"
        thread = self.threads.setdefault(name, {"name": name, "turns": [], "stopped": None})
        steps = self._scripts.popleft() if self._scripts else (answer(),)
        return StreamingResponse(self._events(body, thread, steps), media_type="text/event-stream")

    async def _events(self, body: dict[str, Any], thread: dict[str, Any], steps: tuple[Any, ...]) -> Any:
        begun = {"id": "q1", "thread": thread["name"], "graph": "self-rag", "question": body["question"]}
        thread["stopped"] = body["question"]
        try:
            if not (steps and isinstance(steps[0], tuple) and steps[0][0] == "queued"):
                steps = (("begun", begun), *steps)
            for step in steps:
                if step is HOLD:
                    yield ": still here\n\n"
                    while not self._released.acquire(blocking=False):
                        await asyncio.sleep(0.02)
                    continue
                name, value = (step[0], begun) if step[0] == "begun" else step
                if name == "answer":
                    turn = len(thread["turns"]) + 1
                    value = {**value, "question": body["question"], "thread": thread["name"], "turn": turn}
                    thread["turns"].append(value)
                    thread["stopped"] = None
                yield f"event: {name}\ndata: {json.dumps(value)}\n\n"
        finally:
            if thread["stopped"]:
                self.left.set()
