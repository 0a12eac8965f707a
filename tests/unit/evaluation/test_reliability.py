"""Whether scores are probabilities: bins and calibration error, against worked examples."""

from __future__ import annotations

import pytest

from local_rag.evaluation.reliability import bins_of, calibration_error


def test_a_bin_has_its_mean_score_and_the_share_that_was_right():
    bins = bins_of([(0.0, False), (0.05, True), (0.81, True), (0.89, False), (1.0, True)])
    assert [(entry["from"], entry["verdicts"], entry["relevant"]) for entry in bins] == [
        (0.0, 2, 0.5),
        (0.8, 2, 0.5),
        (0.9, 1, 1.0),
    ]
    assert [entry["score"] for entry in bins] == pytest.approx([0.025, 0.85, 1.0])


def test_the_calibration_error_weighs_each_bin_by_what_it_holds():
    assert calibration_error([]) is None
    assert calibration_error(bins_of([(0.75, True)] * 3 + [(0.75, False)])) == pytest.approx(0.0)
    assert calibration_error(bins_of([(0.95, False)])) == pytest.approx(0.95)
    mixed = [(0.95, True)] * 2 + [(0.25, True), (0.25, False)]
    assert calibration_error(bins_of(mixed)) == pytest.approx((2 * 0.05 + 2 * 0.25) / 4)
