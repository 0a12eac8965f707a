"""Parse the address of an index on a PostgreSQL server, and check that this program may connect to it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from local_rag.core.errors import NotLocal, UsageError

FORM = "postgresql://[USER@]HOST[:PORT]/DATABASE#INDEX"
PORT = 5432
_URL = re.compile(r"postgres(?:ql)?:/", re.IGNORECASE)
_HOST = re.compile(r"[\w.-]+|[0-9A-Fa-f:.]+|/[\w./-]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}", re.ASCII)
_PASSWORD = re.compile(r"(postgres(?:ql)?:/+[^/?#\s@]*?):[^/?#\s]*@|((?:ssl)?password=)[^&#\s'\"]+", re.IGNORECASE)
_KEYS = ("host", "port", "dbname", "user", "sslmode", "sslrootcert")
"""The parameters that a URL may give; local-rag sets all others."""

_SOCKETS = Path("/var/run/postgresql")
_REMOTE = "verify-full"


def is_server(index: str) -> bool:
    """Return whether the name of an index is the URL of a server."""
    return _URL.match(index) is not None


def redacted(text: str) -> str:
    """Return a text without the passwords of the URLs in it."""
    return _PASSWORD.sub(lambda match: f"{match[1]}:***@" if match[1] else f"{match[2]}***", text)


@dataclass(frozen=True)
class ServerIndex:
    """Hold the URL of an index, the libpq parameters from it, and the index's name; no password is among them."""

    url: str
    name: str
    parameters: Mapping[str, str] = field(compare=False)
    allowed: Collection[str] = field(default=(), compare=False)

    @classmethod
    def of(cls, url: str, allowed: Collection[str] = ()) -> Self:
        """Parse a URL; raise UsageError for another form, and for a URL that contains a password."""
        wrong = UsageError(f"an index on a server is {FORM}, not {redacted(url)}", hint="docs/scale.md has examples")
        try:
            parts = urlsplit(url)
            port, query = parts.port, dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        except ValueError:
            raise wrong from None
        if parts.password is not None or {"password", "sslpassword", "passfile"} & query.keys():
            raise UsageError(
                f"{redacted(url)} holds a password, which others can see and histories keep",
                hint="put it into ~/.pgpass (chmod 600)",
            )
        host = unquote(parts.hostname or "")
        given = {"host": host, "port": str(port or ""), "dbname": unquote(parts.path.lstrip("/"))}
        given |= {"user": unquote(parts.username or "")}
        name = parts.fragment or "default"
        if not (_NAME.fullmatch(name) and {*_KEYS} >= query.keys() and all(map(str.isprintable, url))):
            raise wrong
        return cls(url, name, {key: value for key, value in (given | query).items() if value}, tuple(allowed))

    def __str__(self) -> str:
        return self.url

    def with_name(self, name: str) -> Self:
        """Return another index of the same database."""
        return self.of(f"{self.url.partition('#')[0]}#{name}", self.allowed)

    @property
    def schema(self) -> str:
        """Return the schema of the database that holds the index."""
        return f"local_rag_{self.name}"

    def connection(self) -> dict[str, Any]:
        """Return the connection parameters for libpq, which takes none from the environment.

        Raise NotLocal for another machine that is not allowed, UsageError for another machine whose certificate would
        not be verified.
        """
        from local_rag.core.address import Address

        given = dict(self.parameters)
        host = given.get("host") or (str(_SOCKETS) if _SOCKETS.is_dir() else "localhost")
        if not _HOST.fullmatch(host):
            raise UsageError(f"{host!r} is no host: name one", hint=FORM)
        is_socket = host.startswith("/")
        is_local = is_socket or Address("", host, 0).is_local
        if not is_local and host not in self.allowed:
            raise NotLocal(
                f"the server {host} is not this machine, so nothing was sent to it",
                hint=f"if it is yours, allow it by name: LOCAL_RAG_POSTGRES_ALLOW_HOSTS={shlex.quote(host)}",
            )
        if not is_local and (mode := given.get("sslmode", _REMOTE)) != _REMOTE:
            raise UsageError(
                f"the server {host} is another machine, and sslmode={mode} does not verify that it is the right one",
                hint=f"leave sslmode out, or write sslmode={_REMOTE}",
            )
        secure = {} if is_local else {"sslmode": _REMOTE, "sslrootcert": given.get("sslrootcert", "system")}
        address = {"hostaddr": "127.0.0.1" if host == "localhost" else ""}
        nothing = {"password": "", "options": "", "gssencmode": "disable"}
        return {**nothing, "port": PORT, "dbname": "postgres", **given, "host": host, **address, **secure}


IndexAddress = Path | ServerIndex
"""The address of an index: a folder, or a server."""
