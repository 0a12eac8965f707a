"""What doctor says of how a person's data lies on the disk: encrypted or not, open to others or not."""

from __future__ import annotations

import os

import pytest

from local_rag.cli.app import run
from local_rag.config.calibrated import keep
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.diagnostics import disk_encryption
from local_rag.diagnostics.disk_encryption import Encryption
from local_rag.diagnostics.doctor import run_checks
from local_rag.runtime.rag import Rag


@pytest.mark.parametrize(
    ("found", "sign", "words"),
    [
        (Encryption("plain"), "note", "is on a disk that is not encrypted: whoever takes it can read"),
        pytest.param(
            Encryption("encrypted", "dm-crypt, LUKS2"),
            "ok",
            "is on an encrypted disk (dm-crypt, LUKS2)",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            Encryption("unknown", "it is on nfs4"),
            "note",
            "is encrypted cannot be told: it is on nfs4",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_doctor_says_it_and_counts_nothing_of_it_as_a_failure(home, monkeypatch, capsys, found, sign, words):
    (home / "data").mkdir(mode=0o700)
    monkeypatch.setattr(disk_encryption, "encryption_of", lambda folder: found)
    monkeypatch.setenv("LOCAL_RAG_ENGINE", "extractive")
    (check,) = [check for check in run_checks(Settings.load()) if check.name == "encryption"]
    assert check.state == sign and words in check.found
    run(["doctor"])
    assert "encryption: ~/data" in (said := " ".join(capsys.readouterr().out.split())) or "disk of ~/data" in said


@pytest.mark.usefixtures("converted")
def test_doctor_names_calibrated_thresholds_that_hold_for_something_else(tmp_path):
    (tmp_path / "note.md").write_text("The rent is 900 euros a month.\n")
    assert run(["index", str(tmp_path / "note.md")]) == 0
    settings = Settings.load(engine="extractive")
    assert not [check for check in run_checks(settings) if check.name == "calibration"]
    keep(settings, "extractive 1-ab; minilm 1", Thresholds(answer=0.4), {"from": "cases.jsonl"})
    (check,) = [check for check in run_checks(settings) if check.name == "calibration"]
    assert check.state == "note" and "they hold for" in check.found and "cases.jsonl" in check.found
    assert check.fix == "local-rag calibrate CASES --engine extractive"
    with Rag.open(settings) as rag:
        keep(settings, rag.fingerprint, Thresholds(answer=0.4), {})
    (check,) = [check for check in run_checks(settings) if check.name == "calibration"]
    assert (check.state, check.found) == ("ok", "thresholds for the engine extractive are calibrated")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_doctor_names_what_others_may_open_with_the_command_that_closes_it(home):
    data = home / "data"
    data.mkdir(mode=0o755)
    (data / "threads.sqlite").touch(mode=0o644)
    data.chmod(0o755)
    found = {check.name: check for check in run_checks(Settings.load())}
    assert found["permissions"].state == "note" and "2 files and folders in ~/data" in found["permissions"].found
    assert found["permissions"].fix == f"chmod -R go= {data}"
    data.chmod(0o700)
    (data / "threads.sqlite").chmod(0o600)
    found = {check.name: check for check in run_checks(Settings.load())}
    assert found["permissions"].state == "ok"
