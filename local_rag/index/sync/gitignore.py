"""Patterns of .gitignore: what git's own documentation and its wildmatch.c say, in time that grows with the path.

https://git-scm.com/docs/gitignore
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from string import hexdigits, punctuation, whitespace

from local_rag.index.globs import ANY_FOLDERS, ANY_SIGN, STAR, name_regex, one_of, path_regex

_LOWER, _UPPER, _DIGITS = ("a", "z"), ("A", "Z"), ("0", "9")
_CLASSES = {
    "alnum": (_LOWER, _UPPER, _DIGITS),
    "alpha": (_LOWER, _UPPER),
    "blank": ((" ", " "), ("\t", "\t")),
    "cntrl": (("\0", "\x1f"), ("\x7f", "\x7f")),
    "digit": (_DIGITS,),
    "graph": (("!", "~"),),
    "lower": (_LOWER,),
    "print": ((" ", "~"),),
    "punct": tuple((sign, sign) for sign in punctuation),
    "space": tuple((sign, sign) for sign in whitespace),
    "upper": (_UPPER,),
    "xdigit": tuple((sign, sign) for sign in hexdigits),
}

_Range = tuple[str, str]


class _NeverMatchesError(Exception):
    """A pattern with an open bracket, an unknown class or nothing after its last backslash."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line. `whole`: it is compared with the path from the folder of its file on, otherwise with the last name.

    `text` is the pattern alone; it is compared as it is where there is no `regex`.
    """

    line: str
    ignores: bool
    only_folders: bool
    whole: bool
    text: str
    regex: re.Pattern[str] | None = None

    def matches(self, path: str, is_folder: bool) -> bool:
        """Whether it has a say about a relative path, with / between its names."""
        if self.only_folders and not is_folder:
            return False
        name = path if self.whole else path.rpartition("/")[2]
        return bool(self.regex.fullmatch(name)) if self.regex else name == self.text


def parse(line: str) -> Pattern | None:
    """The pattern of a line; None for a comment, an empty line, and what git takes for a pattern that never matches."""
    text = _without_blanks(line)
    if not text or text.startswith("#"):
        return None
    ignores = not text.startswith("!")
    text = text if ignores else text[1:]
    only_folders = text.endswith("/")
    text = text.removesuffix("/")
    whole = "/" in text
    text = text.removeprefix("/")
    if not text:
        return None
    begin = _literal_beginning(text) if whole else ""
    try:
        names = _names(text.removeprefix(begin))
    except _NeverMatchesError:
        return None
    if not re.search(r"[*?\[\\]", text):
        return Pattern(line, ignores, only_folders, whole, text)
    folders = [whole and len(name) > 1 and set(name) == {STAR} for name in names]
    regexes = [ANY_FOLDERS if any_ else name_regex(name) for any_, name in zip(folders, names, strict=True)]
    if begin and all(folders):
        return Pattern(line, ignores, only_folders, whole, text, re.compile(f"{re.escape(begin)}.*", re.DOTALL))
    if folders[-1]:  # all below, but not the folder itself
        regexes.append(name_regex([ANY_SIGN, STAR]))
    return Pattern(line, ignores, only_folders, whole, text, re.compile(re.escape(begin) + path_regex(regexes)))


def _literal_beginning(text: str) -> str:
    """What git compares letter by letter where `**` follows: a**/b is a, then **/b, so it fits ab/b and a/x/b."""
    match = re.match(r"([^*?\[\\]*[^*?\[\\/])\*\*+(?:/|$)", text)
    return match[1] if match else ""


class Patterns:
    """The patterns of some lines, of which the last one that matches decides."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._globs: list[tuple[int, Pattern]] = []
        self._literals: dict[tuple[bool, str], list[tuple[int, Pattern]]] = {}
        for rank, line in enumerate(dict.fromkeys(reversed(lines))):
            pattern = parse(line)
            if pattern is not None and pattern.regex:
                self._globs.append((rank, pattern))
            elif pattern is not None:
                self._literals.setdefault((pattern.whole, pattern.text), []).append((rank, pattern))

    def __len__(self) -> int:
        return len(self._globs) + len(self._literals)

    def deciding(self, path: str, is_folder: bool) -> Pattern | None:
        """The pattern that decides about a relative path, with / between its names; None if none has a say."""
        same = [(False, path.rpartition("/")[2]), (True, path)]
        literals = (ranked for key in same for ranked in self._literals.get(key, ()))
        fitting = ((rank, pattern) for rank, pattern in literals if is_folder or not pattern.only_folders)
        best, decides = min(fitting, key=itemgetter(0), default=(len(self), None))
        for rank, pattern in self._globs:
            if decides is not None and rank > best:
                break
            if pattern.matches(path, is_folder):
                return pattern
        return decides


def _without_blanks(line: str) -> str:
    """Without the blanks at its end, but for one that a backslash keeps."""
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and len(bare) < len(line) else bare


def _names(text: str) -> list[list[str]]:
    """The names of a path pattern, each as signs for `name_regex`. Raises _NeverMatchesError."""
    names: list[list[str]] = [[]]
    at = 0
    while at < len(text):
        sign = text[at]
        at += 1
        if sign == "[":
            bracket, at = _bracket(text, at)
            names[-1].append(bracket)
            continue
        escaped = sign == "\\"
        if escaped:
            sign, at = _next(text, at)
        if sign == "/":
            names.append([])
        elif sign == "*" and not escaped:
            names[-1].append(STAR)
        else:
            names[-1].append(ANY_SIGN if sign == "?" and not escaped else re.escape(sign))
    return names


def _next(text: str, at: int) -> tuple[str, int]:
    if at >= len(text):
        raise _NeverMatchesError
    return text[at], at + 1


def _bracket(text: str, at: int) -> tuple[str, int]:
    """The regular expression of a bracket whose inside begins at `at`, and where the rest of the text begins."""
    negated = text[at : at + 1] in ("!", "^")
    start = at = at + negated
    ranges: list[_Range] = []
    first = ""  # of a range that may follow
    while text[at : at + 1] != "]" or at == start:
        sign, at = _next(text, at)
        end = text.find("]", at)
        if sign == "-" and first and text[at : at + 1] != "]":
            last, at = _perhaps_escaped(text, at)
            ranges.append((first, last))
            first = ""
        elif sign == "[" and text[at : at + 1] == ":" and end > at + 1 and text[end - 1] == ":":
            name, first, at = text[at + 1 : end - 1], "", end + 1
            if name not in _CLASSES:
                raise _NeverMatchesError
            ranges += _CLASSES[name]
        else:
            first, at = _perhaps_escaped(text, at - 1)
            ranges.append((first, first))
    return one_of(ranges, negated), at + 1


def _perhaps_escaped(text: str, at: int) -> tuple[str, int]:
    sign, at = _next(text, at)
    return _next(text, at) if sign == "\\" else (sign, at)
