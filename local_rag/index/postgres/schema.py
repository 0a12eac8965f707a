"""The tables of an index on a server, one schema for each index; and the SQL that an administrator runs.

Passages and their vectors are hash-partitioned by `document`: a partition may be a table of another server. So every
key of these begins with `document`, and no foreign key leads from one document to another. The other tables are
small, or hold the text that only a result is read from.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from local_rag.index.store import schema

if TYPE_CHECKING:
    from local_rag.config.server_index import Server

VERSION = schema.VERSION
"""Both stores hold the same, so both have one version."""

PARTITIONS = 6
"""As many as one, two, three or six servers share evenly. A search asks each, so that more of them make it slower."""

M, EF_CONSTRUCTION = 16, 64
"""pgvector's own defaults for HNSW: https://github.com/pgvector/pgvector#hnsw"""

_INLINE = 8160
"""Bytes of a row that stays whole: what a search ranks by is not fetched from elsewhere (its words are about 2,000)."""

_SMALL = """
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE roots (
    path text COLLATE "C" PRIMARY KEY, excludes text NOT NULL, secrets boolean NOT NULL, follow_links boolean NOT NULL
);
CREATE TABLE excluded (path text COLLATE "C" PRIMARY KEY, excludes text NOT NULL);
CREATE TABLE failures (
    path text COLLATE "C" PRIMARY KEY, sha256 text NOT NULL, parser text NOT NULL, reason text NOT NULL
);
CREATE TABLE reported (path text COLLATE "C", reason text, PRIMARY KEY (path, reason));
CREATE TABLE files (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path text COLLATE "C" NOT NULL UNIQUE, container text COLLATE "C" NOT NULL, root text COLLATE "C" NOT NULL,
    sha256 text NOT NULL, size bigint NOT NULL, mtime_ns bigint NOT NULL, ctime_ns bigint NOT NULL,
    inode numeric NOT NULL, warnings text NOT NULL, indexed_at double precision NOT NULL, scans text NOT NULL
);
CREATE INDEX ON files (container);
CREATE TABLE documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    file bigint NOT NULL REFERENCES files ON DELETE CASCADE,
    title text NOT NULL, page integer, url text NOT NULL, author text NOT NULL, date text NOT NULL,
    subject text NOT NULL, name text NOT NULL, folders text NOT NULL, headings text NOT NULL, lines text NOT NULL,
    text text NOT NULL
);
CREATE INDEX ON documents (file);
CREATE TABLE names (rowid bigint PRIMARY KEY, name text NOT NULL, title text NOT NULL, words tsvector NOT NULL);
CREATE INDEX ON names USING gin (words);
CREATE TABLE headers (
    document bigint, id bigint GENERATED ALWAYS AS IDENTITY UNIQUE, text text NOT NULL, vector bytea,
    PRIMARY KEY (document, id)
);
CREATE INDEX ON headers USING hash (text) WHERE vector IS NOT NULL;
CREATE TABLE frequent (term text PRIMARY KEY, share real NOT NULL);
CREATE SEQUENCE chunk_ids;
"""
"""`names` has a row for each title that a file's documents have, under the id of the first of them; its words are those
of name and title, and those of all that names the file with NAMED in front. `headers` are kept once for a document.
`frequent` are words of many passages, with their share: `words.refresh` counts them."""

_CHUNKS = """(
    document bigint NOT NULL, id bigint NOT NULL, key text NOT NULL, digest bytea NOT NULL, start integer NOT NULL,
    "end" integer NOT NULL, heading text NOT NULL, header bigint, words tsvector NOT NULL
)"""
_EMBEDDED = (
    "(document bigint NOT NULL, chunk bigint NOT NULL, vector bytea NOT NULL, near public.halfvec({d}) NOT NULL)"
)
"""`vector` is that of the text alone, float32; `near` is what is searched: it holds the header, too."""

_PARTITIONED = f"""
CREATE TABLE chunks {_CHUNKS} PARTITION BY HASH (document);
CREATE TABLE embedded {_EMBEDDED} PARTITION BY HASH (document);
CREATE VIEW vectors WITH (security_invoker) AS
    SELECT digest, vector FROM embedded JOIN chunks ON chunks.document = embedded.document AND chunks.id = chunk;
"""

_PART = """
CREATE UNIQUE INDEX ON chunks_{n} (document, id);
CREATE INDEX ON chunks_{n} (id);
CREATE INDEX ON chunks_{n} (key);
CREATE INDEX ON chunks_{n} (digest);
CREATE INDEX ON chunks_{n} USING gin (words);
ALTER TABLE chunks_{n} SET (toast_tuple_target = {inline});
CREATE UNIQUE INDEX ON embedded_{n} (document, chunk);
CREATE INDEX ON embedded_{n} (chunk);
ALTER TABLE embedded_{n} ALTER COLUMN near SET STORAGE MAIN;
ALTER TABLE embedded_{n} SET (toast_tuple_target = {inline});
"""

