"""Which parser this is: what it could not read yesterday it cannot read today, unless it is another one."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

import local_rag
from local_rag.text import encoding

LIBRARIES = ("charset-normalizer", "cryptography", "lxml", "mammoth", "pypdf", "pypdfium2", "trafilatura")
"""What the loaders read with; one that is not installed has no version, so that its installation is another parser."""


@cache
def parser_version() -> str:
    """16 hex digits of the loaders' sources and the versions of their libraries and of Python.

    Of the sources and not of a number in them, which somebody would have to remember: a change that reads no more than
    before costs one more attempt.
    """
    digest = hashlib.sha256(f"{local_rag.__version__} {sys.version}".encode())
    for source in (*sorted(Path(__file__).parent.glob("*.py")), Path(encoding.__file__)):
        digest.update(source.read_bytes() if source.exists() else b"")
    for library in LIBRARIES:
        digest.update(f"{library} {_version(library)} ".encode())
    return digest.hexdigest()[:16]


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""
