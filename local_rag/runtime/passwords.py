"""Passwords of encrypted PDFs: from the system's keyring, or from whoever sits at the terminal; kept nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from local_rag.core.errors import FileSkipped, UsageError
from local_rag.core.progress import Display
from local_rag.index.parse.parser import Parser
from local_rag.index.parse.passwords import Passwords
from local_rag.text.display import plural, short_path

Ask = Callable[[str], str]
"""What a person types at a prompt, unseen; empty to leave the file locked."""

SERVICE = "local-rag"
"""The name under which the keyring holds passwords, each with the path of its file as the user."""

ATTEMPTS = 3


class PasswordSource:
    """Where passwords come from here. Raises UsageError where there is neither a keyring nor anybody to ask."""

    def __init__(self, ask: Ask | None, display: Display) -> None:
        self._ask, self._display = ask, display
        self._keyring = system_keyring()
        if ask is None and self._keyring is None:
            raise _nowhere()

    def passwords(self, paths: Sequence[str]) -> Passwords:
        """Those of these files that could be had; each is tried. Nobody is asked for one that the keyring has."""
        passwords: dict[str, str] = {}
        with Parser() as parser:
            for path in paths:
                password = self._of(parser, Path(path))
                if password:
                    passwords[path] = password
        missing = len(paths) - len(passwords)
        if missing and self._ask is None:
            which = plural(missing, "file")
            self._display.say(f"the keyring has no password for {which}: keyring set {SERVICE} PATH stores one")
        return Passwords(passwords)

    def _of(self, parser: Parser, path: Path) -> str:
        known = self._keyring(str(path)) if self._keyring else None
        if known and _opens(parser, path, known):
            return known
        for _ in range(ATTEMPTS if self._ask else 0):
            assert self._ask
            typed = self._ask(f"password of {short_path(path)} (Enter leaves it out): ")
            if not typed or _opens(parser, path, typed):
                return typed
            self._display.say("that password does not open it")
        return ""


def _opens(parser: Parser, path: Path, password: str) -> bool:
    try:
        return not parser.is_locked(path, password)
    except FileSkipped:
        return False


def _nowhere() -> UsageError:
    from importlib.util import find_spec

    message = "--passwords asks at a terminal or looks into the system's keyring; here is no terminal, and"
    if find_spec("keyring") is None:
        return UsageError(f"{message} the extra 'keyring' is not installed", hint='pip install "local-rag[keyring]"')
    return UsageError(f"{message} no keyring that works", hint="local-rag index --passwords   at a terminal")


def system_keyring() -> Callable[[str], str | None] | None:
    """What looks up the password of a path in the system's keyring; None where there is none that works."""
    try:
        import keyring
        from keyring.errors import KeyringError

        if keyring.get_keyring().priority <= 0:  # stands for "none"
            return None
    except Exception:  # a back end of somebody else, chosen by the environment
        return None

    def look_up(path: str) -> str | None:
        try:
            password: str | None = keyring.get_password(SERVICE, path)
        except KeyringError:  # the person did not open it
            return None
        return password

    return look_up
