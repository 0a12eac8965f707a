"""Analyse questions: their kind, their subject, and the parts of them that a text holds."""

from __future__ import annotations

import math
import re
from calendar import month_name
from typing import TYPE_CHECKING, Literal

from local_rag.core.verdicts import Complexity
from local_rag.text.identifiers import SHORTEST_ID, identifiers
from local_rag.text.lexicon import CHAT, CHAT_PERSONS, NUMBER_WORDS, STOP_WORDS
from local_rag.text.numbers import names, numbers
from local_rag.text.words import collapsed, content_stems, content_words, fold, stem, words

if TYPE_CHECKING:
    from local_rag.core.protocols import Corpus

Kind = Literal["small talk", "fact", "items", "steps", "whole", "several", "open"]
"""The kind of a question.

`fact`: one sentence answers; `items`: the items of a list; `steps`: what to do, in its order; `whole`: a summary or a
comparison, for which one sentence is hardly enough; `several`: many passages may answer (reasons, "how"); `open`: its
words do not tell.

Questions about a document itself have forms of their own (`text.document_questions`).
"""

_MEASURED = "long|old|often|far|tall|high|large|big|fast|deep|wide|heavy"
"""Adjectives that make "how" ask for a number."""
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("small talk", r"\W*(?:(?:hello|hi|hey|thanks?(?: you)?|good (?:morning|afternoon|evening|day)|dear \w+)\b\W*)+"
                   r"(?:(?:how (?:are|do) you|what'?s up|nice to meet you)\b.*)?$"),
    ("fact", r"(?!.*\b(?:what|which|who|whom|whose|how|where|why)\b.*\bwhen\b).*\bwhen\b|.*\b(?:until|since) when\b"
             r"|.*\b(?:what|which) (?:year|date|day|month|century|decade|time)\b|.*\b(?:how long ago|deadline)\b"),
    ("fact", rf".*\bhow (?:many|much|{_MEASURED})\b"),
    ("fact", r".*\b(?:what|which) (?:(?:is|was|are|were) the (?:[\w-]+ )?)?"
             r"(?:percentage|number|amount|population|price|cost|total|average|rate|fee|rent|intensity)\b"),
    ("whole", r".*\b(?:differences?|compare|summari[sz]e|summary)\b|what (?:is|are) .*\babout\W*$"
              r"|how (?:did|has|have) .* changed? (?:from|between)\b"),
    ("several", r".*\b(?:why|how come)\b|.*\b(?:what|which) (?:(?:is|was|are) the )?(?:reasons?|causes?|caused)\b"),
    ("items", r"(?:list|name)\b|who (?:belongs? to|attends?|attended|(?:was|were) present|are (?:in|on))\b"
              r"|who (?:are|were) the (?:[\w-]+ )*[\w-]+s\b"
              r"|.*\b(?:types|kinds|sorts|categories|steps|phases|stages)\b"
              r"|(?:what|which) (?:are|were) (?:the |my |our )?(?:[\w-]+ ){0,3}\w{2,}[^s\W]s\b"
              r"|(?:what|which) \w{2,}[^s\W]s (?:do|does|did|are|were|have|can|should|must)\b"
              r"|welche(?: \w+)? (?:sind|waren|gibt|gehoren|hat|haben|braucht)\b|nenne\b"
              r"|(?:quel(?:le)?s (?:sont|etaient)|liste[rz]?)\b|\W*(?:cuales (?:son|eran)|enumera)\b"),
    ("fact", r".*\b(?:where|who|whom|whose)\b|.*\b(?:what|which) (?:city|country|state|town|place|region|continent"
             r"|address|person|people|author|player|king|queen|president)\b"),
    ("several", r".*\b(?:examples|parts|components|ways|methods|reasons|causes|advantages|disadvantages|benefits"
                r"|features|elements|forms)\b"),
    ("steps", r".*\bhow (?:to|(?:do|can|should|must|could|would) (?:i|we|you|one|people))\b"),
    ("open", r"(?:what (?:is|are|was|were|does)|define|explain|describe|tell me about)\b"),
    ("several", r".*\bhow\b"),
)  # fmt: skip
"""Patterns by kind; the first one that matches a folded question decides."""
_ASPECT = (
    r"(?:(?:: *|,? (?=how\b|when\b|wh\w+ (?:is|are|was|were|do|does|did)\b))(?P<tail>.+)"
    r"|,? (?:in terms of|with regard to|regarding|concerning|about|as to|in) (?:the |their )?(?P<aspect>[^:]+))?$"
)
_COMPARISON = re.compile(
    r"(?:(?:[\w']+ ){0,4}(?:differences?|distinction) (?:is there |are there )?between|(?:please )?compare|contrast)"
    r" (?:the )?(?P<first>.+?) (?:and|with|to|versus|vs\.?) (?:the )?(?P<second>(?:(?!\b(?:what|which|who)\b).)+?)"
    rf"{_ASPECT}",
    re.IGNORECASE,
)
_DIFFER = re.compile(
    rf"how (?:do|does|did) (?:the )?(?P<first>.+?) (?:and|from) (?:the )?(?P<second>.+?) differ{_ASPECT}", re.IGNORECASE
)
_CHANGE = re.compile(
    r"how (?:did|has|have) (?P<subject>.+?) changed? (?:from|between) (?P<first>.+?) (?:to|and) (?P<second>.+)",
    re.IGNORECASE,
)
_HOW = re.compile(rf"\bhow (?:{_MEASURED})\b", re.IGNORECASE)
_AMOUNT = re.compile(rf"\bhow (?:many|much|{_MEASURED})\b|\bnumber of\b|\bwhat (?:do|does|did) .* cost\b")
_FILE_NAME = re.compile(r"_|\.[a-z]{2,4}\b")
_ISO_DATE = re.compile(r"\b\d{4}-(0[1-9]|1[0-2])-\d\d\b")
_VERBS = frozenset(("March", "May"))
"""The months whose names are verbs in small letters."""
_PLURAL = re.compile(r"(?<=[a-z][^\Wsui])s\b")
"""The ending of "rents", which are those of both sides of a comparison."""
_OF = frozenset("of in for at on by from".split())
_COUNTED = re.compile(
    r"\b(?P<number>[2-9]|1\d|two|three|four|five|six|seven|eight|nine|ten)(?: [a-z-]+){0,2} [a-z-]+s\b"
)
_PATTERNS = [(kind, re.compile(pattern, re.DOTALL)) for kind, pattern in _KINDS]

