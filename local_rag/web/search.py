"""Searching the web. In this version there is only `Off`: nothing leaves the machine, and no graph takes the edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_rag.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.documents import Document


class Off:
    """No web: the budget for web searches is nothing."""

    enabled = False
    engine = "off"

    def search(self, query: str, k: int) -> list[Document]:
        """Never called by a graph. Raises UsageError."""
        raise UsageError("the web is off")
