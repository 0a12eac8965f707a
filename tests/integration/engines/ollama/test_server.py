"""The loopback Ollama says and breaks off what it is told to, keeps to the rules of the real one, and closes."""

from __future__ import annotations

import functools
import json
import math
import threading
import time

import httpx
import pytest
from support.ollama_server import (
    Model,
    OllamaServer,
    cut,
    empty,
    error,
    error_line,
    instance,
    no_done,
    raw,
    redirect,
    say,
    slow,
    stall,
    too_long,
)

VERSIONS = ["0.33.0-rc2", "0.24.0"]
IMPATIENT = httpx.Timeout(5, read=0.1)
QUESTION = {"model": "tiny", "messages": [{"role": "user", "content": "What does it cost?"}]}


def connect(server):
    return httpx.Client(base_url=f"http://{server.host}", trust_env=False)


@pytest.fixture
def client(ollama):
    with connect(ollama) as client:
        yield client


def chat(client, *, stream=False, **more):
    return client.post("/api/chat", json=QUESTION | {"stream": stream} | more)


def lines(response):
    return [json.loads(line) for line in response.text.splitlines()]


def said(response):
    return "".join(line["message"]["content"] for line in lines(response))


def test_tags_list_what_is_installed(ollama, client):
    ollama.models["qwen3:4b"] = Model(size=7, window=40_960, family="qwen3", capabilities=("completion", "thinking"))
    tags = {model["name"]: model for model in client.get("/api/tags").json()["models"]}
    assert (tags["qwen3:4b"]["size"], tags["qwen3:4b"]["details"]["context_length"]) == (7, 40_960)
    shown = client.post("/api/show", json={"model": "qwen3:4b"}).json()
    assert (shown["capabilities"], shown["model_info"]["qwen3.context_length"]) == (["completion", "thinking"], 40_960)


def test_refusing_a_long_prompt_tells_its_tokens(ollama, client):
    messages = [{"role": "user", "content": "one two three " * 200}]
    reply = chat(client, messages=messages, truncate=False, options={"num_ctx": 512})
    inner = json.loads(reply.json()["error"])["error"]
    assert reply.status_code == 400
    assert (inner["n_prompt_tokens"], inner["n_ctx"]) == (ollama.count(ollama.render(messages)), 512)
    assert inner["n_prompt_tokens"] > 600


def test_the_smaller_window_counts(ollama, client):
    ollama.models["tiny:latest"] = Model(window=64)
    messages = [{"role": "user", "content": "one two three " * 50}]
    assert chat(client, messages=messages, truncate=False, options={"num_ctx": 4096}).status_code == 400
    assert client.get("/api/ps").json()["models"][0]["context_length"] == 64


def test_what_num_predict_cuts(ollama, client):
    ollama.always = say("one two three four five")
    reply = chat(client, options={"num_predict": 3}).json()
    assert (reply["message"]["content"], reply["done_reason"], reply["eval_count"]) == ("one two three", "length", 3)
    assert chat(client, options={"num_predict": 5}).json()["done_reason"] == "stop"
    assert chat(client, options={"num_predict": -1}).json()["done_reason"] == "stop"


def test_without_shift_a_reply_ends_at_the_window(ollama, client):
    ollama.always = say("word " * 300)
    goes_on = chat(client, options={"num_ctx": 128}).json()
    stops = chat(client, options={"num_ctx": 128}, shift=False).json()
    assert goes_on["prompt_eval_count"] + goes_on["eval_count"] > 128
    assert (stops["prompt_eval_count"] + stops["eval_count"], stops["done_reason"]) == (128, "length")


@pytest.mark.parametrize("version", VERSIONS)
def test_loading_again(version):
    with OllamaServer(version) as server, connect(server) as client:
        loads = []
        for more in ({}, {}, {"options": {"temperature": 1}}, {"options": {"num_ctx": 512}}, {"shift": False}, {}):
            chat(client, **{"options": {"num_ctx": 1024}} | more)
            loads.append(server.loads)
        # of the last three, the first changes num_ctx, the second both, the third only shift
        assert loads == ([1, 1, 2, 3, 4, 5] if version == VERSIONS[0] else [1, 1, 2, 3, 4, 4])


