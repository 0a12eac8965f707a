"""What the benchmark of a question asks and finds: passages of this project's own texts, in a fixed order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.documents import Catalog, WebResults

PROJECT = Path(__file__).parents[2]
TEXTS = (
    "local_rag/diagnostics/demo/documents/self-rag.md",
    "local_rag/diagnostics/demo/documents/local-rag.txt",
    "docs/design.md",
)
QUESTIONS = (
    "What does the method do with a passage that does not help to answer the question?",
    "And how does it check the answer that it has written from the others?",
)
LENGTH = 1100
"""Characters of a passage: about 250 tokens of MiniLM, as in the tutorials."""


def pieces(file: Path | None) -> list[str]:
    """A text cut into passages of about that length, between words."""
    files = [file] if file else [PROJECT / name for name in TEXTS]
    found = []
    for one in files:
        text = one.read_text(encoding="utf-8")
        while len(text) > LENGTH:
            end = text.rfind(" ", 0, LENGTH)
            found.append(text[:end].strip())
            text = text[end:]
    return found


class Passages:
    """A corpus that always finds the same passages, less what is excluded; turned round for a second question."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self._turned = True

    def turn(self, chat: bool) -> None:
        """A new question; every other one of a chat finds the same passages ranked the other way round."""
        self._turned = chat and not self._turned

    def search(
        self, query: str, k: int, *, within: Sequence[str] = (), exclude: Collection[str] = ()
    ) -> list[Document]:
        from langchain_core.documents import Document

        places = [place for place in range(len(self.texts)) if str(place) not in exclude][:k]
        if self._turned:
            places.reverse()
        return [
            Document(
                self.texts[place],
                metadata={
                    "source": f"/notes/handbook-{place // 5}.md", "title": "", "page": None, "url": "",
                    "heading": "How it works", "start": 0, "end": len(self.texts[place]), "chunk_id": str(place),
                    "score": 0.6, "rank_score": 1 / (60 + rank), "origin": "files",
                },
            )
            for rank, place in enumerate(places)
        ]  # fmt: skip

    def catalog(self) -> Catalog:
        from local_rag.core.documents import Catalog

        words = " ".join(self.texts).split()
        names = tuple(f"Handbook {number}" for number in range(1, 9))
        return Catalog(8, len(self.texts), names, tuple(sorted(set(words))[100:124]), headings=names)

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(terms, 1)

    def close(self) -> None:
        """Nothing is open."""


class Web:
    """A web that could be searched and never is: it is on offer, so that the router has a choice."""

    enabled, engine, fallback_corpus = True, "none", ""

    def words(self, query: str) -> str:
        return query

    def search(self, query: str, k: int) -> WebResults:
        raise NotImplementedError
