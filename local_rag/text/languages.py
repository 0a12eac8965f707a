"""Detect the language of a text, and stem its words in that language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import WORD, fold, snowball

NAMES: Mapping[str, str] = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "et": "Estonian", "fi": "Finnish", "fr": "French", "hr": "Croatian", "hu": "Hungarian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak",
    "sl": "Slovenian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip
"""The English names of languages by their code (ISO 639-1)."""

STEMMERS: Mapping[str, str] = {
    code: NAMES[code].lower() for code in "da de el es fi fr hu it nl no pt ro ru sv tr".split()
}
"""Snowball's name of each language with stems of its own (https://snowballstem.org/algorithms); English is missing
because every text gets Porter's stems.
"""

_OWN = {"deutsch": "de", "englisch": "en", "español": "es", "français": "fr"}


def _by_language(listed: str) -> dict[str, frozenset[str]]:
    """Return the words by language: each language begins with its code and ends at a bar."""
    return {code: frozenset(words) for code, *words in map(str.split, listed.split("|"))}


_WORDS: Mapping[str, frozenset[str]] = {"en": STOP_WORDS} | _by_language(
    """
    cs a aby ale ani byl byla bylo být co do i ja jak jako je jeho jejich jen jsem jsou kde kdo kdy když k
    která které který má na nebo není od o po pod podle pro proto před při s se si tak také to ve více v
    však za ze z že|
    da af at blev blive bliver da de dem den denne der deres det dette disse du efter eller en er et for fra
    få han har havde hun hvad hvem hvilken hvor hvordan hvornår hvorfor i ikke jeg kan kun man med meget men
    mere må når og også om op over på sig sin skal som til ud under var ved vi vil være|
    de aber alle als am an auch auf aus bei bin bis da damit dann darf dürfen das dass dem den denn der des
    die dies diese dieser dieses doch durch ein eine einem einen einer eines er es für gegen gehört gibt
    habe haben hat hatte ich ihm ihn ihr ihre im in ist ja jede jeder jedes kann kein keine keinen können
    liegt mein meine mit muss müssen nach nicht noch nur ob oder ohne seit sein seine sich sie sind soll
    sollen steht über um und uns unser unsere unter viel viele vom von vor wann war waren warum was welche
    welchem welchen welcher welches wem wen wenn wer werden wessen wie wieso wieviel wieviele wird wir wo
    wofür woher wohin womit wozu wurde wurden zu zum zur zwischen|
    el από αυτό για δεν είναι ένα η και κατά με μετά μια να ο οι όπως όταν ότι πού που προς σε στην στις στο
    στον τα τη την της τι τις το τον του τους των ως|
    es a al como con cual cuál cuales cuáles cuando cuándo cuánto cuántos de del desde donde dónde durante e
    el él ella en entre era es esta está están este esto fue ha han hasta hay la las le les lo los más me mi
    mis muy no nos o para pero por porque que qué quien quién se ser si sí sin sobre son su sus también te
    tiene tienen todo un una uno y ya|
    fi ei että he hän ja joka jos kanssa kuin kuinka kun me mikä milloin minä missä mitä mukaan mutta myös
    niin nyt oli olivat olla on ole olet ovat se sen sitä tai tämä tämän vain voi|
    fr a à ai au aux avec avez avoir c ce ces cette combien comment d dans de depuis des doit du elle elles en
    entre est et été être eu il ils j je l la le les leur leurs lors lui m ma mais mes moi n ne nos notre nous
    on ont ou où par pas peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans
    se selon ses si son sont sous sur ta tous tout toute très tu un une vos votre vous y|
    hu a az azt csak de egy ez ezt és hogy hol igen is ki kell le lehet meg mert mi mikor mint mit nem pedig
    s szerint ha vagy van volt|
    it a ai al alla alle anche c che chi ci come con cosa d da dai dal dalla degli dei del della delle dello
    di dove dopo e è ed era essere fra gli ha hanno i il in io l la le lo loro ma mi nei nel nella non o
    ogni per perché più può prima qual quale quali quando quanto quanti questa questo qui se sei si sia sono
    su sua sul sulla suo tra tutti un una uno vi|
    nl aan al als bij dan dat de den der deze die dit door een en er geen had heb hebben heeft hem het hij
    hoe hoeveel hun ik in is je kan kunnen maar maken meer men met mijn moet na naar niet nog of om onder
    ook op over te ten tot u uit van veel voor waar waarom wanneer waren was wat we welke wel werd wie wij
    worden wordt zal ze zich zij zijn zo zonder|
    no at av ble bli blir da de den denne der det dette du eller en er et etter for fra få ha han har hun
    hva hvem hvilken hvor hvordan hvorfor i ikke jeg kan kun man med men mer må når og også om opp over på
    seg sin skal som til ut under var ved vi vil være|
    pl a aby ale bez być był była było co czy dla do gdzie go i ich im ja jak jako jego jej jest jeśli już
    kiedy kto która które który lub ma może na nie o od oraz po pod przed przez przy się są ta tak także tej
    ten to tylko tym w we więcej z za ze że|
    pt a à ao aos as às até com como da das de dela dele depois do dos e é ela ele em entre era essa esse
    esta está este eu foi há isso já mais mas me meu muito na não nas nem no nos nós o onde os ou para pela
    pelo por porque qual quais quando quanto quantos que quem são se sem ser seu seus só sobre sua também
    tem têm todos um uma|
    ro a acest această acum al ale am ar are asta au aceasta ca că cât când care ce cel cele cine cu cum da
    dacă dar de din după e ea ei el este eu fi fost iar în îi își la le lui mai mult nu o pe pentru prin sa
    să sau se si și spre sub sunt un una unde unei unui va vor|
    ru а без бы был была были было быть в вам вас во все вы где да для до его ее если есть же за и из или им
    их к как какой какие когда которая которые который кто ли между мы на над не него нет но о об он она они
    оно от по под после при с сколько со так также то того только у уже что чтобы эта эти это этого|
    sv alla att av blev bli blir både de dem den denna deras det detta dig din du då där efter eller en ett
    från för får ha han har hon hur i inte jag kan man med men mer mot mycket måste ni nu när någon och om
    på sig sin ska som så till under ut vad var varför vem vi vid vilken vilka vill är över|
    tr ama bir bu bunu çok da daha de değil diye en gibi göre hangi hem için ile ise kadar kim mi mı mu ne
    neden nerede o olan olarak olduğu olur sonra şu ve veya ya
    """
)
"""Function words by language."""

_REQUESTS = _by_language(
    """
    de antwort beispiel beschreib beschreibe beschreiben beschreibt braucht darüber daten davon dazu definiere
    ende erklär erkläre erklären erläutere ermittle fass fasse finde frage fragen frist funktioniert gehen geht
    gelten geschieht gib gilt heißt höhe inhalt jahr jahre kommt kosten kostet kündigung liste machen macht mehr
    meinen meiner menge monat monate möchte nenn nenne nennen nutzen passiert preis preise rechnung regeln sag
    sage schreib schreibe seite stehen tage tun tut unterschied unterschiede vergleich vergleiche vertrag
    verträge verwende wichtig wichtigsten wissen zahlen zahlt zahlung zeig zeige zeit ziel zusammen
    zusammenfassung zweck übersetze übersicht|
    fr abonnement coûte coûtent dit donne donnez explique expliquez faut fichiers horaires liste loyer montant
    montre nom nomme numéro paie permis prix quelqu résume résumez réunion téléphone trouve|
    es archivos cuesta cuestan dame debe dime explica explique fecha fianza hace horario lista llama muestra
    nombre número paga precio puede resumen reunión teléfono
    """
)
"""Other words of short requests."""

_CODES = {
    word: [code for code, members in _WORDS.items() if word in members or word in _REQUESTS.get(code, ())]
    for word in frozenset[str]().union(*_WORDS.values(), *_REQUESTS.values())
}


def code_of(name: str) -> str:
    """Return the code of a language given by its code or its name; empty if the language is not known here."""
    wanted = name.strip().casefold()
    by_name = {english.casefold(): code for code, english in NAMES.items()}
    return wanted if wanted in NAMES else by_name.get(wanted, _OWN.get(wanted, ""))


_LETTERS = {"de": "äöüß", "es": "áéíñóú", "fr": "àâæçèéêëîïôœùû", "it": "àèìòù", "pt": "àáâãçéêíóôõú"}
"""The letters beside ASCII by which a word that is not known counts for a language."""


def detected(text: str, before: str = "") -> str:
    """Return the code of the language that most words of a text belong to.

    A word counts for each language that lists it, else by its letters with accents for each that has them all, or for
    an unknown one. Words with capitals count by their letters only if nothing else decides. The result is `before` if
    no word counts, or if two languages tie and one of them is English, German or `before`; it is empty if several
    others tie.
    """
    if "¿" in text or "¡" in text:
        return "es"
    given = _words(text)
    for words in ([word for word in given if word.islower() or _known(word)], given):
        counts = Counter(code for word in words for code in _known(word) or _by_letters(word))
        first = [code for code, count in counts.items() if count == max(counts.values())]
        if len(first) == 1:
            return first[0]
        if first and not {before, "de", "en"} & {*first}:
            return ""
    return before


def _known(word: str) -> list[str]:
    return _CODES.get(word.lower(), [])


def _by_letters(word: str) -> list[str]:
    letters = {letter for letter in word.lower() if letter.isalpha() and not letter.isascii()}
    return ([code for code, own in _LETTERS.items() if letters.issubset(own)] or [""]) if letters else []


_ELISION = re.compile(r"(?<=\w)(?:[’'](?!(?:d|ll|m|re|s|t|ve)\b)|-t-)", re.IGNORECASE)
"""What joins two words of French or Italian, as in l'eau and a-t-il; not an apostrophe of English."""


def _words(text: str) -> list[str]:
    """Return the words of a text; what is elided is a word of its own."""
    return WORD.findall(_ELISION.sub(" ", unicodedata.normalize("NFC", text)))


_DECIDING = 20_000
"""The code points at the start of a text that decide its language."""
_SHARE, _FEWEST = 0.12, 2
"""The least share of function words in running text, and their least number; code and tables have fewer."""


def language_of(text: str) -> str:
    """Return the code of a document's language, or "" if it is unknown or the text is code, a table or numbers.

    Function words decide, because running text is full of them.
    """
    given = _words(text[:_DECIDING].lower())
    counts = Counter(code for word in given for code in _known(word))
    (first, most), (_, next_most) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return first if most >= max(_FEWEST, _SHARE * len(given)) and most > next_most else ""


def stems(text: str, language: str) -> list[str]:
    """Return the Snowball stems of a text's words, each with the language's code in front, without function words;
    empty for a language without stems of its own.
    """
    algorithm = STEMMERS.get(language)
    if not algorithm:
        return []
    given = _words(text.lower())
    return [language + fold(snowball(word, algorithm)) for word in given if word not in _WORDS[language]]
