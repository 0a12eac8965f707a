"""What a question asks for, which sentences look like such an answer, and how else the question can be put."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from local_rag.core.generation import Turn
from local_rag.text.names import names
from local_rag.text.numbers import numbers
from local_rag.text.words import content_stems, content_words, fold, words

Asked = Literal["person", "time", "number", "place", "reason", "definition", "list", "open"]

SHORT_ANSWERS: frozenset[Asked] = frozenset({"person", "time", "number", "place"})
"""Kinds that one sentence answers."""

_ASKS: tuple[tuple[Asked, str], ...] = (
    ("time", r"^(?!.*\b(?:what|which|who|whom|whose|how|where|why)\b.*\bwhen\b).*\bwhen\b|\b(?:until|since) when\b"
             r"|\b(?:what|which) (?:year|date|day|month|century|decade|time)\b"
             r"|\bhow long ago\b|\bdeadline\b"),
    ("number", r"\bhow (?:many|much|long|old|often|far|tall|high|large|big|fast|deep|wide|heavy)\b"),
    ("number", r"\b(?:what|which) (?:(?:is|was|are|were) the (?:[\w-]+ )?)?"
               r"(?:percentage|number|amount|population|price|cost|total|average|rate|fee|rent|intensity)\b"),
    ("reason", r"\bwhy\b|\b(?:what|which) (?:is the |was the |are the )?(?:reasons?|causes?|caused)\b|\bhow come\b"),
    ("place", r"\bwhere\b|\b(?:what|which) (?:city|country|state|town|place|region|continent|address)\b"),
    ("person", r"\b(?:who|whom|whose)\b|\b(?:what|which) (?:person|people|author|player|king|queen|president)\b"),
    ("list", r"\b(?:types|kinds|sorts|categories|examples|steps|parts|components|phases|stages|ways|methods|reasons"
             r"|causes|advantages|disadvantages|benefits|differences|features|elements|forms)\b|^(?:list|name)\b"),
    ("definition", r"^(?:what (?:is|are|was|were|does)|define|explain|describe|tell me about)\b"),
)  # fmt: skip

_DATE = re.compile(
    r"\b1\d{3}s?\b|\b20\d\ds?\b|\b\d{1,2}(?:st|nd|rd|th) centur|\b\d{1,2}:\d\d\b|\b\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|yesterday|today|tomorrow|century|decade|ago|bc|bce|ad|may \d|\d may)\b"
)
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|therefore|thus|so that|in order to|as a result|reasons?|caused?|causes"
    r"|leads? to|led to|thanks to|in response to|so as to|prevents?|allows?|for fear)\b"
)
_ENUMERATION = re.compile(r"\(?\b[1a]\).*\(?\b[2b]\)|:\s*\n|(?:[^,;]+[,;]){2,}[^,;]*\b(?:and|or)\b", re.DOTALL)
_IS = re.compile(r"\b(?:is|are|was|were|means?|refers? to|denotes?|describes?|consists? of|can be defined as)\b")
_NAME = re.compile(r"\b[A-Z][\w'’-]*(?: (?:of|de|von|van|the|le|la) | |-)[A-Z][\w'’-]+")
_ACRONYM = re.compile(r"(?:[A-Z][\w'’-]* )*\b\w*[A-Z]{2}\w*")
_MOMENT = re.compile(
    r"\b(?:(?:second|minute|hour|day|week|month|year|spring|summer|autumn|winter|morning|evening|night)s?|noon|midnight"
    r"|now|immediately|once|as soon as|after|before|until|during)\b"
)
_IDENTIFIER = re.compile(r"\b[A-Za-z]+-\d[\w-]*")
_YEAR = re.compile(r"1[6-9]\d\d|20[0-4]\d")
_QUANTITY = re.compile(
    r"\b(?:one|single|half|halves|double|triple|quarter|thirds?|several|dozens|hundreds|thousands|millions|daily|weekly"
    r"|monthly|yearly|annual(?:ly)?|every|each|per|century|always|never)\b"
)
_PLACE = re.compile(r"\b(?:in|at|near|from|to|on|of|across|around|between|throughout)\s+(?:the\s+)?[A-Z]")

_WORD = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")
_ASKING = frozenset(
    "explain describe define tell say says mean means work works list name give please show hello".split()
)
_POINTING = frozenset(
    "it its itself they them their theirs he him his she her hers this these those former latter".split()
)
_OPENING = re.compile(r"\s*(?:and|but|so|also|then|what about|how about|what else|why not|which one|which ones)\b")

_SMALL_TALK = re.compile(
    r"\W*(?:(?:hello|hi|hey|thanks?(?: you)?|good (?:morning|afternoon|evening|day)|dear \w+)\b\W*)+"
    r"(?:(?:how (?:are|do) you|what'?s up|nice to meet you)\b.*)?"
)
_SPEAKER = re.compile(
    r"what (?:does|did|do|has|have) (?P<who>.{2,60}?) (?:say|said|write|written|think|tell us|claim|argue|mention)"
    r" (?:about|on|of) (?P<what>.+)",
    re.IGNORECASE,
)

MAX_WEB_WORDS = 6
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


def topic(question: str, passages: Sequence[str]) -> str:
    """What a question is about when it asks what somebody says of it, if the passages name that person.

    The author of a text stands in its head, not in its sentences: "What does Ada say about engines?" would find the
    head. A person whom no passage names stays in the question, and counts against every passage.
    """
    asked = _SPEAKER.match(question.strip())
    if asked is None:
        return question
    who = set(content_words(asked["who"]))
    if who and any(who <= set(words(passage)) for passage in passages):
        return f"What about {asked['what']}"
    return question


def asked_for(question: str) -> Asked:
    """The kind of answer that a question wants; `open` where its words do not say."""
    plain = " ".join(fold(question).split())
    return next((kind for kind, pattern in _ASKS if re.search(pattern, plain)), "open")


def fits(kind: Asked, question: str, sentence: str) -> int:
    """1 where a sentence holds the kind of answer asked for, -1 where it cannot, 0 where that is not known."""
    plain = fold(sentence)
    if kind == "time":
        return 1 if _DATE.search(plain) else -1
    if kind == "number":
        return 1 if _new_numbers(question, sentence) else -1
    if kind == "person":
        return 1 if _new_names(question, _ACRONYM.sub("", sentence)) else -1
    if kind == "place":
        return 1 if _PLACE.search(sentence) and _new_names(question, sentence) else -1
    if kind == "reason":
        return int(bool(_REASON.search(plain)))
    if kind == "list":
        return int(bool(_ENUMERATION.search(sentence)))
    return int(kind == "definition" and _defines(question, plain))


def lacks_kind(kind: Asked, question: str, quoted: str) -> bool:
    """Whether quoted sentences hold nothing of the kind asked for, read more kindly than `fits` reads one of them."""
    if kind not in SHORT_ANSWERS or fits(kind, question, quoted) >= 0:
        return False
    if kind == "number":
        return not _QUANTITY.search(fold(quoted))
    if kind == "place":
        first = {word for start in quoted.split("\n") for word in _WORD.findall(start)[:1] if word[0].isupper()}
        named = _new_names(question, quoted) | (set(content_words(" ".join(first))) - set(words(question)))
        return not named and not _PLACE.search(quoted)
    return kind == "person" or not _MOMENT.search(fold(quoted))


def _new_numbers(question: str, sentence: str) -> set[str]:
    """Numbers that the question does not hold; bare years and identifiers ("SF-1008") are no amounts."""
    found = numbers(_IDENTIFIER.sub("", sentence)) - numbers(question)
    return {number for number in found if not _YEAR.fullmatch(number)}


def _new_names(question: str, sentence: str) -> set[str]:
    """Names in the sentence that the question does not hold; its first word counts only in a name of several."""
    pairs = " ".join(match.group() for match in _NAME.finditer(sentence))
    return (names(sentence) | set(content_words(pairs))) - set(words(question))


def _defines(question: str, plain: str) -> bool:
    """Whether the sentence (folded) says of the question's own subject what it is."""
    verb = _IS.search(plain)
    if verb is None:
        return False
    subject = set(content_stems(question))
    before = content_stems(plain[: verb.start()])
    return bool(subject) and subject <= set(before) and len(before) <= len(subject) + 2


