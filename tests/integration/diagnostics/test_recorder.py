"""`doctor --network`: what each recorder sees of real processes, what it makes of lines, and how that is told.

Only the children below try an address of TEST-NET (RFC 5737), and wait for nothing; this process opens no socket but
its servers on loopback.
"""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import replace

import pytest
from support.screen import shown

from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMissing
from local_rag.core.progress import Silent
from local_rag.diagnostics.recorder import daemon, record, record_question, settings_args, strongest
from local_rag.diagnostics.recorder.contacts import Contact, Recording, contact, is_loopback, lookup
from local_rag.diagnostics.recorder.methods import audited, usable, watch
from local_rag.terminal.doctor import recording_parts

LONG = 60


class Display(Silent):
    """Keeps the lines that it is told."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


def recording_lines(recording, ollama=()):
    return shown(*recording_parts(recording, ollama))


@pytest.fixture(scope="session")
def works():
    """Method -> whether it can be used here, tried once."""
    return {method: usable(method) for method in ("strace", "namespace", "audit")}


@pytest.fixture(params=["strace", "namespace", "audit"])
def method(request, works):
    if not works[request.param]:
        pytest.skip(f"this machine allows no {request.param}")
    return request.param


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def hosts(found):
    return [(one.host, one.port, one.what) for one in found.contacts]


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "localhost", "a.LocalHost.", ""]
)
def test_this_machine(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "10.0.0.1", "fe80::1%eth0", "::ffff:192.0.2.1", "224.0.0.251", "localhost.example.org", "x"]
)
def test_elsewhere(host):
    assert not is_loopback(host)


def test_a_contact_is_written_as_one_would_type_it():
    assert str(contact("2001:db8::1", 443, "")) == "[2001:db8::1]:443"
    assert str(contact("192.0.2.1", 443, "")) == "192.0.2.1:443"
    assert str(lookup("example.org", "")) == "example.org"


# --- real processes -------------------------------------------------------------------------------------------------

HERE = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname()):
        print("port", server.getsockname()[1])
print("said", file=sys.stderr)
sys.exit(4)
"""

AWAY = """
import socket
with socket.socket() as one:
    one.setblocking(False)
    one.connect_ex(("192.0.2.1", 443))
"""

A_CHILD_DOES = f"""
import subprocess, sys
subprocess.run([sys.executable, "-I", "-S", "-c", {AWAY!r}], check=True)
"""


def test_every_method_sees_loopback_and_keeps_what_was_said(method):
    said = []
    found = watch(method, HERE, (), seconds=LONG, say=said.append)
    assert (found.exit_code, found.stderr, said) == (4, "said\n", ["said"])
    port = int(found.stdout.removeprefix("port "))
    assert hosts(found) == [("127.0.0.1", port, "loopback")]


def test_a_server_of_another_process_is_seen(method, listening):
    if method == "namespace":
        pytest.skip("the loopback of a namespace is its own")
    code = "import socket, sys; socket.create_connection(('localhost', int(sys.argv[1]))).close()"
    found = watch(method, code, [str(listening)], seconds=LONG)
    assert found.exit_code == 0, found.stderr
    assert ("127.0.0.1", listening, "loopback") in hosts(found)
    assert {one.what for one in found.contacts} == {"loopback"}, "localhost is no question for a name server"


def test_every_method_sees_a_try_at_another_host(method):
    found = watch(method, AWAY, (), seconds=LONG)
    assert hosts(found) == [("192.0.2.1", 443, "elsewhere")]
    if method == "namespace":
        assert found.contacts[0].failed == "no route"


def test_strace_sees_what_a_child_does_and_the_hook_says_that_it_does_not(works):
    if works["strace"]:
        found = watch("strace", A_CHILD_DOES, (), seconds=LONG)
        assert hosts(found) == [("192.0.2.1", 443, "elsewhere")]
        assert found.complete
    found = watch("audit", A_CHILD_DOES, (), seconds=LONG)
    assert (hosts(found), found.complete) == ([], False)
    assert "what these programs did, which were started: python" in found.blind


def test_the_hook_sees_names_that_are_looked_up():
    code = """
import socket
for name in ("192.0.2.7", "localhost", "example.invalid"):
    try:
        socket.getaddrinfo(name, 80, flags=socket.AI_NUMERICHOST)  # asks nobody
    except OSError:
        pass
"""
    found = watch("audit", code, (), seconds=LONG)
    assert hosts(found) == [("localhost", None, "loopback"), ("example.invalid", None, "name look-up")]


def test_the_hook_follows_a_fork():
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    code = f"import os\nif os.fork() == 0:\n    exec({AWAY!r})\n    os._exit(0)\nos.wait()"
    assert hosts(watch("audit", code, (), seconds=LONG)) == [("192.0.2.1", 443, "elsewhere")]


def test_a_compiled_client_that_was_loaded_is_named(tmp_path, monkeypatch):
    (tmp_path / "primp.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "(loaded: primp)" in watch("audit", "import primp", (), seconds=LONG).blind
    assert "(loaded: none)" in watch("audit", "pass", (), seconds=LONG).blind


def test_a_process_that_hangs_is_ended_with_its_children(method):
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    found = watch(method, code, (), seconds=1.0)
    assert found.exit_code < 0
    assert found.seconds < LONG
    if method != "strace":
        assert "it did not end, so which is not known" in found.blind


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [("raise SystemExit('why')", 1, "why\n"), ("raise SystemExit", 0, ""), ("1 / 0", 1, "ZeroDivisionError")],
)
def test_the_child_ends_as_python_does(code, exit_code, said):
    found = watch("audit", code, (), seconds=LONG)
    assert found.exit_code == exit_code
    assert said in found.stderr


