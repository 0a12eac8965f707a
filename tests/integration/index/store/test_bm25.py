"""What only frequent words match is left unranked, and the first ranks are those of all matches."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from support import storing

from local_rag.core.documents import LoadedDocument
from local_rag.index.store import bm25, full_text, reads
from local_rag.index.store.schema import FileRow, Recipe
from local_rag.index.store.store import Store
from local_rag.text.chunking import Chunk

WORDS = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300)]
CHUNKS = 1500
QUERIES = [
    "waa wab wce",
    "wac wad wae waf wag whh",
    "waa wab",
    "wdd wee wff",
    "waa wza-wab wbb",
    "wkk",
    "waa",
    "nothing",
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Passages of words whose frequencies fall as Zipf's, the first in nearly every passage."""
    made = Store.create(tmp_path_factory.mktemp("ranking") / "index", Recipe("toy", "toy-1", 4, 50, 0))
    dice = np.random.default_rng(3)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    vector = np.array([1, 0, 0, 0], dtype=np.float32)
    with made.writing() as db:
        for number in range(CHUNKS // 10):
            texts = [" ".join(dice.choice(WORDS, dice.integers(5, 40), p=shares / shares.sum())) for _ in range(10)]
            ranking = [(LoadedDocument(text, "", None), [Chunk(0, len(text), "")], [vector]) for text in texts]
            storing.write(db, FileRow(f"/{number}", "/", "hash", 1, 1), ranking)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(bm25, "PLAIN", 10)
    monkeypatch.setattr(bm25, "FIRST", 40)
    monkeypatch.setattr(bm25, "MOST", 40_000)


def every_match(opened, query, limit, files=None, exclude=()):
    terms = " OR ".join(bm25.terms_of(query))
    return opened.read(full_text.matching, terms, limit, files, exclude)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("limit", [1, 10, 50])
def test_the_first_ranks_are_exact_where_the_bound_is(opened, monkeypatch, query, limit):
    monkeypatch.setattr(bm25, "USUAL", 2.2)
    ranking = opened.matching(bm25.terms_of(query), limit, None, ())
    expected = every_match(opened, query, limit)
    assert [chunk for chunk, _ in ranking] == [chunk for chunk, _ in expected]
    assert [score for _, score in ranking] == pytest.approx([score for _, score in expected])


@pytest.mark.parametrize("query", QUERIES)
def test_files_and_passages_narrow_it(opened, monkeypatch, query):
    monkeypatch.setattr(bm25, "USUAL", 2.2)
    files = [file.id for file in opened.read(reads.files)][::3]
    left_out = [chunk for chunk, _ in every_match(opened, query, 5)]
    ranking = opened.matching(bm25.terms_of(query), 10, storing.of_files(files), left_out)
    inside = opened.read(storing.of_files(files).json)
    assert [chunk for chunk, _ in ranking] == [chunk for chunk, _ in every_match(opened, query, 10, inside, left_out)]


def test_frequent_words_alone_are_not_ranked(opened, monkeypatch):
    ranked = []

    def matching(db, query, *rest):
        ranked.append(query)
        return plain(db, query, *rest)

    plain = full_text.matching
    monkeypatch.setattr(full_text, "matching", matching)
    terms = bm25.terms_of("waa wab wac wee wff")
    ranking = opened.matching(terms, 50, None, ())[:10]
    assert ranked and all(query.startswith("({text heading title} : ") and ") AND (" in query for query in ranked)
    assert '"waa"' not in ranked[-1].partition(" AND ")[0]
    expected = plain(opened.connection, " OR ".join(bm25.terms_of("waa wab wac wee wff")), 10, None, ())
    assert len({chunk for chunk, _ in ranking} & {chunk for chunk, _ in expected}) >= 9


def test_a_word_of_names_is_as_rare_as_it_is_in_names_and_stays_as_telling_in_texts(tmp_path):
    """All files lie in a folder "rent", and one is called so: among folders the word says nothing, in texts it does."""
    vector = np.array([1, 0, 0, 0], dtype=np.float32)
    texts = {"a": "rent " * 3, "rent": "boats", "b": "cows", "c": "rent and cows", "d": "hay"}
    with contextlib.closing(Store.create(tmp_path / "index", Recipe("toy", "toy-1", 4, 50, 0))) as store:
        with store.writing() as db:
            for name, text in texts.items():
                documents = [(LoadedDocument(text, "", None), [Chunk(0, len(text), "")], [vector])]
                storing.write(db, FileRow(f"/rent/{name}.txt", "/rent", "hash", 1, 1), documents)
        terms = bm25.terms_of("rent")
        ranking = store.matching(terms, 10, None, ())
        chunks = {p.id: Path(p.source).stem for p in store.read(reads.passages, [c for c, _ in ranking])}
        order = [chunks[chunk] for chunk, _ in ranking]
        assert order[:3] == ["rent", "a", "c"] and set(order[3:]) == {"b", "d"}
        assert -ranking[1][1] <= store.highest(terms)


def test_no_more_is_ranked_than_was_allowed(opened, monkeypatch):
    monkeypatch.setattr(bm25, "MOST", 40)
    _, counts = opened.read(bm25.Frequencies().of, bm25.terms_of("waa wab wkk"))
    ranking = opened.matching(bm25.terms_of("waa wab wkk"), CHUNKS, None, ())
    assert len(ranking) == counts['"wkk"'] < 40


def test_frequencies_follow_the_index(tmp_path):
    made = Store.create(tmp_path / "index", Recipe("toy", "toy-1", 4, 50, 0))
    frequencies = bm25.Frequencies()
    vector = np.array([1, 0, 0, 0], dtype=np.float32)
    for number in (1, 2):
        text = "a lamp"
        with made.writing() as db:
            document = (LoadedDocument(text, "", None), [Chunk(0, len(text), "")], [vector])
            storing.write(db, FileRow(f"/{number}", "/", "hash", 1, 1), [document])
        assert made.read(frequencies.of, ['"lamps"', '"boat"']) == (number, {'"lamps"': number, '"boat"': 0})
    made.close()
