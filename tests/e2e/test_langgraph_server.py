"""Run LangGraph's own server on `langgraph.json`, if it is installed, in a namespace without a route.

`langgraph` is found on PATH, or where the variable LANGGRAPH says: pip install "langgraph-cli[inmem]".
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import langgraph_client
from support.processes import NO_ROUTE, free_port, namespaces

LANGGRAPH = os.environ.get("LANGGRAPH") or shutil.which("langgraph")
ROOT = Path(__file__).parents[2]
NOTES = "# Lease\n\nThe lease of the flat ends on 31 March 2027.\n\nIts notice period is three months.\n"
HOSTILE = {
    **dict.fromkeys(("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"), "true"),
    **dict.fromkeys(("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", "LANGGRAPH_CLOUD_LICENSE_KEY"), "lsv2_not_a_key"),
    **dict.fromkeys(("LANGSMITH_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"), "https://trace.test"),
    "LANGGRAPH_NO_VERSION_CHECK": "false",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",  # as the documented command has it: no file can say so
}
WATCH = """
import os, sys
def watch(event, arguments):
    if event in ("socket.getaddrinfo", "socket.connect", "socket.sendto", "socket.sendmsg"):
        with open(os.environ["CALLED"], "a") as out:
            print(event, arguments[event != "socket.getaddrinfo":], file=out)
sys.addaudithook(watch)
"""

pytestmark = [
    pytest.mark.namespace,
    pytest.mark.skipif(not LANGGRAPH, reason='LangGraph\'s server is not here: pip install "langgraph-cli[inmem]"'),
    pytest.mark.skipif(not namespaces(), reason="this system lets nobody make a network namespace"),
]


@pytest.fixture(scope="module")
def came(tmp_path_factory, converted):
    """Return the result of each run, and whom the server `called`."""
    folder = tmp_path_factory.mktemp("langgraph")
    (folder / "notes.md").write_text(NOTES)
    (folder / "sitecustomize.py").write_text(WATCH)
    env = os.environ | HOSTILE | {"LOCAL_RAG_DATA_DIR": str(folder / "data"), "CALLED": str(folder / "called")}
    env |= {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    index = [sys.executable, "-m", "local_rag", "index", str(folder / "notes.md")]
    subprocess.run(index, env=env, check=True, capture_output=True)
    program = [sys.executable, langgraph_client.__file__, LANGGRAPH, str(ROOT / "langgraph.json"), str(free_port())]
    done = subprocess.run([*NO_ROUTE, *program], env=env, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr + (folder / "server.log").read_text()[-8_000:]
    return json.loads(done.stdout) | {"called": (folder / "called").read_text().splitlines()}


@pytest.mark.parametrize("graph", ["plain", "self-rag", "crag", "adaptive", "chat"])
def test_each_graph_streams_keeps_a_thread_and_asks_before_the_web(came, graph):
    run, is_chat = came[graph], graph == "chat"
    assert {"messages", "updates"} <= {*run["events"]}
    answer = run["state"]["messages"][-1] if is_chat else run["state"]
    assert "31 March 2027" in answer["content" if is_chat else "generation"]
    assert (answer["additional_kwargs"] if is_chat else answer)["citations"]
    first, then = run["waited"]
    assert ("__interrupt__" in first) == (graph in ("crag", "adaptive", "chat"))
    assert "__interrupt__" not in then and "cup final" in json.dumps(first)


def test_no_page_and_no_host_of_others_gets_through_and_nobody_else_is_called(came):
    assert (came["host"], came["page"]) == (400, 403)
    assert came["called"], "it is watched"
    assert not [call for call in came["called"] if not any(own in call for own in ("'127.0.0.1'", "'localhost'"))]
