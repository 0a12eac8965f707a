"""Check this machine, the embedder and the index; each problem comes with the command that fixes it."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from local_rag.config.models import total_memory
from local_rag.config.server_index import ServerIndex
from local_rag.config.settings import DATA_DIR, Settings
from local_rag.core.errors import IndexMissing, LocalRagError, ModelMissing
from local_rag.diagnostics.check import SET_UP, Check, guarded
from local_rag.index.index import Index
from local_rag.index.store.commands import index_name
from local_rag.index.store.sqlite.folder import DATABASE
from local_rag.text.display import format_bytes, home_path, joined, plural, waiting_line

FREE_DISK = 1_000_000_000
"""The free bytes below which a note is made: the model's package and an average index fit into them."""

MEMORY = 2_000_000_000
"""The bytes of RAM below which a note is made: PyTorch, MiniLM and the parser's worker together need less."""


def run_checks(settings: Settings, *, deep: bool = False) -> list[Check]:
    """Run all checks in the order in which problems should be fixed; `deep` compares every row of the index."""
    every = _CHECKS | {"index": partial(_index, deep=deep)}
    return [found for name, check in every.items() for found in guarded(name, check, settings)]


def _python(_: Settings) -> Iterator[Check]:
    yield Check("Python", "ok", platform.python_version())


