"""Test whether a passage holds a target of a case."""

import pytest
from langchain_core.documents import Document

from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.matching import held, holds, located, quoted, ranking, same_file, tails


@pytest.mark.parametrize(
    ("wish", "source", "same"),
    [
        ("a.pdf", "/home/me/files/a.pdf", True),
        ("files/a.pdf", "/home/me/files/a.pdf", True),
        ("./files/a.pdf", "/home/me/files/a.pdf", True),
        ("other/a.pdf", "/home/me/files/a.pdf", False),
        ("a.pdf", "/home/me/files/aa.pdf", False),
        ("files\\a.pdf", "C:\\me\\files\\a.pdf", True),
        ("/home/me/files/a.pdf", "/home/me/files/a.pdf", True),
        ("https://Example.org:443/a", "https://example.org/a", True),
        ("https://example.org/a", "/home/me/a", False),
        ("a", "https://example.org/a", False),
        ("4983", "4983", True),
        ("Old pumps/1", "Old pumps/11", False),
        (".", "/home/me/a.pdf", False),
        ("AC//DC", "AC//DC", True),
        ("Stra\u00dfe/cafe\u0301.md", "/x/Stra\u00dfe/caf\u00e9.md", True),
    ],
)
def test_a_file_is_the_end_of_a_path_or_a_url(wish, source, same):
    assert same_file(wish, source) is same


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("The fee is 12 euros.", "It says: the  fee\nis 12 EUROS. Then more.", True),
        ("The fee is 12 euros.", "The fee is 13 euros.", False),
        ("the quick brown fox jumps", "…and so the quick brown fox", True),
        ("the quick brown fox jumps", "brown fox jumps over the dog", True),
        ("the quick brown fox jumps", "jumps over the dog", False),
        ("the quick brown fox jumps", "it ends with the quick", False),
        ("ﬁne", "a fine thing", True),
        ("one", "none", False),
        ("born in Paris", "He was reborn in", False),
        ("born in Paris", "in Parisian cafes", False),
        ("born in Paris", "He was born in", True),
        ("in 1920", "1920s jazz", False),
        ("March 2027", "2027 was a dry year.", False),  # a single word of a quote stands anywhere
        ("Das Ende", "Am Ende", False),
        ("well-known", "known by all", False),
        ("泵站每年检查两次", "它说泵站每年检查", True),
    ],
)
def test_a_quote_may_run_over_the_border_of_a_passage(quote, text, found):
    assert quoted(quote, text) is found


def test_file_page_and_quote_must_all_fit():
    target = Target("a.pdf", 2, "twelve")
    assert holds(target, "/x/a.pdf", 2, "It is twelve.")
    assert not holds(target, "/x/a.pdf", 3, "It is twelve.")
    assert not holds(target, "/x/b.pdf", 2, "It is twelve.")
    assert not holds(target, "/x/a.pdf", 2, "It is eleven.")
    assert not holds(target, "/x/a.pdf", None, "It is twelve.")
    assert holds(Target(quote="twelve"), "/any", None, "twelve"), "a quote alone may stand anywhere"


def passage(number, source, text="", page=None):
    return Document(text, metadata={"source": source, "page": page, "chunk_id": f"c{number}"})


def test_files_are_ranked_by_their_best_passage():
    case = Case("1", "q", relevant=(Target("b"), Target("z", gain=2)))
    found = ranking(case, [passage(1, "a"), passage(2, "b"), passage(3, "a"), passage(4, "b"), passage(5, "c")])
    assert found.units == ("a", "relevant 1", "c")
    assert found.gains == {"relevant 1": 1.0, "relevant 2": 2.0}


def test_quotes_are_ranked_by_passage_and_pages_by_page():
    case = Case("1", "q", relevant=(Target("a", quote="one"), Target("a", quote="two")))
    found = ranking(case, [passage(1, "a", "none"), passage(2, "a", "one and two"), passage(3, "a", "nothing")])
    assert found.units == ("c1", "relevant 1", "relevant 2", "c3")
    assert held(case, passage(2, "a", "one and two")) == (0, 1)
    pages = Case("1", "q", relevant=(Target("a", page=2),))
    found = ranking(pages, [passage(1, "a", page=1), passage(2, "a", page=1), passage(3, "a", page=2)])
    assert found.units == ("a, page 1", "relevant 1")


@pytest.mark.parametrize(
    ("copied", "place"),
    [
        ("12 euros", "12 euros"),
        ("the FEE is", "The fee is"),
        ("12", "$12"),
        ("5", "5%"),
        ("13 euros", None),
        ("", None),
    ],
)
def test_copied_words_are_located(copied, place):
    text = "The fee is 12 euros, or $12; 5% more in May." if copied != "12" else "It is $12 now."
    span = located(copied, text)
    assert (span and span.of(text)) == place


def test_files_are_named_as_shortly_as_can_be():
    names = tails(["/a/b/plan.md", "/a/c/plan.md", "/a/c/x.md", "https://example.org/y.md"])
    assert list(names.values()) == ["b/plan.md", "c/plan.md", "x.md", "https://example.org/y.md"]
