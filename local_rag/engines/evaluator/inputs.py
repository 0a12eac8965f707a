"""Make the inputs of the evaluator, and find answers by its logits: [CLS] question [SEP] header. text [SEP], types 0
and 1.

The training uses the same functions for its inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.core.readings import ReadSpan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

WINDOW = 320
"""The tokens of the shipped model's window, special ones included: a question, a header and a passage of 250 tokens
fit.
"""
_QUESTION, _HEADER, _SHARED = 0.4, 0.2, 0.2
"""Shares of the window: the most for a question, the most for a header, and the overlap of two windows
of one passage.
"""

MOST_SPANS = 5
"""The most short answers that are kept of a passage."""
LENGTH = 30
"""The most tokens of a short answer: 99 % of SQuAD's have no more."""
_BREAK = re.compile(r"\n[^\S\n]*(?=\n)|(?<=[.!?])\s*\n[^\S\n]*(?=\(?\d{1,3}[.)]\s)")
"""A blank line, or the end of a sentence before a clause number at the beginning of a line."""


class Window(NamedTuple):
    """Hold tokens that are read at once. Token `first + i` stands at code points `offsets[i]` of the passage's text.

    `heads[i]` and `tails[i]`: a word begins (ends) with that token, so an answer may.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    first: int
    offsets: tuple[tuple[int, int], ...]
    heads: tuple[bool, ...]
    tails: tuple[bool, ...]


class Inputs:
    """Make windows of at most `window` tokens; any thread may do so. The `tokenizer` must not be shared with other
    classes.
    """

    def __init__(self, tokenizer: Tokenizer, window: int = WINDOW) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # a file that says "[SEP]" says it in letters
        self.window = window
        self._tokenizer = tokenizer
        self.cls, self.sep, self.pad = (tokenizer.token_to_id(token) or 0 for token in ("[CLS]", "[SEP]", "[PAD]"))

    def knows(self, word: str) -> bool:
        """Return whether the vocabulary holds a word as one token."""
        return self._tokenizer.token_to_id(word) is not None

    def windows(self, question: str, header: str, text: str) -> list[Window]:
        """Return the windows of a passage, a single one unless it is longer; none if the text has no token."""
        body = self._tokenizer.encode(text, add_special_tokens=False)
        if not body.ids:
            return []
        ahead = [self.cls, *self._ids(question, _QUESTION), self.sep]
        named = self._ids(f"{header.rstrip('.')}." if header else "", _HEADER)
        room = self.window - len(ahead) - len(named) - 1
        shared = min(int(self.window * _SHARED), room // 2)
        return [
            self._window(ahead, named, body, start, min(start + room, len(body.ids)))
            for start in range(0, max(1, len(body.ids) - shared), room - shared)
        ]

    def batch(self, windows: Sequence[Window]) -> Mapping[str, NDArray[np.int64]]:
        """Return the inputs of the model by name, each of shape (windows, tokens of the longest)."""
        import numpy as np

        shape = len(windows), max(len(window.ids) for window in windows)
        inputs: dict[str, Any] = {
            name: np.full(shape, fill, dtype=np.int64)
            for name, fill in (("input_ids", self.pad), ("attention_mask", 0), ("token_type_ids", 0))
        }
        for row, window in enumerate(windows):
            values = (window.ids, 1, window.types)
            for array, value in zip(inputs.values(), values, strict=True):
                array[row, : len(window.ids)] = value
        return inputs

    def _window(self, ahead: Sequence[int], named: Sequence[int], body: Encoding, start: int, end: int) -> Window:
        numbers = [-1, *body.word_ids, -1]  # of the word that each token is of
        ids = (*ahead, *named, *body.ids[start:end], self.sep)
        return Window(
            ids=ids,
            types=(0,) * len(ahead) + (1,) * (len(ids) - len(ahead)),
            first=len(ahead) + len(named),
            offsets=tuple(body.offsets[start:end]),
            heads=tuple(numbers[at + 1] != numbers[at] for at in range(start, end)),
            tails=tuple(numbers[at + 1] != numbers[at + 2] for at in range(start, end)),
        )

    def _ids(self, text: str, share: float) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids[: int(self.window * share)]


def best_spans(window: Window, logits: NDArray[np.float32], text: str) -> list[ReadSpan]:
    """Return the best spans of whole words, best first, without overlaps; `logits` (tokens, 2) are start and end.

    A span crosses no blank line and enters no numbered clause after a sentence. The logit of [CLS], token 0, is that of
    "no answer".
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
    while len(spans) < MOST_SPANS:
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


def without_overlap(spans: Iterable[ReadSpan]) -> tuple[ReadSpan, ...]:
    """Return the best spans of several windows of one passage, best first, without overlaps."""
    kept: list[ReadSpan] = []
    for span in sorted(spans, key=lambda span: -span.logit):
        if len(kept) < MOST_SPANS and all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return tuple(kept)
