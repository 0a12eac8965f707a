"""Asking for a password at the terminal, which shows nothing of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from getpass import getpass

from local_rag.text.display import for_terminal


def password_prompt() -> Callable[[str], str] | None:
    """What asks a person; None where nobody sits at a terminal."""
    return _ask if sys.stdin.isatty() and sys.stderr.isatty() else None


def _ask(prompt: str) -> str:
    try:
        return getpass(for_terminal(prompt))
    except EOFError:
        return ""
