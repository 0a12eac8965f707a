"""A program: starts LangGraph's server and asks each graph over its HTTP API; prints what came as JSON.

It runs beside the server in a network namespace, so it imports nothing of the tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx

LEASE, CUP = "When does the lease end?", "Who won the cup final in 1998?"
CONSENT = {"options": {"web.enabled": "on"}, "graph": "crag"}


def main(langgraph, config, port):
    command = [langgraph, "dev", "--no-browser", "--no-reload", "--port", port, "--config", config]
    with (
        Path("server.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as server,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client,
    ):
        try:
            while not is_ready(client):
                assert server.poll() is None, "the server has ended"
                time.sleep(0.1)
            json.dump(everything(client), sys.stdout)
        finally:
            server.terminate()


def is_ready(client):
    with suppress(httpx.HTTPError):
        return client.get("/ok").status_code == 200


def everything(client):
    graphs = {each["graph_id"]: each["assistant_id"] for each in client.post("/assistants/search", json={}).json()}
    headers = {"host": {"host": "evil.test"}, "origin": {"origin": "https://evil.test"}, "own": {}}
    return {
        "schemas": {name: client.get(f"/assistants/{graphs[name]}/schemas").json() for name in graphs},
        "nodes": {name: nodes(client.get(f"/assistants/{graphs[name]}/graph").json()) for name in graphs},
        "codes": {name: client.post("/threads/search", json={}, headers=headers[name]).status_code for name in headers},
        "cors": dict(client.options("/threads", headers=headers["origin"]).headers),
        "streams": {name: streamed(client, name) for name in ("plain", "self-rag", "crag", "adaptive")},
        "interrupted": {name: interrupted(client, name) for name in ("crag", "adaptive", "chat")},
        "chat": chatted(client),
        "error": waited(client, "/runs/wait", "plain", input={"question": LEASE}, context={"index": "nowhere"}),
    }


def nodes(drawn):
    return [node["id"] for node in drawn["nodes"]]


def a_thread(client):
    return f"/threads/{client.post('/threads', json={}).json()['thread_id']}"


def waited(client, path, graph, **request):
    return client.post(path, json={"assistant_id": graph, **request}).json()


def streamed(client, graph):
    """The kinds of events of a run, and the state that its thread has then."""
    thread, modes = a_thread(client), ["updates", "custom", "messages-tuple"]
    request = {"assistant_id": graph, "input": {"question": LEASE}, "context": {"k": 2}, "stream_mode": modes}
    with client.stream("POST", f"{thread}/runs/stream", json=request) as response:
        events = {line.removeprefix("event: ") for line in response.iter_lines() if line.startswith("event: ")}
    return {"events": sorted(events), **client.get(f"{thread}/state").json()["values"]}


def interrupted(client, graph):
    """What a person is asked before the web, and what comes of a no."""
    path, message = f"{a_thread(client)}/runs/wait", {"role": "user", "content": CUP}
    asked = {"messages": [message]} if graph == "chat" else {"question": CUP}
    first = waited(client, path, graph, input=asked, context=CONSENT)
    return [first, waited(client, path, graph, command={"resume": "no"}, context=CONSENT)]


def chatted(client):
    path = f"{a_thread(client)}/runs/wait"
    for question in (LEASE, "And how long is its notice period?"):
        chat = waited(client, path, "chat", input={"messages": [{"role": "user", "content": question}]})
    return chat


if __name__ == "__main__":
    main(*sys.argv[1:])
