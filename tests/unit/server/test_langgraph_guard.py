"""What LangGraph's server puts before its endpoints refuses foreign hosts and pages, and langgraph.json is closed."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

CONFIG = json.loads((Path(__file__).parents[3] / "langgraph.json").read_text())


@pytest.fixture
def ask(monkeypatch):
    """The status of a request to the app that langgraph.json names, with these origins allowed; 404 is let through."""

    def status(headers, allowed=()):
        monkeypatch.setenv("LANGGRAPH_HTTP", json.dumps({"cors": {"allow_origins": [*allowed]}}))
        module, _, name = CONFIG["http"]["app"].partition(":")
        app = getattr(importlib.import_module(module), name)
        app.middleware_stack = None  # built by the first request, as when the server starts
        return TestClient(app, base_url="http://127.0.0.1:2024").post("/runs", headers=headers).status_code

    return status


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 404),
        ({"host": "localhost:2024"}, 404),
        ({"host": "evil.test"}, 400),
        ({"origin": "http://127.0.0.1:2024"}, 404),
        ({"origin": "https://evil.test"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
    ],
)
def test_only_loopback_and_no_page_of_another_origin(ask, headers, status):
    assert ask(headers) == status


def test_an_origin_that_cors_lists_may_ask_and_a_star_lists_none(ask):
    assert ask({"origin": "http://localhost:3000"}, ["http://localhost:3000"]) == 404
    assert ask({"origin": "http://localhost:3000"}, ["*"]) == 403


def test_the_file_lists_no_origin_and_switches_calls_to_others_off():
    assert CONFIG["http"]["cors"] == {"allow_origins": []}
    off = {name: value for name, value in CONFIG["env"].items() if value not in ("", "false")}
    assert off == {"LANGGRAPH_NO_VERSION_CHECK": "true"}
    assert {"LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_API_KEY"} <= CONFIG["env"].keys()
