"""What stands first in a prompt: passages between their fences, what an index holds, a chat so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from local_rag.core.documents import Catalog
from local_rag.core.generation import Turn
from local_rag.text.display import LONGEST_ABOUT, shorten, summary
from local_rag.text.fences import fenced

if TYPE_CHECKING:
    from langchain_core.documents import Document

SEEN = 24
"""Frequent words of an index that the router is shown; half as many headings."""


def passages(documents: Sequence[Document], numbers: Sequence[int]) -> Iterator[str]:
    """The passages of these numbers; of those with the same words, as copies of a file have, only the first in full."""
    first: dict[str, int] = {}
    for number in numbers:
        known = first.setdefault(" ".join(documents[number].page_content.split()), number)
        yield passage(number + 1, documents[number], known + 1 if known != number else None)


def passage(number: int, document: Document, copy_of: int | None = None) -> str:
    """One passage with its number, where it is from and what its document says of itself, where that is known.

    It is fenced: a closing mark inside it, and in what a file says, is made harmless.
    """
    metadata = document.metadata
    source = str(metadata.get("source", "")).replace("\\", "/").rstrip("/").rpartition("/")[2]
    where = "a second source" if metadata.get("second_source") else "the web"
    web = f"{where}, not the person's files" if metadata.get("origin") == "web" else None
    title, heading = str(metadata.get("title") or ""), str(metadata.get("heading") or "")
    facts = {
        "from": source,
        "title": "" if heading.startswith(title) or title == source else title,  # most titles are the first heading
        "author": metadata.get("author"),
        "date": metadata.get("date"),
        "page": metadata.get("page"),
        "heading": heading,
        "found": web,
    }
    shown = "".join(f' {key}="{_attribute(str(value))}"' for key, value in facts.items() if value)
    text = f"The same text as passage {copy_of}." if copy_of else fenced(document.page_content)
    return f'<passage n="{number}"{shown}>\n{text}\n</passage>'


def _attribute(value: str) -> str:
    return shorten(fenced(value).replace('"', "'"), 100)


def picture(catalog: Catalog) -> str:
    """What is in the index, in a few words: as its owner says it, then as its catalog does; last what comes near.

    It stands first, and what is the same for every question stands first in it. Its length is bounded.
    """
    about = f"{shorten(catalog.about, LONGEST_ABOUT)}\n" if catalog.about else ""
    headings = "; ".join(shorten(heading, 40) for heading in catalog.headings[: SEEN // 2])
    terms = ", ".join(catalog.terms[:SEEN])
    below = f"headings: {headings}; " if headings else ""
    known = f"The person's own files: {about}{summary(catalog)}; {below}frequent words: {terms}"
    return f"{known}\n\n{_near(catalog)}" if catalog.passages else known


def _near(catalog: Catalog) -> str:
    """What a quick search for the question brings: where it is from and how similar it is, not what it says."""
    lines = ["What comes nearest to the question in these files:"]
    for document in catalog.passages:
        metadata = document.metadata
        title = metadata.get("title") or str(metadata.get("source", "")).replace("\\", "/").rpartition("/")[2]
        heading = str(metadata.get("heading") or "").rpartition(" > ")[2]
        named = shorten(str(title), 60) + (f", {shorten(heading, 60)}" if heading and heading != title else "")
        lines.append(f"- {named}: similarity {float(metadata.get('score') or 0.0):.2f}")
    return "\n".join(lines)


def chat_so_far(history: Sequence[Turn]) -> str:
    """These turns are what fits of a chat. They stand first, so that the next follow-up shares them.

    For a question to the web they come without their answers, which are not shown then.
    """
    lines = [
        f"Q: {shorten(turn.question, 400)}" + (f"\nA: {shorten(turn.answer, 400)}" if turn.answer else "")
        for turn in history
    ]
    return "\n".join(["A chat:", *lines])
