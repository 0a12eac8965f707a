"""Which language models there are: offered in models.yaml, installed on the server, in memory; and whether they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

from local_rag.config.machine import total_memory
from local_rag.config.models import FITS, Models, OllamaModelSpec, Profile, load_models
from local_rag.config.settings import Settings
from local_rag.core.errors import LocalRagError
from local_rag.engines.ollama.server import Installed, Loaded, is_cloud_name, same_model
from local_rag.runtime.engine_choice import open_server, roles
from local_rag.terminal.show import fitting_lines, wrapped
from local_rag.text.display import format_bytes, joined, printable

Room = Literal["yes", "tight", "no", "unknown"]
"""Whether a model fits into the memory of this machine."""

TIGHT = 0.7
"""Part of the memory above which a model leaves little for the system and for other programs."""

_GB = 1_000_000_000
_NONE = "-"


@dataclass(frozen=True)
class Row:
    """One model. Bytes in `download`, `memory` (expected) and `installed`; tokens in `window`, of what is loaded.

    None stands for "not known" in the first two, and for "it is not" in the others. `refused`: it answers from
    elsewhere, and nobody allowed it.
    """

    name: str
    in_use: bool
    offered: bool
    download: int | None
    memory: int | None
    fits: Room
    installed: int | None
    loaded: bool
    window: int | None
    remote_host: str
    refused: bool
    profiles: tuple[str, ...]
    about: str


@dataclass(frozen=True)
class Report:
    """What `local-rag models` tells. `problem` and `hint` are set where no server could be asked."""

    profile: str
    why: str
    in_use: tuple[str, ...]
    num_ctx: int
    memory: int | None
    server: str
    version: str
    problem: str
    hint: str
    models: tuple[Row, ...]


@dataclass(frozen=True)
class _Asked:
    """What the server said of its models."""

    server: str = ""
    version: str = ""
    installed: Sequence[Installed] = ()
    loaded: Sequence[Loaded] = ()
    problem: str = ""
    hint: str = ""


def model_report(settings: Settings, patience: float | None = None) -> Report:
    """The models of models.yaml first, then what else is installed. A server that is down is no error here."""
    memory = total_memory()
    profile, specs = roles(settings)
    in_use = tuple(dict.fromkeys(spec.name for spec in specs.values()))
    asked = _ask(settings, patience)
    return Report(
        profile=profile.name,
        why=_why(settings, profile, memory),
        in_use=in_use,
        num_ctx=profile.num_ctx,
        memory=memory,
        server=asked.server,
        version=asked.version,
        problem=asked.problem,
        hint=asked.hint,
        models=tuple(_rows(settings, asked, in_use, memory)),
    )


def _ask(settings: Settings, patience: float | None) -> _Asked:
    address = settings.values.ollama.host
    try:
        with closing(open_server(settings, patience)) as server:
            address = str(server.address)
            return _Asked(address, server.version(), server.installed(), server.loaded())
    except LocalRagError as error:
        return _Asked(address, problem=str(error), hint=error.hint)


def _offered(models: Models, in_use: Sequence[str]) -> list[str]:
    """Names in the order of models.yaml, then what only a profile or a setting names.

    An entry without a tag and a size speaks of all tags of a model, and is none itself.
    """
    listed = [name for name, spec in models.ollama.items() if ":" in name or spec.download]
    used = [name for profile in models.profiles.values() for name in profile.models]
    found: list[str] = []
    for name in (*listed, *used, *in_use):
        if not _find(name, found):
            found.append(name)
    return found


def _find(name: str, names: Sequence[str]) -> str:
    return next((one for one in names if same_model(one, name)), "")


def _rows(settings: Settings, asked: _Asked, in_use: Sequence[str], memory: int | None) -> Iterator[Row]:
    models, allowed = load_models(settings), settings.values.ollama.allow_cloud
    offered = _offered(models, in_use)
    for name in offered + [one.name for one in asked.installed if not _find(one.name, offered)]:
        spec = models.spec(name)
        there = next((one for one in asked.installed if same_model(one.name, name)), None)
        loaded = next((one for one in asked.loaded if same_model(one.name, name)), None)
        remote = there.remote_host if there else "ollama.com" if is_cloud_name(name) else ""
        yield Row(
            name=name,
            in_use=bool(_find(name, in_use)),
            offered=name in offered,
            download=_bytes(spec.download),
            memory=_bytes(spec.memory),
            fits="unknown" if remote else room(needed(spec, there.size if there else 0), memory),
            installed=there.size if there else None,
            loaded=loaded is not None,
            window=loaded.window if loaded else None,
            remote_host=remote,
            refused=bool(remote) and name not in allowed,
            profiles=tuple(one.name for one in models.profiles.values() if _find(name, one.models)),
            about=spec.about,
        )


def _bytes(gigabytes: float | None) -> int | None:
    return None if gigabytes is None else round(gigabytes * _GB)


def needed(spec: OllamaModelSpec, file: int = 0) -> int:
    """Bytes of memory that a model takes: what models.yaml expects, at least its file; 0 where nothing is known."""
    return max(_bytes(spec.memory) or 0, file or _bytes(spec.download) or 0)


def room(need: int, memory: int | None) -> Room:
    """Whether so many bytes fit into the machine's memory, None or 0 being unknown."""
    if not need or not memory:
        return "unknown"
    return "no" if need > memory else "tight" if need > memory * TIGHT else "yes"


