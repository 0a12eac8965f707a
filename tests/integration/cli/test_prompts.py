"""Test `local-rag prompts`: the texts in force, and the check of a person's own texts."""

from __future__ import annotations

import pytest
import yaml

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


def test_show_names_each_text_with_its_origin(file, said):
    file.write_text("rewriter: Write a query.\n")
    shown = {prompt["name"]: prompt for prompt in said.json("prompts show")}
    assert list(shown) == list(TEXTS)
    assert (shown["rewriter"]["origin"], shown["rewriter"]["text"]) == (str(file), "Write a query.")
    assert shown["generator"]["origin"] == "local-rag" and shown["generator"]["required"] == ["shape"]
    assert "Write a query." in said("prompts show rewriter")
    assert "there is no prompt 'nothing'" in said("prompts show nothing", 2)


def test_what_show_writes_by_default_is_a_file_that_can_be_used(file, said):
    file.write_text(said.out("prompts show --default"))
    assert yaml.safe_load(file.read_text()) == {name: text.text for name, text in TEXTS.items()}
    out = said("prompts check generator")
    assert "Task: Answer the question in at most 3 sentences" in out and "can be used, with 0 texts of your own." in out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("generator: Answer.\nrewriterr: x\n", ("generator lacks {shape}", "did you mean rewriter?")),
        ("rewriter: [", ("is not YAML in line 2", "hint: cat -n ")),
        ("generator: [1, 2]", ("local-rag prompts show generator --default",)),
    ],
)
def test_check_names_every_mistake(file, said, text, told):
    file.write_text(text)
    shown = said("prompts check", 2)
    assert all(each in shown for each in told)


def test_a_broken_file_is_refused_with_every_engine(file):
    file.write_text("generator: Answer.")
    with pytest.raises(ConfigError, match="generator lacks"):
        Rag.open(engine="extractive")


def test_check_asks_no_model_and_without_a_file_says_how_to_begin(file, said):
    file.parent.rmdir()
    shown = "".join(said("prompts check rewriter").splitlines())
    assert f"-> mkdir -p {file.parent} && local-rag prompts show --default > {file}" in shown
    file.parent.mkdir()
    file.write_text("rewriter: Write a query for a librarian.\n")
    assert said.json("prompts check")["own"] == ["rewriter"]