WRITTEN_WORD = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")
"""A word as it is written, hyphens included."""
_ASKING = frozenset(
    (
        "explain describe define tell say says mean means work works list name give please show hello"
        " summarise summarize compare difference differences"
    ).split()
)
_ASKS = frozenset("what which who whom whose where when why how is are was were does did".split())
"""First words that make a question a request for knowledge, whatever its other words are."""
_CLAUSE = re.compile(r"\S\s+(?:who|whom|whose|which|that|where|in which|of the|by the)\s+\w+", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b(?:both|same|older|younger|earlier|later|first|more|less|larger|smaller|longer|between)\b.*\b(?:or|and|than)\b",
    re.IGNORECASE,
)

LONGEST_REMARK = 4
"""The most words of a remark without a subject that is small talk even without "I" or "you"."""
MULTI_WORDS = 6
"""The least number of subject words with which a question with a clause may need two passages."""
LEAST_WEIGHT = 0.1
"""The least weight of a word, for one that every passage holds."""
ANSWERING_SHARE = 0.5
"""The least share of a question's weight that a passage with its header must hold to answer it without doubt."""


def kind_of(question: str) -> Kind:
    """Return the kind of a question in English."""
    plain = collapsed(fold(question))
    if _is_chat(plain):
        return "small talk"
    return next((kind for kind, pattern in _PATTERNS if pattern.match(plain)), "open")


def _is_chat(plain: str) -> bool:
    """Return whether a question without a subject is addressed to the program itself or is small talk."""
    spoken = words(plain)
    if not spoken or set(content_words(plain)) - CHAT:
        return False
    if not {"you", "your", "yourself"}.isdisjoint(spoken):
        return True
    return spoken[0] not in _ASKS and (len(spoken) <= LONGEST_REMARK or not CHAT_PERSONS.isdisjoint(spoken))


def complexity(question: str) -> Complexity:
    """Return `multi` if a question compares two things or describes its subject by a clause; else `single`."""
    plain = collapsed(question)
    if len(subject_words(plain)) < MULTI_WORDS:
        return "single"
    compared = bool(_COMPARED.search(plain)) and len(names(plain)) > 1
    return "multi" if compared or _CLAUSE.search(plain) else "single"


# --- what a question is about ---------------------------------------------------------------------------------------


def subject_words(question: str) -> list[str]:
    """Return the content words of a question without those that only ask ("explain", "mean"), in order, once each."""
    kept = content_words(_HOW.sub("how", question))
    return [word for word in kept if word not in _ASKING] or kept


