"""List the models of models.yaml, those on the server and those in memory; let Ollama download models."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Literal, TypeVar

from local_rag.config.models import (
    FITS,
    OLLAMA,
    EmbedderSpec,
    Models,
    OllamaModelSpec,
    Profile,
    load_models,
    total_memory,
)
from local_rag.config.settings import Settings
from local_rag.core.address import DOWNLOAD
from local_rag.core.errors import EngineError, LocalRagError, ModelMissing, ServerDown
from local_rag.core.progress import Display, time_left
from local_rag.engines.ollama.server import (
    Installed,
    Loaded,
    OllamaApi,
    check_name,
    check_remote,
    is_cloud_name,
    same_model,
)
from local_rag.text.display import format_bytes

Fits = Literal["yes", "tight", "no", "unknown"]
"""Whether a model fits into the memory of this machine."""

TIGHT = 0.7
"""The share of the memory above which a model leaves little for the system and other programs."""

_GB = 1_000_000_000

LIBRARY = "https://ollama.com/library"
REGISTRY = "registry.ollama.ai"

Model = TypeVar("Model", "Installed", "Loaded")


@dataclass(frozen=True)
class ModelEntry:
    """Describe one model: bytes in `download`, `memory` (expected) and `installed`; tokens in `window`, if loaded.

    None means "unknown" in the first two, and "not" in the others. `refused`: the model answers from another machine,
    and nobody allowed it.
    """

    name: str
    in_use: bool
    offered: bool
    download: int | None
    memory: int | None
    fits: Fits
    installed: int | None
    loaded: bool
    window: int | None
    remote_host: str
    refused: bool
    profiles: tuple[str, ...]
    about: str


@dataclass(frozen=True)
class EmbedderEntry:
    """Describe one embedder; `there`: it is on this machine or on the server, None if no server answered.

    `download` is in GB. `command` installs an embedder that is missing.
    """

    name: str
    in_use: bool
    there: bool | None
    languages: tuple[str, ...]
    licence: str
    download: float | None
    about: str
    command: str


@dataclass(frozen=True)
class ModelReport:
    """Hold the report of `local-rag models`; `problem` and `hint` are set if no server answered.

    `answering`: the models of `in_use` answer questions now, so that no engine without a model is needed.
    """

    in_use: tuple[str, ...]
    num_ctx: int
    memory: int | None
    server: str
    problem: str
    hint: str
    answering: bool
    embedders: tuple[EmbedderEntry, ...]
    models: tuple[ModelEntry, ...] = ()
    profile: str = ""
    why: str = ""
    version: str = ""


def model_report(settings: Settings, patience: float | None = None) -> ModelReport:
    """Report the models of models.yaml first, then others that are installed; a missing server is no error."""
    from local_rag.runtime.engine_choice import roles
    from local_rag.runtime.opening import open_server

    if settings.values.engine == "openai":
        return _of_other_server(settings)
    memory = total_memory()
    profile, specs = roles(settings)
    in_use = tuple(dict.fromkeys(spec.name for spec in specs.values()))
    address, version, problem, hint = settings.values.ollama.host, "", "", ""
    installed: list[Installed] = []
    loaded: list[Loaded] = []
    try:
        with closing(open_server(settings, patience)) as server:
            address = str(server.address)
            version, installed, loaded = server.version(), server.installed(), server.loaded()
    except LocalRagError as error:
        problem, hint = str(error), error.hint
    entries = tuple(_entries(settings, installed, loaded, in_use, memory))
    there = all(entry.installed is not None and not entry.refused for entry in entries if entry.in_use)
    return ModelReport(
        profile=profile.name,
        why=_why(settings, profile, memory),
        in_use=in_use,
        num_ctx=profile.num_ctx,
        memory=memory,
        server=address,
        version=version,
        problem=problem,
        hint=hint,
        answering=there and settings.values.engine != "extractive",
        models=entries,
        embedders=tuple(_embedders(settings, None if problem else installed)),
    )


def _of_other_server(settings: Settings) -> ModelReport:
    """Report the model that a server of `engine: openai` uses."""
    from local_rag.runtime.engine_choice import open_openai

    name, window, server, problem, hint = settings.values.model, 0, settings.values.openai.base_url, "", ""
    try:
        with closing(open_openai(settings, trial=True)) as engine:
            (setup,) = engine.models
            name, window, server = setup.model, setup.num_ctx, str(engine.server)
    except LocalRagError as error:
        problem, hint = str(error), error.hint
    return ModelReport(
        in_use=(name,) if name else (),
        num_ctx=window,
        memory=total_memory(),
        server=server,
        problem=problem,
        hint=hint,
        answering=not problem,
        embedders=tuple(_embedders(settings, None)),
    )


def _embedders(settings: Settings, installed: Sequence[Installed] | None) -> Iterator[EmbedderEntry]:
    """Yield the embedders of models.yaml, then those of Ollama, including the one in use."""
    from local_rag.index.embed import weights
    from local_rag.runtime.opening import embedder_name

    models = load_models(settings)
    used = embedder_name(settings, models)
    of_ollama = [*models.ollama_embedders, *([used.removeprefix(OLLAMA)] if used.startswith(OLLAMA) else [])]
    for spec in (*models.embedders.values(), *map(models.embedder_of_ollama, dict.fromkeys(of_ollama))):
        name, command, there = spec.name, "", None if installed is None else bool(find_model(spec.name, installed))
        if isinstance(spec, EmbedderSpec):
            command, there = spec.install, weights.is_there(spec)
        else:
            name, command = f"{OLLAMA}{name}", f"local-rag models pull {name}"
        yield EmbedderEntry(name, name == used, there, spec.languages, spec.licence, spec.download, spec.about, command)


def _offered(models: Models, in_use: Sequence[str]) -> list[str]:
    """Return the names in the order of models.yaml, then names that only a profile or a setting uses.

    An entry without a tag and a size describes all tags of a model, and is no model itself.
    """
    listed = [name for name, spec in models.ollama.items() if ":" in name or spec.download]
    used = [name for profile in models.profiles.values() for name in profile.models]
    names: list[str] = []
    for name in (*listed, *used, *in_use):
        if not _find(name, names):
            names.append(name)
    return names


def _find(name: str, names: Sequence[str]) -> str:
    return next((known for known in names if same_model(known, name)), "")


def find_model(name: str, models: Sequence[Model]) -> Model | None:
    """Return the model that a name, with or without a tag, stands for."""
    return next((model for model in models if same_model(model.name, name)), None)


def _entries(
    settings: Settings,
    installed: Sequence[Installed],
    loaded: Sequence[Loaded],
    in_use: Sequence[str],
    memory: int | None,
) -> Iterator[ModelEntry]:
    models, allowed = load_models(settings), settings.values.ollama.allow_cloud
    offered = _offered(models, in_use)
    for name in offered + [model.name for model in installed if not _find(model.name, offered)]:
        spec = models.spec(name)
        there, running = find_model(name, installed), find_model(name, loaded)
        remote = there.remote_host if there else "ollama.com" if is_cloud_name(name) else ""
        yield ModelEntry(
            name=name,
            in_use=bool(_find(name, in_use)),
            offered=name in offered,
            download=_bytes(spec.download),
            memory=_bytes(spec.memory),
            fits="unknown" if remote else fits_memory(needed_memory(spec, there.size if there else 0), memory),
            installed=there.size if there else None,
            loaded=running is not None,
            window=running.window if running else None,
            remote_host=remote,
            refused=bool(remote) and name not in allowed,
            profiles=tuple(profile.name for profile in models.profiles.values() if _find(name, profile.models)),
            about=spec.about,
        )


def _bytes(gigabytes: float | None) -> int | None:
    return None if gigabytes is None else round(gigabytes * _GB)


def needed_memory(spec: OllamaModelSpec, file: int = 0) -> int:
    """Return the bytes of memory that a model needs: the value of models.yaml, at least its file; 0 if unknown."""
    return max(_bytes(spec.memory) or 0, file or _bytes(spec.download) or 0)


def fits_memory(need: int, memory: int | None) -> Fits:
    """Return whether `need` bytes fit into the machine's memory; None or 0 means unknown."""
    if not need or not memory:
        return "unknown"
    return "no" if need > memory else "tight" if need > memory * TIGHT else "yes"


