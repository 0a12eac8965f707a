"""What was computed from tables is quoted as it is: line by line, each with its mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.engines.extractive.quotes import spoken
from local_rag.text.marks import claims
from local_rag.text.metadata import is_computed

if TYPE_CHECKING:
    from langchain_core.documents import Document

COMPUTED = "it is computed from the table"


def computed_places(documents: Sequence[Document]) -> list[int]:
    """The numbers (from 0) of the passages that were computed."""
    return [number for number, document in enumerate(documents) if is_computed(document)]


def computed_answers(documents: Sequence[Document], failed: str) -> list[str]:
    """What was computed from tables, each line with its mark; nothing that a failed draft held."""
    drafts = spoken(failed)
    said = [(number, documents[number].page_content) for number in computed_places(documents)]
    new = [(number + 1, text) for number, text in said if spoken(text) not in drafts]
    return ["\n".join(f"{line} [{number}]" if line else "" for line in text.split("\n")) for number, text in new]


def is_all_computed(generation: str, documents: Sequence[Document]) -> bool:
    """Whether a text has no sentence but those that were computed."""
    held = spoken(" \n".join(documents[number].page_content for number in computed_places(documents)))
    return all(spoken(claim.text) in held for claim in claims(generation))
