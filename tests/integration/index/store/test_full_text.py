"""The first ranks by words are those of all matches, though what only frequent words match stays unranked."""

from pathlib import Path

import numpy as np
import pytest
from support.fakes_index import add, indexed

from local_rag.index.store import words

WORDS = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300)]
QUERIES = [
    "waa wab wce",
    "wac wad wae waf wag whh",
    "waa wab",
    "wdd wee wff",
    "waa wza-wab wbb",
    "wkk",
    "waa",
    "nothing",
    "of the",
]


@pytest.fixture(scope="module")
def zipf(tmp_path_factory):
    """Passages of words whose frequencies fall as Zipf's, the first in nearly every passage."""
    dice, shares = np.random.default_rng(3), 1 / np.arange(1, len(WORDS) + 1)
    each = [" ".join(dice.choice(WORDS, dice.integers(5, 40), p=shares / shares.sum())) for _ in range(500)]
    texts = {f"/{number}": text for number, text in enumerate(each)}
    with indexed(tmp_path_factory.mktemp("ranking") / "index", {}) as made:
        add(made, texts, embed=False)
        yield made


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in {"PLAIN": 10, "RANKED_FIRST": 40, "RANKED_MOST": 40_000}.items():
        monkeypatch.setattr(words, name, value)


def best(index, query, limit):
    return list(index.store.match(query, limit).items())


def every_match(index, query, limit):
    return list(index.store.match_among(query, range(1, 5_000)).items())[:limit]


@pytest.mark.parametrize("query", QUERIES)
def test_the_first_ranks_are_exact_where_the_bound_is(zipf, monkeypatch, query):
    monkeypatch.setattr(words, "USUAL", words.LIMIT)
    for limit in (1, 10, 50):
        ranking, expected = best(zipf, query, limit), every_match(zipf, query, limit)
        assert [chunk for chunk, _ in ranking] == [chunk for chunk, _ in expected]
        assert [score for _, score in ranking] == pytest.approx([score for _, score in expected])


def test_as_it_comes_nearly_all_of_them_are_there_and_fewer_are_ranked(zipf, monkeypatch):
    query, expected = "waa wab wac wee wff", every_match(zipf, "waa wab wac wee wff", 900)
    nearest = {chunk for chunk, _ in expected[:10]}
    assert len(nearest & {chunk for chunk, _ in best(zipf, query, 50)[:10]}) >= 9
    monkeypatch.setattr(words, "RANKED_MOST", 40)
    assert 0 < len(best(zipf, query, 900)) < len(expected) / 4


def test_a_word_of_names_is_as_rare_as_it_is_in_names_and_stays_as_telling_in_texts(tmp_path):
    """All files lie in a folder "rent", and one is called so: among folders the word says nothing, in texts it does."""
    texts = {"a": "rent " * 3, "rent": "boats", "b": "cows", "c": "rent and cows", "d": "hay"}
    folder = tmp_path / "rent"
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    with indexed(tmp_path / "index", {}) as index:
        index.sync([folder])
        found = index.search("rent", 9, mode="words")
    assert [Path(document.metadata["source"]).stem for document in found][:3] == ["rent", "a", "c"]


def test_frequencies_follow_the_index(tmp_path):
    with indexed(tmp_path / "index", {}) as index:
        for number in range(1, 4):
            add(index, {f"/{number}": f"a lamp and {number} boats"})
            found = index.search("lamps", 9, mode="words", repeats=True)
            assert len(found) == number and index.document_frequency(["lamps", "oar"]) == {"lamps": number, "oar": 0}
