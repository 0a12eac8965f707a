"""The layer that every request passes: who is answered on every endpoint, and what is refused."""

import hmac
import re
import sys

import pytest
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient
from support.serving import Client, a_workspace, error_of, served

from local_rag.config.settings import Settings
from local_rag.core.errors import ConfigError
from local_rag.server.app import application
from local_rag.server.auth import POLICY, SECRET, Access, is_same, new_code, read_key

PAGE = [("GET", "/"), ("GET", "/favicon.ico"), ("GET", "/page/app.js"), ("GET", "/page/none.js")]
IN_FULL = [("GET", "/"), ("GET", "/api/threads"), ("POST", "/api/ask"), ("POST", "/v1/chat/completions")]
"""The addresses at which every way of asking wrongly is tried; at the others the guard is there if one is refused."""

ROUTES = {
    (method, re.sub("{[^}]*}", "xxxx", route.path))
    for route in iter_route_contexts(application().routes)
    for method in (route.methods or {"GET", "POST"}) - {"HEAD"}  # what is mounted takes any
}
API = sorted(ROUTES - {*PAGE, ("GET", "/page"), ("POST", "/page")})
"""All but the files of the page."""
HOSTS = (
    *("evil.example", "evil.example:8321", "localhost.evil.example", "127.0.0.1@evil.example", "x.localhost"),
    *("0.0.0.0:8321", "[::]", "10.0.0.1", "2130706433", "127.1", ""),
)
FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9999"},
    {"origin": "https://127.0.0.1"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]
SAFE = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
NAVIGATED = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A signed-in page, who has neither a session nor the key, and a program with the key."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LOCAL_RAG_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        workspace = a_workspace()
        with (
            served(workspace) as address,
            Client(workspace, address) as page,
            Client(workspace, address, "") as nobody,
            Client(workspace, address, "key") as program,
        ):
            yield page, nobody, program


def asked(client, method, path, headers=None):
    """The response to a request that changes nothing: its body is no object."""
    return client.request(method, path, headers=headers, **({"json": []} if method == "POST" else {}))


@pytest.mark.parametrize(("method", "path"), API + PAGE)
def test_every_address_is_guarded(server, method, path):
    page, nobody, program = server
    tried = None if (method, path) in IN_FULL else 1
    assert method in ("GET", "POST")
    for host in HOSTS[:tried]:
        assert asked(page, method, path, {"host": host}).status_code == 400
    for headers in FOREIGN[:tried]:
        assert error_of(asked(page, method, path, headers)) == (403, "forbidden")
    for other in ("DELETE", "PUT", "PATCH", "OPTIONS", "TRACE")[:tried]:
        refused = program.request(other, path, headers={"content-type": "application/json"}).status_code
        assert refused == 400 if (other, path) == ("DELETE", "/mcp") else refused in (404, 405)  # it names no session
    if path in ("/", "/favicon.ico", "/page/app.js"):
        assert nobody.get(path).status_code == 200
    if (method, path) in API:
        wrong = (
            {"cookie": page.headers["cookie"]},  # every server of this machine is sent it
            {},
            {"cookie": "local-rag-8321=guess"},
            {"cookie": page.headers["cookie"], SECRET: "guess"},
            {SECRET: page.headers[SECRET]},
            {"authorization": "Bearer guess"},
            {"authorization": ""},
            {"authorization": f"Basic {page.workspace.access.key}"},
        )
        for headers in wrong[:tried]:
            assert error_of(asked(nobody, method, path, headers)) == (401, "unauthorized")
        assert error_of(asked(page, method, path, {"authorization": "Bearer x"}))[0] == 401, "it is conclusive"
        if not path.startswith("/api/"):
            assert error_of(asked(page, method, path)) == (401, "unauthorized"), "its address is for programs"
    for headers in ({}, FOREIGN[0]):
        response = asked(page, method, path, headers)
        assert SAFE.items() <= dict(response.headers).items()
        assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", [path for method, path in API if method == "POST"])
def test_a_post_is_json_and_small(server, path):
    page, _, program = server
    client = page if path.startswith("/api/") else program
    tried = None if ("POST", path) in IN_FULL else 1
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "")[:tried]:
        response = client.request("POST", path, headers={"content-type": kind}, content=b"{}")
        assert error_of(response) == (415, "media_type")
    json = {"content-type": "application/json"}
    for large in (b'"' + b"x" * (1 << 20) + b'"', (b"x" * 1_000 for _ in range(1_100)))[:tried]:
        assert error_of(client.request("POST", path, headers=json, content=large)) == (413, "too_large")
    if not path.endswith(("/stop", "/delete", "/mcp")) or path == "/api/thread/delete":
        for body in (b"[]", b"{", b"1", b"[" * 100_000, b"\xff", rb'{"query": "\ud800"}', rb'{"\udfff": 1}')[:tried]:
            assert error_of(client.request("POST", path, headers=json, content=body)) == (400, "usage"), body


def test_errors_below_v1_have_the_form_of_openai(server):
    page, _, program = server
    needs = "this needs the key: Authorization: Bearer KEY; local-rag serve --print-key"
    refused, missing = page.get("/v1/models"), program.get("/v1/nothing")
    error = {"message": needs, "type": "invalid_request_error", "param": None, "code": "unauthorized"}
    assert refused.json() == {"error": error} and error_of(missing) == (404, "not_found")
    assert missing.headers["x-should-retry"] == "false", "OpenAI's clients ask again by themselves"


def test_a_loopback_name_is_answered_under_with_any_port(server):
    client, *_ = server
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8321", "[::1]"):
        headers = {"host": host, "origin": f"http://{host}"}
        assert client.get("/api/health", headers=headers).status_code == 200


