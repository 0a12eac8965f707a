"""The prompts in force: ours, those of prompts.yaml in the config folder, and those that a program gives."""

from __future__ import annotations

from pathlib import Path

from local_rag.config.settings import Settings
from local_rag.config.yaml_file import read_yaml
from local_rag.engines.language_model.prompt_texts import PromptTexts, of_person

FILE = "prompts.yaml"
ARGUMENT = "prompts"
"""Where a text comes from that a program gives to `Rag.open`."""


def prompt_file(settings: Settings) -> Path:
    """Where a person's own texts lie, whether or not there are any."""
    return settings.config_folder / FILE


def prompt_texts(settings: Settings) -> PromptTexts:
    """The texts in force.

    Raises ConfigError for a file that is not YAML, an unknown name and a text that cannot stand in a prompt,
    ConfigUnreadable for what is no file that can be read.
    """
    path = prompt_file(settings)
    kept = of_person(read_yaml(path), str(path)) if path.exists() or path.is_symlink() else PromptTexts()
    given = of_person(settings.prompts, ARGUMENT)
    return PromptTexts({**kept.own, **given.own}, {**kept.origin, **given.origin})
