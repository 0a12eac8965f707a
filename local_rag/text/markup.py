"""Remove the markup of Markdown, MyST, reStructuredText and HTML from a text, with the position of each character that
stays.

Stored texts keep their markup, so that offsets stay the same; texts that are read and quoted go without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_ON = r"\n(?!\s*\n)"
"""The end of a line within a paragraph."""
_LAST_NAME = r"(?:~(?:\w+\.)*(?=\w))?"
"""The prefix in a role of Sphinx that shows only the last name."""
_TARGET = r"\((?:[^()\s]|\([^()\s]*\))*(?: +\"[^\"\n]*\")?\)"
_PATTERNS = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"<!--(?:(?!<!--).)*?-->",
        r"(?<=[`*])\\\s",  # "`list`\ s" is lists in reStructuredText
        r" ?\[(?:\d+|\#\w*|\*)\]_(?!\w)",
        r"(?<![\w`])(?P<kept>[A-Z][A-Za-z-]*)__?(?=[\s.,;:)]|\Z)",  # a reference of reStructuredText; class_ is a name
        rf"!\[[^\]\n]*\]{_TARGET}",  # an image; one in a link is a badge
        rf"\[\s*\]{_TARGET}",
        # "[29][who?]" are two notes of Wikipedia
        rf"(?<![\w)\]])\[(?!\d+\]\[)(?P<kept>[^\[\]\n]+)\](?:{_TARGET}|\[[^\[\]\n]*[^\[\]\n\d][^\[\]\n]*\])",
        rf"(?:\{{[a-z][\w:+-]*\}}|:[a-z][\w:+-]*:)`{_LAST_NAME}(?P<kept>(?:[^`<\n]|{_ON})*[^`<\s])(?:\s*<[^`>]*>)?`",
        rf"`(?P<kept>(?:[^`<\n]|{_ON})*[^`<\s])\s*<[^`>]*>`__?",
        rf"(?<!`)(?P<ticks>`{{1,2}})(?!`)(?P<kept>(?:[^`\n]|{_ON})+)(?P=ticks)(?!`)(?:__?(?!\w))?",
        rf"(?<![\w*])\*\*(?=[^\s*])(?P<kept>(?:[^*\n]|\*(?!\*)|{_ON})*[^\s*]\*?)\*\*(?![\w*])",
        r"(?<![\w*])(?P<strong>\*{1,3})(?=[^\s*])(?P<kept>[^*\n]*[^\s*])(?P=strong)(?![\w*])",
        r"(?<![\w_])_(?=[^\s_])(?P<kept>[^_\n]*[^\s_])_(?![\w_])",  # __init__ is a name
        r"(?m:^[ \t]*\.\. (?:_[^\n]*:[^\n]*(?:\n|\Z)|[a-z][\w:+-]*::[ \t]*))|(?m:(?<=[^\s:]:):[ \t]*$)",
        r":(?=(?:PEP|RFC) `?\d)",
        r"</?(?:a|abbr|b|br|code|details|div|em|font|i|img|kbd|p|span|strong|su[bp]|summary|u)(?:\s[^<>]*)?/?>",
    )
]
_OF_LINES = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|(?:```|~~~).*\n?|>[ \t]+)"
    r"|^[ \t]*([=~^\"'+*.:_`-])\1{3,}[ \t]*(?:\n|\Z)"  # below a heading of reStructuredText
    r"|[ \t]*\{[ \t]*[#.:][^{}\n]*\}[ \t]*$",
    re.MULTILINE,
)
_NUMBERED = re.compile(r":(pep|rfc):`(?=\d+`)", re.IGNORECASE)
_SIGNS = re.compile(r"[\[`*_<]|::")
_LIVE = re.compile(r"(?<=!)(?=\[)|(?<=])(?=\()|(?<=<)(?=[A-Za-z/!?])")
"""The places where Markdown begins an image, the hidden address of a link, or HTML (CommonMark 6.3, 6.4, 6.6)."""


class View(NamedTuple):
    """Hold a text without its markup, and for each of its code points the position in the original text."""

    text: str
    positions: tuple[int, ...]

    @classmethod
    def of(cls, text: str, start: int = 0) -> View:
        """Return the view of a text that stands at code point `start` and keeps all of its code points."""
        return cls(text, tuple(range(start, start + len(text))))

    def part(self, start: int, end: int | None = None) -> View:
        """Return code points [start, end) of the view as a view."""
        return View(self.text[start:end], self.positions[start:end])

    def without(self, spans: Sequence[tuple[int, int]]) -> View:
        """Return the view without these spans of its code points, which are in order."""
        text, positions = self
        for start, end in reversed(spans):
            text, positions = text[:start] + text[end:], positions[:start] + positions[end:]
        return View(text, positions)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Convert code points [start, end) of the view to code points of the text."""
        return (self.positions[start], self.positions[end - 1] + 1) if end > start else (start, end)


@lru_cache(maxsize=1024)
def view_of(text: str) -> View:
    """Return the plain view of a text."""
    view = View.of(_NUMBERED.sub(_named, text))
    for pattern in _PATTERNS if _SIGNS.search(text) else ():
        view = view.without([span for match in pattern.finditer(view.text) for span in _left_out(match)])
    return view


def plain(text: str) -> str:
    """Return a text without its markup."""
    return view_of(text).text


def unmarked(text: str) -> str:
    """Return a text without its markup, the signs of headings and quotes, and the fences of code."""
    return _OF_LINES.sub("", plain(text))


def _named(role: re.Match[str]) -> str:
    """Replace a role such as :pep: by the name of its number, PEP, in the same length."""
    return f":{role[1].upper()} `"


def closed(draft: str) -> str:
    """Close the bold text or code at the end of an unfinished text, and return the text."""
    last = draft.rpartition("\n\n")[2].replace("```", "")
    for sign in ("`", "**"):
        if last.count(sign) % 2:
            draft = draft.removesuffix(sign) if draft.endswith(sign) else draft.rstrip() + sign
    return draft


def as_read(text: str) -> str:
    """Return a text without markup on one line, as a person reads it."""
    return " ".join(unmarked(text).split())


def markup(text: str) -> list[tuple[int, int]]:
    """Return the spans of a text's markup."""
    kept = view_of(text).positions
    bounds = zip((-1, *kept), (*kept, len(text)), strict=True)
    return [(before + 1, after) for before, after in bounds if after > before + 1]


def _left_out(match: re.Match[str]) -> list[tuple[int, int]]:
    start, end = match.span("kept") if "kept" in match.re.groupindex else (match.end(), match.end())
    return [span for span in ((match.start(), start), (end, match.end())) if span[0] < span[1]]


def inert(text: str) -> str:
    """Break up images, hidden addresses and HTML in Markdown with a blank, so that it loads nothing and hides no
    address.

    A chat program fetches an image when it shows an answer, and the image's address could send data away from this
    machine.
    """
    return _LIVE.sub(" ", text)
