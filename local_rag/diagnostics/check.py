"""Define the result of a check, and turn the failure of a check into a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from local_rag.core.errors import LocalRagError

CheckState = Literal["ok", "note", "bad"]


@dataclass(frozen=True)
class Check:
    """Hold the result of a check; `fix` has a command per line, and is empty if nothing is wrong.

    `action` names what the page does in place of it: index a `folder`, or look for changes (`sync`).
    """

    name: str
    state: CheckState
    found: str
    fix: str = ""
    action: str = ""


SET_UP = "python3 scripts/quickstart.py"


def guarded(name: str, check: Callable[..., Iterable[Check]], *arguments: object) -> Iterator[Check]:
    """Yield the results of a check; if the check itself fails, yield that as a result, so that others still run."""
    try:
        yield from check(*arguments)
    except LocalRagError as error:
        yield Check(name, "bad", str(error), error.hint)
    except Exception as error:
        yield Check(name, "bad", f"{type(error).__name__}: {error}", SET_UP)
