"""The fit of a calibration: what it never does, whatever the data say."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from support import CHECKOUT

sys.path.append(str(CHECKOUT / "scripts"))

from fit_evaluator import logistic

from local_rag.core.readings import probability


def rows(seed=7):
    """A feature that follows the label, one that is against it, and the labels."""
    draw = np.random.default_rng(seed)
    labels = (np.arange(400) % 2).astype(float)
    useful, misleading = labels + draw.normal(0, 0.8, 400), -labels + draw.normal(0, 0.8, 400)
    return useful, misleading, labels


def test_no_weight_is_below_zero():
    useful, misleading, labels = rows()
    weights, bias = logistic(np.column_stack([useful, misleading]), labels)
    assert weights[0] > 0 and weights[1] == 0
    alone, alone_bias = logistic(useful[:, None], labels)
    assert [weights[0], bias] == pytest.approx([alone[0], alone_bias]), "fitted as if the other were not there"


def test_where_every_feature_misleads_the_share_of_the_labels_is_left():
    _, misleading, labels = rows()
    labels[:100] = 1.0
    weights, bias = logistic((misleading - 10 * labels)[:, None], labels)
    assert weights == [0.0] and probability(bias) == pytest.approx(labels.mean(), abs=0.01)
