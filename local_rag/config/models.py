"""models.yaml: which models and profiles there are by name. Data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from local_rag.config.settings import Settings, read_yaml
from local_rag.core.errors import ConfigError
from local_rag.text.display import joined

Role = Literal["router", "grader", "generator", "rewriter"]
"""What a language model is asked to do; the order is that of a question's way."""

ROLES: tuple[Role, ...] = get_args(Role)

_LOCATION = ("package", "path", "model")
_GB = 1_000_000_000

FITS = 0.9
"""Part of a profile's memory that a machine must report: firmware and graphics keep some of what it was sold with."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EmbedderSpec(_Entry):
    """One embedding model. `window` is in tokens, special tokens excluded; the prefixes are put before every text."""

    name: str
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


class OllamaModelSpec(_Entry):
    """What is known about one model of an Ollama server; None where nothing is."""

    name: str
    think: bool | Literal["low", "medium", "high"] = Field(False, description="sent with every request")
    num_ctx: int | None = Field(None, ge=512, description="tokens, instead of the profile's")
    download: float | None = Field(None, gt=0, description="GB")
    memory: float | None = Field(None, gt=0, description="GB expected in RAM")
    window: int | None = Field(None, ge=512, description="tokens it was trained for")
    about: str = ""


class Profile(_Entry):
    """The models and the window for a machine with `memory` GB. `ours`: no file but the packaged one chose a model."""

    name: str
    memory: float = Field(gt=0)
    model: str = Field(min_length=1)
    num_ctx: int = Field(8192, ge=512)
    roles: Mapping[Role, Annotated[str, Field(min_length=1)]] = {}
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
    """Everything models.yaml knows. `untrusted` is a ./models.yaml that was left alone because nobody trusted it."""

    embedders: Mapping[str, EmbedderSpec]
    untrusted: Path | None = None
    ollama: Mapping[str, OllamaModelSpec] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)

    def embedder(self, name: str) -> EmbedderSpec:
        """The embedder of that name. Raises ConfigError with the names that there are."""
        if name not in self.embedders:
            raise ConfigError(
                f"there is no embedder '{name}': models.yaml knows {joined(sorted(self.embedders))}",
                hint=f"local-rag … --embedder {min(self.embedders, default='minilm')}",
            )
        return self.embedders[name]

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
            raise ConfigError(
                f"there is no profile '{name}': models.yaml knows {joined([profile.name for profile in by_size])}",
                hint=f"local-rag … --profile {chosen.name}",
            )
        return chosen

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


_SECTIONS: dict[str, type[_Entry]] = {
    "embedders": EmbedderSpec,
    "ollama.models": OllamaModelSpec,
    "ollama.profiles": Profile,
}
_GIVEN = {"ollama.models": {"name"}, "ollama.profiles": {"name", "ours"}}
"""Fields that are known from elsewhere and are no keys of the file."""

_Entries = dict[str, dict[str, Any]]
_E = TypeVar("_E", bound=_Entry)


@dataclass(frozen=True)
class _Layer:
    """One file: section -> name -> keys."""

    file: Path
    sections: Mapping[str, _Entries]


def load_models(settings: Settings) -> Models:
    """Read every models.yaml in force; earlier ones win key by key, lists replace.

    The order: `settings.models`, ./models.yaml if trusted, the config folder, the packaged file.
    Raises ConfigError for a file that cannot be read and for an unknown or wrong key.
    """
    packaged = packaged_file()
    here = Path.cwd() / "models.yaml"
    is_ours = not here.is_file() or _same(here, packaged)
    layers = [_read(file) for file in files(settings)]
    return Models(
        embedders=_validated(EmbedderSpec, "embedders", layers),
        untrusted=None if is_ours or settings.trust_models_here else here,
        ollama=_validated(OllamaModelSpec, "ollama.models", layers),
        profiles=_validated(Profile, "ollama.profiles", layers, packaged),
    )


def files(settings: Settings) -> list[Path]:
    """Every models.yaml in force, the weakest first; one that was asked for is listed though it may not be there."""
    candidates = [packaged_file(), settings.config_folder / "models.yaml"]
    if settings.trust_models_here:
        candidates.append(Path.cwd() / "models.yaml")
    in_force = [file for file in candidates if file.is_file()]
    return [*in_force, Path(settings.models).expanduser().absolute()] if settings.models else in_force


def packaged_file() -> Path:
    """models.yaml as it was shipped: inside the package in a wheel, beside it in an editable install."""
    package = Path(__file__).parents[1]
    inside = package / "models.yaml"
    return inside if inside.is_file() else package.parent / "models.yaml"


def _same(file: Path, packaged: Path) -> bool:
    """Is that the packaged file or a copy of it, which says nothing of its own?"""
    return file.read_bytes() == packaged.read_bytes()


def _read(file: Path) -> _Layer:
    data = read_yaml(file)
    _only(file, data, "", ("embedders", "ollama"))
    ollama = data.get("ollama") or {}
    if not isinstance(ollama, dict):
        raise ConfigError(f"{file}: 'ollama' must hold 'models:' and 'profiles:'")
    _only(file, ollama, "ollama.", ("models", "profiles"))
    return _Layer(
        file,
        {
            "embedders": _named(file, "embedders", data.get("embedders")),
            "ollama.models": _named(file, "ollama.models", ollama.get("models")),
            "ollama.profiles": _named(file, "ollama.profiles", ollama.get("profiles")),
        },
    )


def _only(file: Path, data: Mapping[str, Any], prefix: str, known: Sequence[str]) -> None:
    for key in data:
        if key not in known:
            raise ConfigError(f"{file}: there is no key '{prefix}{key}'", hint=f"the keys are {', '.join(known)}")


def _named(file: Path, section: str, data: Any) -> _Entries:
    """The entries of one section, every key of them known."""
    entries = data or {}
    if not isinstance(entries, dict) or not all(isinstance(keys, dict) for keys in entries.values()):
        raise ConfigError(f"{file}: '{section}' must hold one 'name:' with its keys per entry")
    known = [key for key in _SECTIONS[section].model_fields if key not in _GIVEN.get(section, ())]
    for name, keys in entries.items():
        _only(file, keys, f"{section}.{name}.", known)
    if section == "embedders":
        return {str(name): _anchored(keys, file.parent) for name, keys in entries.items()}
    return {str(name): _stated(keys) for name, keys in entries.items()}


def _anchored(keys: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A `path` outside a package is relative to the file that names it."""
    if isinstance(keys.get("path"), str) and not keys.get("package"):
        return keys | {"path": str(folder / Path(keys["path"]).expanduser())}
    return keys