def test_preloading(ollama, client):
    loaded = client.post("/api/chat", json={"model": "tiny", "messages": [], "shift": False, "keep_alive": "1h"})
    assert loaded.json()["done_reason"] == "load"
    assert chat(client, shift=False).json()["load_duration"] < 1e8
    assert (len(ollama.preloads), len(ollama.chats), ollama.loads) == (1, 1, 1)
    ollama.unload()
    assert chat(client, shift=False).json()["load_duration"] > 1e8
    left = client.post("/api/chat", json={"model": "tiny", "messages": [], "keep_alive": 0})
    assert left.json()["done_reason"] == "unload"
    assert client.get("/api/ps").json() == {"models": []}


def test_the_script_is_answered_in_order_and_refusals_leave_it_alone(ollama, client):
    ollama.script("first", say("second"), lambda body: body["messages"][0]["content"])
    assert chat(client, model="nosuch").status_code == 404
    assert chat(client, think=True).status_code == 400
    assert [said(chat(client, stream=number % 2 == 0)) for number in range(3)] == [
        "first",
        "second",
        "What does it cost?",
    ]
    assert said(chat(client)) == "It costs 100 euros [1]."
    ollama.always = "always"
    assert said(chat(client)) == "always"
    assert len(ollama.chats) == 7


def test_say_streams_what_it_is_given(ollama, client):
    ollama.script(say("ab", pieces=["a", "b"], prompt_tokens=7, output_tokens=9, load_ms=3.5))
    first, second, last = lines(chat(client, stream=True))
    assert (first["message"]["content"], second["message"]["content"]) == ("a", "b")
    assert (last["prompt_eval_count"], last["eval_count"], last["load_duration"]) == (7, 9, 3_500_000)


def test_a_model_that_thinks(ollama, client):
    ollama.models["deep:latest"] = Model(capabilities=("completion", "thinking"))
    ask = functools.partial(chat, client, model="deep")
    thought = ask().json()["message"]
    assert thought["thinking"]
    assert thought["content"]
    assert "thinking" not in ask(think=False).json()["message"]
    used_up = ask(options={"num_predict": 5}).json()
    assert (used_up["message"]["content"], used_up["done_reason"]) == ("", "length")
    ollama.script(say("yes", thinking="no doubt"))
    streamed = lines(ask(stream=True))
    assert [line["message"].get("thinking") for line in streamed] == ["no", " doubt", None, None]


def test_gpt_oss_loses_its_json(ollama, client):
    ollama.models["gpt-oss:20b"] = Model(family="gptoss", capabilities=("completion", "thinking"))
    form = {"type": "object", "properties": {"a": {"enum": ["yes"]}}, "required": ["a"]}
    lost = chat(client, model="gpt-oss:20b", format=form, think=False).json()
    assert (lost["message"]["content"], lost["done_reason"], lost["eval_count"] > 0) == ("", "stop", True)
    assert chat(client, model="gpt-oss:20b", format=form, think="low").json()["message"]["content"] == '{"a": "yes"}'


def test_logprobs_come_with_every_token(ollama, client):
    ollama.always = "yes no"
    whole = chat(client, logprobs=True, top_logprobs=2).json()
    assert [entry["token"] for entry in whole["logprobs"]] == ["yes", " no"]
    streamed = lines(chat(client, stream=True, logprobs=True))
    assert [len(line.get("logprobs", [])) for line in streamed] == [1, 1, 0]


def test_a_script_says_what_is_listed_with_a_token(ollama, client):
    ollama.script(say("so yes no", odds=[{"yes": 0.5, "no": 0.25}, {"yes": 0.5, "no": 0.25}]))
    first, second, third = chat(client, logprobs=True, top_logprobs=2).json()["logprobs"]
    assert [one["token"] for one in first["top_logprobs"]] == ["so"]
    for entry, own, token in ((second, 0.5, " yes"), (third, 0.25, " no")):
        assert (entry["token"], entry["logprob"]) == (token, pytest.approx(math.log(own)))
        assert [one["token"].strip() for one in entry["top_logprobs"]] == ["yes", "no"]
        assert token in [one["token"] for one in entry["top_logprobs"]]


