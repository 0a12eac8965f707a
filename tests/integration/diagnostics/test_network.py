"""Test `doctor --network`: what it sees of real processes, how it reads strace, and what it reports.

Only the children below try an address of TEST-NET (RFC 5737), and wait for nothing; this process opens no socket but
its servers on loopback.
"""

import json
import os
from dataclasses import replace

import pytest
from support.marks import posix
from support.screen import shown

from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMissing
from local_rag.core.progress import Silent
from local_rag.diagnostics.network import (
    Contact,
    Recording,
    audited,
    can_trace,
    is_loopback,
    ollama_lines,
    record_question,
    traced,
    watch,
)
from local_rag.terminal.diagnostics import recording_parts

LONG = 60


@pytest.fixture(scope="session")
def traceable():
    return can_trace()


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["audit", "strace"])
def trace(request, traceable):
    if request.param and not traceable:
        pytest.skip("this machine allows no strace")
    return request.param


def hosts(found):
    return {(one.host, one.port, one.what) for one in found.contacts}


HERE = ["", *"127.0.0.1 127.9.9.9 ::1 ::ffff:127.0.0.1 0.0.0.0 :: localhost a.LocalHost.".split()]
ELSEWHERE = "192.0.2.1 10.0.0.1 fe80::1%eth0 ::ffff:192.0.2.1 224.0.0.251 localhost.example.org x".split()


@pytest.mark.parametrize("host", [*HERE, *ELSEWHERE])
def test_loopback_hosts_are_this_machine_and_others_are_not(host):
    assert is_loopback(host) is (host in HERE)


# --- real processes ---------------------------------------------------------------------------------------------------

AWAY = """
import socket
with socket.socket() as one:
    one.setblocking(False)
    one.connect_ex(("192.0.2.1", 443))
"""

CALLS = f"""
import os, socket, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(("localhost", server.getsockname()[1])):
        print(server.getsockname()[1])
for name in ("192.0.2.7", "localhost", "example.invalid"):
    try:
        socket.getaddrinfo(name, 80, flags=socket.AI_NUMERICHOST)  # asks nobody
    except OSError:
        pass
{AWAY}
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    try:
        one.sendto(b"", ("192.0.2.2", 444))
    except OSError:
        pass
if hasattr(os, "fork"):
    if os.fork() == 0:
        with socket.socket() as one:
            one.setblocking(False)
            one.connect_ex(("192.0.2.3", 445))
        os._exit(0)
    os.wait()
print("said", file=sys.stderr)
sys.exit(4)
"""

A_CHILD_DOES = f"""
import subprocess, sys
subprocess.run([sys.executable, "-I", "-S", "-c", {AWAY!r}], check=True)
"""


def test_what_a_process_calls_is_seen_and_what_it_says_is_shown(trace, capfd):
    found = watch(CALLS, (), trace=trace, seconds=LONG)
    assert (found.exit_code, capfd.readouterr().err, found.complete) == (4, "said\n", trace)
    assert hosts(found) == {
        ("127.0.0.1", int(found.stdout), "loopback"),
        ("localhost", None, "loopback"),
        ("example.invalid", None, "name look-up"),
        ("192.0.2.1", 443, "elsewhere"),
        ("192.0.2.2", 444, "elsewhere"),
        *([("192.0.2.3", 445, "elsewhere")] if hasattr(os, "fork") else []),
    }


def test_strace_sees_what_a_child_does_and_the_hook_says_that_it_does_not(traceable):
    if traceable:
        assert hosts(watch(A_CHILD_DOES, (), trace=True, seconds=LONG)) == {("192.0.2.1", 443, "elsewhere")}
    found = watch(A_CHILD_DOES, (), trace=False, seconds=LONG)
    assert (found.contacts, found.complete) == ((), False)
    assert "(loaded: none)" in found.blind
    assert "what these programs did, which were started: python" in found.blind


def test_a_compiled_client_that_was_loaded_is_named(tmp_path, monkeypatch):
    (tmp_path / "primp.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "(loaded: primp)" in watch("import primp", (), trace=False, seconds=LONG).blind


def test_a_process_that_hangs_is_ended_with_its_children(trace):
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    found = watch(code, (), trace=trace, seconds=1.0)
    assert found.exit_code < 0 and found.seconds < LONG
    assert trace or "(loaded: not known)" in found.blind


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [("raise SystemExit('why')", 1, "why\n"), ("raise SystemExit", 0, ""), ("1 / 0", 1, "ZeroDivisionError")],
)
def test_the_child_ends_as_python_does(capfd, code, exit_code, said):
    assert watch(code, (), trace=False, seconds=LONG).exit_code == exit_code
    assert said in capfd.readouterr().err