_NEAREST = """
CREATE INDEX nearest_{n} ON embedded_{n} USING hnsw (near public.halfvec_ip_ops) WITH (m = {m}, ef_construction = {ef});
"""
"""Made once there are vectors (`ServerStore.refresh`): of many at once it is made faster than of each in its turn."""

_OF = "FOR VALUES WITH (MODULUS {all}, REMAINDER {n})"


def partitions() -> range:
    """Their numbers, which end the names of their tables."""
    return range(PARTITIONS)


def tables(server: Server, settings: schema.IndexSettings) -> Iterator[str]:
    """The statements that make an index, in one transaction: an index that has its schema is whole."""
    yield f"CREATE SCHEMA {quoted(server.schema)}"
    yield f"SET LOCAL search_path TO {quoted(server.schema)}, public"
    yield _SMALL
    yield _PARTITIONED.format(d=settings.dimension)
    for n in partitions():
        of = _OF.format(all=PARTITIONS, n=n)
        yield f"CREATE TABLE chunks_{n} PARTITION OF chunks {of}"
        yield f"CREATE TABLE embedded_{n} PARTITION OF embedded {of}"
        yield _part(n)
    meta = {**asdict(settings), "schema": VERSION, "generation": secrets.token_hex(8), "epoch": secrets.token_hex(8)}
    yield "INSERT INTO meta VALUES " + ", ".join(f"({literal(k)}, {literal(str(v))})" for k, v in meta.items())
    yield _FOR_EACH_TABLE.format(schema=literal(server.schema), statement="ALTER TABLE %s ENABLE ROW LEVEL SECURITY")


def _part(n: int) -> str:
    return _PART.format(n=n, inline=_INLINE)


def nearest(n: int) -> str:
    """The statement that makes HNSW of the vectors in partition n."""
    return _NEAREST.format(n=n, m=M, ef=EF_CONSTRUCTION)


_FOR_EACH_TABLE = """DO $$ DECLARE t regclass; BEGIN
    FOR t IN SELECT oid FROM pg_class
        WHERE relnamespace = to_regnamespace(quote_ident({schema})) AND relkind IN ('r', 'p')
    LOOP EXECUTE format('{statement}', t); END LOOP;
END $$"""


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a string of SQL (standard_conforming_strings is on)."""
    return "'" + text.replace("'", "''") + "'"


# --- what an administrator runs


def role(server: Server, kind: str) -> str:
    """The role of those who may read an index, or write it."""
    return f"{server.schema}_{kind}"


def roles_sql(server: Server) -> str:
    """Two roles, what they may do, and the policies of row-level security that let nobody else see a row."""
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


def elsewhere(server: Server, n: int) -> str:
    """What the server is called here that holds partition n."""
    return quoted(f"{server.schema}_{n}")


def server_sql(server: Server, dimension: int, n: int, host: str = "OTHER_HOST", port: int = 5432) -> tuple[str, str]:
    """What moves partition n to another server: what is run there first, then here, by who owns the index.

    `extensions 'vector'` lets ORDER BY and LIMIT travel, and `use_remote_estimate` keeps what is joined from being
    fetched whole: https://www.postgresql.org/docs/current/postgres-fdw.html
    """
    name, other = quoted(server.schema), elsewhere(server, n)
    there = (
        f"CREATE EXTENSION IF NOT EXISTS vector; CREATE SCHEMA IF NOT EXISTS {name};\n"
        f"SET search_path TO {name}, public;\n"
        f"CREATE TABLE chunks_{n} {_CHUNKS};\nCREATE TABLE embedded_{n} {_EMBEDDED.format(d=dimension)};"
        f"{_part(n)}{nearest(n)}"
    )
    options = "-c hnsw.iterative_scan=strict_order -c hnsw.ef_search=100"
    lines = [
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw",
        f"CREATE SERVER {other} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host {literal(host)}, port '{port}',"
        f" dbname {literal(server.parameters.get('dbname', 'postgres'))}, extensions 'vector', connect_timeout '5',"
        " fetch_size '1000', batch_size '1000', async_capable 'true', use_remote_estimate 'true',"
        f" options {literal(options)})",
        f"CREATE USER MAPPING FOR CURRENT_USER SERVER {other} OPTIONS (user 'THEIR_USER', password_required 'false')",
        f"BEGIN; SET LOCAL search_path TO {name}, public",
    ]
    for table in ("chunks", "embedded"):
        part = f"{table}_{n}"
        lines += [
            f"ALTER TABLE {table} DETACH PARTITION {part}",
            f"ALTER TABLE {part} RENAME TO {part}_here",
            f"CREATE FOREIGN TABLE {part} PARTITION OF {table} {_OF.format(all=PARTITIONS, n=n)}"
            f" SERVER {other} OPTIONS (schema_name {literal(server.schema)}, table_name '{part}')",
            f"INSERT INTO {part} SELECT * FROM {part}_here",
            f"DROP TABLE {part}_here",
        ]
    return there, ";\n".join([*lines, "COMMIT;"])
