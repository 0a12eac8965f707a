"""An index says what it holds, refuses what did not make it, and gets the vectors of another embedder."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from support.fakes_index import HashingEmbedder, add, indexed, markdown

from local_rag.core.documents import Catalog, LoadedDocument
from local_rag.core.errors import IndexMismatch, IndexMissing, UsageError
from local_rag.index.catalog import TOPICS
from local_rag.index.index import Index

STATION = "\n\n".join(
    " ".join(f"The {name} number {place} is kept in room {place}." for place in range(9))
    for name in ("lamp", "horn", "boat", "rope", "coal", "bread")
)
TEXTS = {"/station.md": LoadedDocument(STATION, "Station"), "/tax.txt": "Income tax is due in May. Boats pay none."}
PASSAGES = 19


@pytest.fixture
def index(tmp_path):
    with indexed(tmp_path / "index", TEXTS) as made:
        yield made


def opened(index, embedder=None, **options):
    return Index.open(index.path, embedder or HashingEmbedder(), **{"chunk_size": 40} | options)


def test_content_changes_with_the_passages_alone(index):
    content, generation = index.content(), index.generation()
    passage = index.search("income tax", 1)[0].metadata["chunk_id"]
    add(index, {"/new.txt": "A new text."})
    assert index.content() != content and index.generation() != generation
    assert index.stored([passage, "none"]).passages[passage].text == TEXTS["/tax.txt"]
    index.remove(["/new.txt"])
    assert index.content() == content and index.stored([]).files == TEXTS.keys()


@pytest.mark.parametrize("act", [Index.inspect, Index.destroy, lambda path: Index.open(path, HashingEmbedder())])
def test_where_there_is_no_index_the_command_is_named(tmp_path, act):
    with pytest.raises(IndexMissing) as caught:
        act(tmp_path / "nowhere")
    assert caught.value.hint == f"local-rag index PATH… --index {tmp_path / 'nowhere'}"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (
            {"embedder": HashingEmbedder(salt="2"), "create": True},
            "embedder 'hashing'.* not with 'hashing2'",
            "local-rag index --reembed --index {}",
        ),
        (
            {"chunk_overlap": 5},
            "has passages of 40 tokens with 0 shared",
            "local-rag index PATH… --chunk-size 40 --chunk-overlap 5 --index {}-40-5",
        ),
    ],
)
def test_what_did_not_make_it_is_refused_with_the_command(index, options, message, hint):
    index.remove(list(TEXTS))
    with pytest.raises(IndexMismatch, match=message) as caught:
        opened(index, **options)
    assert caught.value.hint == hint.format(index.path)


@pytest.mark.parametrize("options", [{"chunk_size": 101}, {"chunk_overlap": 21}])
def test_impossible_sizes_are_refused(tmp_path, options):
    with pytest.raises(UsageError, match="tokens"):
        indexed(tmp_path / "index", {}, **options)
    assert not (tmp_path / "index").exists()


def test_one_is_listed_without_an_embedder(index):
    with Index.open(index.path) as listed:
        assert listed.files() == index.files()
        with pytest.raises(UsageError, match="opened without an embedder"):
            listed.search("income tax", 3)


def test_two_at_once_make_one(tmp_path):
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda _: indexed(tmp_path / "index", {}).count(), range(4)))
    assert made == [0, 0, 0, 0]


def test_passages_that_do_not_fit_another_embedder_are_refused(index):
    short = HashingEmbedder(salt="2", window=40)
    short.token_ends = lambda text: list(range(1, len(text) + 1))
    with opened(index, short, reembed=True) as again, pytest.raises(IndexMismatch, match="reads 40 tokens"):
        again.reembed()
    with opened(index, chunk_size=60, reembed=True) as again, pytest.raises(IndexMismatch, match="of 40 tokens"):
        again.reembed()
    assert len(index.search("boat", 4)) == 4


# --- what it tells of itself

NOTES = {
    "/notes/light.md": markdown("# Lamp\n\nThe lamp is lit at dusk.\n\n# Fog\n\nThe horn sounds in fog.", "Lighthouse"),
    "/notes/boats/supply.txt": "The supply boat brings coal and bread.",
    "/notes/boats/rescue.txt": "The rescue boats are kept ready. A boat has two oars.",
    "https://tax.test/may": markdown("Income tax is due in May.", "Taxes"),
}


@pytest.fixture
def notes(tmp_path):
    with indexed(tmp_path / "notes", NOTES) as made:
        yield made


def test_the_catalog_is_made_of_the_index_and_follows_it(notes, tmp_path):
    catalog = notes.catalog()
    assert (catalog.documents, catalog.files, catalog.chunks) == (4, 4, notes.count())
    assert set(catalog.topics) == {"supply.txt", "rescue.txt", "Lighthouse", "Taxes"}
    assert set(catalog.titles) == {"Lighthouse", "Taxes"} and set(catalog.headings) == {"Lamp", "Fog"}
    assert catalog.terms[0] == "boat" and not {"the", "is"} & set(catalog.terms)
    assert catalog.folders[0] == "boats" and "tax.test" in catalog.folders
    assert set(catalog.kinds) == {".txt 2", ".md 1", "web page 1"}
    add(notes, {"/whales.md": markdown("Whales sing.", "Whales")})
    add(notes, {f"/many-{number}.txt": f"Number {number} of oars." for number in range(40)})
    assert "Whales" in notes.catalog().titles and len(notes.catalog().topics) == TOPICS
    with indexed(tmp_path / "empty", {}) as empty:
        assert empty.catalog() == Catalog() and empty.status().last_sync == ""


def test_a_person_says_what_it_is_about(notes):
    summary = notes.status(outlined=True).summary
    assert summary.startswith("4 files (") and "among them: " in summary
    notes.set_about("  The lighthouse,\n its boats\x1b[31m ")
    assert notes.catalog().about == Index.inspect(notes.path).about == "The lighthouse, its boats"
    notes.set_about("")
    assert (notes.status().about, notes.status(outlined=True).summary) == ("", summary)
    with pytest.raises(UsageError, match="at most 600 characters, and this one has 601"):
        notes.set_about("x" * 601)
