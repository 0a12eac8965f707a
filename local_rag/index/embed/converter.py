"""The process that converts: `python -m local_rag.index.embed.converter MODEL WINDOW FOLDER`, JSON on stdout.

For processors without bfloat16 the linear layers of an embedder also get eight bits, by SmoothQuant (Xiao et al., ICML
2023, arXiv 2211.10438): before a layer y = x W, channel j of x is divided by s_j = max|x_j|^SHARE / max|W_j|^(1-SHARE),
and row j of W multiplied by it (equation 4), so that no channel needs most of the 256 steps. Ranges of x are observed
on calibration texts; a weight has the range of its output channel. The rest of the model (embeddings, attention,
normalization, pooling) stays in float32, and so does the first half of the layers that narrow a hidden state, whose
errors all later layers multiply.
"""

from __future__ import annotations

import json
import os
import sys
import time
import timeit
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

from local_rag.core import process
from local_rag.core.child_process import reply_stream
from local_rag.index.embed import encoders
from local_rag.index.embed.conversion import Conversion, Precision
from local_rag.text.display import printable, shorten

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

SAME = 0.9999
"""The least agreement (cosine) of a converted model in float32 with the original, on any text."""
NEAR_BF16 = 0.999
"""The least agreement in bfloat16."""
NEAR_INT8 = 0.99
"""The least agreement in eight bits, on passages that the ranges were not observed on."""
FASTER = 1.3
"""The least ratio of the passages per second of the processor in eight bits to those in float32."""
SHARE = 0.7
"""The share of the difference between channels that the weights take over: docs/measurements.md."""
_NARROWEST = 1e-5
"""The least range of a channel, for one that is always 0."""

PASSAGES = Path(__file__).with_name("calibration.txt")
"""The file of passages of documents of our own, short and long, between empty lines; a few in other languages."""

TEXTS = (
    "",
    "a",
    "Notice must be given three months before the end of the quarter.",
    "What is the notice period?",
    "The lamp of the lighthouse is lit at dusk and put out at dawn; the keeper writes both times into the log.",
    "Größe, naïveté, façade — «quotes», “marks” and a dash.",
    "Договор может быть расторгнут обеими сторонами. 日本語の文も一つ。 والعربية أيضا",
    "def fuse(rankings): return {chunk: 1 / (60 + rank) for rank, chunk in enumerate(rankings, start=1)}",
    "E = mc², 3.14159, 2026-11-21, 1,000,000 €, +49 30 123456, a@example.org",
    "  white space \t around\nand inside  ",
    "MIXED Case and punctuation!? (in brackets) [and more] {still}",
    "Cheese contains calcium. " * 12,
    "One long passage that goes on beyond the window of the model, so that it must be cut off. " * 60,
    "supercalifragilisticexpialidocious" * 8,
)
"""Texts to compare with: short and long, beyond the window, several scripts, code, figures, nothing at all."""


def run(convert: Callable[..., dict[str, Any]]) -> None:
    """Run the whole life of a converting process.

    `convert` gets MODEL (a path), WINDOW (tokens) and FOLDER (a path), writes model.xml and model.bin, and returns the
    fields of `Conversion`. What it raises is returned as `why`.
    """
    process.prepare_own_process()
    replies = reply_stream()
    model, window, folder = sys.argv[1:]
    try:
        reply = convert(Path(model), int(window), Path(folder))
    except Exception as error:  # any model, any library: the reason travels
        reply = {"why": shorten(printable(f"{type(error).__name__}: {error}"), 160)}
    replies.write(json.dumps(reply).encode() + b"\n")
    replies.flush()
    os._exit(0)


def convert(model: Path, window: int, folder: Path) -> dict[str, Any]:
    """Convert an embedder: everything from tokens to the vector, pooling included."""
    original = encoders.TorchEncoder(model, window)
    tokenizer, own = original.model.tokenizer, Tokenizer.from_file(str(model / encoders.TOKENIZER))
    own.enable_truncation(original.model.max_seq_length)
    own.enable_padding(pad_id=tokenizer.pad_token_id, pad_token=tokenizer.pad_token)
    own.save(str(folder / encoders.TOKENIZER))
    tokens = tokenizer(list(TEXTS[2:5]), padding=True, truncation=True, return_tensors="pt")
    write_openvino(original.model, ({name: tokens[name] for name in ("input_ids", "attention_mask")},), folder)
    expected, draft = original.encode([TEXTS]), Conversion(folder)
    cosine = least_cosine(draft, "f32", expected)
    if not cosine >= SAME:
        return {"why": f"converted, its vectors differ: cosine {cosine:.6f}"}
    near = f"cosine {cosine:.6f} to sentence-transformers"
    bf16 = "BF16" in encoders.import_openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    passages, cosine = "bf16", least_cosine(draft, "bf16", expected) if bf16 else 0.0
    if not cosine >= NEAR_BF16:
        passages, cosine = "int8", in_eight_bits(draft)
    if not cosine:
        return {"near": near}
    return {"near": f"{near}; passages in {passages}, cosine {cosine:.4f}", "passages": passages}


def write_openvino(module: Any, example: Any, folder: Path) -> None:
    """Write a PyTorch module as model.xml and model.bin; `example` are its arguments, of any number and length.

    Of a sentence-transformer only the vector is kept.
    """
    openvino = encoders.import_openvino()
    graph = openvino.convert_model(module, example_input=example)
    vectors = [port for port in graph.outputs if "sentence_embedding" in port.get_names()]
    graph = openvino.Model(vectors or graph.outputs, graph.get_parameters())
    openvino.save_model(graph, str(folder / "model.xml"), compress_to_fp16=False)


