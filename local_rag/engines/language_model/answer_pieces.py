"""An answer that does not fit one check is checked in pieces: ever fewer sentences with what they cite.

A sentence that fits no prompt stays `unparsed`, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from local_rag.core.critique import SUPPORT, overall
from local_rag.core.verdicts import Grade, Support
from local_rag.engines.language_model.context_window import DoesNotFit
from local_rag.engines.language_model.parsed_verdict import Probabilities, support_score
from local_rag.engines.language_model.prompt_layout import Layout
from local_rag.text.marks import Claim


@dataclass(frozen=True, slots=True)
class Checked:
    """What a call said of the support of some sentences, one for each; `kept` are the passages that it was shown.

    `probabilities` of the labels are None where they are not known.
    """

    supports: Sequence[Support]
    probabilities: Sequence[Probabilities]
    kept: Sequence[int] = ()
    why: str = ""


class CheckSupport(Protocol):
    """One call about some sentences, by their numbers from 0; `order` and `needed` as for `Task.verdict`."""

    def __call__(self, numbers: Sequence[int], order: Sequence[int], needed: int) -> Checked: ...


def in_pieces(cited: Sequence[set[int]], layout: Layout, ask: CheckSupport) -> Grade:
    """The support of every sentence, each checked against what it cites; `cited` are the positions of that."""
    pieces = list(_halved(range(len(cited)), cited, layout, ask))
    supports = tuple(support for piece in pieces for support in piece.supports)
    known = [probabilities for piece in pieces for probabilities in piece.probabilities]
    why = "; ".join(dict.fromkeys(piece.why for piece in pieces if piece.why))
    return Grade(overall(supports), 0, supports, why, support_score=support_score(known))


def _halved(
    sentences: Sequence[int], cited: Sequence[set[int]], layout: Layout, ask: CheckSupport
) -> Iterator[Checked]:
    """The sentences together with all that they cite, or where that does not fit one half after the other.

    One that cites nothing may be supported by any passage.
    """
    passages = set().union(*(cited[number] for number in sentences))
    anything = any(not cited[number] for number in sentences)
    order = cited_first(layout, passages)[: len(layout.used) if anything else len(passages)]
    if len(sentences) == 1:
        yield _against_each(sentences, order, ask)
        return
    try:
        yield ask(sentences, order, len(order))
    except DoesNotFit:
        half = len(sentences) // 2
        yield from _halved(sentences[:half], cited, layout, ask)
        yield from _halved(sentences[half:], cited, layout, ask)


def _against_each(sentence: Sequence[int], order: Sequence[int], ask: CheckSupport) -> Checked:
    """One sentence against these passages, as many at a time as fit; the best support counts.

    Where one of them could not be read and no other supports the sentence, nothing is known of it.
    """
    best, left, unknown = unread(1, ""), list(order), ""
    while left and best.supports[0] != "fully":
        try:
            checked = ask(sentence, left, 1)
        except DoesNotFit as error:
            left, unknown = left[1:], str(error)
            continue
        if not checked.kept:
            return unread(1, checked.why)
        left = [position for position in left if position not in checked.kept]
        best = max(best, checked, key=_worth)
    return unread(1, unknown) if unknown and best.supports[0] != "fully" else best


def _worth(checked: Checked) -> float:
    return SUPPORT.get(checked.supports[0], -1.0)


def unread(count: int, why: str) -> Checked:
    """Nothing is known of so many sentences."""
    return Checked(["unparsed"] * count, [None] * count, why=why)


def cited_by(layout: Layout, sentence: Claim) -> set[int]:
    """The positions of the passages that a sentence cites, as the prompt numbers them."""
    return {number - 1 for number in sentence.numbers} & set(layout.used)


def cited_first(layout: Layout, cited: set[int]) -> list[int]:
    """All positions in the order in which a check wants them: what is cited comes first."""
    return sorted(layout.order, key=lambda position: position not in cited)
