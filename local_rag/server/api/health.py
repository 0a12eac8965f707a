"""Whether the server works, what it can do, and signing in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from local_rag.server.endpoints import Endpoint, Nothing, Request, SignedIn
from local_rag.server.errors import ApiError
from local_rag.server.guard import AGAIN

if TYPE_CHECKING:
    from local_rag.server.place import Place


@dataclass(frozen=True, slots=True)
class Health:
    """That the server answers, and which version it is."""

    status: Literal["ok"]
    version: str


@dataclass(frozen=True, slots=True)
class SignIn:
    """How a page can sign in: with the token of an address always, with a password where the server has one."""

    password: bool


class Start(Request):
    """What opens a session: a token of an address, or the password."""

    token: str = Field("", max_length=200)
    password: str = Field("", max_length=1000)
    client: str


class End(Request):
    """The session of the page that asks."""

    session: str


def health(place: Place, request: Nothing) -> Health:
    from local_rag import __version__

    return Health("ok", __version__)


def openapi(place: Place, request: Nothing) -> dict[str, Any]:
    from local_rag.server.openapi import document

    return document()


def sign_in(place: Place, request: Nothing) -> SignIn:
    return SignIn(place.sessions.takes_password)


def start(place: Place, request: Start) -> SignedIn:
    """Raises ApiError for a token or a password that opens nothing, and where too many wrong ones have come."""
    sessions = place.sessions
    session = (
        sessions.start(request.token)
        if request.token
        else sessions.start_with_password(request.password, request.client)
    )
    if not session:
        wrong = "this address was used or is too old" if request.token else "this is not the password"
        raise ApiError(401, "unauthorized", wrong, AGAIN)
    place.warm()
    return SignedIn(session)


def end(place: Place, request: End) -> SignedIn:
    place.sessions.end(request.session)
    return SignedIn("")


ENDPOINTS = (
    Endpoint("GET", "/api/health", health, response=Health, summary="whether the server answers"),
    Endpoint("GET", "/api/openapi.json", openapi, response=dict, summary="this API as an OpenAPI document"),
    Endpoint("GET", "/api/session", sign_in, response=SignIn, access="open", summary="how a page can sign in"),
    Endpoint("POST", "/api/session/start", start, Start, SignedIn, "open", "sign a page in"),
    Endpoint("POST", "/api/session/end", end, End, SignedIn, "session", "sign the page out"),
)
