"""Eight bits: linear layers multiply bytes, and what comes out is near; the converter keeps only what is quick, too."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.fakes_index import minilm

from local_rag.index.embed import conversion, encoders
from local_rag.index.embed.conversion import Conversion
from local_rag.index.embed.devices import PASSAGES
from local_rag.index.embed.quantization import quantize

DIMENSION = 32


@pytest.fixture
def layers(tmp_path):
    """A model of two linear layers with a Gelu between them, whose input has a few channels that are far larger."""
    openvino, dice = encoders.import_openvino(), np.random.default_rng(3)
    ops = openvino.opset13
    given = ops.parameter([-1, -1, DIMENSION], np.float32, name="given")
    first, second = (dice.standard_normal((DIMENSION, DIMENSION)).astype(np.float32) for _ in range(2))
    hidden = ops.gelu(ops.matmul(given, ops.constant(first), False, True), "erf")
    model = openvino.Model([ops.matmul(hidden, ops.constant(second), False, False)], [given])
    model.inputs[0].get_tensor().set_names({"given"})
    openvino.save_model(model, str(tmp_path / "model.xml"), compress_to_fp16=False)
    return tmp_path / "model.xml"


def texts(seed, count):
    scales = np.ones(DIMENSION, dtype=np.float32)
    scales[[3, 17]] = 60
    dice = np.random.default_rng(seed)
    return [dice.standard_normal((1, 20, DIMENSION)).astype(np.float32) * scales for _ in range(count)]


def computed(model, inputs):
    compiled = encoders.compiled(model, "int8", keep=False)
    return np.concatenate([compiled({"given": values})[0][0] for values in inputs])


def test_layers_in_eight_bits_give_nearly_the_same(layers):
    target = layers.with_name("int8.xml")
    assert quantize(layers, [{"given": values} for values in texts(1, 20)], target)
    exact, near = computed(layers, texts(2, 5)), computed(target, texts(2, 5))
    cosines = (exact * near).sum(axis=1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(near, axis=1)
    assert 0.995 < cosines.min() < 1, "two channels of 60 leave the others enough steps"
    graph = encoders.import_openvino().Core().read_model(str(target))
    constants = [
        node.get_element_type().get_type_name() for node in graph.get_ops() if node.get_type_name() == "Constant"
    ]
    assert constants.count("i8") == 2, "weights take a byte each"


def test_a_model_without_linear_layers_stays_as_it_is(tmp_path):
    openvino = encoders.import_openvino()
    given = openvino.opset13.parameter([-1, -1, 4], np.float32)
    model = openvino.Model([openvino.opset13.relu(given)], [given])
    openvino.save_model(model, str(tmp_path / "model.xml"), compress_to_fp16=False)
    assert not quantize(tmp_path / "model.xml", [{}], tmp_path / "int8.xml")


@pytest.mark.parametrize(
    ("bf16", "int8", "speed", "chosen"),
    [
        (0.9999, None, None, "bf16"),
        (None, 0.995, 2.0, "int8"),
        (0.99, 0.995, 2.0, "int8"),
        (None, 0.98, 2.0, "f32"),
        (None, 0.995, 1.1, "f32"),
        (None, None, None, "f32"),
    ],
)
def test_passages_get_the_quickest_precision_that_is_near_enough(tmp_path, bf16, int8, speed, chosen):
    made = Conversion(tmp_path, cosine_bf16=bf16, cosine_int8=int8, speed_int8=speed)
    assert made.for_passages == chosen
    assert ("passages in" in made.describe) == (chosen != "f32")


def test_minilm_in_eight_bits_is_kept_where_the_record_says_so(converted):
    found = minilm().conversion
    assert conversion.find(found.folder) == found
    assert (found.for_passages == "int8") == found.model("int8").is_file()
    if found.cosine_int8 is not None:  # a processor without bfloat16
        assert found.cosine_int8 > conversion.NEAR_INT8
    named = json.loads((found.folder / conversion.RECORD).read_text())["sha256"]
    assert set(named) == {path.name for path in found.folder.iterdir() if path.suffix in (".xml", ".bin")}


def test_calibration_passages_are_of_all_lengths():
    passages = PASSAGES.read_text(encoding="utf-8").split("\n\n")
    lengths = sorted(map(len, passages))
    assert len(passages) >= 60 and lengths[0] < 150 and lengths[-1] > 900
