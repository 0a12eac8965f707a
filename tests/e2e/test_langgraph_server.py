"""LangGraph's own server on `langgraph.json`, where somebody installed it, in a namespace without a route.

`langgraph` is found on PATH, or where the variable LANGGRAPH says: pip install "langgraph-cli[inmem]".
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import langgraph_client
from support.processes import NO_ROUTE, free_port, namespaces

from local_rag.diagnostics.network import is_loopback

LANGGRAPH = os.environ.get("LANGGRAPH") or shutil.which("langgraph")
ROOT = Path(__file__).parents[2]

HOSTILE = {
    **dict.fromkeys(("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"), "true"),
    **dict.fromkeys(("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", "LANGGRAPH_CLOUD_LICENSE_KEY"), "lsv2_not_a_key"),
    **dict.fromkeys(("LANGSMITH_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"), "https://trace.test"),
    "LANGGRAPH_NO_VERSION_CHECK": "false",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",  # as the documented command has it: no file can say so
}

WATCH = """
import os, sys
def watch(event, arguments):
    if event in ("socket.getaddrinfo", "socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        host = address[0] if isinstance(address, tuple) else address
        with open(os.environ["CALLED"], "a") as out:
            print(host.decode() if isinstance(host, bytes) else host or "", file=out)
sys.addaudithook(watch)
"""

NOTES = "# Lease\n\nThe lease of the flat ends on 31 March 2027.\n\nIts notice period is three months.\n"

pytestmark = [
    pytest.mark.namespace,
    pytest.mark.skipif(not LANGGRAPH, reason='LangGraph\'s server is not here: pip install "langgraph-cli[inmem]"'),
    pytest.mark.skipif(not namespaces(), reason="this system lets nobody make a network namespace"),
]


@pytest.fixture(scope="module")
def came(tmp_path_factory, converted):
    """What came of each run, and whom the server called."""
    folder = tmp_path_factory.mktemp("langgraph")
    (folder / "notes").mkdir()
    text = (
        "# Lease\n\nThe lease of the flat ends on 31 March 2027.\n\nThe notice period of the lease is three months.\n"
    )
    (folder / "notes" / "lease.md").write_text(text)
    (folder / "sitecustomize.py").write_text(WATCH)
    env = os.environ | HOSTILE | {"LOCAL_RAG_DATA_DIR": str(folder / "data"), "CALLED": str(folder / "called")}
    env |= {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    index = [sys.executable, "-m", "local_rag", "index", str(folder / "notes")]
    subprocess.run(index, env=env, check=True, capture_output=True)
    program = [sys.executable, langgraph_client.__file__, LANGGRAPH, str(ROOT / "langgraph.json"), str(free_port())]
    done = subprocess.run([*NO_ROUTE, *program], env=env, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr + (folder / "server.log").read_text()[-8_000:]
    return json.loads(done.stdout) | {"called": set((folder / "called").read_text().splitlines())}


def test_the_graphs_are_listed_with_their_nodes_and_the_schemas_of_their_forms(came):
    assert came["nodes"].keys() == {"plain", "self-rag", "crag", "adaptive", "chat"}
    assert "grade_documents" in came["nodes"]["crag"]
    for name, schemas in came["schemas"].items():
        asked = "messages" if name == "chat" else "question"
        assert asked in schemas["input_schema"]["properties"] and schemas["output_schema"]["properties"]
        assert {"index", "k", "within", "options"} <= schemas["context_schema"]["properties"].keys()


def test_only_this_machine_and_no_page_of_another_site_may_ask(came):
    assert came["codes"] == {"host": 400, "origin": 403, "own": 200}
    assert not [name for name in came["cors"] if name.startswith("access-control")]


@pytest.mark.parametrize("graph", ["plain", "self-rag", "crag", "adaptive"])
def test_each_graph_streams_and_its_thread_has_the_answer(came, graph):
    run = came["streams"][graph]
    assert {"custom", "messages", "updates"} <= {*run["events"]}, run
    assert "31 March 2027" in run["generation"]
    assert [citation["quote"] for citation in run["citations"]] == ["The lease of the flat ends on 31 March 2027."]


@pytest.mark.parametrize("graph", ["crag", "adaptive", "chat"])
def test_a_run_is_interrupted_before_the_web_and_goes_on_with_an_answer(came, graph):
    first, then = came["interrupted"][graph]
    assert "cup final" in first["__interrupt__"][0]["value"]["query"], first
    said = then["messages"][-1]["additional_kwargs"] if graph == "chat" else then
    assert said["status"] == "abstained" and "__interrupt__" not in then


def test_a_chat_has_messages_in_and_out_with_sources(came):
    *_, first, question, answer = came["chat"]["messages"]
    assert question["content"] == "And how long is its notice period?"
    assert "three months" in answer["content"] and "lease.md" in answer["content"]
    assert answer["additional_kwargs"]["citations"][0]["quote"] in answer["content"]
    assert "31 March 2027" in first["content"]


def test_an_error_says_what_to_type(came):
    assert "there is no index at" in came["error"]["__error__"]["message"]


def test_nobody_else_is_called_whatever_the_shell_says(came):
    assert "127.0.0.1" in came["called"], "it is watched"
    assert not [host for host in came["called"] if not is_loopback(host)]
