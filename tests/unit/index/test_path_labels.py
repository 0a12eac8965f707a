"""Labels of indexed files: short, and each means its file after --in."""

from __future__ import annotations

import pytest
from support.counting import grows_in_step

from local_rag.index.filters import matching
from local_rag.index.path_labels import PathLabels


@pytest.fixture
def files(tmp_path):
    """Files below folders of one name, and one with signs of a glob in its name."""
    names = ("a/notes/lease.pdf", "b/notes/lease.pdf", "b/notes/deep/[1] plan*.md", "c/合同/租约.pdf", "c/single.txt")
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path, list(map(str, paths))


def test_a_label_begins_with_the_name_of_the_indexed_folder(files, tmp_path_factory, monkeypatch):
    base, paths = files
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    labels = PathLabels(map(str, (base / "a" / "notes", base / "c", base / "c" / "single.txt")))
    assert [labels(paths[number]) for number in (0, 3, 4)] == ["notes/lease.pdf", "c/合同/租约.pdf", "c/single.txt"]
    assert labels("https://example.org/lease") == "https://example.org/lease"
    assert labels("/elsewhere/x.md") == "/elsewhere/x.md"


def test_folders_of_one_name_are_told_apart(files, monkeypatch):
    base, paths = files
    labels = PathLabels(map(str, (base / "a" / "notes", base / "b" / "notes")))
    assert [labels(path) for path in paths[:3]] == [
        "a/notes/lease.pdf",
        "b/notes/lease.pdf",
        "b/notes/deep/[1] plan*.md",
    ]
    monkeypatch.chdir(base / "a")
    only = PathLabels([str(base / "b" / "notes")])
    assert only(paths[1]) == "b/notes/lease.pdf", "notes/lease.pdf is another file from here"


@pytest.mark.parametrize("here", [".", "a", "a/notes", "b", "b/notes/deep", "c", "/"])
@pytest.mark.parametrize("roots", [("a/notes", "b/notes", "c"), ("a", "b/notes", "c/合同", "c/single.txt"), (".",)])
def test_a_label_typed_after_in_means_its_file_from_any_folder(files, monkeypatch, here, roots):
    base, paths = files
    monkeypatch.chdir(base / here)
    labels = PathLabels(str((base / root).absolute()) for root in roots)
    for path in paths:
        label = labels(path)
        matches = matching(paths, [label])
        assert path in matches
        assert all(match.endswith(f"/{label}") for match in matches), "others only where their path ends with it, too"


def test_many_indexed_files_are_labelled_in_step_with_their_number():
    def label(count):
        files = [f"/nowhere/notes/{number}.txt" for number in range(count)]
        labels = PathLabels(files)
        assert len({labels(file) for file in files}) == count

    assert grows_in_step(label, 100, 400)
