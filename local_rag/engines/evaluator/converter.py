"""The process that converts an evaluator: `python -m … MODEL LONGEST FOLDER [BASE]`, JSON on stdout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from local_rag.engines.evaluator import files
from local_rag.engines.evaluator.inputs import Inputs
from local_rag.index.embed import converter, encoders
from local_rag.index.embed.conversion import Conversion

NEAR = 1e-3
"""The greatest difference of the converted model from PyTorch, in any logit, and so in any probability."""

PAIRS = (
    ("What is the notice period?", "lease. Term", "Notice must be given three months before the end of the quarter."),
    (
        "Who lights the lamp?",
        "",
        "The lamp of the lighthouse is lit at dusk by the keeper, who writes the time down. " * 4,
    ),
    (
        "Wie groß ist die Façade?",
        "naïveté",
        "«quotes», “marks” and a dash. Договор может быть расторгнут. 日本語の文も一つ。",
    ),
    ("E = mc²?", "", "3.14159, 2026-11-21, 1,000,000 €, +49 30 123456, a@example.org"),
    ("a", "", "b"),
    (
        "Which of the passages goes on and on? " * 40,
        "log. 1907",
        "One long passage beyond the window of the model. " * 30,
    ),
)
"""Question, header and passage: short and long, with and without header, several scripts, figures, several windows."""


def convert(model: Path, longest: int, folder: Path, base: Path | None = None) -> dict[str, Any]:
    """Convert the evaluator whose weights lie in `model`: from tokens to the logits of all heads."""
    import numpy as np
    import torch

    from local_rag.engines.evaluator.model import load

    parts = files.Files(model, base, files.read_config(model))
    original = load(parts.weights, parts.encoder, parts.embeddings)
    inputs = Inputs(Tokenizer.from_file(str(parts.tokenizer)), longest)
    windows = [window for pair in PAIRS for window in inputs.windows(*pair)]
    example = {name: torch.from_numpy(values) for name, values in inputs.batch(windows[:2]).items()}
    converter.write_openvino(original, example, folder)
    converted = encoders.OpenVinoModel(Conversion(folder))
    difference = 0.0
    for batch in [*([window] for window in windows), windows]:
        given = inputs.batch(batch)
        with torch.no_grad():
            expected = original(**{name: torch.from_numpy(values) for name, values in given.items()})
        used = given["attention_mask"].astype(bool)
        for computed, exact in zip(converted.compute(given), expected, strict=True):
            apart = abs(computed - exact.numpy())
            apart = apart[used] if apart.ndim == 3 else apart  # what is computed of padding is never read
            difference = max(difference, float(apart.max()) if np.isfinite(apart).all() else float("inf"))
    if not difference <= NEAR:
        return {"why": f"converted, its logits differ by {difference:.2g}"}
    return {"near": f"within {difference:.0e} of PyTorch"}


if __name__ == "__main__":
    converter.run(convert)
