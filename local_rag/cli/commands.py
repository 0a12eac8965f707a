"""The commands of the program by name; a command's module is imported when that command is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperGroup

NAMES = (
    *("index", "ask", "chat", "search", "status", "files", "remove", "kept", "calibrate", "doctor", "graph", "demo"),
    *("serve", "threads", "runs", "models", "prompts", "eval", "bundle", "config"),
)
"""In the order of --help. The module of that name holds a function of that name, or a group NAME_app."""


class Commands(TyperGroup):
    """The group of all commands: starting one of them does not import the others."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = cast(Any, _Loaded())  # nothing adds a command to it


class _Loaded(Mapping[str, Any]):
    """Name -> command, made when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in NAMES:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = _command(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


def _command(name: str) -> Any:
    module = import_module(f"local_rag.cli.{name}")
    group = getattr(module, f"{name}_app", None)
    if group is not None:
        command: Any = typer.main.get_group(group)
    else:
        alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        alone.command()(getattr(module, name))
        command = typer.main.get_command(alone)
    command.name = name
    return command