@pytest.mark.parametrize(("version", "given"), [("0.12.10", False), ("0.12.11", True), ("0.24.0", True)])
def test_old_servers_ignore_that_logprobs_are_asked_for(version, given):
    with OllamaServer(version) as server, connect(server) as client:
        assert ("logprobs" in chat(client, logprobs=True).json()) == given


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("reply", "status", "message"),
    [
        (error(500, "out of memory"), 500, "out of memory"),
        (too_long("input"), 400, "the input length exceeds the context length"),
    ],
)
def test_errors_before_anything_is_said(ollama, client, reply, status, message, stream):
    ollama.script(reply)
    got = chat(client, stream=stream)
    assert (got.status_code, got.json()) == (status, {"error": message})


def test_an_error_in_the_middle(ollama, client):
    ollama.always = error_line(2, "unexpected EOF")
    streamed = chat(client, stream=True)
    assert streamed.status_code == 200
    assert [line.get("error") for line in lines(streamed)] == [None, None, "unexpected EOF"]
    assert chat(client).status_code == 500


def test_a_reply_without_done(ollama, client):
    ollama.always = no_done("on and on")
    assert [line["done"] for line in lines(chat(client, stream=True))] == [False] * 3
    whole = chat(client).json()
    assert (whole["message"]["content"], whole["done"], "eval_count" in whole) == ("on and on", False, False)
    ollama.always = no_done("")
    assert chat(client, stream=True).text == ""


@pytest.mark.parametrize("stream", [True, False])
def test_a_connection_that_is_cut(ollama, client, stream):
    ollama.script(cut(2))
    with pytest.raises(httpx.RemoteProtocolError):
        chat(client, stream=stream)
    assert said(chat(client)) == "It costs 100 euros [1]."


def test_empty_content(ollama, client):
    ollama.always = empty()
    reply = chat(client).json()
    assert (reply["message"]["content"], reply["done_reason"], reply["eval_count"]) == ("", "stop", 14)


def test_a_redirect_is_one(ollama, client):
    ollama.script(redirect("http://example.org/api/chat"))
    reply = chat(client)
    assert (reply.status_code, reply.headers["location"]) == (307, "http://example.org/api/chat")
    ollama.instead["/api/version"] = redirect("http://example.org/")
    assert client.get("/api/version").status_code == 307
    assert client.head("/").status_code == 200


def test_silence_is_felt_and_ends_with_the_client(ollama, client):
    ollama.script(stall(2, 60), slow(60, "late"))
    for _ in range(2):
        with pytest.raises(httpx.ReadTimeout):
            client.post("/api/chat", json=QUESTION, timeout=IMPATIENT)
    ollama.wait_idle(2)
    assert [request.aborted for request in ollama.requests] == [True, True]
    ollama.script(stall(1, 0.01), slow(0.01, "late"))
    assert said(chat(client, stream=True)) == "It costs 100 euros [1]."
    assert said(chat(client)) == "late"
    ollama.wait_idle()
    assert not ollama.requests[-1].aborted


def test_hanging_up_in_the_middle_of_a_stream(ollama, client):
    ollama.script(say("word " * 1000, pace=0.02))
    with client.stream("POST", "/api/chat", json=QUESTION) as reply:
        rows = reply.iter_lines()
        assert '"word"' in next(rows)
    ollama.wait_idle()
    assert ollama.requests[0].aborted


def test_one_chat_at_a_time(ollama):
    ollama.script(stall(1, 60), "second")
    with connect(ollama) as first, connect(ollama) as second, connect(ollama) as third:
        with first.stream("POST", "/api/chat", json=QUESTION) as reply:
            ollama.wait_for(1)
            rows = reply.iter_lines()  # kept: a collected generator closes the connection
            next(rows)
            with pytest.raises(httpx.ReadTimeout):
                third.post("/api/chat", json=QUESTION, timeout=IMPATIENT)
            waiting = threading.Thread(target=lambda: answered.append(said(chat(second))))
            answered = []
            waiting.start()
            assert third.get("/api/version").status_code == 200
        waiting.join(5)
    ollama.wait_idle(4)
    assert answered == ["second"]
    assert sorted(request.aborted for request in ollama.requests) == [False, False, True, True]


def test_waiting_in_vain_is_told(ollama):
    with pytest.raises(AssertionError, match="0 chats were answered, expected 1"):
        ollama.wait_for(1, seconds=0.01)
    with pytest.raises(AssertionError, match="0 requests came, expected 1"):
        ollama.wait_idle(1, seconds=0.01)


