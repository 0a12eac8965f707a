"""The loopback Ollama and the recorded servers give the same answers to the same requests."""

from __future__ import annotations

import functools
import json
import re

import httpx
import pytest
from support.ollama_server import Model, OllamaServer, no_done, obedient, recordings, replay, say

VERSIONS = ["0.33.0-rc2", "0.24.0"]
LEFT_OUT = {
    "preload-generate": "/api/generate is not served",
    "embed-not-an-embedder": "/api/embed is not served",
    "schema-invalid": "grammars are the model's business",
    "schema-enum-logprobs": "the recorded line ends after 6,000 characters",
}


def cases(version):
    """Every recorded case that is compared; the th-* ones belong to the parsers of four families."""
    kept = [case for case in recordings(version) if case.case not in LEFT_OUT and "-th-" not in case.case]
    return [case for case in kept if (version, case.case) != ("0.24.0", "ps-unloaded")]  # recorded before it was gone


def connect(server):
    return httpx.Client(base_url=f"http://{server.host}", trust_env=False)


def prepare(server, case):
    """The words that the recorded model said, or as many others: cut, ended, or broken off alike."""
    chat = case.request["path"] == "/api/chat" and case.response["status"] == 200
    recorded = [json.loads(line) for line in case.response["lines"]] if chat else [{"done": True}]
    words = "".join(line["message"]["content"] for line in recorded) if chat else ""
    if not recorded[-1]["done"]:
        server.always = no_done(words)
    elif recorded[-1].get("done_reason") == "length":
        server.always = say("and so on " * 500)
    else:
        server.always = obedient if "format" in (case.request["body"] or {}) else say(words)
    if case.case.startswith("remote-"):
        afar = Model(remote_host="https://ollama.com:11434", remote_model="gpt-oss:120b")
        server.models = {"afar:latest": afar} | server.models
    no_cloud = case.case.startswith("no-cloud-")
    server.cloud = {"disabled": no_cloud, "source": "env" if no_cloud else "none"}


@functools.cache
def answers(version):
    """All cases in the order in which they were recorded, so that the same model is loaded at each."""
    answered = {}
    with OllamaServer(version) as server, connect(server) as client:
        server.models = {"mid:latest": Model(), "tiny:latest": Model()}
        for case in cases(version):
            prepare(server, case)
            body = case.request["body"]
            data = body if isinstance(body, str) else json.dumps(body) if body else None
            answered[case.case] = client.request(case.request["method"], case.request["path"], content=data)
    return answered


def shape(value):
    """Names in their order and types; of a list, its first element."""
    if isinstance(value, dict):
        return [(name, shape(inner)) for name, inner in value.items()]
    return [shape(inner) for inner in value[:1]] if isinstance(value, list) else type(value).__name__


def outline(texts):
    """The shapes of the lines, one for each run of equal ones."""
    shapes = [shape(json.loads(text)) if text.startswith("{") else text for text in texts]
    return [each for number, each in enumerate(shapes) if number == 0 or each != shapes[number - 1]]


every_case = pytest.mark.parametrize(
    ("version", "case"),
    [pytest.param(version, case, id=f"{version}-{case.case}") for version in VERSIONS for case in cases(version)],
)


@every_case
def test_answers_as_recorded(version, case):
    got, recorded = answers(version)[case.case], case.response
    assert got.status_code == recorded["status"]
    assert got.headers["content-type"] == recorded["content_type"]
    if "logprobs" not in case.case:  # there the length of the body decides
        assert got.headers.get("transfer-encoding") == recorded["transfer"]
    if case.request["path"] != "/api/show" or got.status_code != 200:
        assert outline(got.text.splitlines()) == outline(recorded["lines"])


@every_case
def test_ends_and_loads_as_recorded(version, case):
    text, recorded = answers(version)[case.case].text, case.response["lines"]
    if text == "Ollama is running":
        return
    last, expected = json.loads(text.splitlines()[-1]), json.loads(recorded[-1])
    assert (last.get("done"), last.get("done_reason")) == (expected.get("done"), expected.get("done_reason"))
    assert (last.get("load_duration", 0) > 1e8) == (expected.get("load_duration", 0) > 1e8)
    assert re.sub(r"\d+", "0", str(last.get("error"))) == re.sub(r"\d+", "0", str(expected.get("error")))


@pytest.mark.parametrize("version", VERSIONS)
def test_show_has_what_a_client_reads(version):
    recorded = {case.case: case.response["lines"] for case in recordings(version)}["show"]
    got, expected = answers(version)["show"].json(), json.loads("".join(recorded))
    assert list(got) == list(expected)
    assert shape(got["details"]) == shape(expected["details"])
    assert shape(got["tensors"]) == shape(expected["tensors"])
    assert {name: type(value) for name, value in got["model_info"].items()}.items() <= {
        name: type(value) for name, value in expected["model_info"].items()
    }.items()
    assert got["capabilities"] == ["completion"]
    assert got["model_info"]["llama.context_length"] == 8192


@pytest.mark.parametrize("version", VERSIONS)
def test_long_prompts_are_counted_as_recorded(version):
    answered = answers(version)
    kept = 258 if version == VERSIONS[0] else 512
    assert answered["long-default"].json()["prompt_eval_count"] == kept
    recorded = {case.case: case for case in recordings(version)}["long-history-default"]
    expected = json.loads(recorded.response["lines"][0])["prompt_eval_count"]
    assert abs(answered["long-history-default"].json()["prompt_eval_count"] - expected) < 10


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recording_is_replayed_line_by_line(version):
    with OllamaServer(version) as server, connect(server) as client:
        for case in recordings(version):
            if case.request["path"] == "/api/chat" and case.response["status"] == 200:
                server.script(replay(case))
                got = client.post("/api/chat", json={"model": "tiny", "messages": [{"role": "user", "content": "x"}]})
                assert got.text.splitlines() == case.response["lines"]
                assert got.headers["content-type"] == case.response["content_type"]
