"""Nothing leaves this machine: the main job under a socket guard, and in a network namespace without a route."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

MAIN_JOB = """
import sys
calls = []
def guard(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        calls.append((event, str(arguments[1:] if event.startswith("socket.conn") else arguments)))
        raise OSError("called out")
sys.addaudithook(guard)

from local_rag.cli import run
notes, = sys.argv[1:]
assert run(["index", notes]) == 0
for graph in ("plain", "self-rag", "crag", "adaptive"):
    assert run(["ask", "What does the greenhouse cost?", "--graph", graph]) == 0, graph
    assert run(["ask", "Who won the cup final in 1998?", "--graph", graph]) in (3, 4), graph
assert run(["search", "greenhouse"]) == 0
assert run(["doctor"]) == 0
assert run(["demo"]) == 0
assert not calls, calls
native = {"ddgs", "primp", "hf_xet"} & set(sys.modules)
assert not native, native
print("NOTHING LEFT")
"""

HOSTILE = {
    "LANGSMITH_TRACING": "true",
    "LANGSMITH_API_KEY": "not-a-key",
    "LANGSMITH_ENDPOINT": "https://trace.test",
    "LANGCHAIN_TRACING_V2": "true",
    "LANGCHAIN_API_KEY": "not-a-key",
    "HTTP_PROXY": "http://proxy.test:3128",
    "HTTPS_PROXY": "http://proxy.test:3128",
    "ALL_PROXY": "socks5://proxy.test:1080",
    "HF_ENDPOINT": "https://models.test",
    "HF_HUB_OFFLINE": "0",
    "TRANSFORMERS_OFFLINE": "0",
}


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "plan.md").write_text("# Plan\n\nThe greenhouse costs 4,200 euros. The fence was paid for in 2023.\n")
    return folder


def main_job(notes, *before):
    command = [*before, sys.executable, "-W", "error", "-c", MAIN_JOB, str(notes)]
    return subprocess.run(command, env=os.environ | HOSTILE, capture_output=True, text=True, timeout=180)


def test_the_main_job_opens_no_socket_whatever_the_environment_says(notes):
    done = main_job(notes)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("NOTHING LEFT\n")


def namespaces():
    if not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0


@pytest.mark.namespace
@pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces (unshare -rn)")
def test_the_main_job_works_where_there_is_no_route(notes):
    done = main_job(notes, "unshare", "-rn")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("NOTHING LEFT\n")