def _subject(question: str) -> list[str]:
    asking = set(content_words(question)) - set(subject_words(question))
    return [word for word in written_words(question) if fold(word) not in asking]


def written_words(sentence: str) -> list[str]:
    """The content words as they are written (hyphens and capitals kept), in order, once each."""
    found: dict[str, str] = {}
    for match in _WORD.finditer(sentence):
        word = match.group()
        if content_words(word):
            found.setdefault(fold(word), word)
    return list(found.values())


# --- other words for a question -----------------------------------------------------------------------------------


def first_new(queries: Iterator[str], tried: Sequence[str]) -> str:
    """The first query that nobody has tried; case and white space make no difference."""
    seen = {_same(query) for query in tried}
    return next(query for query in queries if query.strip() and _same(query) not in seen)


def _same(query: str) -> str:
    return " ".join(fold(query).split())


def file_queries(question: str, terms: Sequence[str]) -> Iterator[str]:
    """Queries for an index, without end: the question's words with a few of the terms, then its words alone."""
    kept = _subject(question)
    for start in range(0, len(terms), _NEW_TERMS):
        yield " ".join([*kept, *terms[start : start + _NEW_TERMS]])
    yield from _fewer(question, kept)


def web_queries(question: str) -> Iterator[str]:
    """Queries of at most six words, all the question's own: what leaves the machine says nothing of its files."""
    kept = _subject(question)
    named = names(question) | numbers(question)
    first = sorted(range(len(kept)), key=lambda place: (not named & set(words(kept[place])), place))
    yield from _fewer(question, [kept[place] for place in sorted(first[:MAX_WEB_WORDS])])


def _fewer(question: str, kept: list[str]) -> Iterator[str]:
    """All words, then without one of them (the last first), then again and again in another order."""
    kept = kept or _WORD.findall(question)[:MAX_WEB_WORDS] or [question.strip() or "?"]
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


# --- questions of a chat ------------------------------------------------------------------------------------------


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
