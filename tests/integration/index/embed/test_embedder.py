"""Every embedder keeps the contract; the real one loads late, quietly, and only the weights it was promised."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from support.fakes_index import TEXTS, converted_copy_of_minilm, copy_of_minilm, minilm

from local_rag.core import cancel
from local_rag.core.errors import ConfigError, ModelChanged, ModelMissing, Stopped
from local_rag.index.embed import embedder, encoders
from local_rag.index.embed.embedder import SentenceTransformerEmbedder

pytestmark = pytest.mark.usefixtures("converted")


def test_unit_rows_of_float32():
    for embed in (minilm().embed_documents, minilm().embed_queries):
        rows = embed(TEXTS)
        assert rows.shape == (len(TEXTS), minilm().dimension) and rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
        assert embed([]).shape == (0, minilm().dimension)


@pytest.mark.slow
def test_a_row_does_not_depend_on_its_neighbours_and_threads_share_one_model():
    texts = [*TEXTS[:-1], "word " * 60]
    alone = np.vstack([minilm().embed_documents([text]) for text in texts])
    assert np.allclose(minilm().embed_documents(texts[::-1])[::-1], alone, atol=1e-5)
    with ThreadPoolExecutor(4) as threads:
        each = threads.map(minilm().embed_documents, [texts] * 4)
        assert all(np.allclose(rows, alone, atol=1e-5) for rows in each)


def test_tokens_end_in_order_within_the_text(monkeypatch):
    monkeypatch.setattr(embedder, "SLICE", 1_000)
    part = "Naïve tests: don't fail, 日本語 too. "
    ends = minilm().token_ends(part * 100)
    assert all(a <= b for a, b in pairwise(ends)) and len(minilm().token_ends("")) == 0
    assert len(ends) == 100 * len(minilm().token_ends(part))
    assert (part * 100)[: ends[-2]].endswith(" too") and part[: ends[0]] in ("Naïve", "Na")


def test_other_weights_than_promised_or_none_are_refused(tmp_path):
    spec = copy_of_minilm(tmp_path / "model", sha256="0" * 64)
    with pytest.raises(ModelChanged, match="SHA-256 000000000000… expected, 53aa51172d14… in"):
        SentenceTransformerEmbedder(spec).embed_documents(["text"])
    (tmp_path / "model" / "tokenizer.json").unlink()
    with pytest.raises(ModelMissing, match=r"no tokenizer\.json"):
        SentenceTransformerEmbedder(spec).token_ends("text")


@pytest.mark.slow
def test_a_wrong_dimension_is_an_error_not_a_mess(tmp_path):
    embedder = converted_copy_of_minilm(tmp_path, dimension=100)
    with pytest.raises(ConfigError, match="100 dimensions, but it gives 384"):
        embedder.embed_documents(["text"])


def test_the_fingerprint_follows_weights_and_prefixes_not_names(tmp_path):
    known = minilm().fingerprint
    spec = copy_of_minilm(tmp_path / "model", sha256="", name="other")
    assert SentenceTransformerEmbedder(spec, tmp_path).fingerprint == known
    embedder = converted_copy_of_minilm(tmp_path / "prefixed", document_prefix="passage: ")
    assert embedder.fingerprint != known and embedder.window == 252
    assert not np.allclose(embedder.embed_documents(["lamp"]), embedder.embed_queries(["lamp"]), atol=0.01)


def test_a_stop_is_heard_and_the_vector_of_a_question_is_there_already():
    stop = cancel.Cancel()
    with cancel.scope(stop):
        (first,) = minilm().embed_queries(["When is the lamp lit?"])
        stop.stop()
        assert np.array_equal(minilm().embed_queries(["When is the lamp lit?"] * 2), [first, first])
        with pytest.raises(Stopped):
            minilm().embed_queries(["When is it put out?"])


@pytest.mark.slow
def test_a_device_that_is_not_there_is_one_clear_line(tmp_path, monkeypatch, said):
    found = encoders.device("auto")
    (tmp_path / "note.md").write_text("The lamp is lit at dusk.")
    for name in {"cuda", "mps"} - {found}:
        monkeypatch.setenv("LOCAL_RAG_DEVICE", name)
        assert said(f"index {tmp_path / 'note.md'}", 2).splitlines()[-2:] == [
            f"error: device: {name} is not there; PyTorch finds {found}",
            "hint: LOCAL_RAG_DEVICE=auto local-rag index",
        ]
    monkeypatch.setenv("LOCAL_RAG_DEVICE", "auto")
    assert f"device: passages are embedded on {found}" in said("doctor", None)
