"""The application as a page and a program see it."""

from __future__ import annotations

from support.serving import Client, a_place


def test_health():
    for who in ("cookie", "key"):
        assert Client(a_place(), who).get("/api/health").json()["status"] == "ok"


def test_signing_in_and_out():
    from local_rag.server.sessions import new_token

    place = a_place()
    nobody = Client(place, "")
    token = new_token(place.settings.data_folder, 8321)
    response = nobody.post("/api/session/start", {"token": token})
    assert response.json() == {"signed_in": True}
    assert "HttpOnly" in response.headers["set-cookie"] and "SameSite=strict" in response.headers["set-cookie"]
    cookie = response.headers["set-cookie"].split(";")[0]
    assert nobody.get("/api/health", {"cookie": cookie}).status_code == 200
    assert nobody.post("/api/session/start", {"token": token}).status_code == 401
    assert nobody.post("/api/session/end", {}, {"cookie": cookie}).status_code == 200
    assert nobody.get("/api/health", {"cookie": cookie}).status_code == 401
