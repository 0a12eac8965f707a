"""`local-rag demo`: index the handbook that ships with the package, and ask it two questions."""

from __future__ import annotations

from local_rag.cli.options import stderr_console


def demo() -> int:
    """Index the handbook that ships with local-rag and ask it two questions."""
    from local_rag.diagnostics.demo import run_demo

    return run_demo(stderr_console())
