"""The process that converts: `python -m local_rag.index.embed.converter MODEL LONGEST FOLDER`, JSON on stdout."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core import process
from local_rag.core.child_process import reply_stream
from local_rag.index.embed import encoders
from local_rag.index.embed.conversion import NEAR, SAME, Conversion, Precision
from local_rag.index.embed.devices import PASSAGES
from local_rag.text.display import printable, shorten

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

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
"""Short and long, beyond the window, several scripts, code, figures, nothing at all."""


_TURNS = 3

_MEMORY = re.compile(r"alloc|memory", re.IGNORECASE)
"""What PyTorch and OpenVINO say, as a RuntimeError, where there is not enough of it."""


def run(convert: Callable[..., dict[str, Any]]) -> None:
    """The whole life of a converting process.

    `convert` gets MODEL (a path), LONGEST, FOLDER (a path) and the paths that follow them, writes model.xml and
    model.bin, and returns the fields of `Conversion`, or {"why": reason}. What it raises travels as a reason: "why" for
    good, "passing" for what may be tried again.
    """
    process.prepare_own_process(process.TELEMETRY)
    replies = reply_stream()
    try:
        reply = convert(Path(sys.argv[1]), int(sys.argv[2]), *map(Path, sys.argv[3:]))
    except Exception as error:  # any model, any library: the reason travels
        lasting = not isinstance(error, OSError | MemoryError | ImportError) and not _MEMORY.search(str(error))
        reply = {"why" if lasting else "passing": shorten(printable(f"{type(error).__name__}: {error}"), 160)}
    replies.write(json.dumps(reply).encode() + b"\n")
    replies.flush()
    os._exit(0)


def convert(model: Path, longest: int, folder: Path) -> dict[str, Any]:
    """Convert an embedder in float32: everything from tokens to the vector, pooling included."""
    import torch
    from tokenizers import Tokenizer

    original = encoders.sentence_transformer(model, longest).eval()
    tokenizer = original.tokenizer
    tokens = tokenizer(list(TEXTS[2:5]), padding=True, truncation=True, max_length=longest, return_tensors="pt")
    inputs = {name: tokens[name] for name in ("input_ids", "attention_mask")}

    class Wrapped(torch.nn.Module):  # type: ignore[misc]  # torch is not read by mypy
        def __init__(self) -> None:
            super().__init__()
            self.original = original

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.original({"input_ids": input_ids, "attention_mask": attention_mask})["sentence_embedding"]

    write_openvino(Wrapped(), inputs, folder)
    record: dict[str, Any] = {"longest": longest, "pad_id": tokenizer.pad_token_id, "pad_token": tokenizer.pad_token}
    expected = original.encode(list(TEXTS), normalize_embeddings=True, show_progress_bar=False)
    own = Tokenizer.from_file(str(model / "tokenizer.json"))
    draft = Conversion(folder, cosine_bf16=1.0, **record)
    cosine = least_cosine(draft, own, "f32", expected)
    if not cosine >= SAME:
        return {"why": f"converted, its vectors differ: cosine {cosine:.6f}"}
    bf16 = least_cosine(draft, own, "bf16", expected) if encoders.has_bfloat16() else None
    record |= {"cosine": cosine, "cosine_bf16": bf16}
    return record if (bf16 or 0.0) >= NEAR else record | _in_eight_bits(draft, own)


def _in_eight_bits(draft: Conversion, tokenizer: Any) -> dict[str, Any]:
    """Write the model in eight bits as well; how near and how fast it is. It goes where it is not both.

    Ranges are observed on three of four passages of `PASSAGES`, the others are compared with float32.
    """
    import numpy as np

    from local_rag.index.embed.quantization import quantize

    passages = PASSAGES.read_text(encoding="utf-8").split("\n\n")
    observed, compared = [text for number, text in enumerate(passages) if number % 4], passages[::4]
    plain = encoders.OpenVinoEncoder(draft, tokenizer, "f32", keep=False)
    whole = quantize(draft.model(), [plain.tokens([text]) for text in observed], draft.model("int8"))
    record: dict[str, Any] = {}
    if whole:
        quick = encoders.OpenVinoEncoder(draft, tokenizer, "int8", keep=False)
        rows, same = (np.concatenate(list(encoder.encode([compared]))) for encoder in (quick, plain))
        norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(same, axis=1)
        record["cosine_int8"] = float(((rows * same).sum(axis=1) / np.maximum(norms, 1e-12)).min())
        record["speed_int8"] = round(_times_as_fast(quick, plain, compared), 2)
    if replace(draft, cosine_bf16=None, **record).for_passages != "int8":
        for suffix in (".xml", ".bin"):
            draft.model("int8").with_suffix(suffix).unlink()
    return record


def _times_as_fast(quick: encoders.Encoder, plain: encoders.Encoder, texts: Sequence[str]) -> float:
    """How much less of the processor an encoder takes, in turns: a busy machine counts for both."""
    seconds: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(_TURNS):
        for number, encoder in enumerate((quick, plain)):
            began = time.process_time()
            list(encoder.encode([texts]))
            seconds[number].append(time.process_time() - began)
    return min(seconds[1]) / max(min(seconds[0]), 1e-6)


def write_openvino(module: Any, inputs: dict[str, Any], folder: Path) -> None:
    """Write a PyTorch module as model.xml and model.bin; `inputs` are example tensors (n, tokens) by name, in order."""
    openvino = encoders.import_openvino()
    if sys.modules.get(process.TELEMETRY):
        raise RuntimeError("this OpenVINO brings its telemetry along in another way")
    import torch

    free = openvino.PartialShape([-1, -1])
    with torch.no_grad():
        graph = openvino.convert_model(module, example_input=tuple(inputs.values()), input=[free] * len(inputs))
    for port, name in zip(graph.inputs, inputs, strict=True):
        port.get_tensor().set_names({name})
    try:
        openvino.save_model(graph, str(folder / "model.xml"), compress_to_fp16=False)
    except RuntimeError as error:
        raise OSError(f"the model cannot be written: {error}") from error


def least_cosine(conversion: Conversion, tokenizer: Any, precision: Precision, expected: Vectors) -> float:
    """The least cosine to `expected` (n, d), unit rows: each text alone, and all in batches of three."""
    import numpy as np

    encoder = encoders.OpenVinoEncoder(conversion, tokenizer, precision, keep=False)
    least = 1.0
    for size in (1, 3):
        batches = [TEXTS[first : first + size] for first in range(0, len(TEXTS), size)]
        rows = np.concatenate(list(encoder.encode(batches)))
        norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
        least = float(np.minimum(least, ((rows * expected).sum(axis=1) / norms).min()))  # keeps a NaN, which min drops
    return least


if __name__ == "__main__":
    run(convert)