def written_words(sentence: str) -> list[str]:
    """Return the content words as they are written (hyphens and capitals kept), in order, once each."""
    written: dict[str, str] = {}
    for match in WRITTEN_WORD.finditer(sentence):
        word = match.group()
        if content_words(word):
            written.setdefault(fold(word), word)
    return list(written.values())


def stem_weights(question: str, corpus: Corpus | None) -> dict[str, float]:
    """Return the inverse document frequency of the question's subject stems, ln((N + 1) / (df + 0.5)); 1 without a
    corpus.
    """
    subject = subject_words(question)
    if corpus is None or not subject:
        return {stem(word): 1.0 for word in subject}
    passages, frequency = corpus.count(), corpus.document_frequency(subject)
    return {
        stem(word): max(LEAST_WEIGHT, math.log((passages + 1) / (frequency.get(word, 0) + 0.5))) for word in subject
    }


def coverage(weights: dict[str, float], text: str) -> float:
    """Return the share of the weight of a question's stems that a text holds, in [0, 1]."""
    held, total = set(content_stems(text)), sum(weights.values())
    return sum(weight for name, weight in weights.items() if name in held) / total if total else 0.0


def uncovered(question: str, text: str) -> list[str]:
    """Return the subject words of a question that a text lacks, as they are written."""
    held, telling = set(content_stems(text)), subject_words(question)
    return [word for word in written_words(question) if not held & set(content_stems(word)) and fold(word) in telling]


def named(question: str) -> set[str]:
    """Return the names, numbers and months of a question; "may" and "march" only with a capital letter."""
    spoken = set(re.findall(r"[^\W\d_]+", question))
    known = {fold(month) for month in month_name[1:] if spoken & {month, month if month in _VERBS else month.lower()}}
    return names(question) | numbers(question) | known


def months(text: str) -> list[str]:
    """Return the months of the ISO 8601 dates in a text."""
    return [month_name[int(match[1])].casefold() for match in _ISO_DATE.finditer(text)]


def lacking(named: set[str], text: str) -> list[str]:
    """Return the names and numbers of a question that a text does not hold, whatever their inflection."""
    held = {*words(text), *numbers(text), *months(text)}
    stems = {stem(word) for word in held}
    absent = [name for name in named if name not in held and stem(name) not in stems]
    pieces = " ".join(identifiers(text)) if absent else ""
    return sorted(name for name in absent if len(name) < SHORTEST_ID or f" {name}" not in f" {pieces}")


def missing(question: str, text: str, weights: dict[str, float]) -> list[str]:
    """Return the parts of a question whose absence makes a text a poor answer: names and numbers, else words if the
    text holds less than ANSWERING_SHARE.
    """
    absent = lacking(named(question), text)
    return absent or (uncovered(question, text) if weights and coverage(weights, text) < ANSWERING_SHARE else [])


def sides(question: str) -> list[tuple[str, str]]:
    """Return the two sides of a comparison or a change, each as a label and a question of its own; else an empty list.

    Words that stand at one side only belong to both: "the rents of A and B", "the sys and fd modes", "May and June
    2024".
    """
    plain = collapsed(question).rstrip(" ?!.")
    if match := _CHANGE.match(plain):
        first, second = match["first"], match["second"]
        if (year := re.search(r" \d{4}$", second)) and not re.search(r"\d{4}$", first):
            first += year.group()
        return [(side, f"What was {match['subject']} in {side}?") for side in (first, second)]
    match = _COMPARISON.match(plain) or _DIFFER.match(plain)
    if match is None:
        return []
    first, second = match["first"].split(), match["second"].split()
    before: list[str] = []
    behind: list[str] = []
    places = [place for place, word in enumerate(first, 1) if fold(word) in _OF]
    if places and fold(second[0]) == fold(first[places[-1] - 1]):
        second = second[1:]
    if places and _OF.isdisjoint(map(fold, second)):
        before = first[: places[-1]]
    elif not places and len(second) > len(first):
        behind = second[len(first) :]
    each = first[len(before) :], second[: len(second) - len(behind)]
    own = [" ".join(side[fold(side[0]) == "the" and len(side) > 1 :]) for side in each]
    asks = match["tail"] or (f"What is the {match['aspect']}" if match["aspect"] else "")
    found = []
    for side in own:
        of = "the " * bool(before) + _PLURAL.sub("", " ".join(before).replace("ies ", "y "))
        whole = _FILE_NAME.sub(" ", " ".join([of, side, *behind])).strip()
        found.append((side, f"{asks} ({whole})?" if asks else f"What is {whole}?"))
    return found