def _why(settings: Settings, profile: Profile, memory: int | None) -> str:
    """Why this profile is in force."""
    if settings.values.profile:
        return f"named by {_named_by(settings.origin['profile'])}"
    if memory is None:
        return "the smallest, because this system does not say how much memory it has"
    if profile.memory * _GB * FITS > memory:
        return f"the smallest, although this machine has only {format_bytes(memory)} of memory"
    return f"the largest that fits this machine's {format_bytes(memory)} of memory"


def _named_by(origin: str) -> str:
    return "--profile" if origin == "flag" else origin


def report_lines(report: Report, width: int | None = None) -> Iterator[str]:
    """What a person sees, in at most `width` columns if that can be; what is in use is marked with a star."""
    yield printable(f"profile {report.profile}: {joined(report.in_use)}, window {report.num_ctx:,} tokens")
    yield from wrapped(printable(f"  ({report.why}; for another: --profile NAME)"), width, "  ")
    if report.problem:
        yield from wrapped(printable(f"{report.problem}, so what is installed is not known"), width)
        yield printable(f"  -> {report.hint}")
    else:
        yield printable(f"Ollama {report.version} at {report.server}")
    yield ""
    head = ("model", "memory", "fits", "state", "profiles", "about")
    rows = [[printable(cell) for cell in _cells(row, known=not report.problem)] for row in report.models]
    yield from fitting_lines(head, rows, width, optional=1)
    yield ""
    yield from wrapped(_legend(report), width)
    if not report.problem:
        yield from _next(report, width)


def _cells(row: Row, *, known: bool) -> list[str]:
    return [
        f"{'*' if row.in_use else ' '} {row.name}",
        _NONE if row.memory is None else format_bytes(row.memory),
        {"yes": "yes", "tight": "tight", "no": "NO", "unknown": _NONE}[row.fits],
        _state(row, known=known),
        ", ".join(row.profiles) or _NONE,
        row.about,
    ]


def _state(row: Row, *, known: bool) -> str:
    if row.remote_host:
        return f"answers from {row.remote_host.removeprefix('https://').removesuffix(':443')}"
    if row.loaded:
        return f"loaded, {row.window:,} tokens" if row.window else "loaded"
    if row.installed is not None:
        return f"installed, {format_bytes(row.installed)}"
    download = format_bytes(row.download) if row.download else ""
    return ", ".join(filter(None, ("not installed", download))) if known else f"download {download or _NONE}"


def _legend(report: Report) -> str:
    if report.memory is None:
        return "* in use. This system does not say how much memory it has."
    return (
        f"* in use. fits: into this machine's {format_bytes(report.memory)}; tight: takes more than {TIGHT:.0%} of it."
    )


def _next(report: Report, width: int | None) -> Iterator[str]:
    """The command that comes next."""
    used = [row for row in report.models if row.in_use]
    told, command = "", "local-rag models try"
    if away := [row.name for row in used if row.refused]:
        told = f"{joined(away)} would send your questions away, so it is not asked; take one that runs here:"
        command = "LOCAL_RAG_MODEL=NAME, or a profile of your own in models.yaml"
    elif missing := [row.name for row in used if row.installed is None and not row.remote_host]:
        told = f"{joined(missing)} {'is' if len(missing) == 1 else 'are'} not installed:"
        command = "local-rag models pull"
    if told:
        yield from wrapped(printable(told), width)
    yield f"  -> {command}"
