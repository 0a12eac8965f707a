"""Does a passage say what a sentence says? Decided by comparing words; where in doubt, no."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from local_rag.core.answer import QuoteMatch
from local_rag.text import lexicon
from local_rag.text.alignment import nearly, tidy, verbatim, without_lead
from local_rag.text.names import holds_names, written_names
from local_rag.text.negation import contrary, denies, same_contrast, turns_alike
from local_rag.text.numbers import TOKEN, holds_quantities, quantities, stems_without_numbers
from local_rag.text.sentences import Span, sentences, stripped
from local_rag.text.words import fold, words

CLOSE = 0.8
"""A quote is close to its sentence when it holds more than this share of the sentence's content words (stemmed).

One foreign word in five is too many: "the board rejected the plan" and "the board approved the plan" share two of
three. Numbers are compared by value and count for nothing here.
"""
QUOTE_SENTENCES = 3
"""The longest quote, in sentences of the passage, that is put beside a sentence which is no verbatim copy."""

_LIST_ITEM = re.compile(r"[-+•◦▪‣*]\s|\(?\w{1,3}[.)]\s")


class Evidence(NamedTuple):
    """The part of a passage to put beside a sentence, whether it carries the sentence, and how it was found."""

    span: Span
    verified: bool
    located: QuoteMatch


@lru_cache(maxsize=256)
def evidence(sentence: str, passage: str) -> Evidence:
    """Where a passage says a sentence: word for word, nearly so letter by letter, else by the words that they share.

    Cached, because an answer is checked when it is written and again when it is handed over.
    """
    if exact := verbatim(sentence, passage):
        return Evidence(exact, True, "exact")
    spans = sentences(passage) or [stripped(passage, 0, len(passage))]
    stems = _stems(tidy(sentence))
    best, best_key = spans[0], (False, -1.0, 0)
    for size in range(1, QUOTE_SENTENCES + 1):
        for first in range(len(spans) - size + 1):
            parts = [span.of(passage) for span in spans[first : first + size]]
            key = (supports(parts, sentence), _coverage(stems, parts), -size)
            if key > best_key:
                best, best_key = Span(spans[first].start, spans[first + size - 1].end), key
    alike = nearly(sentence, passage)
    if alike and not best_key[0]:
        touched = [span for span in spans if span.start < alike.end and alike.start < span.end]
        best = Span(touched[0].start, touched[-1].end) if touched else alike
    return Evidence(best, best_key[0], "near" if alike else "words")


def supports(parts: Sequence[str], sentence: str) -> bool:
    """Whether neighbouring sentences of a passage carry a sentence."""
    sentence, parts = tidy(without_lead(sentence)), [tidy(part) for part in parts]
    stems, quote = _stems(sentence), "\n".join(parts)
    if _coverage(stems, parts) <= CLOSE or not _hang_together(parts, stems):
        return False
    core = max(parts, key=lambda part: _coverage(stems, [part]))
    if core.endswith("?") and not sentence.endswith("?"):
        return False
    return (
        _denies(sentence) == any(map(_denies, parts))
        and holds_quantities(quote, sentence)
        and holds_names(quote, sentence)
        and _same_order(sentence, quote)
        and turns_alike(sentence, quote, core)
        and not contrary(sentence, quote)
        and same_contrast(sentence, quote)
    )


_stems = lru_cache(maxsize=4096)(stems_without_numbers)


def _coverage(stems: Sequence[str], parts: Sequence[str]) -> float:
    held = {stem for part in parts for stem in _stems(tidy(part))}
    return sum(stem in held for stem in stems) / len(stems) if stems else 0.0


def _denies(text: str) -> bool:
    return denies(words(text), lexicon.NEAR_NEGATIONS)


def _hang_together(parts: Sequence[str], stems: Sequence[str]) -> bool:
    """Whether each later sentence goes on about the one before, and each brings words that the others lack.

    "Alice earns 50. Bob earns 70." does not say what Alice earns twice over.
    """
    listed = parts[0].endswith(":")
    for part in parts[1:]:
        if (words(part) or [""])[0] not in lexicon.BACK_REFERENCES and not (listed and _LIST_ITEM.match(part)):
            return False
    for number, part in enumerate(parts):
        others = {stem for position, other in enumerate(parts) if position != number for stem in _stems(other)}
        if len(parts) > 1 and not (set(stems) & set(_stems(part))) - others:
            return False
    return True


def _same_order(sentence: str, quote: str) -> bool:
    """Whether names and numbers that both texts hold once stand in the same order: who sold to whom."""
    names = set(map(fold, written_names(sentence) + written_names(quote))) - lexicon.STOP_WORDS
    orders = []
    for text in (sentence, quote):
        tokens = [fold(token).removesuffix("'s") for token in TOKEN.findall(text)]
        named = [(position, token) for position, token in enumerate(tokens) if token in names]
        counted = [(quantity.position, quantity.value) for quantity in quantities(text)]
        orders.append([name for _, name in sorted(named + counted)])
    once = {name for name in orders[0] if orders[0].count(name) == orders[1].count(name) == 1}
    first, second = ([name for name in order if name in once] for order in orders)
    return first == second
