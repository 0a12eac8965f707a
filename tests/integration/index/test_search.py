"""A search brings the right passages, each text once, and says of each where it stands and how near it is."""

from __future__ import annotations

import sqlite3
import threading

import numpy as np
import pytest
from support.fakes_index import HashingEmbedder, add, indexed, markdown, remembering_minilm

from local_rag.core import cancel
from local_rag.core.documents import PLACE, Heading, LoadedDocument
from local_rag.core.errors import Stopped
from local_rag.index.names import HEADER_WEIGHT, document_header, passage_header
from local_rag.index.search import SPARSE, combined
from local_rag.text.citations import check
from local_rag.text.parts import heading_at

KEYS = (
    "source title author date modified page heading start end chunk_id named score sparse rank_score origin url".split()
)
MODES = ["hybrid", "dense", "words"]
LAMP = "The keeper lights the lamp at dusk and puts it out at dawn."
HORN = "In fog the horn sounds every ninety seconds, by order XK-42."
NOTES = {
    "/notes/light.md": markdown(f"# Lamp\n\n{LAMP}\n\n# Fog\n\n{HORN}", "Lighthouse"),
    "/notes/supply.txt": "The supply boat brings coal and bread on the first Monday of the month.",
    "/notes/rescue.txt": "The rescue boat is kept ready with two oars and a rope of forty metres.",
    "https://tax.test/may": LoadedDocument("Income tax is due in May. Late payment costs interest.", "Taxes"),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory, converted):
    """The notes with MiniLM; nobody changes them."""
    with indexed(tmp_path_factory.mktemp("real") / "index", NOTES, remembering_minilm()) as index:
        yield index


@pytest.fixture
def index(tmp_path):
    with indexed(tmp_path / "index", NOTES) as made:
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
        ("XK-42", "hybrid", "light.md"),
        ("XK-42", "words", "light.md"),
    ],
)
def test_meaning_and_rare_words_find_the_passage(real, query, mode, first):
    assert sources(real.search(query, 1, mode=mode)) == [first]


@pytest.mark.parametrize("mode", MODES)
def test_metadata_is_complete_and_true(real, mode):
    question = "Which boat is kept ready in fog?"
    passages = real.search(question, 9, mode=mode)
    query = remembering_minilm().embed_queries([question])[0]
    for passage in passages:
        about = passage.metadata
        assert list(about)[: len(KEYS)] == KEYS and (about["origin"], about["page"], about["modified"]) == (
            "files",
            None,
            "",
        )
        assert about["url"] == (about["source"] if about["title"] == "Taxes" else "")
        whole = getattr(NOTES[about["source"]], "text", NOTES[about["source"]])
        assert whole[about["start"] : about["end"]] == passage.page_content
        header = passage_header(document_header(about["source"], about["title"]), about["heading"])
        text, named = remembering_minilm().embed_documents([passage.page_content, header])
        vector = text + HEADER_WEIGHT * named
        assert about["score"] == pytest.approx(float(vector / np.linalg.norm(vector) @ query), abs=1e-4)
        share = about["sparse"] or 0
        expected = {"hybrid": about["score"] + SPARSE * share, "dense": about["score"], "words": share}[mode]
        assert 0 <= share <= 1 and about["rank_score"] == pytest.approx(expected, abs=1e-4)
    ranks = [passage.metadata["rank_score"] for passage in passages]
    assert ranks == sorted(ranks, reverse=True) and len(passages) == (3 if mode == "words" else 5)
    (lamp,) = real.search("Who lights the lamp at dusk?", 1)
    assert (lamp.metadata["heading"], lamp.metadata["title"]) == ("Lamp", "Lighthouse")


