"""models.yaml: which models there are by name, and where on this machine they lie. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from local_rag.config import Settings, read_yaml
from local_rag.errors import ConfigError
from local_rag.text import joined

_LOCATION = ("package", "path", "model")


class EmbedderSpec(BaseModel):
    """One embedding model. `window` is in tokens, special tokens excluded; the prefixes are put before every text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


@dataclass(frozen=True)
class Models:
    """Every known model. `untrusted` is a ./models.yaml that was left alone because nobody trusted it."""

    embedders: Mapping[str, EmbedderSpec]
    untrusted: Path | None = None

    def embedder(self, name: str) -> EmbedderSpec:
        """The embedder of that name. Raises ConfigError with the names that there are."""
        if name not in self.embedders:
            raise ConfigError(
                f"there is no embedder '{name}': models.yaml knows {joined(sorted(self.embedders))}",
                hint=f"local-rag … --embedder {min(self.embedders, default='minilm')}",
            )
        return self.embedders[name]


def load_models(settings: Settings) -> Models:
    """Read every models.yaml in force; earlier ones win key by key, lists replace.

    The order: `settings.models`, ./models.yaml if trusted, the config folder, the packaged file.
    Raises ConfigError for a file that cannot be read and for an unknown or wrong key.
    """
    packaged = packaged_file()
    here = Path.cwd() / "models.yaml"
    is_ours = not here.is_file() or here.read_bytes() == packaged.read_bytes()
    files = [packaged, settings.config_folder / "models.yaml"]
    if settings.trust_models_here:
        files.append(here)
    layers = [_read(file) for file in files if file.is_file()]
    if settings.models:
        layers.append(_read(Path(settings.models).expanduser().absolute()))
    merged: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for name, keys in layer.items():
            merged[name] = _over(merged.get(name, {}), keys)
    return Models(
        embedders={name: _spec(name, keys) for name, keys in merged.items()},
        untrusted=None if is_ours or settings.trust_models_here else here,
    )


def packaged_file() -> Path:
    """models.yaml as it was shipped: inside the package in a wheel, beside it in an editable install."""
    package = Path(__file__).parent
    inside = package / "models.yaml"
    return inside if inside.is_file() else package.parent / "models.yaml"


def _read(file: Path) -> dict[str, dict[str, Any]]:
    data = read_yaml(file)
    for key in data:
        if key != "embedders":
            raise ConfigError(f"{file}: there is no key '{key}'", hint="models.yaml holds 'embedders' only")
    embedders = data.get("embedders") or {}
    if not isinstance(embedders, dict) or not all(isinstance(keys, dict) for keys in embedders.values()):
        raise ConfigError(f"{file}: 'embedders' must hold one 'name:' with its keys per model")
    return {str(name): _anchored(keys, file.parent) for name, keys in embedders.items()}


def _anchored(keys: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A `path` outside a package is relative to the file that names it."""
    if isinstance(keys.get("path"), str) and not keys.get("package"):
        return keys | {"path": str(folder / Path(keys["path"]).expanduser())}
    return keys


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """The keys together; a new location replaces the whole old one, or a path would land in the wrong package."""
    if any(key in above for key in _LOCATION):
        below = {key: value for key, value in below.items() if key not in _LOCATION}
    return below | above


def _spec(name: str, keys: dict[str, Any]) -> EmbedderSpec:
    try:
        return EmbedderSpec.model_validate(keys | {"name": name})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(["embedders", name, *map(str, first["loc"])])
        raise ConfigError(
            f"models.yaml: {key}: {first['msg'][0].lower()}{first['msg'][1:]}",
            hint=f"the keys of an embedder are explained at the top of {packaged_file()}",
        ) from error
