"""Which calibrated thresholds hold, and what is said of those that do not."""

from __future__ import annotations

import pytest
import yaml

from local_rag.config.calibrated import FILE, calibrated, fingerprint_of, keep, thresholds_for, void_calibration
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds

NOW = "extractive 3-ab; minilm 2"


class Fingerprinted:
    def __init__(self, fingerprint):
        self.fingerprint = fingerprint


def test_a_fingerprint_has_the_embedder_once_and_the_reranker():
    engine, embedder = Fingerprinted("ollama 3; tiny@1; list"), Fingerprinted("minilm 1")
    assert fingerprint_of(engine, embedder) == "ollama 3; tiny@1; list; minilm 1"
    assert fingerprint_of(engine, embedder, Fingerprinted("own 4")) == "ollama 3; tiny@1; list; minilm 1; own 4"
    assert fingerprint_of(Fingerprinted("extractive 3-ab; minilm 1"), embedder) == "extractive 3-ab; minilm 1"


@pytest.mark.parametrize(
    ("kept", "made_for"),
    [
        ("extractive 2-ab; minilm 2", "an earlier version of the engine extractive"),
        ("extractive 3-ab; e5 1", "another model, embedder or reranker"),
        (f"{NOW}; own 4", "another model, embedder or reranker"),
        ("ollama 3; tiny@1; list, levels; minilm 2", "another engine (ollama)"),
    ],
)
def test_thresholds_of_another_fingerprint_are_named_and_not_used(kept, made_for):
    settings = Settings.load(index="notes", engine="extractive")
    keep(settings, kept, Thresholds(answer=0.4), {"from": "cases.jsonl"})
    assert thresholds_for(settings, NOW) == Thresholds()
    void = void_calibration(settings, NOW)
    assert void.made_for == made_for
    assert void.command == "local-rag calibrate CASES --index notes --engine extractive"
    reason = f"calibrated thresholds are not used, they hold for {made_for}, fitted to the cases cases.jsonl"
    assert void.line == f"{reason}: {void.command}"


@pytest.mark.parametrize(
    ("kept", "now", "made_for"),
    [
        ("; evaluator aa", "; evaluator bb", "other weights or another calibration of the evaluator"),
        ("; evaluator aa", "", "an engine with the evaluator"),
        ("", "; evaluator bb", "an engine without the evaluator"),
    ],
)
def test_thresholds_hold_for_the_evaluator_that_they_were_fitted_with(kept, now, made_for):
    settings = Settings.load()
    keep(settings, f"extractive 3-ab; minilm 1{kept}", Thresholds(answer=0.4), {})
    fingerprint = f"extractive 3-ab; minilm 1{now}"
    assert thresholds_for(settings, fingerprint) == Thresholds()
    assert void_calibration(settings, fingerprint).made_for == made_for


def test_prompts_of_a_persons_own_are_no_earlier_version():
    settings = Settings.load()
    keep(settings, "ollama 3; tiny@1; list", Thresholds(answer=0.4), {})
    assert void_calibration(settings, "ollama 3 with prompts ab; tiny@1; list").made_for == "other prompts"


def test_nothing_is_void_where_thresholds_hold_or_are_set_by_hand():
    settings = Settings.load()
    assert void_calibration(settings, NOW) is None
    keep(settings, "extractive 3-ab; minilm 1", Thresholds(answer=0.4), {})
    by_hand = Settings.load(thresholds__answer=0.2, thresholds__relevance=0.1)
    assert void_calibration(by_hand, NOW) is None
    assert void_calibration(Settings.load(thresholds__answer=0.2), NOW)
    keep(settings, NOW, Thresholds(answer=0.5), {})
    assert void_calibration(settings, NOW) is None
    assert len(calibrated(settings)) == 2, "what does not hold here is kept"


def test_the_nearest_is_named_and_of_two_that_are_equally_near_the_latest():
    settings = Settings.load()
    keep(settings, "ollama 3; tiny@1; list, levels; minilm 2", Thresholds(answer=0.4), {})
    keep(settings, "extractive 3-ab; e5 1", Thresholds(answer=0.4), {"from": "old"})
    keep(settings, "extractive 3-ab; minilm 1", Thresholds(answer=0.4), {"from": "new"})
    assert void_calibration(settings, NOW).named == "new"
    keep(settings, "extractive 3-ab; e5 1", Thresholds(answer=0.4), {"from": "again"})
    assert void_calibration(settings, NOW).named == "again"


def test_the_command_names_the_cases_of_then_if_they_are_still_there(tmp_path):
    settings = Settings.load(index="notes")
    cases = tmp_path / "my cases.jsonl"
    cases.write_text("{}\n")
    about = {"from": "my cases.jsonl", "files": [str(cases)], "options": ["--keep", "0.9"]}
    keep(settings, "extractive 3-ab; minilm 1", Thresholds(answer=0.4), about)
    void = void_calibration(settings, NOW)
    assert void.command == f"local-rag calibrate '{cases}' --keep 0.9 --index notes" and not void.named
    assert void.line.endswith("--index notes")
    cases.unlink()
    assert void_calibration(settings, NOW).command == "local-rag calibrate CASES --keep 0.9 --index notes"
    keep(settings, "extractive 3-ab; minilm 1", Thresholds(answer=0.4), about | {"options": ["--corpus"]})
    assert void_calibration(settings, NOW).command == "local-rag calibrate CASES --corpus"


def test_a_model_whose_version_the_server_does_not_say_gets_no_threshold():
    settings = Settings.load()
    keep(settings, "ollama 3; tiny@1; list", Thresholds(answer=0.4), {})
    void = void_calibration(settings, "ollama 3; tiny@?; list")
    assert void.made_for == "models of known versions, and the server does not say which it runs"


def test_a_file_of_an_earlier_version_stays_readable():
    settings = Settings.load()
    settings.config_folder.mkdir(parents=True, exist_ok=True)
    entry = {"relevance": 0.3, "answer": 0.4, "engine": "extractive", "cases": 20, "from": "x", "on": "2026-10-01"}
    (settings.config_folder / FILE).write_text(yaml.safe_dump({"extractive 3-ab; minilm 1": entry}))
    assert thresholds_for(settings, "extractive 3-ab; minilm 1") == Thresholds(relevance=0.3, answer=0.4)
    assert void_calibration(settings, NOW).made_for == "another model, embedder or reranker"
