"""Test what loads PyTorch: the converter in its process, and sentence-transformers without a conversion."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.fakes_index import TEXTS, copy_of_minilm

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.index.embed import conversion, weights
from local_rag.index.embed.embedder import SentenceTransformerEmbedder

SPEC = load_models(Settings.load()).embedder("minilm")


def test_its_vectors_are_those_of_sentence_transformers(converted):
    reference = SentenceTransformerEmbedder(SPEC).embed_documents(TEXTS)
    plain = SentenceTransformerEmbedder(SPEC, converted)
    assert (plain.embed_documents(TEXTS) * reference).sum(axis=1).min() > 0.9999
    assert (plain.embed_queries(TEXTS) * reference).sum(axis=1).min() > 0.9999
    quick = SentenceTransformerEmbedder(SPEC, converted, quick=True)
    least = {"f32": 0.9999, "bf16": 0.999, "int8": 0.95}[quick.conversion.passages]  # one word, 300 times: .968
    assert (quick.embed_documents(TEXTS * 5) * np.tile(reference, (5, 1))).sum(axis=1).min() > least


def test_a_model_that_cannot_be_converted_says_why_once(converted, tmp_path, monkeypatch):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "modules.json").write_text("[{}]")
    spec = copy_of_minilm(tmp_path / "model", name="other", query_prefix="query: ")
    embedder = SentenceTransformerEmbedder(spec, tmp_path)
    convert = conversion.convert
    monkeypatch.setattr(conversion, "convert", lambda *_: pytest.fail("it was tried again"))
    refused = convert(embedder.conversion_folder, "local_rag.index.embed.converter", tmp_path / "odd", 254)
    assert refused.why and conversion.find(embedder.conversion_folder) == refused
    assert not list(tmp_path.glob("embedders/*.*")) and not embedder.ready
    assert embedder.embed_queries(["lamp"]).shape == (1, 384)
    assert embedder.served_by[0] == f"sentence-transformers; it cannot be converted: {refused.why}"


def test_a_disk_that_was_full_once_is_no_reason_for_ever(tmp_path, monkeypatch):
    model, folder = weights.folder(SPEC), tmp_path / "embedders" / "0123"
    monkeypatch.setattr(conversion.shutil, "disk_usage", lambda _: SimpleNamespace(free=20_000_000))
    refused = conversion.convert(folder, "local_rag.index.embed.converter", model, 254)
    assert refused.why.startswith("it needs ") and not list(folder.parent.iterdir()), "nothing is remembered"
