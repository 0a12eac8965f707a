"""Test `local-rag prompts`: the texts in force, and mistakes in a person's own."""

import pytest
import yaml

from local_rag.config.settings import Settings
from local_rag.engines.language_model.prompt_texts import TEXTS
from local_rag.runtime.engine_choice import prompt_file


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
    file.write_text("rewriter: [")
    assert said.error("prompts show")[1].startswith("hint: cat -n ")


def test_what_show_writes_by_default_is_a_file_that_can_be_used(file, said):
    file.write_text(said.out("prompts show --default"))
    assert yaml.safe_load(file.read_text()) == {name: text.text for name, text in TEXTS.items()}
