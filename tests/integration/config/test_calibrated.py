"""Test which calibrated thresholds hold, and what is said about those that do not."""

from types import SimpleNamespace

import pytest
import yaml

from local_rag.config.calibrated import FILE, calibrated, fingerprint_of, keep, thresholds_for, void_calibration
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds

NOW = "extractive 3-ab; minilm 2"
OTHER = "another version, model, prompt or embedder of the engine extractive"


def kept(*fingerprints, **about):
    settings = Settings.load(index="notes")
    for fingerprint in fingerprints:
        keep(settings, fingerprint, Thresholds(answer=0.4), about)
    return settings


def test_a_fingerprint_has_the_embedder_once_and_the_reranker():
    engine, embedder, reranker, whole = (
        SimpleNamespace(fingerprint=text)
        for text in ("ollama 3; tiny@1", "minilm 1", "own 4", "extractive 3; minilm 1")
    )
    assert fingerprint_of(engine, embedder) == "ollama 3; tiny@1; minilm 1"
    assert fingerprint_of(engine, embedder, reranker) == "ollama 3; tiny@1; minilm 1; own 4"
    assert fingerprint_of(whole, embedder) == "extractive 3; minilm 1"


@pytest.mark.parametrize(
    ("before", "now", "made_for"),
    [
        (["extractive 2-ab; minilm 2"], NOW, OTHER),
        ([f"{NOW}; own 4"], NOW, OTHER),
        (["extractive 3-ab; minilm 2; evaluator aa"], NOW, OTHER),
        (["extractive 2-ab; minilm 2", "ollama 3; tiny@1; packed"], NOW, OTHER),
        (["ollama 3; tiny@1; packed; minilm 2"], NOW, "another engine (ollama)"),
        (
            ["ollama 3; tiny@1"],
            "ollama 3; tiny@?",
            "models of known versions, and the server does not say which it runs",
        ),
    ],
)
def test_thresholds_of_another_fingerprint_are_named_and_not_used(before, now, made_for):
    settings = kept(*before, **{"from": "cases.jsonl"})
    assert thresholds_for(settings, now) == Thresholds()
    line = f"calibrated thresholds are not used, they hold for {made_for}, fitted to the cases cases.jsonl"
    assert void_calibration(settings, now).line == f"{line}: local-rag calibrate CASES --index notes"


def test_nothing_is_void_where_thresholds_hold_or_are_set_by_hand():
    assert void_calibration(Settings.load(), NOW) is None
    settings = kept("extractive 3-ab; minilm 1")
    by_hand = {"thresholds__answer": 0.2, "thresholds__relevance": 0.1}
    assert void_calibration(Settings.load(**by_hand), NOW) is None
    assert void_calibration(Settings.load(thresholds__answer=0.2), NOW)
    kept(NOW)
    assert void_calibration(settings, NOW) is None and thresholds_for(settings, NOW).answer == 0.4
    assert len(calibrated(settings)) == 2, "what does not hold here is kept"


@pytest.mark.parametrize(
    ("there", "options", "command"),
    [
        (True, ["--keep", "0.9"], "local-rag calibrate '{}' --keep 0.9 --index notes"),
        (False, ["--keep", "0.9"], "local-rag calibrate CASES --keep 0.9 --index notes"),
        (False, ["--corpus"], "local-rag calibrate CASES --corpus"),
    ],
)
def test_the_command_names_the_cases_of_then_if_they_are_still_there(tmp_path, there, options, command):
    cases = tmp_path / "my cases.jsonl"
    if there:
        cases.write_text("{}\n")
    settings = kept("extractive 3-ab; minilm 1", files=[str(cases)], options=options)
    assert void_calibration(settings, NOW).command == command.format(cases)


def test_a_file_of_an_earlier_version_stays_readable():
    settings = kept(NOW)
    entry = {"relevance": 0.3, "answer": 0.4, "engine": "extractive", "cases": 20, "from": "x", "on": "2026-10-01"}
    (settings.config_folder / FILE).write_text(yaml.safe_dump({NOW: entry}))
    assert thresholds_for(settings, NOW) == Thresholds(relevance=0.3, answer=0.4)
