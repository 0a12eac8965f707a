"""Test `local-rag prompts`: the texts in force, and mistakes in a person's own."""

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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("generator: Answer.", ("generator lacks {shape}",)),
        ("rewriterr: x", ("did you mean rewriter?",)),
        ("rewriter: [", ("is not YAML in line 2", "hint: cat -n ")),
        ("generator: [1, 2]", ("local-rag prompts show generator --default",)),
    ],
)
def test_show_names_a_mistake(file, said, text, told):
    file.write_text(text)
    shown = said("prompts show", 2)
    assert all(each in shown for each in told)


def test_a_broken_file_is_refused_with_every_engine(file):
    file.write_text("generator: Answer.")
    with pytest.raises(ConfigError, match="generator lacks"):
        Rag.open(engine="extractive")
