"""Pure text work that several rooms share: spans, sentences, words, stems, numbers and names."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each either else ever few for from further had has have having
    he her here hers him his how i if in into is it its itself just let like many may me might more most much must my
    no nor not now of off on once one only or other our out over own per please shall she should since so some such
    than that the their them then there these they this those through to too under until up upon us very was we were
    what when where whether which while who whom whose why will with within without would you your""".split()
)
"""English function words. They carry no evidence in word coverage; every other language simply has none here."""

_ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof sr jr st mt vs etc e.g i.e cf al fig figs eq eqs no nos vol vols pp ed eds ca approx inc ltd co
    corp dept est jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m u.s u.k u.n ph.d gen col lt sgt rev hon
    sec ch art bzw z.b d.h usw nr""".split()
)

_WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_LINE = re.compile(r"[^\n]*\n?")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•◦▪‣–]|\(?(?:\d{1,3}|[a-z])[.)])[ \t]+\S")
_RULE = re.compile(r"([-=~^_*#\"'`+])\1{2,}|```.*|~~~.*|[-+|: ]{3,}")  # a whole line without the blanks around it
_HEADING = re.compile(r"#{1,6}[ \t]+\S")
_LABEL = re.compile(
    r"(?:fig(?:ure)?|tab(?:le)?|box|listing|step|part|chapter|section)?\.? ?\(?\d[\d.]*[.)]+", re.IGNORECASE
)
_LONG_LINE = 140  # no editor, mail program or page wraps later: such a line is a whole paragraph
_ODD_NAME = re.compile(r"[a-z]+(?:[A-Z\d_]|-[a-z]+\b)")  # iPhone, local-rag
_NARROWEST = 40  # columns of a page; what is narrower was not wrapped
_WRAP_SLACK = 0.8  # lines of proportional type hold different numbers of letters
_ENDING = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|(?<![。！？])[。！？]++[」』”’）]*+")
_BULLET_ALONE = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])?\s*")
_RANGE = re.compile(r"([1-9]\d?)\s*[-–]\s*([1-9]\d?)")
_LISTED = rf"(?:{_RANGE.pattern.replace('(', '(?:')}|\d{{1,4}})"
_MARK = re.compile(
    rf"(?<![ \t])[ \t]*+"
    rf"(?:\[({_LISTED}(?:\s*[,;]\s*{_LISTED})*)\]|【(\d{{1,4}}(?:\s*[,;]\s*\d{{1,4}})*)(?:†[^】\n]*)?】)"
)
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")

NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen 
        seventeen eighteen nineteen twenty""".split()
    )
} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "hundred": "100", "thousand": "1000", "million": "1000000", "billion": "1000000000",
    "once": "1", "twice": "2", "dozen": "12",
}  # fmt: skip


class Span(NamedTuple):
    """Code points [start, end) of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


def stripped(text: str, start: int, end: int) -> Span:
    """The span without white space at its ends; empty at `start` if nothing is left."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end)


