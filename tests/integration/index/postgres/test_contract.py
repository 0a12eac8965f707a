"""What an index promises holds in both stores: in a folder, and on a PostgreSQL server."""

import threading
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from langchain_core.documents import Document
from support.fakes_index import HashingEmbedder, add, indexed, markdown

from local_rag.core.documents import LoadedDocument, Narrowing
from local_rag.core.errors import IndexMismatch, IndexMissing, LocalRagError, UsageError
from local_rag.index.exact_words import typed_query
from local_rag.index.index import Index
from local_rag.index.prepare import chunks_of
from local_rag.index.store.opening import opened as opened_store
from local_rag.index.store.sqlite import vectors
from local_rag.index.store.values import Conditions, FileRow, Filter
from local_rag.index.tables.table import opened as opened_tables

STATION = "\n\n".join(
    f"## {name}\n\n" + " ".join(f"The {name} number {place} is kept in room {place}." for place in range(9))
    for name in ("lamp", "horn", "boat", "rope", "coal", "bread")
)
TEXTS = {
    "/files/station.md": markdown(f"# Station\n\n{STATION}", "Station", author="Ada Lovelace", date="2021-03-31"),
    "/files/tax.txt": LoadedDocument("Income tax is due in May. Boats pay none; self-rag does.", date="2022-05"),
    "/files/more/naïve %_?'.html": LoadedDocument("Größe und Maß: the naïve café's 'lamp' \\ 100 % ? end."),
    "/other/empty.txt": LoadedDocument("..."),
    "https://example.org/kite": LoadedDocument("A kite is out.", "Page"),
}
QUERIES = ("income tax", "lamp number 3", "self-rag", "groesse café", "room of the boat", "station", "' OR 1=1 --")
NAMING = "What does the Station say about bread?"
SQLITE = [{}, {"COMPARED": 0}, {"COMPARED": 0, "LISTS_FROM": 20, "LISTS": 8, "PROBES": 8, "TRAINED_ON": 400}]
"""Constants by which a folder compares all vectors, those that its file names, or those of all lists in the file."""


@pytest.fixture
def index(place):
    with indexed(place, TEXTS) as made:
        yield made


def opened(index, embedder=None, **options):
    return Index.open(index.path, embedder or HashingEmbedder(), **{"chunk_size": 40} | options)


def put(index, path, *texts, more=False):
    """Store a file of these documents, as a sync does."""
    cut = [
        (LoadedDocument(text), chunks_of(LoadedDocument(text), HashingEmbedder(), index.store.settings()))
        for text in texts
    ]
    index.store.replace(FileRow(path, "/files", path, 1, 1), cut, more=more)


def known(document):
    """Return what both stores know of a passage: BM25 weighs lengths and names a little otherwise in each."""
    score = round(document.metadata["score"], 5)
    return document.metadata | {"score": score, "sparse": 0, "rank_score": 0, "text": document.page_content}


def sources(documents):
    return [document.metadata["source"].rpartition("/")[2] for document in documents]


def test_it_says_what_it_holds(index):
    status = Index.inspect(index.path, outlined=True)
    assert (status.files, status.pages, status.documents) == (4, 1, 5)
    assert status.chunks == status.embedded == index.count()
    assert status.bytes > 0 and status.summary and str(status.path) == str(index.path)
    assert [file.path for file in index.files()] == sorted(TEXTS)
    first = index.files()[1]
    assert (first.title, first.author, first.date) == ("Station", "Ada Lovelace", "2021-03-31")
    assert {passage.key for passage in index.passages(seed=3)} == {p.key for p in index.passages()}
    assert index.document_frequency(["boats", "whale", "self-rag"]) == {"boats": 4, "whale": 0, "self-rag": 1}
    assert "Station" in index.catalog().titles and index.verify(deep=True) and index.has_forgotten()


@pytest.mark.slow
def test_both_stores_answer_alike(tmp_path, on_server):
    with indexed(tmp_path / "index", TEXTS) as ours, indexed(on_server, TEXTS) as theirs:
        assert ours.content() == theirs.content() and ours.catalog() == theirs.catalog()
        for mode, query in product(("dense", "words", "hybrid"), (*QUERIES, NAMING)):
            found, others = (index.search(query, 5, mode=mode) for index in (ours, theirs))
            assert sources(found) == sources(others), (mode, query)
            if mode == "dense":  # passages alike change places in the others
                assert [*map(known, found)] == [*map(known, others)], query
                shares = [[each.metadata["sparse"] or 0 for each in some] for some in (found, others)]
                assert shares[0] == pytest.approx(shares[1], abs=0.25)
        assert theirs.search(NAMING, 1)[0].metadata["named"] == "station"


