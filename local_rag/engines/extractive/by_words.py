"""Answer in languages that the evaluator does not read, by words alone.

An answer is a key line, a row, an item or a sentence that holds the words of the question and the kind of thing that it
asks for. No model has read it, so a sentence is doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from local_rag.engines.extractive.lines import ITEM, KEY, NEARLY_ALL, Line, fact_lines
from local_rag.engines.extractive.quotes import lists
from local_rag.text.languages import stems
from local_rag.text.metadata import last_heading
from local_rag.text.names import head
from local_rag.text.numbers import numbers
from local_rag.text.questions import kind_of
from local_rag.text.sentences import sentences

if TYPE_CHECKING:
    from langchain_core.documents import Document

_NUMBER, _NAME, _PLACE = "number", "name", "place"
_ASKS = {
    "de": {
        _NUMBER: r"\bwie ?(?:viel|hoch|groß|lang|alt|weit|oft|teuer|schwer|tief|breit|schnell)\w*"
        r"|\b(?:was kost\w+|wann|wie spät)\b",
        _NAME: r"\bwe[rmn]\b",
        _PLACE: r"\bwo(?:hin)?\b",
    },
    "fr": {
        _NUMBER: r"\b(?:combien|quell?e?s? (?:est|sont) (?:l[ea’']s? ?)?(?:prix|âge|taille|durée|montant|distance)"
        r"|quand|quel(?:le)? (?:date|année|heure|jour))\b",
        _NAME: r"\bqui\b",
        _PLACE: r"\boù\b",
    },
    "es": {
        _NUMBER: r"\b(?:cu(?:ánt[oa]s?|ándo)|qué (?:hora|día|fecha|año))\b",
        _NAME: r"\bquién(?:es)?\b",
        _PLACE: r"\bdónde\b",
    },
}
"""Words that ask for a number or a time, for a person and for a place, in the languages that are answered."""
_IN_PLACE = re.compile(
    r"\b(?:am|an|auf|beim?|hinter|ins?|im|neben|unter|vor|zum|zur|à|aux?|chez|dans|derrière|près|rue|sous|sur"
    r"|al|bajo|calle|en|junto|sobre)\b",
    re.IGNORECASE,
)
_FULL_NAME = re.compile(r"\b[^\W\d_a-zß-ÿ][\w’-]+ [^\W\d_a-zß-ÿ][\w’-]+")
_ASKING = frozenset(
    stem
    for language, listed in {
        "de": "viel hoch groß lang alt weit oft teuer schwer tief breit schnell kostet beträgt dauert heißt gibt liegt"
        " zeit datum uhr",
        "fr": "temps fois coûte mesure dure élève long grand haut appelle trouve prix durée montant date heure année",
        "es": "tiempo veces cuesta mide dura largo grande alto llama precio fecha hora año",
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
    if language not in _ASKS or not asked:
        return []
    if kind_of(question) == "items":
        return _items(asked, passages, language)
    forms = _ASKS[language].items()
    kind = next((kind for kind, form in forms if re.search(form, question, re.IGNORECASE)), "")
    best, most = None, (0.0, 0.0, False)
    for place, passage in enumerate(passages):
        text = passage.page_content
        of, around = {*stems(head(passage), language)}, numbers(f"{head(passage)} {text}")
        plain = (" ".join(span.of(text).split()) for span in sentences(text)) if kind else ()
        for line, complete in chain(((each, True) for each in fact_lines(text)), ((each, False) for each in plain)):
            own = {*stems(line, language)}
            cells = line.split(" | ")
            keys = [key["key"] for cell in cells if (key := KEY.match(cell))]
            named = bool(asked & {*stems(" ".join(keys), language)})
            if not named and (not kind or (keys and len(cells) == 1)):
                continue
            if (kind == _NUMBER or not keys) and not _holds(kind, line, question, language):
                continue
            share, held = len(asked & (own | of)) / len(asked), len(asked & own) / len(asked)
            rank = share, held, complete
            if held and rank > most and share >= NEARLY_ALL and numbers(question) <= around:
                best, most = Line(line, place, share, complete and held >= NEARLY_ALL), rank
    return [best] if best else []


def _items(asked: set[str], passages: Sequence[Document], language: str) -> list[Line]:
    """Return the items of the list whose heading and introduction hold most of a question's words."""
    best: list[Line] = []
    for place, passage in enumerate(passages):
        for block in lists(passage.page_content):
            of = {*stems(f"{head(passage)} {block.introduction}", language)}
            share = len(asked & of) / len(asked)
            near = f"{last_heading(passage)} {block.introduction}"
            if share >= NEARLY_ALL and asked & {*stems(near, language)} and share > (best[0].share if best else 0.0):
                best = [Line(f"{ITEM}{item}", place, share) for item in block.items]
    return best


def _holds(kind: str, line: str, question: str, language: str) -> bool:
    """Return whether a line holds the kind of thing that a question asks for, a number or a name not from there."""
    if kind == _NUMBER:
        return bool(numbers(line) - numbers(question) or _SPELLED.search(line))
    if kind == _PLACE:
        return bool(_IN_PLACE.search(line))
    known = {*stems(question, language)}
    return any(len(name := stems(found, language)) > 1 and not known & {*name} for found in _FULL_NAME.findall(line))
