"""Split a text into sentences, as spans of code points."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from local_rag.core import cancel
from local_rag.text.lexicon import ABBREVIATIONS, STOP_WORDS
from local_rag.text.words import BULLET, indentation

_LINE = re.compile(r"[^\n]*\n?")
_LIST_ITEM = re.compile(rf"[ \t]*{BULLET}[ \t]+\S")
_RULE = re.compile(r"([-=~^_*#\"'`+])\1{2,}|```.*|~~~.*|[-+|: ]{3,}")  # a whole line without the blanks around it
_HEADING = re.compile(r"#{1,6}[ \t]+\S")
_ORDINAL_AT = re.compile(r"(\d{1,3})\.\s+")
_GERMAN_ARTICLE = re.compile(
    r"(?<!\bI )\b(?:ab|am|beim|bis|das|dem|den|der|des|die|im|seit|vom|zum|zur)\s+"
    r"(?:\d+\.?\s*(?:und|oder|bis|[/–-])\s*)?$",
    re.IGNORECASE,
)
_GERMAN_COUNTED = re.compile(
    r"(?:Januar|Jänner|Februar|Feber|März|Mai|Juni|Juli|Oktober|Dezember|Jahrhunderts?|Auflage)\b"
)
"""Words after an ordinal that begin no English sentence, which is why April and August are missing."""
_LABEL = re.compile(
    r"\s*(?:fig(?:ure)?|tab(?:le)?|box|listing|step|part|chapter|section)?\.? ?\(?\d[\d.]*[.)]+", re.IGNORECASE
)
"""Labels that are no sentences: Fig. 3. and 1.2."""
_LONGEST_LABEL = 40
_LONGEST_ORDINAL = 3
_ARTICLE_DISTANCE = 40
"""The code points before an ordinal in which its article is sought."""
_LONG_LINE = 140  # no editor, mail program or page wraps later: such a line is a whole paragraph
_ODD_NAME = re.compile(r"[a-z]+(?:[A-Z\d_]|-[a-z]+\b)")  # iPhone, local-rag
_NARROWEST = 40  # columns of a page; what is narrower was not wrapped
_WRAP_SLACK = 0.8  # lines of proportional type hold different numbers of letters
_ENDING = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|(?<![。！？])[。！？]++[」』”’）]*+")


class Span(NamedTuple):
    """Hold code points [start, end) of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the part of the text."""
        return text[self.start : self.end]


def stripped(text: str, start: int, end: int) -> Span:
    """Return the span without white space at its ends; empty at `start` if nothing is left."""
    part = text[start:end]
    start += indentation(part)
    return Span(start, start + len(part.strip()))


def sentences(text: str) -> list[Span]:
    """Return the spans of the sentences, in order and without overlap.

    Blank lines, list items, headings, table rows and rulers always end a sentence. So does the end of a line that was
    not wrapped there: a paragraph on a single line, or a line that had room for the first word of the next. Raises
    Stopped.
    """
    spans: list[Span] = []
    for block in _blocks(text):
        cancel.check()
        start = block.start
        for match in _ENDING.finditer(text, *block):
            is_label = match.end() - start <= _LONGEST_LABEL and _LABEL.fullmatch(text, start, match.end())
            if not is_label and _ends_sentence(text, match):
                spans.append(stripped(text, start, match.end()))
                start = match.end()
        spans.append(stripped(text, start, block.end))
    return [span for span in spans if span.end > span.start]


def _blocks(text: str) -> Iterator[Span]:
    for lines in _paragraphs(text):
        width = max(_NARROWEST, *(line.end - line.start for line in lines))
        start = lines[0].start
        for line, following in pairwise(lines):
            if _deliberate(line.of(text), following.of(text), width):
                yield Span(start, line.end)
                start = following.start
        yield Span(start, lines[-1].end)


def _paragraphs(text: str) -> Iterator[list[Span]]:
    """Yield runs of lines without a blank line or a ruler (`----`, a code fence) between them."""
    lines: list[Span] = []
    for match in _LINE.finditer(text):
        line = match.group().rstrip()
        if line and not _RULE.fullmatch(line.strip(" \t\n")):
            lines.append(Span(match.start(), match.start() + len(line)))
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


def _deliberate(line: str, following: str, width: int) -> bool:
    """Return whether the writer ended the line there, and not the width of the page."""
    head, after = line.lstrip(), following.lstrip()
    ordinal = _ORDINAL_AT.match(after)
    goes_on = ordinal and _is_ordinal(f"{line[-_ARTICLE_DISTANCE:]} ", ordinal[1], after[ordinal.end() :])
    if (_LIST_ITEM.match(following) and not goes_on) or max(len(line), len(following)) > _LONG_LINE:
        return True
    if _HEADING.match(head) or _HEADING.match(after) or "|" in {head[0], after[0]} or " | " in line:
        return True
    if after[0].islower() or head[-1] in ",;-–—(":
        return False
    return len(line) + 1 + len(after.split(maxsplit=1)[0]) <= width * _WRAP_SLACK


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    """Return whether a full stop or another ending mark ends a sentence.

    A full stop after an abbreviation, an initial or a German ordinal, or before a lower-case letter, ends none. It ends
    one before a capitalised function word, "equal to P. Again" but not "J. Smith", and before a name like iPhone. An
    ellipsis or a quotation does not end a sentence that goes on after it: "Why?" he said.
    """
    mark = match.group()
    if mark[0] != "." or mark.startswith(".."):
        goes_on = text[match.end() : match.end() + 2].lstrip()[:1].islower()
        return not (goes_on and (mark[0] in ".…" or mark[-1] in '"”’'))
    before = re.search(r"[\w.]*$", text[max(0, match.start() - 12) : match.start()])
    word = before.group() if before else ""
    after = text[match.end() : match.end() + 40].lstrip()
    if after[:1].islower():
        return len(word) > 3 and word.lower() not in ABBREVIATIONS and bool(_ODD_NAME.match(after))
    next_word = re.match(r"[^\W\d_]+", after)
    if next_word and next_word.group().lower() in STOP_WORDS:
        return word.lower() not in {"e.g", "i.e"}
    if word.lower() in ABBREVIATIONS:
        return word.lower() in {"etc", "a.m", "p.m", "al"} and after[:1].isupper()
    start = match.start() - len(word)
    if _is_ordinal(text[max(0, start - _ARTICLE_DISTANCE) : start], word, after):
        return False
    return not (len(word) == 1 and word.isupper())


def _is_ordinal(before: str, number: str, after: str) -> bool:
    """Return whether a number with a full stop is a German ordinal: am 3. Oktober, die 2. Auflage; not
    "in 1931. The".
    """
    if not number.isdecimal() or len(number) > _LONGEST_ORDINAL or not after[:1].isupper():
        return False
    return bool(_GERMAN_COUNTED.match(after) or _GERMAN_ARTICLE.search(before))
