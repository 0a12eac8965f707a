"""The network in training: the evaluator of the product on MiniLM, its word embeddings frozen."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from local_rag.engines.evaluator.model import EMBEDDINGS, EvaluatorModel

WEIGHTS = "model.safetensors"


class FeatureDropout(nn.Module):  # type: ignore[misc]  # torch is not read by mypy
    """Dropout of whole features of a sequence, as variational dropout does (Gal and Ghahramani, arXiv 1512.05287).

    One mask per sequence: on a processor the random numbers of ordinary dropout take two thirds of a step.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, hidden: Any) -> Any:
        """(n, tokens, size) -> the same shape."""
        if not self.training or not self.rate:
            return hidden
        mask = torch.rand(hidden.shape[0], 1, hidden.shape[2], device=hidden.device) >= self.rate
        return hidden * (mask / (1 - self.rate))


def on_base(base: Path, dropout: float, frozen: int) -> EvaluatorModel:
    """The evaluator with the weights of `base` (a folder of all-MiniLM-L6-v2) and new heads.

    The word embeddings and the `frozen` lowest layers are not learned.
    """
    model = EvaluatorModel(json.loads((base / "config.json").read_text(encoding="utf-8")))
    tensors = load_file(str(base / WEIGHTS))
    own = {f"encoder.{name}": tensor for name, tensor in tensors.items() if f"encoder.{name}" in model.state_dict()}
    model.load_state_dict(own, strict=False)
    for number, layer in enumerate(model.encoder.encoder.layer):
        learned = number >= frozen
        layer.requires_grad_(learned)
        for output in (layer.attention.output, layer.output):
            output.dropout = FeatureDropout(dropout if learned else 0.0)
    model.encoder.embeddings.requires_grad_(not frozen)
    model.encoder.embeddings.word_embeddings.weight.requires_grad_(False)
    return model


def start_from(model: EvaluatorModel, weights: Mapping[str, Any]) -> list[str]:
    """Take over the tensors of earlier weights; the names of those that they lack.

    Where they have no head for support, it begins as a copy of the one for relevance: both compare a statement or a
    question with a passage. Raises ValueError for tensors of another model.
    """
    missing, unexpected = model.load_state_dict({name: value.float() for name, value in weights.items()}, strict=False)
    if unexpected:
        raise ValueError(f"these are weights of another model: it has no tensor {unexpected[0]}")
    if "support_dense.weight" in missing:
        model.support_dense.load_state_dict(model.dense.state_dict())
        with torch.no_grad():
            present, absent = model.relevance.weight[2], model.relevance.weight[:2].mean(0)
            model.support.weight.copy_(torch.stack([absent, present]))
            model.support.bias.zero_()
    return [name for name in missing if name != EMBEDDINGS]


def shipped(model: EvaluatorModel) -> dict[str, Any]:
    """The tensors that are shipped: all but the word embeddings, in float16."""
    return {
        name: tensor.detach().to(torch.float16).contiguous()
        for name, tensor in model.state_dict().items()
        if name != EMBEDDINGS
    }


def autocast(device: str) -> Any:
    """Mixed precision in bfloat16 where the machine computes in it, else nothing."""
    if device == "cuda" and torch.cuda.is_bf16_supported():
        return torch.autocast("cuda", dtype=torch.bfloat16)
    if device == "cpu" and (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()):
        return torch.autocast("cpu", dtype=torch.bfloat16)
    return contextlib.nullcontext()
