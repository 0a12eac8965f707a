"""Run a server of local-rag in this process, on loopback, and clients that ask it."""

import asyncio
import json
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import uvicorn.server

from local_rag.config.settings import Settings
from local_rag.core.progress import Silent
from local_rag.core.serialization import to_plain
from local_rag.runtime.indexing import Request, index_files
from local_rag.server import evaluation, index, work
from local_rag.server.auth import SECRET, Access, new_code
from local_rag.server.serving import PageServer
from local_rag.server.workspace import Workspace

uvicorn.server.asyncio = SimpleNamespace(**vars(asyncio) | {"sleep": lambda seconds: asyncio.sleep(seconds / 10)})
"""uvicorn looks every 0.1 seconds whether it is to end, and waits as long at its end: here a tenth of it."""


def a_workspace(**about):
    """Return the workspace of the settings in force, in which nothing is open yet."""
    settings = about.pop("settings", None) or Settings.load()
    return Workspace(settings, Access(settings.data_folder, 8321), **about)


def signing_in(workspace, address):
    """The address that signs a browser in at a server, once."""
    return f"{address}/?code={new_code(workspace.access.key)}"


class Served(str):
    """Hold the address of a server that runs here; `state` has the connections and the tasks of uvicorn."""


@contextmanager
def served(workspace):
    """Run the application on a free port of loopback, give its address, and close the workspace at the end."""
    server = PageServer(workspace)
    server.config.port = 0
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
        workspace.close()


def index_here(*folders, **flags):
    """Index folders in this process, as somebody does at a terminal; without one bring the index up to date."""
    index_files(Settings.load(**flags), Request(folders), Silent())


def work_here(patched):
    """Do the long work of a page in this process and without progress, because a process of its own costs seconds."""

    def worked(job, what, settings, told=None, **more):
        yield "begun", {"id": job.id, **job.about}
        return to_plain(work.WORK[what](Settings.load(**settings), to_plain(more), Silent()))

    for module in (index, evaluation, work):
        patched.setattr(module, "worked", worked)


class Client(httpx.Client):
    """Ask as a signed-in page, with `who="key"` as a program, or as nobody (""); a POST has a JSON body."""

    def __init__(self, workspace, address, who="cookie"):
        access = workspace.access
        headers = {
            "cookie": {"cookie": f"{access.cookie}={access.session}", SECRET: access.secret, "origin": address},
            "key": {"authorization": f"Bearer {access.key}"},
            "": {},
        }[who]
        super().__init__(base_url=address, headers=headers, timeout=120, verify=False)  # no certificates are loaded
        self.workspace = workspace

    def post(self, path, body=None, **options):
        return super().post(path, json={} if body is None else body, **options)

    def got(self, path, status=200, **params):
        """Return the reply to a GET, or its error if another status is expected."""
        return said(self.get(path, params=params or None), status)

    def posted(self, path, body=None, status=200):
        """Return the reply to a POST, or its error if another status is expected."""
        return said(self.post(path, body), status)

    def ran(self, path, body=None):
        """Return the events of what a POST begins, to its end."""
        response = self.post(path, body)
        assert response.status_code == 200, response.text
        return events_of(response.text)


def said(response, status):
    assert response.status_code == status, response.text
    return response.json() if status == 200 else response.json()["error"]


@contextmanager
def asking(workspace, who="cookie"):
    """Give a client of a server of this workspace."""
    with served(workspace) as address, Client(workspace, address, who) as client:
        yield client


def events_of(text):
    """Return [(name, value)] of the events of a stream, without heartbeats."""
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    return [
        (block.split("\n")[0].removeprefix("event: "), json.loads(block.split("\n", 1)[1].removeprefix("data: ")))
        for block in blocks
    ]


def error_of(response):
    """Return the status and code of a refusal."""
    return response.status_code, response.json()["error"]["code"]


def marked(spread):
    """Return the texts that are marked at the place of a quote."""
    return [text_of(mark["c"]) for mark in every_node(spread["blocks"]) if mark["t"] == "mark"]


def every_node(nodes):
    """Yield the nodes of a tree with all below them."""
    for node in nodes:
        yield from (node, *every_node(node.get("c", ())))


def text_of(nodes):
    """Return the text of a tree."""
    return "".join("\n" if node["t"] == "br" else node.get("s", "") for node in every_node(nodes))
