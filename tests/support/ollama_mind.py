"""Reply as a model would on a scripted server: read the prompt, find the task, and go by shared words."""

import json
import re

from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.text.marks import claims
from local_rag.text.sentences import sentences as sentences_of
from local_rag.text.words import content_stems

ONLY = re.compile(r"(?:Use|Go by) only passages? [^:]*: the others were found irrelevant\. ")
_PASSAGE = re.compile(r'<passage n="(\d+)"[^\n]*>\n(.*?)\n</passage>', re.DOTALL)


def mind(body):
    """Return the reply to a chat, as text."""
    prompt = body["messages"][1]["content"]
    opening, _, task = prompt.rpartition("\n\nTask: ")
    asked = re.findall(r"Question:\s+(.*?)(?:\n\n|$)", opening or prompt, re.DOTALL)
    question = asked[-1] if asked else ""
    passages = {int(number): content for number, content in _PASSAGE.findall(opening or prompt)}
    if only := ONLY.match(task):
        counting = set(map(int, re.findall(r"\d+", only[0])))
        passages = {number: content for number, content in passages.items() if number in counting}
        task = task[only.end() :]
    keys = (body.get("format") or {}).get("properties", {})
    if keys:
        return json.dumps({key: _value(key, keys[key], question, passages, task) for key in keys})
    if task.startswith("Answer the question"):
        return _answered(question, passages)
    if task.startswith(("Write the first part", "Write the next part")):
        answer = _answered(question, passages)
        return NOT_IN_PASSAGES if answer.rpartition(" [")[0] in task else answer
    if task.startswith("Write a query"):
        return f"{question.rstrip('?')} {len(re.findall('^- ', task, re.MULTILINE))}"
    return question


def _value(key, shape, question, passages, task):
    """Return the value for a key of the reply that a schema asks for."""
    values = {
        "r": lambda: " ".join("yes" if _near(question, content) else "no" for content in passages.values()),
        "s": lambda: " ".join(_supports(passages, task)),
        "u": lambda: 5 if "fully" in _supports(passages, task) else 1,
        "d": lambda: (
            any(_near(question, content) for content in passages.values())
            if shape.get("type") == "boolean"
            else shape["enum"][0]
        ),
        "c": lambda: shape["enum"][0],
        "n": lambda: "no" if "continue" in shape["enum"] else "yes",
        "t": lambda: _answered(question, passages),
        "w": lambda: ["for the words"] * shape["maxItems"] if "maxItems" in shape else "for the words",
    }
    return values.get(key, lambda: "yes")()


def _near(question, content):
    return len(set(content_stems(question)) & set(content_stems(content))) >= 2


def _answered(question, passages):
    asked = set(content_stems(question))
    told = [
        (" ".join(content[span.start : span.end].split()), number)
        for number, content in passages.items()
        for span in sentences_of(content)
    ]
    best, number = max(told, key=lambda one: len(asked & set(content_stems(one[0]))), default=("", 0))
    return f"{best} [{number}]" if _near(question, best) else NOT_IN_PASSAGES


def _supports(passages, task):
    """Return for each sentence of the answer in a task whether a passage contains it."""
    held = [" ".join(content.split()) for content in passages.values()]
    answer = re.search(r"<answer>\n(.*?)\n</answer>", task, re.DOTALL)[1]
    sentences = re.findall(r"^\d+\. (.*?)(?: \[[\d, ]+\])?$", answer, re.MULTILINE)
    plain = sentences or [one.text for one in claims(answer)]
    return ["fully" if any(one in passage for passage in held) else "no" for one in plain]
