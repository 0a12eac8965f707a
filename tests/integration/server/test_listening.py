"""Where the server listens, and what it takes to be reached from elsewhere."""

from __future__ import annotations

import contextlib
import socket
import sys

import pytest

from local_rag.cli.app import run
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.server.listening import Listening, listen, note_running, one_time_address, read_password, running

WIDE = "192.168.1.5"


@contextlib.contextmanager
def closed(listening):
    try:
        yield listening
    finally:
        for each in listening.sockets:
            each.close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize("host", ["", "localhost"])
def test_it_listens_at_loopback_alone(host):
    with closed(listen(free_port(), host)) as listening:
        hosts = {each.getsockname()[0] for each in listening.sockets}
        assert "127.0.0.1" in hosts and hosts <= {"127.0.0.1", "::1"}
        assert {each.getsockname()[1] for each in listening.sockets} == {listening.port}
        assert not listening.is_wide and "Only programs of this machine" in listening.reachable_by
        assert listening.address == f"http://127.0.0.1:{listening.port}"


def test_a_port_that_is_taken():
    with closed(listen(free_port())) as first:
        with closed(listen(first.port)) as second:
            assert second.port > first.port
        with pytest.raises(UsageError, match=f"port {first.port} of 127.0.0.1 is taken"):
            listen(first.port, exactly=True)


def test_a_port_of_which_another_program_has_the_second_half():
    """The page is not served at 127.0.0.1 while somebody else is `localhost` at the same port."""
    try:
        other = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with other, pytest.raises(UsageError, match="is taken"):
        listen(other.getsockname()[1], exactly=True)


def test_another_address_needs_names_and_a_password(tmp_path):
    with pytest.raises(UsageError, match="needs the names"):
        listen(free_port(), WIDE)
    for host in (WIDE, "0.0.0.0", "::"):
        with pytest.raises(UsageError, match="needs a password"):
            read_password(None, host)
    assert read_password(None, "") == ""
    with pytest.raises(UsageError, match="takes an address of this machine"):
        listen(free_port(), "nas.home", ["nas.home"])
    for name in ("*", "http://nas", "nas:80", "", "nas.home/", "a b"):
        with pytest.raises(UsageError, match="--allow-host takes a name"):
            listen(free_port(), "", [name])


def test_the_password_file(tmp_path):
    file = tmp_path / "password"
    file.write_text("correct horse battery\n")
    file.chmod(0o644)
    if sys.platform != "win32":
        with pytest.raises(UsageError, match="others can read the password file") as refused:
            read_password(file, WIDE)
        assert refused.value.hint.startswith("chmod 600 ")
    file.chmod(0o600)
    assert read_password(file, WIDE) == "correct horse battery"
    file.write_text("short")
    with pytest.raises(UsageError, match="at least 12 characters, and this one has 5"):
        read_password(file, WIDE)
    with pytest.raises(UsageError, match="cannot be read"):
        read_password(tmp_path / "none", WIDE)


def test_a_wider_address_says_so():
    listening = Listening((), 8321, WIDE, ("nas.home",))
    assert listening.is_wide and listening.address == "http://nas.home:8321"
    assert "Everybody in the network" in listening.reachable_by and "nothing is encrypted" in listening.reachable_by
    assert "what forwards rag.home" in Listening((), 8321, names=("rag.home",)).reachable_by


def test_the_running_server_is_known(tmp_path):
    with pytest.raises(LocalRagError, match="no server of local-rag runs") as none:
        running(tmp_path)
    assert none.value.hint == "local-rag serve"
    with closed(listen(free_port())) as listening:
        note = note_running(tmp_path, listening)
        assert note.stat().st_mode & 0o077 == 0 or sys.platform == "win32"
        assert running(tmp_path) == running(tmp_path, listening.port) == (listening.address, listening.port)
        with pytest.raises(LocalRagError, match="at port 1"):
            running(tmp_path, 1)
        assert one_time_address(tmp_path, *running(tmp_path)).startswith(f"{listening.address}/#token=")
    with pytest.raises(LocalRagError):
        running(tmp_path)  # its note is left behind by a kill, and nobody listens there


def test_what_cannot_be_served(capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for options, message in (
            (["--host", "0.0.0.0"], "lets other machines in, and that needs a password"),
            (["--root", "nowhere"], "--root takes a folder"),
            (["--demo", "--index", "notes"], "--demo serves the handbook"),
            (["--allow-host", "*"], "--allow-host takes a name"),
            (["--port", port], f"port {port} of 127.0.0.1 is taken"),
        ):
            assert run(["serve", "--no-browser", *options]) == 2
            assert message in capsys.readouterr().err
