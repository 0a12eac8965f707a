"""What a test lets the loopback Ollama answer: good replies, broken ones, and recordings of real servers.

A Reply is sent into a Turn: one chat, its connection, and what the server knows about it (counts, load time, room).
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.ollama_schema import instance
from support.ollama_wire import JSON, NDJSON, Wire, encode, now

_DATA = Path(__file__).parents[1] / "data" / "ollama"
_TEXT = "It costs 100 euros [1]."
_THOUGHT = "First I look at the question, then at the passages."


def tokens(text: str) -> list[str]:
    """The test server's tokenizer: five letters or one mark, with the white space before; they join to the text."""
    return re.findall(r"\s*(?:\w{1,5}|[^\w\s])|\s+", text)


@dataclass
class Turn:
    """One chat that is answered."""

    wire: Wire
    body: dict[str, Any]
    prompt_tokens: int = 12
    load_ns: int = 1_000_000
    room: int | None = None
    """Tokens that may be generated: num_predict, or what is left of the window."""
    thinks: bool = False
    """The model thinks, and was not told to leave it."""
    swallows: bool = False
    """gpt-oss with a schema and without thoughts: the content is lost."""
    old: bool = False
    gives_logprobs: bool = True
    """From v0.12.11 on; an older server ignores that they are asked for."""
    odds: deque[Mapping[str, float]] = field(default_factory=deque)
    """Of the tokens to come: what is listed with the next one that is among them, see `say`."""
    said: dict[str, list[str]] = field(default_factory=lambda: {"content": [], "thinking": []})
    logprobs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is not False

    def line(self, value: dict[str, Any]) -> None:
        """One line of a stream; the first one starts it."""
        if not self.wire.started:
            self.wire.start(200, NDJSON)
        self.wire.write(encode(value) + b"\n")

    def piece(self, kind: str, text: str) -> None:
        """One token of the content or of the thoughts."""
        self.wire.check()
        self.said[kind].append(text)
        listed = self.odds.popleft() if self.odds and text.strip() in self.odds[0] else {text.strip(): 0.99}
        odds = [_logprob(text, listed, self.body)] if self.body.get("logprobs") and self.gives_logprobs else []
        self.logprobs += odds
        if self.stream:
            message = {"content": text} if kind == "content" else {"content": "", "thinking": text}
            self.line(self.message(message) | {"done": False} | ({"logprobs": odds} if odds else {}))

    def message(self, message: dict[str, str]) -> dict[str, Any]:
        """The fields that every line has."""
        return {"model": self.body["model"], "created_at": now(), "message": {"role": "assistant"} | message}

    def whole(self) -> dict[str, Any]:
        """What is in the last line of a stream (nothing new), or in the only body."""
        if self.stream:
            return self.message({"content": ""})
        said = {kind: "".join(parts) for kind, parts in self.said.items()}
        return self.message(said if said["thinking"] else {"content": said["content"]})

    def last(self, value: dict[str, Any]) -> None:
        """The last line of a stream, or the only body."""
        if self.stream:
            self.line(value)
            self.wire.end()
        else:
            self.wire.json(200, value)

    def finish(self, done_reason: str, *, prompt: int | None = None, output: int | None = None) -> None:
        """The end of a good reply, with the counts."""
        output = sum(map(len, self.said.values())) if output is None else output
        prompt = self.prompt_tokens if prompt is None else prompt
        spent = 700_000 * (output - 1) if self.old else max(1000, 400_000 * (output - 1))
        counts = {
            "total_duration": self.load_ns + 1_500_000 + 20_000 * prompt + spent,
            "load_duration": self.load_ns,
            "prompt_eval_count": prompt,
            "prompt_eval_duration": 20_000 * prompt,
            "eval_count": output,
            "eval_duration": spent,
        }
        odds = {"logprobs": self.logprobs} if self.logprobs and not self.stream else {}
        counts = {name: value for name, value in counts.items() if value > 0}
        self.last(self.whole() | {"done": True, "done_reason": done_reason} | odds | counts)


