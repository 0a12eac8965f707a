"""The page over a scripted API on loopback: what a question does is decided by the test, step by step.

    with PageServer() as server:
        server.script(started("retrieve", "searching your files"), HOLD, answer("Yes"))
        ...  # a browser at server.url asks
        server.release()

`HOLD` keeps the question at work until `release`. What arrived is in `server.posted`: (path, body).
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import local_rag
from local_rag.core.answer import Answer, Citation
from local_rag.core.documents import CONDITIONS
from local_rag.core.verdicts import Graded
from local_rag.graphs.drawing import words_of
from local_rag.server.answers import answer_view
from local_rag.server.auth import POLICY
from local_rag.text.markup import closed
from local_rag.text.nodes import tree

PAGE = Path(local_rag.__file__).parent / "server" / "page"
HOLD = object()
PATH = ("begin", "retrieve", "grade_documents", "generate", "grade_generation", "finish")
STEPS = ("__start__", *PATH, "__end__")
GRAPH = {
    "nodes": [{"id": name, "name": words_of(name)[0], "about": ""} for name in STEPS],
    "edges": [
        {"source": begin, "target": end, "label": label, "conditional": bool(label)}
        for begin, end, label in (
            *((begin, end, "") for begin, end in pairwise(STEPS)),
            ("grade_generation", "generate", "not supported"),
        )
    ],
}


GRAPHS = ("plain", "self-rag", "crag", "adaptive")
ANSWERS = {
    "health": {},
    "index": {"exists": True},
    "index/suggestions": {"questions": []},
    "choices": {
        "graphs": dict.fromkeys(GRAPHS, ""),
        "defaults": {"index": ["main"], "graph": "self-rag", "engine": "auto", "model": "", "web": "off", "k": 4},
        "indexes": ["main", "mail"],
        "models": ["qwen3:4b"],
        "web": ["off", "ask"],
        "conditions": [{"name": name, "label": of.label, "example": of.example} for name, of in CONDITIONS.items()],
        "writer": "qwen3:4b",
    },
    **{f"graphs/{name}": GRAPH for name in GRAPHS},
}
"""What is answered by path, until a test puts something else into `answers`."""
NO_SESSION = "export const secret = async () => '', worked = () => {}, look = () => {};"
"""In place of the page's own module: nobody has to sign in here."""


def passage(number=1, label="lease.pdf", text="The rent is 900 euros a month."):
    """A passage as the API shows it."""
    scores = {"score": 0.9 / number, "dense": 0.81, "sparse": 4.2}
    where = {"page": number, "heading": "", "url": "", "start": 0, "end": len(text)}
    return {
        "chunk_id": f"c{number}",
        "file_id": f"f{number}",
        "label": label,
        "text": text,
        "read": text,
        **scores,
        **where,
    }


def quote(number=1, label="lease.pdf", text="The rent is 900 euros a month.", **values):
    """A citation of a page."""
    place = {"start": 0, "end": len(text), "url": "", "located": "exact", **values}
    return Citation(number, label, number, "", text, verified=True, **place)


def answer(text="The rent is 900 euros a month", *numbers, turn=0, **values):
    """The last event: an answer of one paragraph, with a mark for each number (1 unless given), as the API shows it."""
    numbers = numbers or (1,)
    about = {
        "question": "",
        "status": "grounded",
        "citations": tuple(quote(number) for number in numbers),
        "path": PATH,
        "decisions": (Graded("relevance", "relevant", "it names the rent", "c1", 0.91, "lease.pdf"),),
        "graph": "self-rag",
        "engine": "extractive",
        "quotes_only": True,
        "seconds": 1.2,
    }
    marked = f"{text} {''.join(f'[{number}]' for number in numbers)}"
    return "answer", answer_view(Answer(text=marked, **{**about, **values}), str, turn=turn)


def started(node, doing):
    """A node begins."""
    return "started", {"node": node, "doing": doing}


def ended(node, seconds=0.4):
    """A node ends."""
    return "step", {"node": node, "seconds": seconds}


def token(text, attempt=1):
    """A bit of a draft."""
    return "token", {"text": text, "attempt": attempt, "candidate": 1, "restart": False}


class Job:
    """A question at work: what it has told so far, whether it has ended, and whether somebody stopped it."""

    def __init__(self, name, question, thread):
        self.id, self.question, self.thread = name, question, thread
        self.events, self.ended, self.stopped = [], False, False

    async def lines(self):
        """Its events as they are sent, from the first one on."""
        read = 0
        yield ": still here\n\n"
        while not self.ended or read < len(self.events):
            for name, value in self.events[read:]:
                yield f"event: {name}\ndata: {json.dumps(value)}\n\n"
                read += 1
            await asyncio.sleep(0.01)


def now(days=0):
    """So many days ago, as the API says when."""
    return (datetime.now(UTC) - timedelta(days)).isoformat()


def unanswered(question):
    """A question that was stopped."""
    return {"question": question, "at": now(), "state": "stopped", "error": None, "draft": ""}