def test_identifiers_and_scripts_without_blanks_are_found(place):
    """Without the blanks and hyphens of the text, by their beginning, and in a sentence without blanks."""
    own = "IBAN DE12 5001 0517 0648 4898 90, phone +49 (0)30 555-01 17, key 7KX9-QQ2M-PL45, ink CLI-581XXL."
    other = "IBAN DE45 5001 0517 5407 3249 31, phone +49 (0)30 555-09 44, key 3AA1-QQ2M-ZZ45, ink CLI-581 PB."
    asked = """DE12500105170648489890 | DE1250010517 | 7KX9QQ2MPL45 | 7KX9-QQ2M-PL45 | 030 5550117 | CLI581XXL
        | "DE12500105170648489890" | "佐藤" | Q-4471 | "김민수" | "ค่าเช่า" | "悬空引用" """
    scripts = "担当は佐藤さんで、見積番号はQ-4471です。담당자는 김민수입니다. ค่าเช่าห้อง 后50条悬空引用清零"
    with indexed(place, {"/own.md": f"{own} {scripts}", "/other.md": other}) as index:
        for query in map(typed_query, asked.split("|")):
            found = index.search(query.text, 2, within=query.narrow(Narrowing()), mode="words")
            assert found[0].metadata["source"] == "/own.md", query


def test_a_text_that_several_files_hold_comes_once_and_all_of_them_are_named(place):
    texts = {f"/leases/{name}.md": LoadedDocument("Pets need the landlord's consent.") for name in "abcde"}
    within = ["/leases/b.md", "/leases/e.md"]
    with indexed(place, texts | TEXTS) as index:
        first, *rest = index.search("pets", 9, mode="words")
        (narrowed,) = index.search("pets", 9, mode="words", within=within)
        found = [[*index.also_in([first]).values()], [*index.also_in([narrowed], within).values()]]
    assert (first.metadata["source"], rest, narrowed.metadata["source"]) == ("/leases/a.md", [], "/leases/b.md")
    assert found == [[[f"/leases/{name}.md" for name in "bcde"]], [["/leases/e.md"]]]


def test_stored_vectors_are_those_of_the_texts(index):
    (document,) = index.search("income tax", 1)
    vector, other = index.vectors([document, Document("another text")])
    assert other is None
    np.testing.assert_allclose(vector, HashingEmbedder().embed_documents([document.page_content])[0], atol=1e-6)


def test_text_alone_is_searched_until_it_is_embedded(place):
    with indexed(place, TEXTS, HashingEmbedder()) as index:
        add(index, {"/late.txt": "A zeppelin is late."}, embed=False)
        assert index.embedded_count() == (index.count() - 1, index.count()) and index.waiting_notes()
        assert sources(index.search("zeppelin", 1)) == ["late.txt"]
        assert index.embed() == 1 and index.embedded_count()[0] == index.count()


def test_another_embedder_needs_new_vectors(index):
    other, seen = HashingEmbedder(dimension=32, salt="b"), []
    with pytest.raises(IndexMismatch, match="was made with the embedder"):
        opened(index, other)
    with pytest.raises(IndexMismatch, match="passages of 40 tokens"):
        opened(index, chunk_size=30)
    with opened(index, other, reembed=True) as again:
        with pytest.raises(IndexMismatch):
            again.search("tax", 1)
        assert again.reembed(seen.append) == again.count() == seen[-1].done == seen[-1].total
        assert again.reembed() == 0 and again.verify(deep=True)
    with opened(index, other) as again:
        assert sources(again.search("income tax", 1, mode="dense")) == ["tax.txt"]
    with pytest.raises(IndexMismatch):
        index.search("tax", 1)


@pytest.mark.parametrize(("version", "said"), [("999", "newer version"), ("3", "earlier version")])
def test_an_index_of_another_version_is_refused_and_an_earlier_one_is_made_again(index, version, said):
    with index.store.writing():
        index.store.set_meta({"schema": version})
    index.close()
    with pytest.raises(IndexMismatch, match=said) as caught:
        opened(index)
    assert "local-rag" in caught.value.hint
    del caught  # whose frames hold the lock of the folder
    if said == "earlier version":
        with opened(index, create=True) as again:
            assert again.count() == 0
            add(again, TEXTS)
            assert sources(again.search("income tax", 1)) == ["tax.txt"]


def test_an_index_is_deleted_and_nothing_else(place):
    with pytest.raises(IndexMissing):
        Index.open(place, HashingEmbedder())
    indexed(place, TEXTS).close()
    with indexed(place.with_name("neighbour"), TEXTS) as other:
        Index.destroy(place)
        with pytest.raises(IndexMissing):
            Index.destroy(place)
        assert other.count()
        other.close()
        Index.destroy(other.path)


