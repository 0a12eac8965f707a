"""The wheel of local-rag itself, and the program that installs from a bundle."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
import zipfile
from collections.abc import Sequence
from email.parser import HeaderParser
from importlib.metadata import Distribution, PackagePath
from pathlib import Path
from urllib.parse import unquote, urlsplit

from local_rag.bundle import checking, installer, large_files, machine
from local_rag.bundle.wheels import last_line, run_pip
from local_rag.core.errors import LocalRagError

_LEFT_OUT = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json")
"""What an installation adds to a wheel (https://packaging.python.org/en/latest/specifications/recording-installed-packages/)."""

_PROGRAM = (machine, large_files, checking, installer)

_DATE = (1980, 1, 1, 0, 0, 0)


def own_wheel(distribution: Distribution, into: Path, options: Sequence[str] = ()) -> Path:
    """Write the wheel of an installed distribution: built from its source if that is where it runs, else put together
    from its files. `options` are for pip. Raises LocalRagError.
    """
    source = _source(distribution)
    return _built(source, into, options) if source else _packed(distribution, into)


def _source(distribution: Distribution) -> Path | None:
    """The folder of an editable installation."""
    data = json.loads(distribution.read_text("direct_url.json") or "{}")
    if not data.get("dir_info", {}).get("editable"):
        return None
    path = unquote(urlsplit(data["url"]).path)
    return Path(path[1:] if re.match(r"/[A-Za-z]:", path) else path)


def _built(source: Path, into: Path, options: Sequence[str]) -> Path:
    with tempfile.TemporaryDirectory(dir=into) as folder:
        status, output = run_pip(["wheel", "--no-deps", "--wheel-dir", folder, *options, str(source)])
        wheels = list(Path(folder).glob("*.whl"))
        if status or len(wheels) != 1:
            raise LocalRagError(
                f"the wheel of local-rag could not be built from {source}: {last_line(output)}",
                hint="see that pip reaches its index (pip config list shows which), then the same command",
            )
        return wheels[0].replace(into / wheels[0].name)


def _packed(distribution: Distribution, into: Path) -> Path:
    """A wheel from the files that RECORD names, with a RECORD of what they are now."""
    files = [file for file in distribution.files or () if _belongs(file)]
    info = next((file.parent for file in files if file.name == "WHEEL"), None)
    if info is None:
        raise LocalRagError("the files of local-rag itself are not known to Python", hint="pip install local-rag")
    tag = HeaderParser().parsestr(distribution.read_text("WHEEL") or "").get("Tag", "py3-none-any")
    target = into / f"{info.name.removesuffix('.dist-info')}-{tag}.whl"
    draft = target.with_suffix(".part")
    rows = []
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file in sorted(files, key=str):
            data = Path(str(file.locate())).read_bytes()
            wheel.writestr(zipfile.ZipInfo(file.as_posix(), _DATE), data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{file.as_posix()},sha256={digest},{len(data)}")
        record = "\n".join([*rows, f"{info.as_posix()}/RECORD,,", ""])
        wheel.writestr(zipfile.ZipInfo(f"{info.as_posix()}/RECORD", _DATE), record)
    return draft.replace(target)


def _belongs(file: PackagePath) -> bool:
    """Not the programs and caches that an installation adds."""
    if ".." in file.parts or file.is_absolute() or "__pycache__" in file.parts:
        return False
    return not (file.parent.suffix == ".dist-info" and file.name in _LEFT_OUT)


def install_program() -> bytes:
    """install.py: the modules that need nothing but the standard library, without their imports of each other."""
    own_import = re.compile(r"^from local_rag\..* import (?:.*[^(]|\([^)]*\))\n", re.MULTILINE)
    texts = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in _PROGRAM]
    return "\n\n".join(own_import.sub("", text) for text in texts).encode()
