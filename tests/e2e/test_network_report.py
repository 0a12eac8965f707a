"""`doctor --network` of the demo: a question in a process of its own, watched."""

from __future__ import annotations

import json

import pytest

from local_rag.cli.app import run

pytestmark = pytest.mark.usefixtures("converted")


def test_without_an_index_a_question_is_asked_of_the_demo(capsys, home):
    assert run(["doctor", "--network", "--engine", "extractive", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is True
    assert said["recording"]["contacts"] == []
    assert said["recording"]["answer_status"] == "grounded"
    assert json.loads(said["recording"]["stdout"])["engine"] == "extractive"
    assert not (home / "data" / "indexes").exists()
