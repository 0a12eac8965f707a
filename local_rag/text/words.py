"""The words of a text, tidied and folded, their stems, and the language that they are in."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import filterfalse
from threading import Lock

from local_rag.text.lexicon import STOP_WORDS

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean (Unicode 15, Blocks.txt), as the inside of a character class:
without blanks between words, or with endings grown to them, each sign is a word.
"""
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:[’'][^\W_{UNSPACED}]+)*")
BULLET = r"(?:[-*+•◦▪‣–●■]|\(?(?:\d{1,3}|[a-z])[.)])"
"""What an item of a list begins with, as a regular expression; a blank follows."""
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Default_Ignorable_Code_Point of Unicode 15 (DerivedCoreProperties.txt), which `unicodedata` does not tell: what shows
nothing, as the inside of a character class.
"""
_UNWRITTEN = re.compile(rf"\u00ad\s*|[{IGNORABLE}]|(?<=[^\W\d_])[-‐‑]\s+(?=[^\W\d_])")
_SAME_SIGN = str.maketrans(
    dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‘’‚", "'")
    | dict.fromkeys("‐‑–—−", "-")
    | dict.fromkeys("\u00a0\u2009\u202f", " ")
)


def words(text: str) -> list[str]:
    """Lower-case words and numbers, accents and compatibility forms folded, in order."""
    return [match.group() for match in WORD.finditer(fold(text))]


def fold(text: str) -> str:
    """Lower case without accents (NFKD). The length may change: never use its offsets on the original.

    Accents that stand alone are left out first: normalizing sorts a run of them, which takes quadratic time.
    """
    if text.isascii():
        return text.casefold()
    bare = "".join(filterfalse(unicodedata.combining, text.replace("’", "'")))
    plain = "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFKD", bare)))
    return unicodedata.normalize("NFC", plain).casefold()  # which makes syllables of Korean letters again


@lru_cache(maxsize=4096)
def tidy(text: str) -> str:
    """As far alike as two copies of a text may differ, with its case: see `tidied`."""
    return "".join(character for character, _ in tidied(text)).strip()


def tidied(text: str, without: Iterable[tuple[int, int]] = ()) -> Iterator[tuple[str, int]]:
    """The characters of a text with their positions: without accents, invisible characters and hyphens at the ends of
    lines, with plain quotes, dashes and blanks, one blank for several. 10² does not become 102.

    `without` are the starts and ends of parts that are left out.
    """
    unwritten = (match.span() for match in _UNWRITTEN.finditer(text))
    hidden = {position for span in (*without, *unwritten) for position in range(*span)}
    blank = True
    for position, character in enumerate(text):
        if position in hidden:
            continue
        plain = character
        if not character.isascii() and not unicodedata.decomposition(character).startswith(("<super>", "<sub>")):
            plain = unicodedata.normalize("NFKD", character.translate(_SAME_SIGN)).translate(_SAME_SIGN)
        for letter in plain:
            if not unicodedata.combining(letter) and not (letter.isspace() and blank):
                blank = letter.isspace()
                yield " " if blank else letter, position


_STEMMING = Lock()
"""A stemmer of snowballstemmer keeps the word that it works on: for one thread at a time."""


@cache
def _stemmer() -> object:
    import snowballstemmer

    return snowballstemmer.stemmer("porter")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Porter's stem of a lower-case word, as SQLite's `porter` tokenizer makes it (M. F. Porter, 1980)."""
    if not word.isascii():
        return word
    with _STEMMING:
        stemmed: str = _stemmer().stemWord(word.removesuffix("'s"))  # type: ignore[attr-defined]
    return stemmed


def content_words(text: str) -> list[str]:
    """The words that carry meaning: no stop words and no single letters (single digits stay), in order, once each."""
    kept = (w for w in words(text) if w not in STOP_WORDS and (len(w) > 1 or w.isdigit() or not w.isascii()))
    return list(dict.fromkeys(kept))


def content_stems(text: str) -> list[str]:
    """Stems of the content words, in order, once each."""
    return list(dict.fromkeys(stem(word) for word in content_words(text)))


def query_key(query: str) -> str:
    """What queries are compared by: one that has the content words of another, inflected or in another order, adds
    nothing to it. Without content words the same letters are the same.
    """
    return " ".join(sorted(content_stems(query))) or " ".join(query.casefold().split())


# --- the language of a text ------------------------------------------------------------------------------------------


NAMES: Mapping[str, str] = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "et": "Estonian", "fi": "Finnish", "fr": "French", "hr": "Croatian", "hu": "Hungarian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak",
    "sl": "Slovenian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip
"""The English names of languages by their code (ISO 639-1)."""


_OWN = {"deutsch": "de", "englisch": "en"}


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
