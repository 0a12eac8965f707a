"""A question as rules make it, and what they all ask of a passage: its plain lines, its language, its document."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from local_rag.evaluation.making.wording import is_english
from local_rag.index.store.schema import Passage
from local_rag.text.sentences import Span
from local_rag.text.urls import is_page


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


def is_in_english(passage: Passage) -> bool:
    """By what is no table."""
    return is_english("\n".join(line for line in passage.text.splitlines() if "|" not in line))


def plain_line(sentence: str) -> str:
    """On one line, without the marks of a list, of links and of emphasis."""
    plain = re.sub(r"^(?:[-*+•◦▪‣–>]|\(?\d{1,3}[.)])\s+", "", " ".join(sentence.split()))
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