class PageServer:
    """One server; threads that its questions name are kept in `threads`."""

    def __init__(self):
        self.threads, self.jobs = {}, {}
        self.posted = []
        self.answers = {path: (200, value) for path, value in ANSWERS.items()}
        self.stopped = threading.Event()
        self._released = threading.Semaphore(0)
        self._scripts, self._tasks = deque(), set()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/"
        routes = [
            Route("/", lambda _: FileResponse(PAGE / "index.html", headers={"content-security-policy": POLICY})),
            Route("/favicon.ico", lambda _: FileResponse(PAGE / "icon.svg")),
            Route("/page/session.js", lambda _: Response(NO_SESSION, media_type="text/javascript")),
            Mount("/page", StaticFiles(directory=PAGE)),
            Route("/api/ask", self._ask, methods=["POST"]),
            Route("/api/jobs/{id}/events", self._events),
            Route("/api/jobs/{id}/stop", self._stop, methods=["POST"]),
            Route("/api/read", self._read, methods=["POST"]),
            Route("/api/{path:path}", self._api, methods=["GET", "POST"]),
        ]
        config = uvicorn.Config(Starlette(routes=routes), log_config=None, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def script(self, *steps):
        """What the next question does: events, and `HOLD`. `begun` comes by itself."""
        self._scripts.append(steps)

    def release(self):
        """Let one `HOLD` end."""
        self._released.release()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _serve(self):
        asyncio.run(self._server.serve(sockets=[self._socket]))

    async def _read(self, request):
        return JSONResponse({"blocks": tree(closed((await request.json())["text"]))})

    async def _api(self, request):
        path = request.path_params["path"]
        if request.method == "POST":
            self.posted.append((path, await request.json()))
        if path in self.answers:
            status, value = self.answers[path]
            return JSONResponse(value, status)
        if path == "threads":
            return JSONResponse({"threads": [self._row(thread) for thread in reversed(self.threads.values())]})
        if path == "jobs":
            return JSONResponse(
                {"jobs": [self._job(job) for job in self.jobs.values() if not job.ended], "unfinished": []}
            )
        if path.partition("/")[0] == "thread":
            body = self.posted[-1][1] if request.method == "POST" else request.query_params
            return self._thread_reply(path, body)
        if request.method == "POST":
            return JSONResponse({})
        return self._error("usage", f"there is no {path}", 404)

    def _thread_reply(self, path, body):
        name = body["thread"]
        if name not in self.threads:
            return self._error("not_found", f"there is no thread {name}", 404)
        if path == "thread/rename":
            self.threads[body["to"]] = {**self.threads.pop(name), "name": body["to"]}
        elif path == "thread/delete":
            del self.threads[name]
        return JSONResponse(self.threads[name] if path == "thread" else {})

    def _error(self, code, message, status):
        return JSONResponse({"error": {"code": code, "message": message, "hint": ""}}, status)

    def _row(self, thread):
        turns = thread["turns"]
        left = thread["unanswered"]
        first = (turns or left or [{"question": ""}])[0]["question"]
        return {
            "name": thread["name"],
            "turns": len(turns),
            "first": first,
            "at": thread.get("at", now()),
            "unanswered": bool(left),
        }

    async def _ask(self, request):
        body = await request.json()
        assert body.pop("detail")
        self.posted.append(("ask", body))
        if "ask" in self.answers:
            status, value = self.answers["ask"]
            return JSONResponse(value, status)
        name = body["thread"] or f"2026-11-23 {body['question'][:40]}"
        thread = self.threads.setdefault(name, {"name": name, "turns": [], "unanswered": [], "running": []})
        job = self.jobs[f"q{len(self.jobs) + 1}"] = Job(f"q{len(self.jobs) + 1}", body["question"], thread)
        thread |= {"unanswered": [], "running": [{"job": job.id, "question": job.question}]}
        task = asyncio.create_task(self._work(job, self._scripts.popleft() if self._scripts else (answer(),)))
        self._tasks.add(task)
        return StreamingResponse(job.lines(), media_type="text/event-stream")

    @staticmethod
    def _job(job):
        about = {"question": job.question, "thread": job.thread["name"]}
        return {"id": job.id, "kind": "question", "caller": "cookie", "state": "running", "position": 0, "about": about}

    async def _events(self, request):
        return StreamingResponse(self.jobs[request.path_params["id"]].lines(), media_type="text/event-stream")

    async def _stop(self, request):
        self.jobs[request.path_params["id"]].stopped = True
        self.stopped.set()
        return JSONResponse({})

    async def _work(self, job, steps):
        thread = job.thread
        begun = {"id": job.id, "thread": thread["name"], "graph": "self-rag", "question": job.question}
        for step in (("begun", begun), *steps):
            while step is HOLD and not (job.stopped or self._released.acquire(blocking=False)):
                await asyncio.sleep(0.02)
            if job.stopped:
                break
            if step is not HOLD:
                name, value = step
                if name == "answer":
                    turn = len(thread["turns"]) + 1
                    value = {**value, "question": job.question, "thread": thread["name"], "turn": turn}
                    thread["turns"].append(value)
                job.events.append((name, value))
        if job.stopped:
            thread["unanswered"] = [unanswered(job.question)]
            job.events.append(("error", {"code": "stopped", "message": "stopped", "hint": ""}))
        thread["running"] = []
        job.ended = True
