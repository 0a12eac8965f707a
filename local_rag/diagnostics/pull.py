"""Letting Ollama download models. local-rag itself downloads nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

from local_rag.config.models import OllamaModelSpec, total_memory
from local_rag.config.settings import Settings
from local_rag.core.address import DOWNLOAD
from local_rag.core.errors import EngineError, ModelMissing, ServerDown
from local_rag.core.progress import Display, time_left
from local_rag.diagnostics.model_list import find_model, fits_memory, needed_memory
from local_rag.engines.ollama.server import Installed, Server, check_name, check_remote
from local_rag.runtime.engine_choice import open_server, roles
from local_rag.runtime.opening import open_embedder
from local_rag.text.display import format_bytes

LIBRARY = "https://ollama.com/library"
REGISTRY = "registry.ollama.ai"


def pull_models(settings: Settings, display: Display) -> Iterator[Installed]:
    """Every model of the profile in force, or the one that was named, as soon as it is installed.

    The embedder is converted at the end, if it is not yet. Raises NotLocal for a cloud model
    before anything is sent, ServerDown, ModelMissing, EngineError.
    """
    _, by_role = roles(settings)
    specs = list({spec.name: spec for spec in by_role.values()}.values())
    for spec in specs:
        check_name(spec.name, settings.values.ollama.allow_cloud)
    with closing(open_server(settings)) as server:
        for spec in specs:
            _announce(server, spec, display)
            _pull(server, spec.name, display)
            model = find_model(spec.name, server.installed())
            if model is None:
                raise EngineError(f"Ollama says that it has {spec.name}, but does not list it", hint="ollama list")
            check_remote(spec.name, model.remote_host, settings.values.ollama.allow_cloud)
            yield model.model_copy(update={"name": spec.name})
    embedder = open_embedder(settings, display)
    with suppress(ModelMissing):
        if not embedder.ready:
            embedder.load()


def _announce(server: Server, spec: OllamaModelSpec, display: Display) -> None:
    """Who downloads what, from where, and whether it will fit."""
    if find_model(spec.name, server.installed()):
        display.say(f"Ollama has {spec.name}; it looks for a newer version at {registry(spec.name)}")
    else:
        size = f" (about {spec.download:g} GB)" if spec.download else ""
        display.say(f"Ollama, not local-rag, downloads {spec.name}{size} from {registry(spec.name)}")
    need, memory = needed_memory(spec), total_memory()
    if memory and fits_memory(need, memory) == "no":
        display.say(f"note: it needs about {format_bytes(need)} of memory; this machine has {format_bytes(memory)}")


def registry(name: str) -> str:
    """Where Ollama looks for a model: a name of three parts begins with the host."""
    parts = name.split("/")
    return parts[0] if len(parts) > 2 else REGISTRY


def _pull(server: Server, name: str, display: Display) -> None:
    step, layers = "", Layers()
    try:
        with display.progress("asking…") as show:
            for step, done, total in server.pull(name):
                layers.add(step, done, total)
                show(*(layers.progress() if total else (None, step)))
    except ServerDown:
        raise
    except EngineError as error:
        raise _clearer(error, name) from error
    if step != "success":
        hint = f"local-rag models pull {name} continues"
        raise EngineError(f"the download of {name} failed after '{step}'", hint=hint)


class Layers:
    """Bytes downloaded, over all layers of a model: Ollama reports each layer by its digest, one after the other."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}
        self._started = 0.0
        self._before = 0
        """Bytes that an earlier download left; they have no speed."""

    def add(self, digest: str, done: int, total: int) -> None:
        if total:
            if not self._layers:
                self._started, self._before = time.monotonic(), done
            self._layers[digest] = (max(done, self._layers.get(digest, (0, 0))[0]), total)

    def progress(self) -> tuple[float, str]:
        """The share that is done, and: downloading 1.2 GB of 2.0 GB, 30.1 MB/s, about 0:27 left."""
        done, total = (sum(counts) for counts in zip(*self._layers.values(), strict=True))
        line = f"downloading {format_bytes(done)} of {format_bytes(total)}"
        speed = (done - self._before) / max(time.monotonic() - self._started, 1e-3)
        if speed and done < total:
            line += f", {format_bytes(round(speed))}/s, {time_left((total - done) / speed)}"
        return done / total, line


_CAUSES: Sequence[tuple[str, str, str]] = (
    ("newer version", "needs a newer Ollama", f"install it from {DOWNLOAD}"),
    ("no space left", "does not fit on the disk of Ollama", "free some space (ollama rm NAME); {again} continues"),
    ("dial tcp", "could not be downloaded: Ollama did not reach the network", "when it is online: {again}"),
    ("max retries", "could not be downloaded: the network broke off too often", "{again} continues where it stopped"),
)
"""Words of Ollama's message, what they mean for the model, and what to do."""


def _clearer(error: EngineError, name: str) -> EngineError | ModelMissing:
    """What Ollama says of a pull, in words that lead on."""
    message, again = str(error), f"local-rag models pull {name}"
    if "file does not exist" in message:
        return ModelMissing(
            f"{registry(name)} has no model {name}",
            hint=f"local-rag models lists names that fit this machine, {LIBRARY} all of them",
        )
    for words, meaning, hint in _CAUSES:
        if words in message:
            return EngineError(f"{name} {meaning} ({message})", hint=hint.format(again=again))
    return EngineError(f"the download of {name} is incomplete: {message}", hint=f"{again} continues where it stopped")
