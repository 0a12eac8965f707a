"""Encoders that compute a model: OpenVINO where it was converted, else PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from local_rag.core import process
from local_rag.core.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from local_rag.config.values import DeviceName
    from local_rag.core.protocols import Vectors
    from local_rag.index.embed.conversion import Conversion, Precision

_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask"}
"""The inputs of a converted embedder, and a tokenizer's names for them."""

_LOADING = Lock()
"""A lock, for OpenVINO sets the locale of the process to "C" while it loads a model, and back to what it was: two
threads at once would leave it there, and every file that is then opened without an encoding would be read as ASCII.
"""

_COMPILED: WeakValueDictionary[tuple[Path, Precision], Any] = WeakValueDictionary()
"""The models that something in this process computes with: a second index or Rag shares them, and their memory."""

TOKENIZER = "tokenizer.json"
"""The file of a tokenizer; that of a converted embedder cuts and pads texts as the model needs it."""

BLOBS = "compiled"
"""The folder beside a converted model in which OpenVINO keeps it as compiled for this processor: .1 s less to load.

OpenVINO notices one that is cut off or of another processor; it is no more protected than the program itself.
"""


class OpenVinoEncoder:
    """A converted embedder on the processor, for one thread at a time."""

    def __init__(self, conversion: Conversion, precision: Precision) -> None:
        self._tokenizer = tokenizer(conversion.folder / TOKENIZER, "cut and padded")
        self._model = compiled(conversion.model(precision), precision)
        self._queue = import_openvino().AsyncInferQueue(self._model, 2)
        self._queue.set_callback(_keep_row)

    def encode(self, batches: Iterable[Sequence[str]]) -> Vectors:
        """Return the vectors (n, d) float32 of the texts of all batches; the next one is tokenized while one is
        computed.
        """
        import numpy as np

        rows: dict[int, Vectors] = {}
        try:
            for number, texts in enumerate(batches):
                self._queue.start_async(self.tokens(texts), (rows, number))
        finally:  # after a stop the queue is free for the next caller
            self._queue.wait_all()
        return np.concatenate([rows[number] for number in range(len(rows))])

    def tokens(self, texts: Sequence[str]) -> dict[str, Any]:
        """Return the inputs of the model by name: (n, tokens) each."""
        import numpy as np

        encodings = self._tokenizer.encode_batch(list(texts))
        names = [port.any_name for port in self._model.inputs]
        return {name: np.array([getattr(each, _INPUTS[name]) for each in encodings], dtype=np.int64) for name in names}


def _keep_row(request: Any, place: tuple[dict[int, Vectors], int]) -> None:
    rows, number = place
    rows[number] = request.get_output_tensor(0).data.copy()


def import_openvino() -> Any:
    """Import the package openvino, which must not report to its maker meanwhile."""
    with process.hidden(process.TELEMETRY):
        import openvino
    return openvino


def compiled(model: Path, precision: Precision, folder: Path | None = None) -> Any:
    """Return OpenVINO's CompiledModel, which all who compute with it share; in float32 it is kept on disk for the next
    time.

    It is kept in `folder`, by default beside the model.

    The properties: https://docs.openvino.ai, "CPU Device", supported properties.
    """
    with _LOADING:
        shared = _COMPILED.get((model, precision))
        if shared is None:
            core = import_openvino().Core()
            hint = "bf16" if precision == "bf16" else "f32"  # what is not in eight bits is float32
            properties = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": hint}
            try:
                kept = folder or model.parent / BLOBS
                shared = _kept(core, model, properties, kept) if precision == "f32" else None
            except (RuntimeError, OSError):  # a kept one that is damaged, or a folder that cannot be written
                shared = None
            shared = shared or core.compile_model(str(model), "CPU", properties)
            _COMPILED[model, precision] = shared
        return shared


def _kept(core: Any, model: Path, properties: dict[str, str], folder: Path) -> Any:
    """Return the model as it is kept in a folder; the first one is made apart and moved there whole.

    OpenVINO writes it in place, and another process that reads half of one crashes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(each.is_file() for each in folder.iterdir()):
        return core.compile_model(str(model), "CPU", properties | {"CACHE_DIR": str(folder)})
    with TemporaryDirectory(dir=folder) as apart:
        made = core.compile_model(str(model), "CPU", properties | {"CACHE_DIR": apart})
        for each in Path(apart).iterdir():
            each.replace(folder / each.name)
    return made


@lru_cache(maxsize=8)
def tokenizer(file: Path, use: str) -> Tokenizer:
    """Return the tokenizer of a file, read once in a process for all who set its options alike, which `use` names.

    Reading one takes .05 s. It may be used by any thread. Raises what the library raises for a file that is none.
    """
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(file))


def device(wanted: DeviceName) -> str:
    """Return where passages are embedded: "cpu", or the accelerator ("cuda", "mps") that is wanted and that PyTorch
    finds.

    Raises ConfigError for one that is not there. "auto" imports PyTorch only if it was built for an accelerator.
    """
    libraries = Path(getattr(find_spec("torch"), "origin", None) or "").with_name("lib")
    built = sys.platform == "darwin" or any(libraries.glob("*torch_cuda*"))
    if wanted == "cpu" or (wanted == "auto" and not built):
        return "cpu"
    import torch

    accelerator = torch.accelerator.current_accelerator(check_available=True)
    found = str(accelerator.type) if accelerator else "cpu"
    if wanted not in ("auto", found):
        what = f"device: {wanted} is not there; PyTorch finds {found}"
        raise ConfigError(what, hint="LOCAL_RAG_DEVICE=auto local-rag index")
    return found


class TorchEncoder:
    """A sentence-transformer, for embedders that cannot be converted and for accelerators of PyTorch.

    It is loaded from disk alone; `window` is in tokens, special ones excluded. Loading would draw a bar and log advice,
    and nobody who asks a question can act on either.
    """

    def __init__(self, folder: Path, window: int, device: str = "cpu") -> None:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as untyped

        logging: Any = untyped
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        self.model = SentenceTransformer(str(folder), device=device, local_files_only=True).eval()
        self.model.default_prompt_name = None
        self.model.max_seq_length = window + self.model.tokenizer.num_special_tokens_to_add()

    def encode(self, batches: Iterable[Sequence[str]]) -> Vectors:
        """Return the vectors (n, d) float32 of the texts of all batches."""
        import numpy as np

        return np.concatenate([self.model.encode(list(texts), show_progress_bar=False) for texts in batches])
