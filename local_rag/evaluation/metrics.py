"""How near a text is to reference answers, and how good a ranking is.

Texts by exact match, token F1 and containment, after SQuAD's normalisation: Rajpurkar et al., SQuAD: 100,000+ questions
(EMNLP 2016), section 6.1, as the official script of SQuAD 2.0 computes them (`compute_exact`, `compute_f1`). Of a short
answer they are that script's figures; those of a whole text fall with all that it says besides. `answers` are
alternatives: the best counts. Those of which the normalisation leaves nothing are left out, unless there are no others;
then only a text that it leaves nothing of matches. Citation marks are for the caller to take out.

Rankings by recall, precision, reciprocal rank, nDCG and average precision, as trec_eval has them. `units` are the names
of what was found, best first and each once; `gains` has the gain of everything that is relevant, found or not, and what
is not in it, or has no gain above 0, is irrelevant. Means over cases of `reciprocal_rank` and `average_precision` are
known as MRR and MAP.

All are in [0, 1], and raise ValueError without an answer or with nothing relevant: there is nothing to measure then.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log2

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Lower case, without ASCII punctuation, then without a, an and the, with single blanks.

    The script's own behaviour, also where one may wish for more: "don't" is "dont" and "well-known" "wellknown", but a
    typographic apostrophe or dash stays, and so do accents.
    """
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(text: str, answers: Sequence[str]) -> float:
    """1 where the normalised text is an answer, else 0."""
    normal = normalized(text)
    return float(any(normal == answer for answer in _references(answers)))


def token_f1(text: str, answers: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of the text's words against an answer's, as bags of words, in [0, 1]."""
    words = normalized(text).split()
    return max(_overlap(words, answer.split()) for answer in _references(answers))


def containment(text: str, answers: Sequence[str]) -> float:
    """1 where the words of an answer stand in the text one after the other, else 0.

    "Accuracy" of short answers by Mallen et al., When not to trust language models, ACL 2023, and of Self-RAG (Asai et
    al., section 4.1): there on characters, here on whole words, so that "9" is not in "1920".
    """
    normal = normalized(text)
    return float(any(f" {answer} " in f" {normal} " if answer else not normal for answer in _references(answers)))


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
    """Share of all that is relevant that stands among the first k (trec_eval: recall_k)."""
    relevant = _relevant(gains)
    return len(relevant.intersection(units[:k])) / len(relevant)


def precision(units: Sequence[str], gains: Mapping[str, float], k: int) -> float:
    """Share of the first k places with something relevant on them; an empty place counts (trec_eval: P_k)."""
    return len(_relevant(gains).intersection(units[:k])) / k


def reciprocal_rank(units: Sequence[str], gains: Mapping[str, float]) -> float:
    """1 / rank of the first relevant thing, 0 if none was found (Voorhees, TREC-8 question answering track, 1999)."""
    relevant = _relevant(gains)
    return next((1 / rank for rank, unit in enumerate(units, start=1) if unit in relevant), 0.0)


def ndcg(units: Sequence[str], gains: Mapping[str, float], k: int = 10) -> float:
    """Discounted gain of the first k, as a share of what the best order of all that is relevant would have.

    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002; with trec_eval's form of the
    discount (ndcg_cut_k): gain / log2(rank + 1), the gain itself and not 2^gain - 1.
    """
    relevant = _relevant(gains)
    ranked = [gains[unit] if unit in relevant else 0.0 for unit in units[:k]]
    ideal = sorted((gains[unit] for unit in relevant), reverse=True)[:k]
    return _discounted(ranked) / _discounted(ideal)


def average_precision(units: Sequence[str], gains: Mapping[str, float]) -> float:
    """Mean of the precision at the rank of each relevant thing, 0 for those not found (trec_eval: map).

    Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000. It divides by all that is relevant.
    """
    relevant = _relevant(gains)
    ranks = [rank for rank, unit in enumerate(units, start=1) if unit in relevant]
    return sum(seen / rank for seen, rank in enumerate(ranks, start=1)) / len(relevant)


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _relevant(gains: Mapping[str, float]) -> set[str]:
    relevant = {unit for unit, gain in gains.items() if gain > 0}
    if not relevant:
        raise ValueError("expected something relevant to look for, found no gain above 0")
    return relevant