def _logprob(token: str, listed: Mapping[str, float], body: dict[str, Any]) -> dict[str, Any]:
    """A token, and the probabilities of those that stand beside it, the likeliest first."""
    named = {token if other == token.strip() else other: odds for other, odds in listed.items()}
    entries: list[dict[str, Any]] = [
        {"token": other, "logprob": math.log(odds), "bytes": list(other.encode())} for other, odds in named.items()
    ]
    chosen = next(entry for entry in entries if entry["token"] == token)
    entries.sort(key=lambda entry: -entry["logprob"])
    return chosen | ({"top_logprobs": entries[: body["top_logprobs"]]} if body.get("top_logprobs") else {})


@dataclass(frozen=True)
class Reply:
    """What is sent in answer to one chat."""

    send: Callable[[Turn], None]


def reply_of(value: Reply | str) -> Reply:
    """A str is short for say(str)."""
    return say(value) if isinstance(value, str) else value


def say(
    text: str,
    *,
    thinking: str | None = None,
    done_reason: str = "stop",
    prompt_tokens: int | None = None,
    output_tokens: int | None = None,
    load_ms: float | None = None,
    pieces: Iterable[str] | None = None,
    pace: float = 0,
    odds: Iterable[Mapping[str, float]] = (),
) -> Reply:
    """A reply that ends well, token by token, `pace` seconds apart, cut where num_predict or the window ends.

    Without `thinking` a model that thinks has a thought of its own; "" is none. `pieces` are the tokens to send.
    `odds` are, for the tokens of which the model was not sure, the probabilities of the tokens listed there: each goes
    to the next token that is in it. White space around a token does not count. Of all others it was sure.
    """
    content, odds = tokens(text) if pieces is None else list(pieces), list(odds)

    def send(turn: Turn) -> None:
        turn.odds = deque(odds)
        thought = tokens((_THOUGHT if turn.thinks else "") if thinking is None else thinking)
        parts = [("thinking", part) for part in thought] + [("content", part) for part in content]
        shown = [] if turn.swallows else parts[: turn.room]
        for number, (kind, part) in enumerate(shown):
            turn.wire.check(pace if number else 0)
            turn.piece(kind, part)
        if load_ms is not None:
            turn.load_ns = int(load_ms * 1e6)
        output = len(parts[: turn.room]) if output_tokens is None else output_tokens
        reason = "length" if turn.room is not None and len(parts) > turn.room else done_reason
        turn.finish(reason, prompt=prompt_tokens, output=output)

    return Reply(send)


def empty(eval_count: int = 14) -> Reply:
    """Tokens were generated, and nothing of them came: gpt-oss with a schema and `think: false`."""
    return say("", thinking="", output_tokens=eval_count)


def error(status: int, message: str) -> Reply:
    """An HTTP error before anything was said."""
    return Reply(lambda turn: turn.wire.json(status, {"error": message}))


def error_line(after: int, message: str, text: str = _TEXT) -> Reply:
    """An error in the middle of a stream, after `after` tokens; a 500 where nothing is streamed."""

    def send(turn: Turn) -> None:
        if not turn.stream:
            return turn.wire.json(500, {"error": message})
        for part in tokens(text)[:after]:
            turn.piece("content", part)
        return turn.last({"error": message})

    return Reply(send)


def no_done(text: str) -> Reply:
    """The reply just stops: HTTP 200, no error, no `done: true`, no counts (a model that repeats one token)."""

    def send(turn: Turn) -> None:
        for part in tokens(text):
            turn.piece("content", part)
        if not turn.stream:
            return turn.wire.json(200, turn.whole() | {"done": False})
        if not turn.wire.started:
            turn.wire.start(200, NDJSON)
        return turn.wire.end()

    return Reply(send)


