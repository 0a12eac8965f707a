"""Passages spread over three servers by the SQL that doctor prints, and a replica that is only read."""

from __future__ import annotations

import pytest
from support.fakes_index import HashingEmbedder, add, indexed
from support.postgres import Server, run

from local_rag.core.errors import LocalRagError
from local_rag.diagnostics.server import server_checks
from local_rag.index import stores
from local_rag.index.index import Index
from local_rag.index.postgres import schema
from local_rag.index.postgres.tables import Nearest
from local_rag.index.postgres.words import ServerWords
from local_rag.index.store.full_text import Frequencies

pytestmark = pytest.mark.slow

TEXTS = {
    f"/files/{n}.txt": f"Day {n} tells of {word}. " + f"The {word} is kept in room {n}. " * 4
    for n, word in enumerate(["rain", "snow", "hail", "fog", "storm"] * 12)
}
QUERIES = ("rain on day 5", "which room keeps the fog", "storm", "snow and hail")


@pytest.fixture(scope="module")
def three():
    made = [Server.made() for _ in range(3)]
    yield made
    for server in made:
        server.remove()


def spread(index, first, others):
    """Partitions 2 and 3 go to the second server, 4 and 5 to the third, as doctor says."""
    for n in range(2, schema.PARTITIONS):
        other = others[(n - 2) // 2]
        there, here = schema.server_sql(index.path.server, 64, n, "127.0.0.1", other.port)
        other.execute(there)
        first.execute(here.replace("THEIR_USER", "tester"))


def answers(index, **options):
    return [[d.metadata["chunk_id"] for d in index.search(query, 8, **options)] for query in QUERIES]


def plans(index, lookup):
    """How the server does each statement of a lookup."""
    told = []

    def explained(db):
        class Explaining(type(db)):
            def execute(self, sql, parameters=(), /):
                if "UNION ALL" in sql:
                    told.append("\n".join(row[0] for row in super().execute(f"EXPLAIN (VERBOSE) {sql}", parameters)))
                return super().execute(sql, parameters)

        return lookup(Explaining(db.connection))

    index.read(explained)
    return "\n".join(told)


def test_three_servers_answer_as_one_and_each_ranks_its_own(three, tmp_path):
    first, *others = three
    with indexed(first.index("one"), TEXTS) as one, indexed(first.index("three"), TEXTS) as index:
        ways = [{"mode": mode} for mode in ("dense", "words", "hybrid")] + [{"within": ("/files/1*.txt",)}]
        expected = [answers(one, **way) for way in ways]
        spread(index, first, others)
        with Index.open(index.path, HashingEmbedder(), chunk_size=40) as again:
            assert [answers(again, **way) for way in ways] == expected
            assert add(again, {"/files/new.txt": "A whale is new. " * 40}).embedded > 1
            assert again.search("whale", 1)[0].metadata["source"] == "/files/new.txt" and again.verify(deep=True)
            again.remove(["/files/new.txt"], missing_ok=True)
            assert answers(again) == expected[2]
            found = {check.name: check.found for check in server_checks(again)}
            assert found["partitions"].startswith("2 of 6 partitions here, elsewhere chunks_2")
            query = HashingEmbedder().embed_queries(["rain"])[0]
            dense = plans(again, lambda db: Nearest(db).candidates(query, 5, None))
            sparse = plans(again, lambda db: ServerWords(db, Frequencies(), "", "rain").best(1))  # fewer than there are
            for plan in (dense, sparse):
                remote = [line for line in plan.splitlines() if "Remote SQL" in line]
                assert len(remote) == 4 and all("ORDER BY" in line and "LIMIT" in line for line in remote), plan
        others[1].stop()
        with (
            pytest.raises(LocalRagError, match="a server that holds a part of the index") as error,
            Index.open(index.path, HashingEmbedder(), chunk_size=40) as again,
        ):
            again.search("rain", 3)
        assert "\n" not in str(error.value) and "local_rag_three_" in str(error.value)
        others[1].start()
        with Index.open(index.path, HashingEmbedder(), chunk_size=40) as again:
            assert answers(again) == expected[2]
    stores.destroy(index.path)
    assert first.execute("SELECT srvname FROM pg_foreign_server") == []


def test_a_replica_is_read_and_never_written(three):
    first = three[0]
    with indexed(first.index("copied"), TEXTS) as index:
        replica = Server(first.folder.parent / "replica")
        done = run(
            "pg_basebackup",
            "-h",
            "127.0.0.1",
            "-p",
            first.port,
            "-U",
            "tester",
            "-D",
            replica.folder,
            "-R",
            "-c",
            "fast",
        )
        assert done.returncode == 0, done.stderr
        replica.start()
        try:
            with Index.open(replica.index("copied"), HashingEmbedder(), chunk_size=40) as read:
                assert answers(read) == answers(index)
                with pytest.raises(LocalRagError, match="read-only"):
                    add(read, {"/new.txt": "Nothing is written."})
        finally:
            replica.stop()
