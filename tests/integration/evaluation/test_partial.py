"""Test that an index that is not fully embedded is not measured."""

import pytest
from support.evaluation_cases import cases_file
from support.fakes_index import remembering_minilm

from local_rag.config.settings import Settings
from local_rag.index.index import Index

pytestmark = pytest.mark.usefixtures("converted")

FINISH = "local-rag index --embed-only"


@pytest.fixture
def cases(tmp_path):
    """Make an index of two files of which one is embedded, and cases about both."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "bakery.txt").write_text("The bakery opens at seven.")
    with Index.open(Settings.load().index_path, remembering_minilm(), create=True) as index:
        index.sync([notes])
        (notes / "shop.txt").write_text("Bread costs three euros.")
        index.sync(embed=False)
    known = {"answers": ["three euros"], "relevant": ["shop.txt"]}
    asked = [{"question": f"What does bread cost in shop {n}?"} | known for n in range(10)]
    asked += [{"question": f"Who was king in {n}?", "answerable": False} for n in range(10)]
    return cases_file(tmp_path, asked)


@pytest.mark.parametrize("command", ["eval --graph plain", "eval --retrieval-only", "calibrate"])
def test_figures_of_a_part_are_refused_with_the_command_that_embeds_the_rest(cases, said, command):
    shown = said(f"{command} {cases} --engine extractive", 2)
    assert "has only 1 of 2 passages embedded, so the" in shown and FINISH in shown


def test_ranking_by_words_alone_needs_no_vectors(cases, tmp_path, said):
    said(f"eval {cases} --retrieval-only --mode words --out {tmp_path / 'words'}")


@pytest.mark.slow
def test_a_fallback_corpus_that_is_half_embedded_is_refused_too(cases, tmp_path, said):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "page.txt").write_text("The lighthouse is 48 metres tall.")
    said(f"index {tmp_path / 'saved'} --index pages --no-embed")
    said("index --embed-only")
    asked = f"eval {cases} --graph crag --engine extractive --limit 2 --out"
    assert "local-rag index --embed-only --index pages" in said(f"{asked} {tmp_path / 'a'} --web-from pages", 2)
    said(f"{asked} {tmp_path / 'b'} --web-from {tmp_path / 'saved'}")  # a folder is embedded when it is opened
