"""Test the probe of a port, which needs no client library."""

import socket
import subprocess
import sys

import pytest

from local_rag.core.address import address, probe
from local_rag.core.errors import ServerDown


def python(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_port_that_nobody_listens_on_is_known_before_any_client_is_imported():
    said = python("""
import sys
from local_rag.core.address import address, probe
try:
    probe(address("127.0.0.1:1"))
except Exception as error:
    print(error)
print(sorted(set(sys.modules) & {"httpx", "ollama", "langchain_core"}))
""")
    assert said.splitlines() == ["no Ollama server answers at 127.0.0.1:1", "[]"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_that_somebody_listens_on_is_left_to_the_client(host):
    with socket.create_server(("127.0.0.1", 0)) as server:
        probe(address(f"{host}:{server.getsockname()[1]}"))


def test_nothing_is_probed_but_this_machine():
    probe(address("203.0.113.7:11434"))


def test_localhost_is_down_if_both_families_refuse():
    with pytest.raises(ServerDown, match="localhost:1"):
        probe(address("localhost:1"))
