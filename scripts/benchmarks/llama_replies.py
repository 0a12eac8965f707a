"""What a model of random weights is made to say: the verdicts of a benchmark's case, in the words of the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_PASSAGE = re.compile(r'<passage n="(\d+)"[^\n]*>\n(.*?)\n</passage>', re.DOTALL)

SENTENCES = (
    "The method looks at what was retrieved and keeps only the passages that help to answer the question [{}].",
    "It then writes an answer from them and checks whether each sentence is supported [{}].",
    "Where that is not so it writes again, and at the end it says that it does not know [{}].",
)
"""An answer of about 60 tokens, as long as three short sentences are."""


def reply(body: dict[str, Any], rejected: Sequence[str]) -> str:
    """The reply to a chat: passages that hold one of the words of `rejected` are irrelevant, all else is well."""
    prompt = "\n".join(message["content"] for message in body["messages"])
    shown = {int(number): text for number, text in _PASSAGE.findall(prompt)}
    good = [number for number, text in shown.items() if not any(word in text for word in rejected)]
    properties = (body.get("format") or {}).get("properties")
    if properties:
        one = not any(word in prompt for word in rejected)  # a grader that is shown one document, without a fence
        verdicts = [number in good for number in shown] or [one]
        return json.dumps({key: _value(key, shape, verdicts) for key, shape in properties.items()})
    if "Write a query" in prompt or "so that it can be understood without" in prompt:
        return "reflection tokens and the critique of a passage"
    cited = good or [1]
    return " ".join(one.format(cited[place % len(cited)]) for place, one in enumerate(SENTENCES))


def _value(key: str, shape: dict[str, Any], verdicts: Sequence[bool]) -> Any:
    """The value of one key: a word, or as many as a list or a pattern asks for."""
    many = shape.get("minItems") or shape.get("pattern", "").count(" ") + 1
    words = [_word(key, verdict, shape) for verdict in (verdicts if key == "r" else [True] * many)]
    if shape["type"] == "array":
        return words
    return " ".join(words) if "pattern" in shape else words[0]


def _word(key: str, good: bool, shape: dict[str, Any]) -> Any:
    """The verdict as the schema spells it: the tutorials' graders say yes where ours have a scale."""
    if key == "r":
        return "yes" if good else "no"
    if key == "d":
        return shape["enum"][0]
    return "yes" if "yes" in shape.get("enum", ()) else {"s": "fully", "u": 5}[key]
