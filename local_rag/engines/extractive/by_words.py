"""Answer in languages that the evaluator does not read, by words alone.

An answer is a key line, a row, an item or a sentence that holds the words of the question and the kind of thing that it
asks for. No model has read it, so a sentence is doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from local_rag.engines.extractive.lines import KEY, NEARLY_ALL, Line, fact_lines
from local_rag.text.languages import stems
from local_rag.text.names import head
from local_rag.text.numbers import numbers
from local_rag.text.sentences import sentences

if TYPE_CHECKING:
    from langchain_core.documents import Document

_AMOUNT = {
    "de": r"\bwie ?(?:viel|hoch|groß|lang|alt|weit|oft|teuer|schwer|tief|breit|schnell)\w*|\bwas kost\w+",
    "fr": r"\b(?:combien|quell?e?s? (?:est|sont) (?:l[ea’']s? ?)?(?:prix|âge|taille|durée|montant|distance))\b",
    "es": r"\bcuánt[oa]s?\b",
}
_TIME = {"de": r"\b(?:wann|wie spät)\b", "fr": r"\b(?:quand|quelle (?:date|année|heure))\b", "es": r"\bcuándo\b"}
"""Words that ask for a number, and for a time, in the languages that are answered."""
_ASKING = frozenset(
    stem
    for language, listed in {
        "de": "viel hoch groß lang alt weit oft teuer schwer tief breit schnell kostet beträgt dauert heißt gibt liegt",
        "fr": "coûte mesure dure élève long grand haut appelle trouve prix durée montant",
        "es": "cuesta mide dura largo grande alto llama precio",
    }.items()
    for stem in stems(listed, language)
)
"""Words that only name the kind of thing that is asked for."""
_SPELLED = re.compile(
    r"\b(?:\w*mal|(?:täg|wöchent|monat|jähr|stünd)lich|jede[nrs]?|nachts|abends|morgens|\w+tags?|\w+(?:ar|ai|uni|uli|ber)|märz"
    r"|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|douze|quinze|vingt|trente|cent|mille|chaque|jour|nuit|matin|soir"
    r"|\w+di|dimanche|\w+ier|mars|avril|juin|juillet|août|\w+bre"
    r"|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|quince|veinte|treinta|cien|mil|cada|día|noche|mañana"
    r"|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|enero|febrero|marzo|abril|mayo|junio|julio|agosto)\b",
    re.IGNORECASE,
)
"""Numbers, days and months in words; German number words are already known to `numbers`."""


def by_words(question: str, passages: Sequence[Document], language: str) -> list[Line]:
    """Return the best line or sentence; an empty list for other languages, and for questions without words to search
    for.
    """
    asked = {*stems(question, language)} - _ASKING
    if language not in _AMOUNT or not asked:
        return []
    counts = bool(re.search(f"{_AMOUNT[language]}|{_TIME[language]}", question, re.IGNORECASE))
    best: Line | None = None
    for place, passage in enumerate(passages):
        text = passage.page_content
        of, around = {*stems(head(passage), language)}, numbers(f"{head(passage)} {text}")
        plain = (" ".join(span.of(text).split()) for span in sentences(text)) if counts else ()
        for line, complete in chain(((each, True) for each in fact_lines(text)), ((each, False) for each in plain)):
            own = {*stems(line, language)}
            key = KEY.match(line)
            says = bool(asked & {*stems(key["key"], language)}) if key else counts
            if not says or (counts and not (numbers(line) - numbers(question) or _SPELLED.search(line))):
                continue
            share = len(asked & (own | of)) / len(asked)
            found = Line(line, place, share, complete)
            if asked & own and share >= NEARLY_ALL and numbers(question) <= around:
                best = max(best or found, found, key=lambda each: (each.share, each.complete))
    return [best] if best else []
