"""Labels of indexed files: short, and each means its file after --in."""

from __future__ import annotations

import pytest

from local_rag.index.filters import matching
from local_rag.index.path_labels import PathLabels

FILES = ("a/notes/lease.pdf", "b/notes/lease.pdf", "b/notes/deep/[1] plan*.md", "c/合同/租约.pdf", "c/single.txt")


@pytest.fixture
def base(tmp_path):
    """Files below folders of one name, and one with signs of a glob in its name."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("here", "roots", "labels"),
    [
        ("c", ["a/notes", "c", "c/single.txt"], {0: "notes/lease.pdf", 3: "c/合同/租约.pdf", 4: "c/single.txt"}),
        (".", ["a/notes", "b/notes"], {0: FILES[0], 1: FILES[1], 2: FILES[2]}),
        ("b", ["b", "a/notes"], {1: "b/notes/lease.pdf", 0: "{}/a/notes/lease.pdf"}),  # another notes/lease.pdf is here
    ],
)
def test_a_label_begins_with_a_folder_that_tells_it_from_others(base, monkeypatch, here, roots, labels):
    monkeypatch.chdir(base / here)
    label = PathLabels(str(base / root) for root in roots)
    expected = {number: text.format(base) for number, text in labels.items()}
    assert {number: label(str(base / FILES[number])) for number in labels} == expected
    assert [label(other) for other in ("https://a.test/lease", "/else/x.md")] == ["https://a.test/lease", "/else/x.md"]


@pytest.mark.parametrize("here", [".", "a/notes", "b", "b/notes/deep", "/"])
@pytest.mark.parametrize("roots", [("a/notes", "b/notes", "c"), ("a", "b/notes", "c/合同", "c/single.txt"), ("",)])
def test_a_label_typed_after_in_means_its_file_from_any_folder(base, monkeypatch, here, roots):
    monkeypatch.chdir(base / here)
    labels, paths = PathLabels(str(base / root) for root in roots), [str(base / name) for name in FILES]
    assert all(path in matching(paths, [labels(path)]) for path in paths)
