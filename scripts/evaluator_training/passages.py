"""Passages as the product stores them: cut by its own chunking, with the header that its index gives them."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from evaluator_training.examples import Example, absent, shortened
from local_rag.core.documents import LoadedDocument
from local_rag.index.names import document_header
from local_rag.text.chunking import chunk
from local_rag.text.sentences import sentences

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SIZE, WINDOW = 250, 254
"""Tokens of a passage, the default of the settings, and of MiniLM's window."""
_NAME = re.compile(r"\b[A-Z][\w’'-]+(?:\s+[A-Z][\w’'-]+)*")
_LEAST_SENTENCES = 2
_LEAST_REST = 40
"""Code points that are left of a passage at least."""


def as_stored(example: Example, tokenizer: Tokenizer) -> Example | None:
    """The example with the one passage of its text that holds the answer, or with the first; None where it is cut."""
    if len(example.text) < 2 * SIZE:
        return example
    ends = [end for _, end in tokenizer.encode(example.text, add_special_tokens=False).offsets]
    if len(ends) <= SIZE:
        return example
    chunks = chunk(LoadedDocument(example.text), ends, size=SIZE, overlap=0, window=WINDOW)
    if example.start < 0:
        return shortened(example, chunks[0].start, chunks[0].end) if not example.present else None
    for part in chunks:
        if part.start <= example.start and example.end <= part.end:
            return shortened(example, part.start, part.end)
    return None


def cropped(example: Example, rng: random.Random, share: float) -> Example:
    """With probability `share`, fewer sentences around the answer: passages begin and end anywhere, and short ones
    take less time. What holds an answer that is no span stays whole.
    """
    if rng.random() >= share or (example.present and example.start < 0):
        return example
    spans = sentences(example.text)
    if len(spans) <= _LEAST_SENTENCES:
        return example
    if example.start >= 0:
        first = max((n for n, span in enumerate(spans) if span.start <= example.start), default=0)
        last = min((n for n, span in enumerate(spans) if span.end >= example.end), default=len(spans) - 1)
    else:
        first = last = rng.randrange(len(spans))
    if last < first:
        return example
    before, after = rng.randint(0, first), rng.randint(last, len(spans) - 1)
    if after - before + 1 < _LEAST_SENTENCES:
        after = min(len(spans) - 1, after + 1)
    return shortened(example, spans[before].start, max(spans[after].end, example.end))


def without_answer(example: Example, rng: random.Random) -> Example | None:
    """The passage without the sentences of its answer, at times one to three beside them alone: the matter is the right
    one, and the answer is gone. None where the rest still holds it, or nothing is left.
    """
    spans = sentences(example.text)
    gone = [n for n, span in enumerate(spans) if span.start < example.end and example.start < span.end]
    if not gone:
        return None
    before, after = spans[: gone[0]], spans[gone[-1] + 1 :]
    if rng.random() < 0.5:
        near = rng.randint(1, 3)
        before, after = before[-near:], after[: max(0, near - len(before[-near:]))]
    parts = [example.text[side[0].start : side[-1].end] for side in (before, after) if side]
    rest = " ".join(parts)
    if len(rest) < _LEAST_REST or example.answer.lower() in rest.lower():
        return None
    return absent(example.question, rest, example.title)


def with_header(example: Example, rng: random.Random, share: float) -> Example:
    """The title becomes a header with probability `share`, else none is shown.

    Most untitled paragraphs of the training set are unanswerable ones, so each of those gets the name that it holds
    most often: otherwise a header alone would give the class away.
    """
    if rng.random() >= share:
        return replace(example, title="")
    title = example.title or _most_frequent_name(example.text)
    return replace(example, title=document_header("", title) if title else "")


def _most_frequent_name(text: str) -> str:
    counts = Counter(name for name in _NAME.findall(text) if len(name) > 3)
    return counts.most_common(1)[0][0] if counts else ""
