"""Every response that was recorded with a real server ends, here, in a result or in an error of this project."""

import json
import re
from contextlib import ExitStack, closing

import pytest
from support.ollama_engine import QUESTION, answered, engine_on, grades, labels, passages, shown
from support.ollama_server import OllamaServer, Reply, raw, recordings, replay

from local_rag.core.errors import LocalRagError
from local_rag.engines.ollama.server import OllamaApi

NEW, OLD = VERSIONS = ("0.33.0-rc2", "0.24.0")
CASES = {(version, name): case for version in VERSIONS for name, case in recordings(version).items()}


def shape(case):
    """What tells one response from another: status, type, and the fields, end and error of its lines."""
    lines = set()
    for line in case["lines"]:
        fields = json.loads(line) if line.startswith("{") and line.endswith("}") else {"text": line}
        message, error = fields.get("message") or {}, re.sub(r"\d+", "0", str(fields.get("error", "")))
        lines.add((*sorted(fields), *sorted(message), fields.get("done_reason"), error, bool(message.get("content"))))
    return case["status"], case["content_type"], frozenset(lines), len(case["lines"]) > 1


SHAPES = {shape(case): key for key, case in CASES.items()}
every_shape = pytest.mark.parametrize(("version", "name"), sorted(SHAPES.values()))
DOCUMENTS = 4


@pytest.fixture(scope="module")
def servers():
    with OllamaServer(NEW) as new, OllamaServer(OLD) as old:
        yield {NEW: new, OLD: old}


@pytest.fixture(scope="module")
def engines(servers):
    with engine_on(servers[NEW]) as new, engine_on(servers[OLD]) as old:
        yield {NEW: new, OLD: old}


def recounted(case):
    """The recording as the reply to another prompt: only the count of its short prompt is put right."""

    def send(turn):
        lines = []
        for line in case["lines"]:
            fields = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
            short = 0 < fields.get("prompt_eval_count", 0) < 100
            lines.append(json.dumps(fields | {"prompt_eval_count": turn.prompt_tokens}) if short else line)
        raw(case["status"], case["content_type"], lines).send(turn)

    return Reply(send)


def verdict(engine, documents=None):
    """What the retrieval grader makes of it: "unparsed: why", or the kind of an error and its message."""
    documents = documents or passages(DOCUMENTS)
    try:
        verdicts = engine.relevance(QUESTION, documents)
    except LocalRagError as error:
        assert error.hint, f"an error without a next step: {error}"
        return f"{type(error).__name__}: {error}"
    assert len(verdicts) == len(documents)
    assert set(labels(verdicts)) == {"unparsed"}, "no recording holds the keys of this schema"
    assert verdicts[0].usage.unparsed == 1
    return f"unparsed: {verdicts[0].why}"


def answer(engine):
    """The text of the answer with its notes, or the kind of an error and its message."""
    try:
        pieces, text = answered(engine)
    except LocalRagError as error:
        assert error.hint, f"an error without a next step: {error}"
        return f"{type(error).__name__}: {error}"
    return " | ".join([text, *pieces[-1].usage.notes])


@every_shape
def test_whatever_a_server_said_is_a_result_or_an_error(servers, engines, version, name):
    server, engine = servers[version], engines[version]
    server.always = replay(CASES[version, name])
    assert answer(engine)
    server.always = recounted(CASES[version, name])
    assert answer(engine) and verdict(engine)


TELLING = {
    "plain": "unparsed: it was cut off after 24 tokens",
    "stop-sequence": "unparsed: expected JSON",
    "schema-cut": "unparsed: it was cut off after 12 tokens",
    "schema-enum": "unparsed: r: expected a value",
    "schema-enum-logprobs-stream": "unparsed: r: expected a value",
    "think-true": 'EngineError: tiny cannot think as it is told to: "tiny" does not support thinking',
    "model-missing": "ModelMissing: Ollama at HOST has no model tiny",
    "cloud-name": 'EngineError: Ollama at HOST reports an error (502): Post "https://ollama.com:443/api/chat',
    "bad-option": 'EngineError: Ollama at HOST reports an error (500): option "num_ctx" must be of type integer',
    "format-string-unknown": "EngineError: Ollama at HOST reports an error (500): invalid format",
    "preload": "unparsed: tiny ended its reply before it began",
    "render-only": "unparsed: the reply of tiny broke off without an end",
    "generate-past-window-both-false-stream": "unparsed: the reply of tiny broke off without an end",
    "root": "EngineError: the program at HOST is not an Ollama server",
}
TELLING_OF_THE_NEW = {
    "past-window-default": "unparsed: it was cut off after 700 tokens",
    "past-window-shift-false": "unparsed: it was cut off after 195 tokens",
    "no-cloud-cloud-name": "NotLocal: Ollama refuses tiny: ollama cloud is disabled",
    "remote-chat": 'EngineError: Ollama at HOST reports an error (500): Post "https://ollama.com:11434',
    "schema-invalid": "EngineError: Ollama at HOST reports an error (400): Field 'json_schema'",
    "think-unset-schema-th-qwen35": "EngineError: tiny generated 60 tokens and returned no text",
    "think-false-schema-th-qwen35": "unparsed: r: expected a value",
    "think-unset-schema-th-qwen3-thinking": "EngineError: tiny generated 60 tokens and returned no text",
    "think-unset-schema-th-gemma4": "unparsed: it was cut off after 60 tokens",
    "think-false-schema-th-gemma4": "unparsed: r: expected a value",
    "think-false-schema-th-harmony": "EngineError: tiny generated 14 tokens and returned no text",
    "think-low-schema-th-harmony": "EngineError: tiny generated 60 tokens and returned no text",
    "think-unset-schema-th-tpl": "EngineError: tiny generated 60 tokens and returned no text",
}
ROWS = [(version, name, said) for version in VERSIONS for name, said in TELLING.items()]
ROWS += [(NEW, name, said) for name, said in TELLING_OF_THE_NEW.items()]
ROWS += [(OLD, "schema-invalid", "EngineError: Ollama at HOST reports an error (500): invalid JSON schema in format")]


