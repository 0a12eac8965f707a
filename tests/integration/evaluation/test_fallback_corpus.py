"""Test `eval --web-from`: the web branches of CRAG and Adaptive RAG, measured without a network."""

import json

import pytest
from support.evaluation_cases import cases_file
from support.fakes_index import remembering_minilm

from local_rag.config.settings import Settings
from local_rag.evaluation.compare import compare
from local_rag.evaluation.folder import RunFolder
from local_rag.index.index import Index

pytestmark = pytest.mark.usefixtures("converted")

CASES = [
    {"id": "bread", "question": "What does bread cost?", "answers": ["three euros"], "answerable": True,
     "relevant": [{"file": "bakery.txt"}]},
    {"id": "tower", "question": "How tall is the lighthouse of Skerryvore?", "answers": ["48 metres"],
     "answerable": True, "relevant": [{"file": "lighthouse.html", "quote": "is 48 metres tall"}]},
]  # fmt: skip


@pytest.fixture
def asked(tmp_path, said):
    """Return a function of a run's name and the text of a saved page, for the run's folder and its output."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "bakery.txt").write_text("The bakery opens at seven. Bread costs three euros.")
    with Index.open(Settings.load().index_path, remembering_minilm(), create=True) as index:
        index.sync([tmp_path / "notes"])
    cases_file(tmp_path, CASES, "cases.jsonl")
    (tmp_path / "saved").mkdir()

    def ask(name, page=""):
        (tmp_path / "saved" / "lighthouse.html").write_text(f"<body><p>{page}</p></body>")
        source = f"--web-from {tmp_path / 'saved'}" if page else ""
        command = f"eval {tmp_path / 'cases.jsonl'} --engine extractive --graph plain --graph crag"
        shown = said.shown(f"{command} --out {tmp_path / name} {source}")
        return RunFolder.open(tmp_path / name), shown

    return ask


@pytest.mark.slow
def test_a_run_with_a_fallback_corpus_measures_it_and_another_one_is_compared_aloud(asked, tmp_path, said):
    without, shown = asked("without")
    assert "1 of 2 cases names a file that is not in the index" in shown.err
    for _ in range(2):
        folder, shown = asked("with", "The lighthouse of Skerryvore is 48 metres tall.")
    assert "names a file that is not in the index" not in shown.err
    assert "Fallback corpus" in shown.out

    record = folder.record(("answer", "tower", "crag"))
    assert record["answer"]["fallback_corpus"] and not record["answer"]["used_web"]
    assert [cited["holds"] for cited in record["cited"]] == [[0]]
    (graded,) = [grade for grade in record["grades"] if grade["gold"]]
    assert graded["verdict"] == "relevant"
    report = json.loads((folder.path / "report.json").read_text())
    counted = report["summary"]["figures"]["Fallback corpus"]
    assert [counted["crag"][name]["mean"] * 2 for name in ("searched", "cited")] == [1, 1]
    assert (report["run"]["fallback_corpus"]["documents"], report["run"]["fallback_corpus"]["chunks"]) == (1, 1)
    assert without.manifest["fallback_corpus"] is None
    assert "fallback corpus" in (folder.path / "report.html").read_text(encoding="utf-8")

    assert "fallback_corpus.content" in compare(without.path, folder.path).made

    (tmp_path / "saved" / "lighthouse.html").write_text("The lighthouse of Skerryvore is 12 metres tall.")
    command = f"eval {tmp_path / 'cases.jsonl'} --engine extractive --out {tmp_path / 'with'}"
    told = said(f"{command} --web-from {tmp_path / 'saved'}", 2)  # a run goes on only with the same one
    assert "holds another run: it differs in fallback_corpus.content" in told
    said(command, 2)