@pytest.mark.parametrize(
    ("query", "k", "count"), [("boat", 1, 1), ("boat", 3, 3), ("boat", 100, 5), ("boat", 0, 0), ("  \n", 4, 0),
                              ("?! \udce9", 2, 2), ("To be or not to be", 2, 2), ('"lamp AND (NEAR ^x* : {text}', 2, 2),
                              ("\0 ' \" \U0001f600 lamp\0boat", 2, 2), (" ".join(f"w{n}" for n in range(5000)), 2, 2)]
)  # fmt: skip
def test_any_text_is_a_query_and_k_is_kept(index, query, k, count):
    assert [len(index.search(query, k, mode=mode)) for mode in ("hybrid", "dense")] == [count, count]
    assert len(index.search(query, k, mode="words")) <= count


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("Cafés", "cafe", True),
        ("cafe", "café", True),
        ("Relational", "relate", True),
        ("don’t", "don't", True),
        ("日本", "日本", True),
        ("self-rag", "self rag", True),
        ("lamp", "the whale", False),
    ],
)
def test_spellings_of_a_word(index, text, query, found):
    add(index, {"/new.txt": f"One {text} two."})
    assert sources(index.search(query, 1, mode="words")) == ["new.txt"] * found


def test_an_empty_index_finds_nothing(tmp_path):
    with indexed(tmp_path / "index", {}) as empty:
        assert empty.search("boat", 4) == []


def test_exclude_keeps_passages_away(index):
    first, second = keys(index.search("rescue boat", 2))
    assert keys(index.search("rescue boat", 1, exclude={first})) == [second]
    assert index.search("rescue boat", 9, exclude=keys(index.search("rescue boat", 9))) == []


def test_identical_texts_come_once_and_do_not_crowd_out_the_rest(index):
    rescue = NOTES["/notes/rescue.txt"]
    add(index, {f"/copies/{number}.txt": rescue for number in range(80)})
    documents = index.search(rescue, 4)
    assert len({document.page_content for document in documents}) == 4
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
        "/copy.txt": LEASE.format(rent=950),
        "/dog.txt": "The dog is fed at seven and at five. Who pays for its food is agreed each month.",
    }
    same = {"lease.txt", "copy.txt", "mail.txt"}
    with indexed(tmp_path / "index", texts, chunk_size=100) as index:
        for mode in MODES:
            *first, last = sources(index.search("Who pays the rent each month?", 9, mode=mode))
            assert {"lease-2024.txt", "dog.txt"} < set(first) and len(first) == 3 and last in same - set(first)
        assert len(index.search("Who pays the rent each month?", 9, repeats=True)) == len(texts)


def test_a_search_embeds_what_it_brings(tmp_path):
    query = "Which boat is kept ready?"
    with indexed(tmp_path / "index", {}) as index:
        add(index, NOTES, embed=False)
        assert index.embedded_count() == (0, 5) and index.waiting_notes()
        waiting, by_words = index.search(query, 9), index.search(query, 9, mode="words")
        assert sources(waiting) == sources(by_words) and index.search(query, 9, mode="dense") == []
        index.embed()
        scores = {document.metadata["chunk_id"]: document.metadata["score"] for document in index.search(query, 9)}
        assert all(d.metadata["score"] == pytest.approx(scores[d.metadata["chunk_id"]]) for d in waiting)
        assert index.embedded_count() == (5, 5) and not index.waiting_notes()


def test_threads_search_together_and_a_stop_is_heard(index):
    expected = keys(index.search("rescue boat", 3))
    rankings = []
    threads = [
        threading.Thread(target=lambda: rankings.extend(keys(index.search("rescue boat", 3)) for _ in range(10)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rankings == [expected] * 60
    stop = cancel.Cancel()
    stop.stop()
    with cancel.scope(stop), pytest.raises(Stopped):
        index.search("boat", 4)


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"mode": "words"}, 10),
        ({"mode": "dense"}, 11),
        ({}, 12),
        ({"within": ["*.txt"]}, 16),
        ({"exclude": ["none"]}, 13),
    ],
)
def test_a_search_asks_the_database_few_questions(tmp_path, options, most):
    """In one transaction; a query of FTS5 reads rows of its own tables besides, which SQLite notes with two dashes."""
    texts = {f"/{number}.txt": f"Number {number} of the lamp is in room {number % 13}. " * 5 for number in range(200)}
    with indexed(tmp_path / "index", texts) as index:
        index.search("the lamp in room 7", 4, **options)
        statements = []
        db = index.read(lambda db: db)
        assert isinstance(db, sqlite3.Connection)
        db.set_trace_callback(statements.append)
        assert len(index.search("the lamp in room 7", 4, **options)) == 4
        own = [statement for statement in statements if not statement.startswith("--")]
        assert own.count("BEGIN") == 1 and len(own) <= most, own


