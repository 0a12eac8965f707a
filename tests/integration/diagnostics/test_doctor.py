"""Test doctor's checks of a person's data on the disk: encryption and permissions."""

import sys
from pathlib import Path

import pytest
from support.marks import posix

from local_rag.cli.app import run
from local_rag.config.calibrated import keep
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.diagnostics import doctor
from local_rag.diagnostics.doctor import run_checks
from local_rag.runtime.rag import Rag


def checked(name, settings):
    """Return the state and the words of a check, and what mends it, or None where there is no such check."""
    for check in run_checks(settings):
        if check.name == name:
            return check.state, check.found, check.fix
    return None


@pytest.mark.parametrize(
    ("found", "sign", "words"),
    [
        (False, "note", "is on a disk that is not encrypted: whoever takes it can read"),
        (True, "ok", "is on an encrypted disk"),
        (None, "note", "is encrypted, this system does not say"),
    ],
)
def test_doctor_says_it_and_counts_nothing_of_it_as_a_failure(home, monkeypatch, found, sign, words):
    (home / "data").mkdir(mode=0o700)
    monkeypatch.setattr(doctor, "disk_is_encrypted", lambda folder: found)
    state, said, _ = checked("encryption", Settings.load(engine="extractive"))
    assert state == sign and words in said and "~/data" in said


@pytest.mark.parametrize(
    ("platform", "said", "encrypted"),
    [
        ("linux", "lvm\ncrypt\npart\ndisk\n", True),
        ("linux", "lvm\npart\ndisk\n", False),
        ("linux", "lvm\ncrypt\npart\ndisk\npart\ndisk\n", False),  # spread over two, of which one is bare
        ("linux", "loop\n", None),
        ("linux", "", None),
        ("darwin", "FileVault is On.\n", True),
        ("darwin", "FileVault is Off.\n", False),
        ("darwin", "FileVault is On.\nEncryption in progress: Percent completed = 41\n", None),
        ("darwin", "", None),
    ],
)
def test_what_systems_say_of_a_disk(monkeypatch, platform, said, encrypted):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(doctor, "output_of", lambda *command: said)
    assert doctor.disk_is_encrypted(Path("/Users/a")) is encrypted


def test_this_machine_is_asked_and_never_fails(tmp_path):
    assert doctor.disk_is_encrypted(tmp_path) in (True, False, None)
    assert doctor.disk_is_encrypted(tmp_path / "gone") in (True, False, None)


@pytest.mark.usefixtures("converted")
def test_doctor_names_calibrated_thresholds_that_hold_for_something_else(tmp_path):
    (tmp_path / "note.md").write_text("The rent is 900 euros a month.\n")
    assert run(["index", str(tmp_path / "note.md")]) == 0
    settings = Settings.load(engine="extractive")
    assert checked("calibration", settings) is None
    keep(settings, "extractive 1-ab; minilm 1", Thresholds(answer=0.4), {"from": "cases.jsonl"})
    state, said, fix = checked("calibration", settings)
    assert state == "note" and "they hold for" in said and "cases.jsonl" in said
    assert fix == "local-rag calibrate CASES --engine extractive"
    with Rag.open(settings) as rag:
        keep(settings, rag.fingerprint, Thresholds(answer=0.4), {})
    assert checked("calibration", settings)[:2] == ("ok", "thresholds for the engine extractive are calibrated")


@posix  # Windows has no modes
def test_doctor_names_what_others_may_open_with_the_command_that_closes_it(home):
    data = home / "data"
    data.mkdir()
    data.chmod(0o755)
    settings = Settings.load(engine="extractive")
    assert checked("permissions", settings) == ("note", "others may open ~/data", f"chmod -R go= {data}")
    data.chmod(0o700)
    assert checked("permissions", settings)[0] == "ok"
