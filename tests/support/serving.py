"""A server of local-rag in this process: over ASGI, and over uvicorn on loopback."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

import httpx
import uvicorn

from local_rag.config.settings import Settings
from local_rag.server.app import application
from local_rag.server.place import Place
from local_rag.server.serving import configured
from local_rag.server.sessions import Sessions, new_token, read_key

HOST = "127.0.0.1:8321"
PAGE = {"host": HOST, "origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}


def a_place(port=8321, password="", **about):
    """A place of the settings in force, with a session service."""
    settings = about.pop("settings", None) or Settings.load()
    return Place(settings, Sessions(settings.data_folder, port, password), **about)


class Client:
    """Asks an application over ASGI, as a signed-in page does, or with `who="key"` as a program, or as nobody ("")."""

    def __init__(self, place, who="cookie", **options):
        self.place, self.app = place, application(place, **options)
        self.headers = {"host": HOST}
        if who == "cookie":
            session = place.sessions.start(new_token(place.settings.data_folder, place.sessions.port))
            self.headers = PAGE | {"cookie": f"{place.sessions.cookie}={session}"}
        elif who == "key":
            self.headers |= {"authorization": f"Bearer {read_key(place.settings.data_folder)}"}

    def get(self, path, headers=None, **options):
        return self.request("GET", path, headers, **options)

    def post(self, path, body=None, headers=None, **options):
        sent = {} if "content" in options else {"json": {} if body is None else body}
        return self.request("POST", path, headers, **sent, **options)

    def request(self, method, path, headers=None, **options):
        """The response, whole: also that of a stream, which must end by itself."""
        sent = {name: value for name, value in (self.headers | (headers or {})).items() if value is not None}

        async def ask():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
                return await client.request(method, path, headers=sent, **options)

        return asyncio.run(ask())


def events_of(text):
    """[(name, value)] of what a stream sent; heartbeats are left out."""
    import json

    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    return [
        (block.split("\n")[0].removeprefix("event: "), json.loads(block.split("\n", 1)[1].removeprefix("data: ")))
        for block in blocks
    ]


class Served(str):
    """The address of a server that runs here. `state` has the connections and the tasks of uvicorn."""

    state: uvicorn.server.ServerState


@contextmanager
def served(place, **options):
    """An application over uvicorn on a free port of loopback: its address. Sign in by `signed_in`."""
    config = configured(application(place, **options), place.limits)
    config.port = 0
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="served")
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
        address = Served(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
        address.state = server.server_state
        yield address
    finally:
        server.should_exit = True
        thread.join()


def signed_in(place, address):
    """A client of HTTP with a session, as a page has one."""
    host = address.removeprefix("http://")
    session = place.sessions.start(new_token(place.settings.data_folder, place.sessions.port))
    headers = {"origin": f"http://{host}", "cookie": f"{place.sessions.cookie}={session}"}
    return httpx.Client(base_url=address, headers=headers, timeout=60)
