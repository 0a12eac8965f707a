"""Test scans as a person meets them: named by `index`, read by `index --ocr`, cited and marked.

A citation says how sure OCR is.
"""

import re

import pytest
from support.marks import posix
from support.scans import drawn, scanned, stand_in, table
from support.serving import a_workspace, asking

from local_rag.index.parse.ocr import read_page

pytestmark = pytest.mark.usefixtures("converted")
SAID = "The lamp of Skerryvore burns 40 litres of oil."
WIDTH, HEIGHT = 1240, 440
ASK = "ask 'How much oil does the lamp of Skerryvore burn?'"


def page(*lines):
    """Draw a page that is not high, because every pixel takes time."""
    return drawn(*lines, size=(WIDTH, HEIGHT))


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notes"
    made.mkdir()
    (made / "note.txt").write_text("The keeper sleeps by day.")
    page("A photograph").save(made / "photo.png")
    scanned(made / "log.pdf", page("Log of the tower", "", SAID, "It is lit at dusk."))
    return made


def test_rapidocr_reads_a_page_without_a_socket(tmp_path, monkeypatch):
    """Read in this process, where every socket to another machine fails the test, and without the memory limit."""
    monkeypatch.setattr("local_rag.core.child_process.limit_memory", lambda size: None)
    document = read_page(scanned(tmp_path / "a.pdf", page(SAID)), 1, ())
    assert document.text == SAID
    assert all(0.5 < line.confidence <= 1 for line in document.lines)


def test_a_scan_is_named_then_read_then_cited_and_marked(folder, said, monkeypatch):
    with monkeypatch.context() as without:
        without.setattr("local_rag.index.parse.ocr.find_spec", lambda name: None)
        without.setenv("PATH", "")
        told = said(f"index {folder}")
        assert re.search(
            r"OCR would read 1 page without a text layer and 1 image: pip install 'local-rag\[ocr\]' +then +"
            r"local-rag index --ocr\n +\S*notes/photo.png\n",
            told,
        )
        assert "log.pdf: page 1: no text layer" in told
        assert "pip install 'local-rag[ocr]'" in said("index --ocr", 2)
    assert "2 pages read by OCR" in said("index --ocr")
    assert re.search(r"log\.pdf, p\. 1, read by OCR \((\.\d\d|1\.00)\)", said(ASK))
    answer = said.json(ASK)
    (cited,) = answer["citations"]
    assert (cited["quote"], answer["status"], answer["certainty"]) == (SAID, "grounded", "sure")
    with asking(a_workspace()) as client:
        files = client.get("/api/files").json()["files"]
        file = next(each["file_id"] for each in files if each["label"].endswith("log.pdf"))
        where = {"page": 1, "start": cited["start"], "end": cited["end"], "quote": cited["quote"]}
        place = client.get(f"/api/documents/{file}/place", params=where).json()
    ((left, top, *_),) = place["image"]["rectangles"]
    assert place["placed"] and place["kind"] == "pdf"
    assert top == pytest.approx(270 / HEIGHT, abs=0.02) and left == pytest.approx(120 / WIDTH, abs=0.01)


@posix  # a program is a script here
def test_a_line_that_ocr_is_not_sure_of_lowers_the_certainty(folder, tmp_path, said, monkeypatch):
    stand_in(tmp_path / "bin", monkeypatch, table((120, 270, 71, SAID)))
    monkeypatch.setenv("LOCAL_RAG_OCR_LANGUAGES", "eng")
    said(f"index {folder} --ocr")
    told = said(ASK, 4)
    assert "Probably: OCR was not sure of a line that is quoted" in told and "read by OCR (.71)" in told
    answer = said.json(ASK, 4)
    assert (answer["status"], answer["certainty"]) == ("partial", "probably")
