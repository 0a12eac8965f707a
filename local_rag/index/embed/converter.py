"""The process that converts: `python -m local_rag.index.embed.converter MODEL LONGEST FOLDER`, JSON on stdout."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.index.embed import encoders
from local_rag.index.embed.conversion import SAME
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


def main() -> None:
    """Convert, compare, and say how near the vectors are, or why it cannot be done."""
    model, longest, folder = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no part of the reply
    try:
        found = convert(model, longest, folder)
    except Exception as error:  # any model, any library: the reason travels
        lasting = not isinstance(error, OSError | MemoryError | ImportError)
        found = {"why" if lasting else "passing": shorten(printable(f"{type(error).__name__}: {error}"), 160)}
    said.write(json.dumps(found) + "\n")
    said.flush()
    os._exit(0)


def convert(model: Path, longest: int, folder: Path) -> dict[str, Any]:
    """Write model.xml and model.bin in float32: everything from tokens to the vector, pooling included."""
    with encoders.hiding(["openvino_telemetry"]):
        import openvino
    if "openvino_telemetry" in sys.modules:
        return {"why": "this OpenVINO brings its telemetry along in another way"}
    import torch
    from tokenizers import Tokenizer

    whole = encoders.sentence_transformer(model, longest).eval()
    tokenizer = whole.tokenizer
    tokens = tokenizer(list(TEXTS[2:5]), padding=True, truncation=True, max_length=longest, return_tensors="pt")

    class Wrapped(torch.nn.Module):  # type: ignore[misc]  # torch is not read by mypy
        def __init__(self) -> None:
            super().__init__()
            self.whole = whole

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.whole({"input_ids": input_ids, "attention_mask": attention_mask})["sentence_embedding"]

    free = openvino.PartialShape([-1, -1])
    with torch.no_grad():
        graph = openvino.convert_model(
            Wrapped(), example_input=(tokens["input_ids"], tokens["attention_mask"]), input=[free, free]
        )
    for given, name in zip(graph.inputs, ("input_ids", "attention_mask"), strict=True):
        given.get_tensor().set_names({name})
    openvino.save_model(graph, str(folder / "model.xml"), compress_to_fp16=False)
    record: dict[str, Any] = {"longest": longest, "pad_id": tokenizer.pad_token_id, "pad_token": tokenizer.pad_token}
    wanted = whole.encode(list(TEXTS), normalize_embeddings=True, show_progress_bar=False)
    own = Tokenizer.from_file(str(model / "tokenizer.json"))
    found = compare(folder, record, own, "f32", wanted)
    if not found >= SAME:
        return {"why": f"converted, its vectors differ: cosine {found:.6f}"}
    near = compare(folder, record, own, "bf16", wanted) if encoders.has_bfloat16() else None
    return record | {"cosine": found, "cosine_bf16": near}


def compare(
    folder: Path, record: dict[str, Any], tokenizer: Any, precision: encoders.Precision, wanted: Vectors
) -> float:
    """The least cosine to `wanted` (n, d), unit rows: each text alone, and all in batches of three."""
    import numpy as np

    from local_rag.index.embed.conversion import Conversion

    conversion = Conversion(folder, cosine_bf16=1.0, **record)
    encoder = encoders.OpenVinoEncoder(conversion, tokenizer, precision, keep=False)
    least = 1.0
    for size in (1, 3):
        rows = np.concatenate(list(encoder.encode(_batches(TEXTS, size))))
        norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
        least = float(np.minimum(least, ((rows * wanted).sum(axis=1) / norms).min()))  # keeps a NaN, which min drops
    return least


def _batches(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [texts[first : first + size] for first in range(0, len(texts), size)]


if __name__ == "__main__":
    main()
