"""Test `local-rag serve` as a process: its address, its end, a kill, what it writes, and without a network."""

import signal
import subprocess
import sys

import httpx
import pytest
from support import TESTS
from support.browser import Browser
from support.garden import notes_in
from support.marks import posix
from support.processes import NO_ROUTE, free_port, namespaces, serving

from local_rag.cli.app import run

pytestmark = posix  # Windows has no SIGINT for one process

UNPLUGGED = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import local_rag
from support.browser import Browser
from support.processes import free_port, serving
views = sorted(path.stem for path in (Path(local_rag.__file__).parent / "server/page/views").glob("*.js"))
with serving("--port", str(free_port())) as server, Browser.open() as browser, browser.tab(server.printed) as tab:
    tab.ask("What does the greenhouse cost?")
    tab.see("Quoted from your files")
    for view in views:
        if view != "file":
            tab.page.goto(f"{server.base}/#/{view}")
            tab.page.locator("main h1").first.wait_for()
print("all of it")
"""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_one_address_until_ctrl_c_which_waits_for_no_open_stream(by, home):
    port = free_port()
    with serving("--port", str(port)) as server:
        assert server.base == f"http://127.0.0.1:{port}"
        with server.page() as page:
            assert page.get("/api/health").json()["status"] == "ok"
            assert "<script" in page.get("/").text
            assert httpx.get(f"http://localhost:{port}/", timeout=60).status_code == 200
            page.get("/api/threads", params={"secret": "my question"})
            page.post("/api/ask", json={"question": "my secret question", "index": "none"})
            with page.stream("POST", "/api/ask", json={"question": "What is this about?"}) as stream:
                next(stream.iter_lines())
                code, shown = server.ended(by)
    assert code == 0 and shown.rstrip().endswith("stopped")
    assert "Only programs of this machine can reach it" in shown
    assert "secret" not in shown and server.code not in shown and "Traceback" not in shown
    assert [path.name for path in (home / "data" / "server").iterdir()] == ["key"]


def test_the_address_and_the_key_are_printed_again_and_paths_shown_from_home(home, monkeypatch, converted, capsys):
    def printed(option, code=0):
        capsys.readouterr()
        assert run(["serve", option]) == code
        return "".join(capsys.readouterr()).strip()

    assert printed("--print-url", 1) == "error: no server of local-rag runs\nhint: local-rag serve"
    assert run(["index", str(notes_in(home))]) == 0
    (home / "notes/letters/notes").mkdir()
    (home / "notes/letters/notes/plan.md").touch()  # where the server is started a name means another file
    monkeypatch.chdir(home / "notes/letters")
    with serving("--port", str(free_port())) as server:
        again = printed("--print-url")
        assert again.startswith(f"{server.base}/?code=") and again != server.printed, "each signs in once"
        key = {"authorization": f"Bearer {printed('--print-key')}"}
        index, files = (httpx.get(f"{server.base}/api/{what}", headers=key).json() for what in ("index", "files"))
        assert [root["label"] for root in index["roots"]] == ["~/notes"]
        assert [file["label"] for file in files["files"]] == ["notes/letters/tenant.txt", "notes/plan.md"]
        assert server.ended()[0] == 0
    assert key["authorization"] == f"Bearer {printed('--print-key')}"


@pytest.mark.namespace
@pytest.mark.skipif(not namespaces(), reason="this system lets nobody make a network namespace")
def test_the_page_works_without_a_network(home, converted):
    """Run the server and a real browser in a network namespace with loopback only."""
    assert Browser.path()
    assert run(["index", str(notes_in(home))]) == 0
    command = [*NO_ROUTE, sys.executable, "-c", UNPLUGGED, str(TESTS)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert shown.stdout.endswith("all of it\n"), shown.stderr
