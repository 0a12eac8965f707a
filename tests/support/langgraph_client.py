"""Start LangGraph's server, ask each graph over its HTTP API, and print the results as JSON.

This program runs beside the server in a network namespace.
"""

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx

LEASE, CUP = "When does the lease end?", "Who won the cup final in 1998?"
FOREIGN = {"host": {"host": "evil.test"}, "page": {"origin": "https://evil.test"}}


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
            came = {each["graph_id"]: asked(client, each) for each in client.post("/assistants/search", json={}).json()}
            for name, headers in FOREIGN.items():
                came[name] = client.post("/threads/search", json={}, headers=headers).status_code
            json.dump(came, sys.stdout)
        finally:
            server.terminate()


def is_ready(client):
    with suppress(httpx.HTTPError):
        return client.get("/ok").status_code == 200


def given(question):
    """Return an input for every graph: each takes the keys that it knows."""
    return {"question": question, "messages": [{"role": "user", "content": question}]}


def asked(client, assistant):
    """Return a stream in a thread with its events and the state then, and an interrupted run after a no."""
    run = {"assistant_id": assistant["graph_id"], "context": {"options": {"web.enabled": "on"}, "graph": "crag"}}
    streamed, waited = (f"/threads/{client.post('/threads', json={}).json()['thread_id']}" for _ in range(2))
    modes = {"input": given(LEASE), "stream_mode": ["updates", "messages-tuple"]}
    with client.stream("POST", f"{streamed}/runs/stream", json=run | modes) as response:
        events = {line.removeprefix("event: ") for line in response.iter_lines() if line.startswith("event: ")}
    steps = {"input": given(CUP)}, {"command": {"resume": "no"}}
    return {
        "events": sorted(events),
        "state": client.get(f"{streamed}/state").json()["values"],
        "waited": [client.post(f"{waited}/runs/wait", json=run | step).json() for step in steps],
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
