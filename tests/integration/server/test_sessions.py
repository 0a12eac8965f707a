"""Tokens, sessions, the key and the password."""

from __future__ import annotations

import asyncio
import os
import sys
import time

import httpx
import pytest
from support.serving import HOST, Client, a_place

from local_rag.server.app import application
from local_rag.server.errors import ApiError
from local_rag.server.sessions import FAILURES, SESSIONS, TOKEN_SECONDS, Sessions, new_token, read_key

PASSWORD = "correct horse battery"


def sessions_of(folder, **about):
    return Sessions(folder, 8321, **about)


def test_a_token_starts_one_session(tmp_path):
    sessions, token = sessions_of(tmp_path), new_token(tmp_path, 8321)
    assert len(token) >= 43  # 32 bytes
    session = sessions.start(token)
    assert sessions.holds(session) and session != token
    assert sessions.start(token) == ""
    assert not any(sessions.holds(guess) for guess in ("", token, session[:-1]))
    sessions.end(session)
    assert not sessions.holds(session)


@pytest.mark.parametrize("token", ["", "x", "../key", "a/../../b", "\0", "é" * 50, "*"])
def test_what_is_no_token_starts_none(tmp_path, token):
    read_key(tmp_path), new_token(tmp_path, 8321)
    before = sorted((tmp_path / "server").iterdir())
    assert sessions_of(tmp_path).start(token) == ""
    assert sorted((tmp_path / "server").iterdir()) == before


def test_a_token_is_for_one_port_and_not_for_long(tmp_path):
    assert sessions_of(tmp_path).start(new_token(tmp_path, 8322)) == ""
    token = new_token(tmp_path, 8321)
    old = time.time() - TOKEN_SECONDS - 1
    for path in (tmp_path / "server").glob("token-*"):
        os.utime(path, (old, old))
    assert sessions_of(tmp_path).start(token) == ""
    new_token(tmp_path, 8321)
    assert len(list((tmp_path / "server").glob("token-*"))) == 1  # those that are too old go


def test_secrets_are_for_their_owner_and_never_written_down(tmp_path):
    token, key = new_token(tmp_path, 8321), read_key(tmp_path)
    assert read_key(tmp_path) == key and len(key) >= 43
    for path in (tmp_path / "server").iterdir():
        assert token not in path.name and token.encode() not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0 or sys.platform == "win32"
    assert (tmp_path / "server").stat().st_mode & 0o077 == 0 or sys.platform == "win32"


def test_the_key(tmp_path):
    sessions = sessions_of(tmp_path)
    assert not sessions.is_key("") and not sessions.is_key("x")
    key = read_key(tmp_path)
    assert sessions.is_key(key)
    assert not any(map(sessions.is_key, ("", key[:-1], key + "x", "é")))
    (tmp_path / "server" / "key").write_text("")
    assert not sessions.is_key("")


def test_sessions_end_with_the_server_and_the_oldest_for_another(tmp_path):
    sessions = sessions_of(tmp_path)
    started = [sessions.start(new_token(tmp_path, 8321)) for _ in range(SESSIONS + 1)]
    assert [sessions.holds(session) for session in started] == [False] + [True] * SESSIONS
    assert not sessions_of(tmp_path).holds(started[-1])


def test_the_password(tmp_path):
    sessions = sessions_of(tmp_path, password=PASSWORD)
    assert sessions.holds(sessions.start_with_password(PASSWORD))
    assert not any(sessions.start_with_password("wrong") for _ in range(FAILURES))
    with pytest.raises(ApiError, match="none is looked at for 30 seconds"):
        sessions.start_with_password(PASSWORD)
    assert sessions_of(tmp_path).start_with_password("") == ""


def test_a_page_signs_in_with_the_password():
    page = Client(a_place(password=PASSWORD), "")
    assert page.get("/api/session").json() == {"password": True}
    assert page.post("/api/session/start", {"password": "wrong"}).status_code == 401
    assert page.post("/api/session/start", {}).status_code == 401
    assert page.post("/api/session/start", {"password": PASSWORD}).status_code == 200
    usual = Client(a_place(), "")
    assert usual.get("/api/session").json() == {"password": False}
    assert usual.post("/api/session/start", {"password": ""}).status_code == 401


def test_wrong_passwords_count_for_the_address_that_they_come_from():
    place = a_place(password=PASSWORD)

    def signing_in(address, password):
        async def ask():
            transport = httpx.ASGITransport(application(place), client=(address, 1234))
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
                return await client.post("/api/session/start", json={"password": password})

        return asyncio.run(ask())

    assert [signing_in("10.0.0.2", "wrong").status_code for _ in range(FAILURES)] == [401] * FAILURES
    refused = signing_in("10.0.0.2", PASSWORD)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "busy")
    assert signing_in("10.0.0.3", PASSWORD).status_code == 200


def test_unused_tokens_of_a_port_are_forgotten(tmp_path):
    tokens = {port: new_token(tmp_path, port) for port in (8321, 8322, 83210)}
    sessions_of(tmp_path).forget_tokens()
    assert sessions_of(tmp_path).start(tokens[8321]) == ""
    assert all(Sessions(tmp_path, port).start(tokens[port]) for port in (8322, 83210))


def test_the_cookie_is_out_of_reach():
    place = a_place()
    token = new_token(place.settings.data_folder, 8321)
    cookie = Client(place, "").post("/api/session/start", {"token": token}).headers["set-cookie"]
    assert cookie.startswith("local-rag-8321=") and token not in cookie
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert not {"Max-Age", "Expires", "Domain"} & {part.split("=")[0].title() for part in cookie.split("; ")}
