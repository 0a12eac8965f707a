"""Languages by name, and which of a few a text is written in: counts of common words and of letters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping

from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import WORD

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
        wurde wurden zu zum zur zwischen
        antwort beispiel beschreib beschreibe beschreiben beschreibt braucht darüber daten davon dazu definiere ende
        erklär erkläre erklären erläutere ermittle fass fasse finde frage fragen frist funktioniert gehen geht gelten
        geschieht gib gilt heißt höhe inhalt jahr jahre kommt kosten kostet kündigung liste machen macht mehr meinen
        meiner menge monat monate möchte nenn nenne nennen nutzen passiert preis preise rechnung regeln sag sage
        schreib schreibe seite stehen tage tun tut unterschied unterschiede vergleich vergleiche vertrag verträge
        verwende wichtig wichtigsten wissen zahlen zahlt zahlung zeig zeige zeit ziel zusammen zusammenfassung zweck
        übersetze übersicht""".split()
    ),
    "": frozenset(
        """à al au aux avec che chi co como con cual cuál cuándo cuánto czy da dans de del della den der des det die do
        dónde du e è een el elle en er est et för från gdzie har het hoe hur hvad hvem hvor hvornår i il in is jak jest
        kan kiedy kto la las le les lo los med men mon na når não nel nella nie nous o och od og où para på par pas por
        pour qual quale quali quand quando quanto que qué quel quelle quels qui quién quoi se ses som son su sur till
        tu um un una une uno var vad van vem vous waar wanneer wat welke wij y z za że""".split()
    ),
}
"""Words by language: function words, and for German what short requests are made of. Those of "" belong to other
languages of Europe, so that they are not taken for these."""


def code_of(name: str) -> str:
    """The code of a language that is named by its code or its name; empty for one that is not known here."""
    wanted = name.strip().casefold()
    by_name = {english.casefold(): code for code, english in NAMES.items()}
    return wanted if wanted in NAMES else by_name.get(wanted, _OWN.get(wanted, ""))


_GERMAN_LETTERS = frozenset("äöüß")


def detected(text: str, before: str = "") -> str:
    """The code of the language that most words of a text belong to, of English and German.

    A word counts that is known to a language, or has its letters: an umlaut or ß those of German, other letters with
    accents those of another language. Letters of a name count only where nothing else decides. `before` where none
    counts and where two languages have as many; empty where another language has more.
    """
    given = WORD.findall(unicodedata.normalize("NFC", text))
    for words in ([word for word in given if word.islower() or _known(word)], given):
        counts = Counter(code for word in words for code in _known(word) or _by_letters(word))
        first = counts.most_common(2)
        if first and (len(first) == 1 or first[0][1] > first[1][1]):
            return first[0][0]
    return before


def _known(word: str) -> list[str]:
    return [code for code, members in _WORDS.items() if word.lower() in members]


def _by_letters(word: str) -> list[str]:
    letters = {letter for letter in word.lower() if letter.isalpha() and not letter.isascii()}
    return ["de" if letters <= _GERMAN_LETTERS else ""] if letters else []
