"""The API as an OpenAPI 3.1 document, made from the endpoints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from local_rag.core.errors import LocalRagError
from local_rag.server.endpoints import FROM_GUARD, Endpoint, File, SignedIn
from local_rag.server.errors import STATUS
from local_rag.server.sse import Events

REFERENCE = "#/components/schemas/{model}"
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint"],
            "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
        }
    },
}
SIGNED_IN = {"type": "object", "properties": {"signed_in": {"type": "boolean"}}}


def document(endpoints: Sequence[Endpoint] | None = None) -> dict[str, Any]:
    """The document of these endpoints, by default of all below /api."""
    if endpoints is None:
        from local_rag.server.app import endpoints as every

        endpoints = every()
    schemas: dict[str, Any] = {"Error": ERROR}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        if endpoint.path.startswith("/api/"):
            path = re.sub(r"{(\w+):\w+}", r"{\1}", endpoint.path)
            paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "local-rag", "version": "1", "description": "The API of `local-rag serve`."},
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "local-rag-PORT"},
            },
        },
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    ways = {"both": ("key", "session"), "session": ("session",)}.get(endpoint.access, ())
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "security": [{way: []} for way in ways],
        "responses": {"200": _response(endpoint, schemas), "default": _errors()},
    }
    operation |= _parameters(endpoint, schemas)
    return operation


def _parameters(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    """Path parameters, and the query string or the body."""
    schema = _schema(endpoint.request, schemas, "validation")
    required = set(schema.get("required", ()))
    fields = {name: about for name, about in schema.get("properties", {}).items() if name not in FROM_GUARD}
    in_path = re.findall(r"{(\w+)", endpoint.path)
    parameters = [
        {"name": name, "in": "path" if name in in_path else "query", "required": name in required, "schema": about}
        for name, about in fields.items()
        if name in in_path or endpoint.method == "GET"
    ]
    made: dict[str, Any] = {"parameters": parameters} if parameters else {}
    body = {name: about for name, about in fields.items() if name not in in_path}
    if endpoint.method == "POST":
        inner = {"type": "object", "properties": body, "additionalProperties": False}
        if wanted := sorted(required & set(body)):
            inner["required"] = wanted
        made["requestBody"] = {"required": bool(wanted), "content": {"application/json": {"schema": inner}}}
    return made


def _response(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    kind = endpoint.response
    if kind is Events:
        return {
            "description": "events as they happen: " + ", ".join([*endpoint.events, "error"]),
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
            "x-events": {name: _schema(value, schemas, "serialization") for name, value in endpoint.events.items()},
        }
    if kind is File:
        return {"description": "a file", "content": {"*/*": {}}}
    schema = SIGNED_IN if kind is SignedIn else _schema(kind, schemas, "serialization")
    return {"description": "what was asked for", "content": {"application/json": {"schema": schema}}}


def _errors() -> dict[str, Any]:
    reference = {"$ref": REFERENCE.format(model="Error")}
    return {"description": "an error", "content": {"application/json": {"schema": reference}}}


def _schema(kind: Any, schemas: dict[str, Any], mode: Any) -> dict[str, Any]:
    """The JSON schema of a type; what it refers to is added to `schemas`."""
    if kind is None or kind is dict or isinstance(kind, Mapping):
        return {"type": "object"}
    schema = TypeAdapter(kind).json_schema(mode=mode, ref_template=REFERENCE)
    for name, about in schema.pop("$defs", {}).items():
        if schemas.setdefault(name, about) != about:
            raise ValueError(f"two types of the API are called {name}")
    return schema


def error_codes() -> list[tuple[str, int, str]]:
    """(code, status, meaning) of each error that the packages below the server raise."""
    tree = inspect.getdoc(inspect.getmodule(LocalRagError)) or ""
    meaning = {name: text for name, text in re.findall(r"(\w+) +(?:exit \d+|-) +(.+)", tree)}
    return [(code, status, meaning.get(kind.__name__, "")) for kind, (code, status) in STATUS.items()]
