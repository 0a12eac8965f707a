"""The list of passages to embed first: bounded, ids only, its owner's, and never in anybody's way."""

from __future__ import annotations

import os
import stat
import sys

import pytest
from support.permissions import bound_by_permissions

from local_rag.index.store import priority
from local_rag.index.store.folder import PRIORITY, is_ours


def test_the_latest_come_first_and_once_and_the_list_is_empty_then(tmp_path):
    priority.note(tmp_path, [3, 1])
    priority.note(tmp_path, [2, 3])
    assert priority.taken(tmp_path) == [3, 2, 1]
    assert priority.taken(tmp_path) == []


def test_it_is_bounded_and_keeps_the_newer_half(tmp_path):
    for number in range(3 * priority.MOST):
        priority.note(tmp_path, [number])
        assert (tmp_path / PRIORITY).stat().st_size <= 8 * priority.MOST
    kept = priority.taken(tmp_path)
    assert kept == list(range(3 * priority.MOST - 1, kept[-1] - 1, -1)) and len(kept) >= priority.MOST // 2


def test_more_than_it_holds_at_once(tmp_path):
    priority.note(tmp_path, range(2 * priority.MOST))
    assert len(priority.taken(tmp_path)) == priority.MOST


def test_it_belongs_to_the_index_and_to_its_owner(tmp_path):
    priority.note(tmp_path, [1])
    assert is_ours(PRIORITY)
    if sys.platform != "win32":
        assert stat.S_IMODE((tmp_path / PRIORITY).stat().st_mode) == 0o600


def test_nothing_to_note_makes_no_file(tmp_path):
    priority.note(tmp_path, [])
    assert not (tmp_path / PRIORITY).exists()


def test_half_a_row_of_a_full_disk_is_passed_over(tmp_path):
    priority.note(tmp_path, [1, 2])
    with (tmp_path / PRIORITY).open("ab") as file:
        file.write(b"\x07")
    assert priority.taken(tmp_path) == [2, 1]


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes as Unix has them")
def test_what_lies_in_its_place_is_left_alone(tmp_path):
    others = tmp_path / "others"
    others.write_text("mine")
    (tmp_path / PRIORITY).symlink_to(others)
    priority.note(tmp_path, [1])
    assert others.read_text() == "mine"
    (tmp_path / PRIORITY).unlink()
    os.mkfifo(tmp_path / PRIORITY)
    priority.note(tmp_path, [1])
    assert priority.taken(tmp_path) == []


def test_a_folder_that_cannot_be_written_fails_nobody(tmp_path):
    tmp_path.chmod(0o500)
    try:
        bound_by_permissions(lambda: priority.note(tmp_path, [1]))
        assert bound_by_permissions(lambda: priority.taken(tmp_path)) == []
    finally:
        tmp_path.chmod(0o700)
