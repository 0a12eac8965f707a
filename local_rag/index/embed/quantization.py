"""A converted model in eight bits, for processors without bfloat16: its linear layers multiply bytes.

SmoothQuant (Xiao et al., ICML 2023, arXiv 2211.10438): before a layer y = x W, channel j of x is divided by
s_j = max|x_j|^SHARE / max|W_j|^(1 - SHARE) and row j of W multiplied by it (equation 4), so that no channel needs most
of the 256 steps. Ranges of x are observed on calibration texts; a weight has the range of its output channel. The rest
of the model (embeddings, attention, normalization, pooling) stays in float32, and so does the first half of the layers
that narrow a hidden state, whose errors all later layers multiply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.index.embed import encoders

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Feed = Mapping[str, NDArray[np.int64]]
    Range = tuple[Floats, Floats]

SHARE = 0.7
"""How much of the difference between channels the weights take over: docs/measurements.md."""

_LEAST = 1e-5
"""Range of a channel that is always 0."""


def quantize(model: Path, feeds: Iterable[Feed], target: Path) -> bool:
    """Write `model` (model.xml in float32) in eight bits as `target`; False if it has no linear layer.

    `feeds` are the inputs by name, (1, tokens) each, on which the ranges are observed.
    """
    openvino = encoders.import_openvino()
    core = openvino.Core()
    graph = core.read_model(str(model))
    layers = _linear_layers(graph)
    narrowing = [layer for layer in layers if _weight(layer).shape[0] < _weight(layer).shape[1]]
    kept = {layer.get_friendly_name() for layer in narrowing[: -(-len(narrowing) // 2)]}
    layers = [layer for layer in layers if layer.get_friendly_name() not in kept]
    ranges = _observed(openvino, core, graph, layers, feeds)
    inputs: dict[tuple[str, int], list[int]] = {}
    for number, layer in enumerate(layers):
        given = layer.input_value(0)
        inputs.setdefault((given.get_node().get_friendly_name(), given.get_index()), []).append(number)
    for numbers in inputs.values():  # query, key and value have one input, which is divided and rounded once
        _quantize(openvino.opset13, [layers[number] for number in numbers], ranges[numbers[0]])
    graph.validate_nodes_and_infer_types()
    openvino.save_model(graph, str(target), compress_to_fp16=False)
    return bool(layers)


def _linear_layers(graph: Any) -> list[Any]:
    """Products of something computed with a constant matrix."""
    products = [node for node in graph.get_ordered_ops() if node.get_type_name() == "MatMul"]
    return [
        node
        for node in products
        if node.input_value(1).get_node().get_type_name() == "Constant"
        and node.input_value(0).get_node().get_type_name() != "Constant"
        and len(node.input_value(1).get_shape()) == 2
        and node.input_value(0).get_partial_shape().rank.get_length() == 3
    ]


def _observed(openvino: Any, core: Any, graph: Any, layers: Sequence[Any], feeds: Iterable[Feed]) -> list[Range]:
    """For each layer the largest and the smallest value of each channel of its input: (texts, channels) each."""
    import numpy as np

    ops, outputs = openvino.opset13, []
    tokens = ops.constant(np.array([0, 1], dtype=np.int64))
    for layer in layers:
        outputs += [ops.reduce_max(layer.input_value(0), tokens), ops.reduce_min(layer.input_value(0), tokens)]
    observer = core.compile_model(
        openvino.Model(outputs, graph.get_parameters()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    rows = [[np.array(values) for values in observer(dict(feed)).values()] for feed in feeds] if layers else []
    columns = [np.stack(values).astype(np.float32) for values in zip(*rows, strict=True)]
    return list(zip(columns[::2], columns[1::2], strict=True))


def _quantize(ops: Any, layers: Sequence[Any], observed: Range) -> None:
    """Let layers with one input multiply bytes."""
    import numpy as np

    largest, smallest = observed
    weights = [_weight(layer) for layer in layers]
    most = np.maximum(np.abs(largest), np.abs(smallest)).max(axis=0)
    heaviest = np.max([np.abs(weight).max(axis=0) for weight in weights], axis=0)
    smooth = np.maximum(most, _LEAST) ** SHARE / np.maximum(heaviest, _LEAST) ** (1 - SHARE)
    divided = ops.multiply(layers[0].input_value(0), ops.constant((1 / smooth).astype(np.float32).reshape(1, 1, -1)))
    # the mean over texts: what one text has beyond it is cut off, and all others get finer steps
    low = min(0.0, float((smallest / smooth).min(axis=1).mean()))
    high = max(0.0, float((largest / smooth).max(axis=1).mean()))
    step = max(high - low, _LEAST) / 255
    low = -round(-low / step) * step  # 0 is a step
    ends = [ops.constant(np.full((1, 1, 1), end, dtype=np.float32)) for end in (low, low + 255 * step)]
    rounded = ops.fake_quantize(divided, *ends, *ends, 256)
    for layer, weight in zip(layers, weights, strict=True):
        product = ops.matmul(rounded, _in_bytes(ops, weight * smooth), layer.get_attributes()["transpose_a"], True)
        for reader in layer.output(0).get_target_inputs():
            reader.replace_source_output(product.output(0))


def _weight(layer: Any) -> Floats:
    """(outputs, inputs)."""
    weight: Floats = layer.input_value(1).get_node().data
    return weight if layer.get_attributes()["transpose_b"] else weight.T


def _in_bytes(ops: Any, weight: Floats) -> Any:
    """Codes from -127 to 127, times a step per output channel."""
    import numpy as np

    steps = np.maximum(np.abs(weight).max(axis=1, keepdims=True), _LEAST) / 127
    codes = np.round(weight / steps).astype(np.int8)
    return ops.multiply(ops.convert(ops.constant(codes), "f32"), ops.constant(steps.astype(np.float32)))
