"""Real text to measure on, which every machine has: what its packages say of themselves, or files of one's own."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np


def documents(source: Path | None) -> Iterator[str]:
    """Texts of a folder or of a JSONL file (its "text"), else what the installed packages say of themselves."""
    if source is None:
        yield from _installed()
    elif source.is_file():
        for line in source.read_text(encoding="utf-8").splitlines():
            yield str(json.loads(line).get("text", ""))
    else:
        for file in sorted(source.rglob("*")):
            if file.suffix in (".txt", ".md", ".rst") and file.is_file():
                yield file.read_text(encoding="utf-8", errors="replace")


def _installed() -> Iterator[str]:
    """The demo, the descriptions of all packages, and the docstrings of them and of the standard library, shuffled."""
    from local_rag.diagnostics import demo

    for file in sorted(Path(demo.__file__).parent.rglob("*.md")):
        yield file.read_text(encoding="utf-8")
    told = sorted({str(one.metadata["Name"]): one for one in importlib.metadata.distributions()}.items())
    for _, package in told:
        yield str(package.metadata["Description"] or package.read_text("METADATA") or "")
    roots = {sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")}
    files = sorted({file for root in roots for file in Path(root).rglob("*.py") if "test" not in str(file)})
    for place in np.random.default_rng(6).permutation(len(files)).tolist():
        yield _docstrings(files[place])


def _docstrings(file: Path) -> str:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError, RecursionError):
        return ""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return "\n\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds))
