"""The channel that a key of the state lies in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.channels import LastValue


class Latest(LastValue[Any]):
    """The last value written; None empties it.

    Nodes that run side by side may each write it, because every node returns `generation`: what differs from the value
    before them stays, the last of several such.
    """

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            return False
        changed = [value for value in values if not self._is_there(value)] if len(values) > 1 else []
        value = (changed or values)[-1]
        self.value = LastValue(self.typ).value if value is None else value
        return True

    def _is_there(self, value: Any) -> bool:
        return bool(self.value == value) if self.is_available() else not value
