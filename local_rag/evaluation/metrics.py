"""Compute how near a text is to reference answers, and how good a ranking is.

Texts: exact match, token F1 and containment, after SQuAD's normalisation: Rajpurkar et al., SQuAD: 100,000+ questions
(EMNLP 2016), section 6.1, as the official script of SQuAD 2.0 computes them (`compute_exact`, `compute_f1`). For a
short answer they equal that script's figures; a longer text scores lower for all that it says besides. `answers` are
alternatives, and the best one counts. Answers that the normalisation empties are left out unless all are; then only a
text that it empties too matches. Callers remove citation marks first.

Rankings: recall, reciprocal rank and nDCG, as in trec_eval. `units` are the names of what
was found, best first and each once; `gains` has the gain of everything relevant, found or not, and anything else, or
without a gain above 0, is irrelevant. The mean of `reciprocal_rank` over cases is known as MRR.

All values are in [0, 1]. All functions raise ValueError without an answer or without anything relevant, because there
is nothing to measure.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log2

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_CURRENCY = str.maketrans("", "", "£€¥")
"""The signs that are to money what the script's own $ is."""


def normalized(text: str) -> str:
    """Return the text in lower case, without ASCII punctuation, then without a, an and the, with single blanks.

    This is the script's own behaviour, wanted or not: "don't" becomes "dont" and "well-known" "wellknown", but a
    typographic apostrophe or dash stays, and so do accents.
    """
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(text: str, answers: Sequence[str]) -> float:
    """Return 1 if the normalised text is an answer, else 0."""
    normal = normalized(text)
    return float(any(normal == answer for answer in _references(answers)))


def token_f1(text: str, answers: Sequence[str]) -> float:
    """Return the harmonic mean of precision and recall of the text's words against an answer's, as bags of words."""
    words = normalized(text).split()
    return max(_overlap(words, answer.split()) for answer in _references(answers))


def containment(text: str, answers: Sequence[str]) -> float:
    """Return 1 if the text contains the words of an answer one after the other, else 0.

    "Accuracy" of short answers by Mallen et al., When not to trust language models, ACL 2023, and of Self-RAG (Asai et
    al., section 4.1): there on characters, here on whole words, so that "9" is not in "1920"; "168" is in "£168".
    """
    normal = normalized(text.translate(_NO_CURRENCY))
    references = _references([answer.translate(_NO_CURRENCY) for answer in answers])
    return float(any(f" {answer} " in f" {normal} " if answer else not normal for answer in references))


def _references(answers: Sequence[str]) -> list[str]:
    if not answers:
        raise ValueError("expected at least one reference answer, found none")
    return [answer for answer in map(normalized, answers) if answer] or [""]


def _overlap(words: Sequence[str], wanted: Sequence[str]) -> float:
    if not words or not wanted:
        return float(words == wanted)
    common = sum((Counter(words) & Counter(wanted)).values())
    return 2 * common / (len(words) + len(wanted))


# --- rankings


def recall(units: Sequence[str], gains: Mapping[str, float], k: int) -> float:
    """Return the share of everything relevant that is among the first k (trec_eval: recall_k)."""
    relevant = _relevant(gains)
    return len(relevant.intersection(units[:k])) / len(relevant)


def reciprocal_rank(units: Sequence[str], gains: Mapping[str, float]) -> float:
    """Return 1 / rank of the first relevant unit, 0 if none was found.

    Voorhees, TREC-8 question answering track, 1999.
    """
    relevant = _relevant(gains)
    return next((1 / rank for rank, unit in enumerate(units, start=1) if unit in relevant), 0.0)


def ndcg(units: Sequence[str], gains: Mapping[str, float], k: int = 10) -> float:
    """Return the discounted gain of the first k as a share of that of the best order.

    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002; with trec_eval's form of the
    discount (ndcg_cut_k): gain / log2(rank + 1), the gain itself and not 2^gain - 1.
    """
    relevant = _relevant(gains)
    ranked = [gains[unit] if unit in relevant else 0.0 for unit in units[:k]]
    ideal = sorted((gains[unit] for unit in relevant), reverse=True)[:k]
    return _discounted(ranked) / _discounted(ideal)


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _relevant(gains: Mapping[str, float]) -> set[str]:
    relevant = {unit for unit, gain in gains.items() if gain > 0}
    if not relevant:
        raise ValueError("expected something relevant to look for, found no gain above 0")
    return relevant
