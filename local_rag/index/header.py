"""The header of a passage: what its document and its place in it are called. It is embedded beside the text."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from local_rag.index.names import name_words
from local_rag.text.display import shorten
from local_rag.text.urls import is_url
from local_rag.text.words import words

if TYPE_CHECKING:
    from langchain_core.documents import Document

HEADER_WEIGHT = 0.3
"""How much of the header's vector is added to that of the text: unit(text + HEADER_WEIGHT * header)."""

DOCUMENT_LENGTH = 160
"""Characters of a document's header. Of 200 characters of a title the first 150 tell it from others."""

HEADER_LENGTH = 240
"""Characters of a passage's header, about 60 tokens of English: within the 254 of MiniLM's window in any script."""


def document_header(path: str, title: str) -> str:
    """The words of the file's name and the document's title, "" where neither says anything.

    Where one of them repeats all of the other, the longer stands alone: "PEP 572 – Assignment Expressions" of
    pep-0572.rst. `path` may be the URL of a page. At most DOCUMENT_LENGTH characters.
    """
    name, title = name_words(path), " ".join(title.split())
    if is_url(title) or title.casefold() in (path.casefold(), path.replace("\\", "/").rpartition("/")[2].casefold()):
        title = ""
    in_name, in_title = _forms(words(" ".join(name))), _forms(words(title))
    if in_name.issuperset(words(title)):
        title = ""
    elif all(in_title & _forms(words(word)) for word in name):
        name = []
    return shorten(_sentences([" ".join(name), title]), DOCUMENT_LENGTH)


def passage_header(document_header: str, heading: str) -> str:
    """The header of a passage: that of its document and the heading path "Chapter > Section" that it begins in.

    The outer headings that only repeat the document's header are left out, and so are those that do not fit: what is
    nearest to the passage stays. At most HEADER_LENGTH characters.
    """
    known = _forms(words(document_header))
    path = [part for part in heading.split(" > ") if part.strip()]
    while path and known.issuperset(words(path[0])):
        path.pop(0)
    room = HEADER_LENGTH - len(document_header) - 2
    while len(path) > 1 and len(" > ".join(path)) > room:
        path.pop(0)
    return shorten(_sentences([document_header, shorten(" > ".join(path), room) if path else ""]), HEADER_LENGTH)


def _forms(spelled: list[str]) -> set[str]:
    """Words, numbers without leading zeros, and two words written as one."""
    numbers = {word.lstrip("0") for word in spelled if word.isdecimal()}
    return {*spelled, *numbers, *(first + second for first, second in pairwise(spelled))}


def _sentences(parts: list[str]) -> str:
    text = ""
    for part in filter(None, parts):
        text += f"{'' if text[-1] in '.!?…:' else '.'} {part}" if text else part
    return text


def head(document: Document) -> str:
    """What a passage belongs to, in one line: the words of its file's name, title and headings, author and date."""
    named = name_words(str(document.metadata.get("source") or ""))
    about = (str(document.metadata.get(key) or "") for key in ("title", "heading", "author", "date"))
    return " ".join(filter(None, [*named, *about]))
