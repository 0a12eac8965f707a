"""The settings in force, and where they, models and indexes are read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text

from local_rag.config.calibrated import calibrated
from local_rag.config.settings import CONFIG_DIR, DATA_DIR, MODELS, Settings
from local_rag.runtime.engine_choice import prompt_file
from local_rag.terminal.console import PlainTable
from local_rag.text.display import joined, short_path


def settings_table(settings: Iterable[Mapping[str, Any]]) -> PlainTable:
    """Each setting with its value, the origin of that, and its meaning; what is not the default stands out."""
    table = PlainTable("setting", "value", "from", "meaning")
    for setting in settings:
        style = "" if setting["origin"] == "default" else "cyan"
        name, value, origin = (Text(str(setting[key]), style) for key in ("name", "value", "origin"))
        table.add_row(name, value, origin, Text(setting["meaning"], "dim"))
    return table


def sources_of_settings(settings: Settings) -> PlainTable:
    """The files and folders that are read, each with the variable that names another."""
    config = settings.config_folder / "config.yaml"
    prompts = prompt_file(settings)
    rows = [
        ("config file:", f"{short_path(config)}{'' if config.exists() else ' (there is none)'}", CONFIG_DIR),
        ("models file:", str(settings.models or "the packaged one"), MODELS),
        ("prompts file:", f"{short_path(prompts)}{'' if prompts.exists() else ' (there is none)'}", CONFIG_DIR),
        ("indexes:", short_path(settings.data_folder / "indexes"), DATA_DIR),
    ]
    table = PlainTable(gap=1)
    for name, value, variable in rows:
        table.add_row(Text(name, "dim"), Text.assemble(value, (f"  [{variable}]", "dim")))
    for fingerprint, thresholds in calibrated(settings).items():
        pairs = (("relevance", thresholds.relevance), ("answer", thresholds.answer))
        values = joined(f"thresholds.{name} {value:.2f}" for name, value in pairs if value is not None)
        table.add_row(Text("calibrated:", "dim"), f"{values or 'nothing'}, where not set above, for {fingerprint}")
    return table
