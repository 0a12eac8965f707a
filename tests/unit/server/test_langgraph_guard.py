"""What LangGraph's server puts before its endpoints refuses foreign hosts and pages, and langgraph.json is closed."""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from local_rag.server.langgraph_guard import app

CONFIG = json.loads((Path(__file__).parents[3] / "langgraph.json").read_text())
PAGE = "http://localhost:3000"


@pytest.mark.parametrize(
    "headers, allowed, status",
    [
        ({"host": "localhost:2024", "origin": "http://localhost:2024"}, [], 404),  # let through to where nothing is
        ({"host": "evil.test"}, [], 400),
        ({"origin": "null"}, ["*"], 403),
        ({"origin": PAGE}, [], 403),
        ({"origin": PAGE}, [PAGE], 404),
    ],
)
def test_only_loopback_and_pages_that_the_file_lists(monkeypatch, headers, allowed, status):
    monkeypatch.setenv("LANGGRAPH_HTTP", json.dumps({"cors": {"allow_origins": allowed}}))
    app.middleware_stack = None  # it is built by the first request, as when the server starts
    assert TestClient(app, base_url="http://127.0.0.1:2024").post("/runs", headers=headers).status_code == status


def test_the_file_lists_no_page_and_switches_calls_to_others_off():
    assert CONFIG["http"] == {"app": "local_rag.server.langgraph_guard:app", "cors": {"allow_origins": []}}
    off = {name: value for name, value in CONFIG["env"].items() if value not in ("", "false")}
    assert off == {"LANGGRAPH_NO_VERSION_CHECK": "true"}
    assert {"LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_API_KEY"} <= CONFIG["env"].keys()