def least_cosine(conversion: Conversion, precision: Precision, expected: Vectors) -> float:
    """Return the least cosine to `expected`, the vectors of `TEXTS`: of each text alone, and of all in batches of
    three.
    """
    encoder = encoders.OpenVinoEncoder(conversion, precision)
    batches = ([TEXTS[first : first + size] for first in range(0, len(TEXTS), size)] for size in (1, 3))
    return min(_cosine(encoder.encode(each), expected) for each in batches)


def _cosine(rows: Vectors, expected: Vectors) -> float:
    """Return the least cosine of all rows; 0 if one is no number."""
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(expected, axis=1)
    return float(np.nan_to_num((rows * expected).sum(axis=1) / np.maximum(norms, 1e-12)).min())


def in_eight_bits(conversion: Conversion) -> float:
    """Write the model in eight bits as well, and return how near it is (cosine); 0 where it is not near and quick
    enough.

    Ranges are observed on three of four passages of `PASSAGES`, the others are compared with float32.
    """
    passages = PASSAGES.read_text(encoding="utf-8").split("\n\n")
    observed, compared = [text for number, text in enumerate(passages) if number % 4], passages[::4]
    plain = encoders.OpenVinoEncoder(conversion, "f32")
    target = conversion.model("int8")
    if not quantize(conversion.model("f32"), [plain.tokens([text]) for text in observed], target):
        return 0.0
    quick = encoders.OpenVinoEncoder(conversion, "int8")
    cosine = _cosine(quick.encode([compared]), plain.encode([compared]))
    if cosine >= NEAR_INT8 and _seconds(plain, compared) >= FASTER * _seconds(quick, compared):
        return cosine
    target.unlink()
    target.with_suffix(".bin").unlink()
    return 0.0


def _seconds(encoder: encoders.OpenVinoEncoder, texts: list[str]) -> float:
    """Return the seconds of the processor that encoding takes."""
    return min(timeit.repeat(lambda: encoder.encode([texts]), repeat=3, number=1, timer=time.process_time))


def quantize(model: Path, feeds: Iterable[Mapping[str, Any]], target: Path) -> bool:
    """Write `model` (model.xml in float32) as `target`, its linear layers in eight bits; return False if it has none.

    `feeds` are the inputs by name, (1, tokens) each, on which the ranges are observed.
    """
    openvino = encoders.import_openvino()
    ops, graph = openvino.opset13, openvino.Core().read_model(str(model))
    products = [node for node in graph.get_ordered_ops() if node.get_type_name() == "MatMul"]
    constant = [node for node in products if node.input_value(1).get_node().get_type_name() == "Constant"]
    layers = [node for node in constant if node.input_value(0).get_partial_shape().rank == 3]
    narrowing = [node.get_friendly_name() for node in layers if _weight(node).shape[0] < _weight(node).shape[1]]
    kept = narrowing[: -(-len(narrowing) // 2)]
    by_input: dict[Any, list[Any]] = {}  # query, key and value have one input, which is divided and rounded once
    for layer in layers:
        if layer.get_friendly_name() not in kept:
            by_input.setdefault(layer.input_value(0), []).append(layer)
    if not by_input:
        return False
    axes = ops.constant(np.array([0, 1]))
    ranges = [reduce(given, axes) for given in by_input for reduce in (ops.reduce_min, ops.reduce_max)]
    observed = openvino.Model(ranges, graph.get_parameters())
    observer = openvino.Core().compile_model(observed, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    rows = zip(*(observer(dict(feed)).values() for feed in feeds), strict=True)
    ends = [np.stack(values) for values in rows]  # of each channel in each text
    for group, smallest, largest in zip(by_input.values(), ends[::2], ends[1::2], strict=True):
        _quantize(ops, group, smallest, largest)
    graph.validate_nodes_and_infer_types()
    openvino.save_model(graph, str(target), compress_to_fp16=False)
    return True


def _quantize(ops: Any, layers: list[Any], smallest: Vectors, largest: Vectors) -> None:
    """Let layers with one input multiply bytes; the ends of its range are (texts, channels)."""
    weights = [_weight(layer) for layer in layers]
    most = np.maximum(np.abs(largest), np.abs(smallest)).max(axis=0)
    heaviest = np.abs(np.concatenate(weights)).max(axis=0)
    smooth = np.maximum(most, _NARROWEST) ** SHARE / np.maximum(heaviest, _NARROWEST) ** (1 - SHARE)
    divided = ops.multiply(layers[0].input_value(0), ops.constant((1 / smooth).astype(np.float32)))
    # the mean over texts: what one text has beyond it is cut off, and all others get finer steps
    low = min(0.0, float((smallest / smooth).min(axis=1).mean()))
    high = max(0.0, float((largest / smooth).max(axis=1).mean()))
    step = max(high - low, _NARROWEST) / 255
    low = -round(-low / step) * step  # 0 is a step
    ends = [ops.constant(np.float32(end)) for end in (low, low + 255 * step)]
    rounded = ops.fake_quantize(divided, *ends, *ends, 256)
    for layer, weight in zip(layers, weights, strict=True):
        smoothed = weight * smooth
        steps = np.maximum(np.abs(smoothed).max(axis=1, keepdims=True), _NARROWEST) / 127  # one per output channel
        codes = ops.convert(ops.constant(np.round(smoothed / steps).astype(np.int8)), "f32")
        factor = ops.multiply(codes, ops.constant(steps.astype(np.float32)))
        product = ops.matmul(rounded, factor, False, True)
        for reader in layer.output(0).get_target_inputs():
            reader.replace_source_output(product.output(0))


def _weight(layer: Any) -> Vectors:
    """Return the weights of a layer as (outputs, inputs)."""
    weight: Vectors = layer.input_value(1).get_node().data
    return weight if layer.get_attributes()["transpose_b"] else weight.T


if __name__ == "__main__":
    run(convert)