def asked(question: str) -> list[str]:
    """Return the questions that have to be answered: one for each side or part, or the question itself."""
    return [side for _, side in sides(question)] or whole_parts(question)


_JOINED = re.compile(
    r",?\s+(?:and|und)\s+(?=(?:what|when|who|whom|whose|how|where|which|why|is|are|was|does|do|can|until|by"
    r"|was|wann|wer|wie|wo|welche[rsn]?|warum|ist|sind|hat)\b)",
    re.IGNORECASE,
)


def parts(question: str) -> list[str]:
    """Return the questions in a question for several things: "When does it end, and what is the rent?"."""
    asked = [part.strip(" ,?") for part in _JOINED.split(question)]
    whole = len(asked) < 2 or any(len(words(part)) < 3 for part in asked)
    return [question] if whole else [f"{part[:1].upper()}{part[1:]}?" for part in asked]


def whole_parts(question: str) -> list[str]:
    """Return the parts of a question, each with what it is about if only another part says that: "How much is the
    deposit (Harbour Row 3)?".
    """
    each = parts(question)
    if len(each) < 2:
        return each
    about = [_about(part) for part in each]
    shared = next(filter(None, about), " ".join(subject_words(each[0])))
    return [part if said or named(part) else f"{part[:-1]} ({shared})?" for part, said in zip(each, about, strict=True)]


def _about(part: str) -> str:
    """Return the words behind the first preposition of a question, else its names and numbers."""
    plain = re.sub(r"\b(do|does|did|will|can) (.+) \w+$", r"\1 \2", part.rstrip(" ?"), flags=re.IGNORECASE)
    if match := re.search(rf"\b(?:{'|'.join(_OF)}) (?:(?:the|my|our|this) )?(.+)$", plain):
        return match[1]
    own = named(plain)
    return " ".join(word for word in written_words(plain) if own & set(words(word)))


_OTHERWISE = [
    (re.compile(form, re.IGNORECASE), others)
    for form, *others in (
        (r"when (does|do|will|did) (.+?) (?:end|expire|finish|run out|terminate)",
         "When {0} {1} expire?", "Until when {0} {1} run?"),
        (r"when (does|do|will|did) (.+?) (?:begin|start|commence)", "When {0} {1} commence?", "From when {0} {1} run?"),
        (r"when did (.+?) (?:begin|start) (?:working|to work|work) .+", "When does the employment of {0} start?"),
        (r"what is (the|its) (\w+ period)", "How long is {0} {1}?"),
        (r"(?:who|which \w+) (?:attended|took part in|came to|was at|were at) (.+)", "Who was present at {0}?"),
        (r"(?:what|how much) (?:does|did|do) (.+?) (?:earn|get paid)\b.*|what salary (?:does|did) (.+?) (?:get|earn)",
         "What is the salary of {0}?"),
        (r"who(?: is|'s) (.+?)'s boss(?: now)?", "Who is the line manager of {0}?", "Whom does {0} report to?"),
        (r"who(?: is|'s) looking into (.+?)(?: at the moment| now)?", "Who is investigating {0}?"),
        (r"how old is (.+)", "When was {0} born?"),
        (r"where does (.+) live", "What is the address of {0}?"),
    )
]  # fmt: skip


def in_other_words(question: str) -> list[str]:
    """Return the question as documents may put it: a lease that ends expires, or runs until a day."""
    plain = question.strip().rstrip(" ?")
    found = ((form.fullmatch(plain), others) for form, others in _OTHERWISE)
    return [other.format(*filter(None, match.groups())) for match, others in found if match for other in others]


def of_side(label: str, other: str, text: str) -> bool:
    """Return whether a text holds the words that tell one side from the other."""
    telling = set(words(label)) - set(words(other)) - (STOP_WORDS - {"may"})
    return not lacking(telling, text)


def holds_sides(question: str, text: str) -> bool:
    """Return whether a text holds both sides of a comparison; True if the question compares nothing."""
    each = sides(question)
    return all(of_side(label, other, text) for (label, _), (other, _) in zip(each, reversed(each), strict=True))


def asks_for_amount(question: str) -> bool:
    """Return whether a number answers a question: how many, how long, what did it cost."""
    return bool(_AMOUNT.search(fold(question)))


def asked_number(text: str) -> int:
    """Return the number of things that a text mentions, "five approaches"; 0 if it gives none."""
    match = _COUNTED.search(fold(text))
    return int(NUMBER_WORDS.get(match["number"], match["number"])) if match else 0
