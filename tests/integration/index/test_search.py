"""A search brings the right passages, each text once, and says of each where it stands and how near it is."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.fakes_index import HashingEmbedder, indexed, markdown, remembering_minilm

from local_rag.core import cancel
from local_rag.core.documents import PLACE, Heading, LoadedDocument
from local_rag.core.errors import Stopped
from local_rag.index.search import SPARSE, combined
from local_rag.text.metadata import heading_at
from local_rag.text.names import HEADER_WEIGHT, document_header, passage_header

KEYS = (
    "source title author date modified page heading start end chunk_id named score sparse rank_score origin url".split()
)
MODES = ["hybrid", "dense", "words"]
NOTES = {
    "/notes/light.md": markdown(
        "# Lamp\n\nThe keeper lights the lamp at dusk and puts it out at dawn.\n\n"
        "# Fog\n\nIn fog the horn sounds every ninety seconds, by order XK-42.",
        "Lighthouse",
    ),
    "/notes/supply.txt": "The supply boat brings coal and bread on the first Monday of the month.",
    "/notes/rescue.txt": "The rescue boat is kept ready with two oars and a rope of forty metres.",
    "https://tax.test/may": LoadedDocument("Income tax is due in May. Late payment costs interest.", "Taxes"),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory, converted):
    """The notes with MiniLM; nobody changes them."""
    with indexed(tmp_path_factory.mktemp("real") / "index", NOTES, remembering_minilm()) as index:
        yield index


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The notes with bags of words; nobody changes them."""
    with indexed(tmp_path_factory.mktemp("notes") / "index", NOTES) as made:
        yield made


def sources(documents):
    return [document.metadata["source"].rpartition("/")[2] for document in documents]


def keys(documents):
    return [document.metadata["chunk_id"] for document in documents]


@pytest.mark.parametrize(
    ("query", "mode", "first"),
    [
        ("When does one have to pay the state?", "hybrid", "may"),
        ("What is eaten on the island, and when does it come?", "dense", "supply.txt"),
        ("XK-42", "words", "light.md"),
    ],
)
def test_meaning_and_rare_words_find_the_passage(real, query, mode, first):
    assert sources(real.search(query, 1, mode=mode)) == [first]


@pytest.mark.parametrize(("mode", "count"), [("hybrid", 5), ("dense", 5), ("words", 3)])
def test_metadata_is_complete_and_true(real, mode, count):
    question = "Which boat is kept ready in fog?"
    passages, embedder = real.search(question, 9, mode=mode), remembering_minilm()
    for about, text in ((passage.metadata, passage.page_content) for passage in passages):
        assert list(about)[: len(KEYS)] == KEYS
        assert about["url"] == (about["source"] if about["title"] == "Taxes" else "")
        whole = getattr(NOTES[about["source"]], "text", NOTES[about["source"]])
        assert whole[about["start"] : about["end"]] == text
        header = passage_header(document_header(about["source"], about["title"]), about["heading"])
        vector = embedder.embed_documents([text, header]).T @ [1, HEADER_WEIGHT]
        cosine = vector / np.linalg.norm(vector) @ embedder.embed_queries([question])[0]
        assert about["score"] == pytest.approx(cosine, abs=1e-4)
        share = about["sparse"] or 0
        expected = {"hybrid": about["score"] + SPARSE * share, "dense": about["score"], "words": share}[mode]
        assert 0 <= share <= 1 and about["rank_score"] == pytest.approx(expected, abs=1e-4)
    ranks = [passage.metadata["rank_score"] for passage in passages]
    assert ranks == sorted(ranks, reverse=True) and len(passages) == count


@pytest.mark.parametrize(
    ("query", "k", "count"),
    [
        ("boat", 1, 1),
        ("boat", 100, 5),
        ("  \n", 4, 0),
        ("?! \udce9", 2, 2),
        ("\0 ' \" \U0001f600 lamp AND (NEAR ^x* : {text}", 2, 2),
        (" ".join(f"w{n}" for n in range(2000)), 2, 2),
    ],
)
def test_any_text_is_a_query_and_k_is_kept(index, query, k, count):
    assert [len(index.search(query, k, mode=mode)) for mode in ("hybrid", "dense")] == [count, count]
    assert len(index.search(query, k, mode="words")) <= count


def test_spellings_of_a_word(tmp_path):
    spellings = {"Cafés": "cafe", "Relational": "relate", "日本": "日本", "self-rag": "self rag"}
    with indexed(tmp_path / "index", {word: f"One {word} two." for word in spellings}) as index:
        found = {query: sources(index.search(query, 9, mode="words")) for query in (*spellings.values(), "the whale")}
    assert found == {query: [word] for word, query in spellings.items()} | {"the whale": []}


