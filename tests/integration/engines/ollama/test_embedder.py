"""An embedder of Ollama keeps the contract over HTTP; whole commands index, search and change to it."""

import dataclasses
import threading
from itertools import pairwise

import numpy as np
import pytest
from support.ollama_server import Model, digest

from local_rag.config.models import OllamaEmbedderSpec
from local_rag.config.values import Ollama
from local_rag.core import cancel
from local_rag.core.errors import EngineError, ModelMissing, NotLocal, ServerDown, Stopped
from local_rag.engines.ollama.embedder import OllamaEmbedder
from local_rag.engines.ollama.server import OllamaApi

TEXTS = ["The lamp is lit at dusk.", "Größe und Gewicht", "", "日本語の文", "lamp " * 200]


@pytest.fixture
def server(ollama):
    ollama.models["embed:latest"] = Model(window=512, dimension=64)
    return ollama


def embedder_on(server, name="embed", allow_cloud=(), **spec):
    settings = Ollama(host=server.host, allow_cloud=allow_cloud)
    return OllamaEmbedder(OllamaApi(settings.host), OllamaEmbedderSpec(name=name, **spec), settings)


def asked(server):
    return [request.body for request in server.requests if request.path == "/api/embed"]


def test_unit_rows_of_float32_that_do_not_depend_on_their_neighbours(server):
    embedder = embedder_on(server)
    for embed in (embedder.embed_documents, embedder.embed_queries):
        rows = embed(TEXTS)
        assert rows.shape == (len(TEXTS), 64) and rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
        assert np.allclose(rows, np.vstack([embed([text]) for text in TEXTS]), atol=1e-6)
        assert embed([]).shape == (0, 64)
    assert len(embedder.embed_documents(["text"] * 50)) == 50
    assert all(len(body["input"]) <= 16 and body["truncate"] is False for body in asked(server))
    assert {body["options"]["num_ctx"] for body in asked(server)} == {512}


def test_tokens_end_in_order_and_the_window_leaves_room_for_the_prefix(server):
    ends = embedder_on(server).token_ends("Naïve tests: don't fail, 日本語 too. 123 ")
    assert all(a < b for a, b in pairwise(ends)) and ends[0] == 4 and len(embedder_on(server).token_ends("")) == 0
    plain, prefixed = embedder_on(server), embedder_on(server, query_prefix="q: ", document_prefix="passage: ")
    assert 0 < prefixed.window < plain.window < 512
    prefixed.embed_documents(["a"]), prefixed.embed_queries(["a"])
    assert [body["input"] for body in asked(server)][-2:] == [["passage: a"], ["q: a"]]


def test_the_fingerprint_follows_the_digest_and_the_prefixes(server):
    known = embedder_on(server).fingerprint
    assert embedder_on(server, "embed:latest").fingerprint == known
    assert embedder_on(server, query_prefix="q: ").fingerprint != known
    server.models["other:latest"] = dataclasses.replace(server.models["embed:latest"])
    assert embedder_on(server, "other").fingerprint != known


def test_a_text_that_is_too_long_is_embedded_by_its_halves(server):
    long = " ".join(f"word{number}" for number in range(800))
    (row,) = embedder_on(server).embed_documents([long])
    first, second = embedder_on(server).embed_documents([long[: len(long) // 2], long[len(long) // 2 :]])
    assert row @ first > 0.5 and row @ second > 0.5


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("none", ModelMissing, "has no model none, and the embedder ollama/none needs one"),
        ("tiny", EngineError, "tiny is no embedding model"),
        ("embed:cloud", NotLocal, r"would send your question and passages to ollama\.com"),
        ("away", NotLocal, r"to https://example\.org"),
    ],
)
def test_a_model_that_is_not_there_does_not_embed_or_is_elsewhere_is_one_line(server, name, error, said):
    server.models["away:latest"] = Model(remote_host="https://example.org", dimension=64)
    with pytest.raises(error, match=said) as caught:
        embedder_on(server, name).embed_queries(["a secret"])
    assert caught.value.hint
    assert not any("a secret" in body["input"] for body in asked(server) if name != "tiny")


def test_a_server_that_is_down_is_named_with_the_embedder(server):
    embedder = embedder_on(server, dimension=64)
    server.close()
    with pytest.raises(ServerDown, match="and the embedder ollama/embed needs one"):
        embedder.embed_queries(["a"])


def test_a_stop_ends_a_call_that_waits(server):
    embedder, stop = embedder_on(server, dimension=64), cancel.Cancel()
    embedder.load()
    server.embed_pace = 60.0
    threading.Timer(0.1, stop.stop).start()
    with cancel.scope(stop), pytest.raises(Stopped):
        embedder.embed_queries(["a"])
    server.wait_idle()
    assert server.requests[-1].aborted


@pytest.mark.slow
def test_index_search_and_change_to_it(server, tmp_path, said):
    (tmp_path / "lamp.md").write_text("# Lamp\n\nDie Leuchtturmlampe wird abends angezündet.")
    (tmp_path / "soup.md").write_text("# Soup\n\nKochen Sie die Suppe langsam.")
    said(f"index {tmp_path} --embedder ollama/embed")
    assert said.out("search Leuchtturmlampen --mode dense").index("lamp.md") < 200
    assert "* ollama/embed " in said("models")
    installed = f"ollama/embed: 64 dimensions, installed, digest {digest('embed:latest')[:12]}"
    assert installed in said("doctor", None)
    server.models["second:latest"] = Model(dimension=32)
    assert "was made with the embedder 'ollama/embed'" in said("search lamp --embedder ollama/second", 1)
    said("index --reembed --embedder ollama/second")
    said("search Leuchtturmlampen --mode dense")
    assert {body["model"] for body in asked(server)[-1:]} == {"second"}
