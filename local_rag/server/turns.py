"""Build a turn of a chat for the page: the scope of the question, its answer, and the table rows that it quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from local_rag.core.answer import Answer, Citation
from local_rag.core.errors import LocalRagError
from local_rag.index.path_labels import PathLabel
from local_rag.index.store.protocol import Store
from local_rag.server.answers import answer_view, file_id_of, is_table, table
from local_rag.server.documents import file_of, located
from local_rag.server.listings import safe_line
from local_rag.server.originals import number_of
from local_rag.server.workspace import Workspace
from local_rag.text.display import is_url, joined, plural
from local_rag.text.nodes import Node

NOT_KEPT = {"question", "thread", "stream", "detail"}
"""The fields of a question that the next question of its chat does not inherit."""
DEFAULT = "default"
NAMED = 2
"""The most folders in the label of an index."""
ROWS = 5
"""The most rows that are shown beside an answer."""
NUMBER = attrgetter("number")


@dataclass(frozen=True)
class IndexName:
    """Hold the label of an index above the question box, and its number of files without web pages."""

    label: str
    files: int


def index_names(workspace: Workspace) -> dict[str, IndexName]:
    """Return the labels of all indexes that can be opened; the default index is labelled with its folders."""
    names = {}
    for name in workspace.indexes():
        with suppress(LocalRagError):
            listing = workspace.listing(name)
            folders = [Path(root.path).name for root in listing.roots]
            more = [plural(len(folders) - NAMED, "more folder")] if len(folders) > NAMED else []
            label = joined([*folders[:NAMED], *more]) if name == DEFAULT and folders else name
            names[name] = IndexName(safe_line(label), sum(not is_url(path) for path in listing.files))
    return names


def scope_view(workspace: Workspace, scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scope of a question with the names of its files, without files that are in no index now."""
    files = []
    for identity in scope.get("files", ()):
        with suppress(LocalRagError):
            listing, path = file_of(identity, workspace)
            files.append({"file_id": identity, "label": safe_line(listing.label(path))})
    texts = {name: ", ".join(value) if isinstance(value, list) else value for name, value in scope.items()}
    return texts | ({"files": files} if "files" in scope else {})


def turn_view(
    workspace: Workspace, scope: Mapping[str, Any], answer: Answer, label: PathLabel, *, turn: int, at: str = ""
) -> dict[str, Any]:
    """Return an answer as `answer_view` does, with its scope, and with the rows of its quotes by citation number."""
    view = answer_view(answer, label, turn=turn, at=at) | {"scope": scope_view(workspace, scope)}
    tables = {}
    for number, citations in groupby(sorted(answer.citations, key=NUMBER), NUMBER):
        with suppress(LocalRagError):
            tables[number] = _rows(workspace, [*citations])
    for block in view["blocks"]:
        if block["kind"] == "quotes":
            block["tables"] = {number: nodes for number, nodes in tables.items() if nodes}
    return view


def _rows(workspace: Workspace, citations: Sequence[Citation]) -> Sequence[Node]:
    """Return the first rows that hold quotes of one passage, below the header of their table."""
    first = citations[0]
    if not (is_table(first.source) and file_id_of(first)):
        return []
    listing, path = located(workspace, file_id_of(first))
    documents = listing.read(Store.documents, path)
    document = documents[number_of(listing, documents, first.chunk_id) or 0]
    text, rows = document.text, dict[tuple[int, int], list[tuple[int, int]]]()
    for start, end in chain.from_iterable(each.rows or [(each.start, each.end)] for each in citations):
        line = text.rfind("\n", 0, start) + 1, (text.find("\n", end) + 1 or len(text) + 1) - 1
        rows.setdefault(line, []).append((start, end))
    if any(text[each.start : each.end] != each.quote for each in citations if not each.rows):
        return []
    head = text.rfind("\n\n", 0, min(rows)[0]) + 2 if "\n\n" in text[: min(rows)[0]] else 0
    shown, marked = text[head:].split("\n", 1)[0], []
    for (start, end), spans in sorted(rows.items())[:ROWS]:
        marked += [(each + len(shown) + 1 - start, last + len(shown) + 1 - start) for each, last in spans]
        shown += f"\n{text[start:end]}"
    more: Node = {"t": "p", "c": [{"t": "text", "s": f"and {plural(len(rows) - ROWS, 'more row')}"}]}
    return [*table(shown, marked), *([more] if len(rows) > ROWS else [])]
