"""Making a bundle: everything that a machine without a network needs, in one folder."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from local_rag.bundle import embedder, evaluator, ollama_store, own_wheel
from local_rag.bundle.checking import FORMAT, LAYOUT, MANIFEST, REQUIREMENTS, UNFINISHED, WHAT
from local_rag.bundle.copying import Say, translated, write
from local_rag.bundle.index_snapshot import snapshot
from local_rag.bundle.large_files import Progress, sum_of
from local_rag.bundle.machine import quoted
from local_rag.bundle.readme_text import readme
from local_rag.bundle.target import Target
from local_rag.bundle.wheels import Wheel, Wheels, wheel_of
from local_rag.config.models import EmbedderSpec
from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMissing, LocalRagError, UsageError
from local_rag.core.progress import Display
from local_rag.index.catalog import IndexStatus
from local_rag.index.index import Index
from local_rag.index.store.checks import must_be_index
from local_rag.index.store.folder import DATABASE
from local_rag.runtime.opening import missing, part_embedded
from local_rag.runtime.written import enter
from local_rag.text.display import format_bytes

_ALONE = ("install.py", "README.txt", REQUIREMENTS, "models.yaml", MANIFEST, UNFINISHED)
_FOLDERS = ("wheels", "embedders", "evaluators", "indexes", "ollama")


@dataclass(frozen=True)
class Order:
    """What is to be carried, all of it known to be there: the embedder, and what the evaluator needs besides it.
    `options` are for pip, `notes` for a person.
    """

    target: Target
    settings: Settings
    carried: embedder.Carried
    further: tuple[embedder.Carried, ...]
    index: IndexStatus | None
    models: tuple[ollama_store.StoredModel, ...]
    options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def index_name(self) -> str:
        return embedder.slug(self.index.path.name) if self.index else ""


@dataclass(frozen=True)
class CreatedBundle:
    """A finished bundle: bytes per kind of content, and the SHA-256 of manifest.json and of install.py."""

    folder: Path
    sizes: dict[str, int]
    manifest: str
    program: str
    contents: dict[str, Any]


def order(
    settings: Settings,
    target: Target,
    *,
    index: bool = False,
    models: Sequence[str] = (),
    options: Sequence[str] = (),
    partial: bool = False,
) -> Order:
    """Look for all that is to be carried, before anything is fetched; `index` is whether that of the settings is.

    The embedder is the one that was asked for, else the one that made the index. `partial`: an index that is embedded
    in part is carried, too.
    Raises IndexMissing, ModelMissing, ConfigError, UsageError.
    """
    status = None
    if index:
        try:
            must_be_index(settings.index_path)
            status = Index.inspect(settings.index_path)
        except IndexMissing as error:
            raise missing(settings) from error
        part_embedded(
            settings, status, "so the other machine would find the other passages by words only", partial=partial
        )
    name = settings.values.embedder
    if status and settings.origin["embedder"] == "default":
        name = status.embedder
    stored = tuple(ollama_store.stored(model) for model in dict.fromkeys(models))
    carried = embedder.carried(settings, name)
    further, lacking = evaluator.carried_evaluator(settings)
    notes = (lacking,) if lacking else ()
    return Order(target, settings, carried, further, status, stored, tuple(options), notes)


def create(folder: Path, order: Order, display: Display) -> CreatedBundle:
    """Make the bundle in a folder of its own, or go on with one that was begun.

    Raises UsageError for a folder with other things, and whatever the parts raise; what was gathered is kept.
    """
    say = display.say
    with translated(folder):
        _open(folder)
    _note(order, say)
    contents: dict[str, Any] = {"embedder": {"name": order.carried.spec.name, "folder": order.carried.folder}}
    if folders := [part.folder for part in order.further if part.folder]:
        contents["folders"] = folders
    keep = {"install.py", "README.txt", REQUIREMENTS, "models.yaml"}
    wheels = _wheels(folder, order, say)
    keep |= {f"wheels/{wheel.file.name}" for wheel in wheels}
    for part in (order.carried, *order.further):
        if part.folder:
            keep |= embedder.gather(part, folder, say)
    text, is_packaged = embedder.models_file(order.settings, order.carried, *order.further)
    write(folder / "models.yaml", text)
    contents["models"] = "packaged" if is_packaged else "own"
    if order.index:
        path = f"indexes/{order.index_name}/{DATABASE}"
        say(f"copying the index {order.index_name}: {format_bytes(order.index.bytes)}")
        with translated(folder / path):
            copied = snapshot(order.index.path, folder / path, say)
        enter(order.settings.data_folder, "bundle", folder, index=order.index.path)
        contents["index"] = {
            "name": order.index_name,
            "embedder": copied.embedder,
            "fingerprint": copied.fingerprint,
            "files": copied.files,
            "passages": copied.chunks,
            **({"embedded": copied.embedded} if copied.embedded < copied.chunks else {}),
        }
        keep.add(path)
    if order.models:
        ollama_store.gather(list(order.models), folder / "ollama", say)
        contents["ollama"] = [model.name for model in order.models]
        keep |= {f"ollama/{model.manifest}" for model in order.models}
        keep |= {f"ollama/blobs/sha256-{digest}" for model in order.models for digest, _ in model.blobs}
    needs = order.target.needs(wheel.tags for wheel in wheels)
    write(folder / "install.py", own_wheel.install_program())
    write(folder / "README.txt", readme(order.target, needs, contents, wheels).encode())
    return _seal(folder, order.target, needs, contents, keep, say)


def _note(order: Order, say: Say) -> None:
    """An index can only be asked with the embedder that made it; a fallback corpus is not carried."""
    if source := order.settings.values.web.source:
        say(f"note: the fallback corpus {source} (web.source) is not in the bundle; carry it beside it, and there,")
        say("  local-rag ask … --web-from FOLDER   searches it in place of the web")
    for note in order.notes:
        say(f"note: {note}")
    from local_rag.index.embed.embedder import SentenceTransformerEmbedder

    spec, index = order.carried.spec, order.index
    if not isinstance(spec, EmbedderSpec):
        return
    if index and SentenceTransformerEmbedder(spec, order.settings.cache_folder).fingerprint != index.fingerprint:
        say(f"note: {index.embedder} made the index {order.index_name}, and the bundle carries {spec.name}; there,")
        say(f"  local-rag index --reembed --index {order.index_name}   must be typed before it answers")


def _open(folder: Path) -> None:
    """Raises UsageError for a folder that holds anything but a bundle, and for one in a folder that is not there."""
    parent = folder.parent
    if not parent.is_dir():
        raise UsageError(
            f"there is no folder {parent}", hint=f"is the disk mounted? otherwise: mkdir -p {quoted(parent)}"
        )
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"a bundle is a folder, and {folder} is a file", hint="local-rag bundle create FOLDER")
    entries = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    ours = {*_ALONE, *_FOLDERS, "wheels.part"} | {f"{name}.part" for name in _ALONE}
    if entries and (not entries <= ours or not entries & {MANIFEST, UNFINISHED}):
        other = min(entries - ours, default="something")
        raise UsageError(
            f"{folder} holds other things ({other}), and a bundle needs a folder of its own",
            hint=f"local-rag bundle create {folder / 'local-rag-bundle'}",
        )
    write(folder / UNFINISHED, b"local-rag bundle create has not finished here; the same command continues.\n")
    with translated(folder):
        (folder / MANIFEST).unlink(missing_ok=True)


def _wheels(folder: Path, order: Order, say: Say) -> list[Wheel]:
    """The wheels of local-rag with its evaluation, of all that they need, of the embedder, and of pip."""
    gathered = Wheels(folder / "wheels", order.target, order.options, say)
    with translated(folder), tempfile.TemporaryDirectory() as build:
        built = own_wheel.own_wheel(distribution("local-rag"), Path(build), order.options)
        for older in (folder / "wheels").glob("local_rag-*.whl"):
            older.unlink()
        write(folder / "wheels" / built.name, built.read_bytes())
    own = wheel_of(folder / "wheels" / built.name)
    if own is None:
        raise LocalRagError(f"{built.name} is not a valid wheel name", hint="pip install --force-reinstall local-rag")
    models = [part.requirement for part in (order.carried, *order.further) if part.requirement]
    roots = [f"local-rag=={own.version}", "pip", *models]
    with translated(folder):
        wheels = gathered.gather(roots)
    lines = [f"{wheel.pinned} --hash=sha256:{sum_of(wheel.file)}\n" for wheel in wheels]
    write(folder / REQUIREMENTS, "".join(lines).encode())
    return wheels


def _seal(
    folder: Path, target: Target, needs: dict[str, str], contents: dict[str, Any], keep: Iterable[str], say: Say
) -> CreatedBundle:
    """Remove what an earlier order left, and write the manifest last: a bundle that has one is whole."""
    from local_rag import __version__

    with translated(folder):
        _prune(folder, set(keep))
        lengths = {path: (folder / path).stat().st_size for path in sorted(keep)}
        say(f"summing {len(lengths)} files…")
        progress = Progress("summed", sum(lengths.values()), say)
        rows = [
            {"path": path, "bytes": length, "sha256": sum_of(folder / path, progress)}
            for path, length in lengths.items()
        ]
    assert all(map(LAYOUT.fullmatch, lengths))
    data = {
        "what": WHAT,
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "local_rag": __version__,
        "platform": target.platform,
        "python": target.python,
        "needs": needs,
        "contents": contents,
        "files": rows,
    }
    text = json.dumps(data, indent=1, ensure_ascii=False).encode()
    with translated(folder):
        (folder / UNFINISHED).unlink(missing_ok=True)
    write(folder / MANIFEST, text)
    sizes: Counter[str] = Counter()
    for path, length in lengths.items():
        sizes[path.partition("/")[0] if "/" in path else "other files"] += length
    return CreatedBundle(folder, sizes, hashlib.sha256(text).hexdigest(), sum_of(folder / "install.py"), contents)


def _prune(folder: Path, keep: set[str]) -> None:
    for name in (*_FOLDERS, "wheels.part"):
        for file in sorted((folder / name).rglob("*"), reverse=True):  # what is in a folder comes before the folder
            if file.is_dir() and not file.is_symlink():
                if not any(file.iterdir()):
                    file.rmdir()
            elif file.relative_to(folder).as_posix() not in keep:
                file.unlink()
        if (folder / name).is_dir() and not any((folder / name).iterdir()):
            (folder / name).rmdir()
    for name in _ALONE:
        (folder / f"{name}.part").unlink(missing_ok=True)