def _stated(keys: dict[str, Any]) -> dict[str, Any]:
    """Without a `roles:` whose lines are all commented out: it says nothing."""
    return {key: value for key, value in keys.items() if key != "roles" or value is not None}


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """The keys together, those inside `roles` too. A new location replaces the whole old one, or a path would land in
    the wrong package.
    """
    if any(key in above for key in _LOCATION):
        below = {key: value for key, value in below.items() if key not in _LOCATION}
    both = below | above
    if isinstance(below.get("roles"), dict) and isinstance(above.get("roles"), dict):
        both["roles"] = below["roles"] | above["roles"]
    return both


def _validated(entry: type[_E], section: str, layers: Sequence[_Layer], packaged: Path | None = None) -> dict[str, _E]:
    """Every entry of a section, merged. `packaged` is given for profiles: are their models ours, named by it alone?"""
    merged: _Entries = {}
    chosen: set[str] = set()
    for layer in layers:
        is_ours = packaged is None or _same(layer.file, packaged)
        for name, keys in layer.sections[section].items():
            merged[name] = _over(merged.get(name, {}), keys)
            if not is_ours and keys.keys() & {"model", "roles"}:
                chosen.add(name)
    entries: dict[str, _E] = {}
    for name, keys in merged.items():
        given = {"name": name} if packaged is None else {"name": name, "ours": name not in chosen}
        try:
            entries[name] = entry.model_validate(keys | given)
        except ValidationError as error:
            raise _wrong(error, section, name, layers) from error
    return entries


def _wrong(error: ValidationError, section: str, name: str, layers: Sequence[_Layer]) -> ConfigError:
    """The first mistake, with the file that made it: the one that wins for that key, else the last with that entry."""
    errors = error.errors()
    key = [str(part) for part in errors[0]["loc"]]
    key = key[:2] if key[:1] == ["roles"] else key[:1]
    reasons = [wrong["msg"] for wrong in errors if [str(part) for part in wrong["loc"]][: len(key)] == key]
    naming = [layer for layer in layers if name in layer.sections[section]]
    setting = [layer for layer in naming if key and key[0] in layer.sections[section][name]]
    what = " or ".join(dict.fromkeys(f"{reason[0].lower()}{reason[1:]}" for reason in reasons))
    return ConfigError(
        f"{(setting or naming)[-1].file}: {'.'.join([section, name, *key])}: {what}",
        hint=f"the keys are explained at the top of {packaged_file()}",
    )
