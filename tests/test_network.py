"""Which hosts a question contacts: what recorders write is read aright, and the check says what it cannot see."""

from __future__ import annotations

import shutil
import socket
import threading

import pytest

from local_rag import network
from local_rag.config import Settings
from local_rag.network import HOOK, Contact, contacts_of_hook, contacts_of_strace, network_checks, record

HERE = 'sin_port=htons(11434), sin_addr=inet_addr("127.0.0.1")}, 16) = 0'
NAMES = 'sin_port=htons(53), sin_addr=inet_addr("192.0.2.53")}, 16) = 28'
SIX = 'sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr)}, 28)'
STRACE = [
    '812 connect(3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT (No such file or directory)',
    f"812 connect(3, {{sa_family=AF_INET, {HERE}",
    f'813 sendto(4, "\\1\\0", 28, MSG_NOSIGNAL, {{sa_family=AF_INET, {NAMES}',
    f"813 connect(5, {{sa_family=AF_INET6, {SIX} = -1 ENETUNREACH",
    '813 sendto(5, {{len=20}, "\\x00"}, 20, 0, {sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}, 12) = 20',
    f"814 write(1, {HERE!r}, 50) = 50",
]


def test_lines_of_strace_become_contacts():
    found = list(contacts_of_strace(STRACE))
    assert found == [Contact("127.0.0.1", 11434), Contact("192.0.2.53", 53), Contact("2001:db8::1", 443)]
    assert [one.is_here for one in found] == [True, False, False]
    assert str(found[2]) == "[2001:db8::1]:443"


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("::ffff:127.0.0.1", True),
     ("192.0.2.1", False), ("example.test", False), ("::ffff:192.0.2.1", False), ("fe80::1%eth0", False)],
)  # fmt: skip
def test_what_is_on_this_machine(host, here):
    assert Contact(host, 80).is_here is here


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
        yield server.getsockname()[1]


CALLS = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).close()"
CALLS_OUT = "import socket; s = socket.socket(); s.setblocking(False); s.connect_ex(('192.0.2.1', 9)); s.close()"
"""To an address of the documentation (RFC 5737), which nobody has."""


@pytest.mark.parametrize("method", ["strace", "hook"])
def test_a_program_that_calls_is_seen(listening, method, tmp_path, monkeypatch):
    if method == "hook":
        monkeypatch.setattr(network, "traces", lambda log: False)
    elif not network.traces(tmp_path / "log"):
        pytest.skip("strace is not here, or may not trace")
    recording = record([str(listening)], CALLS)
    assert recording.code == 0
    assert Contact("127.0.0.1", listening) in recording.contacts
    assert recording.elsewhere == ()
    assert recording.method.startswith("strace") is (method == "strace")
    recording = record([], CALLS_OUT)
    assert [str(one) for one in recording.elsewhere] == ["192.0.2.1:9"]


def test_a_child_of_a_child_is_seen_by_strace(tmp_path):
    if not shutil.which("strace") or not network.traces(tmp_path / "log"):
        pytest.skip("strace is not here, or may not trace")
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CALLS_OUT!r}])"
    assert Contact("192.0.2.1", 9) in record([], program).elsewhere


def test_the_hook_writes_names_that_are_looked_up():
    assert list(contacts_of_hook(['["example.test", 0]'])) == [Contact("example.test", 0)]
    assert "getaddrinfo" in HOOK


def checks(monkeypatch, program, **flags):
    monkeypatch.setattr(network, "OUR_PROGRAM", program)
    return {one.name: one for one in network_checks(Settings.load(**flags), {})}


def test_the_check_names_whom_it_saw_and_what_it_cannot_see(monkeypatch):
    found = checks(monkeypatch, "import sys; sys.exit(0)")
    assert found["network"].state == "ok" and "0 hosts outside this machine" in found["network"].found
    assert "local-rag demo" in found["network"].found, "without an index the demo is what is run"
    assert "cannot see" in found["network, method"].found and "Ollama" in found["network, method"].found
    assert "no Ollama server" in found["Ollama cloud"].found
    found = checks(monkeypatch, CALLS_OUT)
    assert found["network"].state == "bad" and "CONTACTED 192.0.2.1:9" in found["network"].found


def test_a_run_that_fails_shows_nothing(monkeypatch):
    assert checks(monkeypatch, "import sys; sys.exit(1)")["network"].state == "bad"


def test_the_server_is_asked_whether_it_calls_its_maker(monkeypatch, ollama):
    monkeypatch.setenv("OLLAMA_HOST", ollama.host)
    found = checks(monkeypatch, "import sys; sys.exit(3)")
    assert found["network"].state == "ok"
    assert found["Ollama cloud"].state == "note" and "OLLAMA_NO_CLOUD" in found["Ollama cloud"].fix
    ollama.cloud = {"disabled": True, "source": "env"}
    assert checks(monkeypatch, "import sys; sys.exit(3)")["Ollama cloud"].state == "ok"


def test_it_runs_a_real_question(tmp_path, monkeypatch):
    from local_rag.cli import run

    (tmp_path / "plan.md").write_text("# Plan\n\nThe greenhouse costs 4,200 euros.\n")
    assert run(["index", str(tmp_path / "plan.md")]) == 0
    assert run(["doctor", "--network"]) == 0
