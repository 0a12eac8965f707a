"""Loaders of one's own read files by their suffix, in the worker process; what they read stays without them."""

from __future__ import annotations

import pytest
from support.fakes_index import minilm
from support.own_loaders import load_shouted

from local_rag.core.errors import UsageError
from local_rag.index.index import Index


@pytest.fixture
def folder(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "plan.xyz").write_text("THE PLAN\nTHE GREENHOUSE COSTS 4,200 EUROS.\nIT IS PAID.\n")
    (notes / "empty.xyz").write_text("NOTHING\n")
    (notes / "other.abc").write_bytes(b"\0\1\2")
    return notes


def test_files_of_a_suffix_are_read_by_a_loader_of_ones_own_and_stay_without_it(tmp_path, folder):
    with Index.open(tmp_path / "index", minilm(), create=True) as index:
        report = index.sync([folder], loaders={".xyz": load_shouted})
        assert [path.rpartition("/")[2] for path in report.new] == ["plan.xyz"]
        ((skipped, reason),) = [(one.path, one.reason) for one in report.skipped]
        assert skipped.endswith("empty.xyz") and reason == "is nothing but a title"
        assert report.ignored == {".abc": 1}
        (passage,) = index.search("What does the greenhouse cost?", 1)
        assert passage.metadata["title"] == "The Plan"
        assert "the greenhouse costs 4,200 euros.\nit is paid." in passage.page_content
        report = index.sync([folder])
        assert (report.unchanged, report.removed) == (1, ())
        assert index.search("greenhouse", 1)


def test_a_loader_is_stronger_than_ours(tmp_path, folder):
    (folder / "plan.txt").write_text("THE LEASE\nIT ENDS IN MAY.\n")
    with Index.open(tmp_path / "index", minilm(), create=True) as index:
        index.sync([folder], loaders={".txt": load_shouted})
        assert index.search("lease", 1)[0].metadata["title"] == "The Lease"


def test_what_another_process_cannot_import_is_refused(tmp_path, folder):
    def inner(path):
        return load_shouted(path)

    with Index.open(tmp_path / "index", minilm(), create=True) as index:
        with pytest.raises(UsageError, match="must be a function at the top of a module") as raised:
            index.sync([folder], loaders={".xyz": inner})
        assert "my_loaders.py" in raised.value.hint
        with pytest.raises(UsageError, match="a suffix in small letters with its dot, not for 'XYZ'"):
            index.sync([folder], loaders={"XYZ": load_shouted})
