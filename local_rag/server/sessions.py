"""Who is signed in: one-time tokens, the sessions of pages, the key of programs, and the password of a wider address.

Tokens and the key lie in `DATA/server`, for their owner alone (0600): whoever can read these files can read the
indexes, too. Of a token only its SHA-256 is kept. Sessions end with the process.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from local_rag.core.private_files import make_folder, replace_file
from local_rag.server.errors import ApiError

FOLDER = "server"
TOKEN_BYTES = 32
TOKEN_SECONDS = 900.0
"""How long an address can be used that nobody has used yet."""

SESSIONS = 64
"""Pages that are signed in at the same time; the oldest one ends for another."""

FAILURES = 5
FAILURE_SECONDS = 30.0
"""After so many wrong passwords from an address none from there is looked at for so many seconds."""

ADDRESSES = 1_000
"""Addresses whose wrong passwords are counted; the one that failed longest ago is forgotten for another."""


class Sessions:
    """What opens the server. `folder` is that of the data (`Settings.data_folder`), `port` that of the server.

    `password`: what opens it besides, where it can be reached from other machines; empty: nothing does.
    """

    def __init__(self, data_folder: Path, port: int, password: str = "") -> None:
        self.folder, self.port, self._password = data_folder / FOLDER, port, password
        self._sessions: dict[str, None] = {}
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()  # how many, and closed until when
        self._lock = threading.Lock()

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers do not tell ports of a host apart."""
        return f"local-rag-{self.port}"

    @property
    def takes_password(self) -> bool:
        return bool(self._password)

    def start(self, token: str) -> str:
        """A new session for a token, which is used up by this; empty for one that is wrong, used or too old."""
        path = _token_path(self.folder, self.port, token)
        try:
            age = time.time() - path.stat().st_mtime
            path.unlink()
        except OSError:
            return ""
        return self._new() if age < TOKEN_SECONDS else ""

    def start_with_password(self, password: str, client: str = "") -> str:
        """A new session for the password that a client of this address gives; empty for a wrong one.

        Raises ApiError while too many wrong ones have come from there.
        """
        if not self._password:
            return ""
        with self._lock:
            now = time.monotonic()
            failures, closed_until = self._failures.get(client, (0, 0.0))
            if now < closed_until:
                seconds = math.ceil(closed_until - now)
                raise ApiError(429, "busy", f"too many wrong passwords: none is looked at for {seconds} seconds")
            if not secrets.compare_digest(_digest(password), _digest(self._password)):
                failures += 1
                self._failures[client] = (failures, now + FAILURE_SECONDS if failures % FAILURES == 0 else 0.0)
                self._failures.move_to_end(client)
                while len(self._failures) > ADDRESSES:
                    self._failures.popitem(last=False)
                return ""
            self._failures.pop(client, None)
        return self._new()

    def forget_tokens(self) -> None:
        """Delete the tokens for this port that nobody has used: they belong to a server that has ended."""
        with suppress(OSError):
            for path in self.folder.glob(f"token-{self.port}-*"):
                path.unlink(missing_ok=True)

    def holds(self, session: str) -> bool:
        """Whether a session goes on."""
        with self._lock:
            return _digest(session) in self._sessions

    def end(self, session: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(_digest(session), None)

    def is_key(self, given: str) -> bool:
        """Whether somebody gave the key; compared in constant time."""
        path = self.folder / "key"
        try:
            key = path.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return False
        return len(key) >= TOKEN_BYTES and secrets.compare_digest(given.encode(), key.encode())

    def _new(self) -> str:
        session = secrets.token_urlsafe(TOKEN_BYTES)
        with self._lock:
            self._sessions[_digest(session)] = None
            while len(self._sessions) > SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
        return session


def new_token(data_folder: Path, port: int) -> str:
    """A token that starts one session of the server at this port. Raises OSError."""
    folder = data_folder / FOLDER
    make_folder(folder)
    for path in folder.glob("token-*"):
        if time.time() - path.stat().st_mtime > TOKEN_SECONDS:
            path.unlink(missing_ok=True)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    replace_file(_token_path(folder, port, token), b"")
    return token


def read_key(data_folder: Path) -> str:
    """The key of programs; made when it is asked for first. Raises OSError."""
    path = data_folder / FOLDER / "key"
    if not path.exists():
        make_folder(path.parent)
        replace_file(path, f"{secrets.token_urlsafe(TOKEN_BYTES)}\n".encode())
    return path.read_text(encoding="ascii").strip()


def _digest(secret: str) -> str:
    """What a secret is looked up by: how long that takes says nothing of the secret."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _token_path(folder: Path, port: int, token: str) -> Path:
    return folder / f"token-{port}-{_digest(token)}"
