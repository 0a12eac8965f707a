"""How near a text is to reference answers: exact match, token F1 and containment, after SQuAD's normalisation.

Rajpurkar et al., SQuAD: 100,000+ questions, EMNLP 2016, section 6.1, as the official script of SQuAD 2.0 computes them
(`compute_exact`, `compute_f1`). Of a short answer they are that script's figures; those of a whole text fall with all
that it says besides.
`answers` are alternatives: the best counts. Those of which the normalisation leaves nothing (only an article, only
punctuation) are left out, unless there are no others; then only a text that it leaves nothing of matches. Without any
answer each function raises ValueError. Citation marks are for the caller to take out.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

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
