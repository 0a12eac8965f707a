"""A hundred questions over HTTP leave nothing behind in the server: no thread, no descriptor, no memory."""

import gc
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest
from support.asking import eventually, scripted, streamed, until
from support.fakes import ScriptedEngine
from support.serving import asking

ROUND = 35
"""More questions than ended jobs are kept, and whole rhythms of those that are left or stopped."""

PER_QUESTION = 15_000
"""Bytes that may stay of a question: between -1,400 and 4,600 have, and 48,000 with a leak of its events."""


def ask_many(client):
    """Most questions are answered; every fifth is left in the middle, every seventh stopped."""
    for number in range(ROUND):
        with streamed(client, f"What does plan {number} cost?") as events:
            id_ = until(events, "begun")["id"]
            if number % 5 == 4:
                continue
            if number % 7 == 6:
                client.post(f"/api/jobs/{id_}/stop")
                continue
            assert until(events, "answer")["status"] == "grounded"


def descriptors():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted in /proc")
def test_a_hundred_questions_leave_nothing_behind():
    engine = ScriptedEngine()
    workspace = scripted(engine)
    with asking(workspace) as client:
        ask_many(client)
        ask_many(client)
        tracemalloc.start()
        try:
            ask_many(client)
            assert eventually(lambda: not workspace.jobs.questions())
            threads, files, before = threading.active_count(), descriptors(), traced(engine, workspace)
            ask_many(client)
            assert eventually(lambda: not workspace.jobs.questions())
            assert eventually(lambda: threading.active_count() <= threads), threading.enumerate()
            assert eventually(lambda: descriptors() <= files)
            growth = traced(engine, workspace) - before
        finally:
            tracemalloc.stop()
    print(f"{growth / ROUND:.0f} bytes stay of a question", file=sys.stderr)
    assert growth < ROUND * PER_QUESTION
    assert threading.active_count() <= threads


def traced(engine, workspace):
    """Bytes that Python objects hold, without what the scripted parts note down of each question."""
    for notes in (engine.asked, workspace.scripted.corpus.queries, workspace.opened):
        notes.clear()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
