"""Which passages are embedded next, how many at once, and how long the rest will take."""

from __future__ import annotations

import numpy as np
import pytest

from local_rag.index.sync.embedding import LEAST, MOST, SECONDS, Queue, next_size
from local_rag.index.sync.report import LEAST as KNOWN_AFTER
from local_rag.index.sync.report import RECENT, Pace


def queue(lengths, first=1):
    return Queue(np.arange(first, first + len(lengths)), np.array(lengths))


def drained(chunks, size=2):
    batches = []
    while batch := chunks.next(size):
        batches.append(batch)
    return batches


def test_short_passages_come_together_and_each_comes_once():
    chunks = queue([100, 900, 120, 880])
    assert drained(chunks) == [[1, 3], [4, 2]]
    assert (chunks.done, chunks.total, chunks.done_work) == (4, 4, 2000)


def test_what_questions_matched_comes_first_and_unknown_ids_are_passed_over():
    chunks = queue([100] * 6)
    chunks.prefer([5, 4, 99])
    assert chunks.next(3) == [5, 4, 1]
    chunks.prefer([5, 6])
    assert drained(chunks, 10) == [[6, 2, 3]]


def test_newer_files_stay_before_older_ones():
    chunks = queue([900] * 512 + [100] * 512)
    first = [chunk for batch in [chunks.next(64) for _ in range(8)] for chunk in batch]
    assert sorted(first) == list(range(1, 513))


def test_nothing_to_embed():
    chunks = queue([])
    chunks.prefer([1])
    assert chunks.next(64) == []


@pytest.mark.parametrize(("size", "seconds", "following"), [(64, 2 * SECONDS, 32), (64, SECONDS / 4, 256)])
def test_a_batch_takes_about_the_same_time_on_every_machine(size, seconds, following):
    assert next_size(size, seconds) == following
    assert next_size(size, 1000.0) == LEAST and next_size(size, 0.0) == MOST


def test_a_pace_is_that_of_the_recent_past():
    now = [0.0]
    pace = Pace(1000, lambda: now[0])
    first = pace.progress(0, 0, 100, 0, "a")
    assert first.rate is None and first.left is None
    now[0] = KNOWN_AFTER / 2
    assert pace.progress(10, 1, 100, 1, "a").left is None, "too early to say"
    for second in range(10, 110, 10):  # fast at first
        now[0] = float(second)
        fast = pace.progress(second * 5, second, 100, second * 2, "a")
    assert (fast.rate, fast.left, fast.share) == (2.0, 100.0, 0.5)
    for second in range(110, 110 + int(2 * RECENT), 10):  # then slow
        now[0] = float(second)
        slow = pace.progress(500 + (second - 100), second, 100, 200, "b", phase="vectors")
    assert slow.rate == 0.0 and slow.left == pytest.approx(1000 - 500 - (second - 100))
    assert (slow.phase, slow.path) == ("vectors", "b")
