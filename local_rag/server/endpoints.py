"""Endpoints: what the server answers, and who may ask. They are data; `app` serves them, `guard` protects them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from local_rag.server.place import Place

Access = Literal["shell", "open", "session", "both"]
"""Who may ask: "shell", anybody who can reach the server (files of the page, no data); "open", the page before it has a
session, from its own origin; "session", a page that has one; "both", that or a program with the key."""

Caller = Literal["cookie", "key"]
"""How somebody who may ask has shown it: a page by the cookie of its session, a program by the key."""


class Request(BaseModel):
    """What a handler is given: path parameters, and the query string (GET) or the JSON body (POST).

    Unknown keys are refused, and a key of the body that is a parameter of the path, too. A field of `FROM_GUARD` gets
    what the guard knows; a client cannot give it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


FROM_GUARD = ("caller", "session", "client")
"""Fields of a request that the guard fills: how it was allowed (`Caller`), the session of the page, or "", and the
address of the machine that signs in."""


class OfIndex(Request):
    """Which index; by default that of the settings."""

    index: str | None = None


class Nothing(Request):
    """No parameters."""


@dataclass(frozen=True, slots=True)
class File:
    """Bytes, or a file of this machine, as a response. Without `inline` the browser saves it under `name`.

    `policy` is its own Content-Security-Policy in place of the page's, for what a browser shows by itself.
    """

    content: bytes | Path
    media_type: str
    name: str = ""
    inline: bool = False
    policy: str = ""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The response that gives a page its session, or with an empty one takes it back."""

    session: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path. `handler(place, request)` is plain and synchronous; it runs on a thread.

    What it returns is written as JSON; `sse.Events` are streamed, a `File` is sent as it is. `response` is the type of
    what it returns, and `events` those of a stream by the name of the event: the documentation is made of them.
    `heavy`: it works for long and changes nothing, so few requests do at the same time, and one is given up when its
    client leaves.
    """

    method: Literal["GET", "POST"]
    path: str
    handler: Callable[[Place, Any], Any]
    request: type[Request] = Nothing
    response: Any = None
    access: Access = "both"
    summary: str = ""
    events: Mapping[str, Any] = field(default_factory=dict)
    heavy: bool = False
