"""The embedder of a bundle, models that lie in folders, and its models.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.bundle.copying import Say, copy
from local_rag.bundle.large_files import Progress
from local_rag.config.models import EmbedderSpec, EvaluatorSpec, Models, load_models, packaged_file
from local_rag.config.settings import Settings
from local_rag.core.errors import LocalRagError
from local_rag.index.embed import weights

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAFE = (".json", ".txt", ".md", ".model", ".safetensors", ".onnx")
"""Files that a loader of safetensors reads; other forms of weights can hold programs, and are not carried."""

_LOCATION = ("package", "path", "model")

_HEAD = """\
# What models.yaml says on the machine where this bundle was made, as far as it differs from the file that ships with
# local-rag. Names, keys and their meaning: the head of that file.
"""


@dataclass(frozen=True)
class Carried:
    """How an embedder or an evaluator travels: as a wheel (`requirement`), or as a folder of the bundle."""

    spec: EmbedderSpec | EvaluatorSpec
    requirement: str = ""
    folder: str = ""

    @property
    def kind(self) -> str:
        """What it is, as models.yaml calls a list of them."""
        return "embedders" if isinstance(self.spec, EmbedderSpec) else "evaluators"

    @property
    def source(self) -> Path:
        """Where it lies here. Raises ModelMissing."""
        if isinstance(self.spec, EmbedderSpec):
            return weights.folder(self.spec)
        return weights.named_folder(self.spec) or Path(self.spec.path)


def carried(settings: Settings, name: str) -> Carried:
    """The embedder of that name. Raises ConfigError, ModelMissing."""
    spec = load_models(settings).embedder(name)
    weights.folder(spec)
    requirement = distribution_of(spec.package) if spec.package else ""
    return Carried(spec, requirement, "" if requirement else f"embedders/{slug(spec.name)}")


def distribution_of(package: str) -> str:
    """The requirement that brings an importable package, empty for one that was not installed."""
    from importlib.metadata import packages_distributions, version

    names = packages_distributions().get(package.partition(".")[0])
    return f"{names[0]}=={version(names[0])}" if names else ""


def slug(name: str) -> str:
    """A name as a folder that every disk takes."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "unnamed"


def gather(carried: Carried, bundle: Path, say: Say) -> set[str]:
    """Copy the folder of a model, following links; the paths in the bundle. Raises ModelMissing, LocalRagError."""
    source = carried.source
    paths, left, files = set(), [], list(_files(source))
    progress = Progress("copied", sum(file.stat().st_size for file in files), say)
    for file in files:
        relative = file.relative_to(source).as_posix()
        is_safe = file.suffix in _SAFE or file.name == "LICENSE"
        if not (is_safe and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._+/-]*", relative)):
            left.append(relative)
            continue
        copy(file, bundle / carried.folder / relative, progress)
        paths.add(f"{carried.folder}/{relative}")
    say(f"copied the {carried.kind.removesuffix('s')} {carried.spec.name}: {len(paths)} files")
    if left:
        say(f"left behind, because loading safetensors needs none of it: {', '.join(left)}")
    sha256 = carried.spec.sha256 if isinstance(carried.spec, EmbedderSpec) else ""
    if sha256 and weights.sha256(bundle / carried.folder / weights.WEIGHTS) != sha256:
        raise LocalRagError(
            f"the weights of '{carried.spec.name}' are not the ones that models.yaml names", hint="local-rag doctor"
        )
    return paths


def _files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _files(entry)
        elif entry.is_file():
            yield entry


def models_file(settings: Settings, *carried: Carried) -> tuple[bytes, bool]:
    """models.yaml for the other machine, and whether it is the packaged one.

    Of models that lie in folders only the carried ones are kept, with their places in the bundle.
    """
    import yaml

    alone = replace(settings, config_folder=packaged_file().parent / "nowhere", models=None)
    data = differences(load_models(settings), load_models(alone))
    for kind in ("embedders", "evaluators"):
        data[kind] = {name: keys for name, keys in data[kind].items() if not keys.get("path") or keys.get("package")}
    for each in carried:
        if each.folder:
            keys = each.spec.model_dump(exclude_defaults=True, exclude={"name", *_LOCATION})
            data[each.kind][each.spec.name] = keys | {"path": each.folder}
    if not any((data["embedders"], data["evaluators"], *data["ollama"].values())):
        return packaged_file().read_bytes(), True
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000)
    return (_HEAD + text).encode(), False


def differences(ours: Models, packaged: Models) -> dict[str, Any]:
    """What a file must say so that, on top of the packaged one, it makes the same models."""
    embedders = {name: _keys(spec, packaged.embedders.get(name)) for name, spec in ours.embedders.items()}
    evaluators = {name: _keys(spec, packaged.evaluators.get(name)) for name, spec in ours.evaluators.items()}
    models = {name: _keys(spec, packaged.ollama.get(name)) for name, spec in ours.ollama.items()}
    profiles = {}
    for name, profile in ours.profiles.items():
        profiles[name] = _keys(profile, packaged.profiles.get(name))
    return {
        "embedders": {name: keys for name, keys in embedders.items() if keys},
        "evaluators": {name: keys for name, keys in evaluators.items() if keys},
        "ollama": {
            "profiles": {name: keys for name, keys in profiles.items() if keys},
            "models": {name: keys for name, keys in models.items() if keys},
        },
    }


def _keys(entry: Any, packaged: Any) -> dict[str, Any]:
    """The keys of an entry that the packaged one does not have, or has otherwise; a location is one thing."""
    ours = _written(entry)
    theirs = _written(packaged) if packaged else {}
    keys = {key: value for key, value in ours.items() if key not in theirs or theirs[key] != value}
    if any(key in keys for key in _LOCATION) and isinstance(entry, EmbedderSpec | EvaluatorSpec):
        keys |= {key: ours[key] for key in _LOCATION if ours.get(key)}
    return keys


def _written(entry: Any) -> dict[str, Any]:
    """The keys that a file says of an entry."""
    keys: dict[str, Any] = entry.model_dump(mode="json", exclude_unset=True, exclude={"name", "ours"})
    return {key: dict(value) if isinstance(value, Mapping) else value for key, value in keys.items()}