class TestSections:
    TERM, PRICE = "Notice is given two weeks before.", "The price is 70 euros a month."
    SHEET = "Revenue | 2023: 46,298\nCosts | 2023: 31,002\nProfit | 2023: 15,296"

    @pytest.fixture
    def passages(self, tmp_path):
        rows = [(self.SHEET.index(name), PLACE, f"row {row}")
                for row, name in enumerate(("Revenue", "Costs", "Profit"), start=2)]  # fmt: skip
        texts = {
            "/contract.md": markdown(f"# Contract\n\n## Term and notice\n\n{self.TERM}\n\n## Price\n\n{self.PRICE}"),
            "/sheet.xlsx": LoadedDocument(self.SHEET, headings=(Heading(0, 1, "Year"), *(Heading(*r) for r in rows))),
        }
        with indexed(tmp_path / "index", texts, HashingEmbedder(window=250), chunk_size=250) as index:
            yield {name: index.search(name, 1)[0] for name in ("price notice", "revenue")}

    @pytest.mark.parametrize(
        ("query", "quote", "section"),
        [
            ("price notice", TERM, "Contract > Term and notice"),
            ("price notice", PRICE, "Contract > Price"),
            ("revenue", "Costs | 2023: 31,002", "Year > row 3"),
            ("revenue", SHEET[-42:], "Year > row 3 to row 4"),
        ],
    )
    def test_a_quote_has_the_section_that_it_stands_in(self, passages, query, quote, section):
        passage = passages[query]
        start = passage.metadata["start"] + passage.page_content.index(quote)
        assert heading_at(passage, start, start + len(quote)) == section

    def test_a_citation_names_it_and_a_passage_where_it_begins(self, passages):
        contract, sheet = passages.values()
        assert contract.metadata["heading"] == "Contract > Term and notice"
        assert [path for _, path in contract.metadata["sections"]][1:] == [
            "Contract > Term and notice",
            "Contract > Price",
        ]
        assert sheet.metadata["heading"] == "Year > row 2 to row 4"
        (citation,) = check(f"{self.PRICE[:-1]} [1].", [contract]).citations
        assert citation.heading == "Contract > Price"


@pytest.mark.parametrize(
    ("cosines", "shares", "expected"),
    [
        ({1: 0.5, 2: 0.4, 3: 0.1}, {2: 0.5, 3: 0.25}, {1: 0.5, 2: 0.4 + SPARSE * 0.5, 3: 0.1 + SPARSE * 0.25}),
        # what is not embedded counts with the mean cosine of what words found
        ({1: 0.7, 2: 0.3, 9: 0.9}, {1: 0.6, 2: 0.2, 3: 0.4},
         {1: 0.7 + SPARSE * 0.6, 2: 0.3 + SPARSE * 0.2, 3: 0.5 + SPARSE * 0.4, 9: 0.9}),
        # before anything is embedded words decide alone
        ({}, {1: 0.2, 2: 0.6}, {1: SPARSE * 0.2, 2: SPARSE * 0.6}),
        # where nothing that words found is embedded, the best of it counts as the nearest
        ({7: 0.3, 8: 0.28}, {1: 0.4, 2: 0.04},
         {7: 0.3, 8: 0.28, 1: 0.3 + SPARSE * 0.4, 2: 0.03 + SPARSE * 0.04}),
        ({7: -0.1}, {1: 0.4}, {7: -0.1, 1: SPARSE * 0.4}),
    ],
)  # fmt: skip
def test_the_share_of_bm25_is_added_to_the_cosine(cosines, shares, expected):
    assert combined(cosines, shares) == pytest.approx(expected)
