"""What one client can take from the others, over uvicorn on loopback: threads, slow requests, slow readers."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from support.asking import eventually
from support.fakes_index import HashingEmbedder
from support.hostile import make_pdf
from support.serving import a_place, served, signed_in

from local_rag.config.settings import Settings
from local_rag.core import cancel
from local_rag.core.errors import Stopped
from local_rag.index.index import Index
from local_rag.server.app import endpoints
from local_rag.server.endpoints import Endpoint
from local_rag.server.file_ids import file_id
from local_rag.server.page_pictures import pictures_of
from local_rag.server.place import Limits
from local_rag.server.sse import Events

FEW = replace(Limits(), heavy=2, heavy_waiting=1)
IMPATIENT = replace(Limits(), request=1.0)


class Works:
    """A heavy endpoint that works until it is let, or given up."""

    def __init__(self):
        self.gate, self.begun, self.given_up = threading.Event(), threading.Semaphore(0), threading.Event()
        self.endpoint = Endpoint("POST", "/api/work", self, response=dict, heavy=True)

    def __call__(self, place, request):
        self.begun.release()
        try:
            while not self.gate.is_set():
                cancel.current().wait(0.01)
        except Stopped:
            self.given_up.set()
            raise
        return {}


def test_others_are_answered_while_heavy_requests_pile_up():
    place, works = a_place(limits=FEW), Works()
    with (
        served(place, served=[*endpoints(), works.endpoint]) as address,
        signed_in(place, address) as client,
        ThreadPoolExecutor() as clients,
    ):
        piled = [clients.submit(client.post, "/api/work", json={}) for _ in range(5)]
        for _ in range(FEW.heavy):
            assert works.begun.acquire(timeout=30)
        assert eventually(lambda: len(address.state.tasks) == 3 and sum(each.done() for each in piled) == 2)
        refused = next(each.result() for each in piled if each.done())
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "busy")
        assert client.get("/api/health").json()["status"] == "ok" and client.get("/page/app.js").status_code == 200
        works.gate.set()
        assert sorted(each.result().status_code for each in piled) == [200] * 3 + [429] * 2


def test_what_works_for_long_and_changes_nothing_is_heavy():
    heavy = {each.path for each in endpoints() if each.heavy}
    assert heavy >= {"/api/search", "/api/files", "/api/documents/{file_id}/pages/{page}"}
    assert "/api/health" not in heavy and not any(each.response is Events for each in endpoints() if each.heavy)


def test_a_heavy_request_is_given_up_when_its_client_leaves():
    place, works = a_place(limits=replace(FEW, heavy=1)), Works()
    with served(place, served=[works.endpoint]) as address, signed_in(place, address) as client:
        with connected(address) as waits, connected(address) as working:
            send(working, client, "/api/work")
            assert works.begun.acquire(timeout=30)
            send(waits, client, "/api/work")
            assert eventually(lambda: len(address.state.tasks) == 2)
            waits.close()
            assert eventually(lambda: len(address.state.tasks) == 1) and not works.given_up.is_set()
        assert works.given_up.wait(30) and eventually(lambda: not address.state.tasks)
        assert not works.begun.acquire(blocking=False), "what waited has not begun"


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for the worker process in /proc")
def test_a_page_of_a_pdf_is_not_drawn_for_who_has_left(tmp_path):
    make_pdf(tmp_path / "notes.pdf", ["One", "Two"])
    settings = Settings.load()
    with Index.open(settings.index_path, HashingEmbedder(window=300), create=True) as index:
        index.sync([tmp_path / "notes.pdf"])
    place = a_place()
    page = f"/api/documents/{file_id(str(tmp_path / 'notes.pdf'))}/pages"
    with served(place) as address, signed_in(place, address) as client:
        assert client.get(f"{page}/1").status_code == 200
        (worker,) = parse_workers()
        drawer = pictures_of(place)
        os.kill(worker, signal.SIGSTOP)  # like a page that takes long
        with connected(address) as drawn, connected(address) as waits:
            for count, each in enumerate((drawn, waits), start=1):
                send(each, client, f"{page}/2", "GET")
                assert eventually(lambda count=count: len(address.state.tasks) == count and drawer.is_drawing)
            waits.close()
            assert eventually(lambda: len(address.state.tasks) == 1) and parse_workers() == [worker]
        assert eventually(lambda: not parse_workers())
        assert client.get(f"{page}/2").status_code == 200, "by another worker"
    place.close()


def parse_workers():
    """The processes of this one that parse."""
    workers = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            mine = int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()
            if mine and b"local_rag.index.parse.worker" in (folder / "cmdline").read_bytes():
                workers.append(int(folder.name))
    return workers


@pytest.mark.parametrize("sent", [b"", b'{"cases": '])
def test_a_body_that_does_not_come_is_answered_and_the_connection_closed(sent):
    place = a_place(limits=IMPATIENT)
    with served(place) as address, signed_in(place, address) as client, connected(address) as slow:
        send(slow, client, "/api/ask", head={"content-length": "1000"}, body=sent)
        head, _, body = everything(slow).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ") and b"connection: close" in head.lower()
        error = json.loads(body)["error"]
        assert error["code"] == "too_late" and "within 1 second" in error["message"] and error["hint"]


@pytest.mark.parametrize("sent", [b"", b"GET /api/health HTTP/1.1\r\nHost: "])
def test_a_connection_whose_request_does_not_come_is_closed(sent):
    place = a_place(limits=IMPATIENT)
    with served(place) as address, connected(address) as idle:
        idle.sendall(sent)
        assert everything(idle) == b"" and eventually(lambda: not address.state.connections)


def test_connections_that_send_no_whole_request_keep_nobody_out():
    few = replace(Limits(), connections=5)
    place, works = a_place(limits=few), Works()
    with (
        served(place, served=[*endpoints(), works.endpoint]) as address,
        signed_in(place, address) as client,
        ExitStack() as opened,
        ThreadPoolExecutor() as clients,
    ):
        working = clients.submit(client.post, "/api/work", json={})
        assert works.begun.acquire(timeout=30)
        idle = [opened.enter_context(connected(address)) for _ in range(3 * few.connections)]
        assert eventually(lambda: len(address.state.connections) == few.connections - 1)
        unfinished = [opened.enter_context(connected(address)) for _ in range(few.connections)]
        for each in unfinished:
            send(each, client, "/api/session/start", head={"content-length": "1000"}, body=b"{")
        with httpx.Client(base_url=address, headers=client.headers) as other:
            assert [other.get("/api/health").status_code for _ in range(3)] == [200] * 3
        assert all(everything(each) == b"" for each in idle[: few.connections])
        works.gate.set()
        assert working.result().status_code == 200, "what is under way is never closed for others"


def test_a_request_is_refused_while_every_connection_has_one_under_way():
    few = replace(Limits(), connections=3)
    place, works = a_place(limits=few), Works()
    with (
        served(place, served=[*endpoints(), works.endpoint]) as address,
        signed_in(place, address) as client,
        ThreadPoolExecutor() as clients,
    ):
        working = [clients.submit(client.post, "/api/work", json={}) for _ in range(2)]
        assert works.begun.acquire(timeout=30) and works.begun.acquire(timeout=30)
        assert client.get("/api/health").status_code == 503
        works.gate.set()
        assert [each.result().status_code for each in working] == [200, 200]
        assert client.get("/api/health").status_code == 200


def test_the_next_request_of_a_connection_comes_in_time_too():
    place = a_place(limits=IMPATIENT)
    with served(place) as address, signed_in(place, address) as client, connected(address) as slow:
        send(slow, client, "/api/health", "GET")
        assert slow.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        slow.sendall(b"GET /api/health")
        everything(slow)
        assert eventually(lambda: not address.state.connections)


def test_a_client_that_does_not_read_is_left_and_its_socket_closed():
    place, stopped, closed = a_place(limits=replace(Limits(), slow_reader=0.2)), threading.Event(), threading.Event()

    def events():
        try:
            for _ in range(400):
                yield "text", "x" * 100_000
            stopped.wait()
        finally:
            closed.set()

    endless = Endpoint("POST", "/api/texts", lambda place, request: Events(events(), stopped.set), response=Events)
    large = Endpoint("GET", "/api/large", lambda place, request: "x" * 20_000_000, response=str)
    with (
        served(place, served=[endless, large]) as address,
        signed_in(place, address) as client,
        connected(address) as stream,
        connected(address) as response,
    ):
        send(stream, client, "/api/texts")
        send(response, client, "/api/large", "GET")
        assert stopped.wait(30) and closed.wait(30)
        assert eventually(lambda: not address.state.connections), "the server holds no socket of who does not read"
        assert not everything(stream).endswith(b"\r\n0\r\n\r\n") and len(everything(response)) < 20_000_000


@contextmanager
def connected(address):
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as client:
        yield client


def send(connection, client, path, method="POST", head=(), body=b"{}"):
    """A request of a signed-in page, as bytes."""
    headers = {
        "host": client.base_url.netloc.decode(),
        "origin": client.headers["origin"],
        "cookie": client.headers["cookie"],
        **({"content-type": "application/json", "content-length": str(len(body))} if method == "POST" else {}),
        **dict(head),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + (body if method == "POST" else b""))


def everything(connection):
    """What comes until the other side has closed the connection, in whatever way."""
    received = b""
    with suppress(ConnectionError):
        while chunk := connection.recv(1 << 20):
            received += chunk
    return received
