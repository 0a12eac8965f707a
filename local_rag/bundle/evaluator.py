"""The evaluator of a bundle: what it needs besides local-rag's own wheel and the embedder."""

from __future__ import annotations

from local_rag.bundle.embedder import Carried, carried, distribution_of, slug
from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core.errors import ModelChanged, ModelMissing
from local_rag.engines.evaluator import files
from local_rag.index.embed.weights import SEEN


def carried_with(settings: Settings, embedder: Carried) -> tuple[tuple[Carried, ...], str]:
    """Its folder or wheel, and its base where that is another embedder; and why it is not carried, if it is not.

    The shipped one travels in the wheel of local-rag itself. Raises ConfigError.
    """
    name, models = settings.values.evaluator, load_models(settings)
    try:
        files.find(name, models, settings.cache_folder / SEEN)
    except (ModelMissing, ModelChanged) as error:
        return (), f"the evaluator {name} is not carried: {error}"
    spec, parts = models.evaluator(name), list[Carried]()
    if spec.base and spec.base != embedder.spec.name:
        parts.append(carried(settings, spec.base))
    if not spec.package:
        parts.append(Carried(spec, folder=f"evaluators/{slug(name)}"))
    elif spec.package != "local_rag":
        parts.append(Carried(spec, requirement=distribution_of(spec.package)))
    return tuple(parts), ""
