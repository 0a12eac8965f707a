"""docs/openapi.json and docs/api.md say what the server answers."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import httpx
from support.serving import Client, a_place

from local_rag.server.app import endpoints

DOCS = Path(__file__).parents[3] / "docs"


def test_the_document_is_that_of_the_endpoints():
    path = DOCS.parent / "scripts" / "update_docs.py"
    spec = importlib.util.spec_from_file_location("update_docs", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert (DOCS / "openapi.json").read_text(encoding="utf-8") == script.openapi_text(), (
        "run: python scripts/update_docs.py"
    )


def test_the_server_gives_it():
    answered = Client(a_place()).get("/api/openapi.json")
    assert isinstance(answered, httpx.Response)
    assert answered.json() == json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))


def test_it_has_every_endpoint_and_whoever_may_ask():
    document = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    documented = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    plain = {(each.method, each.path.replace(":path", "")) for each in endpoints() if each.path.startswith("/api/")}
    assert documented == plain
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            assert about["summary"], (method, path)
            assert all(set(way) <= {"key", "session"} for way in about["security"])


def test_references_lead_somewhere():
    text = (DOCS / "openapi.json").read_text(encoding="utf-8")
    document = json.loads(text)
    for reference in set(part.split('"')[0] for part in text.split('"$ref": "')[1:]):
        assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"], reference
