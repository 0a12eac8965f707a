"""The application as a page and a program see it."""

from __future__ import annotations

import re
from posixpath import normpath

import pytest
from support.serving import Client, a_place

from local_rag.core.errors import ConfigError, UsageError
from local_rag.server.app import PageFirst
from local_rag.server.endpoints import Endpoint, File


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


def test_the_page_is_served_before_the_api_is_imported_and_the_guard_is_the_same(home):
    asked = (
        ("GET", "/", {}), ("GET", "/page/app.js", {}), ("GET", "/api/health", {}), ("GET", "/api/session", {}),
        ("GET", "/api/threads", {}), ("GET", "/api/threads", {"cookie": None}), ("GET", "/api/nothing", {}),
        ("GET", "/api/threads", {"host": "evil.example"}), ("GET", "/", {"host": "evil.example"}),
        ("GET", "/api/threads", {"origin": "http://evil.example"}), ("POST", "/api/health", {}),
    )  # fmt: skip
    whole, first = Client(a_place()), Client(a_place())
    first.app = PageFirst(first.place)
    for method, path, headers in asked * 2:  # the API is imported by the first request to it
        responses = [client.request(method, path, headers) for client in (whole, first)]
        assert len({(response.status_code, response.content) for response in responses}) == 1, (path, headers)


def test_the_page_names_every_script_that_its_first_view_imports(home):
    client = Client(a_place())
    named = re.findall('<link rel="modulepreload" href="([^"]+)">', client.get("/").text)
    assert len(set(named)) == len(named) and {"/page/views/ask.js", "/page/vendor/preact.js"} <= set(named)
    for name in named:
        script = client.get(name)
        assert script.status_code == 200
        imported = re.findall(r"""^(?:import|export) [^;]*?from "([^"]+)";""", script.text, re.MULTILINE)
        assert {normpath(f"{name}/../{path}") for path in imported} <= set(named), name


def error_of(response):
    return response.status_code, response.json()["error"]["code"]


@pytest.fixture
def sends(tmp_path):
    """Asks for a path below the folder of the test that a handler sends as a file, as if it had just looked at it."""

    def sent(name, headers=None):
        file = File(tmp_path / name, "application/pdf", name, inline=True)
        served = [Endpoint("GET", "/api/file", lambda place, request: file, response=File, summary="a file")]
        return Client(a_place(), served=served).get("/api/file", headers)

    return sent


def test_a_file_is_sent_whole(sends, tmp_path):
    (tmp_path / "a.pdf").write_bytes(bytes(range(256)) * 1_000)
    for headers in ({}, {"range": "bytes=0-9"}, {"range": "bytes=999999999-"}, {"range": "nonsense"}):
        response = sends("a.pdf", headers)
        assert response.status_code == 200 and response.content == (tmp_path / "a.pdf").read_bytes()
        assert response.headers["content-length"] == "256000"
        assert response.headers["content-type"] == "application/pdf"


def test_a_file_that_is_gone_or_another_kind_now_is_an_error_of_the_one_form(sends, tmp_path):
    (tmp_path / "target.pdf").write_bytes(b"elsewhere")
    (tmp_path / "link.pdf").symlink_to(tmp_path / "target.pdf")
    (tmp_path / "folder.pdf").mkdir()
    for name in ("gone.pdf", "link.pdf", "folder.pdf"):
        assert error_of(sends(name)) == (404, "not_found")


def test_half_a_character_is_refused():
    client = Client(a_place())
    for path in ("/api/search", "/api/ask", "/api/runs/x/case"):
        for text in (r'{"query": "\ud800"}', r'{"\udfff": 1}'):
            response = client.post(path, headers={"content-type": "application/json"}, content=text)
            assert error_of(response) == (400, "usage") and "UTF-8" in response.json()["error"]["message"]


def test_the_page_takes_a_link_with_anything_added():
    response = Client(a_place(), "").get("/?utm_source=x")
    assert response.status_code == 200 and "<html" in response.text


def test_a_setting_of_a_request_is_the_clients_and_one_of_the_configuration_is_not(monkeypatch):
    place = a_place()
    with pytest.raises(UsageError, match="engine = 'none'"):
        place.settings_of(engine="none")
    monkeypatch.setenv("LOCAL_RAG_K", "many")
    with pytest.raises(ConfigError, match="LOCAL_RAG_K"):
        place.settings_of(engine="extractive")


def test_a_wrong_method_says_the_right_ones():
    client = Client(a_place())
    for path, allow in (("/api/search", "POST"), ("/api/health", "GET"), ("/api/feedback", "GET, POST")):
        response = client.request("PUT", path)
        assert error_of(response) == (405, "method") and response.headers["allow"] == allow
