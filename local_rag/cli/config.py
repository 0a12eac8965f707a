"""`local-rag config`: the settings in force."""

from __future__ import annotations

from typing import Any

import typer

from local_rag.cli.options import IndexOption, JsonOption, settings_of

config_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show the settings in force.")


@config_app.command("show")
def config_show(index: IndexOption = None, json: JsonOption = False) -> int:
    """Show every setting, its value, and where the value comes from."""
    from local_rag.config.settings import names, variable
    from local_rag.terminal.show import place_lines, table_lines, write, write_json

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
    if json:
        write_json(rows)
        return 0
    for line in table_lines(("setting", "value", "from", "meaning"), [list(map(str, _shown(row))) for row in rows]):
        write(line)
    write()
    for line in place_lines(settings):
        write(line)
    return 0


def _shown(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["name"], row["value"], row["origin"], row["meaning"]
