"""Make a workspace whose questions a scripted engine answers, at once or when a test lets it."""

import threading
import time
from contextlib import contextmanager

from local_rag.config.settings import Settings
from local_rag.core import cancel
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine
from support.serving import a_workspace, events_of


class Gated(ScriptedEngine):
    """Write a draft up to the first blank, and wait there until the gate opens or the question is stopped."""

    def __init__(self, **script):
        super().__init__(**script)
        self.gate, self.working, self.left = threading.Event(), threading.Event(), threading.Event()

    def answer(self, question, documents, attempt):
        try:
            for number, delta in enumerate(super().answer(question, documents, attempt)):
                yield delta
                self.working.set()
                while number == 0 and not self.gate.is_set():
                    cancel.current().wait(0.02)
        finally:
            self.left.set()


class Steps:
    """Hold a question at each of these tasks until it is released or stopped; for `ScriptedEngine.at`."""

    def __init__(self, *tasks):
        self.tasks, self._let = tasks, threading.Semaphore(0)

    def __call__(self, task):
        while task in self.tasks and not self._let.acquire(timeout=0.02):
            cancel.check()

    def go_on(self):
        self._let.release()


class Stubborn(Gated):
    """Work like a library that does not react to a stop for a long time."""

    def answer(self, question, documents, attempt):
        yield from ScriptedEngine.answer(self, question, documents, attempt)
        self.working.set()
        self.gate.wait(30)


def scripted(engine=None, *, web=None, corpus=None, evaluator=None, **about):
    """Return a workspace that asks this engine, whatever index and settings a question names; `opened` notes them."""
    workspace = a_workspace(**about)
    rag = opened(engine, corpus or FakeCorpus(), evaluator)
    workspace.opened, workspace.scripted = [], rag

    @contextmanager
    def using(index=None, **values):
        workspace.opened.append((index, values))
        enabled = values.get("web__enabled", "on" if web else "off") != "off"
        rag.web = web if web and enabled else FakeWeb(enabled=False)
        yield rag

    workspace.using = using
    return workspace


def asked(client, question="What does the plan cost?", **request):
    """Return the events of a question that nobody interrupts, with the answer as a page gets it."""
    return client.ran("/api/ask", {"question": question, "detail": True, **request})


def names(events):
    return [name for name, _ in events]


def values(events, wanted):
    return [value for name, value in events if name == wanted]


@contextmanager
def followed(client, *request, **options):
    with client.stream(*request, **options) as response:
        assert response.status_code == 200, response.read()
        yield each_event(response)


def streamed(client, question="What does the plan cost?", **request):
    """Give the events of a question as they come; leaving the block leaves the stream."""
    return followed(client, "POST", "/api/ask", json={"question": question, "detail": True, **request})


def joined(client, job):
    """Give the events of a job that somebody else began."""
    return followed(client, "GET", f"/api/jobs/{job}/events", params={"detail": True})


def each_event(response):
    block = []
    for line in response.iter_lines():
        block.append(line)
        if not line:
            yield from events_of("\n".join(block))
            block = []


def eventually(is_so, seconds=120):
    """Return whether a condition becomes true; a passing test does not wait for long."""
    ends = time.monotonic() + seconds
    while not (true := is_so()) and time.monotonic() < ends:
        time.sleep(0.01)
    return true


def until(events, wanted):
    """Return the value of the next event of that name."""
    return next(value for name, value in events if name == wanted)


def opened(engine=None, corpus=None, evaluator=None, **flags):
    choice = Choice(engine or ScriptedEngine(), evaluator=evaluator)
    return Rag(Settings.load(**flags), corpus or FakeCorpus(), choice)
