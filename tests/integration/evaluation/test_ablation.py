"""The same cases answered with the evaluator off and on, side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.screen import shown

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.evaluation.ablation import Ablation, variants
from local_rag.evaluation.estimates import Estimate
from local_rag.evaluation.folder import RunFolder
from local_rag.evaluation.statistics import balanced_interval
from local_rag.terminal.ablation import ablation_parts

OFF, ON = "extractive, evaluator off", "extractive, evaluator minilm"

LEASE = """# Lease

The rent is 900 euros a month. The deposit is two rents. The lease ends on 31 March 2027.

The notice period is three months. The tenant repairs small damages up to 80 euros. Bicycles are kept in the cellar.
"""


@pytest.mark.slow
def test_an_ablation_tables_each_way_of_answering_with_intervals(tmp_path, capsys, converted):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "lease.md").write_text(LEASE)
    lines = [
        {"id": "1", "question": "What is the rent?", "answers": ["900 euros"], "relevant": [{"file": "lease.md"}]},
        {"id": "2", "question": "When does the lease end?", "answers": ["31 March 2027"]},
        {"id": "3", "question": "Who discovered penicillin?", "answerable": False},
        {"id": "4", "question": "What is the capital of Mongolia?", "answerable": False},
    ]
    cases = tmp_path / "cases.jsonl"
    cases.write_text("\n".join(map(json.dumps, lines)))
    assert run(["index", str(folder)]) == 0
    capsys.readouterr()
    flags = ["--ablate", "--engine", "extractive", "--graph", "plain", "--json", "--out", str(tmp_path / "runs")]
    assert run(["eval", str(cases), *flags]) == 0
    made = json.loads(capsys.readouterr().out)
    assert list(made["graphs"]["plain"]) == [OFF, ON] and not made["left_out"]
    for figures in made["graphs"]["plain"].values():
        assert figures["balanced"]["cases"] == 4
        assert figures["balanced"]["low"] <= figures["balanced"]["value"] <= figures["balanced"]["high"]
        assert figures["short_f1"]["cases"] == 2
    off, on = (RunFolder.open(Path(folder)) for folder in made["folders"].values())
    shorts = [{record["answer"]["short"] for record in of.records if record["kind"] == "answer"} for of in (off, on)]
    assert shorts[0] == {""} and shorts[1] > {""}
    manifests = [off.manifest, on.manifest]
    assert manifests[0]["evaluator"] is None
    assert len(manifests[1]["evaluator"]["weights"]) == 64 and manifests[1]["evaluator"]["calibration"]
    assert run(["eval", str(cases), "--ablate", "--retrieval-only"]) == 2
    assert "--ablate has no effect with --retrieval-only" in capsys.readouterr().err


def test_the_lines_name_what_was_left_out_and_how_to_compare(tmp_path):
    figures = {"balanced": Estimate(0.75, 0.7, 0.8, 40), "short_f1": Estimate(0.5, None, None, 1)}
    graphs = {"plain": {OFF: figures, ON: {"balanced": Estimate(0.8, 0.75, 0.85, 40)}}, "crag": {}}
    made = Ablation(graphs, {OFF: tmp_path / "a", ON: tmp_path / "b"}, {"ollama, grading packed": "no server answers"})
    lines = shown(*ablation_parts(made), width=200)
    assert any(line.startswith("  balanced accuracy  ") and "0.750 (0.700 to 0.800)" in line for line in lines)
    assert "Left out: ollama, grading packed: no server answers" in lines
    assert f"is it more than chance: local-rag eval compare {tmp_path / 'a'} {tmp_path / 'b'}" in lines
    assert "Answers, crag" not in lines


def test_ollama_is_asked_unless_the_extractive_engine_was_named():
    assert [variant.name for variant in variants(Settings.load(engine="extractive", evaluator="off"))] == [OFF, ON]
    more = [variant for variant in variants(Settings.load()) if variant.engine == "ollama"]
    assert [variant.grading for variant in more] == ["packed", "evaluator"]


def test_a_balanced_accuracy_lies_in_the_interval_of_both_its_shares():
    low, high = balanced_interval([[1.0] * 80 + [0.0] * 20, [1.0] * 30 + [0.0] * 70], 0)
    assert low == pytest.approx(0.55 - 0.059, abs=0.012) and high == pytest.approx(0.55 + 0.059, abs=0.012)
    assert balanced_interval([[1.0] * 10, [1.0] * 10], 0) == (1.0, 1.0)
    assert balanced_interval([[1.0, 0.0], [1.0]], 0) is None
