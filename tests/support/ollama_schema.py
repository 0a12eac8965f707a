"""A minimal value of a JSON schema: what an obedient model answers."""

from __future__ import annotations

import re
from typing import Any


def instance(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """First alternative, least number, shortest list and string; `root` is where `$ref` begins.

    Raises ValueError for a schema that means nothing here.
    """
    if "$ref" in schema:
        target: Any = root
        for name in schema["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        return instance(target, root)
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return instance(schema[key][0], root)
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    made = {"object": _object, "array": _array, "integer": _number, "number": _number, "string": _string}.get(kind)
    if made:
        return made(schema, root)
    if kind not in ("boolean", "null"):
        raise ValueError(f"a JSON schema without a known type: {schema}")
    return False if kind == "boolean" else None


def _object(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    inner = schema.get("properties", {})
    wanted = schema.get("required", list(inner))
    return {name: instance(inner[name], root) for name in inner if name in wanted}


def _array(schema: dict[str, Any], root: dict[str, Any]) -> list[Any]:
    first = [instance(item, root) for item in schema.get("prefixItems", [])]
    return first + [instance(schema["items"], root) for _ in range(schema.get("minItems", 0) - len(first))]


def _number(schema: dict[str, Any], root: dict[str, Any]) -> int | float:
    least = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    return min(least, schema["maximum"]) if "maximum" in schema else least


def _string(schema: dict[str, Any], root: dict[str, Any]) -> str:
    if "pattern" in schema:
        return _matching(re._parser.parse(schema["pattern"]))  # noqa: SLF001  # what sre_parse was
    return "a" * schema.get("minLength", 0)


def _matching(pattern: Any) -> str:
    """The first string that a simple pattern matches: marks, sets, groups, alternatives, repeats."""
    return "".join(_part(str(kind), value) for kind, value in pattern)


def _part(kind: str, value: Any) -> str:
    if kind == "LITERAL":
        return chr(value)
    if kind == "IN":
        return _part(str(value[0][0]), value[0][1])
    if kind == "RANGE":
        return chr(value[0])
    if kind == "CATEGORY":
        return {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}[str(value)]
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        return _matching(value[2]) * value[0]
    if kind == "SUBPATTERN":
        return _matching(value[3])
    if kind == "BRANCH":
        return _matching(value[1][0])
    if kind in ("AT", "ANY"):
        return "" if kind == "AT" else "a"
    raise ValueError(f"no string is made up for {kind} in a pattern")
