"""Several steps without a language model: which sentence leads on, and what to look for next.

The idea of IRCoT (arXiv 2212.10509) with quoted sentences in place of written ones: the sentence that answers best
names somebody or something new, and the next query asks for that with the words of the question that nothing covers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.core.verdicts import Complexity, Need, Thought
from local_rag.engines.extractive import questions
from local_rag.engines.extractive.quotes import as_written
from local_rag.text.display import joined
from local_rag.text.names import names as names_of
from local_rag.text.sentences import sentences
from local_rag.text.words import content_stems, fold, words

if TYPE_CHECKING:
    from local_rag.engines.extractive.analysis import Analysis

_CLAUSE = re.compile(r"\S\s+(?:who|whom|whose|which|that|where|in which|of the|by the)\s+\w+", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b(?:both|same|older|younger|earlier|later|first|more|less|larger|smaller|longer|between)\b.*\b(?:or|and|than)\b",
    re.IGNORECASE,
)
LEAST_WORDS = 6
"""Subject words from which a question with a clause in it may need two passages."""
_NEW_NAMES = 6


def complexity(question: str) -> Complexity:
    """`multi` where a question compares two things, or describes by a clause what it asks about; else `single`."""
    plain = " ".join(question.split())
    if len(questions.subject_words(plain)) < LEAST_WORDS:
        return "single"
    compared = bool(_COMPARED.search(plain)) and len(names_of(plain)) > 1
    return "multi" if compared or _CLAUSE.search(plain) else "single"


def next_step(analysis: Analysis, thoughts: Sequence[str]) -> Thought:
    """The best sentence that was not thought of yet, and a query for what it names and what nothing covers yet.

    `done` where every word that tells what the question is about is covered, or nothing new is named.
    """
    known = {" ".join(words(thought)) for thought in thoughts}
    ranked = sorted(range(len(analysis.quotes)), key=lambda number: (-analysis.answers[number], number))
    wanted = set(analysis.weights)
    for number in ranked:
        sentence = " ".join(as_written(analysis.quotes[number], wanted).split())
        if " ".join(words(sentence)) in known:
            continue
        return _going_on(analysis.question, sentence, thoughts)
    return Thought("", done=True)


def last_query(question: str, thoughts: Sequence[str]) -> list[str]:
    """The query that the last step but one led to, which the answer should hold, too; none after a single step."""
    if len(thoughts) < 2:
        return []
    query = _going_on(question, thoughts[-2], thoughts[:-2]).query
    return [query] if query else []


def next_need(question: str, written: str) -> Need:
    """What an answer needs after these sentences: a search for what they name while words of the question are open.

    Where nothing new is named the passages at hand may hold the rest.
    """
    *before, last = [span.of(written) for span in sentences(written)] or [""]
    left = _open_words(question, written)
    if not left:
        return Need("no", why="every word of the question is covered")
    query = _going_on(question, last, before).query
    return Need("yes" if query else "continue", why=f"not covered: {joined(map(repr, left))}", query=query)


def _open_words(question: str, text: str) -> list[str]:
    """The words that tell what a question is about and that a text lacks, as they are written."""
    covered, telling = set(content_stems(text)), questions.subject_words(question)
    left = [word for word in questions.written_words(question) if not covered & set(content_stems(word))]
    return [word for word in left if fold(word) in telling]


def _going_on(question: str, sentence: str, thoughts: Sequence[str]) -> Thought:
    so_far = " ".join([*thoughts, sentence])
    known = set(content_stems(question)) | set(content_stems(" ".join(thoughts)))
    names = names_of(sentence)
    new = [
        word
        for word in questions.written_words(sentence)
        if names & set(words(word)) and not known & set(content_stems(word))
    ][:_NEW_NAMES]
    left = _open_words(question, so_far)
    if not new or not left:
        return Thought(sentence, done=True)
    return Thought(sentence, query=" ".join([*new, *left]))
