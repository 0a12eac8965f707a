"""Two scores as one, and several rankings as one."""

from __future__ import annotations

import pytest

from local_rag.index.fusion import SPARSE, combined, fuse


def test_the_share_of_bm25_is_added_to_the_cosine():
    scores = combined({1: 0.5, 2: 0.4, 3: 0.1}, {2: 0.5, 3: 0.25})
    assert scores == pytest.approx({1: 0.5, 2: 0.4 + SPARSE * 0.5, 3: 0.1 + SPARSE * 0.25})


def test_what_is_not_embedded_is_neither_punished_nor_preferred():
    shares = {1: 0.6, 2: 0.2, 3: 0.4}
    scores = combined({1: 0.7, 2: 0.3, 9: 0.9}, shares, [3])
    assert scores[3] == pytest.approx(0.5 + SPARSE * 0.4), "the mean of what words found, not of what vectors found"
    assert scores[1] > scores[3] > scores[2]


def test_before_anything_is_embedded_words_decide_alone():
    scores = combined({}, {1: 0.2, 2: 0.6}, [1, 2])
    assert scores == pytest.approx({1: SPARSE * 0.2, 2: SPARSE * 0.6})


def test_the_best_by_words_comes_first_where_only_what_words_do_not_match_is_embedded():
    scores = combined({7: 0.3, 8: 0.28}, {1: 0.4, 2: 0.04}, [1, 2])
    assert sorted(scores, key=scores.__getitem__, reverse=True) == [1, 7, 8, 2], "and what is near is not buried"
    assert combined({7: -0.1}, {1: 0.4}, [1])[1] == pytest.approx(SPARSE * 0.4)


def test_reciprocal_rank_fusion_by_hand():
    assert fuse([[1, 2, 3], [3, 1]]) == pytest.approx({1: 1 / 61 + 1 / 62, 3: 1 / 63 + 1 / 61, 2: 1 / 62})
    assert list(fuse([[1, 2], [2, 1]])) == [1, 2] and fuse([]) == {}
    assert list(fuse([["a", "b"], ["b"]], [1, 2])) == ["b", "a"]
