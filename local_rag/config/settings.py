"""Merge settings: defaults < config.yaml < environment < flags, and keep the origin of each value."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Unpack

from platformdirs import PlatformDirs
from pydantic import BaseModel, ValidationError

from local_rag.config.server_index import IndexAddress, ServerIndex, is_server, redacted
from local_rag.config.values import Flags, Values
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import ConfigError, UsageError, mistake_of

_DIRS = PlatformDirs("local-rag", appauthor=False)
ENVIRONMENT = "LOCAL_RAG_"
CONFIG_DIR, DATA_DIR, CACHE_DIR, MODELS, DEBUG = _OTHERS = tuple(
    ENVIRONMENT + name for name in ("CONFIG_DIR", "DATA_DIR", "CACHE_DIR", "MODELS", "DEBUG")
)
"""Environment variables that are no settings of config.yaml: folders, models.yaml, and tracebacks."""

NO_MATTER = ("runs.", "history.", "serve.", "api.", "device")
"""The prefixes of settings that change no answer."""
OLLAMA_HOST = "OLLAMA_HOST"
"""Ollama's own variable for the address of its server; every setting of this program is stronger."""


@dataclass(frozen=True)
class Settings:
    """Hold the settings in force, with `origin`: dotted name -> "default", a file, a variable or "flag".

    The contents of `cache_folder` can be made again and may be deleted at any time. `prompts` are texts by name that a
    program gives; they are stronger than those of prompts.yaml.
    """

    values: Values
    origin: Mapping[str, str]
    config_folder: Path
    data_folder: Path
    cache_folder: Path
    models: str | None = None
    prompts: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def load(cls, *, engine: str | None = None, **flags: Unpack[Flags]) -> Settings:
        """Read every layer of settings and return the settings in force.

        `flags` are dotted names with __ for the dot (limits__seconds=60); None means not given. `index` may be a list:
        the first index, and the indexes to search with it (`also`). If one layer names an index, the `also` of weaker
        layers is ignored. Raise ConfigError, which names the layer, for an unknown name or a value of the wrong kind.
        """
        given: dict[str, Any] = {"engine": engine, **flags}
        index, models = given.get("index"), given.pop("models", None)
        if isinstance(index, list | tuple):
            if not index:
                raise UsageError("name at least one index", hint="local-rag ask QUESTION --index notes --index mail")
            given |= {"index": index[0], "also": tuple(index[1:]) or None}
        config_folder = _folder(CONFIG_DIR, _DIRS.user_config_dir)
        cache_folder = _folder(CACHE_DIR, _DIRS.user_cache_dir)
        config = config_folder / "config.yaml"
        host = os.environ.get(OLLAMA_HOST, "").strip()
        merged: dict[str, Any] = {}
        origin = dict.fromkeys(names(), "default")
        for layer in (
            [("ollama.host", host, OLLAMA_HOST)] if host else [],
            _flat(read_yaml(config), str(config)) if config.exists() or config.is_symlink() else [],
            _environment(),
            [(flag.replace("__", "."), value, "flag") for flag, value in given.items() if value is not None],
        ):
            entries = list(layer)
            if any(name == "index" for name, *_ in entries):
                merged.pop("also", None)
                origin["also"] = "default"
            for name, value, where in entries:
                merged[name] = value
                origin[name] = where
        return cls(
            values=_validated(merged, origin),
            origin=origin,
            config_folder=config_folder,
            data_folder=data_folder(),
            cache_folder=cache_folder,
            models=models or os.environ.get(MODELS) or None,
        )

    @property
    def index_path(self) -> IndexAddress:
        """Return the address of the index."""
        return self.path_of(self.values.index)

    @property
    def index_folder(self) -> Path:
        """Return the folder of the index; raise UsageError for an index on a server."""
        index = self.index_path
        if isinstance(index, Path):
            return index
        raise UsageError(f"{index} is on a server, and a bundle carries a folder", hint="local-rag copy FROM TO")

    def path_of(self, index: str) -> IndexAddress:
        """Return the address of the index with this name, path or URL."""
        return index_path(index, self.data_folder, self.values.postgres.allow_hosts)

    @property
    def index_paths(self) -> dict[str, IndexAddress]:
        """Return the addresses of all indexes to search, each once, by name or else by path or URL."""
        folders: dict[str, IndexAddress] = {}
        for index in (self.values.index, *self.values.also):
            folder = self.path_of(index)
            if not any(is_same(folder, known) for known in folders.values()):
                folders[name_of(folder, self.data_folder)] = folder
        return folders

    @property
    def folders(self) -> list[str]:
        """Return the full names of all indexes to search, as runs and chats store them."""
        return [*map(full_name, self.index_paths.values())]

    def keeps_from_the_web(self, folder: str) -> bool:
        """Return whether `web.never` names the index in a folder; for an unknown folder (""), whether it names any."""
        never = [self.path_of(name) for name in self.values.web.never]
        return any(not folder or is_same(self.path_of(folder), kept) for kept in never)

    def how_to_set(self, name: str, value: str) -> str:
        """Return what to type or write to change a setting that is also an option, depending on its origin."""
        origin = self.origin[name]
        if origin in ("default", "flag"):  # only a program names an evaluator
            return f"evaluator={value!r}" if name == "evaluator" else f"local-rag … --{name} {value}"
        return f"export {origin}={value}" if origin == variable(name) else f"write {name}: {value} in {origin}"

    def how_to_unset(self, name: str) -> str:
        """Return what to do so that a file or a variable no longer sets a setting."""
        origin = self.origin[name]
        return f"unset {origin}" if origin == variable(name) else f"take {name} out of {origin}"

    def get(self, name: str) -> Any:
        """Return the value of a dotted name."""
        return attrgetter(name)(self.values)  # interned, so that names do not fill Python's cache


