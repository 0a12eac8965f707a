"""Many values as a single parameter of an SQL statement, of which SQLite takes a limited number."""

from __future__ import annotations

import json
from collections.abc import Iterable

IN = "IN (SELECT value FROM json_each(?))"
"""SQL behind a column: its value is among those of `array`."""


def array(values: Iterable[int | str]) -> str:
    """The parameter of `IN`, of Python's numbers or NumPy's, or of texts."""
    return json.dumps(list(values), default=int)