def test_exclude_keeps_passages_away(index):
    first, second, *_ = every = keys(index.search("rescue boat", 9))
    assert keys(index.search("rescue boat", 1, exclude={first})) == [second]
    assert index.search("rescue boat", 9, exclude=every) == []


def test_identical_texts_do_not_crowd_out_the_rest(tmp_path):
    rescue = NOTES["/notes/rescue.txt"]
    with indexed(tmp_path / "index", NOTES | {f"/copies/{number}.txt": rescue for number in range(80)}) as index:
        assert len({document.page_content for document in index.search(rescue, 4)}) == 4
        assert len(index.search(rescue, 99, repeats=True)) == 85


LEASE = (
    "The tenant pays the rent of {rent} euros on the first working day of each month to the account of the landlord. "
    "Small repairs in the flat are paid by the tenant, larger ones by the landlord, who is told of them in writing."
)


def test_near_duplicates_come_last_and_versions_that_disagree_do_not(tmp_path):
    texts = {
        "/lease.txt": LEASE.format(rent=950),
        "/mail.txt": "> " + LEASE.format(rent=950).replace(". ", ".\n> ").upper(),
        "/lease-2024.txt": LEASE.format(rent=990),
        "/dog.txt": "The dog is fed at seven and at five. Who pays for its food is agreed each month.",
    }
    with indexed(tmp_path / "index", texts, chunk_size=100) as index:
        for mode in MODES:
            *first, last = sources(index.search("Who pays the rent each month?", 9, mode=mode))
            assert {"lease-2024.txt", "dog.txt"} < set(first) and {*first, last} == {name[1:] for name in texts}
            assert last in ("lease.txt", "mail.txt")


def test_threads_search_together_and_a_stop_is_heard(index):
    with ThreadPoolExecutor(9) as threads:
        rankings = list(threads.map(lambda _: index.search("rescue boat", 3), range(9)))
    assert rankings == [index.search("rescue boat", 3)] * 9
    stop = cancel.Cancel()
    stop.stop()
    with cancel.scope(stop), pytest.raises(Stopped):
        index.search("boat", 4)


TERM, PRICE = "Notice is given two weeks before.", "The price is 70 euros a month."
SHEET = "Revenue | 2023: 46,298\nCosts | 2023: 31,002\nProfit | 2023: 15,296"
ROWS = [Heading(SHEET.index(name), PLACE, f"row {row}") for row, name in ((2, "Rev"), (3, "Cos"), (4, "Pro"))]
SECTIONS = {
    "price notice": markdown(f"# Contract\n\n## Term and notice\n\n{TERM}\n\n## Price\n\n{PRICE}"),
    "rent garden": markdown("The rent is 900 euros a month.\n\n## Garden\n\nThe garden is shared.\n\n## Attic\n\nDry."),
    "parking space": markdown("A parking space is free.\n\n## Bicycles\n\nBicycles stand in the yard."),
    "revenue": LoadedDocument(SHEET, headings=(Heading(0, 1, "Year"), *ROWS)),
}


QUOTES = [
    ("price notice", "Contract > Term and notice", TERM, "Contract > Term and notice"),
    ("price notice", "Contract > Term and notice", PRICE, "Contract > Price"),
    ("rent garden", "", "The rent is 900 euros a month.", ""),
    ("rent garden", "", "The garden is shared.", "Garden"),
    ("parking space", "", "A parking space is free.", ""),
    ("parking space", "", "Bicycles stand in the yard.", "Bicycles"),
    ("revenue", "Year > row 2 to row 4", SHEET[-42:], "Year > row 3 to row 4"),
]


def test_a_quote_has_the_section_that_it_stands_in(tmp_path):
    with indexed(tmp_path / "index", SECTIONS, HashingEmbedder(window=250), chunk_size=250) as index:
        for query, whole, quote, section in QUOTES:
            (passage,) = index.search(query, 1)
            start = passage.metadata["start"] + passage.page_content.index(quote)
            assert passage.metadata["heading"] == whole
            assert heading_at(passage, start, start + len(quote)) == section, quote


@pytest.mark.parametrize(
    ("cosines", "shares", "expected"),
    [
        # what is not embedded counts with the mean cosine of what words found
        ({1: 0.7, 2: 0.3}, {1: 0, 2: 0, 3: 0.4}, {1: 0.7, 2: 0.3, 3: 0.5 + SPARSE * 0.4}),
        # where nothing that words found is embedded, the best of it counts as the nearest of all
        ({7: 0.3}, {1: 0.4, 2: 0.04}, {7: 0.3, 1: 0.3 + SPARSE * 0.4, 2: 0.03 + SPARSE * 0.04}),
    ],
)
def test_the_share_of_bm25_is_added_to_the_cosine(cosines, shares, expected):
    assert combined(cosines, shares) == pytest.approx(expected)
