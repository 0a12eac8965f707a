"""The evaluator as a module of PyTorch: one encoder over question and passage, and three heads.

The parameters have the names of the tensors in `evaluator.safetensors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

EMBEDDINGS = "encoder.embeddings.word_embeddings.weight"
"""The word embeddings, which stay those of the base and are not shipped again."""

BASE_EMBEDDINGS = "embeddings.word_embeddings.weight"
"""What the base calls them."""

SHAPE = (
    *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "hidden_act", "layer_norm_eps"),
    *("max_position_embeddings", "type_vocab_size", "vocab_size", "pad_token_id"),
)
"""The keys of a BertConfig that decide what is computed; the others are about its training."""


class EvaluatorModel(nn.Module):  # type: ignore[misc]  # torch is not read by mypy
    """The encoder is a BertModel without pooler; `config` holds the keys of its configuration, its size among them.

    It has no dropout of its own: a training that wants some adds it from outside.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        from transformers import BertConfig, BertModel

        shape = {key: config[key] for key in SHAPE if key in config}
        known = BertConfig(**shape, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        self.encoder = BertModel(known, add_pooling_layer=False)
        size = known.hidden_size
        self.span = nn.Linear(size, 2)
        self.dense = nn.Linear(size, size)
        self.relevance = nn.Linear(size, 3)
        self.support_dense = nn.Linear(size, size)
        self.support = nn.Linear(size, 2)

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> tuple[Any, Any, Any]:
        """Of (n, tokens) each the logits (n, tokens, 2) of start and end, (n, 3) of relevance, (n, 2) of support."""
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        first = states[:, 0]
        relevance = self.relevance(torch.tanh(self.dense(first)))
        return self.span(states), relevance, self.support(torch.tanh(self.support_dense(first)))


def load(weights: Path, config: Mapping[str, Any], base: Path | None) -> EvaluatorModel:
    """The model in float32 for use, its word embeddings from the safetensors file `base` where there is one.

    Raises RuntimeError where the tensors are not those of such a model.
    """
    from safetensors import safe_open
    from safetensors.torch import load_file

    model = EvaluatorModel(config)
    tensors = {name: tensor.float() for name, tensor in load_file(str(weights)).items()}
    if base is not None:
        with safe_open(str(base), framework="pt") as file:
            tensors[EMBEDDINGS] = file.get_tensor(BASE_EMBEDDINGS).float()
    positions = {"encoder.embeddings.position_ids", "encoder.embeddings.token_type_ids"}
    model.load_state_dict({name: tensor for name, tensor in tensors.items() if name not in positions})
    return cast(EvaluatorModel, model.eval())


def computed(model: EvaluatorModel, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The logits as arrays, of inputs that are arrays."""
    with torch.inference_mode():
        logits = model(**{name: torch.from_numpy(values) for name, values in inputs.items()})
    return tuple(values.numpy() for values in logits)
