"""An embedder converted for a runtime that loads in a moment: near enough, whole, and never in the way."""

from __future__ import annotations

import gc
import json
import locale
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.fakes_index import copy_of_minilm
from tokenizers import Tokenizer

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core import cancel
from local_rag.core.child_process import Finished
from local_rag.core.errors import Stopped
from local_rag.index.embed import conversion, converter, encoders, weights
from local_rag.index.embed.conversion import Conversion
from local_rag.index.embed.embedder import CONVERTER, FOLDER, SentenceTransformerEmbedder

SPEC = load_models(Settings.load()).embedder("minilm")


@pytest.fixture
def copy(converted, tmp_path):
    """A cache of one's own with the same conversion, to be damaged."""
    source = SentenceTransformerEmbedder(SPEC, converted).conversion_folder
    return shutil.copytree(source, tmp_path / FOLDER / source.name)


def tokenizer():
    return Tokenizer.from_file(str(weights.folder(SPEC) / "tokenizer.json"))


def test_the_record_says_how_near_it_is_and_what_made_it(converted):
    found = SentenceTransformerEmbedder(SPEC, converted).conversion
    assert found and found.cosine > 0.9999 and found.longest == 256 and not found.why
    assert found.cosine_bf16 is None or found.cosine_bf16 > 0.999
    described = f"OpenVINO {conversion.version()}, cosine {found.cosine:.6f} to sentence-transformers"
    assert found.describe.partition("; passages in ")[0] == described
    assert oct(found.folder.stat().st_mode)[-3:] == "700" or sys.platform == "win32"


@pytest.mark.slow
def test_models_that_load_at_the_same_time_leave_the_locale_as_it_was(converted):
    before = locale.setlocale(locale.LC_CTYPE)
    model = SentenceTransformerEmbedder(SPEC, converted).conversion.model()
    with ThreadPoolExecutor(4) as threads:
        for _ in threads.map(lambda _: encoders.compiled(model, "f32", True), range(12)):
            gc.collect()  # a model that is still there would be shared
    assert locale.setlocale(locale.LC_CTYPE) == before