def _packages(_: Settings) -> Iterator[Check]:
    try:
        lines = metadata.requires("local-rag") or []
    except metadata.PackageNotFoundError:
        yield Check("packages", "bad", "local-rag itself is not installed", SET_UP)
        return
    requirements = map(Requirement, lines)
    needed = [each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    wrong = [problem for requirement in needed if (problem := _problem(requirement))]
    if wrong:
        yield Check("packages", "bad", "; ".join(wrong), SET_UP)
    else:
        yield Check("packages", "ok", f"{plural(len(needed), 'requirement')} met, torch {metadata.version('torch')}")


def _problem(requirement: Requirement) -> str:
    """Return what is wrong with an installed requirement, or ""."""
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is missing"
    if requirement.specifier.contains(version, prereleases=True):
        return ""
    return f"{requirement.name} {version} is installed, {requirement.specifier} is needed"


def _disk(settings: Settings) -> Iterator[Check]:
    index = settings.index_path
    path = index if isinstance(index, Path) else settings.data_folder  # the disk of a server cannot be checked
    folder = next(folder for folder in (path, *path.parents) if folder.exists())
    free = shutil.disk_usage(folder).free
    details = f"{format_bytes(free)} free in {home_path(folder)}"
    if not os.access(folder, os.W_OK):
        yield Check(
            "disk", "bad", f"{home_path(folder)} cannot be written", "make that folder yours, or use --index PATH"
        )
    elif free < FREE_DISK:
        yield Check("disk", "note", details, "free some space, or put the index elsewhere: --index PATH")
    else:
        yield Check("disk", "ok", details)


def _encryption(settings: Settings) -> Iterator[Check]:
    """Check whether the disks are encrypted, because the stored text of files is not."""
    enable = {"darwin": "sudo fdesetup enable", "win32": "manage-bde -on C:   as administrator"}
    for folder in _own_folders(settings):
        shown = home_path(folder)
        is_encrypted = disk_is_encrypted(folder)
        if is_encrypted is None:
            yield Check("encryption", "note", f"whether the disk of {shown} is encrypted, this system does not say")
        elif is_encrypted:
            yield Check("encryption", "ok", f"{shown} is on an encrypted disk")
        else:
            fix = enable.get(sys.platform, f"{DATA_DIR}=FOLDER_ON_AN_ENCRYPTED_DISK local-rag index FILES")
            found = f"{shown} is on a disk that is not encrypted: whoever takes it can read the text of your files"
            yield Check("encryption", "note", found, fix)


def disk_is_encrypted(folder: Path) -> bool | None:
    """Return whether dm-crypt, FileVault or BitLocker encrypts the disk; None if the system does not tell.

    A disk that encrypts itself, or encryption by the host of a virtual machine, cannot be seen.
    """
    if sys.platform == "darwin":
        state = output_of("/usr/bin/fdesetup", "status")  # about the startup disk
        known = folder.is_relative_to("/Users") and "FileVault is O" in state and "in progress" not in state
        return "FileVault is On" in state if known else None
    if os.name == "nt":
        shell = Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32/WindowsPowerShell/v1.0/powershell.exe"
        volume = f"(New-Object -ComObject Shell.Application).NameSpace('{folder.drive}').Self"
        ask = f"{volume}.ExtendedProperty('System.Volume.BitLockerProtection')"  # needs no administrator
        state = output_of(str(shell), "-NoProfile", "-Command", ask).strip()
        return state in ("1", "6") if re.fullmatch("[1-8]", state) else None
    device = output_of("findmnt", "--noheadings", "--nofsroot", "--output", "SOURCE", "--target", str(folder)).strip()
    kinds = output_of("lsblk", "--inverse", "--noheadings", "--output", "TYPE", device).split()
    return kinds.count("crypt") >= kinds.count("disk") if "disk" in kinds else None


def output_of(*command: str) -> str:
    """Return a program's output; empty if it does not exist, or after 15 seconds, since PowerShell starts slowly."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=15).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _permissions(settings: Settings) -> Iterator[Check]:
    """Check whether others can open the data folder, or an index elsewhere, which copying may have allowed."""
    for folder in _own_folders(settings) if os.name != "nt" else ():
        if folder != settings.data_folder and not (folder / DATABASE).exists():
            continue
        if folder.stat().st_mode & 0o077:
            fix = f"chmod -R go= {shlex.quote(str(folder))}"
            yield Check("permissions", "note", f"others may open {home_path(folder)}", fix)
        else:
            yield Check("permissions", "ok", f"{home_path(folder)} is open to nobody but you")


def _own_folders(settings: Settings) -> list[Path]:
    """Return the existing folders with text of files: the data folder, and the index if it is elsewhere."""
    index = settings.index_path
    elsewhere = isinstance(index, Path) and not index.is_relative_to(settings.data_folder)
    folders = [settings.data_folder, *([index] if isinstance(index, Path) and elsewhere else [])]
    return [folder for folder in folders if folder.is_dir()]


def _memory(_: Settings) -> Iterator[Check]:
    total = total_memory()
    if total is None:
        yield Check("memory", "note", "this system does not say how much there is")
    elif total < MEMORY:
        yield Check(
            "memory", "note", f"{format_bytes(total)}: indexing may be slow", "close other programs while indexing"
        )
    else:
        yield Check("memory", "ok", format_bytes(total))


def _models(settings: Settings) -> Iterator[Check]:
    from local_rag.config.models import load_models

    models = load_models(settings)
    yield Check("models.yaml", "ok", f"embedders: {joined(sorted(models.embedders))}")


def _prompts(settings: Settings) -> Iterator[Check]:
    from local_rag.runtime.engine_choice import prompt_texts

    if own := prompt_texts(settings).changed:
        yield Check("prompts.yaml", "note", f"texts of your own: {joined(own)}", "local-rag prompts show")


def _embedder(settings: Settings) -> Iterator[Check]:
    from local_rag.index.embed import encoders
    from local_rag.runtime.opening import open_embedder

    embedder = open_embedder(settings)
    found = embedder.verify()
    yield Check("embedder", "ok", f"{embedder.name}: {plural(embedder.dimension, 'dimension')}, {found}")
    yield Check("runtime", "ok" if embedder.ready else "note", *embedder.served_by)
    yield Check("device", "ok", f"passages are embedded on {encoders.device(settings.values.device)}")


def _evaluator(settings: Settings) -> Iterator[Check]:
    """Check whether the evaluator's weights are installed and whole; without it only a language model answers."""
    from local_rag.config.models import load_models
    from local_rag.engines.evaluator.evaluator import find, runtime

    name = settings.values.evaluator
    try:
        find(name, load_models(settings), None)
    except ModelMissing as error:
        yield Check("evaluator", "note", f"{error}; only Ollama answers without it", error.hint)
        return
    if by := runtime():
        yield Check("evaluator", "ok", f"{name}: weights as published; {by} computes it")
    else:
        yield Check("evaluator", "note", "neither OpenVINO nor ONNX Runtime is installed", "pip install onnxruntime")


def _index(settings: Settings, *, deep: bool = False) -> Iterator[Check]:
    from local_rag.runtime.opening import open_index

    try:
        with open_index(settings) as index:
            codes_are_whole = index.verify(deep=deep)
            status, forgotten = index.status(), index.has_forgotten()
            of_server = list(server_checks(index))
    except IndexMissing as error:
        yield Check("index", "note", str(error), error.hint, "folder")
        return
    pages = f", {plural(status.pages, 'web page')}" if status.pages else ""
    files = f"{plural(status.files, 'file')}{pages}"
    details = f"{home_path(status.path)}: {files}, {plural(status.chunks, 'passage')}, whole"
    yield Check("index", "ok", f"{details}, and every row is as it was stored" if deep else details)
    again = f"local-rag index --index {index_name(status.path)}"
    if waiting := waiting_line(status.embedded, status.chunks):
        yield Check("embedded", "note", waiting, again, "sync")
    if not codes_are_whole:
        details = "the file that finds near vectors is missing or damaged: until it is made anew all are compared"
        yield Check("vectors", "note", details, again, "sync")
    if not forgotten:
        details = "bytes of what was removed are still in its files: a reader or a stop held that up"
        yield Check("forgetting", "note", details, again, "sync")
    yield from of_server
    yield Check("fingerprint", "ok", f"{status.fingerprint}: made with {status.embedder}, which is the one in use")


def server_checks(index: Index) -> Iterator[Check]:
    """Yield the checks of an index on a server; none for an index in a folder."""
    if not isinstance(index.path, ServerIndex):
        return
    from local_rag.index.store.postgres import schema
    from local_rag.index.store.postgres.store import PostgresStore

    assert isinstance(index.store, PostgresStore)
    server, (version, pgvector, guarded, grants) = index.path, index.store.described()
    secured = f"row-level security on {plural(guarded, 'table')}"
    yield Check("server", "ok", f"PostgreSQL {version}, pgvector {pgvector}, {secured}")
    for kind in ("reader", "writer"):
        role = schema.role(server, kind)
        granted = next((f"{what} on {plural(count, 'table')}" for name, what, count in grants if name == role), "")
        fix = "" if granted else _lines(schema.roles_sql(server))
        yield Check(
            kind, "ok" if granted else "note", f"{role}: {granted or 'not there: nobody but its owner reads'}", fix
        )


def _lines(sql: str) -> str:
    """Return the SQL with one statement per line."""
    return "\n".join(f"{' '.join(each.split())};" for each in sql.split(";\n") if each.strip()).replace(";;", ";")


def _calibration(settings: Settings) -> Iterator[Check]:
    """Check which calibrated thresholds are in force."""
    from local_rag.config.calibrated import calibrated
    from local_rag.runtime.rag import Rag

    if not calibrated(settings):
        return
    try:
        with Rag.open(settings) as rag:
            void, engine = rag.void_calibration, rag.engine.name
            in_force = rag.fingerprint in calibrated(settings)
    except LocalRagError as error:  # the engine's own check reports it
        yield Check(
            "calibration", "note", f"whether the calibrated thresholds hold cannot be told: {error}", error.hint
        )
        return
    if void:
        yield Check("calibration", "note", void.reason, void.command)
    else:
        where = "calibrated" if in_force else "set by hand"
        yield Check("calibration", "ok", f"thresholds for the engine {engine} are {where}")


def _fallback_corpus(settings: Settings) -> Iterator[Check]:
    from local_rag.runtime.fallback_corpus import place

    if settings.values.web.source:
        path, is_index = place(settings)
        details = f"{home_path(path)}, {'an index' if is_index else 'a folder'}, is searched in place of the web"
        yield Check("fallback corpus", "ok", details)


def _ollama(settings: Settings) -> Iterator[Check]:
    from local_rag.diagnostics.ollama import ollama_checks

    yield from ollama_checks(settings)


_CHECKS: dict[str, Callable[[Settings], Iterator[Check]]] = {
    "Python": _python,
    "packages": _packages,
    "disk": _disk,
    "encryption": _encryption,
    "permissions": _permissions,
    "memory": _memory,
    "models.yaml": _models,
    "prompts.yaml": _prompts,
    "embedder": _embedder,
    "evaluator": _evaluator,
    "index": _index,
    "calibration": _calibration,
    "fallback corpus": _fallback_corpus,
    "Ollama": _ollama,
}
