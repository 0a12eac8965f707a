"""A text that is read from left to right, cut where nodes stand in it and where highlights begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from local_rag.text.display import printable

Node = dict[str, Any]
"""{"t": kind, "c": children, "s": text of text, code, pre and doubt, "n": number of a cite, "href": of a link}."""


class Insertion(NamedTuple):
    """A node that stands at a code point of the text, and how many code points it takes the place of."""

    start: int
    end: int
    nodes: tuple[Node, ...]


@dataclass
class MarkedText:
    """`insertions` and `highlights` are in the order of the text; it has been read up to the code point `cursor`."""

    text: str
    insertions: list[Insertion]
    highlights: list[tuple[int, int]]
    cursor: int = 0

    def skip(self, content: str) -> None:
        """Read on behind a bit that is shown otherwise, with no node in it."""
        place = self.text.find(content, self.cursor)
        self.cursor = place + len(content) if place >= 0 else self.cursor

    def read(self, content: str, written: str = "") -> Iterator[Node]:
        """Text cut at marks, doubts and highlights. `written` is how it stands in the text, if otherwise."""
        place = self.text.find(written or content, self.cursor)
        if place < 0:
            yield from plain_nodes(content)
            return
        yield from self.due(place)
        self.cursor = place + len(written or content)
        if written:
            yield from self._cut(content, place, self.cursor) if self._marked(place) else plain_nodes(content)
            return
        position = place
        while self.insertions and self.insertions[0].start < self.cursor:
            insertion = self.insertions.pop(0)
            if insertion.end > self.cursor:
                break
            yield from self._cut(self.text[position : insertion.start], position, insertion.start)
            yield from insertion.nodes
            position = max(position, insertion.end)
        yield from self._cut(self.text[position : self.cursor], position, self.cursor)

    def due(self, place: int) -> Iterator[Node]:
        """What stands between two bits of text, such as a doubt behind a word in bold; a mark there stays text."""
        while self.insertions and self.insertions[0].start <= place:
            if self.insertions[0].end > self.insertions[0].start:
                if self.insertions[0].end > place:
                    return
                self.insertions.pop(0)
                continue
            yield from self.insertions.pop(0).nodes

    def move_to(self, place: int, *, including: bool = False) -> None:
        """Read on from a place, without the marks before it, which stand in code or in what is not shown.

        With `including`, a mark that ends there is dropped, too.
        """
        self.cursor = place
        self._drop_until(place if including else place - 1)

    def _drop_until(self, place: int) -> None:
        self.insertions = [each for each in self.insertions if each.end > place or each.start == each.end]

    def _marked(self, place: int) -> bool:
        return any(start <= place < end for start, end in self.highlights)

    def _cut(self, content: str, start: int, end: int) -> Iterator[Node]:
        """A bit of text, in marks where highlights are."""
        if end - start != len(content):  # an escaped character is one behind two
            yield {"t": "mark", "c": [*plain_nodes(content)]}
            return
        borders = {border for span in self.highlights for border in span if start < border < end}
        for first, last in zip([start, *sorted(borders)], [*sorted(borders), end], strict=True):
            nodes = [*plain_nodes(content[first - start : last - start])]
            yield from [{"t": "mark", "c": nodes}] if nodes and self._marked(first) else nodes


def plain_nodes(content: str) -> Iterator[Node]:
    """A bit of text as it is; nothing where it is empty."""
    if content:
        yield {"t": "text", "s": content}


def same_length(text: str) -> str:
    """A text whose control and bidirectional characters are replaced, so that offsets stay what they are."""
    if printable(text) == text:
        return text
    return "".join(
        " " if character == "\r" else character if printable(character) == character else "\ufffd" for character in text
    )