def test_closing_ends_what_goes_on():
    server = OllamaServer()
    server.script(stall(1, 600))
    with connect(server) as client, connect(server) as idle:
        idle.get("/api/version")
        with client.stream("POST", "/api/chat", json=QUESTION) as reply:
            rows = reply.iter_lines()
            next(rows)
            began = time.monotonic()
            server.close()
            server.close()
            assert time.monotonic() - began < 60
            with pytest.raises(httpx.RemoteProtocolError):
                list(rows)
        with pytest.raises(httpx.ConnectError):
            client.get("/api/version")
    assert server.failures == []


def test_a_server_can_come_back(ollama):
    port = int(ollama.host.partition(":")[2])
    ollama.close()
    with OllamaServer(port=port) as again, connect(again) as client:
        assert again.host == ollama.host
        assert client.get("/").text == "Ollama is running"


def test_a_failing_script_reaches_the_test():
    with pytest.raises(AssertionError, match="ZeroDivisionError"), OllamaServer() as server, connect(server) as client:
        server.script(lambda body: 1 / 0)
        assert chat(client).status_code == 500
        assert len(server.chats) == 1
    with pytest.raises(ValueError, match="of the test") as caught, OllamaServer() as server:
        server.failures.append(KeyError("x"))
        raise ValueError("of the test itself")
    assert caught.value.__notes__ == ["the test server failed: KeyError('x')"]


def test_everything_is_recorded(ollama, client):
    client.post("/api/chat", json=QUESTION | {"model": "gpt-oss:120b-cloud"}, headers={"X-Mark": "1"})
    (request,) = ollama.requests
    assert (request.method, request.path, request.headers["x-mark"]) == ("POST", "/api/chat", "1")
    assert ollama.chats == [QUESTION | {"model": "gpt-oss:120b-cloud"}]
    assert request.at <= time.monotonic()


def test_pulling(ollama, client):
    pulled = lines(client.post("/api/pull", json={"model": "llama3.2:3b"}))
    assert pulled[0] == {"status": "pulling manifest"}
    assert pulled[-1] == {"status": "success"}
    done = [line["completed"] for line in pulled if "completed" in line]
    assert done == sorted(done)
    assert done[-1] == pulled[1]["total"]
    assert "llama3.2:3b" in ollama.models
    missing = lines(client.post("/api/pull", json={"model": "nosuch"}))
    assert missing[-1] == {"error": "pull model manifest: file does not exist"}
    assert client.post("/api/pull", json={"model": "tiny", "stream": False}).json() == {"status": "success"}
    assert client.get("/api/nosuch").status_code == 404


def test_raw_lines_may_be_anything(ollama, client):
    ollama.script(raw(200, "text/html", ["<p>", "a proxy"], chunked=False))
    reply = chat(client)
    assert (reply.text, reply.headers["content-length"]) == ("<p>a proxy", "10")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"enum": ["yes", "no"]}, "yes"),
        ({"const": 3}, 3),
        ({"type": "integer", "minimum": 1, "maximum": 5}, 1),
        ({"type": "number", "exclusiveMinimum": 0}, 1),
        ({"type": "number", "maximum": -2}, -2),
        ({"type": "string", "minLength": 2}, "aa"),
        ({"type": "string", "pattern": r"^\[[0-9]{1,2}\]( (and|or) \w+)?$"}, "[0]"),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [False, False]),
        ({"type": ["null", "string"]}, None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ""),
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {"const": 1}}, "required": ["b"]}, {"b": 1}),
        ({"$defs": {"A": {"enum": [1]}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}, {"a": 1}),
    ],
)
def test_an_obedient_model_answers_the_least(ollama, client, schema, value):
    assert instance(schema, schema) == value
    assert json.loads(said(chat(client, format=schema, stream=True))) == value


def test_a_schema_without_meaning_is_an_error():
    with pytest.raises(ValueError, match="known type"):
        instance({"type": "nosuch"}, {})


@pytest.mark.parametrize("text", ["", " ", "It costs 100 euros [1].\n\n", "«Ünïcödé» ½ 東京\tend ", "a" * 23])
def test_tokens_join_to_the_text(ollama, client, text):
    ollama.script(text)
    assert said(chat(client, stream=True)) == text
