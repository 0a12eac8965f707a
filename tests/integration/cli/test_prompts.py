"""`local-rag prompts`: the texts in force, and whether those of a person can be used."""

from __future__ import annotations

import json

import pytest
import yaml

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.core.errors import ConfigError
from local_rag.engines.language_model.prompt_texts import TEXTS
from local_rag.runtime.engine_choice import prompt_file
from local_rag.runtime.rag import Rag


@pytest.fixture
def file():
    path = prompt_file(Settings.load())
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_show_names_each_text_with_its_origin(file, capsys):
    file.write_text("rewriter: Write a query.\n")
    assert run(["prompts", "show", "--json"]) == 0
    shown = {prompt["name"]: prompt for prompt in json.loads(capsys.readouterr().out)}
    assert list(shown) == list(TEXTS)
    assert (shown["rewriter"]["origin"], shown["rewriter"]["text"]) == (str(file), "Write a query.")
    assert shown["generator"]["origin"] == "local-rag" and shown["generator"]["required"] == ["shape"]
    assert run(["prompts", "show", "rewriter"]) == 0
    assert "Write a query." in capsys.readouterr().out
    assert run(["prompts", "show", "nothing"]) == 2
    assert "there is no prompt 'nothing'" in capsys.readouterr().err


def test_what_show_writes_by_default_is_a_file_that_can_be_used(file, capsys):
    assert run(["prompts", "show", "--default"]) == 0
    file.write_text(capsys.readouterr().out)
    assert yaml.safe_load(file.read_text()) == {name: text.text for name, text in TEXTS.items()}
    assert run(["prompts", "check", "generator"]) == 0
    out = capsys.readouterr().out
    assert "Task: Answer the question in at most 3 sentences" in out and "can be used, with 0 texts of your own." in out


def test_check_names_every_mistake(file, capsys):
    file.write_text("generator: Answer.\nrewriterr: x\nrewriter: Write a query.\n")
    assert run(["prompts", "check"]) == 2
    out = capsys.readouterr().out
    assert "generator lacks {shape}" in out and "did you mean rewriter?" in out
    assert "--- rewriter\n" in out and "--- judge" not in out
    file.write_text("rewriter: [")
    assert run(["prompts", "check"]) == 2
    shown = capsys.readouterr().err
    assert "is not YAML in line 2" in shown and f"hint: cat -n {file}" in shown
    file.write_text("generator: [1, 2]")
    assert run(["prompts", "check"]) == 2
    assert "local-rag prompts show generator --default" in capsys.readouterr().out
    assert run(["prompts", "show", "generator", "--default"]) == 0


def test_a_broken_file_is_refused_with_every_engine(file):
    file.write_text("generator: Answer.")
    with pytest.raises(ConfigError, match="generator lacks"):
        Rag.open(engine="extractive")


def test_check_asks_no_model(file, capsys):
    file.write_text("rewriter: Write a query for a librarian.\n")
    assert run(["prompts", "check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["own"] == ["rewriter"]


def test_without_a_file_check_says_how_to_begin(capsys):
    assert run(["prompts", "check", "rewriter"]) == 0
    file = prompt_file(Settings.load())
    assert f"-> mkdir -p {file.parent} && local-rag prompts show --default > {file}" in "".join(
        capsys.readouterr().out.splitlines()
    )
