"""Test that nothing leaves this machine: the main job under a socket guard, and without a route.

Without Ollama no socket is opened at all; with it, only to the one scripted server on loopback.
"""

import os
import subprocess
import sys

import pytest
from support import TESTS
from support.processes import NO_ROUTE, namespaces

from local_rag.cli.app import run
from local_rag.diagnostics.recorded import TO_ADDRESS

pytestmark = pytest.mark.usefixtures("converted")

EVENTS = f"events = {sorted(TO_ADDRESS | {'socket.getaddrinfo', 'socket.gethostbyname'})}\n"
"""The first line of a program: the audit events of a process that contacts somebody, by address or by name."""

MAIN_JOB = """
import io, os, sys
notes, tests = sys.argv[1:]
calls, allowed = [], None
def guard(event, arguments):
    if event in events:
        asked = tuple(arguments[:2]) if event.startswith("socket.get") else arguments[1]
        if allowed and asked == allowed:
            return
        calls.append((event, str(asked)))
        raise OSError("called out")
sys.addaudithook(guard)

from local_rag.cli.app import run
cases = os.path.join(os.path.dirname(notes), "cases.jsonl")
CASES = '''{"question": "What does the greenhouse cost?", "answers": ["4,200 euros"], "relevant": ["plan.md"]}
{"question": "Who won the cup final in 1998?", "answerable": false, "route": "web_search"}
'''

def ask_and_evaluate():
    for graph in ("plain", "self-rag", "crag", "adaptive"):
        assert run(["ask", "What does the greenhouse cost?", "--graph", graph]) == 0, graph
    assert run(["ask", "Who won the cup final in 1998?", "--graph", "adaptive"]) in (3, 4)
    sys.stdin = io.StringIO("What does the greenhouse cost?\\nAnd the fence?\\n/sources\\n/threads\\n")
    assert run(["chat", "--thread", "garden"]) == 0
    assert run(["ask", "And when was it paid for?", "--thread", "garden"]) in (0, 3, 4)
    assert run(["threads", "delete", "garden"]) == 0
    assert run(["doctor"]) == 0
    with open(cases, "w") as out:
        out.write(CASES)
    assert run(["eval", "make", cases, "--yes", "--count", "2", "--unanswerable", "1"]) == 0
    os.environ["LOCAL_RAG_WEB_ENABLED"] = "on"
    assert run(["eval", cases, "--graph", "adaptive", "--graph", "crag"]) == 0
    del os.environ["LOCAL_RAG_WEB_ENABLED"]

assert run(["index", notes]) == 0
ask_and_evaluate()
assert run(["ask", "What does the greenhouse cost?", "--thread", "garden"]) == 0
for command in (["list"], ["show", "garden"], ["export", "garden"]):
    assert run(["threads", *command]) == 0, command
assert run(["search", "greenhouse"]) == 0
assert not calls, calls

sys.path.insert(0, tests)
from support.ollama_mind import mind
from support.ollama_server import Model, OllamaServer
with OllamaServer() as server:
    server.models["qwen3:4b-instruct"] = Model()
    server.always = mind
    os.environ["OLLAMA_HOST"] = server.host
    os.environ["LOCAL_RAG_PROFILE"] = "16gb"
    allowed = ("127.0.0.1", int(server.host.rpartition(":")[2]))
    ask_and_evaluate()
    assert len(server.chats) > 10, "the model was asked"
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
    "OLLAMA_HOST": "http://models.test:11434",
    "HTTP_PROXY": "http://proxy.test:3128",
    "HTTPS_PROXY": "http://proxy.test:3128",
    "ALL_PROXY": "socks5://proxy.test:1080",
    "DDGS_PROXY": "http://proxy.test:3128",
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


def shown(program, *arguments, env, before=()):
    """Return stdout of a program that ends well, and its stderr."""
    command = [*before, sys.executable, "-W", "error", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_main_job_opens_no_socket_to_elsewhere_whatever_the_environment_says(notes):
    """Run without a route if the system allows it, so that sockets opened past Python fail too."""
    unplugged = NO_ROUTE if namespaces() else ()
    stdout, _ = shown(EVENTS + MAIN_JOB, notes, TESTS, env=os.environ | HOSTILE, before=unplugged)
    assert stdout.endswith("NOTHING LEFT\n")


TRACED = """
import http.server, sys, threading
got = []
class Trace(http.server.BaseHTTPRequestHandler):
    def answer(self):
        got.append((self.path, self.rfile.read(int(self.headers.get("Content-Length") or 0))))
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
    do_GET = do_POST = do_PATCH = answer
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Trace)
threading.Thread(target=server.serve_forever, daemon=True).start()
import os
os.environ["LANGSMITH_ENDPOINT"] = os.environ["LANGCHAIN_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"
os.environ["NO_PROXY"] = "127.0.0.1"

import asyncio
from local_rag import Rag
from local_rag.cli.app import run
from langchain_core.tracers.langchain import wait_for_all_tracers
notes, = sys.argv[1:]
assert run(["index", notes]) == 0
inputs = {"question": "What does the greenhouse cost?"}
with Rag.open() as rag:
    for graph in ("plain", "self-rag", "crag", "adaptive"):
        assert "4,200" in rag.ask(**inputs, graph=graph, thread="garden").text
    assert "4,200" in rag.as_tool().invoke(inputs)
    asyncio.run(rag.index.as_retriever().ainvoke("greenhouse"))
    assert rag.index.as_retriever().invoke("greenhouse")
wait_for_all_tracers()
sent = [path for path, body in got if b"greenhouse" in body or "runs" in path]
assert not sent, sent

from langchain_core.runnables import RunnableLambda
RunnableLambda(lambda word: word).invoke("a run of the host program")
wait_for_all_tracers()
import time
for _ in range(100):
    if any(b"host program" in body for _, body in got): break
    time.sleep(0.05)
else:
    raise AssertionError("the tracing of the host program itself must go on")
print("NOTHING LEFT")
"""


def test_tracing_variables_send_nothing_from_questions_and_retrievers(notes):
    environment = {name: value for name, value in (os.environ | HOSTILE).items() if "PROXY" not in name}
    stdout, _ = shown(TRACED, notes, env=environment)
    assert stdout.endswith("NOTHING LEFT\n")


LIBRARY = """
import gc, os, sys
calls = []
def guard(event, arguments):
    if event in events:
        calls.append((event, str(arguments[1:])))
        raise OSError("called out")
sys.addaudithook(guard)
environment, garbage = dict(os.environ), gc.get_threshold()

def unchanged(modules):
    assert dict(os.environ) == environment
    assert gc.get_threshold() == garbage and gc.isenabled()
    assert {name: sys.modules.get(name) for name in modules} == modules
    assert None not in sys.modules.values(), "every module can be imported"

modules = dict(sys.modules)
from local_rag import Rag
unchanged(modules)
modules = dict(sys.modules)
with Rag.open() as rag:
    unchanged(modules)
    modules = dict(sys.modules)
    for graph in ("plain", "self-rag", "crag", "adaptive"):
        assert "4,200" in rag.ask("What does the greenhouse cost?", graph=graph).text
    unchanged(modules)
    in_process = type(rag.embedder)(rag.embedder.spec)
    assert in_process.fingerprint and len(in_process.token_ends("two words " * 500)) == 1000
    assert "torch" not in sys.modules and "transformers" not in sys.modules
    assert in_process.embed_queries(["greenhouse"]).shape == (1, 384), "without a cache PyTorch computes here"
own = {name: os.environ[name] for name in os.environ.keys() - environment.keys()}
assert all(name.startswith(("KMP_", "TORCH")) for name in own), f"what PyTorch and others set: {own}"
environment |= own
unchanged(modules)
from local_rag.engines.ollama.server import ollama
ollama()
from langchain_ollama import ChatOllama
import openvino
assert openvino.convert_model, "of a library that others may use nothing is missing"
unchanged(modules)
assert not calls, calls
print("NOTHING CHANGED")
"""


def test_a_program_that_uses_the_library_stays_as_it_is_and_nothing_leaves_it(notes):
    assert run(["index", str(notes)]) == 0
    assert shown(EVENTS + LIBRARY, env=os.environ | HOSTILE) == ("NOTHING CHANGED\n", "")
