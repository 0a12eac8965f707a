"""Render the passages of a prompt, with the numbers under which a model sees them.

A server does not read the beginning of a prompt again up to the first change. So a prompt for writing or checking after
a grading shows the passages that were graded, up to the last one that counts; the task names the numbers that count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from local_rag.text.display import shorten
from local_rag.text.fences import fenced
from local_rag.text.marks import marks
from local_rag.text.markup import plain
from local_rag.text.metadata import chunk_id, file_name

if TYPE_CHECKING:
    from langchain_core.documents import Document


class Passages(NamedTuple):
    """Hold the passages of a prompt, numbered from 1; `numbers` are those of the documents that the task is about, in
    their order.
    """

    documents: tuple[Document, ...]
    numbers: tuple[int, ...]

    @classmethod
    def plain(cls, documents: Sequence[Document]) -> Passages:
        """Make Passages of these documents alone."""
        return cls(tuple(documents), tuple(range(1, len(documents) + 1)))

    @classmethod
    def among(cls, graded: Sequence[Document], documents: Sequence[Document]) -> Passages:
        """Find the documents among those that were graded last; use the documents alone if one of them is not there."""
        known = {_key(document): number for number, document in enumerate(graded, start=1)}
        numbers = tuple(known.get(_key(document), 0) for document in documents)
        if not numbers or 0 in numbers or len(set(numbers)) < len(numbers):
            return cls.plain(documents)
        return cls(tuple(graded[: max(numbers)]), numbers)

    @property
    def order(self) -> list[int]:
        """The positions, the most wanted first: by rank those that count, then the others."""
        scores = [float(document.metadata.get("rank_score") or 0) for document in self.documents]
        ranked = sorted((number - 1 for number in self.numbers), key=lambda position: -scores[position])
        return ranked + [position for position in range(len(scores)) if position not in ranked]

    def counting(self, kept: Sequence[int]) -> list[int]:
        """Return the numbers that count among the positions in a prompt; empty if all of them do."""
        counting = [position + 1 for position in kept if position + 1 in self.numbers]
        return counting if len(counting) < len(kept) else []

    def numbers_of(self, cited: Sequence[int]) -> list[int]:
        """Return the numbers in the prompt for the documents that a text cites."""
        return [self.numbers[number - 1] for number in cited if 1 <= number <= len(self.numbers)]

    def renumbered(self, text: str) -> str:
        """Replace a model's numbers by those of the documents of the task.

        A passage that does not count, or is not there, gets a number that is not there either.
        """
        positions = {number: position for position, number in enumerate(self.numbers, start=1)}
        for span, cited in reversed(marks(text)):
            numbers = ", ".join(str(positions.get(number, len(self.documents) + number)) for number in cited)
            blank = re.match(r"\s*", text[span.start : span.end])
            text = f"{text[: span.start]}{blank.group() if blank else ''}[{numbers}]{text[span.end :]}"
        return text

    def renumbered_stream(self, bits: Iterator[str | None]) -> Iterator[str | None]:
        """Renumber an answer that arrives in parts: a word is held back until it is complete, a mark until it ends."""
        if len(self.numbers) == len(self.documents):
            yield from bits
            return
        held = ""
        for bit in bits:
            if bit is None:
                held = ""
                yield None
                continue
            held += bit
            last = _UNFINISHED.search(held)
            ready, held = (held[: last.start()], held[last.start() :]) if last else (held, "")
            if ready:
                yield self.renumbered(ready)
        if held:
            yield self.renumbered(held)


_UNFINISHED = re.compile(r"(?:[^\s\[【]|[\[【][^\]】]{0,40}(?:[\]】]|$))+$")
"""The last word of a text, with the brackets in it and behind it."""


def _key(document: Document) -> tuple[str, str]:
    return chunk_id(document), document.page_content


def rendered(documents: Sequence[Document], positions: Sequence[int]) -> Iterator[str]:
    """Yield the passages at these positions, numbered from 1.

    Of passages with the same words, such as those of copies of a file, only the first is given in full.
    """
    first: dict[str, int] = {}
    for position in positions:
        known = first.setdefault(" ".join(documents[position].page_content.split()), position)
        yield _rendered(position + 1, documents[position], known + 1 if known != position else None)


def _rendered(number: int, document: Document, copy_of: int | None) -> str:
    """Return one passage with its number, its origin and the known properties of its document.

    Its text and properties are fenced: a closing mark inside them is made harmless.
    """
    metadata = document.metadata
    source = file_name(document)
    where = "a fallback corpus" if metadata.get("fallback_corpus") else "the web"
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
    attributes = ((key, shorten(fenced(str(value)).replace('"', "'"), 100)) for key, value in facts.items() if value)
    written = "".join(f' {key}="{value}"' for key, value in attributes)
    text = f"The same text as passage {copy_of}." if copy_of else fenced(plain(document.page_content))
    return f'<passage n="{number}"{written}>\n{text}\n</passage>'
