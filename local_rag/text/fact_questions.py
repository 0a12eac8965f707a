"""Whether a question asks for one fact, so that two different answers to it cannot both be right."""

from __future__ import annotations

import re

from local_rag.text.words import fold

_ASKS = re.compile(r"\b(?:who|whom|whose|when|where|which|what|how)\b")
_COUNTED = re.compile(
    r"\bhow (?:many|much|long|old|often|far|tall|high|large|big|fast|deep|wide|heavy|thick|hot|cold|late|early|soon"
    r"|expensive)\b"
)
_YES_NO = re.compile(
    r"^(?:and |but |so )?(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|must|may|might|am)\b"
)
_OPEN = re.compile(
    r"\bwhy\b|\bhow come\b|\bwhat (?:is|are|was|were) (?:an? |the (?:reason|purpose|difference|point|meaning|cause"
    r"|effect|role|goal|aim|function|advantage|idea|relationship)\b)|\bwhat (?:happen|cause|if\b)"
    r"|\b(?:mean|do|think|believe|happen)\??$"
    r"|\bexamples?\b|\b(?:types?|kinds?|sorts?) of\b|\b(?:some|other|another|else|all|both|each|any|besides)\b"
)
_SEVERAL = re.compile(
    r"\b(?:what|which|who|whom) (?:are|were)\b|^(?:list|name|describe|explain|compare|summari[sz]e|define)\b"
    r"|\band (?:who|when|where|what|which|why|how)\b|\bone of\b"
)
_PLURAL = re.compile(
    r"\b(?:what|which|whose) (?:(\w+s)\b (?!is\b|was\b|has\b|does\b|of\b)|\w+ (\w+s)\b (?:do|does|did|are|were|have)\b)"
)
_SINGULAR_IN_S = re.compile(r"(?:ss|us|is|ics|series|species|news|lens|wales|paris|times)$|^(?:was|is|has|does|this)$")


_STANDING = re.compile(
    r"\b(?:is|was|are|were|does|do|has|have|will|can|must|may|should|costs?)\b|\bhow\b|\bwhen\b|\byear\b|\bdate\b"
    r"|\b(?:who|which \w+|what) (?:\w+s|wrote|founded|invented|designed|directed|composed|painted|discovered|built"
    r"|created|owned)\b"
)


def asks_for_what_stands(question: str) -> bool:
    """Whether a question for one fact asks what is so, rather than what happened, which may have happened often: who
    the director is, and not who spoke.
    """
    return bool(_STANDING.search(" ".join(fold(question).split())))


def asks_for_one_fact(question: str) -> bool:
    """Whether a question wants one person, number, date, amount, place or name.

    Not a list, an explanation, a yes or a no, and not two things at once. English only: of another language nothing is
    known.
    """
    plain = " ".join(fold(question).split()).strip(" ?!.")
    if not _ASKS.search(plain) or _YES_NO.search(plain) or _OPEN.search(plain) or _SEVERAL.search(plain):
        return False
    if _COUNTED.search(plain):
        return True
    if re.search(r"\bhow\b", plain):
        return False
    plural = _PLURAL.search(plain)
    return not plural or bool(_SINGULAR_IN_S.search(plural.group(1) or plural.group(2)))
