"""Recognise a letter by its salutation and by the name below its last line."""

from __future__ import annotations

import re

SALUTATION = re.compile(
    r"^[ \t]*(?:(?:dear|to whom|sehr geehrte)\b[^\n.?]{0,80}"
    r"|(?:hello|hi|hallo|liebe[rs]?|guten tag)\b[^\n.?]{0,80}[,:!])[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
SIGNED = re.compile(
    r"^[ \t]*(?i:yours?|love|lots of|with|best|kind(?:est)?|warm(?:est)?|sincerely|regards|cheers|mit|liebe|viele"
    r"|herzlich\w*)\b[^\n.!?]{0,40},?[ \t]*\n\s*"
    r"(?P<whole>[^\W\d_a-z][\w.'’-]*(?:[ \t]+[^\W\d_a-z][\w.'’-]*){0,3})[ \t]*$",
    re.MULTILINE,
)
"""The name below the last line of a letter."""
