"""The tables of an index on a server, one schema for each index; and the SQL that an administrator runs."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from local_rag.index.store.files import VERSION
from local_rag.index.store.rows import Run
from local_rag.index.store.values import IndexSettings

if TYPE_CHECKING:
    from local_rag.config.server_index import ServerIndex
    from local_rag.core.protocols import Vectors

TABLES = """
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE roots (
    path text COLLATE "C" PRIMARY KEY, excludes text NOT NULL, secrets boolean NOT NULL, follow_links boolean NOT NULL,
    forgotten boolean NOT NULL
);
CREATE TABLE failures (
    path text COLLATE "C" PRIMARY KEY, sha256 text NOT NULL, parser text NOT NULL, reason text NOT NULL
);
CREATE TABLE reported (path text COLLATE "C", reason text, PRIMARY KEY (path, reason));
CREATE TABLE files (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path text COLLATE "C" NOT NULL UNIQUE, container text COLLATE "C" NOT NULL, root text COLLATE "C" NOT NULL,
    sha256 text NOT NULL, size bigint NOT NULL, mtime_ns bigint NOT NULL, ctime_ns bigint NOT NULL,
    inode numeric NOT NULL, warnings text NOT NULL, indexed_at double precision NOT NULL, scans text NOT NULL,
    complete boolean NOT NULL
);
CREATE INDEX ON files (container);
CREATE TABLE documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    file bigint NOT NULL REFERENCES files ON DELETE CASCADE,
    title text NOT NULL, page integer, url text NOT NULL, author text NOT NULL, date text NOT NULL,
    subject text NOT NULL, name text NOT NULL, folders text NOT NULL, language text NOT NULL,
    headings text NOT NULL, lines text NOT NULL, text text NOT NULL, tables bytea NOT NULL
);
CREATE INDEX ON documents (file);
CREATE INDEX ON documents (language);
CREATE TABLE names (
    rowid bigint PRIMARY KEY REFERENCES documents ON DELETE CASCADE, name text NOT NULL, title text NOT NULL,
    words tsvector NOT NULL
);
CREATE INDEX ON names USING gin (words);
CREATE TABLE headers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL REFERENCES documents ON DELETE CASCADE, text text NOT NULL, vector bytea
);
CREATE INDEX ON headers (document);
CREATE INDEX ON headers USING hash (text) WHERE vector IS NOT NULL;
CREATE TABLE chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL REFERENCES documents ON DELETE CASCADE, key text NOT NULL UNIQUE, digest bytea NOT NULL,
    start integer NOT NULL, "end" integer NOT NULL, heading text NOT NULL, header bigint, words tsvector NOT NULL
);
ALTER TABLE chunks SET (toast_tuple_target = 8160);
CREATE INDEX ON chunks (document);
CREATE INDEX ON chunks (digest);
CREATE INDEX ON chunks USING gin (words);
CREATE TABLE embedded (
    chunk bigint PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, vector bytea NOT NULL,
    near public.halfvec({dimension}) NOT NULL
);
ALTER TABLE embedded ALTER COLUMN near SET STORAGE MAIN;
ALTER TABLE embedded SET (toast_tuple_target = 8160);
CREATE VIEW vectors WITH (security_invoker) AS SELECT digest, vector FROM embedded JOIN chunks ON chunks.id = chunk;
CREATE TABLE frequent (term text PRIMARY KEY, share real NOT NULL);
"""
"""The tables of `store/sqlite` with differences: `names` has the words of name and title, and those of all that names
the file with NAMES in front. `headers` are kept once for a document, so that two writers never wait for each other. In
`embedded` the vector is that of the text alone, float32; `near` is what is searched: it holds the header, too.
`frequent` are words of many passages, with their share. Rows of 8,160 bytes stay whole: what a search ranks by is not
fetched from elsewhere.
"""

NEAREST = """
CREATE INDEX nearest ON embedded USING hnsw (near public.halfvec_ip_ops) WITH (m = 16, ef_construction = 64)
"""
"""The index of vectors, made once there are some: making it of many at once is quicker than adding one by one. The
numbers are pgvector's own: https://github.com/pgvector/pgvector#hnsw
"""


def tables(server: ServerIndex, settings: IndexSettings) -> Iterator[str]:
    """Yield the statements that make an index, in one transaction: an index that has its schema is whole."""
    yield f"CREATE SCHEMA {quoted(server.schema)}"
    yield f"SET LOCAL search_path TO {quoted(server.schema)}, public"
    yield TABLES.format(dimension=settings.dimension)
    meta = {**asdict(settings), "schema": VERSION, "generation": secrets.token_hex(8)}
    yield "INSERT INTO meta VALUES " + ", ".join(f"({literal(k)}, {literal(str(v))})" for k, v in meta.items())
    yield _FOR_EACH_TABLE.format(schema=literal(server.schema), statement="ALTER TABLE %s ENABLE ROW LEVEL SECURITY")


def dropped(server: ServerIndex) -> str:
    return f"DROP SCHEMA {quoted(server.schema)} CASCADE"


_FOR_EACH_TABLE = """DO $$ DECLARE t regclass; BEGIN
    FOR t IN SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident({schema})) AND relkind = 'r'
    LOOP EXECUTE format('{statement}', t); END LOOP;
END $$"""


def quoted(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as a string of SQL (standard_conforming_strings is on)."""
    return "'" + text.replace("'", "''") + "'"


def vector_text(vector: Vectors) -> str:
    """Return a vector (d,) as pgvector reads it."""
    return f"[{','.join(map(str, vector.tolist()))}]"


# --- what an administrator runs


def role(server: ServerIndex, kind: str) -> str:
    """Return the role of those who may read an index, or write it."""
    return f"{server.schema}_{kind}"


def roles_sql(server: ServerIndex) -> str:
    """Return the SQL of two roles, what they may do, and the policies of row-level security that let nobody else see a
    row.
    """
    name, reader, writer = (quoted(each) for each in (server.schema, role(server, "reader"), role(server, "writer")))
    policy = "CREATE POLICY {who} ON %s FOR {what} TO {role} USING (true)"
    readers = policy.format(who="reader", what="SELECT", role=f"{reader}, {writer}")
    writers = policy.format(who="writer", what="ALL", role=writer) + " WITH CHECK (true)"
    each = [_FOR_EACH_TABLE.format(schema=literal(server.schema), statement=policy) for policy in (readers, writers)]
    lines = [
        f"CREATE ROLE {reader}; CREATE ROLE {writer}",
        f"GRANT USAGE ON SCHEMA {name} TO {reader}, {writer}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {reader}, {writer}",
        f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {writer}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {name} TO {writer}",
        *each,
    ]
    return ";\n".join([*lines, f"-- then, for each person: GRANT {reader} TO PERSON;"])


def described(run: Run) -> tuple[str, str, int, list[tuple[str, str, int]]]:
    """Return the versions of the server and of pgvector, the number of tables that row-level security guards, and the
    grants as (role, privileges, number of tables).
    """
    of_index = "FROM pg_class AS c WHERE relnamespace = current_schema()::regnamespace"
    ((secured,),) = run(f"SELECT count(*) {of_index} AND relrowsecurity")
    grants = run(
        "SELECT pg_get_userbyid(grantee), string_agg(DISTINCT privilege_type, ', '), count(DISTINCT c.oid)"
        " FROM pg_class AS c, aclexplode(c.relacl) AS acl"
        " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' GROUP BY 1 ORDER BY 1"
    )
    ((pgvector,),) = run("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    return run("SHOW server_version")[0][0], pgvector, secured, grants
