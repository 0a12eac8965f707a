"""A server that speaks OpenAI's API: the contract of engines over HTTP, forms of replies, windows, and the guard."""

from contextlib import contextmanager

import pytest
from support.engine_contract import PASSAGES, EngineContract
from support.ollama_engine import labels, passages
from support.ollama_mind import mind
from support.ollama_server import cut, error, no_done, raw, redirect, say, stall
from support.openai_server import OpenAIServer

from local_rag.config.models import OllamaModelSpec
from local_rag.config.values import Ollama
from local_rag.core.errors import EngineError, ModelMissing, NotLocal, UsageError
from local_rag.core.protocols import Attempt
from local_rag.engines.openai.engine import OpenAIEngine
from local_rag.engines.openai.server import OpenAIApi

QUESTION = "What does the plan cost?"
YES, FULLY = '{"r": "yes yes"}', '{"s": "fully", "u": 5}'


@pytest.fixture
def server():
    with OpenAIServer() as server:
        server.always = mind
        yield server


@contextmanager
def engine_on(server, model="", explain=False, spec=None, **settings):
    config = Ollama(**settings)
    api = OpenAIApi(getattr(server, "base_url", server))
    engine = OpenAIEngine(api, (spec or OllamaModelSpec()).model_copy(update={"name": model}), config, explain=explain)
    try:
        yield engine
    finally:
        engine.close()


class TestAServerOfOpenAIsApiKeepsTheContract(EngineContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls):
        with OpenAIServer() as server, engine_on(server) as engine:
            server.always = mind
            yield engine


@pytest.mark.parametrize(("forms", "asked"), [((), 3), (("json_object",), 2), (("json_schema",), 1)])
def test_the_strictest_form_that_a_server_knows_is_asked_for(server, forms, asked):
    server.forms = forms
    server.always = YES
    with engine_on(server) as engine:
        assert labels(engine.relevance(QUESTION, passages())) == ["relevant", "relevant"]
        engine.relevance(QUESTION, passages())
    tried = [(body.get("response_format") or {}).get("type") for body in server.chats]
    assert tried == [*["json_schema", "json_object", None][:asked], (*forms, None)[0]]
    body = server.chats[0]
    assert body["response_format"]["json_schema"]["schema"]["properties"].keys() == {"r"}
    assert (body["temperature"], body["stream"]) == (0.0, True)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(("kind", "window"), [("llama.cpp", 2000), ("vLLM", 2000), ("LM Studio", 2000), ("Jan", 4096)])
def test_the_window_is_what_the_server_tells(kind, window):
    with OpenAIServer(kind, window=2000) as server:
        with engine_on(server) as engine:
            assert engine.setups["grader"].num_ctx == window
            assert f"openai: tiny (window {window:,} tokens) at {server.host}/v1" in engine.describe
        with engine_on(server, spec=OllamaModelSpec(num_ctx=1000)) as engine:
            assert engine.setups["grader"].num_ctx == 1000


def test_passages_are_given_up_where_a_prompt_does_not_fit(server):
    server.window, server.kind = 1500, "Jan"
    with engine_on(server) as engine:
        pieces = list(engine.answer(QUESTION, passages(6, words=400), Attempt()))
    assert "left out" in pieces[-1].usage.notes[0]


@pytest.mark.parametrize("broken", [cut(3), no_done("It costs"), say("")])
def test_a_reply_that_breaks_off_is_asked_for_once_more(server, broken):
    server.script(broken, "It costs 100 euros [1].")
    with engine_on(server) as engine:
        pieces = list(engine.answer(QUESTION, passages(), Attempt()))
    assert "".join("" if piece.restart else piece.text for piece in pieces).endswith("It costs 100 euros [1].")
    assert server.chats[1]["seed"] != server.chats[0]["seed"]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (error(500, "out of memory"), "reports an error \\(500\\): out of memory"),
        (stall(1, 60), "stopped in the middle of its reply"),
        (raw(200, "text/event-stream", ['data: {"error": {"message": "it broke"}}\n\n']), "it broke"),
        (raw(200, "text/event-stream", ["data: no JSON\n\n"]), "does not speak OpenAI's API"),
    ],
)
def test_a_failure_is_one_line(server, reply, said):
    server.script(reply)
    with engine_on(server, idle_seconds=0.1) as engine, pytest.raises(EngineError, match=said) as caught:
        list(engine.answer(QUESTION, passages(), Attempt()))
    assert caught.value.hint and "\n" not in str(caught.value)


# --- the guard and the names


def test_no_word_goes_to_another_machine_or_after_a_redirect(server):
    with pytest.raises(NotLocal, match=r"models\.example\.org:443 is not this machine") as caught:
        OpenAIApi("https://models.example.org/v1")
    assert "LOCAL_RAG_OPENAI_ALLOW_HOSTS=models.example.org" in caught.value.hint
    OpenAIApi("https://models.example.org/v1", ("models.example.org",)).close()
    for wrong in ("127.0.0.1:8080", "ftp://127.0.0.1/v1", "http://user@127.0.0.1/v1", "http://127.0.0.1/v1?key=1", ""):
        with pytest.raises(UsageError, match=r"openai\.base_url is a URL"):
            OpenAIApi(wrong)
    server.instead["/v1/chat/completions"] = redirect("https://models.example.org/")
    with engine_on(server) as engine, pytest.raises(NotLocal, match="redirects to https://models"):
        engine.relevance(QUESTION, PASSAGES)


def test_which_model_answers():
    with OpenAIServer(models=("first", "second", "text-embedding-small")) as server:
        for name, kind, said in (
            ("", UsageError, "has first and second: name the model"),
            ("third", ModelMissing, "no model third; it has first and second"),
        ):
            with pytest.raises(kind, match=said), engine_on(server, name):
                pass
        with engine_on(server, "second") as engine:
            assert engine.name == "openai/second" and engine.fingerprint.startswith("openai ")


# --- whole commands


def test_ask_doctor_and_models_know_it(server, converted, tmp_path, monkeypatch, said):
    monkeypatch.setenv("LOCAL_RAG_OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("LOCAL_RAG_ENGINE", "openai")
    (tmp_path / "lamp.md").write_text("# Lamp\n\nThe lamp of the lighthouse is lit at dusk.\n")
    said(f"index {tmp_path}")
    shown = said.shown("ask 'When is the lamp of the lighthouse lit?' --graph self-rag")
    assert "lit at dusk" in shown.out and "engine: openai: tiny" in shown.err
    models = said("models")
    assert f"tiny, window 4,096 tokens, served at {server.host}/v1" in models and "ollama/bge-m3" in models
    assert "openai: tiny" in said.out("models try", None)
    found = said("doctor", None)
    assert f"server: tiny at {server.host}/v1" in found and "schema: tiny kept to the form" in found
    server.close()
    assert f"server: no server answers at {server.host}/v1" in said("doctor", 1)
    assert "no server answers" in said("models")
