"""The finding of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "bad"]


@dataclass(frozen=True)
class Check:
    """What was checked, and what came out. `fix` holds a command per line, empty where all is well."""

    name: str
    state: State
    found: str
    fix: str = ""
