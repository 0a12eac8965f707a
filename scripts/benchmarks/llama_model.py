"""A small language model for benchmarks: shaped like Llama, random weights, as fast or slow as one that was trained.

How long a model takes does not depend on what its weights say. The vocabulary is a byte-level BPE of this project's
own texts, so that a token is about as long as those of a real model, filled up with unused tokens to the width of one.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
TEXTS = (
    "local_rag/diagnostics/demo/documents/*.md",
    "local_rag/diagnostics/demo/documents/*.txt",
    "local_rag/**/*.py",
    "*.md",
)
"""What the vocabulary is learnt from; a real one knows English and code, too."""

VOCABULARY, LEARNT = 32_768, 12_000
WIDTH, LAYERS, HEADS, KEY_HEADS, INNER, WINDOW = 2048, 4, 32, 8, 8192, 8192
"""Four layers of Llama 3.2 1B, 0.31 billion parameters.

Few wide layers and not many narrow ones: what attention costs beside the weights goes by the width (about 0.15 times
tokens / width), so that a narrow model takes far longer over a long prompt than the models that people use.
"""

BOS, EOS, START, END = "<|begin|>", "<|end|>", "<|start_header|>", "<|end_header|>"
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|start_header|>{{ message['role'] }}<|end_header|>\n\n"
    "{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header|>assistant<|end_header|>\n\n{% endif %}"
)
"""Llama 3's, with its four marks under shorter names."""


def model_file(folder: Path) -> Path:
    """The GGUF (Q8_0) in this folder, written if it is not there; about 330 MB."""
    shape = f"{WIDTH}x{LAYERS}-{VOCABULARY // 1024}k"
    file = folder / f"random-llama-{shape}.gguf"
    if not file.exists():
        part = file.with_suffix(".part")
        _write(part)
        part.replace(file)
    return file


def _write(file: Path) -> None:
    gguf = importlib.import_module("gguf")
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name("random")
    writer.add_context_length(WINDOW)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(500_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    _add_vocabulary(writer)
    for name, values in _tensors():
        quantised = values.ndim == 2
        kind = gguf.GGMLQuantizationType.Q8_0 if quantised else None
        writer.add_tensor(name, gguf.quants.quantize(values, kind) if kind else values, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: Any) -> None:
    gguf = importlib.import_module("gguf")
    words, merges = _learnt()
    marks = [BOS, EOS, START, END]
    unused = [f"<|unused_{number}|>" for number in range(VOCABULARY - len(words) - len(marks))]
    kinds = [gguf.TokenType.NORMAL] * len(words) + [gguf.TokenType.CONTROL] * len(marks)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list([*words, *marks, *unused])
    writer.add_token_types([*kinds, *([gguf.TokenType.UNUSED] * len(unused))])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(len(words))
    writer.add_eos_token_id(len(words) + 1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def _learnt() -> tuple[list[str], list[str]]:
    """Tokens by number, and merges."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    # The cut of Llama 3's tokenizer (llama.cpp, src/llama-vocab.cpp, LLAMA_VOCAB_PRE_TYPE_LLAMA3).
    cut = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+"
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(cut), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=LEARNT, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    words = [word for word, _ in sorted(model["vocab"].items(), key=lambda one: one[1])]
    return words, [" ".join(pair) for pair in model["merges"]]


def _texts() -> Iterator[str]:
    for pattern in TEXTS:
        for file in sorted(PROJECT.glob(pattern)):
            yield file.read_text(encoding="utf-8")


def _tensors() -> Iterator[tuple[str, Any]]:
    """Names and values: small numbers of a fixed seed, ones for the norms; the embedding is also the output."""
    import numpy as np

    random = np.random.default_rng(42)

    def matrix(rows: int, columns: int) -> Any:
        return random.normal(0.0, 0.02, (rows, columns)).astype(np.float32)

    ones, keys = np.ones(WIDTH, dtype=np.float32), WIDTH // HEADS * KEY_HEADS
    yield "token_embd.weight", matrix(VOCABULARY, WIDTH)
    yield "output_norm.weight", ones
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        yield f"{block}.attn_norm.weight", ones
        yield f"{block}.attn_q.weight", matrix(WIDTH, WIDTH)
        yield f"{block}.attn_k.weight", matrix(keys, WIDTH)
        yield f"{block}.attn_v.weight", matrix(keys, WIDTH)
        yield f"{block}.attn_output.weight", matrix(WIDTH, WIDTH)
        yield f"{block}.ffn_norm.weight", ones
        yield f"{block}.ffn_gate.weight", matrix(INNER, WIDTH)
        yield f"{block}.ffn_up.weight", matrix(INNER, WIDTH)
        yield f"{block}.ffn_down.weight", matrix(WIDTH, INNER)
