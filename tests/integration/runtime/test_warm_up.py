"""What is left out of a start is missed by nobody."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from local_rag.core.errors import ServerDown
from local_rag.engines.ollama.address import address, probe
from local_rag.runtime import warm_up


def python(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_langgraph_comes_without_langsmiths_models_and_they_can_be_had_afterwards():
    said = python("""
import sys
from local_rag.runtime.warm_up import import_langgraph
import_langgraph()
import langgraph.graph
print(sum(name.startswith("langsmith.types.") for name in sys.modules) < 10, "langsmith.types" in sys.modules)
from langsmith import types
print(len(dir(types)) > 50)
""")
    assert said.split() == ["True", "False", "True"]


def test_a_module_that_is_there_or_that_nobody_has_is_left_alone():
    before = sys.modules["json"]
    with warm_up.hollow("json"):
        assert sys.modules["json"] is before
    with warm_up.hollow("no_such_package_at_all"):
        assert "no_such_package_at_all" not in sys.modules
    assert sys.modules["json"] is before


def test_one_that_was_imported_meanwhile_stays():
    assert "xml.sax.expatreader" not in sys.modules or sys.modules.pop("xml.sax.expatreader")
    with warm_up.hollow("xml.sax.expatreader"):
        sys.modules["xml.sax.expatreader"] = mine = type(sys)("mine")
    assert sys.modules.pop("xml.sax.expatreader") is mine


def test_a_port_that_nobody_listens_on_is_known_before_any_client_is_imported():
    said = python("""
import sys
from local_rag.engines.ollama.address import address, probe
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


def test_nothing_is_knocked_at_but_this_machine():
    probe(address("203.0.113.7:11434"))


def test_localhost_is_down_if_both_families_refuse():
    with pytest.raises(ServerDown, match="localhost:1"):
        probe(address("localhost:1"))
