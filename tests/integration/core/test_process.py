"""What a process of our own leaves out, and that what is hidden or set for one import comes back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from local_rag.core import process


def python(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_langgraph_comes_without_langsmiths_models_and_they_can_be_had_afterwards():
    said = python("""
import sys
from local_rag.core import process
process.import_lean("local_rag.graphs", without=process.LANGSMITH_MODELS)
import langgraph.graph
print(sum(name.startswith("langsmith.types.") for name in sys.modules) < 10, "langsmith.types" in sys.modules)
from langsmith import types
print(len(dir(types)) > 50)
""")
    assert said.split() == ["True", "False", "True"]


def test_a_module_that_is_there_or_that_nobody_has_is_left_alone():
    before = sys.modules["json"]
    with process.hollow("json"):
        assert sys.modules["json"] is before
    with process.hollow("no_such_package_at_all"):
        assert "no_such_package_at_all" not in sys.modules
    assert sys.modules["json"] is before


def test_one_that_was_imported_meanwhile_stays():
    assert "xml.sax.expatreader" not in sys.modules or sys.modules.pop("xml.sax.expatreader")
    with process.hollow("xml.sax.expatreader"):
        sys.modules["xml.sax.expatreader"] = mine = type(sys)("mine")
    assert sys.modules.pop("xml.sax.expatreader") is mine


def test_a_hidden_module_cannot_be_imported_until_it_is_there_again(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with process.hidden("colorsys"), pytest.raises(ImportError):
        import colorsys
    import colorsys

    with process.hidden("colorsys"):
        assert sys.modules["colorsys"] is colorsys, "what somebody has imported already stays"


def test_variables_are_as_before_after_an_import(monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "models.test")
    monkeypatch.delenv("NO_PROXY", raising=False)
    before = dict(os.environ)
    with pytest.raises(ZeroDivisionError), process.environment({"OLLAMA_HOST": "127.0.0.1", "NO_PROXY": "*"}):
        assert (os.environ["OLLAMA_HOST"], os.environ["NO_PROXY"]) == ("127.0.0.1", "*")
        raise ZeroDivisionError
    assert dict(os.environ) == before
