"""Questions: what they are about, other words to search with, and follow-ups made standalone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from local_rag.core.generation import Turn
from local_rag.text.lexicon import CHAT, CHAT_PERSONS
from local_rag.text.names import names
from local_rag.text.numbers import numbers
from local_rag.text.words import content_stems, content_words, fold, query_key, words

WORD = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")
"""A word as it is written, hyphens included."""
_ASKING = frozenset(
    "explain describe define tell say says mean means work works list name give please show hello".split()
)
_SMALL_TALK = re.compile(
    r"\W*(?:(?:hello|hi|hey|thanks?(?: you)?|good (?:morning|afternoon|evening|day)|dear \w+)\b\W*)+"
    r"(?:(?:how (?:are|do) you|what'?s up|nice to meet you)\b.*)?"
)
_POINTING = frozenset(
    "it its itself they them their theirs he him his she her hers this these those former latter".split()
)
_OPENING = re.compile(r"\s*(?:and|but|so|also|then|what about|how about|what else|why not|which one|which ones)\b")

MAX_WEB_WORDS = 6
SHORT = 4
"""Words up to which a remark without a subject is small talk, whoever it is put to."""
WHOLE_QUESTION = 4
"""Words from which a question about one thing stands alone: "What is the rent?", not "How long?"."""
_NEW_TERMS = 3


def subject_words(question: str) -> list[str]:
    """The content words of a question without those that only ask ("explain", "mean"), in order, once each."""
    kept = content_words(question)
    return [word for word in kept if word not in _ASKING] or kept


def is_small_talk(question: str) -> bool:
    """A greeting or thanks and nothing else: no passage answers it."""
    return bool(_SMALL_TALK.fullmatch(" ".join(fold(question).split())))


def is_chat(question: str) -> bool:
    """Whether a question is put to the program itself, or says only what people say in passing: it names no subject."""
    spoken = words(question)
    return not set(content_words(question)) - CHAT and (len(spoken) <= SHORT or not CHAT_PERSONS.isdisjoint(spoken))


def written_words(sentence: str) -> list[str]:
    """The content words as they are written (hyphens and capitals kept), in order, once each."""
    written: dict[str, str] = {}
    for match in WORD.finditer(sentence):
        word = match.group()
        if content_words(word):
            written.setdefault(fold(word), word)
    return list(written.values())


# --- other words for a question -------------------------------------------------------------------------------------


def first_new(queries: Iterator[str], tried: Sequence[str]) -> str:
    """The first query that nobody has tried; case and white space make no difference."""
    seen = set(map(query_key, tried))
    return next(query for query in queries if query.strip() and query_key(query) not in seen)


def for_files(question: str, terms: Sequence[str]) -> Iterator[str]:
    """Queries for an index, without end: the question's words with a few of the terms, then its words alone."""
    kept = _subject(question)
    for start in range(0, len(terms), _NEW_TERMS):
        yield " ".join([*kept, *terms[start : start + _NEW_TERMS]])
    yield from _fewer(question, kept)


def for_web(question: str) -> Iterator[str]:
    """Queries of at most six words, all the question's own: what leaves the machine says nothing of its files."""
    kept = _subject(question)
    named = names(question) | numbers(question)
    first = sorted(range(len(kept)), key=lambda position: (not named & set(words(kept[position])), position))
    yield from _fewer(question, [kept[position] for position in sorted(first[:MAX_WEB_WORDS])])


def _fewer(question: str, kept: list[str]) -> Iterator[str]:
    """All words, then without one of them (the last first), then again and again in another order."""
    kept = kept or WORD.findall(question)[:MAX_WEB_WORDS] or [question.strip() or "?"]
    yield " ".join(kept)
    if len(kept) > 2:
        for left_out in reversed(range(len(kept))):
            yield " ".join(kept[:left_out] + kept[left_out + 1 :])
    turned = kept
    while True:
        for _ in kept:
            turned = [*turned[1:], turned[0]]
            yield " ".join(turned)
        turned = [*turned, kept[0]]


def depends(question: str) -> bool:
    """Whether a follow-up cannot be understood alone: it points back, opens with "and", or has hardly a word.

    "How long?" has hardly one; "What is ReAct?" has a name, and "What is the rent?" is whole. A pronoun after two
    content words points at one of them ("When did Tesla finish his degree?").
    """
    content = content_words(question)
    bare = len(content) <= 1 and not names(question) and len(words(question)) < WHOLE_QUESTION
    if not content or bare or _OPENING.match(fold(question)):
        return True
    before = re.split(rf"\b(?:{'|'.join(_POINTING)}|that$)\b", fold(question).rstrip(" ?!."), maxsplit=1)
    return len(before) > 1 and len(content_words(before[0])) <= 1


def standalone(question: str, history: Sequence[Turn]) -> str:
    """A follow-up with the content words of the question that it follows; unchanged where it stands alone."""
    if not history or not depends(question):
        return question
    known = set(content_stems(question))
    added: list[str] = []
    for turn in reversed(history):
        new = [word for word in written_words(turn.question) if not known.issuperset(content_stems(word))]
        known.update(stem for word in new for stem in content_stems(word))
        added += new
        if not depends(turn.question):
            break
    return f"{question.strip()} ({' '.join(added)})" if added else question


def _subject(question: str) -> list[str]:
    asking = set(content_words(question)) - set(subject_words(question))
    return [word for word in written_words(question) if fold(word) not in asking]
