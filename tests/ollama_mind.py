"""What a scripted server answers as a model would: it reads the prompt, finds the task, and goes by shared words."""

from __future__ import annotations

import json
import re

from local_rag import text
from local_rag.types import NOT_IN_PASSAGES

_PASSAGE = re.compile(r'<passage n="(\d+)"[^\n]*>\n(.*?)\n</passage>', re.DOTALL)


def mind(body):
    """The reply to a chat, as text."""
    prompt = body["messages"][1]["content"]
    opening, _, task = prompt.rpartition("\n\nTask: ")
    asked = re.search(r"Question:\s+(.*?)(?:\n\n|$)", prompt, re.DOTALL)
    question = asked[1] if asked else ""
    passages = {int(number): content for number, content in _PASSAGE.findall(opening or prompt)}
    keys = (body.get("format") or {}).get("properties", {})
    if "d" in keys:
        return json.dumps({"d": keys["d"]["enum"][0]})
    if "r" in keys and keys["r"]["type"] == "array":
        return json.dumps({"r": [_yes(_near(question, content)) for content in passages.values()]})
    if set(keys) == {"s", "u"}:
        return _checked(passages, re.search(r"<answer>\n(.*?)\n</answer>", task, re.DOTALL)[1])
    if keys:
        return json.dumps({next(iter(keys)): "yes"})
    if task.startswith("Answer the question"):
        return _answered(question, passages)
    if task.startswith("Write a query"):
        return f"{question.rstrip('?')} {len(re.findall('^- ', task, re.MULTILINE))}"
    return question


def _near(question, content):
    return len(set(text.content_stems(question)) & set(text.content_stems(content))) >= 2


def _yes(true):
    return "yes" if true else "no"


def _answered(question, passages):
    asked = set(text.content_stems(question))
    best, number = max(
        (
            (len(asked & set(text.content_stems(content[span.start : span.end]))), -number)
            for number, content in passages.items()
            for span in text.sentences(content)
        ),
        default=(0, 0),
    )
    if best < 2:
        return NOT_IN_PASSAGES
    content = passages[-number]
    found = max(
        (content[span.start : span.end] for span in text.sentences(content)),
        key=lambda sentence: len(asked & set(text.content_stems(sentence))),
    )
    return f"{' '.join(found.split())} [{-number}]"


def _checked(passages, generation):
    plain = " ".join(text.without_marks(generation).split())
    held = any(plain in " ".join(content.split()) for content in passages.values())
    return json.dumps({"s": "fully" if held else "no", "u": 5 if held else 1})
