"""Marks that change what a text says: superscripts and subscripts, fractions, check boxes, numbers of lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from unicodedata import normalize

STRUCK = frozenset("del s strike".split())
"""Elements of HTML whose text its author took back: it is left out."""

CHECKED, UNCHECKED = "☒ ", "☐ "

_PAGE_WORDS = frozenset("page seite p s of von de sur".split())
_RAISED = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_NUMERIC = re.compile(r"(?!\[)[^\W\d_]{0,2}[\d+\-−=(][^[]*|[ni]")
"""A text that is written as such characters; [1] needs none, "th" and "TM" have none."""

_FRACTION = re.compile(r"(\d?)([⁰¹²³⁴-⁹]{1,4})[/⁄∕]([₀-₉]+|\d{1,3}(?!\d))")
_WHOLE = re.compile(r"-?\d{1,9}")
_LABEL = re.compile(r"\(?(\d[\d.]*|[a-zA-Z])[.)]")
_ROMAN = tuple(
    zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "m cm d cd c xc l xl x ix v iv i".split(), strict=True)
)


def raised(text: str) -> str:
    """Return a text as a superscript: 10³ is not 103. A text without a number stays as it is: 4th, Word™."""
    return text.translate(_RAISED) if _NUMERIC.fullmatch(text.strip()) else text


def lowered(text: str) -> str:
    """Return a text as a subscript: H₂O."""
    return text.translate(_LOWERED) if _NUMERIC.fullmatch(text.strip()) else text


def is_fraction(above: str, line: str, below: str) -> bool:
    """Return whether three neighbours are a fraction: ¹, / and ₂."""
    return line in ("/", "⁄", "∕") and bool(_FRACTION.fullmatch(above + line + below))


def fractions(text: str) -> str:
    """Return the text with fractions that were set with superscripts in one line: 1¹/₂ is 1 1/2."""
    return _FRACTION.sub(lambda m: f"{m[1]}{' ' * bool(m[1])}{plain(m[2])}/{plain(m[3])}", text)


def plain(marked: str) -> str:
    """Return the digits of a superscript or a subscript as plain digits."""
    return normalize("NFKC", marked)


def numbers_a_page(line: str) -> bool:
    """Return whether a header or a footer has nothing but the number of the page: "Page 1 of 3"."""
    return {*re.findall(r"[^\W\d]+", line.lower())} <= _PAGE_WORDS and len(re.findall(r"\d+", line)) < 3


def numbered(number: int, kind: str) -> str:
    """Return a number as an item of a list has it: `kind` is that of <ol>, "1", "a", "A", "i" or "I"."""
    shown = str(number)
    if kind in ("i", "I") and 0 < number < 5000:
        shown = ""
        for value, letters in _ROMAN:
            shown, number = shown + letters * (number // value), number % value
    elif kind in ("a", "A") and 0 < number <= 26**3:
        shown = ""
        while number:
            number, letter = divmod(number - 1, 26)
            shown = chr(ord("a") + letter) + shown
    return shown.upper() if kind.isupper() else shown


class Level(NamedTuple):
    """A level of a list: the kind of its numbers, how they are shown ("(%1)", "%1.%2"), the first one, its style.

    A number shown as §1 is of kind "1".
    """

    kind: str
    template: str
    start: int = 1
    style: str = ""


def counted(counts: dict[int, int], levels: Mapping[int, Level], at: int) -> str:
    """Return the label of the next item at a level, and count it; the levels below begin again."""
    for below in [number for number in counts if number > at]:
        del counts[below]
    for level in range(at + 1):
        start = levels[level].start if level in levels else 1
        counts[level] = counts.get(level, start - (level == at)) + (level == at)

    def shown(match: re.Match[str]) -> str:
        level = int(match[2]) - 1
        kind = levels[level].kind if level in levels and match[1] == "%" else "1"
        return numbered(counts.get(level, 0), kind)

    return re.sub(r"([%§])(\d)", shown, levels[at].template)


def mark(tree: Any) -> None:
    """Write the marks in a tree of HTML, with those of equations (MathML, Office's), as text, in place."""
    for node in tree.iter("{*}f", "{*}mfrac"):  # its text is white space, if anything
        above = node.find("{*}num") if node.tag.endswith("f") else node[0] if len(node) else None
        if above is not None:
            node.text, above.tail = " ", "/"
    for node in list(tree.iter("{*}msup", "{*}msub")):
        for each in node[1:2]:
            each.tag = node.tag[-3:]
    for node in list(tree.iter("{*}sup", "{*}sub")):
        text = "".join(node.itertext())
        del node[:]
        node.text = raised(text) if node.tag.endswith("sup") else lowered(text)
        node.tag = "span"
    for node in tree.iter("{*}input"):
        if node.get("type", "").lower() in ("checkbox", "radio"):
            node.text, node.tag = CHECKED if "checked" in node.attrib else UNCHECKED, "span"
    for items in tree.iter("{*}ol"):
        kind, start = items.get("type", "1"), items.get("start", "")
        number = int(start) if _WHOLE.fullmatch(start) else 1
        for item in items.iterchildren("{*}li"):
            number = int(item.get("value")) if _WHOLE.fullmatch(item.get("value", "")) else number
            said = next(filter(None, map(str.strip, item.itertext())), "")
            item.set("label", "-" if _LABEL.match(said) else f"{numbered(number, kind)}.")
            number += 1
