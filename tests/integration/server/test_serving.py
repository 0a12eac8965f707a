"""Where the server listens, how others find it, what cannot be served, and the document of the API."""

import socket
import sys
from contextlib import ExitStack

import pytest
from support.processes import free_port

from local_rag.core.errors import ConfigError, LocalRagError, UsageError
from local_rag.server.auth import read_key
from local_rag.server.serving import address, listen, noted, running


@pytest.fixture
def listening():
    """Listens as the server does; closed at the end of the test."""
    with ExitStack() as opened:

        def begin(*given, **named):
            sockets, port = listen(*given, **named)
            for each in sockets:
                opened.enter_context(each)
            return sockets, port

        yield begin


def test_it_listens_at_loopback_alone(listening):
    sockets, port = listening(free_port())
    hosts = {each.getsockname()[0] for each in sockets}
    assert "127.0.0.1" in hosts and hosts <= {"127.0.0.1", "::1"}
    assert {each.getsockname()[1] for each in sockets} == {port}


def test_another_port_is_taken_where_one_is_not_free(listening):
    _, first = listening(free_port())
    assert listening(first)[1] > first


def test_a_port_of_which_another_program_has_the_second_half():
    """The page is not served at 127.0.0.1 while somebody else is `localhost` at the same port."""
    try:
        other = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with other, pytest.raises(UsageError, match="is taken"):
        listen(other.getsockname()[1], exactly=True)


def test_the_running_server_is_known_and_the_page_that_opens_it_is_for_its_owner(listening, tmp_path):
    with pytest.raises(LocalRagError, match="no server of local-rag runs") as none:
        running(tmp_path)
    assert none.value.hint == "local-rag serve"
    _, port = listening(free_port())
    with noted(tmp_path, port) as page:
        assert page.stat().st_mode & 0o077 == 0 or sys.platform == "win32"
        assert f"127.0.0.1:{port}/?code=" in page.read_text() and read_key(tmp_path) not in page.read_text()
        assert address(tmp_path, port) != address(tmp_path, port), "each signs in once"
        assert running(tmp_path) == running(tmp_path, port) == port
        with pytest.raises(LocalRagError, match="at port 1"):
            running(tmp_path, 1)
        kept = page.read_bytes()
    assert not page.exists()
    page.with_name("running-1.html").write_bytes(kept)  # left behind by a kill, and nobody listens there
    with pytest.raises(LocalRagError):
        running(tmp_path)


def test_what_cannot_be_served(said):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        for options, message in (
            ("--host 0.0.0.0", "No such option"),
            ("--root nowhere", "--root takes a folder"),
            ("--demo --index notes", "--demo serves the handbook"),
            (f"--port {port}", f"port {port} of 127.0.0.1 is taken"),
        ):
            assert message in said(f"serve --no-browser {options}", 2)


def test_a_setting_of_a_request_is_the_clients_and_one_of_the_configuration_is_not(serve, monkeypatch):
    workspace = serve().workspace
    with pytest.raises(UsageError, match="engine = 'none'"):
        workspace.settings_of(engine="none")
    monkeypatch.setenv("LOCAL_RAG_K", "many")
    with pytest.raises(ConfigError, match="LOCAL_RAG_K"):
        workspace.settings_of(engine="extractive")


def test_the_document_of_the_api_has_every_endpoint_with_a_summary(serve):
    described = serve().got("/api/openapi.json")["paths"]
    assert {"/api/ask", "/v1/chat/completions"} < described.keys()
    assert all(about["description"] for methods in described.values() for about in methods.values())