@pytest.mark.parametrize(("version", "name", "said"), ROWS)
def test_what_the_grader_makes_of_it(servers, engines, version, name, said):
    servers[version].always = recounted(CASES[version, name])
    assert verdict(engines[version]).startswith(said.replace("HOST", servers[version].host))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recording_with_the_keys_of_the_schema_is_a_verdict(servers, engines, version):
    """The streams and the white space of real servers, with this project's key and one string in place of the list."""
    case = CASES[version, "schema-array-4"]
    server, engine = servers[version], engines[version]

    def renamed(turn):
        (line,) = case["lines"]
        fields = json.loads(line.replace("scores", "r")) | {"prompt_eval_count": turn.prompt_tokens}
        said = fields["message"]["content"]
        words = " ".join(re.findall("yes|no", said))
        fields["message"]["content"] = re.sub(r"\[.*\]", f'"{words}"', said, flags=re.DOTALL)
        raw(200, case["content_type"], [json.dumps(fields)]).send(turn)

    server.always = Reply(renamed)
    verdicts = engine.relevance(QUESTION, passages(4))
    assert labels(verdicts) == ["irrelevant", "relevant", "relevant", "relevant"]
    assert verdicts[0].usage.output_tokens == 28


REFUSED = ("long-truncate-false", "long-history-truncate-false")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", REFUSED)
def test_a_recorded_refusal_of_a_long_prompt(servers, engines, version, name):
    server, engine = servers[version], engines[version]
    server.always = replay(CASES[version, name])
    before = len(server.chats)
    said = verdict(engine, passages(8, 225))
    assert said.startswith("DoesNotFit: a prompt of ")
    assert "does not fit the window of 4,096 tokens of tiny, even with one passage" in said
    if version == NEW:
        assert ("1,077" if "history" in name else "2,017") in said
        assert len(server.chats) - before <= 3, "its counts leave room for two passages at most"


CUT = [(NEW, "long-default"), (OLD, "long-default"), (OLD, "long-shift-false")]


@pytest.mark.parametrize(("version", "name"), CUT)
def test_a_recorded_cut_in_silence_is_noticed(servers, engines, version, name):
    server, engine = servers[version], engines[version]
    server.script(replay(CASES[version, name]))
    server.always = lambda body: grades("n" * len(shown(body)))
    verdicts = engine.relevance(QUESTION, passages(8, 225))
    assert set(labels(verdicts)) == {"irrelevant"}
    assert len(shown(server.chats[-1])) < 8, "the rest came in another call"


@pytest.fixture
def saying(servers, monkeypatch):
    """Return a function that makes a client of a server of this version that says what was recorded."""
    with ExitStack() as stack:

        def client(version, /, **said):
            replies = {f"/api/{path}": replay(CASES[version, name]) for path, name in said.items()}
            monkeypatch.setattr(servers[version], "instead", replies)
            return stack.enter_context(closing(OllamaApi(servers[version].host)))

        yield client


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_lists_and_cards_are_read(saying, version):
    server = saying(version, version="version", status="status", tags="tags", ps="ps-after", show="show")
    assert server.version() == version
    assert (server.cloud().disabled, server.cloud().source) == (False, "none")
    assert [(one.name, one.quantization) for one in server.installed()] == [
        ("mid:latest", "Q8_0"),
        ("tiny:latest", "Q8_0"),
    ]
    (loaded,), shown = server.loaded(), server.show("tiny")
    assert (loaded.name, loaded.window, loaded.on_gpu) == ("tiny:latest", 8192, 0)
    assert (shown.window, shown.capabilities, shown.family, shown.remote_host) == (8192, ("completion",), "llama", "")


def test_recorded_models_of_another_machine_are_known(saying):
    server = saying(NEW, status="no-cloud-status", show="remote-show", tags="remote-tags")
    assert (server.cloud().disabled, server.cloud().source) == (True, "env")
    assert server.show("afar").remote_host == "https://ollama.com:11434"
    assert "https://ollama.com:11434" in [one.remote_host for one in server.installed()]
