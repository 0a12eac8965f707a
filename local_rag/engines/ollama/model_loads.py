"""Is a model in memory? What `load_duration` says, how long a model stays, and which loads were not expected."""

from __future__ import annotations

import re
import time
from dataclasses import replace

from local_rag.core import cancel
from local_rag.core.usage import Call

LOADED = 0.25
"""Seconds of `load_duration` from which a model was loaded for a call.

Recorded for a model of 7 MB: 0.02 at most where it was in memory, 0.26 and more where it was not.
"""


class Loads:
    """The loads of one server's models, as seen from here. The figures are per model, by name."""

    def __init__(self, keep_alive: str) -> None:
        self._stay = lasting(keep_alive)
        self._used: dict[str, float] = {}
        self._preloaded: list[Call] = []

    def stayed(self, model: str, moment: float) -> bool:
        """Whether a model that was used here should still have been in memory at a time of the monotonic clock."""
        before = self._used.get(model)
        return before is not None and moment - before < self._stay

    def counted(self, call: Call) -> tuple[Call, str]:
        """The call with `loaded`, and a note where a model was loaded that should have been in memory.

        The time of loading is given back to the question: it is no part of answering.
        """
        now = time.monotonic()
        stayed = self.stayed(call.model, now - call.seconds)
        self._used[call.model] = now
        if call.load_seconds < LOADED:
            return call, ""
        cancel.current().extend(call.load_seconds)
        return replace(call, loaded=True), _again(call) if stayed else ""

    def preloaded(self, model: str, seconds: float, loaded: bool) -> None:
        """A model was asked for ahead of the question."""
        self._used[model] = time.monotonic()
        if loaded:
            self._preloaded.append(Call("preload", model, seconds=seconds, load_seconds=seconds, loaded=True))

    def preloads(self) -> list[Call]:
        """The preloads since the last call of this, for the usage."""
        done, self._preloaded = self._preloaded, []
        return done


def _again(call: Call) -> str:
    return (
        f"{call.model} was loaded again ({call.load_seconds:.1f} s), although it had just been used: another model or "
        "program pushed it out, or uses it with another num_ctx"
    )


def duration(keep_alive: str) -> str:
    """As Ollama reads a string: it refuses one without a unit ("time: missing unit in duration"), which are seconds."""
    return f"{keep_alive}s" if keep_alive[-1].isdigit() else keep_alive


def lasting(keep_alive: str) -> float:
    """Seconds of an Ollama duration such as 5m, 1h30m, 0 or -1 (for ever)."""
    if keep_alive.startswith("-"):
        return float("inf")
    scale = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(number) * scale[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h|)", keep_alive))
