"""Whether a bundle is what its manifest says: nothing missing, changed, extra, or outside. Only the standard library.

A part of every bundle's install.py: only syntax of Python 3.6.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from local_rag.bundle.large_files import Progress, sum_of
from local_rag.bundle.machine import Refused, quoted
from local_rag.core.errors import reason_of

FORMAT = 1
WHAT = "local-rag bundle"
MANIFEST = "manifest.json"
REQUIREMENTS = "requirements.txt"
UNFINISHED = "unfinished-bundle.txt"
"""Lies in a bundle while it is made."""

AGAIN = "bring the bundle again"
LARGEST_MANIFEST = 16_000_000
"""Bytes; a bundle of 100,000 files has less."""

LAYOUT = re.compile(
    r"install\.py|README\.txt|requirements\.txt|models\.yaml|wheels/[^/]+\.whl"
    r"|(embedders|evaluators)/[^/]+/(.+\.(json|txt|md|model|safetensors|onnx)|LICENSE)|indexes/[^/]+/index\.sqlite"
    r"|ollama/blobs/sha256-[0-9a-f]{64}|ollama/manifests/[^/]+/[^/]+/[^/]+/[^/]+"
)
"""What a bundle may hold. Weights in other forms can hold programs, so they are not among it."""

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+!-]*")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_REPARSE = 0x400
"""FILE_ATTRIBUTE_REPARSE_POINT: junctions of Windows, which lead elsewhere as links do."""


class Entry(NamedTuple):
    """One file of a bundle: bytes, and SHA-256 in hex."""

    size: int
    sha256: str


class Bundle(NamedTuple):
    """A manifest that could be read; whether the files are as it says is for `problems` to find out."""

    folder: Path
    sum: str
    python: str
    platform: str
    needs: dict[str, str]
    contents: dict[str, Any]
    files: dict[str, Entry]

    @property
    def size(self) -> int:
        """Bytes of all files but the manifest."""
        return sum(entry.size for entry in self.files.values())


def read(folder: Path, expected: str = "") -> Bundle:
    """The manifest of a bundle; `expected` is the SHA-256 it must have. Raises Refused for one that cannot be used."""
    file = folder / MANIFEST
    try:
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_MANIFEST:
            raise Refused(f"{file} is no manifest: it must be a plain file below {LARGEST_MANIFEST:,} bytes", AGAIN)
        raw = file.read_bytes()
    except OSError as error:
        raise Refused(
            f"{folder} is not a whole bundle: {MANIFEST} cannot be read ({reason_of(error)})",
            _without_manifest(folder),
        ) from error
    digest = hashlib.sha256(raw).hexdigest()
    if expected and digest != expected.strip().lower():
        raise Refused(
            f"the manifest has SHA-256 {digest}, not {expected.strip()}",
            "compare with the sum that 'local-rag bundle create' printed; if it differs, make the bundle anew",
        )
    try:
        return _parsed(folder, digest, json.loads(raw.decode("utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise Refused(f"{MANIFEST} is not the manifest of a bundle: {why}", AGAIN) from error


def _without_manifest(folder: Path) -> str:
    """What to type where there is none: a bundle that is not finished, or another folder."""
    if any((folder / name).exists() for name in ("install.py", UNFINISHED)):
        return f"local-rag bundle create {quoted(folder)}   on the machine that has the network"
    return f"name the folder that holds {MANIFEST}"


def _parsed(folder: Path, manifest_sum: str, data: Any) -> Bundle:
    """Raises Refused for another format, and ValueError, KeyError or TypeError for anything out of form."""
    if data["what"] != WHAT:
        raise ValueError(f"'what' must be '{WHAT}'")
    if data["format"] != FORMAT or isinstance(data["format"], bool):
        raise Refused(
            f"the bundle has format {data['format']!r}, and this program reads {FORMAT}",
            f"python3 {quoted(folder / 'install.py')}   is the program that belongs to it",
        )
    files = {}
    for row in data["files"]:
        path, size, digest = row["path"], row["bytes"], row["sha256"]
        if type(path) is not str or type(size) is not int or size < 0 or not re.fullmatch("[0-9a-f]{64}", digest):
            raise ValueError(f"the entry of {path!r} needs 'bytes' and a 'sha256'")
        if path in files:
            raise ValueError(f"{path!r} is named twice")
        files[path] = Entry(size, digest)
    needs = {str(name): str(value) for name, value in data["needs"].items()}
    index = data["contents"].get("index")
    if index and not re.fullmatch(r"[\w.-]+", index["name"]):
        raise ValueError(f"{index['name']!r} is no name of an index")
    if index and "embedded" in index and not type(index["embedded"]) is type(index["passages"]) is int:
        raise ValueError("'embedded' and 'passages' must be numbers")
    return Bundle(folder, manifest_sum, str(data["python"]), str(data["platform"]), needs, data["contents"], files)


def problems(bundle: Bundle) -> list[str]:
    """Everything that is not as the manifest says, one line each: names first, then sizes, and only then the sums."""
    differences = _bad_names(bundle)
    if not differences:
        differences = _bad_files(bundle)
    if not differences:
        progress = Progress("checked", bundle.size)
        differences = [
            f"changed: {path} does not have its SHA-256"
            for path, entry in sorted(bundle.files.items())
            if digest_of(bundle.folder / path, progress) != entry.sha256
        ]
    return differences


def _bad_names(bundle: Bundle) -> list[str]:
    differences, seen = [], {MANIFEST: MANIFEST}
    for path, entry in sorted(bundle.files.items()):
        if not all(map(_is_safe, path.split("/"))):
            differences.append(f"not allowed: {path!r} may lead out of the bundle")
        elif not LAYOUT.fullmatch(path):
            differences.append(f"not allowed: {path} is nothing that a bundle holds")
        elif path.startswith("ollama/blobs/") and not path.endswith(f"sha256-{entry.sha256}"):
            differences.append(f"not allowed: {path} is named for another SHA-256 than its own")
        elif path.lower() in seen:
            differences.append(f"not allowed: {path} and {seen[path.lower()]} are one file on some disks")
        seen[path.lower()] = path
    needed = {"install.py", REQUIREMENTS} - set(bundle.files)
    return differences + [f"missing: the manifest does not name {path}" for path in sorted(needed)]


def _is_safe(name: str) -> bool:
    """Whether every system takes it for the plain name of a file or a folder."""
    return bool(_PART.fullmatch(name)) and name[-1] != "." and not _RESERVED.fullmatch(name)


def _bad_files(bundle: Bundle) -> list[str]:
    differences, sizes = [], {}
    for path, status in _walk(bundle.folder):
        if path == MANIFEST:
            continue
        sizes[path] = status.st_size
        if not stat.S_ISREG(status.st_mode) or getattr(status, "st_file_attributes", 0) & _REPARSE:
            differences.append(f"not a plain file: {path}")
        elif path not in bundle.files:
            differences.append(f"extra: {path} is not in the manifest (delete it, if you know what it is)")
        elif status.st_size != bundle.files[path].size:
            differences.append(
                f"changed: {path} must have {bundle.files[path].size:,} bytes, and has {status.st_size:,}"
            )
    return differences + [f"missing: {path}" for path in sorted(set(bundle.files) - set(sizes))]


def _walk(folder: Path, prefix: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Path and status of whatever is no folder; links are never followed."""
    for entry in sorted(os.scandir(folder), key=lambda item: item.name):
        status = entry.stat(follow_symlinks=False)
        is_link = getattr(status, "st_file_attributes", 0) & _REPARSE
        if stat.S_ISDIR(status.st_mode) and not is_link:
            yield from _walk(Path(entry.path), f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, status


def digest_of(file: Path, progress: Progress | None = None) -> str:
    """SHA-256 in hex; of a file that cannot be read, the error."""
    try:
        return sum_of(file, progress)
    except OSError as error:
        return f"unreadable: {error}"