def test_the_environment_is_the_callers_and_the_folder_it_stands_in_is_not_imported_from(monkeypatch, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
    code = "import os, sys; print(os.environ['HTTPS_PROXY'], sys.argv[1:])"
    assert watch("audit", code, ["a", "-b"], seconds=LONG).stdout == "http://proxy.test:3128 ['a', '-b']\n"


def test_no_tracer_on_the_path_is_no_method(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [usable(method) for method in ("strace", "namespace", "audit")] == [False, False, True]
    assert strongest() == "audit"


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_a_tracer_that_may_not_trace_is_no_method(monkeypatch, tmp_path):
    forbidden = tmp_path / "strace"
    forbidden.write_text("#!/bin/sh\necho 'strace: ptrace(PTRACE_TRACEME): Operation not permitted' >&2\nexit 1\n")
    forbidden.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not usable("strace")


def test_lines_of_the_hook_that_were_cut_off_or_are_none():
    lines = ['{"event": "socket.connect", "host": "192.0.2.1", "port": 443}', '{"event": "socket.conn', "", "[]"]
    found = audited(lines)
    assert found.contacts == (Contact("192.0.2.1", 443, "elsewhere", "socket.connect by python"),)
    assert found.loaded is None


# --- in words -------------------------------------------------------------------------------------------------------

QUIET = Recording(
    question="What is it?",
    method="strace of every process of ours",
    blind="other programs",
    complete=True,
    contacts=(contact("127.0.0.1", 11434, "connect by python"),),
    exit_code=0,
    seconds=2.04,
    answer_status="grounded",
    stdout="",
    stderr="",
)


def test_nothing_left():
    assert QUIET.code == 0
    assert recording_lines(QUIET, ["Ollama: …"]) == [
        "nothing left this machine: 0 hosts contacted (method: strace of every process of ours)",
        "on this machine: 127.0.0.1:11434 (connect by python)",
        "question: What is it? (grounded, 2.0 s)",
        "not seen: other programs",
        "Ollama: …",
    ]
    first, *_ = recording_lines(replace(QUIET, complete=False))
    assert first.startswith("nothing was seen to leave this machine: 0 hosts contacted")


def test_every_host_is_listed():
    away = (
        contact("192.0.2.1", 443, "connect by curl"),
        contact("2001:db8::1", 443, "connect by curl", "ENETUNREACH"),
        lookup("example.org\x1b[2J", "asked of the name server 192.0.2.53, by curl"),
    )
    found = replace(QUIET, contacts=away)
    assert found.code == 1
    assert recording_lines(found)[:4] == [
        "2 hosts contacted or tried, 1 name looked up (method: strace of every process of ours)",
        "  CONTACTED 192.0.2.1:443 (connect by curl)",
        "  TRIED [2001:db8::1]:443 (connect by curl; ENETUNREACH)",
        "  LOOKED UP example.org (asked of the name server 192.0.2.53, by curl)",
    ]


def test_a_question_that_failed_proves_nothing():
    failed = replace(QUIET, answer_status="", exit_code=1, stderr="error: no index\nhint: local-rag index FOLDER\n")
    assert failed.code == 1
    assert recording_lines(failed)[0] == (
        "nothing is proven: 0 hosts contacted, but the question was not answered (exit code 1: no index) "
        "(method: strace of every process of ours)"
    )
    assert "it was ended" in recording_lines(replace(failed, exit_code=-9))[0]


# --- the question ---------------------------------------------------------------------------------------------------


def test_flags_are_handed_on_and_nothing_else(monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_K", "7")
    assert settings_args(Settings.load()) == []
    settings = Settings.load(index="./-x", engine="extractive", model=None)
    assert settings_args(settings) == ["--index=./-x", "--engine=extractive"]


@pytest.mark.slow
def test_a_question_that_cannot_be_asked():
    display = Display()
    found = record(["--index=none"], "--what", display, method="audit")
    assert (found.exit_code, found.answer_status, found.contacts) == (1, "", ())
    assert "there is no index" in recording_lines(found)[0].casefold()
    assert "recording a question with Python's audit hook…" in display.lines


def test_an_index_that_was_named_must_be_there():
    with pytest.raises(IndexMissing):
        record_question(Settings.load(index="none", engine="extractive"), "", Silent())


def test_a_daemon_that_may_call_its_maker(ollama, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", ollama.host)
    ollama.cloud = {"disabled": False, "source": ""}
    found = daemon(Settings.load())
    assert found.used
    assert found.lines[0].startswith(f"Ollama at {ollama.host}: Ollama itself may call ollama.com")
    assert all(any(system in line for line in found.lines) for system in ("Linux", "macOS", "Windows"))
    ollama.cloud = {"disabled": True, "source": "env"}
    assert daemon(Settings.load()).lines == (
        f"Ollama at {ollama.host}: switched off (env): Ollama contacts no other machine",
    )


def test_a_daemon_that_is_not_there_or_not_wanted():
    found = daemon(Settings.load())
    assert not found.used
    assert "is not known" in found.lines[0]
    assert daemon(Settings.load(engine="ollama")).used
    assert daemon(Settings.load(engine="extractive")).lines == ("Ollama: not used, the engine is extractive",)
