"""Read a person's YAML file after checking that it is a small regular file with a mapping of names to values."""

from __future__ import annotations

import shlex
import stat
from pathlib import Path
from typing import Any

import yaml

from local_rag.core.errors import ConfigError, ConfigUnreadable, reason_of

LARGEST_FILE = 1_000_000
"""The maximum size of a config.yaml, models.yaml or prompts.yaml in bytes."""

DEEPEST = 50
"""The maximum number of nested levels; models.yaml has five."""

_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml if it is installed: it reads models.yaml in 1 ms instead of 11."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, empty for an empty file.

    Raise ConfigError with the line of a mistake, or ConfigUnreadable for a file that cannot be read.
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
    except (ValueError, RecursionError) as error:  # a number or a nesting that is too large
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
    """Raise ValueError for deep nesting and for aliases.

    libyaml recurses per level until the stack overflows, and twenty lines of nested aliases expand to billions of
    values.
    """
    depth = 0
    for event in yaml.parse(text, _YAML):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"it has the alias *{event.anchor}: write its value out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
