"""`local-rag status`: what an index holds."""

from __future__ import annotations

from local_rag.cli.options import IndexOption, JsonOption, settings_of
from local_rag.core.serialization import to_plain


def status(index: IndexOption = None, json: JsonOption = False) -> int:
    """Show what is indexed, where the index lies, how big it is, and which model made it."""
    from local_rag.index.index import Index
    from local_rag.runtime.indexing import command_of
    from local_rag.runtime.opening import existing_index, served_by
    from local_rag.terminal.console import write_result
    from local_rag.terminal.index_report import status_table

    settings = settings_of(index)
    index_status = Index.inspect(existing_index(settings), outlined=True)
    runtime = served_by(settings, index_status.fingerprint)
    plain = to_plain(index_status) | {"runtime": runtime}
    write_result(plain, [status_table(index_status, runtime, command_of(settings))], as_json=json)
    return 0
