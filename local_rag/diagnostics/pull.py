"""Letting Ollama download models. local-rag itself downloads nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace

from local_rag.config.machine import total_memory
from local_rag.config.models import OllamaModelSpec
from local_rag.config.settings import Settings
from local_rag.core.errors import EngineError, ModelMissing, ServerDown
from local_rag.core.progress import Display, time_left
from local_rag.diagnostics.model_list import fits_memory, needed_memory
from local_rag.engines.ollama.address import DOWNLOAD
from local_rag.engines.ollama.model_names import check_name, check_remote, same_model
from local_rag.engines.ollama.server import Installed, Server
from local_rag.runtime.engine_choice import open_server, roles
from local_rag.runtime.opening import open_embedder
from local_rag.text.display import format_bytes

LIBRARY = "https://ollama.com/library"
REGISTRY = "registry.ollama.ai"


def pull_models(settings: Settings, display: Display) -> Iterator[Installed]:
    """Every model of the profile in force, or the one that was named, as soon as it is installed.

    The embedder is converted at the end, if it is not yet. Raises NotLocal for a cloud model before anything is sent,
    ServerDown, ModelMissing, EngineError.
    """
    _, by_role = roles(settings)
    specs = list({spec.name: spec for spec in by_role.values()}.values())
    for spec in specs:
        check_name(spec.name, settings.values.ollama.allow_cloud)
    with closing(open_server(settings)) as server:
        for spec in specs:
            _announce(server, spec, display)
            _pull(server, spec.name, display)
            model = _installed(server, spec.name)
            if model is None:
                raise EngineError(f"Ollama says that it has {spec.name}, but does not list it", hint="ollama list")
            check_remote(spec.name, model.remote_host, settings.values.ollama.allow_cloud)
            yield replace(model, name=spec.name)
    embedder = open_embedder(settings, display)
    with suppress(ModelMissing):
        if not embedder.ready:
            embedder.load()


def _installed(server: Server, name: str) -> Installed | None:
    return next((model for model in server.installed() if same_model(model.name, name)), None)


def _announce(server: Server, spec: OllamaModelSpec, display: Display) -> None:
    """Who downloads what, from where, and whether it will fit."""
    if _installed(server, spec.name):
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
                show(layers.share if total else None, layers.line() if total else step)
    except ServerDown:
        raise
    except EngineError as error:
        raise _clearer(error, name) from error
    if step != "success":
        raise EngineError(f"the download of {name} failed after '{step}'", hint=f"{_again(name)} continues")


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

    @property
    def done(self) -> int:
        return sum(done for done, _ in self._layers.values())

    @property
    def total(self) -> int:
        return sum(total for _, total in self._layers.values())

    @property
    def share(self) -> float:
        return self.done / self.total

    def line(self) -> str:
        """Downloading 1.2 GB of 2.0 GB, 30.1 MB/s, about 0:27 left."""
        line = f"downloading {format_bytes(self.done)} of {format_bytes(self.total)}"
        speed = (self.done - self._before) / max(time.monotonic() - self._started, 1e-3)
        if not speed or self.done == self.total:
            return line
        return f"{line}, {format_bytes(round(speed))}/s, {time_left((self.total - self.done) / speed)}"


def _again(name: str) -> str:
    return f"local-rag models pull {name}"


_CAUSES: Sequence[tuple[str, str, str]] = (
    ("newer version", "needs a newer Ollama", f"install it from {DOWNLOAD}"),
    ("no space left", "does not fit on the disk of Ollama", "free some space (ollama rm NAME); {again} continues"),
    ("dial tcp", "could not be downloaded: Ollama did not reach the network", "when it is online: {again}"),
    ("max retries", "could not be downloaded: the network broke off too often", "{again} continues where it stopped"),
)
"""Words of Ollama's message, what they mean for the model, and what to do."""


def _clearer(error: EngineError, name: str) -> EngineError | ModelMissing:
    """What Ollama says of a pull, in words that lead on."""
    message = str(error)
    if "file does not exist" in message:
        return ModelMissing(
            f"{registry(name)} has no model {name}",
            hint=f"local-rag models lists names that fit this machine, {LIBRARY} all of them",
        )
    for words, meaning, hint in _CAUSES:
        if words in message:
            return EngineError(f"{name} {meaning} ({message})", hint=hint.format(again=_again(name)))
    return EngineError(
        f"the download of {name} is incomplete: {message}", hint=f"{_again(name)} continues where it stopped"
    )
