"""On a server: who may read and write, that what is typed stays data, and that Python's audit hooks see every call."""

import sys

import pytest
from support.fakes_index import HashingEmbedder, add, indexed

from local_rag.config.server_index import ServerIndex
from local_rag.config.settings import Settings
from local_rag.core.documents import LoadedDocument, Narrowing
from local_rag.core.errors import IndexMissing, LocalRagError, NotLocal, UsageError
from local_rag.diagnostics.doctor import server_checks
from local_rag.index.index import Index

pytestmark = pytest.mark.slow

HOSTILE = (
    "'; DROP TABLE chunks; --",
    '"; DROP SCHEMA public CASCADE; --',
    "$$; SELECT pg_sleep(9); $$",
    "%s %(name)s %% ? {n} _N",
    "\\'; \\",
    "a' <-> 'b | !c & (d:*A",
    "x'::tsquery || 'y",
    "*?[a-z]**",
    "é'é‘’\u2028\ufeff",
)


def everybody(server, index):
    """Run what doctor prints, and make a person of each role and a stranger."""
    for check in server_checks(index):
        if check.name == "reader":
            server.execute("\n".join(line for line in check.fix.splitlines() if not line.startswith("--")))
    schema = index.path.schema
    for who, role in (("reads", "reader"), ("writes", "writer"), ("strange", "")):
        server.execute(f"CREATE ROLE {who}_{index.path.name} LOGIN")
        if role:
            server.execute(f'GRANT "{schema}_{role}" TO {who}_{index.path.name}')


def as_person(server, index, who):
    return Index.open(server.index(index.path.name, f"{who}_{index.path.name}"), HashingEmbedder())


def test_the_roles_of_an_index_may_what_doctor_prints_and_no_more(server, on_server):
    with indexed(on_server, {"/tax.txt": "Income tax is due in May."}) as index:
        everybody(server, index)
        found = {check.name: check.found for check in server_checks(index)}
        assert "SELECT" in found["reader"] and "INSERT" not in found["reader"] and "INSERT" in found["writer"]
        with as_person(server, index, "reads") as reader:
            assert reader.search("income tax", 1)[0].metadata["source"] == "/tax.txt" and reader.verify(deep=True)
            with pytest.raises(LocalRagError, match="you may not do that") as error:
                add(reader, {"/new.txt": "Nothing is written."})
            assert "local-rag doctor" in error.value.hint
            with pytest.raises(LocalRagError, match="you may not do that"):
                Index.destroy(reader.path)
        with as_person(server, index, "writes") as writer:
            assert add(writer, {"/new.txt": "A whale is written."}).embedded == 1
            assert writer.remove(["/tax.txt"], missing_ok=True) == ("/tax.txt",)
        assert index.search("whale", 1)[0].metadata["source"] == "/new.txt"
        with pytest.raises((IndexMissing, LocalRagError)):
            as_person(server, index, "strange")


def test_row_level_security_hides_rows_even_where_a_grant_slipped(server, on_server):
    with indexed(on_server, {"/tax.txt": "Income tax is due in May."}) as index:
        everybody(server, index)
        schema, stranger = index.path.schema, f"strange_{index.path.name}"
        server.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO {stranger}')
        server.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {stranger}')
        for table in ("documents", "chunks", "embedded", "vectors", "files", "meta", "headers"):
            assert server.execute(f'SELECT * FROM "{schema}".{table}', user=stranger) == [], table
        with pytest.raises(IndexMissing):
            as_person(server, index, "strange")


def test_names_patterns_and_queries_stay_data(server, on_server):
    texts = {
        f"/files/{text.replace('/', '')}.txt": LoadedDocument(f"{text} is told here", text, author=text)
        for text in HOSTILE
    }
    with indexed(on_server, texts) as index:
        count = index.count()
        for text in HOSTILE:
            for mode in ("dense", "words", "hybrid"):
                assert index.search(f"told {text}", 3, mode=mode)
            for narrowing in ({"within": (text,)}, {"types": (text,)}, {"authors": (text,)}, {"phrases": (text,)}):
                try:
                    index.search("told here", 3, within=Narrowing(**narrowing))
                except UsageError:
                    continue
            index.document_frequency([text])
            index.remove([text], missing_ok=True)
            with pytest.raises(UsageError):
                ServerIndex.of(server.url(text))
        index.set_about(HOSTILE[0])
        assert index.status().about == HOSTILE[0]
        assert {file.path for file in index.files()} == texts.keys() and index.count() == count
        assert index.verify(deep=True) and index.search(HOSTILE[3], 1)[0].metadata["title"] == HOSTILE[3]
    for name in ("public", "pg_catalog", "information_schema", "A.b-c_1"):
        with indexed(server.index(name), {"/a.txt": "One."}) as other:
            assert other.count() == 1
        Index.destroy(other.path)
    assert server.execute("SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == [(1,)]


def test_nothing_is_sent_to_another_machine_and_hooks_see_every_call(server, on_server):
    calls = []
    sys.addaudithook(lambda event, given: calls.append(given[1]) if event == "socket.connect" else None)
    indexed(on_server, {"/a.txt": "One."}).close()
    assert ("127.0.0.1", server.port) in calls
    before = len(calls)
    with pytest.raises(NotLocal):
        Index.open(Settings.load(index="postgresql://db.example.org/team#notes").index_path, HashingEmbedder())
    assert len(calls) == before