def sentences(text: str) -> list[Span]:
    """Spans of the sentences, in order and without overlap.

    Blank lines, list items, headings, table rows and rulers always end one. So does the end of a line that was not
    wrapped there: a paragraph on a single line, or a line that had room for the word that begins the next.
    """
    found: list[Span] = []
    for block in _blocks(text):
        start = block.start
        for match in _ENDING.finditer(text, block.start, block.end):
            if _ends_sentence(text, match) and not _LABEL.fullmatch(text[start : match.end()].strip()):
                found.append(stripped(text, start, match.end()))
                start = match.end()
        found.append(stripped(text, start, block.end))
    return [span for span in found if span.end > span.start]


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
    """Runs of lines without a blank line or a ruler (`----`, a code fence) between them."""
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
    """Whether somebody ended the line there, and not the width of the page."""
    head, after = line.lstrip(), following.lstrip()
    if _LIST_ITEM.match(following) or max(len(line), len(following)) > _LONG_LINE:
        return True
    if _HEADING.match(head) or _HEADING.match(after) or "|" in {head[0], after[0]} or " | " in line:
        return True
    if after[0].islower() or head[-1] in ",;-–—(":
        return False
    return len(line) + 1 + len(after.split(maxsplit=1)[0]) <= width * _WRAP_SLACK


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    """A full stop after an abbreviation, an initial or before a lower-case letter does not end a sentence.

    It does before a capitalised function word, "equal to P. Again" but "J. Smith", and before a name like iPhone.
    Neither does an ellipsis or a quotation that the sentence goes on after: "Why?" he said.
    """
    mark = match.group()
    if mark[0] != "." or mark.startswith(".."):
        goes_on = text[match.end() : match.end() + 2].lstrip()[:1].islower()
        return not (goes_on and (mark[0] in ".…" or mark[-1] in '"”’'))
    before = re.search(r"[\w.]*$", text[max(0, match.start() - 12) : match.start()])
    word = before.group() if before else ""
    after = text[match.end() : match.end() + 40].lstrip()
    if after[:1].islower():
        return len(word) > 3 and word.lower() not in _ABBREVIATIONS and bool(_ODD_NAME.match(after))
    next_word = re.match(r"[^\W\d_]+", after)
    if next_word and next_word.group().lower() in STOP_WORDS:
        return word.lower() not in {"e.g", "i.e"}
    if word.lower() in _ABBREVIATIONS:
        return word.lower() in {"etc", "a.m", "p.m", "al"} and after[:1].isupper()
    return not (len(word) == 1 and word.isupper())


def words(text: str) -> list[str]:
    """Lower-case words and numbers, accents and compatibility forms folded, in order."""
    return [match.group() for match in _WORD.finditer(fold(text))]


def fold(text: str) -> str:
    """Lower case without accents (NFKD). The length may change: never use its offsets on the original."""
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'"))
    return "".join(ch for ch in decomposed if not unicodedata.combining(ch)).casefold()


