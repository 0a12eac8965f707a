"""The same cases with and without what an engine is made of: the evaluator off and on, and the engines at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.errors import ModelMissing, NotLocal, ServerDown
from local_rag.evaluation.estimates import Estimate, estimates
from local_rag.evaluation.evaluate import EvaluationRequest, evaluate

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.core.progress import Display


@dataclass(frozen=True)
class Variant:
    """One way of answering: its name in tables and of its folder, and the settings that make it."""

    name: str
    engine: str
    evaluator: str
    grading: str = "packed"


@dataclass(frozen=True)
class Ablation:
    """Figures by graph, then by variant, then by name; the folder of each run; and why a variant was left out."""

    graphs: dict[str, dict[str, dict[str, Estimate]]]
    folders: dict[str, Path]
    left_out: dict[str, str]


def ablate(settings: Settings, request: EvaluationRequest, display: Display) -> Ablation:
    """Ask the cases in every way that this machine can answer them; a stopped run continues.

    Raises what `evaluate` raises. A variant whose model or evaluator cannot be had is left out, with the reason.
    """
    graphs: dict[str, dict[str, dict[str, Estimate]]] = {name: {} for name in request.plan.graphs}
    folders: dict[str, Path] = {}
    left_out: dict[str, str] = {}
    for variant in variants(settings):
        display.say(f"{variant.name}:")
        out = request.out / variant.name.replace(", ", "-").replace(" ", "-") if request.out else None
        try:
            evaluation = evaluate(_varied(settings, variant), replace(request, out=out), display)
        except (ServerDown, ModelMissing, NotLocal) as error:
            left_out[variant.name] = f"{error}; {error.hint}" if error.hint else str(error)
            continue
        if evaluation.error:
            raise evaluation.error
        folder = evaluation.folder
        if variant.evaluator != "off" and folder.manifest["evaluator"] is None:
            left_out[variant.name] = "the evaluator cannot be had; local-rag doctor says why"
            continue
        folders[variant.name] = folder.path
        for graph, by_variant in graphs.items():
            by_variant[variant.name] = estimates(folder, graph, request.plan.seed)
    return Ablation(graphs, folders, left_out)


def variants(settings: Settings) -> Iterator[Variant]:
    """The extractive engine without and with the evaluator, and unless that engine was named, Ollama in both ways."""
    values = settings.values
    evaluator = type(values).model_fields["evaluator"].default if values.evaluator == "off" else values.evaluator
    yield Variant("extractive, evaluator off", "extractive", "off")
    yield Variant(f"extractive, evaluator {evaluator}", "extractive", evaluator)
    if values.engine != "extractive":
        yield Variant("ollama, grading packed", "ollama", evaluator)
        yield Variant("ollama, grading evaluator", "ollama", evaluator, "evaluator")


def _varied(settings: Settings, variant: Variant) -> Settings:
    values = settings.values
    ollama = values.ollama.model_copy(update={"grading": variant.grading})
    changed = {"engine": variant.engine, "evaluator": variant.evaluator, "ollama": ollama}
    return replace(settings, values=values.model_copy(update=changed))