def test_the_environment_is_the_callers_and_the_folder_it_stands_in_is_not_imported_from(monkeypatch, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
    code = "import os, sys; print(os.environ['HTTPS_PROXY'], sys.argv[1:])"
    assert watch(code, ["a", "-b"], trace=False, seconds=LONG).stdout == "http://proxy.test:3128 ['a', '-b']\n"


@posix  # the stand-in is a shell script
def test_a_tracer_that_is_not_there_or_may_not_trace_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not can_trace()
    (tmp_path / "strace").write_text("#!/bin/sh\necho 'PTRACE_TRACEME: Operation not permitted' >&2\nexit 1\n")
    (tmp_path / "strace").chmod(0o755)
    assert not can_trace()


def test_a_line_of_the_hook_whose_host_is_of_another_family():
    events = [{"event": "socket.connect", "host": "2", "port": 99}, {"loaded": []}]
    assert list(audited(events)) == [Contact("2", 99, "elsewhere", "")]


# --- lines of strace --------------------------------------------------------------------------------------------------

LINES = r"""
9<py> connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 EINPROGRESS (…)
9<py> connect(3, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28 <unfinished ...>
9<py> connect(4, {sa_family=AF_INET, sin_port=htons(43759), sin_addr=inet_addr("127.0.0.1")}, 16) = 0
9<py> connect(3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT (No such file or directory)
9<py> sendto(5, ""..., 20, 0, {sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}, 12) = 20
9<py> connect(3, {sa_family=AF_UNSPEC, sa_data="\0\0\0\0\0\0\0\0\0\0\0\0\0\0"}, 16) = 0
8<curl> connect(5, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 0
8<curl> <... sendmmsg resumed>[{msg_hdr={msg_name={sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.2")}, msg_namelen=16, msg_iov=[{iov_base=""..., iov_len=33}]}, msg_len=33}], 1, MSG_NOSIGNAL) = 1
8<curl> connect(4, {sa_family=AF_UNIX, sun_path="/run/systemd/resolve/io.systemd.Resolve"}, 42) = 0
8<curl> connect(4, {sa_family=AF_VSOCK, svm_cid=VMADDR_CID_HOST, svm_port=0x63}, 16) = 0
8<curl> +++ exited with 0 +++
"""  # noqa: E501


def test_contacts_are_read_from_lines_of_strace():
    assert [(one.host, one.port, one.what, one.by) for one in traced(LINES.splitlines())] == [
        ("192.0.2.1", 443, "elsewhere", "py"),
        ("2001:db8::1", 443, "elsewhere", "py"),
        ("127.0.0.1", 43759, "loopback", "py"),
        ("127.0.0.53", 53, "name look-up", "curl"),
        ("192.0.2.2", 80, "elsewhere", "curl"),
        ("a name, asked of systemd/resolve", None, "name look-up", "curl"),
        ("AF_VSOCK", None, "elsewhere", "curl"),
    ]


# --- in words ---------------------------------------------------------------------------------------------------------

QUIET = Recording(
    question="What is it?",
    method="strace",
    blind="other programs",
    complete=True,
    contacts=(Contact("127.0.0.1", 11434, "loopback", "python"),),
    exit_code=0,
    seconds=2.04,
    answer_status="grounded",
    stdout="",
)


def told(recording, ollama=()):
    return shown(*recording_parts(recording, ollama))


def test_a_quiet_recording_says_that_nothing_left():
    assert QUIET.code == 0
    assert told(QUIET, ["Ollama: …"]) == [
        "nothing left this machine: 0 hosts contacted (method: strace)",
        "on this machine: 127.0.0.1:11434 (python)",
        "question: What is it? (grounded, 2.0 s)",
        "not seen: other programs",
        "Ollama: …",
    ]
    assert told(replace(QUIET, complete=False))[0].startswith("nothing was seen to leave this machine: 0 hosts")


def test_every_host_is_listed():
    away = (
        Contact("192.0.2.1", 443, "elsewhere", "curl"),
        Contact("2001:db8::1", 443, "elsewhere", "curl"),
        Contact("example.org\x1b[2J", None, "name look-up", "socket.getaddrinfo by python"),
    )
    found = replace(QUIET, contacts=away)
    assert found.code == 1
    assert told(found)[:4] == [
        "2 hosts contacted or tried, 1 name looked up (method: strace)",
        "  CONTACTED OR TRIED 192.0.2.1:443 (curl)",
        "  CONTACTED OR TRIED [2001:db8::1]:443 (curl)",
        "  LOOKED UP example.org (socket.getaddrinfo by python)",
    ]


def test_a_question_that_failed_proves_nothing():
    failed = replace(QUIET, answer_status="", exit_code=1)
    assert failed.code == 1
    assert told(failed)[0] == (
        "nothing is proven: 0 hosts contacted, but the question was not answered (exit code 1) (method: strace)"
    )
    assert "it was ended" in told(replace(failed, exit_code=-9))[0]


# --- the question -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("converted")
def test_without_an_index_a_question_is_asked_of_the_demo(said, home):
    found = said.json("doctor --network --engine extractive")
    assert found["ok"] is True
    assert found["recording"]["contacts"] == []
    assert found["recording"]["answer_status"] == "grounded"
    assert json.loads(found["recording"]["stdout"])["engine"] == "extractive"
    assert not (home / "data" / "indexes").exists()


def test_an_index_that_was_named_must_be_there():
    with pytest.raises(IndexMissing):
        record_question(Settings.load(index="none", engine="extractive"), "", Silent())


def test_what_is_known_of_ollama(ollama):
    assert ollama_lines(Settings.load(engine="extractive")) == ["Ollama: not used, the engine is extractive"]
    ollama.cloud = {"disabled": False, "source": ""}
    first, *rest = ollama_lines(Settings.load())
    assert first.startswith(f"Ollama at {ollama.host}: Ollama itself may call ollama.com")
    assert all(any(system in line for line in rest) for system in ("Linux", "macOS", "Windows"))
    ollama.cloud = {"disabled": True, "source": "env"}
    switched_off = f"Ollama at {ollama.host}: switched off (env): Ollama contacts no other machine"
    assert ollama_lines(Settings.load()) == [switched_off]
    ollama.close()
    assert "is not known" in ollama_lines(Settings.load())[0]
