"""An embedder converted for a runtime that loads in a moment: near enough, whole, and never in the way."""

import gc
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support.fakes_index import copy_of_minilm, minilm

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core import cancel
from local_rag.core.child_process import Finished
from local_rag.core.errors import ModelChanged, Stopped
from local_rag.index.embed import conversion, converter, encoders, weights
from local_rag.index.embed.embedder import CONVERTER, FOLDER, SentenceTransformerEmbedder

SPEC = load_models(Settings.load()).embedder("minilm")


@pytest.fixture
def copy(converted, tmp_path):
    """A cache of one's own with the same conversion, to be damaged."""
    source = minilm().conversion_folder
    return shutil.copytree(source, tmp_path / FOLDER / source.name)


def changed(folder, **fields):
    file = folder / conversion.RECORD
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def tampered(file):
    with file.open("r+b") as stream:
        stream.seek(200)
        stream.write(b"\0\1\2\3")
    os.utime(file, ns=(1, 1))


def test_it_is_near_whole_and_its_owners(converted):
    found = minilm().conversion
    assert conversion.find(found.folder) == found and not found.why
    assert float(found.near.split()[1]) > converter.SAME
    assert (found.passages == "int8") == found.model("int8").is_file()
    assert oct(found.folder.stat().st_mode)[-3:] == "700" or sys.platform == "win32"
    assert minilm().served_by == (f"OpenVINO {conversion.version()}, {found.near}", "")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: tampered(folder / "model.bin"),
        lambda folder: (folder / "model.xml").unlink(),
        lambda folder: (folder / conversion.RECORD).write_text("{"),
        lambda folder: changed(folder, openvino="2020.1"),
        lambda folder: changed(folder, sha256=3),
    ],
)
def test_what_is_not_whole_or_of_another_version_is_not_used(tmp_path, damage):
    for name in ("model.xml", "model.bin"):
        (tmp_path / name).write_bytes(bytes(400))
    digests = {file.name: weights.sha256(file) for file in tmp_path.iterdir()}
    record = {"format": conversion.FORMAT, "openvino": conversion.version(), "sha256": digests}
    (tmp_path / conversion.RECORD).write_text(json.dumps(record))
    assert conversion.find(tmp_path) is not None
    damage(tmp_path)
    assert conversion.find(tmp_path) is None


def test_one_that_does_not_load_is_one_clear_line(copy):
    (copy / "model.xml").write_text("nothing of use")
    changed(copy, sha256={"model.xml": weights.sha256(copy / "model.xml")})
    with pytest.raises(ModelChanged, match="OpenVINO cannot load the converted embedder 'minilm': ") as caught:
        SentenceTransformerEmbedder(SPEC, copy.parents[1]).load()
    assert caught.value.hint == f"delete {copy}, and the next question converts it again"


@pytest.mark.slow
def test_damaged_leftovers_of_the_compiler_are_no_error(copy):
    embedder = SentenceTransformerEmbedder(SPEC, copy.parents[1])
    expected = embedder.embed_queries(["lamp"])
    for blob in (copy / encoders.BLOBS).iterdir():
        blob.chmod(0o600)
        blob.write_bytes(b"nothing of use")
    del embedder
    gc.collect()  # a model that is still there would be shared
    assert np.array_equal(SentenceTransformerEmbedder(SPEC, copy.parents[1]).embed_queries(["lamp"]), expected)


def test_a_question_needs_neither_torch_nor_telemetry(converted):
    code = """
import sys
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


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (Finished(None, b"", b""), "it took longer than 600 s"),
        (Finished(-9, b"", b""), "the converter ended with exit code -9"),
        (Finished(0, b'{"why": "no such layer"}\n', b""), "no such layer"),
    ],
)
def test_a_reason_is_kept_for_a_day(tmp_path, monkeypatch, done, why):
    monkeypatch.setattr(conversion.child_process, "run", lambda *_, **__: done)
    folder = tmp_path / FOLDER / "0123"
    made = conversion.convert(folder, CONVERTER, tmp_path, 254)
    assert made.why == why and list((tmp_path / FOLDER).iterdir()) == [folder] and conversion.find(folder) == made
    os.utime(folder / conversion.RECORD, (1, 1))
    assert conversion.find(folder) is None
    assert conversion.convert(folder, CONVERTER, tmp_path, 254) == conversion.find(folder) == made


def test_without_openvino_or_a_cache_sentence_transformers_stays(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    assert "cannot be written" in conversion.convert(tmp_path / "file" / FOLDER / "0123", CONVERTER, tmp_path, 254).why
    assert SentenceTransformerEmbedder(SPEC, tmp_path).served_by[0].startswith("the next question or index converts")
    monkeypatch.setattr(conversion, "version", lambda: "")
    assert conversion.convert(tmp_path / FOLDER / "0123", CONVERTER, tmp_path, 254).why == "OpenVINO is not installed"
    served_by = "sentence-transformers; OpenVINO is not installed", ""
    assert SentenceTransformerEmbedder(SPEC, tmp_path).served_by == served_by


def test_another_pooling_is_another_conversion(tmp_path):
    spec = copy_of_minilm(tmp_path / "model")
    before = SentenceTransformerEmbedder(spec, tmp_path).conversion_folder
    file = tmp_path / "model" / "1_Pooling" / "config.json"
    text = file.read_text().replace('"pooling_mode_cls_token": false', '"pooling_mode_cls_token": true')
    file.unlink()
    file.write_text(text)
    assert SentenceTransformerEmbedder(spec, tmp_path).conversion_folder != before


def test_a_stop_does_not_disturb_the_next_text(converted):
    encoder, stop = encoders.OpenVinoEncoder(minilm().conversion, "f32"), cancel.Cancel()

    def batches():
        for number in range(64):
            if number == 40:
                stop.stop()
            cancel.check()
            yield [f"The lamp {number} is lit."]

    with cancel.scope(stop), pytest.raises(Stopped):
        encoder.encode(batches())
    assert encoder.encode([["The lamp is lit.", "two"]]).shape == (2, 384)


@pytest.mark.slow
def test_eight_bits_give_nearly_the_same(converted, tmp_path):
    found, passages = minilm().conversion, converter.PASSAGES.read_text("utf-8").split("\n\n")[:12]
    plain, target = encoders.OpenVinoEncoder(found, "f32"), tmp_path / "int8.xml"
    shutil.copy(found.folder / encoders.TOKENIZER, tmp_path)
    assert converter.quantize(found.model("f32"), [plain.tokens([text]) for text in passages[::2]], target)
    exact, near = plain.encode([passages[1::2]]), conversion.Conversion(tmp_path)
    cosines = (encoders.OpenVinoEncoder(near, "int8").encode([passages[1::2]]) * exact).sum(axis=1)
    assert converter.NEAR_INT8 < cosines.min() < 1
    sizes = [model.with_suffix(".bin").stat().st_size for model in (target, found.model("f32"))]
    assert sizes[0] < sizes[1]
