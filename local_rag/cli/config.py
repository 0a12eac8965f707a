"""`local-rag config`: the settings in force."""

from __future__ import annotations

import typer

from local_rag.cli.options import IndexOption, JsonOption, settings_of

config_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show the settings in force.")


@config_app.command("show")
def config_show(index: IndexOption = None, json: JsonOption = False) -> int:
    """Show every setting, its value, and where the value comes from."""
    from local_rag.config.settings import names, variable
    from local_rag.terminal.console import write_result
    from local_rag.terminal.settings_table import settings_table, sources_of_settings

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
    write_result(rows, (settings_table(rows), "", sources_of_settings(settings)), as_json=json)
    return 0
