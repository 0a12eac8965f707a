"""The guard over every route: who is answered, and what is refused."""

from __future__ import annotations

import asyncio
import re

import pytest
from starlette.routing import Route
from support.serving import Client, a_place

from local_rag.config.settings import Settings
from local_rag.server.app import application, endpoints
from local_rag.server.endpoints import Endpoint
from local_rag.server.errors import ApiError
from local_rag.server.guard import Guard
from local_rag.server.host_names import host_name, is_loopback
from local_rag.server.messages import POLICY

EVERY = [pytest.param(endpoint, id=f"{endpoint.method} {endpoint.path}") for endpoint in endpoints()]
DATA = [parameter for parameter in EVERY if parameter.values[0].access in ("session", "both")]
STATES = [parameter for parameter in EVERY if parameter.values[0].access != "shell"]
HOSTS = (
    *("evil.example", "evil.example:8321", "localhost.evil.example", "127.0.0.1@evil.example"),
    *("0.0.0.0:8321", "10.0.0.1", ""),
)
FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9999"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "origin": None},
]


def client_of(who="cookie"):
    return Client(a_place(), who)


def path_of(endpoint):
    return re.sub(r"{[^}]*}", "x", endpoint.path)


def asked(client, endpoint, headers=None, **options):
    """The response to a request that reaches no handler: what is sent is not what the model takes."""
    if endpoint.method == "POST" and "content" not in options:
        options["json"] = {"no such parameter": 1}
    path = path_of(endpoint) + ("?no such parameter=1" if endpoint.method == "GET" else "")
    return client.request(endpoint.method, path, headers, **options)


def code(response):
    return response.status_code, response.json()["error"]["code"]


@pytest.mark.parametrize("endpoint", EVERY)
def test_another_name_is_misdirected(endpoint):
    client = client_of()
    for host in HOSTS:
        assert code(asked(client, endpoint, {"host": host})) == (421, "misdirected")


@pytest.mark.parametrize("endpoint", DATA)
def test_data_needs_a_session_or_the_key(endpoint):
    nobody = client_of("")
    for headers in ({}, {"cookie": "local-rag-8321=guess"}, {"authorization": "Bearer guess"}, {"authorization": ""}):
        assert code(asked(nobody, endpoint, headers)) == (401, "unauthorized")
    assert asked(client_of(), endpoint).status_code == 400  # a handler's model has refused it: the guard has not
    with_key = code(asked(client_of("key"), endpoint))
    assert with_key == ((403, "forbidden") if endpoint.access == "session" else (400, "usage"))


@pytest.mark.parametrize("endpoint", STATES)
def test_another_origin_is_refused(endpoint):
    client = client_of()
    for headers in FOREIGN:
        assert code(asked(client, endpoint, headers)) == (403, "forbidden")


@pytest.mark.parametrize("endpoint", [each for each in EVERY if each.values[0].method == "POST"])
def test_a_post_is_json_and_small(endpoint):
    client = client_of()
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""):
        assert code(asked(client, endpoint, {"content-type": kind}, content=b"{}")) == (415, "media_type")
    json = {"content-type": "application/json"}
    assert code(asked(client, endpoint, json, content=b'"' + b"x" * (1 << 20) + b'"')) == (413, "too_large")
    unsaid = {**json, "content-length": "2"}
    assert code(asked(client, endpoint, unsaid, content=b'"' + b"x" * (1 << 20) + b'"')) == (413, "too_large")
    for body in (b"{", b"[]", b"1", b"[" * 100_000, b"\xff"):
        assert asked(client, endpoint, json, content=body).status_code == 400


@pytest.mark.parametrize("endpoint", EVERY)
def test_every_response_has_the_headers(endpoint):
    client = client_of()
    for headers in ({}, {"host": "evil.example"}, {"origin": "http://evil.example"}):
        response = asked(client, endpoint, headers)
        assert response.headers["content-security-policy"] == POLICY
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cross-origin-opener-policy"] == "same-origin"
        assert response.headers["cross-origin-resource-policy"] == "same-origin"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"
        assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("endpoint", EVERY)
def test_there_are_two_methods(endpoint):
    client = client_of()
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"):
        assert client.request(method, path_of(endpoint)).status_code == 405


@pytest.mark.parametrize("endpoint", EVERY)
def test_an_endpoint_answers_nothing_without_the_guard(endpoint):
    """A route that is reached past the guard, or allowed as another one, refuses by itself."""
    guard = application(a_place())
    (route,) = [route for route in guard.routes if route.about is endpoint]

    async def reach():
        scope = {
            "type": "http",
            "method": endpoint.method,
            "path": path_of(endpoint),
            "headers": [],
            "query_string": b"",
        }
        with pytest.raises(ApiError, match="the guard has not seen this request"):
            await route.app(scope, None, None)

    asyncio.run(reach())


