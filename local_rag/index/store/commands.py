"""Commands about an index, as they are typed into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from local_rag.config.server_index import IndexAddress
from local_rag.config.settings import data_folder, name_of


def index_name(index: IndexAddress) -> str:
    """How `--index` names an index."""
    return shlex.quote(name_of(index, data_folder()))


def anew(index: IndexAddress, roots: Iterable[str] = (), options: str = "") -> str:
    """The command that makes an index."""
    paths = " ".join(map(shlex.quote, roots)) or "PATH…"
    return f"local-rag index {paths}{options} --index {index_name(index)}"
