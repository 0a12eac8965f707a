"""Check an index on a server: who has which rights, and the SQL for an administrator."""

from __future__ import annotations

from collections.abc import Iterator

from local_rag.config.server_index import ServerIndex
from local_rag.diagnostics.check import Check
from local_rag.index.index import Index
from local_rag.text.display import plural


def server_checks(index: Index) -> Iterator[Check]:
    """Yield the checks of an index on a server; none for an index in a folder."""
    if not isinstance(index.path, ServerIndex):
        return
    from local_rag.index.store.postgres import schema
    from local_rag.index.store.postgres.store import PostgresStore

    assert isinstance(index.store, PostgresStore)
    server, (version, pgvector, guarded, grants) = index.path, index.store.described()
    secured = f"row-level security on {plural(guarded, 'table')}"
    yield Check("server", "ok", f"PostgreSQL {version}, pgvector {pgvector}, {secured}")
    for kind in ("reader", "writer"):
        role = schema.role(server, kind)
        granted = next((f"{what} on {plural(count, 'table')}" for name, what, count in grants if name == role), "")
        fix = "" if granted else _lines(schema.roles_sql(server))
        yield Check(
            kind, "ok" if granted else "note", f"{role}: {granted or 'not there: nobody but its owner reads'}", fix
        )


def _lines(sql: str) -> str:
    """Return the SQL with one statement per line."""
    return "\n".join(f"{' '.join(each.split())};" for each in sql.split(";\n") if each.strip()).replace(";;", ";")