def _why(settings: Settings, profile: Profile, memory: int | None) -> str:
    """Return why this profile is in force."""
    if settings.values.profile:
        origin = settings.origin["profile"]
        return f"named by {'--profile' if origin == 'flag' else origin}"
    if memory is None:
        return "the smallest, because this system does not say how much memory it has"
    if profile.memory * _GB * FITS > memory:
        return f"the smallest, although this machine has only {format_bytes(memory)} of memory"
    return f"the largest that fits this machine's {format_bytes(memory)} of memory"


# --- downloads -------------------------------------------------------------------------------------------------------


def pull_models(settings: Settings, display: Display) -> Iterator[Installed]:
    """Yield every model of the profile in force, or the one that was named, as soon as it is installed.

    At the end the embedder is converted, if it is not yet. Raise NotLocal for a cloud model before anything is sent,
    ServerDown, ModelMissing, EngineError.
    """
    from local_rag.runtime.engine_choice import roles
    from local_rag.runtime.opening import open_embedder, open_server

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


def _announce(server: OllamaApi, spec: OllamaModelSpec, display: Display) -> None:
    """Announce who downloads which model from where, and warn if it will not fit into memory."""
    if find_model(spec.name, server.installed()):
        display.say(f"Ollama has {spec.name}; it looks for a newer version at {registry(spec.name)}")
    else:
        size = f" (about {spec.download:g} GB)" if spec.download else ""
        display.say(f"Ollama, not local-rag, downloads {spec.name}{size} from {registry(spec.name)}")
    need, memory = needed_memory(spec), total_memory()
    if memory and fits_memory(need, memory) == "no":
        display.say(f"note: it needs about {format_bytes(need)} of memory; this machine has {format_bytes(memory)}")


