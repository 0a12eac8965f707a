"""Commands about an index, as people type them into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from local_rag.config.server_index import IndexAddress
from local_rag.config.settings import data_folder, name_of


def index_name(index: IndexAddress) -> str:
    """Return the name of an index for `--index`, quoted for a shell."""
    return shlex.quote(name_of(index, data_folder()))


def anew(index: IndexAddress, roots: Iterable[str] = (), options: str = "") -> str:
    """Return the command that makes an index, of these roots where they are known."""
    paths = " ".join(map(shlex.quote, roots)) or "PATH…"
    return f"local-rag index {paths}{options} --index {index_name(index)}"
