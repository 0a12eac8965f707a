"""Languages by name, and which of a few a text is written in: counts of function words, nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import words

NAMES: Mapping[str, str] = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "et": "Estonian", "fi": "Finnish", "fr": "French", "hr": "Croatian", "hu": "Hungarian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak",
    "sl": "Slovenian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip
"""The English names of languages by their code (ISO 639-1)."""
_OWN = {"deutsch": "de", "english": "en", "englisch": "en", "französisch": "fr", "spanisch": "es", "italienisch": "it"}

_WORDS: Mapping[str, frozenset[str]] = {
    "en": STOP_WORDS,
    "de": frozenset(
        """aber alle als am an auch auf aus bei bin bis da damit dann darf dürfen das dass dem den denn der des die
        dies diese dieser dieses doch durch ein eine einem einen einer eines er es für gegen gehört gibt habe haben
        hat hatte ich ihm ihn ihr ihre im in ist ja jede jeder jedes kann kein keine keinen können liegt mein meine
        mit muss müssen nach nicht noch nur ob oder ohne seit sein seine sich sie sind soll sollen steht über um und
        uns unser unsere unter viel viele vom von vor wann war waren warum was welche welchem welchen welcher
        welches wem wen wenn wer werden wessen wie wieso wieviel wieviele wird wir wo wofür woher wohin womit wozu
        wurde wurden zu zum zur zwischen""".split()
    ),
    "": frozenset(
        """à al au aux avec che chi co como con cual cuál cuándo cuánto czy da dans de del della den der des det die do
        dónde du e è een el elle en er est et för från gdzie har het hoe hur hvad hvem hvor hvornår i il in is jak jest
        kan kiedy kto la las le les lo los med men mon na når não nel nella nie nous o och od og où para på par pas por
        pour qual quale quali quand quando quanto que qué quel quelle quels qui quién quoi se ses som son su sur till
        tu um un una une uno var vad van vem vous waar wanneer wat welke wij y z za że""".split()
    ),
}
"""Function words by language; those of "" belong to other languages of Europe, so that they are not taken for these."""


def code_of(name: str) -> str:
    """The code of a language that is named by its code or its name; empty for one that is not known here."""
    wanted = name.strip().casefold()
    by_name = {english.casefold(): code for code, english in NAMES.items()}
    return wanted if wanted in NAMES else by_name.get(wanted, _OWN.get(wanted, ""))


def detected(text: str) -> str:
    """The code of the language that most function words of a text belong to, of English and German.

    Empty where there are none, where two languages have as many, and where another language has more.
    """
    given = words(text)
    counts = {code: sum(word in known for word in given) for code, known in _WORDS.items()}
    best = max(counts, key=lambda code: counts[code])
    return best if sum(count == counts[best] for count in counts.values()) == 1 else ""
