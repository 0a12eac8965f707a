"""Define the evaluator in PyTorch, one encoder over question and passage with three heads, and export it to ONNX."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from local_rag.engines.evaluator import evaluator

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
HEADS = ("span", "relevance", "support")


class EvaluatorModel(nn.Module):  # type: ignore[misc]  # torch is not read by mypy
    """Encode with a BertModel without pooler, and apply three heads; `config` has the keys of a BertConfig.

    It has no dropout, whose random numbers take two thirds of a step on a processor.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        from transformers import BertConfig, BertModel

        plain = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "attn_implementation": "eager"}
        known = BertConfig(**{**config, **plain})
        self.encoder = BertModel(known, add_pooling_layer=False)
        size = known.hidden_size
        self.span = nn.Linear(size, 2)
        self.dense = nn.Linear(size, size)
        self.relevance = nn.Linear(size, 3)
        self.support_dense = nn.Linear(size, size)
        self.support = nn.Linear(size, 2)

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> tuple[Any, Any, Any]:
        """Return logits for (n, tokens): (n, tokens, 2) of start and end, (n, 3) of relevance, (n, 2) of support."""
        given = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        states = self.encoder(**given).last_hidden_state
        first = states[:, 0]
        relevance = self.relevance(torch.tanh(self.dense(first)))
        return self.span(states), relevance, self.support(torch.tanh(self.support_dense(first)))


def on_base(base: Path, frozen: int = 0) -> EvaluatorModel:
    """Return a model whose encoder begins with the config.json and model.safetensors of a BERT.

    The word embeddings and the lowest `frozen` layers are not trained. Raise RuntimeError for other tensors.
    """
    from safetensors.torch import load_file

    model = EvaluatorModel(json.loads((base / "config.json").read_text(encoding="utf-8")))
    names = model.encoder.state_dict().keys()
    tensors = {name.removeprefix("bert."): tensor for name, tensor in load_file(base / "model.safetensors").items()}
    model.encoder.load_state_dict({name: tensors[name].float() for name in names if name in tensors})
    for part in (model.encoder.embeddings, *model.encoder.encoder.layer[:frozen]):
        part.requires_grad_(False)
    return model


def export(model: EvaluatorModel, tokenizer: Path, window: int, language: str, folder: Path) -> None:
    """Write the model for the package: evaluator.onnx in float16, its tokenizer and config.json.

    The file computes in float32: each tensor of weights is cast when it is loaded, rows of embeddings when they are
    read.
    """
    import onnx

    folder.mkdir(parents=True, exist_ok=True)
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch and onnxscript, about each other
        program = torch.onnx.export(
            model.eval().cpu(),
            kwargs={name: torch.ones((2, 48), dtype=torch.long) for name in INPUTS},
            dynamic_shapes=dict.fromkeys(INPUTS, sizes),
            input_names=list(INPUTS),
            output_names=list(HEADS),
            opset_version=18,
            dynamo=True,
            verbose=False,
        )
    halved = halve(program.model_proto)
    onnx.checker.check_model(halved)
    onnx.save(halved, folder / evaluator.MODEL)
    shutil.copyfile(tokenizer, folder / evaluator.TOKENIZER)
    digest = hashlib.sha256((folder / evaluator.MODEL).read_bytes()).hexdigest()
    config = {"format": 2, "sha256": digest, "window": window, "language": language, "heads": HEADS}
    (folder / evaluator.CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def halve(model: Any) -> Any:
    """Return the same graph with matrices in float16, and without the exporter's notes on this machine."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph, nodes = model.graph, []
    matrices = {tensor.name for tensor in graph.initializer if tensor.data_type == 1 and len(tensor.dims) > 1}
    for tensor in graph.initializer:
        if tensor.name in matrices:
            half = numpy_helper.to_array(tensor).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(half, tensor.name))
    for node in graph.node:
        del node.metadata_props[:]
        held = [name for name in node.input if name in matrices]
        if held and node.op_type == "Gather":  # of embeddings only the rows that are read become float32
            output, node.output[0] = node.output[0], f"{node.output[0]}.half"
            nodes += [node, helper.make_node("Cast", [node.output[0]], [output], to=TensorProto.FLOAT)]
            continue
        for name in held:
            node.input[list(node.input).index(name)] = f"{name}.float"
            nodes.append(helper.make_node("Cast", [name], [f"{name}.float"], to=TensorProto.FLOAT))
        nodes.append(node)
    for part in (model, graph, *graph.initializer, *graph.input, *graph.output):
        del part.metadata_props[:]
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(copies)
    return model
