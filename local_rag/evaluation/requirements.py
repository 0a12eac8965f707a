"""What evaluation needs beside local-rag itself: the extra `eval` with plots, statistics and the page of a report."""

from __future__ import annotations

from importlib.util import find_spec

from local_rag.core.errors import LocalRagError

LIBRARIES = ("jinja2", "matplotlib", "scipy")


def must_have_extra() -> None:
    """Raises LocalRagError where a library of the extra is missing, before any work is done."""
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise LocalRagError(
            f"evaluation needs {', '.join(missing)}, which the extra 'eval' brings",
            hint='pip install "local-rag[eval]"',
        )
