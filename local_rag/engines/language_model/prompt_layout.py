"""Which passages a prompt shows and under which numbers: those that the server has read already come first.

A server does not read the beginning of a prompt again that it has read before, up to the first change. So the prompts
about one question keep the list that was graded: a passage that was rejected before one that was kept stays where it
was and is named as rejected; what was rejected behind the last one kept is left out, which costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_rag.core import question_memory
from local_rag.text.marks import marks

if TYPE_CHECKING:
    from langchain_core.documents import Document


@dataclass(frozen=True, slots=True)
class Layout:
    """`shown` are the passages of a prompt in their order, numbered from 1; `used` the positions of those that count.

    The engine's own documents are those that count, in that order: the n-th of them is `shown[used[n - 1]]`.
    """

    shown: tuple[Document, ...]
    used: tuple[int, ...]

    @classmethod
    def plain(cls, documents: Sequence[Document]) -> Layout:
        """All of them, and nothing else."""
        return cls(tuple(documents), tuple(range(len(documents))))

    @property
    def order(self) -> list[int]:
        """The positions, the most wanted first: by rank those that count, then the others."""
        ranks = {position: float(self.shown[position].metadata.get("rank_score") or 0.0) for position in self.used}
        spare = [position for position in range(len(self.shown)) if position not in ranks]
        return sorted(self.used, key=lambda position: -ranks[position]) + spare

    @property
    def spare(self) -> int:
        """How many are shown only because they were read already."""
        return len(self.shown) - len(self.used)

    def only(self, kept: Sequence[int]) -> list[int]:
        """The numbers of those that count among the positions in a prompt; empty where all of them do."""
        counting = [position + 1 for position in kept if position in self.used]
        return counting if len(counting) < len(kept) else []

    def theirs(self, text: str) -> str:
        """A text that cites the engine's documents, with the numbers that the prompt shows."""
        return self._renumbered(text, {own: position + 1 for own, position in enumerate(self.used, start=1)})

    def ours(self, text: str) -> str:
        """What a model wrote, with the numbers of the engine's documents.

        One that was rejected, or is not there, gets a number that is not there either.
        """
        return self._renumbered(text, {position + 1: own for own, position in enumerate(self.used, start=1)})

    def _renumbered(self, text: str, numbers: dict[int, int]) -> str:
        if not self.spare:
            return text
        for span, cited in reversed(marks(text)):
            mark = span.of(text)
            if not mark[0].isspace() and self._is_code(text[: span.start], mark):
                continue
            new = ", ".join(str(numbers.get(number, len(self.shown) + number)) for number in cited)
            blank = text[span.start : span.end].partition("[")[0].partition("【")[0]
            text = f"{text[: span.start]}{blank}[{new}]{text[span.end :]}"
        return text

    def _is_code(self, before: str, mark: str) -> bool:
        """Whether what looks like a mark is an index, x[0], that a passage has too."""
        word = re.search(r"[\w.)\]]+$", before)
        return bool(word) and any(f"{word.group()}{mark}" in document.page_content for document in self.shown if word)


class Layouts:
    """How the prompts of one question show its passages: within the list that was graded last. Chunk ids identify them.

    Lies in the question's memory, so what another question has found, in other files perhaps, is never shown.
    """

    def __init__(self) -> None:
        self._question = ""
        self._graded: tuple[Document, ...] = ()
        self._rejected: frozenset[int] = frozenset()

    def graded(self, question: str, documents: Sequence[Document], rejected: Collection[int]) -> None:
        """These were shown, in this order; the `rejected` positions were found irrelevant."""
        self._question, self._graded, self._rejected = question, tuple(documents), frozenset(rejected)

    def of(self, question: str, documents: Sequence[Document]) -> Layout:
        """How to show these: within the list that was graded, unless that shows as much as it saves reading.

        Nothing but what was rejected is shown besides, and no copy of what counts.
        """
        plain = Layout.plain(documents)
        positions = self._positions(documents) if question == self._question else []
        if not positions or -1 in positions or positions != sorted(set(positions)):
            return plain
        spare = sorted(set(range(positions[-1])) - set(positions))
        copies = {_words(self._graded[position]) for position in spare} & set(map(_words, documents))
        if copies or not self._rejected.issuperset(spare):
            return plain
        saved = self._characters(position for position in positions if spare and position > spare[0])
        if spare and saved <= self._characters(spare):
            return plain
        return Layout(self._graded[: positions[-1] + 1], tuple(positions))

    def _characters(self, positions: Iterable[int]) -> int:
        return sum(len(self._graded[position].page_content) for position in positions)

    def _positions(self, documents: Sequence[Document]) -> list[int]:
        """Where each document stands in the graded list; -1 for one that is not there, or was shortened since."""
        known = {
            (chunk_id, document.page_content): position
            for position, document in enumerate(self._graded)
            if (chunk_id := document.metadata.get("chunk_id"))
        }
        return [known.get((document.metadata.get("chunk_id"), document.page_content), -1) for document in documents]


def layouts() -> Layouts:
    """Those of the question that is being answered; new ones outside a question."""
    return question_memory.current().get(Layouts, Layouts)


def _words(document: Document) -> str:
    return " ".join(document.page_content.split())


LONGEST_MARK = 40
"""Characters of a mark such as [1, 2]; what is longer is no mark."""
_BRACKETS = re.compile(r"[\[【][^\]】]*[\]】]")
_OPEN = re.compile(r"[\[【][^\]】]*$")


class Renumbering:
    """Takes an answer bit by bit and gives it back with our numbers, word by word: a mark may come in several bits."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._held = ""

    def feed(self, text: str) -> str:
        """What is certain by now, perhaps nothing."""
        if not self._layout.spare:
            return text
        self._held += text
        end = _certain(self._held)
        ready, self._held = self._held[:end], self._held[end:]
        return self._layout.ours(ready)

    def end(self) -> str:
        """What was held back."""
        ready, self._held = self._held, ""
        return self._layout.ours(ready)


def _certain(text: str) -> int:
    """Where the last word begins, with what stands in brackets behind it."""
    begun = _OPEN.search(text)
    end = begun.start() if begun and len(text) - begun.start() <= LONGEST_MARK else len(text)
    plain = _BRACKETS.sub(lambda match: "x" * len(match.group()), text[:end])
    return len(plain.rstrip()) if plain[-1:].isspace() else len(re.sub(r"\s*\S+$", "", plain))
