"""Put models and an index of a bundle where this local-rag looks for them, without overwriting anything."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from local_rag.bundle import ollama_store
from local_rag.bundle.install import AGAIN, Bundle, Progress, quoted, sum_of
from local_rag.config.settings import Settings
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import LocalRagError, reason_of
from local_rag.core.private_files import make_folder
from local_rag.core.progress import Display
from local_rag.index.store.sqlite import folder as index_folder

MODELS = "models.yaml"


class Copy(NamedTuple):
    """Describe a file of a bundle: its target, its SHA-256 there, and the command that removes what is in the way."""

    source: Path
    target: Path
    sha256: str
    hint: str

    @property
    def is_new(self) -> bool:
        return not os.path.lexists(self.target)

    @property
    def is_there(self) -> bool:
        """Return whether the target already has exactly these contents."""
        same_size = self.target.is_file() and self.target.stat().st_size == self.source.stat().st_size
        return same_size and sum_of(self.target) == self.sha256


def place(
    bundle: Bundle, settings: Settings, index: Path | None, display: Display, *, keep: bool = False, dry: bool = False
) -> list[str]:
    """Copy every file to its target, the index to the folder `index` if it is given; return what was done, in lines.

    Raise LocalRagError before anything is written if a different file is there already, unless `keep`. With `dry`,
    write nothing.
    """
    with tempfile.TemporaryDirectory() as drafts:
        copies = list(_plan(bundle, settings, index, Path(drafts)))
        others = [copy for copy in copies if not copy.is_new and not copy.is_there]
        for copy in others:
            display.say(f"{'kept' if keep else 'in the way'}: {copy.target} is there already, and differs")
        if others and not keep:
            raise LocalRagError(
                "nothing was put anywhere, because something else is there already",
                hint=f"{others[0].hint}   or leave what is there and install the rest: the same command with --keep",
            )
        new = [copy for copy in copies if copy.is_new]
        if not dry:
            progress = Progress("copied", sum(copy.source.stat().st_size for copy in new), display.say)
            for copy in new:
                _put(copy, progress)
    there = [f"is there already: {copy.target}" for copy in copies if copy not in new and copy not in others]
    return [*(f"{'would put' if dry else 'put'}: {copy.target}" for copy in new), *there]


def _plan(bundle: Bundle, settings: Settings, index: Path | None, drafts: Path) -> Iterator[Copy]:
    """Yield every file to copy, in the order of copying: blobs of Ollama before their manifests."""
    store = ollama_store.folder()
    _must_be_writable(bundle, store)
    for path, digest in sorted(bundle.files.items()):
        source = bundle.folder / path
        first, _, rest = path.partition("/")
        if first in ("embedders", "evaluators"):
            target = settings.data_folder / path
            yield Copy(source, target, digest, f"mv {quoted(target)} {quoted(target)}.old")
        elif first == "indexes":
            target = index or settings.data_folder / Path(path).parent
            hint = f"give the new one another name: the same command with --index {target.name}-2"
            entries = target.iterdir() if target.is_dir() else ()
            is_taken = any(not index_folder.is_ours(entry.name) for entry in entries)
            yield Copy(source, target if is_taken else target / index_folder.DATABASE, digest, hint)
        elif rest.startswith("blobs/"):
            yield Copy(source, store / rest, digest, f"that file is damaged: rm {quoted(store / rest)}")
        elif rest.startswith("manifests/"):
            model = ollama_store.stored(ollama_store.name_of(rest), bundle.folder / "ollama")
            yield Copy(source, store / rest, digest, f"ollama rm {model.name}")
        elif path == MODELS:
            target = settings.config_folder / MODELS
            draft = _models(source, settings.data_folder, drafts / MODELS)
            yield Copy(draft, target, sum_of(draft), f"mv {quoted(target)} {quoted(target)}.old")


def _models(source: Path, data_folder: Path, draft: Path) -> Path:
    """Write a models.yaml with the paths that its models have on this machine, and return its path."""
    import yaml

    data = read_yaml(source)
    for kind in ("embedders", "evaluators"):
        for keys in data.get(kind, {}).values():
            if keys.get("path", "").startswith(f"{kind}/"):
                keys["path"] = str(data_folder / keys["path"])
    draft.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000), encoding="utf-8")
    return draft


def _must_be_writable(bundle: Bundle, store: Path) -> None:
    """Raise LocalRagError for a store of models in which this user may not write."""
    missing = [path for path in bundle.files if path.startswith("ollama/") and not (store / path[7:]).exists()]
    existing = next(folder for folder in (store, *store.parents) if folder.exists())
    if missing and not os.access(existing, os.W_OK):
        raise LocalRagError(
            f"the models of Ollama lie in {store}, where you may not write",
            hint=f"sudo cp -rn {quoted(bundle.folder / 'ollama')}/. {quoted(store)} && sudo chown -R ollama: "
            f"{quoted(store)}   then the same command",
        )


def _put(copy: Copy, progress: Progress) -> None:
    """Copy a file under another name, check its sum, and then rename it, so that a file with its name is complete."""
    target, draft = copy.target, copy.target.with_name(f"{copy.target.name}.part")
    is_index = target.name == index_folder.DATABASE
    with translated(target):
        if is_index:
            index_folder.prepare(target.parent)
        elif copy.source.parent.name == "blobs" or "manifests" in copy.source.parts:  # Ollama may run as another user
            target.parent.mkdir(parents=True, exist_ok=True)
        else:
            make_folder(target.parent)
        if sum_of(copy.source, progress, draft) != copy.sha256:
            draft.unlink()
            raise LocalRagError(f"{copy.source} changed while it was copied", hint=AGAIN)
        if is_index:
            draft.chmod(0o600)
        draft.replace(target)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of the disk into LocalRagError."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        hint = "mend that, then the same command: it continues"
        if error.errno == errno.EFBIG:
            hint = "FAT32 takes no file above 4 GB: format the disk as exFAT, then the same command"
        raise LocalRagError(f"{where} cannot be written: {reason_of(error)}", hint=hint) from error