def registry(name: str) -> str:
    """Return the registry in which Ollama looks for a model: a name of three parts begins with the host."""
    parts = name.split("/")
    return parts[0] if len(parts) > 2 else REGISTRY


def _pull(server: OllamaApi, name: str, display: Display) -> None:
    step, layers = "", Layers()
    try:
        with display.progress("asking…") as show:
            for step, done, total in server.pull(name):
                layers.add(step, done, total)
                show(*(layers.progress() if total else (None, step)))
    except ServerDown:
        raise
    except EngineError as error:
        raise _failed(str(error), name) from error
    if step != "success":
        raise _failed(f"it stopped after '{step}'", name)


class Layers:
    """Count bytes downloaded over all layers of a model, which Ollama reports one after the other by digest."""

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
        """Return the completed share, and: downloading 1.2 GB of 2.0 GB, 30.1 MB/s, about 0:27 left."""
        done, total = (sum(counts) for counts in zip(*self._layers.values(), strict=True))
        line = f"downloading {format_bytes(done)} of {format_bytes(total)}"
        speed = (done - self._before) / max(time.monotonic() - self._started, 1e-3)
        if speed and done < total:
            line += f", {format_bytes(round(speed))}/s, {time_left((total - done) / speed)}"
        return done / total, line


_HINTS = {
    "newer version": f"install a newer Ollama from {DOWNLOAD}",
    "no space left": "free some space on the disk of Ollama (ollama rm NAME); {again} continues",
    "dial tcp": "when Ollama reaches the network: {again}",
}
"""Words of Ollama's message, and what to do."""


def _failed(why: str, name: str) -> EngineError | ModelMissing:
    if "file does not exist" in why:
        hint = f"local-rag models lists names that fit this machine, {LIBRARY} all of them"
        return ModelMissing(f"{registry(name)} has no model {name}", hint=hint)
    again = f"local-rag models pull {name}"
    hint = next((hint for words, hint in _HINTS.items() if words in why), "{again} continues where it stopped")
    return EngineError(f"{registry(name)} did not give the whole of {name}: {why}", hint=hint.format(again=again))
