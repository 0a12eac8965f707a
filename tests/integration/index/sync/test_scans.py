"""Pages that wait for OCR: read one by one after all text, once each, by a program in the place of tesseract."""

import os
from pathlib import Path

import pytest
from support.fakes_index import indexed
from support.hostile import make_zip
from support.marks import posix
from support.scans import drawn, scanned, stand_in, table

from local_rag.index.index import Index
from local_rag.index.parse.ocr import READERS

pytestmark = posix  # a program is a script here
SAID = "The lamp is lit at dusk."


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notes"
    made.mkdir()
    (made / "note.txt").write_text("The keeper sleeps by day.")
    scanned(made / "log.pdf", ["1"], ["2"])
    drawn("A photograph").save(made / "photo.png")
    return made


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An empty index; what tesseract was asked stands in `tmp_path/bin/asked`."""
    stand_in(tmp_path / "bin", monkeypatch, table((100, 100, 91, SAID)))
    with indexed(tmp_path / "index", {}) as made:
        yield made


def found(index):
    """(file, page) of the passages that OCR has read."""
    passages = index.search("lamp dusk", 20, repeats=True)
    return sorted(
        (Path(each.metadata["source"]).name, each.metadata["page"]) for each in passages if "ocr" in each.metadata
    )


def pages_read(tmp_path):
    asked = tmp_path / "bin" / "asked"
    return len(asked.read_text().splitlines()) if asked.exists() else 0


@pytest.mark.slow
def test_pages_wait_until_ocr_is_asked_for_and_can_read_them(index, folder, tmp_path, monkeypatch):
    report = index.sync([folder])
    assert (report.scans, report.ignored, len(report.new)) == (2, {".png": 1}, 1)
    assert report.images == (str(folder / "photo.png"),)
    assert [(Path(file.path).name, file.reason) for file in report.skipped] == [
        ("log.pdf", "pages 1, 2: no text layer (scanned?)")
    ]
    assert (index.status().files, found(index), pages_read(tmp_path)) == (1, [], 0)
    with monkeypatch.context() as patched:
        stand_in(tmp_path / "broken", patched, code=1)
        read = index.read_scans(languages=["eng"])
        assert all("is not read by tesseract" in file.reason for file in read.skipped)
        assert (read.scans_read, len(read.skipped), read.scans) == (0, 2, 2)
    assert index.sync(loaders=READERS).scans == 3
    assert index.read_scans(languages=["eng"]).scans_read == 3
    index.embed()
    assert found(index) == [("log.pdf", 1), ("log.pdf", 2), ("photo.png", 1)]
    passage = next(each for each in index.search("lamp", 9) if "ocr" in each.metadata)
    assert passage.metadata["ocr"] == [[0, len(SAID), 0.91]]
    again = index.sync()
    assert (again.scans, again.unchanged, again.removed, pages_read(tmp_path)) == (0, 3, (), 3)
    index.verify(deep=True)


def test_a_bad_image_costs_no_other_file_anything(index, folder, tmp_path):
    """What is wrong with the picture is remembered with the file, and it is not tried again."""
    whole = (folder / "photo.png").read_bytes()
    (folder / "cut.png").write_bytes(whole[: len(whole) // 2])
    (folder / "text.png").write_text("no picture")
    make_zip(folder / "a.zip", {"log.pdf": (folder / "log.pdf").read_bytes(), "note.txt": "The note in the zip."})
    report = index.sync([folder], loaders=READERS)
    for name, why in (("text.png", "is no image"), ("a.zip", "OCR does not read what lies inside")):
        assert why in next(file.reason for file in report.skipped if file.path.endswith(name))
    read = index.read_scans(languages=["eng"])
    (failed,) = read.skipped
    assert (
        (read.scans_read, read.scans) == (3, 0)
        and failed.path.endswith("cut.png")
        and "page 1 was not read: it is damaged" in failed.reason
    )
    again = index.sync(loaders=READERS)
    assert again.scans == 0 and failed.reason in [file.reason for file in again.skipped]


@pytest.mark.slow
def test_a_run_that_ends_early_loses_at_most_the_page_in_hand_and_another_content_is_read_anew(index, folder):
    def end(progress):
        if progress.done == 1:
            raise KeyboardInterrupt

    index.sync([folder])
    with pytest.raises(KeyboardInterrupt):
        index.read_scans(languages=["eng"], progress=end)
    with Index.open(index.path) as other:
        assert other.files()[0].warnings == ("page 2: no text layer (scanned?)",)
    assert index.read_scans(languages=["eng"]).scans_read == 1 and len(found(index)) == 2
    scanned(folder / "log.pdf", ["another"], ["page"])
    os.utime(folder / "log.pdf", (1, 1))
    report = index.sync()
    assert (report.scans, report.updated) == (2, (str(folder / "log.pdf"),)) and found(index) == []
