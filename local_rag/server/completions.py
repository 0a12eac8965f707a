"""Write answers as OpenAI's chat completions, whole or in chunks: text with its sources, annotations and usage.

The form is that of https://github.com/openai/openai-openapi (CreateChatCompletionResponse and …StreamResponse), with
`reasoning_content`, which many chat programs show, and with the whole answer as `local_rag`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from local_rag.core.answer import Answer
from local_rag.index.path_labels import PathLabel
from local_rag.server.answers import file_id_of
from local_rag.text.answer_markdown import markdown
from local_rag.text.blocks import Source, blocks, sources_of
from local_rag.text.display import is_page, plural, shorten
from local_rag.text.markup import inert

LONGEST_QUOTE = 300
"""The most characters of a quote in the address of its place."""

_PLACE = ("page", "chunk_id", "start", "end", "located")
"""The fields of a quote that its address has besides its words: see `placed` in `page/parts/document_pane.js`."""


@dataclass(frozen=True)
class Completion:
    """Hold a reply: its text, the addresses of its sources, its token usage, and the `answer` as the page gets it."""

    content: str
    annotations: list[dict[str, Any]] = field(default_factory=list)
    usage: Mapping[str, int] = field(default_factory=lambda: _usage(0, 0))
    answer: Mapping[str, Any] | None = None


def completion_of(
    answer: Answer, label: PathLabel, view: Mapping[str, Any], page: str, index: str | None, *, listed: bool
) -> Completion:
    """Return an answer as a completion whose sources open at the address `page`; `listed`: the text lists them too."""
    shown = blocks(answer, label)
    content = inert(markdown(shown, quotes=listed))
    annotations = [_annotation(source, content, page, index) for source in sources_of(answer, label)]
    usage = _usage(answer.usage.prompt_tokens, answer.usage.output_tokens)
    return Completion(content, [each for each in annotations if each["url_citation"]["url"]], usage, view)


def reasoning(name: str, value: Mapping[str, Any]) -> str:
    """Return the line that a chat program shows of an event before the answer comes, or "" for an event not shown."""
    match name:
        case "queued" if value["position"]:
            line = f"waiting for {plural(value['position'], 'question')}"
        case "started" if value["doing"]:
            line = value["doing"]
        case "retrieved":
            line = f"{plural(len(value['passages']), 'passage')} for “{shorten(value['query'], 200)}”"
        case "graded":
            of = f" of {value['label']}" if "label" in value else ""
            why = f" ({value['why']})" if value["why"] else ""
            line = f"{value['kind']}{of}: {value['verdict']}{why}"
        case "note":
            line = value["text"]
        case _:
            return ""
    return f"- {inert(' '.join(line.split()))}\n"


@dataclass(frozen=True)
class Reply:
    """Build the objects of one reply: `created` is in seconds since 1970, and `model` is the name the client gave."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, completion: Completion, thoughts: str) -> dict[str, Any]:
        """Return the reply to a request without `stream`."""
        message = {"role": "assistant", "content": completion.content, "annotations": completion.annotations}
        choice = {"index": 0, "message": message | {"reasoning_content": thoughts}, "finish_reason": "stop"}
        rest = {"usage": completion.usage, "local_rag": completion.answer}
        return self._frame("chat.completion", [choice]) | rest

    def chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        """Return a chunk of the reply to a request with `stream`."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return self._frame("chat.completion.chunk", [choice])

    def last_chunks(self, completion: Completion, *, usage: bool) -> Iterator[dict[str, Any]]:
        """Yield the last chunks, which hold the answer."""
        yield self.chunk({"content": completion.content})
        if completion.annotations:
            yield self.chunk({"annotations": completion.annotations})
        yield self.chunk({}, "stop") | {"local_rag": completion.answer}
        if usage:
            yield self._frame("chat.completion.chunk", []) | {"usage": completion.usage}

    def _frame(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}


def _usage(prompt: int, output: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}


def _annotation(source: Source, content: str, page: str, index: str | None) -> dict[str, Any]:
    """Return a source as OpenAI's `url_citation`; `start_index` and `end_index` are code points of its first mark."""
    citation, file = source.citation, file_id_of(source.citation)
    mark = f"[{citation.number}]"
    start = max(0, content.find(mark))
    url = citation.url if is_page(citation.url) else ""
    if file:
        place = {name: getattr(citation, name) for name in _PLACE} | {"quote": citation.quote[:LONGEST_QUOTE]}
        place["index"] = citation.index or index
        url = f"{page}/#/file/{file}?{urlencode({name: each for name, each in place.items() if each})}"
    cited = {"start_index": start, "end_index": start + len(mark), "title": source.place, "url": url}
    return {"type": "url_citation", "url_citation": cited}