def cut(after: int, text: str = _TEXT) -> Reply:
    """The connection ends after `after` tokens, or in the middle of the body."""

    def send(turn: Turn) -> None:
        for part in tokens(text)[:after]:
            turn.piece("content", part)
        if not turn.stream:
            whole = encode(turn.whole() | {"done": False})
            turn.wire.start(200, JSON, length=len(whole))
            turn.wire.write(whole[:-10])
        turn.wire.drop()

    return Reply(send)


def stall(after: int, seconds: float, text: str = _TEXT) -> Reply:
    """Silence after `after` tokens, then the rest."""

    def send(turn: Turn) -> None:
        parts = tokens(text)
        for part in parts[:after]:
            turn.piece("content", part)
        turn.wire.check(seconds)
        for part in parts[after:]:
            turn.piece("content", part)
        turn.finish("stop")

    return Reply(send)


def slow(seconds: float, reply: Reply | str) -> Reply:
    """Silence before the first byte: a model that loads, or a long prompt that is read."""

    def send(turn: Turn) -> None:
        turn.wire.check(seconds)
        reply_of(reply).send(turn)

    return Reply(send)


def redirect(url: str, status: int = 307) -> Reply:
    """Go elsewhere."""
    return Reply(lambda turn: turn.wire.whole(status, "text/plain; charset=utf-8", b"", Location=url))


def too_long(wording: str, *, n_prompt: int = 2017, n_ctx: int = 512) -> Reply:
    """A 400 for a prompt that does not fit, worded as by the new server ("counts"), by the old one ("input"), or by
    the new one where only `shift` is false ("available"). In a stream it has another content type, and chunks."""
    said = {
        "counts": f"request ({n_prompt} tokens) exceeds the available context size ({n_ctx} tokens), try increasing it",
        "input": "the input length exceeds the context length",
        "available": "the prompt is longer than the context length currently available to the model; shorten the "
        "prompt, adjust the context length in settings, or use a model with a longer context length",
    }[wording]
    if wording == "counts":
        inner = {"code": 400, "message": said, "type": "exceed_context_size_error"}
        said = encode({"error": inner | {"n_prompt_tokens": n_prompt, "n_ctx": n_ctx}}).decode()

    def send(turn: Turn) -> None:
        if turn.stream:
            raw(400, "application/json", [encode({"error": said}).decode()]).send(turn)
        else:
            turn.wire.json(400, {"error": said})

    return Reply(send)


def raw(status: int, content_type: str, lines: Iterable[str], chunked: bool = True) -> Reply:
    """Lines as they are, one chunk each, or as one body of known length."""
    ends = "\n" if content_type.startswith(NDJSON) else ""
    sent = [(line + ends).encode() for line in lines]

    def send(turn: Turn) -> None:
        turn.wire.start(status, content_type, length=None if chunked else sum(map(len, sent)))
        for line in sent:
            turn.wire.write(line)
        turn.wire.end()

    return Reply(send)


def obedient(body: dict[str, Any]) -> Reply:
    """A minimal value of the schema where `format` has one, else a short plain text."""
    schema = body.get("format")
    if schema == "json":
        return say("{}")
    return say(json.dumps(instance(schema, schema), ensure_ascii=False)) if schema else say(_TEXT)


@dataclass(frozen=True)
class Case:
    """One recorded exchange."""

    case: str
    note: str
    request: dict[str, Any]
    """method, path, body"""
    response: dict[str, Any]
    """status, content_type, transfer, lines"""


def recordings(version: str) -> list[Case]:
    """The exchanges recorded with this version."""
    lines = (_DATA / f"v{version}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(**{key: line[key] for key in Case.__annotations__}) for line in map(json.loads, lines)]


def replay(case: Case) -> Reply:
    """The recorded response as it came."""
    answer = case.response
    return raw(answer["status"], answer["content_type"], answer["lines"], answer["transfer"] == "chunked")
