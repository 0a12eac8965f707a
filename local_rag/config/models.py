"""models.yaml: which models and profiles there are by name. Data only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from local_rag.config.settings import Settings
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import ConfigError
from local_rag.core.reasons import mistake_of
from local_rag.text.display import joined

Role = Literal["router", "grader", "generator", "rewriter"]
"""What a language model is asked to do; the order is that of a question's way."""

ROLES: tuple[Role, ...] = get_args(Role)

_LOCATION = ("package", "path", "model")
"""The keys by which an embedder or an evaluator says where its weights lie."""

_MAPPINGS = ("embedders", "evaluators", "ollama", "models", "profiles", "roles")
"""Keys that hold further ones."""

_GB = 1_000_000_000

FITS = 0.9
"""Part of a profile's memory that a machine must report: firmware and graphics keep some of what it was sold with."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EmbedderSpec(_Entry):
    """One embedding model. `window` is in tokens, special tokens excluded; the prefixes are put before every text."""

    name: str = ""
    package: str = Field("", description="an importable package that carries the weights, `path` is a folder inside it")
    path: str = Field("", description="a folder in the layout of sentence-transformers")
    model: str = Field("", description="a name on Hugging Face, looked up in the local cache only")
    dimension: int = Field(ge=1)
    window: int = Field(ge=16)
    query_prefix: str = ""
    document_prefix: str = ""
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$", description="of model.safetensors")
    install: str = Field("", description="the command that brings the weights")

    @model_validator(mode="after")
    def _located(self) -> EmbedderSpec:
        if bool(self.model) == bool(self.package or self.path):
            raise ValueError("name either 'model', or 'path', or 'package' with a 'path' inside it")
        return self


class EvaluatorSpec(_Entry):
    """One evaluator: a folder with evaluator.onnx, tokenizer.json, config.json and calibration.json."""

    name: str = ""
    package: str = Field("", description="an importable package that carries the weights, `path` is a folder inside it")
    path: str = Field("", description="the folder")

    @model_validator(mode="after")
    def _located(self) -> EvaluatorSpec:
        if not self.path:
            raise ValueError("name its folder: 'path', or 'package' with a 'path' inside it")
        return self


class _OllamaModelKeys(_Entry):
    think: bool | Literal["low", "medium", "high"] = Field(False, description="sent with every request")
    num_ctx: int | None = Field(None, ge=512, description="tokens, instead of the profile's")
    download: float | None = Field(None, gt=0, description="GB")
    memory: float | None = Field(None, gt=0, description="GB expected in RAM")
    window: int | None = Field(None, ge=512, description="tokens it was trained for")
    about: str = ""


class OllamaModelSpec(_OllamaModelKeys):
    """What is known about one model of an Ollama server; None where nothing is."""

    name: str


class _ProfileKeys(_Entry):
    memory: float = Field(gt=0)
    model: str = Field(min_length=1)
    num_ctx: int = Field(8192, ge=512)
    roles: Mapping[Role, Annotated[str, Field(min_length=1)]] = {}


class Profile(_ProfileKeys):
    """The models and the window for a machine with `memory` GB. `ours`: no file but the packaged one chose a model."""

    name: str
    ours: bool

    def model_for(self, role: Role) -> str:
        """The name of the model that does this."""
        return self.roles.get(role, self.model)

    @property
    def models(self) -> tuple[str, ...]:
        """Every model that is used, once, in the order of the roles."""
        return tuple(dict.fromkeys(self.model_for(role) for role in ROLES))


@dataclass(frozen=True)
class Models:
    """Everything models.yaml knows, under the settings by which it was read."""

    embedders: Mapping[str, EmbedderSpec]
    evaluators: Mapping[str, EvaluatorSpec] = field(default_factory=dict)
    ollama: Mapping[str, OllamaModelSpec] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    settings: Settings | None = None

    def embedder(self, name: str) -> EmbedderSpec:
        """The embedder of that name. Raises ConfigError with the names that there are."""
        if name not in self.embedders:
            raise self._unknown("embedder", name, sorted(self.embedders), min(self.embedders, default="minilm"))
        return self.embedders[name]

    def evaluator(self, name: str) -> EvaluatorSpec:
        """The evaluator of that name. Raises ConfigError with the names that there are."""
        if name not in self.evaluators:
            raise ConfigError(
                f"there is no evaluator '{name}': models.yaml knows {joined(sorted(self.evaluators))}",
                hint=f"set evaluator: {min(self.evaluators, default='minilm')} in config.yaml",
            )
        return self.evaluators[name]

    def profile(self, name: str = "", memory: int | None = None) -> Profile:
        """The profile of that name, else the one for a machine with `memory` bytes.

        That is the largest that fits, the last named one of equals; the smallest if none fits or nothing is known.
        Raises ConfigError with the names that there are.
        """
        if name in self.profiles:
            return self.profiles[name]
        by_size = sorted(self.profiles.values(), key=lambda profile: profile.memory)
        if not by_size:
            raise ConfigError("models.yaml holds no profile", hint="add one under ollama.profiles")
        fitting = [profile for profile in by_size if profile.memory * _GB * FITS <= (memory or 0)]
        chosen = fitting[-1] if fitting else by_size[0]
        if name:
            raise self._unknown("profile", name, [profile.name for profile in by_size], chosen.name)
        return chosen

    def _unknown(self, kind: str, name: str, known: Sequence[str], instead: str) -> ConfigError:
        """That no models.yaml has it, with the setting that names it, if one does."""
        message, hint = f"there is no {kind} '{name}'", f"local-rag … --{kind} {instead}"
        if self.settings and self.settings.get(kind) == name:
            origin, hint = self.settings.origin[kind], self.settings.how_to_set(kind, instead)
            message += "" if origin == "flag" else f" ({origin})"
        return ConfigError(f"{message}: models.yaml knows {joined(known)}", hint=hint)

    def spec(self, name: str) -> OllamaModelSpec:
        """What is known about a model, key by key: under its full name, or else under the name before the tag.

        A name without a tag is the tag `latest`, as it is for Ollama.
        """
        head, _, tag = name.rpartition(":")
        family = head if head and "/" not in tag else name
        keys: dict[str, Any] = {}
        for known in (family, f"{family}:latest" if name == family else name):
            if known in self.ollama:
                keys |= self.ollama[known].model_dump(exclude_unset=True)
        return OllamaModelSpec.model_validate(keys | {"name": name})


class _OllamaSection(_Entry):
    models: Mapping[str, _OllamaModelKeys] = {}
    profiles: Mapping[str, _ProfileKeys] = {}


class _Content(_Entry):
    """What the files say together."""

    embedders: Mapping[str, EmbedderSpec] = {}
    evaluators: Mapping[str, EvaluatorSpec] = {}
    ollama: _OllamaSection = _OllamaSection()


_Path = tuple[str, ...]
"""The keys that lead to a value, such as ("ollama", "profiles", "16gb", "model")."""


def load_models(settings: Settings) -> Models:
    """Read every models.yaml in force; earlier ones win key by key, lists replace.

    The order: `settings.models`, the config folder, the packaged file.
    Raises ConfigError for a file that cannot be read and for an unknown or wrong key.
    """
    packaged = packaged_file()
    merged: dict[str, Any] = {}
    origin: dict[_Path, Path] = {}
    chosen: set[_Path] = set()
    for file in files(settings):
        paths = list(_merge(merged, read_yaml(file)))
        origin |= dict.fromkeys(paths, file)
        if not _same(file, packaged):
            chosen |= {path[:3] for path in paths if path[3:4] in (("model",), ("roles",))}
    try:
        content = _Content.model_validate(merged)
    except ValidationError as error:
        raise _mistake(error, origin) from error
    return Models(
        embedders={
            name: spec.model_copy(update={"name": name, "path": _folder_path("embedders", name, spec, origin)})
            for name, spec in content.embedders.items()
        },
        evaluators={
            name: spec.model_copy(update={"name": name, "path": _folder_path("evaluators", name, spec, origin)})
            for name, spec in content.evaluators.items()
        },
        ollama={name: OllamaModelSpec(name=name, **_given(keys)) for name, keys in content.ollama.models.items()},
        profiles={
            name: Profile(name=name, ours=("ollama", "profiles", name) not in chosen, **_given(keys))
            for name, keys in content.ollama.profiles.items()
        },
        settings=settings,
    )


def files(settings: Settings) -> list[Path]:
    """Every models.yaml in force, the weakest first; one that was asked for is listed though it may not be there."""
    own = settings.config_folder / "models.yaml"
    in_force = [packaged_file(), *([own] if own.exists() or own.is_symlink() else [])]
    return [*in_force, Path(settings.models).expanduser().absolute()] if settings.models else in_force


def packaged_file() -> Path:
    """models.yaml as it was shipped: inside the package in a wheel, beside it in an editable install."""
    package = Path(__file__).parents[1]
    inside = package / "models.yaml"
    return inside if inside.is_file() else package.parent / "models.yaml"


def _same(file: Path, packaged: Path) -> bool:
    """Is that the packaged file or a copy of it, which says nothing of its own?"""
    return file.read_bytes() == packaged.read_bytes()


def _given(keys: _Entry) -> dict[str, Any]:
    return keys.model_dump(exclude_unset=True)


def _folder_path(kind: str, name: str, spec: EmbedderSpec | EvaluatorSpec, origin: Mapping[_Path, Path]) -> str:
    """The `path` of an embedder or evaluator: outside a package it is relative to the file that names it."""
    if spec.package or not spec.path:
        return spec.path
    return str(origin[kind, name, "path"].parent / Path(spec.path).expanduser())


def _merge(below: dict[str, Any], above: Mapping[Any, Any], parents: _Path = ()) -> Iterator[_Path]:
    """Put the keys of a stronger file over those of the weaker ones; the path of each key that it sets.

    A new location of a model replaces the whole old one, or a path would land in the wrong package.
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
            yield from _merge(below[path[-1]], value, path)
        elif value is not None or path[-1] not in _MAPPINGS:  # without a value its lines are all commented out
            below[path[-1]] = value
            yield path


def _mistake(error: ValidationError, origin: Mapping[_Path, Path]) -> ConfigError:
    """The first mistake, with the file that made it: the strongest that sets that key, else the entry around it."""
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
