"""The files of an evaluator that are missing, damaged or others: a clear line and a command."""

import json
import tomllib

import pytest
from support import CHECKOUT
from support.shipped_evaluator import document, files_of, own_evaluator, rewrite, sha256, shipped_evaluator

from local_rag.config.settings import Settings
from local_rag.core.errors import ConfigError, ModelChanged
from local_rag.diagnostics.doctor import run_checks
from local_rag.engines.evaluator import evaluator as evaluators
from local_rag.engines.evaluator.evaluator import MODEL
from local_rag.runtime.opening import open_evaluator


@pytest.fixture
def folder(home, monkeypatch):
    """A copy of the shipped evaluator that is the one in use."""
    monkeypatch.setenv("LOCAL_RAG_EVALUATOR", "mine")
    return own_evaluator(home)


def checked():
    (check,) = [check for check in run_checks(Settings.load()) if check.name == "evaluator"]
    return check


def changed(folder, **keys):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    rewrite(folder / "config.json", json.dumps(config | keys).encode())


def other_model(folder):
    rewrite(folder / MODEL, b"a text file, whatever its name says")
    changed(folder, sha256=sha256(folder / MODEL))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / MODEL).unlink(), "not on this machine"),
        (lambda folder: rewrite(folder / MODEL, b"\x08\x0a"), "damaged or others: SHA-256"),
        (lambda folder: (folder / "config.json").unlink(), "config.json: there is no such file"),
        (lambda folder: rewrite(folder / "config.json", b"{"), "config.json: expected JSON"),
        (lambda folder: changed(folder, format=1), "format: expected 2"),
        (lambda folder: changed(folder, heads=["span"]), "heads"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json: there is no such"),
        (lambda folder: (folder / "calibration.json").unlink(), "calibration.json: there is no"),
        (lambda folder: rewrite(folder / "calibration.json", b"{"), "calibration.json: "),
        (lambda folder: rewrite(folder / "calibration.json", b'{"bias": "a"}'), "bias"),
    ],
)
def test_what_is_wrong_is_said_with_a_command(folder, damage, message):
    damage(folder)
    evaluator, why = open_evaluator(Settings.load())
    assert evaluator is None and message in str(why) and why.hint


def test_doctor_says_what_is_missing_or_damaged(folder):
    rewrite(folder / "config.json", b"{")
    check = checked()
    assert check.state == "bad" and "config.json: expected JSON" in check.found and check.fix
    (folder / MODEL).unlink()
    check = checked()
    assert check.state == "note" and "not on this machine" in check.found and check.fix


@pytest.mark.parametrize("library", ["OpenVINO", "ONNX Runtime"])
def test_what_cannot_be_loaded_is_a_clear_error(folder, library, monkeypatch):
    if library == "ONNX Runtime":
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    monkeypatch.setattr(evaluators, "runtime", lambda: library)
    other_model(folder)
    evaluator, _ = open_evaluator(Settings.load())
    with pytest.raises(ModelChanged, match="the evaluator 'mine' cannot be loaded: ") as met:
        evaluator.read("Who?", [document("The keeper.")])
    assert "local-rag doctor" in met.value.hint


def test_a_name_that_nobody_knows_is_a_mistake_of_the_settings(monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_EVALUATOR", "large")
    with pytest.raises(ConfigError, match="there is no evaluator 'large'") as caught:
        open_evaluator(Settings.load())
    assert "minilm" in caught.value.hint


def test_the_fingerprint_follows_what_the_scores_follow(folder):
    assert open_evaluator(Settings.load())[0].fingerprint == shipped_evaluator().fingerprint
    calibration = json.loads((folder / "calibration.json").read_text(encoding="utf-8"))
    rewrite(folder / "calibration.json", json.dumps(calibration | {"bias": 0.5}).encode())
    another = open_evaluator(Settings.load())[0].fingerprint
    rewrite(folder / "tokenizer.json", (folder / "tokenizer.json").read_bytes() + b"\n")
    assert len({shipped_evaluator().fingerprint, another, open_evaluator(Settings.load())[0].fingerprint}) == 3


def test_the_shipped_one_is_whole_and_small_and_doctor_says_what_computes_it():
    check = checked()
    assert check.state == "ok" and check.found.startswith("minilm: weights as published; OpenVINO ")
    assert sum(file.stat().st_size for file in files_of("minilm").folder.iterdir()) < 50_000_000


def test_the_package_says_its_licences_and_carries_their_texts():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "MIT AND CC-BY-SA-4.0 AND Apache-2.0"
    texts = {name: (CHECKOUT / name).read_text(encoding="utf-8") for name in project["license-files"]}
    assert len(texts) == 4
    for said in ("CC-BY-SA-4.0", "SQuAD", "Apache License", "MIT License"):
        assert any(said in text for text in texts.values()), said
