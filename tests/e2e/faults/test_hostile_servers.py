"""Test hostile servers: each ends in a verdict, an answer or one line, in time, and with little memory."""

import gzip
import itertools
import json
import tracemalloc

import pytest
from support.ollama_engine import QUESTION, answered, engine_on, passages
from support.ollama_server import OllamaServer, Reply, raw

from local_rag.core import cancel
from local_rag.core.errors import LocalRagError
from local_rag.engines.ollama.server import OllamaApi

SECONDS = 1.5
"""The time limit of a question."""

MEMORY = 400_000_000
"""The maximum bytes that a reply may take."""

NDJSON = "application/x-ndjson"


@pytest.fixture(scope="module", autouse=True)
def imported():
    """Import the client's libraries, which takes longer than a question may."""
    with OllamaServer() as server, engine_on(server) as engine:
        answered(engine)


def asked(server, **limits):
    """Return the replies to a question or the error's line, and its cost."""
    tracemalloc.start()
    limits |= {"load_seconds": 3.0, "idle_seconds": 2.0}
    try:
        with cancel.scope(cancel.Cancel(SECONDS)), engine_on(server, **limits) as engine:
            verdicts = engine.relevance(QUESTION, passages())
            pieces, text = answered(engine)
            usage = pieces[-1].usage if pieces else None
            said = [text, *(verdict.why for verdict in verdicts), *(usage.notes if usage else ())]
    except LocalRagError as error:
        said = [str(error)]
        assert len(str(error)) < 1_000, str(error)[:300]
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MEMORY
    return said


def chunk(content="It costs 100 euros [1].", **more):
    message = {"role": "assistant", "content": content}
    return json.dumps({"model": "tiny", "message": message, "done": False} | more)


END = {"model": "tiny", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
DONE = json.dumps(END)
TOOL = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "rm", "arguments": {}}}]}


def endless(line):
    """Send the same line for as long as a client listens."""

    def send(turn):
        turn.wire.start(200, NDJSON)
        for _ in itertools.count():
            turn.wire.check()
            turn.wire.write(line)

    return Reply(send)


def bomb(turn):
    body = gzip.compress(bytes(60_000_000), 6)
    turn.wire.start(200, NDJSON, len(body), **{"Content-Encoding": "gzip"})
    turn.wire.write(body)


def lines(*some):
    return raw(200, NDJSON, some)


CHATS = {
    "tokens without end": endless((chunk("word ") + "\n").encode()),
    "a line without end": endless(b'{"message": {"content": "' + b"x" * 50_000),
    "a bomb": Reply(bomb),
    "deep": lines("[" * 100_000 + "]" * 100_000, DONE),
    "a number without end": lines(chunk(eval_count=1)[:-1] + ', "x": ' + "9" * 5_000 + "}", DONE),
    "counts beyond all": lines(chunk(), json.dumps(END | {"eval_count": 10**30, "prompt_eval_count": 1e308})),
    "tools": lines(chunk(message=TOOL), DONE),
    "escapes": lines(chunk("\x1b]52;c;cm0=\x07\x1b[2J\u202e\u2066 It costs 100 euros [1]."), DONE),
    "surrogates": lines('{"message": {"role": "assistant", "content": "\\ud800"}, "done": false}', DONE),
    "an error with escapes": lines(json.dumps({"error": "\x1b]0;PWNED\x07" + "x" * 100_000})),
    "a page": raw(200, "text/html", ["<script>alert(1)</script>"]),
    "an error without end": raw(500, "application/json", ['{"error": "' + "x" * 5_000_000 + '"}']),
}


@pytest.mark.parametrize("reply", CHATS.values(), ids=CHATS)
def test_a_chat_of_a_hostile_server(ollama, reply):
    ollama.always = reply
    ollama.instead = {"/api/chat": reply}
    for text in asked(ollama):
        assert "Traceback" not in text and len(text) < 2_000_000


def said(text):
    return raw(200, "application/json", [text])


def bare(*parts, times=1):
    """Send these bytes, and then hang up."""

    def send(turn):
        turn.wire.close_connection = True
        for part in parts * times:
            turn.wire.check()
            turn.wire.wfile.write(part)

    return dict.fromkeys(("/api/version", "/api/show", "/api/tags", "/api/chat"), Reply(send))


ABOUT = {
    "a version with escapes": {"/api/version": said(json.dumps({"version": "\x1b[31m9" * 999}))},
    "models without end": {"/api/tags": said(json.dumps({"models": [{"name": f"m{n}"} for n in range(50_000)]}))},
    "models that are none": {"/api/tags": said('{"models": [1, null, {"name": 5}]}')},
    "a model of another type": {"/api/show": said('{"capabilities": "x", "model_info": [], "details": 5}')},
    "a window without end": {"/api/show": said('{"model_info": {"llama.context_length": 1e300}, "capabilities": []}')},
    "another protocol": bare(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "headers without end": bare(b"X-Header: " + b"y" * 1_000 + b"\r\n", times=10_000),
    "a length beyond all": bare(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999999999999\r\n\r\n{}"),
    "a split header": bare(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\n folded\r\nX\x00Y: z\r\n\r\n{}"),
    "silence": bare(),
}


@pytest.mark.parametrize("instead", ABOUT.values(), ids=ABOUT)
def test_what_a_hostile_server_says_of_itself(ollama, instead):
    ollama.instead = instead
    said = asked(ollama, patience=1.0)
    assert said and "\x1b" not in "".join(said)
    server = OllamaApi(ollama.host, patience=1.0)
    for ask in (server.version, server.installed, server.loaded, server.cloud):
        try:
            assert len(str(ask())) < 10_000_000
        except LocalRagError as error:
            assert len(str(error)) < 1_000 and "\x1b" not in str(error)
    server.close()