def data_folder() -> Path:
    """Return the folder of indexes, chats and runs; raise ConfigError if the variable names no folder."""
    return _folder(DATA_DIR, _DIRS.user_data_dir)


def index_path(index: str, data_folder: Path, allow_hosts: Collection[str] = ()) -> IndexAddress:
    """Return the address of the index with this name, path or URL; raise UsageError if it is none of these."""
    if is_server(index):
        return ServerIndex.of(index, allow_hosts)
    if "/" in index or os.sep in index or index.startswith((".", "~")):
        return Path(index).expanduser().resolve()
    if not all(character.isalnum() or character in "-_." for character in index):
        raise UsageError(
            f"an index is a name of letters, digits, '-', '_' and '.', or a path: {index!r} is neither",
            hint=f"a path begins as './{index}' does" if index.isprintable() else "a name such as notes",
        )
    return data_folder / "indexes" / index


def name_of(index: IndexAddress, data_folder: Path) -> str:
    """Return the shortest unique name of an index: its name in the data folder, else its path or URL."""
    inside = isinstance(index, Path) and index.parent == data_folder / "indexes"
    return index.name if inside else str(index)


def full_name(index: IndexAddress) -> str:
    """Return the URL of an index, or its path with links resolved, as runs and chats store it."""
    return str(index.resolve() if isinstance(index, Path) else index)


def is_same(first: IndexAddress, second: IndexAddress) -> bool:
    """Return whether two addresses are those of one index."""
    if isinstance(first, Path) and isinstance(second, Path) and first.exists() and second.exists():
        return first.samefile(second)
    return full_name(first) == full_name(second)


def _folder(variable: str, usual: str) -> Path:
    """Return the folder that a variable names; ~ is the home folder as in a shell, even if it was quoted there."""
    try:
        return Path(os.environ.get(variable) or usual).expanduser().absolute()
    except RuntimeError as error:  # ~name of nobody
        raise ConfigError(
            f"{variable}: there is no home folder of that name", hint=f"name a folder: {variable}=/path/of/a/folder"
        ) from error


@cache
def names(section: type[BaseModel] = Values, prefix: str = "") -> Mapping[str, str]:
    """Return the description of every setting by dotted name."""
    described: dict[str, str] = {}
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            described |= names(kind, f"{prefix}{name}.")
        else:
            described[prefix + name] = field.description or ""
    return described


def variable(name: str) -> str:
    """Return the environment variable of a dotted name."""
    return ENVIRONMENT + name.upper().replace(".", "_")


def _flat(data: Mapping[str, Any], where: str, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield (dotted name, value, file) for every value in a file."""
    sections = {name.rpartition(".")[0] for name in names()}
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, where, f"{prefix}{key}.")
        elif value is not None or f"{prefix}{key}" not in sections:  # such a section has only commented lines
            yield f"{prefix}{key}", value, where


def _environment() -> Iterator[tuple[str, Any, str]]:
    """Yield (dotted name, value, variable) for every variable that is set; raise ConfigError for an unknown one."""
    variables = {variable(name): name for name in names()}
    for given in sorted(os.environ):
        if given in variables and os.environ[given]:
            yield variables[given], os.environ[given], given
        elif given.startswith(ENVIRONMENT) and given not in (*variables, *_OTHERS):
            hint = _nearest(given, [*variables, *_OTHERS]) or f"unset {given}"
            raise ConfigError(f"there is no setting for the variable {given}", hint=hint)


def _nearest(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else ""


def _validated(merged: Mapping[str, Any], origin: Mapping[str, str]) -> Values:
    known = names()
    tree: dict[str, Any] = {}
    for name, value in merged.items():
        for each in [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else ():
            if is_server(str(each)):
                ServerIndex.of(str(each))  # refuses a URL with a password
        if name not in known:
            hint = _nearest(name, known) or f"the settings are {', '.join(known)}"
            raise ConfigError(f"{origin[name]}: there is no setting '{name}'", hint=hint)
        section, _, leaf = name.rpartition(".")
        (tree.setdefault(section, {}) if section else tree)[leaf] = value
    try:
        return Values.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise ConfigError(
            redacted(f"{name} = {first['input']!r} ({origin.get(name, '?')}): {mistake_of(first)}"),
            hint=f"{name}: {known[name]}" if name in known else "local-rag config show lists every setting",
        ) from error
