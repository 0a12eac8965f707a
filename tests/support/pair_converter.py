"""The process that converts the toy cross-encoder of the tests; `conversion.convert` says how it is started."""

from __future__ import annotations

import numpy as np

from local_rag.index.embed import converter, encoders


def convert(model, longest, folder):
    """Write a model whose score of a pair is the sum of its token types: the length of the second text."""
    openvino = encoders.import_openvino()
    ops = openvino.opset13
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [ops.parameter([-1, -1], np.int64, name=name) for name in names]
    for given, name in zip(inputs, names, strict=True):
        given.output(0).get_tensor().set_names({name})
    counted = ops.add(ops.multiply(inputs[0], ops.constant(np.array([[0]]))), ops.multiply(inputs[1], inputs[2]))
    score = ops.convert(ops.reduce_sum(counted, ops.constant(np.array([1])), keep_dims=True), "f32")
    openvino.save_model(openvino.Model([score], inputs), str(folder / "model.xml"), compress_to_fp16=False)
    return {"longest": longest, "pad_id": 0, "pad_token": "[PAD]", "cosine": 1.0}


if __name__ == "__main__":
    converter.run(convert)
