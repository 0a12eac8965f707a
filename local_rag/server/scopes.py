"""What a chat is asked of: its index, its files and its conditions, kept with each of its questions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_rag.core.errors import LocalRagError
from local_rag.server.documents import file_of
from local_rag.server.listings import safe_line
from local_rag.server.workspace import Workspace
from local_rag.text.display import is_url, joined, plural

NOT_KEPT = {"question", "thread", "stream", "detail"}
"""Fields of a question that the next one of its chat does not take over."""
DEFAULT = "default"
NAMED = 2
"""Folders that name an index."""


@dataclass(frozen=True)
class IndexName:
    """What an index is called above the question box, and how many files it holds, without web pages."""

    label: str
    files: int


def index_names(workspace: Workspace) -> dict[str, IndexName]:
    """Return them by index, of those that can be opened. The default one is called by the folders that it holds."""
    names = {}
    for name in workspace.indexes():
        with suppress(LocalRagError):
            listing = workspace.files.of(workspace.settings_of(name).index_path)
            folders = [Path(root.path).name for root in listing.roots]
            more = [plural(len(folders) - NAMED, "more folder")] if len(folders) > NAMED else []
            label = joined([*folders[:NAMED], *more]) if name == DEFAULT and folders else name
            names[name] = IndexName(safe_line(label), sum(not is_url(path) for path in listing.files))
    return names


def scope_view(workspace: Workspace, scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scope of a question with the names of its files; those that left every index are left out."""
    files = []
    for identity in scope.get("files", ()):
        with suppress(LocalRagError):
            listing, path = file_of(identity, workspace)
            files.append({"file_id": identity, "label": safe_line(listing.label(path))})
    texts = {name: ", ".join(value) if isinstance(value, list) else value for name, value in scope.items()}
    return texts | ({"files": files} if files or "files" in scope else {})
