"""Test that what is hidden or set for one import is restored afterwards."""

import os
import sys

import pytest

from local_rag.core import process


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