def test_a_reader_sees_a_file_whole_or_not_at_all(index):
    """Versions of a file of two documents replace each other while it is read, some of them only half."""
    with index.store.writing():
        put(index, "/files/long.txt", "a " * 300, "a " * 300)
    whole, done, seen = len(index.store.spans("/files/long.txt")), threading.Event(), []

    def read():
        with opened(index) as reader:
            while not done.is_set():
                ids = [span[0] for span in reader.store.spans("/files/long.txt")]
                seen.append((len(ids), len({passage.text[:1] for passage in reader.store.passages(ids)})))

    thread = threading.Thread(target=read)
    thread.start()
    for letter in "bcabc" * 3:
        with index.store.writing():
            put(index, "/files/long.txt", f"{letter} " * 300)
            put(index, "/files/long.txt", f"{letter} " * 300, more=True)
        with suppress(LocalRagError), index.store.writing():
            put(index, "/files/long.txt", "stopped in the middle")
            raise UsageError("stopped in the middle")
    done.set()
    thread.join()
    assert {count for count, _ in seen} == {whole} and {letters for _, letters in seen} <= {0, 1}


def test_a_snapshot_is_one_commit_from_its_first_statement_to_its_last(index):
    def write():
        with index.store.writing():
            index.store.set_meta({"lamp": "out"})

    def looked():
        first = index.store.meta()
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        return first == index.store.meta()

    assert index.store.snapshot(looked) and index.store.meta()["lamp"] == "out"


@pytest.mark.parametrize("constants", SQLITE)
def test_what_passes_a_filter_ranks_as_it_does_among_all(place, monkeypatch, constants):
    for name, value in constants.items():
        monkeypatch.setattr(vectors, name, value)
    texts = {f"/{n % 3}/{n}.txt": f"The lamp {n} of room {n % 7} is lit {'at dusk ' * (n % 5)}" for n in range(60)}
    with indexed(place, texts) as index:
        store, vector = index.store, HashingEmbedder().embed_queries(["lamp of room 3 at dusk"])[0]
        some = [number for path, number in store.paths().items() if path.startswith("/1/")]
        chunks = {span[0] for path in store.paths() if path.startswith("/1/") for span in store.spans(path)}
        left_out = store.passages(sorted(chunks)[:1])[0]
        for filter, passing in (
            (Filter(Conditions(files=some)), chunks),
            (Filter(exclude=frozenset([left_out.key])), {*range(10_000)} - {left_out.id}),
            (Filter(Conditions(files=some), frozenset([left_out.key])), chunks - {left_out.id}),
        ):
            every = [each for each in store.nearest(vector, 60) if each[0] in passing]
            assert store.nearest(vector, 5, filter) == every[:5] and len(every) >= 19
            matching = [chunk for chunk in store.match("lamp dusk", 60) if chunk in passing]
            assert list(store.match("lamp dusk", 5, filter)) == matching[:5]
            assert store.passing(filter, matching) == matching


def test_pages_that_came_later_rank_with_their_own_document(place):
    texts = {f"/{n}.txt": "The lamp burns oil, and the lamp is trimmed. " * 2 for n in range(30)}
    with indexed(place, {}) as index:
        with index.store.writing():
            put(index, "/log.pdf", "The lamp is lit.")
        add(index, texts)
        with index.store.writing():
            put(index, "/log.pdf", "The lamp is out.", more=True)
        chunks = [span[0] for span in index.store.spans("/log.pdf")]
        assert chunks[1] > chunks[0] + 1 and index.store.match_among("lamp", chunks).keys() == {*chunks}
        index.embed()
        assert sources(index.search("What does the log say about the lamp?", 2)) == ["log.pdf", "log.pdf"]


def test_a_file_may_go_while_its_passages_are_embedded(place):
    with indexed(place, {}) as index:
        add(index, {"/a.txt": "The lamp is lit.", "/b.txt": "The horn is heard."}, embed=False)
        other = opened_store(place)

        def remove():
            with other.writing():
                other.remove(["/a.txt", "/b.txt"])

        index.embedder.before_batch = remove
        assert index.embed() == 2 and index.embedded_count() == (0, 0)
        other.close()


def test_the_tables_of_a_document_go_with_it(index):
    with index.store.locked(), index.store.writing():
        put(index, "/files/fuel.csv", "Vessel | Litres\nPetrel | Litres: 30\nFulmar | Litres: 25", "No table here.")
    keys = {passage.source.rpartition("/")[2] + passage.text[:2]: passage.key for passage in index.passages()}
    known = index.store.tables([*keys.values(), "gone"])
    assert {*known} == {keys["fuel.csvVe"]}
    with opened_tables(known[keys["fuel.csvVe"]]) as (table,):
        assert [column.name for column in table.columns] == ["Vessel", "Litres"] and table.rows == 2
    with index.store.locked(), index.store.writing():
        index.store.remove(["/files/fuel.csv"])
    assert index.store.tables([*keys.values()]) == {}
