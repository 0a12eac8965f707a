"""A question as rules make it, and what makers of questions ask of a passage: its kind, its language, its document."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath

from local_rag.index.store.schema import Passage
from local_rag.text.display import is_page
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.numbers import numbers
from local_rag.text.sentences import Span, sentences
from local_rag.text.words import BULLET, fold, words

ENGLISH = 0.15
"""Least share of English function words in English text; tables and other languages have fewer."""
ALIKE = 0.8
"""Least share of the copied words that a part of the text must have to be taken for the original."""
LEAST_ALIKE = 4
"""Words from which a copy may differ at all: a shorter one must be exact."""

_WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")
_SIGNS_BEFORE, _SIGNS_AFTER = "$€£−-§", "%°€"
_ENTRY = re.compile(r"(?:\.[ .]{3,}|…+|\s{3,}|\t|\|)\s*(?:\d{1,4}|[ivxl]{1,6})\s*\|?$", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")


@dataclass(frozen=True)
class Idea:
    """A question, the words that answer it (empty for a heading), where they stand in the passage, and its kind."""

    question: str
    answer: str
    quote: Span
    kind: str
    term: str = ""
    """What is defined, as it is written inside a sentence; of a heading its words; empty for other kinds."""
    many: bool = False
    about: str = ""
    """Of a heading the document that it is from."""


def is_contents(text: str) -> bool:
    """Whether a passage is (mostly) a table of contents or an index: lines that end in a page number."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return len(lines) > 2 and sum(bool(_ENTRY.search(line)) for line in lines) * 2 >= len(lines)


def is_prose(text: str) -> bool:
    """Whether most of a passage is whole sentences, not a table, a list of words, or code."""
    if is_contents(text):
        return False
    whole = [sentence for span in sentences(text) if _whole(sentence := span.of(text))]
    return sum(map(len, whole)) * 2 >= len(text.strip()) > 0


def _whole(sentence: str) -> bool:
    return len(sentence.split()) >= 5 and bool(_SENTENCE.search(sentence)) and "|" not in sentence


def is_english(text: str) -> bool:
    """Whether enough of the words are English function words."""
    every = words(text)
    return len(every) >= 5 and sum(word in STOP_WORDS for word in every) >= ENGLISH * len(every)


def is_in_english(passage: Passage) -> bool:
    """By what is no table."""
    return is_english("\n".join(line for line in passage.text.splitlines() if "|" not in line))


def plain_line(sentence: str) -> str:
    """On one line, without the marks of a list, of links and of emphasis."""
    plain = re.sub(rf"^(?:>|{BULLET})\s+", "", " ".join(sentence.split()))
    plain = re.sub(r"!?\[([^\]]+)\]\([^)\s]*\)", r"\1", plain)
    return re.sub(r"(?<!\w)([*_`]{1,3})(?=\S)([^*`]*?\S)\1(?!\w)", r"\2", plain)


def document_name(passage: Passage) -> str:
    """What a person calls the document: its title, else its outermost heading, else the name of its file.

    Only the title of a web page ("Leases - Example Ltd") is cut: a document's own heading is its name.
    """
    top = passage.heading.partition(" > ")[0].strip()
    title = passage.title.strip()
    if title and title != top:
        title = re.split(r"\s[–—|-]\s|: ", title)[0]
    named = title or top
    if not named and not is_page(passage.source):
        named = re.sub(r"[-_.]+", " ", PurePath(passage.source).stem).strip()
    return plain_line(named).strip(" .:?!")


def located(copied: str, text: str) -> Span | None:
    """Where these words stand in a text, but for case, marks and white space; None where they do not.

    A copy of four words or more may differ in one of five, never in a number: the words most like it are taken.
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    there, wanted = [fold(text[start:end]) for start, end in spans], list(map(fold, _WORD.findall(copied)))
    size = len(wanted)
    if not 0 < size <= len(there):
        return None
    starts = range(len(there) - size + 1)
    first = next((start for start in starts if there[start : start + size] == wanted), None)
    if first is None and size >= LEAST_ALIKE:
        first = _most_alike(there, wanted)
    return None if first is None else _with_signs(text, spans[first][0], spans[first + size - 1][1])


def _most_alike(there: list[str], wanted: list[str]) -> int | None:
    size, count = len(wanted), Counter(wanted)
    best = max(range(len(there) - size + 1), key=lambda start: _shared(there[start : start + size], count))
    window = there[best : best + size]
    if _shared(window, count) < ALIKE * size or numbers(" ".join(wanted)) != numbers(" ".join(window)):
        return None
    return best


def _shared(window: list[str], count: Counter[str]) -> int:
    return (Counter(window) & count).total()


def _with_signs(text: str, start: int, end: int) -> Span:
    """A number keeps its sign, its currency or its percent."""
    if start and text[start - 1] in _SIGNS_BEFORE and text[start].isdigit():
        start -= 1
    if end < len(text) and text[end] in _SIGNS_AFTER:
        end += 1
    return Span(start, end)


def sentence_at(text: str, span: Span) -> Span:
    """The sentence, or the sentences, of a text that hold a span."""
    touched = [sentence for sentence in sentences(text) if sentence.start < span.end and sentence.end > span.start]
    return Span(touched[0].start, touched[-1].end) if touched else span