def test_every_route_is_one_of_the_guard():
    guard = application(a_place())
    assert guard.app.routes == guard.routes and [route.about for route in guard.routes] == endpoints()
    paths = [(endpoint.method, endpoint.path) for endpoint in endpoints()]
    assert len(set(paths)) == len(paths)
    for endpoint in endpoints():
        assert endpoint.summary and endpoint.method in ("GET", "POST")
        assert endpoint.path.startswith("/api/") == (endpoint.access != "shell")


def test_a_route_without_an_endpoint_is_refused():
    """A route that somebody adds beside the endpoints is not reached."""
    place = a_place()
    guard = application(place)
    guard.app.router.routes.append(Route("/unguarded", lambda request: None))
    client = Client(place)
    client.app = guard
    assert code(client.get("/unguarded")) == (404, "not_found")
    client.app = Guard(
        guard.app, [*guard.routes, Route("/unguarded", lambda request: None)], place.sessions, place.limits
    )
    assert code(client.get("/unguarded")) == (404, "not_found")


def test_only_the_page_can_be_navigated_to_from_elsewhere():
    elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "origin": None}
    assert client_of("").get("/", elsewhere).status_code in (200, 404)
    assert code(client_of("").get("/page/app.js", elsewhere)) == (403, "forbidden")
    assert code(client_of("").get("/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"})) == (
        403,
        "forbidden",
    )


def test_a_header_that_names_a_key_is_conclusive():
    client = client_of()
    assert client.get("/api/health").status_code == 200
    assert code(client.get("/api/health", {"authorization": "Bearer wrong"})) == (401, "unauthorized")
    assert code(client.get("/api/health", {"authorization": "Basic x"})) == (401, "unauthorized")


def test_listed_names_are_answered_under():
    place = a_place()
    client = Client(place, hosts=["rag.home", "fd00::5"])
    for host in ("rag.home", "RAG.home:8321", "[fd00::5]:80"):
        page = {"host": host, "origin": f"http://{host.lower()}"}
        assert client.get("/api/health", page).status_code == 200
    assert client.get("/api/health", {"host": "rag.home", "origin": "https://rag.home"}).status_code == 200
    assert code(client.get("/api/health", {"host": "other.home", "origin": None})) == (421, "misdirected")


def test_names_in_host_headers():
    assert [host_name(host) for host in ("A.b", "a:1", "[::1]:2", "[::1]")] == ["a.b", "a", "::1", "::1"]
    for host in ("a:b", "a@b", "a/b", "a?b", "a#b", "[::1", "a:99999", " ", "a b:1\\"):
        assert not is_loopback(host_name(host))
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.9.1", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "localhost.", "2130706433", "127.1", "x.localhost", "")))


ORIGIN = "http://localhost:3000"


def test_a_listed_origin_uses_the_key(monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_API_ALLOW_ORIGINS", ORIGIN)
    place = a_place()
    program, page = Client(place, "key"), Client(place)
    elsewhere = {"origin": ORIGIN, "sec-fetch-site": "same-site"}
    answered = program.get("/api/health", elsewhere)
    assert answered.status_code == 200 and answered.headers["access-control-allow-origin"] == ORIGIN
    assert "access-control-allow-credentials" not in answered.headers
    assert code(page.get("/api/health", elsewhere)) == (403, "forbidden")
    for client in (program, page, Client(place, "")):
        assert code(client.get("/api/session", elsewhere)) == (403, "forbidden")
        assert code(client.post("/api/session/start", {"token": "x"}, elsewhere)) == (403, "forbidden")
    preflight = program.request("OPTIONS", "/api/health", elsewhere | {"authorization": None})
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-headers"] == "authorization, content-type"
    assert "access-control-allow-private-network" not in preflight.headers
    assert program.request("OPTIONS", "/api/health", elsewhere | {"host": "evil.example"}).status_code == 421
    assert code(program.get("/api/health", {"origin": "http://localhost:3001"})) == (403, "forbidden")


@pytest.mark.parametrize("origin", ["*", "null", "localhost:3000", "http://a/b", "http://"])
def test_an_origin_is_no_pattern(monkeypatch, origin):
    from local_rag.core.errors import ConfigError

    monkeypatch.setenv("LOCAL_RAG_API_ALLOW_ORIGINS", origin)
    with pytest.raises(ConfigError, match="an origin is"):
        Settings.load()


def test_an_unknown_error_says_nothing_of_the_question(caplog):
    def fails(place, request):
        raise ValueError("my secret question")

    client = Client(a_place(), served=[Endpoint("GET", "/api/fails", fails)])
    response = client.get("/api/fails")
    assert code(response) == (500, "internal") and "secret" not in response.text
    assert "ValueError" in caplog.text and "secret" not in caplog.text


def test_a_websocket_is_closed():
    sent = []

    async def connect():
        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            sent.append(message)

        await application(a_place())({"type": "websocket", "path": "/", "headers": []}, receive, send)

    asyncio.run(connect())
    assert sent == [{"type": "websocket.close", "code": 1008}]
