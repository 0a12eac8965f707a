"""Test the notes before a question: thresholds in force, and options without effect."""

import pytest
from support.asking import opened
from support.fakes import ScriptedEngine

from local_rag.config.calibrated import keep
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.terminal.questions import condition_lines, idle_lines


@pytest.mark.parametrize(
    ("engine", "flags", "count"),
    [
        ("extractive", {}, 0),
        ("extractive", {"explain": True, "direct": True}, 2),
        ("ollama", {"explain": True}, 0),
        ("ollama", {"direct": True}, 1),
        ("ollama", {"direct": True, "graph": "adaptive"}, 0),
        ("ollama", {"direct": True, "self_rag__retrieve": "decide"}, 0),
        ("ollama", {"direct": True, "self_rag__retrieve": "each"}, 0),
        ("ollama", {"direct": True, "self_rag__retrieve": "each", "graph": "crag"}, 1),
        ("ollama", {"self_rag__retrieve": "decide"}, 1),
        ("ollama", {"self_rag__retrieve": "each"}, 0),
        ("ollama", {"self_rag__retrieve": "decide", "graph": "crag"}, 0),
    ],
)
def test_an_option_that_changes_nothing_says_so(engine, flags, count):
    notes = idle_lines(Settings.load(**flags).values, writes=engine != "extractive")
    assert len(notes) == count
    assert all(note.startswith("note: ") and "changes nothing" in note for note in notes)


@pytest.mark.parametrize(
    ("fitted_with", "flags", "line"),
    [
        ("", {}, "  calibrated thresholds in force: relevance 0.01 and answer 0.18"),
        ("", {"thresholds__answer": 0.5}, "  calibrated thresholds in force: relevance 0.01"),
        (
            "earlier 1; minilm 1",
            {"index": "notes"},
            "note: calibrated thresholds are not used, they hold for another engine (earlier), fitted to the cases "
            "cases.jsonl: local-rag calibrate CASES --index notes",
        ),
    ],
)
def test_calibrated_thresholds_are_in_force_or_void_and_that_is_said(fitted_with, flags, line):
    settings, thresholds = Settings.load(**flags), Thresholds(relevance=0.01, answer=0.18)
    keep(settings, fitted_with or ScriptedEngine().fingerprint, thresholds, {"from": "cases.jsonl"})
    rag = opened(**flags)
    assert condition_lines(rag)[-1] == line
    assert not fitted_with or rag.thresholds == Thresholds()