def test_only_the_page_can_be_navigated_to_from_elsewhere(server):
    _, nobody, _ = server
    assert nobody.get("/?utm_source=x", headers=NAVIGATED).status_code == 200
    for path, headers in (
        ("/page/app.js", NAVIGATED),
        ("/api/health", NAVIGATED),
        ("/", {**NAVIGATED, "sec-fetch-mode": "no-cors"}),
        ("/", {**NAVIGATED, "origin": "http://evil.example"}),
    ):
        assert error_of(nobody.get(path, headers=headers)) == (403, "forbidden")


def test_a_code_in_the_address_becomes_a_cookie_out_of_reach_of_scripts_once(server):
    page, nobody, _ = server
    key = page.workspace.access.key
    code = new_code(key)
    signed = nobody.get("/", params={"code": code}, headers=NAVIGATED)
    nobody.cookies.clear()
    secret = signed.text.partition('name="secret" content="')[2].partition('"')[0]
    assert (signed.status_code, secret) == (200, page.headers[SECRET]) and key not in signed.text + str(signed.headers)
    name, _, value = signed.headers["set-cookie"].partition(";")[0].partition("=")
    assert name == "local-rag-8321" and value != key
    parts = {part.split("=")[0].title() for part in signed.headers["set-cookie"].split("; ")[1:]}
    assert "SameSite=strict" in signed.headers["set-cookie"] and {"Httponly", "Path", "Samesite"} < parts
    session = {"cookie": f"{name}={value}", SECRET: secret}
    assert nobody.get("/api/health", headers=session).json()["status"] == "ok"
    of_before = code.partition("-")[2]
    for wrong in ("x", "", "é", key, value, code, new_code("another key"), f"1-{of_before}", new_code(key)[:-1]):
        refused = nobody.get("/", params={"code": wrong})
        assert refused.status_code == 200 and "set-cookie" not in refused.headers, "the page, not signed in"
        assert secret not in refused.text
    early = new_code(key)
    assert not Access(page.workspace.settings.data_folder, 1).spends(early), "it is of a server that has ended"


def test_an_address_that_the_page_has_signed_is_read_without_a_header(server):
    page, nobody, _ = server
    cookie = {"cookie": page.headers["cookie"]}
    own = "/api/thread/export?thread=x&"
    signed = f"{own}pass={hmac.new(page.headers[SECRET].encode(), own.encode(), 'sha256').hexdigest()}"
    assert error_of(nobody.get(signed, headers=cookie)) == (404, "not_found")
    for address, headers in (
        (signed, {}),
        (f"{own}pass=", cookie),
        (signed.replace("=x", "=y"), cookie),
        (signed.replace("/export", ""), cookie),
        (f"{signed}&thread=y", cookie),
    ):
        assert error_of(nobody.get(address, headers=headers)) == (401, "unauthorized")
    assert error_of(nobody.post(signed.replace("export", "delete"), headers=cookie))[0] == 401


def test_the_key_is_for_its_owner_stays_and_sessions_end_with_the_server(tmp_path):
    first, second = Access(tmp_path, 1), Access(tmp_path, 1)
    assert first.key == second.key == read_key(tmp_path) and len(first.key) >= 43  # 32 bytes
    assert first.session != second.session
    file = tmp_path / "server" / "key"
    for each in (file, file.parent):
        assert each.stat().st_mode & 0o077 == 0 or sys.platform == "win32"
    file.write_text("")
    assert not is_same("", Access(tmp_path, 1).key) and read_key(tmp_path) != first.key, "a damaged one is made anew"


def test_a_listed_origin_uses_the_key(serve, monkeypatch):
    origin = "http://localhost:3000"
    monkeypatch.setenv("LOCAL_RAG_API_ALLOW_ORIGINS", origin)
    program, page = serve(who="key"), serve()
    elsewhere = {"origin": origin, "sec-fetch-site": "same-site"}
    answered = program.get("/api/health", headers=elsewhere)
    assert answered.status_code == 200 and answered.headers["access-control-allow-origin"] == origin
    assert "access-control-allow-credentials" not in answered.headers
    assert error_of(page.get("/api/health", headers=elsewhere)) == (401, "unauthorized")
    asks = {**elsewhere, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    preflight = program.request("OPTIONS", "/api/search", headers=asks)
    assert preflight.status_code == 200 and "authorization" in preflight.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-private-network" not in preflight.headers
    assert program.request("OPTIONS", "/api/search", headers={**asks, "host": "evil.example"}).status_code == 400
    other = program.get("/api/health", headers={"origin": "http://localhost:3001"})
    assert error_of(other) == (403, "forbidden") and "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("origin", ["*", "null", "localhost:3000", "http://a/b", "http://"])
def test_an_origin_is_no_pattern(monkeypatch, origin):
    monkeypatch.setenv("LOCAL_RAG_API_ALLOW_ORIGINS", origin)
    with pytest.raises(ConfigError, match="an origin is"):
        Settings.load()


def test_nothing_is_reported_to_open_telemetry(monkeypatch):
    """FastAPI tells what is asked to whatever a program or the environment has set up."""
    from opentelemetry import trace

    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: pytest.fail("a trace is begun"))
    monkeypatch.setattr(trace, "get_tracer", lambda *_, **__: pytest.fail("a trace is begun"))
    workspace = a_workspace()
    with TestClient(application(workspace), base_url="http://localhost") as client:
        key = {"authorization": f"Bearer {workspace.access.key}"}
        assert client.get("/api/health", headers=key).status_code == 200
    workspace.close()
