"""What doctor says of an index on a server: who may do what, and the SQL that an administrator runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from local_rag.config.server_index import ServerIndex
from local_rag.diagnostics.check import Check
from local_rag.index.index import Index
from local_rag.index.store import reads
from local_rag.index.store.database import Database
from local_rag.text.display import joined, plural


class ServerReport(NamedTuple):
    """What a server says of itself and of an index: its grants are (role, privileges, number of tables)."""

    version: str
    pgvector: str
    secured: int
    grants: list[tuple[str, str, int]]
    elsewhere: list[str]


def server_checks(index: Index) -> Iterator[Check]:
    """Nothing for an index in a folder."""
    if not isinstance(index.path, ServerIndex):
        return
    from local_rag.index.postgres import schema

    server, found = index.path.server, index.read(_server)
    secured = f"row-level security on {plural(found.secured, 'table')}"
    yield Check("server", "ok", f"PostgreSQL {found.version}, pgvector {found.pgvector}, {secured}")
    for kind in ("reader", "writer"):
        role = schema.role(server, kind)
        granted = next(
            (f"{what} on {plural(count, 'table')}" for name, what, count in found.grants if name == role), ""
        )
        fix = "" if granted else _lines(schema.roles_sql(server))
        yield Check(
            kind, "ok" if granted else "note", f"{role}: {granted or 'not there: nobody but its owner reads'}", fix
        )
    here = [n for n in schema.partitions() if f"chunks_{n}" not in found.elsewhere]
    where = f"{len(here)} of {plural(schema.PARTITIONS, 'partition')} here"
    others = f", elsewhere {joined(found.elsewhere)}" if found.elsewhere else ""
    there, then = schema.server_sql(server, index.read(reads.settings).dimension, here[-1] if here else 0)
    fix = f"-- to move one, on the other server:\n{_lines(there)}\n-- then here:\n{_lines(then)}"
    yield Check("partitions", "ok", where + others, fix)


def _server(db: Database) -> ServerReport:
    of_index = "FROM pg_class AS c WHERE relnamespace = current_schema()::regnamespace"
    acl = "aclexplode(c.relacl) AS acl"
    grants = (
        "SELECT pg_get_userbyid(grantee), string_agg(DISTINCT privilege_type, ', '), count(DISTINCT c.oid)"
        f" FROM pg_class AS c, {acl} WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
        " GROUP BY 1 ORDER BY 1"
    )
    return ServerReport(
        db.execute("SHOW server_version").fetchone()[0],
        db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()[0],
        db.execute(f"SELECT count(*) {of_index} AND relrowsecurity").fetchone()[0],
        db.execute(grants).fetchall(),
        [name for (name,) in db.execute(f"SELECT relname {of_index} AND relkind = 'f' ORDER BY 1")],
    )


def _lines(sql: str) -> str:
    """One statement on each line."""
    return "\n".join(f"{' '.join(each.split())};" for each in sql.split(";\n") if each.strip()).replace(";;", ";")
