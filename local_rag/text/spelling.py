"""Replace misspelled words of a question by the nearest words of the index, so that the search finds them."""

from __future__ import annotations

import re
from calendar import day_name, month_name
from typing import TYPE_CHECKING

from local_rag.text.languages import detected
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import WORD, fold, stem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local_rag.core.protocols import Corpus, Evaluator

FUNCTION_WORD, ONE_EDIT, TWO_EDITS = 4, 5, 8
"""The least letters with which one edit is repaired in function words, one in all words, and two: shorter words have
too many neighbours.
"""
_OF_A_DATE = [name.casefold() for name in (*month_name[1:], *day_name)]


def repaired(question: str, corpus: Corpus, evaluator: Evaluator) -> str:
    """Return a question with each misspelled word replaced by the nearest word of the index.

    A question in another language than the evaluator's stays as it is. A word is misspelled if no file holds it and the
    evaluator's vocabulary lacks it. A word with a capital letter, other than the first, is a name: it stays as it is,
    unless it is nearly a month or a day.
    """
    if detected(question, evaluator.language) != evaluator.language:
        return question
    written = [
        word for word in WORD.findall(question) if len(word) >= FUNCTION_WORD and word.isascii() and word.isalpha()
    ]
    folded = {word: fold(word) for word in written}
    stems = {word: stem(plain) for word, plain in folded.items() if plain not in STOP_WORDS}  # "coffe" is one
    counts = corpus.document_frequency([*{*stems.values()}])
    unknown = {word for word, of in stems.items() if counts.get(of) == 0 and not evaluator.knows(folded[word])}
    start = len(question) - len(question.lstrip())

    def replacement(match: re.Match[str]) -> str:
        word = match.group()
        if word not in unknown:
            return word
        if not word.islower() and match.start() > start:  # a name, unless it is nearly a month or a day
            return next((near.title() for near in nearest(fold(word), _OF_A_DATE, edits_of(word))), word)
        near = nearest(fold(word), STOP_WORDS, 1)
        if not near and len(word) >= ONE_EDIT:
            near = nearest(fold(word), [*_OF_A_DATE, *corpus.spelled_like(fold(word))], edits_of(word))
        return near[0] if near else word

    return WORD.sub(replacement, question) if unknown else question


def edits_of(word: str) -> int:
    """Return the most edits between a misspelled word of this length and the right one."""
    return 2 if len(word) >= TWO_EDITS else 1


def nearest(word: str, others: Iterable[str], most: int) -> list[str]:
    """Return those of the other words that are at most `most` edits away, the nearest and then the longest first.

    An edit inserts, deletes or replaces a letter, or swaps two neighbours (optimal string alignment).
    """
    from rapidfuzz.distance import OSA

    near = {other: OSA.distance(word, other, score_cutoff=most) for other in others}
    return sorted((other for other in near if near[other] <= most), key=lambda other: (near[other], -len(other)))


def form_of(term: str, word: str, text: str) -> str:
    """Return the word of a text that has this stem and is nearest to another word; empty if none is near."""
    forms = [fold(each) for each in WORD.findall(text) if stem(fold(each)) == term]
    return next(iter(nearest(word, forms, edits_of(word))), "")
