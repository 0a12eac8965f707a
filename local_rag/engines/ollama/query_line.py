"""The line of a reply that holds the query."""

from __future__ import annotations

import re

_LABEL = re.compile(
    r"^(?:[-*•>]\s+|\d+[.)]\s+)?(?:\W*(?:new |rewritten |search |web )*(?:query|question)\W*:\W*)?", re.I
)
_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "*": "*"}


def first_line(reply: str) -> str:
    """The line that is meant: not the preamble before it, nor the marks and labels around it."""
    lines = [line.strip() for line in reply.splitlines() if line.strip() and not line.strip().startswith("```")]
    if len(lines) > 1 and lines[0].endswith(":"):
        del lines[0]
    line = _LABEL.sub("", lines[0]).strip() if lines else ""
    while len(line) > 1 and _PAIRS.get(line[0]) == line[-1] and line[0] not in line[1:-1]:
        line = line[1:-1].strip()
    return line.strip("*` ")[:300]
