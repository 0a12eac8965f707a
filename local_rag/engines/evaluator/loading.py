"""An evaluator's model as it computes here: converted for OpenVINO, else PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from local_rag.core.errors import LocalRagError, ModelChanged
from local_rag.engines.evaluator.inputs import Inputs
from local_rag.index.embed import conversion, encoders

if TYPE_CHECKING:
    from local_rag.engines.evaluator.files import Files
    from local_rag.index.embed.conversion import Conversion

CONVERTER = "local_rag.engines.evaluator.converter"
FOLDER = "evaluators"
"""The folder of the cache that holds converted evaluators."""

WITHOUT = "local-rag doctor says what is amiss; without the evaluator: export LOCAL_RAG_EVALUATOR=off"
"""The hint of an evaluator that does not load or compute."""


class Model(Protocol):
    """Inputs by name -> logits of span, relevance and support. For one thread at a time."""

    def compute(self, inputs: Mapping[str, Any]) -> tuple[Any, ...]: ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model, what makes its inputs, and how it was converted."""

    model: Model
    inputs: Inputs
    conversion: Conversion | None


def conversion_of(files: Files, cache: Path | None) -> Conversion | None:
    """The conversion that is there, None where there is none yet."""
    return conversion.find(cache / FOLDER / files.fingerprint) if cache else None


def describe(files: Files, cache: Path | None) -> tuple[str, str]:
    """What computes the evaluator here, or what will, and why; and what to do about it, if anything."""
    return conversion.served_by(conversion_of(files, cache), "evaluator", "PyTorch")


def load(name: str, files: Files, cache: Path | None, on_load: Callable[[], None] | None) -> Loaded:
    """The model; it is converted first where nobody has. Raises Stopped, and ModelChanged for what cannot be loaded."""
    try:
        return _load(files, cache, on_load)
    except LocalRagError:
        raise
    except Exception as error:  # whatever a file or a library is the cause of
        why = f"{type(error).__name__}: {error}"
        raise ModelChanged(f"the evaluator '{name}' cannot be loaded: {why}", hint=WITHOUT) from error


def _load(files: Files, cache: Path | None, on_load: Callable[[], None] | None) -> Loaded:
    known = conversion_of(files, cache)
    if (known is None or known.why) and on_load:
        on_load()
    if known is None and cache:
        folder = cache / FOLDER / files.fingerprint
        bases = [files.base] if files.base else []
        known = conversion.convert(folder, CONVERTER, files.folder, files.config.window, *bases)
    inputs = Inputs(encoders.tokenizer(files.tokenizer, "evaluator"), files.config.window)
    if known is not None and not known.why:
        try:
            return Loaded(encoders.OpenVinoModel(known), inputs, known)
        except (RuntimeError, ImportError):  # a library that is not there any more, a processor that it does not know
            pass
    return Loaded(_TorchModel(files), inputs, known)


class _TorchModel:
    """PyTorch, where a model cannot be converted."""

    def __init__(self, files: Files) -> None:
        from local_rag.engines.evaluator.model import load

        self._model = load(files.weights, files.encoder, files.embeddings)

    def compute(self, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
        from local_rag.engines.evaluator.model import computed

        return computed(self._model, inputs)
