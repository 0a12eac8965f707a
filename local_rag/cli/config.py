"""Implement `local-rag config`, which shows the settings, and `local-rag graph`, which draws a graph under them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from local_rag.cli.options import IndexOption, JsonOption, argument, option, settings_of, stderr_display, write_result

config_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show the settings in force.")

SEARCH_NODES = {"crag": "web_search_node", "adaptive": "web_search"}
"""The node of each graph that searches the web, or the settings' replacement for the web."""


@config_app.command("show")
def config_show(index: IndexOption = None, json: JsonOption = False) -> int:
    """Show every setting, its value and its origin."""
    from rich.text import Text

    from local_rag.config.calibrated import calibrated
    from local_rag.config.settings import CONFIG_DIR, DATA_DIR, MODELS, names, variable
    from local_rag.runtime.engine_choice import prompt_file
    from local_rag.terminal.console import PlainTable
    from local_rag.text.display import joined, short_path

    def shown(path: Path) -> str:
        return f"{short_path(path)}{'' if path.exists() else ' (there is none)'}"

    settings = settings_of(index)
    rows = [
        {
            "name": name,
            "value": settings.get(name),
            "origin": settings.origin[name],
            "variable": variable(name),
            "meaning": meaning,
        }
        for name, meaning in names().items()
    ]
    table = PlainTable("setting", "value", "from", "meaning")
    for row in rows:
        style = "" if row["origin"] == "default" else "cyan"
        cells = (Text(str(row[key]), style) for key in ("name", "value", "origin"))
        table.add_row(*cells, Text(row["meaning"], "dim"))
    sources = PlainTable(gap=1)
    for name, value, to_set in (
        ("config file:", shown(settings.config_folder / "config.yaml"), CONFIG_DIR),
        ("models file:", str(settings.models or "the packaged one"), MODELS),
        ("prompts file:", shown(prompt_file(settings)), CONFIG_DIR),
        ("indexes:", short_path(settings.data_folder / "indexes"), DATA_DIR),
    ):
        sources.add_row(Text(name, "dim"), Text.assemble(value, (f"  [{to_set}]", "dim")))
    for fingerprint, thresholds in calibrated(settings).items():
        pairs = (("relevance", thresholds.relevance), ("answer", thresholds.answer))
        values = joined(f"thresholds.{name} {value:.2f}" for name, value in pairs if value is not None)
        sources.add_row(Text("calibrated:", "dim"), f"{values or 'nothing'}, where not set above, for {fingerprint}")
    write_result(rows, (table, "", sources), as_json=json)
    return 0


def graph(
    name: Annotated[str, argument("GRAPH", "plain, self-rag, crag or adaptive.")],
    mermaid: Annotated[bool, option("--mermaid", "Print Mermaid text, also in a terminal.")] = False,
) -> int:
    """Draw a graph as the settings wire it.

    The drawing is ASCII in a terminal and Mermaid in a pipe.
    """
    from local_rag.graphs.deps import Options
    from local_rag.graphs.drawing import drawing
    from local_rag.terminal.console import stdout

    settings = settings_of()
    options = Options.of(settings.values)
    drawn = drawing(name, options)
    shown = drawn.ascii() if sys.stdout.isatty() and not mermaid else drawn.mermaid()
    stdout().print(shown, soft_wrap=True)
    if settings.values.web.source and name in SEARCH_NODES:
        stderr_display().say(f"{SEARCH_NODES[name]} searches {settings.values.web.source} in place of the web")
    return 0
