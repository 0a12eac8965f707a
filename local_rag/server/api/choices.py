"""What a question can set: indexes, graphs, engines, models, the web, and the defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from local_rag.config.values import EngineName
from local_rag.core.errors import UsageError
from local_rag.server.endpoints import Endpoint, Nothing

if TYPE_CHECKING:
    from local_rag.server.place import Place


@dataclass(frozen=True, slots=True)
class GraphChoice:
    """A graph, and in a line what it does."""

    name: str
    about: str


@dataclass(frozen=True, slots=True)
class Choices:
    """What a question can set, and what holds where it does not."""

    indexes: Sequence[str]
    graphs: Sequence[GraphChoice]
    engines: Sequence[str]
    models: Sequence[str]
    web: Sequence[str]
    defaults: dict[str, Any]


def choices(place: Place, request: Nothing) -> Choices:
    from local_rag.graphs.explanations import OF_GRAPHS

    values = place.settings.values
    return Choices(
        indexes=place.indexes(),
        graphs=[GraphChoice(name, about) for name, about in OF_GRAPHS.items()],
        engines=get_args(EngineName),
        models=_models(place),
        web=("off", "ask"),
        defaults={
            "index": [*place.settings.index_paths],
            "graph": values.graph,
            "engine": values.engine,
            "model": values.model,
            "web": "off" if values.web.enabled == "off" else "ask",
            "k": values.k,
        },
    )


def _models(place: Place) -> list[str]:
    """The models that can answer without anything being fetched; none where no Ollama server answers."""
    from local_rag.diagnostics.model_list import model_report
    from local_rag.runtime.engine_choice import QUICK

    try:
        report = model_report(place.settings, QUICK)
    except UsageError:
        return []
    return [model.name for model in report.models if model.installed is not None and not model.refused]


ENDPOINTS = (
    Endpoint("GET", "/api/choices", choices, Nothing, Choices, "both", "what a question can set, and the defaults"),
)
