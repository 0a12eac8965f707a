"""`local-rag status`: what an index holds."""

from __future__ import annotations

from local_rag.cli.options import IndexOption, JsonOption, settings_of
from local_rag.core.serialization import to_plain


def status(index: IndexOption = None, json: JsonOption = False) -> int:
    """Show what is indexed, where the index lies, how big it is, and which model made it."""
    from local_rag.index.index import Index
    from local_rag.runtime.rag import served_by
    from local_rag.terminal.show import status_lines, write, write_json

    settings = settings_of(index)
    found = Index.inspect(settings.index_path)
    runtime = served_by(settings, found.fingerprint)
    if json:
        write_json(to_plain(found) | {"runtime": runtime})
        return 0
    for line in status_lines(found, runtime):
        write(line)
    return 0
