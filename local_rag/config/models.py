"""Read models and profiles by name from models.yaml, and the memory size of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from local_rag.config.settings import Settings
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import ConfigError, mistake_of
from local_rag.text.display import joined

T = TypeVar("T")

Role = Literal["router", "grader", "generator", "rewriter"]
"""The roles of a language model, in the order in which a question needs them."""

ROLES: tuple[Role, ...] = get_args(Role)

_LOCATION = ("package", "path", "model")
"""The keys that locate the weights of an embedder or an evaluator."""

_MAPPINGS = ("embedders", "evaluators", "ollama", "openai", "models", "profiles", "roles")
"""The keys whose values are mappings."""

OLLAMA = "ollama/"
"""The prefix in the name of an embedder that an Ollama server runs."""

_GB = 1_000_000_000

FITS = 0.9
"""The share of a profile's memory that a machine must report, because firmware and graphics reserve some."""


class _Entry(BaseModel):
    """Hold the keys of one named entry of models.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = ""


class _Weights(_Entry):
    """Locate weights: in the folder `path`, or in the folder `path` of the importable `package`."""

    package: str = ""
    path: str = ""


class _Embedding(_Entry):
    """Describe any embedding model; a prefix is put before every text, and `download` is in GB.

    `languages` are codes (ISO 639-1), "*" for very many, empty if unknown.
    """

    query_prefix: str = ""
    document_prefix: str = ""
    languages: tuple[str, ...] = ()
    licence: str = ""
    download: float | None = Field(None, gt=0)
    about: str = ""

    def reads(self, language: str) -> bool:
        """Return whether the model reads a language, as far as is known."""
        return not self.languages or bool({"*", language} & {*self.languages})


class OllamaEmbedderSpec(_Embedding):
    """Describe an embedding model of an Ollama server; None means that the server is asked."""

    dimension: int | None = Field(None, ge=1)
    window: int | None = Field(None, ge=16)


class EmbedderSpec(_Embedding, _Weights):
    """Describe an embedding model in the layout of sentence-transformers.

    `model` names one in the local cache of Hugging Face. `window` is in tokens, special tokens excluded. `sha256` is
    the digest of model.safetensors, and `install` is the command that fetches the weights.
    """

    model: str = ""
    dimension: int = Field(ge=1)
    window: int = Field(ge=16)
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    install: str = ""

    @model_validator(mode="after")
    def _located(self) -> EmbedderSpec:
        if bool(self.model) == bool(self.package or self.path):
            raise ValueError("name either 'model', or 'path', or 'package' with a 'path' inside it")
        return self


class EvaluatorSpec(_Weights):
    """Describe an evaluator: a folder with evaluator.onnx, tokenizer.json, config.json and calibration.json."""

    path: str = Field(min_length=1)


class OllamaModelSpec(_Entry):
    """Describe a model of an Ollama server; None means unknown.

    `think` is sent with every request. `num_ctx` tokens replace those of the profile; the model was trained for
    `window` tokens. `download` and the expected RAM `memory` are in GB. `requires` is the oldest version of Ollama that
    runs the model.
    """

    think: bool | Literal["low", "medium", "high", "max"] = False
    num_ctx: int | None = Field(None, ge=512)
    download: float | None = Field(None, gt=0)
    memory: float | None = Field(None, gt=0)
    window: int | None = Field(None, ge=512)
    requires: str = Field("", pattern=r"^(\d+(\.\d+){1,2})?$")
    about: str = ""


class Profile(_Entry):
    """Choose models and a context window for a machine with `memory` GB; `ours`: its models are the shipped ones."""

    memory: float = Field(gt=0)
    model: str = Field(min_length=1)
    num_ctx: int = Field(8192, ge=512)
    roles: Mapping[Role, Annotated[str, Field(min_length=1)]] = {}
    ours: bool = False

    def model_for(self, role: Role) -> str:
        """Return the name of the model for this role."""
        return self.roles.get(role, self.model)

    @property
    def models(self) -> tuple[str, ...]:
        """Return every model of the profile once, in the order of the roles."""
        return tuple(dict.fromkeys(self.model_for(role) for role in ROLES))


@dataclass(frozen=True)
class Models:
    """Hold the contents of models.yaml, with the settings under which it was read."""

    embedders: Mapping[str, EmbedderSpec]
    evaluators: Mapping[str, EvaluatorSpec] = field(default_factory=dict)
    ollama: Mapping[str, OllamaModelSpec] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    ollama_embedders: Mapping[str, OllamaEmbedderSpec] = field(default_factory=dict)
    openai: Mapping[str, OllamaModelSpec] = field(default_factory=dict)
    settings: Settings | None = None

    def embedder(self, name: str) -> EmbedderSpec:
        """Return the embedder of that name; raise ConfigError with the known names."""
        return self._known("embedder", name, self.embedders, next(iter(self.embedders), "minilm"))

    def evaluator(self, name: str) -> EvaluatorSpec:
        """Return the evaluator of that name; raise ConfigError with the known names."""
        return self._known("evaluator", name, self.evaluators, min(self.evaluators, default="minilm"))

    def profile(self, name: str = "", memory: int | None = None) -> Profile:
        """Return the profile of that name, or else the one for a machine with `memory` bytes.

        That is the largest profile that fits, the last of several equals, or the smallest if none fits or the memory is
        unknown. Raise ConfigError with the known names.
        """
        by_size = sorted(self.profiles.values(), key=lambda profile: profile.memory)
        if not by_size:
            raise ConfigError("models.yaml holds no profile", hint="add one under ollama.profiles")
        fitting = [profile for profile in by_size if profile.memory * _GB * FITS <= (memory or 0)]
        chosen = fitting[-1] if fitting else by_size[0]
        known = {profile.name: profile for profile in by_size}
        return self._known("profile", name, known, chosen.name) if name else chosen

    def _known(self, kind: str, name: str, known: Mapping[str, T], instead: str) -> T:
        """Return the entry of that name; raise ConfigError, which names the setting that asked for it, if any."""
        if name in known:
            return known[name]
        message, hint = f"there is no {kind} '{name}'", f"local-rag … --{kind} {instead}"
        if self.settings and self.settings.get(kind) == name:
            origin, hint = self.settings.origin[kind], self.settings.how_to_set(kind, instead)
            message += "" if origin == "flag" else f" ({origin})"
        of_ollama = ", and those of Ollama are ollama/NAME" if kind == "embedder" else ""
        raise ConfigError(f"{message}: models.yaml knows {joined(known)}{of_ollama}", hint=hint)

    def spec(self, name: str) -> OllamaModelSpec:
        """Return the description of a language model of Ollama."""
        return OllamaModelSpec.model_validate(_known_of(name, self.ollama))

    def embedder_of_ollama(self, name: str) -> OllamaEmbedderSpec:
        """Return the description of an embedding model of Ollama."""
        return OllamaEmbedderSpec.model_validate(_known_of(name, self.ollama_embedders))


def _known_of(name: str, specs: Mapping[str, _Entry]) -> dict[str, Any]:
    """Return the known keys of a model: those of its name before the tag, overridden by those of its full name.

    A name without a tag has the tag `latest`, as in Ollama.
    """
    head, _, tag = name.rpartition(":")
    family = head if head and "/" not in tag else name
    keys: dict[str, Any] = {}
    for known in (family, f"{family}:latest" if name == family else name):
        if known in specs:
            keys |= specs[known].model_dump(exclude_unset=True)
    return keys | {"name": name}


class _OllamaSection(_Entry):
    models: Mapping[str, OllamaModelSpec] = {}
    profiles: Mapping[str, Profile] = {}
    embedders: Mapping[str, OllamaEmbedderSpec] = {}


class _OpenAISection(_Entry):
    models: Mapping[str, OllamaModelSpec] = {}


class _Content(_Entry):
    """Hold the merged contents of all models.yaml files."""

    embedders: Mapping[str, EmbedderSpec] = {}
    evaluators: Mapping[str, EvaluatorSpec] = {}
    ollama: _OllamaSection = _OllamaSection()
    openai: _OpenAISection = _OpenAISection()


_Path = tuple[str, ...]
"""The keys that lead to a value, such as ("ollama", "profiles", "16gb", "model")."""


def load_models(settings: Settings) -> Models:
    """Read every models.yaml in force; stronger files win key by key, and lists replace lists.

    From strong to weak: `settings.models`, the config folder, the packaged file. Raise ConfigError for a file that
    cannot be read and for an unknown or wrong key.
    """
    merged: dict[str, Any] = {}
    origin: dict[_Path, Path] = {}
    shipped: Mapping[str, Any] = {}
    for file in files(settings):
        content = read_yaml(file)
        shipped = shipped or content["ollama"]["profiles"]  # the weakest file is the packaged one
        origin |= dict.fromkeys(merge(merged, content), file)
    try:
        known = _Content.model_validate(merged)
    except ValidationError as error:
        raise _mistake(error, origin) from error
    ours = {name: (keys["model"], keys.get("roles", {})) for name, keys in shipped.items()}
    return Models(
        embedders={name: _placed(spec, origin, "embedders", name) for name, spec in known.embedders.items()},
        evaluators={name: _placed(spec, origin, "evaluators", name) for name, spec in known.evaluators.items()},
        ollama={name: spec.model_copy(update={"name": name}) for name, spec in known.ollama.models.items()},
        profiles={
            name: profile.model_copy(update={"name": name, "ours": ours.get(name) == (profile.model, profile.roles)})
            for name, profile in known.ollama.profiles.items()
        },
        ollama_embedders=known.ollama.embedders,
        openai=known.openai.models,
        settings=settings,
    )


def files(settings: Settings) -> list[Path]:
    """Return every models.yaml in force, the weakest first, and the one that was asked for even if it is missing."""
    own = settings.config_folder / "models.yaml"
    in_force = [packaged_file(), *([own] if own.exists() or own.is_symlink() else [])]
    return [*in_force, Path(settings.models).expanduser().absolute()] if settings.models else in_force


def packaged_file() -> Path:
    """Return the shipped models.yaml: inside the package in a wheel, beside it in an editable install."""
    package = Path(__file__).parents[1]
    inside = package / "models.yaml"
    return inside if inside.is_file() else package.parent / "models.yaml"


Spec = TypeVar("Spec", EmbedderSpec, EvaluatorSpec)


def _placed(spec: Spec, origin: Mapping[_Path, Path], kind: str, name: str) -> Spec:
    """Return the entry with its name; outside a package, make its `path` relative to the file that contains it."""
    path = spec.path
    if path and not spec.package:
        path = str(origin[kind, name, "path"].parent / Path(path).expanduser())
    return spec.model_copy(update={"name": name, "path": path})


def merge(below: dict[str, Any], above: Mapping[Any, Any], parents: _Path = ()) -> Iterator[_Path]:
    """Put the keys of a stronger file over those of weaker ones; yield the path of each key that it sets.

    A new location of a model replaces the whole old one, or else a path could be read in the wrong package.
    """
    if parents[:1] in (("embedders",), ("evaluators",)) and not above.keys().isdisjoint(_LOCATION):
        for key in _LOCATION:
            below.pop(key, None)
    for key, value in above.items():
        path = (*parents, str(key))
        if isinstance(value, Mapping):
            if not isinstance(below.get(path[-1]), dict):
                below[path[-1]] = {}
            yield path
            yield from merge(below[path[-1]], value, path)
        elif value is not None or path[-1] not in _MAPPINGS:  # a key without a value has all its lines commented out
            below[path[-1]] = value
            yield path


def _mistake(error: ValidationError, origin: Mapping[_Path, Path]) -> ConfigError:
    """Return an error for the first mistake that names the file: the strongest that sets the key or its entry."""
    errors = [(tuple(map(str, details["loc"])), details) for details in error.errors()]
    location, first = errors[0]
    path = next(location[:end] for end in range(len(location), 0, -1) if location[:end] in origin)
    named = location if first["type"] == "missing" else path
    dotted = ".".join(named)
    if first["type"] == "extra_forbidden":
        message = f"there is no key '{dotted}'"
    elif first["type"] in ("dict_type", "mapping_type", "model_type"):
        message = f"'{dotted}' must hold 'name: value' lines"
    else:
        reasons = [mistake_of(details) for other, details in errors if other[: len(named)] == named]
        message = f"{dotted}: {', or '.join(dict.fromkeys(reasons))}"
    return ConfigError(f"{origin[path]}: {message}", hint=f"the keys are explained at the top of {packaged_file()}")


def total_memory() -> int | None:
    """Return the bytes of RAM of this machine, None if the system does not tell without further libraries."""
    if sys.platform == "win32":
        return _windows_memory()
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _windows_memory() -> int | None:
    """Return the bytes of RAM from GlobalMemoryStatusEx of the Win32 API (learn.microsoft.com, sysinfoapi.h)."""
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)] + [
            (name, ctypes.c_ulonglong)
            for name in ("total", "free", "page_total", "page_free", "virtual", "virtual_free", "extended")
        ]

    status = Status()
    status.length = ctypes.sizeof(Status)
    library = getattr(ctypes, "windll", None)
    if library is None or not library.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.total)
