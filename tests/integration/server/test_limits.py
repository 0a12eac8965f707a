"""What one client can take from the others: threads, slow requests, slow readers."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from http.client import HTTPConnection

import pytest
from support.asking import eventually
from support.serving import Client, a_workspace, error_of, served

from local_rag.core.errors import IndexMissing
from local_rag.server.auth import Limits
from local_rag.server.jobs import Job

SEARCH = {"query": "the plan"}


class Works:
    """Every search of a workspace works until it is let."""

    def __init__(self, workspace):
        self.gate, self.begun = threading.Event(), threading.Semaphore(0)
        workspace.using = self

    def __call__(self, *_, **__):
        self.begun.release()
        self.gate.wait(60)
        raise IndexMissing("there is none")


@contextmanager
def limited(**limits):
    """A workspace with such limits, its searches, and a client."""
    workspace = a_workspace(limits=replace(Limits(), **limits))
    works = Works(workspace)
    with served(workspace) as address, Client(workspace, address) as client:
        yield address, client, works


def test_others_are_answered_while_heavy_requests_pile_up():
    with limited(heavy=2, heavy_waiting=1) as (address, client, works), ThreadPoolExecutor() as clients:
        piled = [clients.submit(client.post, "/api/search", SEARCH) for _ in range(5)]
        assert works.begun.acquire(timeout=30) and works.begun.acquire(timeout=30)
        assert eventually(lambda: len(address.state.tasks) == 3 and sum(each.done() for each in piled) == 2)
        assert [error_of(each.result()) for each in piled if each.done()] == [(429, "busy")] * 2
        assert client.get("/api/health").status_code == client.get("/page/app.js").status_code == 200
        works.gate.set()
        assert sorted(each.result().status_code for each in piled) == [404] * 3 + [429] * 2


def test_what_waits_is_not_begun_for_who_has_left():
    with limited(heavy=1) as (address, client, works), ThreadPoolExecutor() as clients:
        working = clients.submit(client.post, "/api/search", SEARCH)
        assert works.begun.acquire(timeout=30)
        with requested(client, "/api/search", json.dumps(SEARCH).encode()):
            assert eventually(lambda: len(address.state.tasks) == 2)
            there = len(address.state.connections)
        assert eventually(lambda: len(address.state.connections) < there)
        works.gate.set()
        assert working.result().status_code == 404 and eventually(lambda: not address.state.tasks)
        assert not works.begun.acquire(blocking=False)


def test_so_many_requests_are_under_way_at_most():
    with limited(requests=2) as (_, client, works), ThreadPoolExecutor() as clients:
        working = [clients.submit(client.post, "/api/search", SEARCH) for _ in range(2)]
        assert works.begun.acquire(timeout=30) and works.begun.acquire(timeout=30)
        assert error_of(client.get("/api/health")) == (429, "busy")
        works.gate.set()
        assert [each.result().status_code for each in working] == [404, 404]
        assert client.get("/api/health").status_code == 200


@pytest.mark.parametrize("sent", [b"", b'{"cases": '])
def test_a_body_that_does_not_come_is_answered_and_the_connection_closed(sent):
    with limited(request=0.2) as (_, client, _), requested(client, "/api/ask", sent, length=1000) as slow:
        head, _, body = everything(slow).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ") and b"connection: close" in head.lower()
        error = json.loads(body)["error"]
        assert error["code"] == "too_late" and "within 0.2 seconds" in error["message"] and error["hint"]


def test_a_client_that_does_not_read_is_left_and_the_job_goes_on():
    def work(job):
        for _ in range(400):
            yield "text", "x" * 100_000

    with limited(slow_reader=0.2) as (address, client, _):
        job = client.workspace.jobs.ask(Job("question", "cookie", {"thread": ""}, work))
        with requested(client, f"/api/jobs/{job.id}/events") as lazy:
            assert eventually(lambda: address.state.tasks)
            assert eventually(lambda: not address.state.tasks), "nothing waits for who does not read"
            assert job.state == "done"
            assert not everything(lazy).endswith(b"0\r\n\r\n")


def test_a_heartbeat_comes_while_nothing_happens():
    gate = threading.Event()

    def work(job):
        gate.wait(60)
        yield "text", "late"

    with limited(heartbeat=0.05) as (_, client, _):
        job = client.workspace.jobs.ask(Job("question", "cookie", {"thread": ""}, work))
        with client.stream("GET", f"/api/jobs/{job.id}/events") as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if line.startswith(":")) == ": still here"
            gate.set()
            assert 'data: "late"' in [*lines]


@contextmanager
def requested(client, path, body=None, length=None):
    """The socket on which a signed-in page has sent this, with a body as a POST; nothing of the answer is read."""
    headers = dict(client.headers)
    if body is not None:
        headers |= {"content-type": "application/json", "content-length": str(length or len(body))}
    with closing(HTTPConnection(client.base_url.netloc.decode(), timeout=30)) as connection:
        connection.request("GET" if body is None else "POST", path, body, headers)
        yield connection.sock


def everything(connection):
    """What comes until the other side has closed the connection, in whatever way."""
    received = b""
    with suppress(ConnectionError):
        while chunk := connection.recv(1 << 20):
            received += chunk
    return received
