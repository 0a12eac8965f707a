"""The evaluator of a bundle: what it needs besides local-rag's own wheel."""

from __future__ import annotations

from local_rag.bundle.embedder import Carried, distribution_of, slug
from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core.errors import ModelChanged, ModelMissing
from local_rag.engines.evaluator.evaluator import find
from local_rag.index.embed.weights import SEEN


def carried_evaluator(settings: Settings) -> tuple[tuple[Carried, ...], str]:
    """Its folder or wheel; and why it is not carried, if it is not.

    The shipped one travels in the wheel of local-rag itself. Raises ConfigError.
    """
    name, models = settings.values.evaluator, load_models(settings)
    try:
        find(name, models, settings.cache_folder / SEEN)
    except (ModelMissing, ModelChanged) as error:
        return (), f"the evaluator {name} is not carried: {error}"
    spec = models.evaluator(name)
    if not spec.package:
        return (Carried(spec, folder=f"evaluators/{slug(name)}"),), ""
    if spec.package != "local_rag":
        return (Carried(spec, requirement=distribution_of(spec.package)),), ""
    return (), ""
