"""What a question is about: its subject, without what only asks or greets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from local_rag.text.words import content_words, fold, words

_WORD = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")
_ASKING = frozenset(
    "explain describe define tell say says mean means work works list name give please show hello".split()
)
_SMALL_TALK = re.compile(
    r"\W*(?:(?:hello|hi|hey|thanks?(?: you)?|good (?:morning|afternoon|evening|day)|dear \w+)\b\W*)+"
    r"(?:(?:how (?:are|do) you|what'?s up|nice to meet you)\b.*)?"
)
_SPEAKER = re.compile(
    r"what (?:does|did|do|has|have) (?P<who>.{2,60}?) (?:say|said|write|written|think|tell us|claim|argue|mention)"
    r" (?:about|on|of) (?P<what>.+)",
    re.IGNORECASE,
)


def subject_words(question: str) -> list[str]:
    """The content words of a question without those that only ask ("explain", "mean"), in order, once each."""
    kept = content_words(question)
    return [word for word in kept if word not in _ASKING] or kept


def is_small_talk(question: str) -> bool:
    """A greeting or thanks and nothing else: no passage answers it."""
    return bool(_SMALL_TALK.fullmatch(" ".join(fold(question).split())))


def topic(question: str, passages: Sequence[str]) -> str:
    """What a question is about when it asks what somebody says of it, if the passages name that person.

    The author of a text stands in its head, not in its sentences: "What does Ada say about engines?" would find the
    head. A person whom no passage names stays in the question, and counts against every passage.
    """
    speaker = _SPEAKER.match(question.strip())
    if speaker is None:
        return question
    who = set(content_words(speaker["who"]))
    if who and any(who <= set(words(passage)) for passage in passages):
        return f"What about {speaker['what']}"
    return question


def written_words(sentence: str) -> list[str]:
    """The content words as they are written (hyphens and capitals kept), in order, once each."""
    written: dict[str, str] = {}
    for match in _WORD.finditer(sentence):
        word = match.group()
        if content_words(word):
            written.setdefault(fold(word), word)
    return list(written.values())