def test_a_question_needs_neither_torch_nor_telemetry(converted):
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
from local_rag.config.settings import Settings
from local_rag.runtime.opening import open_embedder
embedder = open_embedder(Settings.load())
assert embedder.ready
assert embedder.embed_queries(["What is lit at dusk?"]).shape == (1, 384)
print(sorted(set(sys.modules) & {"torch", "transformers", "sentence_transformers", "openvino_telemetry"}))
"""
    env = os.environ | {"LOCAL_RAG_CACHE_DIR": str(converted)}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize("name", ["model.bin", "model.xml"])
def test_what_was_tampered_with_is_not_used(copy, name):
    assert conversion.find(copy) is not None
    with (copy / name).open("r+b") as file:
        file.seek(200)
        file.write(b"\0\1\2\3")
    os.utime(copy / name, ns=(1, 1))
    assert conversion.find(copy) is None
    (copy / name).unlink()
    assert conversion.find(copy) is None


@pytest.mark.parametrize(
    "change",
    [{"format": 0}, {"openvino": "2020.1"}, {"sha256": 3}, {"longest": None, "more": 1}],
    ids=["format", "version", "sha256", "fields"],
)
def test_a_record_of_something_else_is_none(copy, change):
    file = copy / conversion.RECORD
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    assert conversion.find(copy) is None
    file.write_text("{")
    assert conversion.find(copy) is None


@pytest.mark.slow
def test_damaged_leftovers_of_the_compiler_are_no_error(copy):
    embedder = SentenceTransformerEmbedder(SPEC, copy.parents[1])
    embedder.load()
    blobs = list((copy / encoders.BLOBS).iterdir())
    assert blobs
    for blob in blobs:
        blob.chmod(0o600)
        blob.write_bytes(b"nothing of use")
    again = SentenceTransformerEmbedder(SPEC, copy.parents[1])
    assert np.allclose(again.embed_queries(["lamp"]), embedder.embed_queries(["lamp"]), atol=1e-5)


def test_without_openvino_sentence_transformers_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(conversion, "version", lambda: "")
    found = conversion.convert(tmp_path / FOLDER / "0123", CONVERTER, tmp_path, 256)
    assert found.describe == "sentence-transformers; it cannot be converted: OpenVINO is not installed"


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    found = conversion.convert(tmp_path / "file" / FOLDER / "0123", CONVERTER, tmp_path, 256)
    assert "cannot be written" in found.why


def test_a_stop_in_the_middle_leaves_nothing(tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion.child_process, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        conversion.convert(tmp_path / FOLDER / "0123", CONVERTER, tmp_path, 256)
    assert list((tmp_path / FOLDER).iterdir()) == []


@pytest.mark.parametrize("trouble", ["too slow", "killed", "no reply"])
def test_what_may_pass_is_tried_again(tmp_path, monkeypatch, trouble):
    def run(*_, **__):
        code = None if trouble == "too slow" else -2 if trouble == "killed" else 0
        return Finished(code, b"7\n" if trouble == "no reply" else b"", b"")

    monkeypatch.setattr(conversion.child_process, "run", run)
    assert conversion.convert(tmp_path / FOLDER / "0123", CONVERTER, tmp_path, 256).why
    assert conversion.find(tmp_path / FOLDER / "0123") is None


def test_vectors_that_are_no_numbers_are_not_near(monkeypatch, tmp_path):
    class Broken:
        def __init__(self, *_, **__):
            pass

        def encode(self, batches):
            for batch in batches:
                rows = np.ones((len(batch), 4), dtype=np.float32) / 2
                rows[0] = np.nan
                yield rows

    monkeypatch.setattr(encoders, "OpenVinoEncoder", Broken)
    expected = np.full((len(converter.TEXTS), 4), 0.5, dtype=np.float32)
    assert not converter.least_cosine(Conversion(tmp_path), None, "f32", expected) >= conversion.SAME


def test_another_pooling_is_another_conversion(tmp_path):
    spec = copy_of_minilm(tmp_path / "model")
    before = SentenceTransformerEmbedder(spec, tmp_path).conversion_folder
    file = tmp_path / "model" / "1_Pooling" / "config.json"
    text = file.read_text().replace('"pooling_mode_cls_token": false', '"pooling_mode_cls_token": true')
    file.unlink()
    file.write_text(text)
    assert SentenceTransformerEmbedder(spec, tmp_path).conversion_folder != before


def test_a_stopped_text_does_not_disturb_the_next(converted):
    embedder = SentenceTransformerEmbedder(SPEC, converted)
    encoder, _ = encoders.load(embedder.conversion, tokenizer(), "f32", lambda: pytest.fail("it was converted"))
    stop = cancel.Cancel()

    def batches():
        for number in range(64):
            if number == 40:
                stop.stop()
            yield [f"The lamp {number} is lit."]

    with cancel.scope(stop), pytest.raises(Stopped):
        for _ in encoder.encode(batches()):
            cancel.check()
    assert len(list(encoder.encode([["one", "two"]]))) == 1


def test_what_computes_is_said_before_anything_was_converted(tmp_path, monkeypatch):
    assert SentenceTransformerEmbedder(SPEC, tmp_path).served_by.startswith("the next question or index converts")
    assert "the cache at None cannot be written" in SentenceTransformerEmbedder(SPEC).served_by
    monkeypatch.setattr(conversion, "version", lambda: "")
    assert SentenceTransformerEmbedder(SPEC, tmp_path).served_by == "sentence-transformers; OpenVINO is not installed"


class TestAnotherKindOfModel:
    """A cross-encoder takes pairs of texts and token types: the same loading, verifying and falling back."""

    @pytest.fixture
    def scorer(self, tmp_path):
        """Converted by a process of its own: its score of a pair is the number of tokens of the second text."""
        return conversion.convert(tmp_path / "evaluators" / "ab", "support.pair_converter", tmp_path, 64)

    def test_it_is_found_and_computes_pairs(self, scorer):
        assert not scorer.why and conversion.find(scorer.folder) == scorer
        encoder, loaded = encoders.load(scorer, tokenizer(), "f32", lambda: pytest.fail("it was converted"))
        pairs = [("When is it lit?", "at dusk"), ("Why?", "")]
        assert loaded == scorer
        assert [rows.tolist() for rows in encoder.encode([pairs, pairs[:1]])] == [[[3.0], [1.0]], [[3.0]]]

    def test_what_does_not_load_falls_back(self, scorer):
        scorer.model().write_text("nothing of use")
        assert conversion.find(scorer.folder) is None
        encoder, loaded = encoders.load(scorer, tokenizer(), "f32", lambda: "its own library")
        assert encoder == "its own library" and "OpenVINO cannot load it here" in loaded.why
        assert encoders.load(None, tokenizer(), "f32", lambda: "its own library") == ("its own library", None)
