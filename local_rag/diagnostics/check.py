"""The finding of one check, and a check that fails itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from local_rag.core.errors import LocalRagError

CheckState = Literal["ok", "note", "bad"]


@dataclass(frozen=True)
class Check:
    """What was checked, and what came out. `fix` holds a command per line, empty where all is well."""

    name: str
    state: CheckState
    found: str
    fix: str = ""


SET_UP = "python3 scripts/quickstart.py"


def guarded(name: str, check: Callable[..., Iterable[Check]], *arguments: object) -> Iterator[Check]:
    """What a check finds; one that fails itself is a finding, and does not hide the others."""
    try:
        yield from check(*arguments)
    except LocalRagError as error:
        yield Check(name, "bad", str(error), error.hint)
    except Exception as error:
        yield Check(name, "bad", f"{type(error).__name__}: {error}", SET_UP)
