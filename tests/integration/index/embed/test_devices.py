"""Accelerators: tried once with real encoders of the processor under other names, refused with a reason, remembered."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.fakes_index import minilm
from tokenizers import Tokenizer

from local_rag.cli.app import run
from local_rag.core.errors import ConfigError
from local_rag.index.embed import devices, weights
from local_rag.index.embed.devices import Device, Trial, choose, report, torch_accelerator
from local_rag.index.embed.encoders import OpenVinoEncoder

PASSAGES = ["The lamp is lit at dusk.", "Notice is given three months before the end of a quarter.", "lamp"]

pytestmark = pytest.mark.usefixtures("converted")


def on_processor():
    embedder = minilm()
    tokenizer = Tokenizer.from_file(str(weights.folder(embedder.spec) / "tokenizer.json"))
    return OpenVinoEncoder(embedder.conversion, tokenizer, "f32")


class Wrong:
    """Vectors of other texts."""

    def __init__(self):
        self._encoder = on_processor()

    def encode(self, batches):
        for rows in self._encoder.encode(batches):
            yield rows[::-1]


class Loads:
    """Makes encoders of a class and counts them."""

    def __init__(self, made=on_processor):
        self.made, self.count = made, 0

    def __call__(self):
        self.count += 1
        return self.made()


def failing():
    raise RuntimeError("no driver\x1b[31m for this kernel")


def chosen(wanted, listed, memory=None):
    return choose(wanted, listed, on_processor(), on_processor, PASSAGES, memory)


def with_speed(memory, label, speed):
    """What was remembered of a device, as of a machine where it makes so many times the passages of the processor."""
    known = json.loads(memory.read_text())
    known[label]["speed"] = speed
    memory.write_text(json.dumps(known))


def test_one_that_gives_the_same_vectors_is_taken_by_its_name_and_remembered(tmp_path):
    memory, loads = tmp_path / "devices.json", Loads()
    device = Device("gpu", "Some GPU, driver 1", loads)
    first = chosen("gpu", [device], memory)
    assert (first.name, first.others, loads.count) == ("gpu", {}, 1)
    (rows,) = first.encoder.encode([PASSAGES])
    assert np.allclose(rows, next(on_processor().encode([PASSAGES])), atol=1e-5)
    trial = json.loads(memory.read_text())["Some GPU, driver 1"]
    assert trial["cosine"] > devices.NEAR and trial["speed"] > 0 and trial["why"] == ""


@pytest.mark.parametrize(("speed", "name"), [(3.0, "gpu"), (0.5, "cpu")])
def test_auto_takes_one_that_is_faster(tmp_path, speed, name):
    memory, device = tmp_path / "devices.json", Device("gpu", "Some GPU, driver 1", Loads())
    chosen("gpu", [device], memory)
    with_speed(memory, "Some GPU, driver 1", speed)
    choice = chosen("auto", [device], memory)
    assert (choice.name, report("auto", [device], memory).describe) == (name, choice.describe)
    if name == "cpu":
        reason = "it makes 0.50 times the passages per second of the processor"
        assert choice.describe == f"cpu; not gpu: {reason}"
        assert chosen("gpu", [device], memory).name == "gpu", "who names it gets it"


def test_wrong_vectors_and_a_failure_are_refused_with_the_reason_and_not_tried_again(tmp_path):
    memory, failures, wrong = tmp_path / "devices.json", Loads(failing), Loads(Wrong)
    listed = [Device("gpu", "wrong", wrong), Device("npu", "failing", failures)]
    choice = chosen("auto", listed, memory)
    assert (choice.name, choice.encoder) == ("cpu", None)
    assert "its vectors differ (cosine " in choice.others["gpu"]
    assert choice.others["npu"] == "it cannot be loaded (RuntimeError: no driver for this kernel)"
    assert chosen("auto", listed, memory).others == choice.others == dict(report("auto", listed, memory).others)
    assert (wrong.count, failures.count) == (1, 1)
    assert chosen("npu", [Device("npu", "with a newer driver", Loads())], memory).name == "npu"


def test_a_device_that_is_named_is_never_taken_with_other_vectors():
    with pytest.raises(ConfigError, match=r"device: gpu cannot be used: its vectors differ \(cosine") as caught:
        chosen("gpu", [Device("gpu", "wrong", Loads(Wrong))])
    assert caught.value.hint == "LOCAL_RAG_DEVICE=auto local-rag index"


def test_one_that_does_not_load_any_more_leaves_the_work_to_the_processor(tmp_path):
    memory = tmp_path / "devices.json"
    memory.write_text(json.dumps({"label": {"cosine": 1.0, "speed": 9.0, "why": ""}}))
    choice = chosen("auto", [Device("gpu", "label", failing)], memory)
    assert choice.name == "cpu" and "cannot be loaded" in choice.others["gpu"]


@pytest.mark.parametrize("content", ["", "[]", '{"label": 3}', '{"label": {"more": 1}}'])
def test_a_memory_that_is_none_costs_a_trial(tmp_path, content):
    memory = tmp_path / "devices.json"
    memory.write_text(content)
    assert report("auto", [Device("gpu", "label", failing)], memory).others == {
        "gpu": "the next local-rag index tries it"
    }


def test_nothing_is_near_enough_that_is_not_a_number():
    assert Trial(cosine=float("nan")).refused and not Trial(cosine=1.0).refused


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("cuda: Optional[str] = None", ""),
        ("cuda: Optional[str] = '12.8'", "cuda"),
        ('cuda = "12.8"', "cuda"),
        ("hip = '6'", ""),
        (None, ""),
    ],
)
def test_what_pytorch_was_built_for_is_read_without_importing_it(tmp_path, monkeypatch, version, kind):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('it was imported')")
    if version is not None:
        (package / "version.py").write_text(f"__version__ = '2.13.0'\n{version}\n")
    monkeypatch.setattr(devices.sys, "platform", "linux")
    spec = devices.find_spec("torch")
    monkeypatch.setattr(devices, "find_spec", lambda name: spec)
    monkeypatch.setattr(spec, "origin", str(package / "__init__.py"))
    assert torch_accelerator() == kind


@pytest.mark.parametrize("name", devices.NAMES)
def test_a_device_that_is_not_there_is_one_clear_line(name, tmp_path, monkeypatch, capsys):
    if name in {device.name for device in devices.listed(failing, failing)}:
        pytest.skip("it is there")
    (tmp_path / "note.md").write_text("The lamp is lit at dusk.")
    monkeypatch.setenv("LOCAL_RAG_DEVICE", name)
    assert run(["index", str(tmp_path / "note.md")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2].startswith(f"error: device: {name} is not there; it needs {devices.NAMES[name]}; there is ")
    assert lines[-1] == "hint: LOCAL_RAG_DEVICE=auto local-rag index"


def test_doctor_says_which_device_embeds(capsys):
    run(["doctor"])
    assert "device: passages are embedded on " in capsys.readouterr().out
