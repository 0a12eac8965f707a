"""Which language models there are: offered in models.yaml, installed on the server, in memory; and whether they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from local_rag.config.models import total_memory
from local_rag.config.settings import Settings
from local_rag.core.errors import LocalRagError
from local_rag.engines.ollama.server import is_cloud_name, same_model
from local_rag.text.display import format_bytes

if TYPE_CHECKING:
    from local_rag.config.models import Models, OllamaModelSpec, Profile
    from local_rag.engines.ollama.server import Installed, Loaded

Fits = Literal["yes", "tight", "no", "unknown"]
"""Whether a model fits into the memory of this machine."""

TIGHT = 0.7
"""Part of the memory above which a model leaves little for the system and for other programs."""

_GB = 1_000_000_000

Model = TypeVar("Model", "Installed", "Loaded")


@dataclass(frozen=True)
class ModelEntry:
    """One model. Bytes in `download`, `memory` (expected) and `installed`; tokens in `window`, of what is loaded.

    None stands for "not known" in the first two, and for "it is not" in the others. `refused`: it answers from
    elsewhere, and nobody allowed it.
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
class ModelReport:
    """What `local-rag models` tells. `problem` and `hint` are set where no server could be asked.

    `answering`: questions are answered by the models of `in_use` now, not without one.
    """

    profile: str
    why: str
    in_use: tuple[str, ...]
    num_ctx: int
    memory: int | None
    server: str
    version: str
    problem: str
    hint: str
    answering: bool
    models: tuple[ModelEntry, ...]


def model_report(settings: Settings, patience: float | None = None) -> ModelReport:
    """The models of models.yaml first, then what else is installed. A server that is down is no error here."""
    from local_rag.runtime.engine_choice import open_server, roles

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
    )


def _offered(models: Models, in_use: Sequence[str]) -> list[str]:
    """Names in the order of models.yaml, then what only a profile or a setting names.

    An entry without a tag and a size speaks of all tags of a model, and is none itself.
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
    """The model that a name, with a tag or without, stands for."""
    return next((model for model in models if same_model(model.name, name)), None)


def _entries(
    settings: Settings,
    installed: Sequence[Installed],
    loaded: Sequence[Loaded],
    in_use: Sequence[str],
    memory: int | None,
) -> Iterator[ModelEntry]:
    from local_rag.config.models import load_models

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
    """Bytes of memory that a model takes: what models.yaml expects, at least its file; 0 where nothing is known."""
    return max(_bytes(spec.memory) or 0, file or _bytes(spec.download) or 0)


def fits_memory(need: int, memory: int | None) -> Fits:
    """Whether so many bytes fit into the machine's memory, None or 0 being unknown."""
    if not need or not memory:
        return "unknown"
    return "no" if need > memory else "tight" if need > memory * TIGHT else "yes"


def _why(settings: Settings, profile: Profile, memory: int | None) -> str:
    """Why this profile is in force."""
    from local_rag.config.models import FITS

    if settings.values.profile:
        origin = settings.origin["profile"]
        return f"named by {'--profile' if origin == 'flag' else origin}"
    if memory is None:
        return "the smallest, because this system does not say how much memory it has"
    if profile.memory * _GB * FITS > memory:
        return f"the smallest, although this machine has only {format_bytes(memory)} of memory"
    return f"the largest that fits this machine's {format_bytes(memory)} of memory"
