"""The best short answers among the start and end logits of a window's tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from local_rag.core.readings import ReadSpan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.engines.evaluator.inputs import Window

MOST = 5
"""Short answers that are kept of a passage."""

LENGTH = 30
"""Tokens of a short answer at most: 99 % of SQuAD's are no longer."""


_BREAK = re.compile(r"\n[^\S\n]*(?=\n)|(?<=[.!?])\s*\n[^\S\n]*(?=\(?\d{1,3}[.)]\s)")
"""A blank line, or the end of a sentence before a clause number at the beginning of a line."""


def best_spans(window: Window, logits: NDArray[np.float32], text: str) -> list[ReadSpan]:
    """The best spans of whole words, best first, none overlapping another; `logits` (tokens, 2) are start and end.

    A span goes over no blank line and into no numbered clause behind a sentence.
    The logit of [CLS], token 0, is that of "no answer".
    """
    import numpy as np

    count = len(window.offsets)
    inside = slice(window.first, window.first + count)
    starts = np.where(window.heads, logits[inside, 0], -np.inf)
    ends = np.where(window.tails, logits[inside, 1], -np.inf)
    null = float(logits[0, 0] + logits[0, 1])
    width = min(LENGTH, count)
    padded = np.concatenate([ends, np.full(width, -np.inf)])
    scores = starts[:, None] + np.lib.stride_tricks.sliding_window_view(padded, width)[:count]  # [start, length - 1]
    breaks = [match.start() for match in _BREAK.finditer(text)]
    if breaks:
        part = np.searchsorted(breaks, [start for start, _ in window.offsets])
        parts = np.lib.stride_tricks.sliding_window_view(np.concatenate([part, np.full(width, -1)]), width)[:count]
        scores[parts != part[:, None]] = -np.inf
    spans: list[ReadSpan] = []
    while len(spans) < MOST:
        first, more = divmod(int(scores.argmax()), width)
        logit = float(scores[first, more])
        if not np.isfinite(logit):
            break
        last = first + more
        start, end = window.offsets[first][0], window.offsets[last][1]
        spans.append(ReadSpan(start, end, text[start:end], logit - null))
        for other in range(max(0, first - width + 1), last + 1):
            scores[other, max(0, first - other) :] = -np.inf
    return spans


def apart(spans: Iterable[ReadSpan]) -> tuple[ReadSpan, ...]:
    """The best of spans of several windows of one passage, best first, none overlapping a better one."""
    kept: list[ReadSpan] = []
    for span in sorted(spans, key=lambda span: -span.logit):
        if len(kept) < MOST and all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return tuple(kept)
