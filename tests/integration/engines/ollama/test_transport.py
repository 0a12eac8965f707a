"""The connection to Ollama: to one address and no other, whole, one call at a time, and hung up when told to."""

import asyncio
import socket
import threading

import httpx
import pytest
from support.engine_contract import FULL_CATALOG
from support.ollama_engine import QUESTION, answered, engine_on, labels, load_ahead, passages
from support.ollama_server import OllamaServer

from local_rag.config.values import Ollama
from local_rag.core.address import address
from local_rag.core.errors import NotLocal, ServerDown
from local_rag.core.protocols import Attempt, Turn
from local_rag.engines.calls import ChatRequest
from local_rag.engines.ollama.engine import OllamaCalls
from local_rag.engines.ollama.server import OllamaApi
from local_rag.engines.ollama.transport import GuardedTransport


@pytest.fixture
def elsewhere():
    """A second server, which nobody should ask."""
    with OllamaServer() as server:
        yield server
        assert server.requests == []


def every_task(engine):
    engine.route(QUESTION, FULL_CATALOG)
    engine.relevance(QUESTION, passages())
    answered(engine)
    answered(engine, attempt=Attempt(2, (("It is free [1].", "not supported"),)))
    engine.grade(QUESTION, passages(), "It costs 100 euros [1].")
    engine.rewrite(QUESTION, [QUESTION], "web")
    engine.standalone("And why?", [Turn(QUESTION, "100 euros.")])


# --- where to ---------------------------------------------------------------------------------------------------------


def test_the_transport_asks_its_one_address(ollama, elsewhere):
    here = address(ollama.host)
    with httpx.Client(transport=GuardedTransport(here), trust_env=False) as client:
        assert client.get(f"http://{ollama.host}/").text == "Ollama is running"
        for url in (
            f"http://{elsewhere.host}/",
            f"https://{ollama.host}/",
            f"http://localhost:{here.port}/",
            "http://box.test:11434/",
            "http://127.0.0.1/",
        ):
            with pytest.raises(NotLocal, match=f"was refused: only {ollama.host} is asked"):
                client.get(url)
    assert len(ollama.requests) == 1


def test_localhost_needs_no_resolver(ollama):
    port = address(ollama.host).port
    with engine_on(f"localhost:{port}") as engine:
        assert labels(engine.relevance(QUESTION, passages())) == ["relevant", "relevant"]
        assert engine.describe.endswith(f"at localhost:{port}, Ollama 0.33.0-rc2")
    ollama.close()
    with pytest.raises(ServerDown, match="no Ollama server answers at localhost"):
        OllamaApi(f"localhost:{port}").version()


@pytest.mark.parametrize("host", ["[::1]", "localhost"])
def test_a_server_that_listens_on_ipv6_only(host):
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")

    def answer():
        connection, _ = listener.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{"version":"0.6"}')

    thread = threading.Thread(target=answer)
    thread.start()
    with listener:
        server = OllamaApi(f"{host}:{listener.getsockname()[1]}")
        assert server.version() == "0.6"
        server.close()
        thread.join()


def test_the_environment_leads_nowhere_else(ollama, engine, elsewhere, monkeypatch):
    away = f"http://{elsewhere.host}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, away)
        monkeypatch.setenv(name.lower(), away)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", away)
    monkeypatch.setenv("OLLAMA_API_KEY", "a secret")
    every_task(engine)
    assert list(engine.server.pull("llama3.2:3b"))
    assert len(ollama.chats) == 7
    for request in ollama.requests:
        assert "authorization" not in request.headers
        assert "a secret" not in str(request.headers)


def test_the_asynchronous_client_goes_nowhere(ollama, engine):
    request = ChatRequest("grader", engine.setups["grader"], [("user", "x")], 8)
    chat = OllamaCalls(engine.server, Ollama()).client(request)
    before = len(ollama.requests)
    with pytest.raises(NotLocal, match="no asynchronous connection"):
        asyncio.run(chat.ainvoke("x"))
    assert len(ollama.requests) == before


# --- what is sent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grading", ["packed", "each"])
def test_every_call_has_the_options_that_keep_the_model_loaded(ollama, grading, keep_alive="1h30m"):
    with engine_on(ollama, grading=grading, keep_alive=keep_alive) as engine:
        load_ahead(engine, ollama)
        every_task(engine)
    verdicts = [True, True, False, False, True, False, False]
    schemas = verdicts if grading == "packed" else [*verdicts[:2], True, *verdicts[2:5], True, *verdicts[5:]]
    assert [bool(body.get("format")) for body in ollama.chats] == schemas, "a text has none"
    for schema in [body["format"] for body in ollama.chats if body.get("format")]:
        assert schema["additionalProperties"] is False and schema["required"] == list(schema["properties"])
        assert all(len(key) == 1 for key in schema["properties"]), "every token of a reply takes time"
    for body in ollama.chats:
        assert (body["truncate"], body["shift"], body["think"]) == (False, False, False)
        assert (body["keep_alive"], body["options"]["num_ctx"], body["model"]) == (keep_alive, 4096, "tiny")
        assert body["options"]["num_predict"] > 0
        assert body["options"]["seed"] == (43 if body["options"]["temperature"] else 42)
        assert body["stream"] is True
    (preload,) = ollama.preloads
    assert (preload["truncate"], preload["shift"], preload["keep_alive"]) == (False, False, keep_alive)
    assert preload["options"] == {"num_ctx": 4096}
    assert ollama.loads == 1


def test_other_requests_are_left_as_they_are(ollama, engine):
    list(engine.server.pull("llama3.2:3b"))
    engine.server.loaded()
    bodies = {request.path: request.body for request in ollama.requests}
    assert len(bodies) == len(ollama.requests), "a model of several roles is looked at once"
    assert bodies["/api/show"] == {"model": "tiny"}
    assert not {"truncate", "shift"} & bodies["/api/pull"].keys()
    assert bodies["/api/version"] is bodies["/api/ps"] is None