@cache
def _stemmer() -> object:
    import snowballstemmer

    return snowballstemmer.stemmer("porter")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Porter's stem of a lower-case word, as SQLite's `porter` tokenizer makes it (M. F. Porter, 1980)."""
    if not word.isascii():
        return word
    stemmed: str = _stemmer().stemWord(word.removesuffix("'s"))  # type: ignore[attr-defined]
    return stemmed


def content_words(text: str) -> list[str]:
    """The words that carry meaning: no stop words and no single letters (single digits stay), in order, once each."""
    kept = (w for w in words(text) if w not in STOP_WORDS and (len(w) > 1 or w.isdigit() or not w.isascii()))
    return list(dict.fromkeys(kept))


def content_stems(text: str) -> list[str]:
    """Stems of the content words, in order, once each."""
    return list(dict.fromkeys(stem(word) for word in content_words(text)))


def numbers(text: str) -> set[str]:
    """The numbers of a text as digits: "1,200" is 1200, "two" is 2. Marks like [3] and the word "one" do not count."""
    plain = without_marks(text)
    digits = {_plain_number(match.group()) for match in _NUMBER.finditer(plain)}
    return digits | {NUMBER_WORDS[word] for word in words(plain) if word in NUMBER_WORDS and word != "one"}


def _plain_number(number: str) -> str:
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    return number


def names(text: str) -> set[str]:
    """Folded words that look like names: capitalised inside a sentence, or with capitals or digits inside the word."""
    found: set[str] = set()
    plain = without_marks(text)
    for sentence in sentences(plain):
        for position, match in enumerate(_WORD.finditer(sentence.of(plain))):
            word = match.group()
            inner = any(ch.isupper() for ch in word[1:]) or (
                any(map(str.isdigit, word)) and any(map(str.isalpha, word))
            )
            if inner or (position > 0 and word[0].isupper() and len(word) > 1):
                found.update(words(word))
    return {word for word in found if word not in STOP_WORDS}


def marks(text: str) -> list[tuple[Span, list[int]]]:
    """Citation marks [1], [1, 2], [1-3] or 【1】 with their span (the blank before included) and numbers."""
    return [(Span(*match.span()), cited) for match in _MARK.finditer(text) if (cited := _cited(match))]


class Claim(NamedTuple):
    """A sentence of an answer: where it stands with its marks, its words without them, and the numbers it cites."""

    span: Span
    text: str
    numbers: tuple[int, ...]


def claims(text: str) -> list[Claim]:
    """The sentences of an answer. A mark belongs to the sentence it stands in or behind, at the start of a line to the
    one after it.

    A mark does not cut a sentence, unless what follows begins anew: a quote that was cut has no full stop to end it.
    """
    found = marks(text)
    blank = _MARK.sub(lambda match: " " * len(match.group()) if _cited(match) else match.group(), text)
    spans = [span for span in _cut_at(text, blank, [mark for mark, _ in found]) if words(span.of(blank))]
    starts = [span.start for span in spans]
    begins, ends = list(starts), [span.end for span in spans]
    numbers: list[list[int]] = [[] for _ in spans]
    for mark, cited in found:
        place = max(0, bisect_right(starts, mark.start) - 1)
        if leads(text, mark) and not (spans and spans[place].start <= mark.start < spans[place].end):
            place = bisect_left(starts, mark.end)
        if place >= len(spans):
            continue
        numbers[place] += cited
        begins[place] = min(begins[place], _line_start(text, mark) if leads(text, mark) else mark.start)
        ends[place] = max(ends[place], mark.end)
    return [
        Claim(Span(begin, end), without_marks(text[begin:end]).strip(), tuple(dict.fromkeys(cited)))
        for begin, end, cited in zip(begins, ends, numbers, strict=True)
    ]


def _cut_at(text: str, blank: str, cuts: Sequence[Span]) -> Iterator[Span]:
    """The sentences of a text whose marks are blanked, cut also at the marks behind which another one begins."""
    after = [mark.end for mark in cuts if not leads(text, mark) and _begins_anew(text, mark.end)]
    for span in sentences(blank):
        start = span.start
        for cut in [one for one in after if span.start < one < span.end]:
            yield stripped(blank, start, cut)
            start = cut
        yield stripped(blank, start, span.end)


def _begins_anew(text: str, at: int) -> bool:
    """Whether what follows a mark looks like the beginning of a sentence: a blank, and no small letter or sign."""
    rest = text[at:].lstrip()
    return text[at : at + 1].isspace() and bool(rest) and not (rest[0].islower() or rest[0] in ".,;:!?…)[【&–—-")


def _line_start(text: str, mark: Span) -> int:
    """Where the line of a leading mark begins, without the blanks before it."""
    start = text.rfind("\n", 0, mark.start) + 1
    return stripped(text, start, mark.end).start


def leads(text: str, mark: Span) -> bool:
    """Whether a mark begins its line, behind a bullet or another mark at most, and words follow on that line."""
    line, rest = text[: mark.start].rpartition("\n")[2], text[mark.end :].partition("\n")[0]
    return bool(_BULLET_ALONE.fullmatch(without_marks(line))) and bool(words(without_marks(rest)))


def without_marks(text: str) -> str:
    return _MARK.sub(lambda match: "" if _cited(match) else match.group(), text)


def _cited(match: re.Match[str]) -> list[int]:
    """The numbers of a mark; none for [9-1], which counts down and is no mark."""
    found: list[int] = []
    for part in re.split(r"[,;]", match.group(1) or match.group(2)):
        limits = _RANGE.fullmatch(part.strip())
        first, last = map(int, limits.groups() if limits else (part, part))
        if last < first:
            return []
        found += range(first, last + 1)
    return found


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters, cut at a word, with … where something is missing."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    cut = line[: width - 1].rsplit(" ", 1)[0] or line[: width - 1]
    return cut.rstrip(" ,;:") + "…"


def printable(text: str) -> str:
    """Without ANSI sequences and control characters but newline and tab: nothing read may drive a terminal.

    Bidirectional overrides (Unicode TR 9, section 2) go too: they make a text read otherwise than it is.
    """
    return re.sub("[\u202a-\u202e\u2066-\u2069]", "", _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def plural(count: int, noun: str, many: str = "") -> str:
    """A count with its noun: 1 passage, 2 passages, 2 entries (`many` where -s is wrong)."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def joined(parts: Iterable[str], last: str = "and") -> str:
    """A list in words: a, b and c."""
    items = list(parts)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}" if items else ""
