"""A YAML file of a person, read with distrust: regular, small, a mapping of names to values."""

from __future__ import annotations

import shlex
import stat
from pathlib import Path
from typing import Any

import yaml

from local_rag.core.errors import ConfigError, ConfigUnreadable, reason_of

LARGEST_FILE = 1_000_000
"""Bytes of a config.yaml, models.yaml or prompts.yaml; a larger one is none."""

DEEPEST = 50
"""Levels of nesting; models.yaml has five."""

_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, where it is installed: models.yaml takes 1 ms instead of 11."""


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file, empty for an empty file.

    Raises ConfigError with the line of a mistake, ConfigUnreadable for what is no file that can be read.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
            what = "has more than 1 MB" if stat.S_ISREG(status.st_mode) else "is not a regular file"
            raise ConfigUnreadable(f"cannot read {path}: it {what}", hint=f"ls -l {shlex.quote(str(path))}")
        text = path.read_text(encoding="utf-8")
        _check_shape(text)
        data = yaml.load(text, _YAML)
    except FileNotFoundError as error:
        raise ConfigError(
            f"cannot read {path}: {reason_of(error)}", hint=f"ls {shlex.quote(str(path.parent))}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigUnreadable(
            f"cannot read {path}: {reason_of(error)}", hint=f"ls -l {shlex.quote(str(path))}"
        ) from error
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond what is read
        raise ConfigError(f"cannot read {path}: {error}", hint=_look(path)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{path} is not YAML{line}: {getattr(error, 'problem', error)}", hint=_look(path)) from error
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ConfigError(f"{path} must hold 'name: value' lines, not {type(data).__name__}", hint=_look(path))
    return data


def _look(path: Path) -> str:
    return f"cat -n {shlex.quote(str(path))}"


def _check_shape(text: str) -> None:
    """Raises ValueError for a nesting that no settings have, and for aliases.

    libyaml goes down with each level until the stack ends; twenty lines of aliases of aliases are billions of values.
    """
    depth = 0
    for event in yaml.parse(text, _YAML):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"it has the alias *{event.anchor}: write its value out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
