"""What the program itself says in an answer, by language: one table each.

Errors, help and progress are in English.
"""

from __future__ import annotations

from collections.abc import Mapping

from local_rag.core.answer import ENGINE_FAILED, OUT_OF_TIME, Answer, Certainty, Citation, QuoteMatch, Status
from local_rag.core.documents import FileChange
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.core.verdicts import Support
from local_rag.text.display import joined
from local_rag.text.languages import NAMES, code_of, detected

Count = tuple[str, str]
"""A text for one, and for several; {n} is the number."""

OF_QUESTION = "question"
"""The setting `answer.language` for "as the question is"."""


_RECORDS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
"""Suffixes of files whose rows or records are read as "name: value" pairs."""


class AnswerTexts:
    """The program's sentences in English. A name in braces is filled where the text is used.

    `refusal` is the fixed reply for "your files do not say". `advice` says to who reads an answer how certain it is,
    `stands` is said of a quote that is in the file as it is now. How a reason begins, `out_of_time` and
    `engine_failed`, is compared with. `grounded`: see `grounds`.
    """

    code = "en"
    refusal = NOT_IN_PASSAGES
    out_of_time = OUT_OF_TIME
    out_of_time_after = OUT_OF_TIME + " after {seconds:g} s"
    engine_failed = ENGINE_FAILED
    nothing_found = "nothing was found"
    not_in_passages = "the passages found do not contain the answer"
    passages_gone = "passages that it was written from have left the index"
    not_answered = "what the passages say does not answer the question"
    the_web = "the web"
    fallback_corpus = "the fallback corpus"
    source_not_asked = "{name} was not asked"
    source_gave_nothing = "{name} gave nothing"
    not_in_source = "what {name} gave does not contain it"
    and_also = ", and "
    unread = (
        "the grader gave no usable verdict on {n} passage, and found no other that answers",
        "the grader gave no usable verdict on {n} passages, and found no other that answers",
    )
    none_relevant = (
        "the one passage found does not answer the question",
        "none of the {n} passages found answers the question",
    )
    without_passages = "the engine cannot answer without passages"
    without_files = "answered without looking into your files"
    checks_unfinished = "its checks could not be finished"
    unchecked = "it could not be checked"
    sentences_unchecked = (
        "{left} of {n} sentence could not be checked",
        "{left} of {n} sentences could not be checked",
    )
    usefulness_unchecked = "supported, but whether it answers the question could not be checked"
    not_useful = "supported, but it may not be what you asked for"
    partly_supported = "only partly supported by the passages"
    not_supported = "not supported by the passages"
    no_verdict = "it could not be checked: the grader gave no usable verdict"
    taken_out = (
        "{n} sentence without confirmed support taken out",
        "{n} sentences without confirmed support taken out",
    )
    unverified = ("{n} citation could not be verified", "{n} citations could not be verified")
    uncited = ("{n} sentence without a citation", "{n} sentences without a citation")
    files_disagree = "your files disagree"
    grounded: Mapping[tuple[bool, bool], str] = {
        (True, True): "Quoted from your files",
        (True, False): "Quoted from its sources",
        (False, True): "Supported by your files",
        (False, False): "Supported by its sources",
    }
    leads: Mapping[Status, str] = {
        "abstained": "Your files do not say",
        "ungrounded": "Not supported by your files",
        "direct": "Not from your files",
    }
    not_told = "I could not tell from your files"
    doubtful: Mapping[Certainty, str] = {"probably": "Probably", "in doubt": "In doubt"}
    advice: Mapping[Certainty, str] = {
        "probably": "This probably answers your question. Check the quote.",
        "in doubt": "This may not answer your question. Check the quote.",
    }
    no_answer = "No answer"
    understood = "understood as: {question}"
    removed = "(taken out, because the passages do not say it: {sentences})"
    lacks = "No cited passage mentions {names}: this may be about something else."
    positions = "What they say, the newest first:"
    positions_of_a_day = "What they say:"
    changed = "file changed {date}"
    nearest = "Closest:"
    nothing_near = "No passage comes near the question."
    about = "The index is about: {titles}."
    unrecorded = "No record of this question is kept: marked words, nearest passages and times are missing."
    similarity = "similarity {score:.2f}"
    page = "p. {page}"
    ocr = "read by OCR ({confidence})"
    unsure_ocr = "OCR was not sure of a line that is quoted"
    cites_changed = "a file that is cited is not as it was indexed; the next update of the index reads it"
    became: Mapping[FileChange, str] = {
        "changed": "changed since it was indexed",
        "gone": "is not there any more",
    }
    of_pages, of_words, of_rows = ("{n} page", "{n} pages"), ("{n} word", "{n} words"), ("{n} row", "{n} rows")
    and_more = ("and {n} more", "and {n} more")
    stand_out: Mapping[str, str] = {"table": "Table", "names": "Names", "dates": "Dates", "amounts": "Amounts"}
    files_hold = ("{n} file holds “{wanted}”", "{n} files hold “{wanted}”")
    files_near = ("{n} file is near “{wanted}” in meaning", "{n} files are near “{wanted}” in meaning")
    near = "near in meaning"
    more_places = ("and {n} more place", "and {n} more places")
    file_silent = "does not say"
    parts_read = "made from {n} of {all} passages, the beginning of each part"
    web = "web"
    web_page = "web page"
    from_fallback_corpus = "from the fallback corpus {name}"
    in_index = "index {name}"
    doubts: Mapping[Support, str] = {
        "no": "not in the passages",
        "partially": "only partly in the passages",
        "unparsed": "not checked",
    }
    located: Mapping[QuoteMatch, str] = {
        "exact": "word for word",
        "words": "by the words that they share",
        "property": "a property of the file",
        "computed": "made by code of these lines",
    }
    stands = "stands word for word in your file"
    record = "a record, written out as text"
    not_verified = "not verified"
    may_answer = "it may answer: {span!r}"
    unsure = "the model is not sure whether {span!r} answers the question"
    about_the_matter = "it is about the matter and does not say the answer"
    about_something_else = "it is about something else"
    properties: Mapping[str, str] = {
        "author": "{file} names {value} as its author.",
        "date": "{file} bears the date {value}.",
        "title": "The title of {file} is {value}.",
    }

    def count(self, texts: Count, n: int, **values: object) -> str:
        """Return the text for a number."""
        return texts[n != 1].format(n=f"{n:,}", **values)

    def where(self, citation: Citation) -> str:
        """Return the page of a citation and the confidence of OCR, such as "p. 3, read by OCR (.87)", or ""."""
        page = [] if citation.page is None else [self.page.format(page=citation.page)]
        if citation.ocr is not None:
            page.append(self.ocr.format(confidence=f"{citation.ocr:.2f}".removeprefix("0")))
        return ", ".join(page)

    def lead(self, answer: Answer) -> str:
        """Return the lead of an answer that is not grounded: how certain it is, or what is wrong with it."""
        if answer.status == "partial":
            return self.doubtful.get(answer.certainty, self.doubtful["in doubt"])
        if answer.status == "abstained" and ran_out_of_time(answer.reason):
            return self.no_answer
        if answer.status == "abstained" and answer.nearest:
            return self.not_told
        return self.leads.get(answer.status, "")

    def lines(self, answer: Answer) -> dict[str, str]:
        """Sentences about an answer, empty where they do not apply."""
        silent, understood = answer.status == "abstained", answer.asked not in ("", answer.question)
        lacks = silent and not answer.nearest and "retrieve" in answer.path and not ran_out_of_time(answer.reason)
        removed = "; ".join(f'"{sentence}"' for sentence in answer.removed)
        return {
            "understood": self.understood.format(question=" ".join(answer.asked.split())) if understood else "",
            "removed": self.removed.format(sentences=removed) if removed else "",
            "lacks": self.lacks.format(names=joined(map(repr, answer.lacks), "or")) if answer.lacks else "",
            "nothing_near": self.nothing_near if lacks else "",
            "about": self.about.format(titles="; ".join(answer.about)) if silent and answer.about else "",
        }

    def grounds(self, answer: Answer) -> str:
        """Return the grounds of an answer: quotes or a model's words, from files alone or from other sources, too."""
        files = all(citation.origin == "files" for citation in answer.citations)
        return self.grounded[answer.quotes_only, files]

    def how(self, citation: Citation) -> str:
        """How a quote was located in its passage; that of a row or record is no text of the file itself."""
        if not citation.verified:
            return self.not_verified
        if citation.located == "exact" and citation.source.lower().endswith(_RECORDS):
            return self.record
        return self.located[citation.located]


class German(AnswerTexts):
    """Every one of them in German."""

    code = "de"
    refusal = "Die Textstellen enthalten keine Antwort."
    out_of_time = "Zeit abgelaufen"
    out_of_time_after = "Zeit abgelaufen nach {seconds:g} s"
    engine_failed = "die Engine ist ausgefallen"
    nothing_found = "nichts gefunden"
    not_in_passages = "in den gefundenen Textstellen steht die Antwort nicht"
    passages_gone = "Textstellen, auf denen die Antwort beruht, stehen nicht mehr im Index"
    not_answered = "was in den Textstellen steht, beantwortet die Frage nicht"
    the_web = "das Web"
    fallback_corpus = "das Ersatzkorpus"
    source_not_asked = "{name} wurde nicht befragt"
    source_gave_nothing = "{name} lieferte nichts"
    not_in_source = "was {name} lieferte, beantwortet die Frage nicht"
    and_also = ", und "
    unread = (
        "zu {n} Textstelle kam kein brauchbares Urteil, und keine andere beantwortet die Frage",
        "zu {n} Textstellen kam kein brauchbares Urteil, und keine andere beantwortet die Frage",
    )
    none_relevant = (
        "die gefundene Textstelle beantwortet die Frage nicht",
        "keine der {n} gefundenen Textstellen beantwortet die Frage",
    )
    without_passages = "ohne Textstellen kann diese Engine nicht antworten"
    without_files = "beantwortet ohne Blick in die Dateien"
    checks_unfinished = "die Prüfung ließ sich nicht abschließen"
    unchecked = "eine Prüfung war nicht möglich"
    sentences_unchecked = (
        "{left} von {n} Satz ließ sich nicht prüfen",
        "{left} von {n} Sätzen ließen sich nicht prüfen",
    )
    usefulness_unchecked = "belegt, aber ob die Frage damit beantwortet ist, ließ sich nicht prüfen"
    not_useful = "belegt, aber vielleicht nicht das, wonach gefragt ist"
    partly_supported = "durch die Textstellen nur teilweise belegt"
    not_supported = "durch die Textstellen nicht belegt"
    no_verdict = "eine Prüfung war nicht möglich: es kam kein brauchbares Urteil"
    taken_out = ("{n} Satz ohne bestätigten Beleg entfernt", "{n} Sätze ohne bestätigten Beleg entfernt")
    unverified = ("{n} Zitat ließ sich nicht bestätigen", "{n} Zitate ließen sich nicht bestätigen")
    uncited = ("{n} Satz ohne Quelle", "{n} Sätze ohne Quelle")
    files_disagree = "die Dateien widersprechen sich"
    grounded: Mapping[tuple[bool, bool], str] = {
        (True, True): "Aus den Dateien zitiert",
        (True, False): "Aus den Quellen zitiert",
        (False, True): "Durch die Dateien belegt",
        (False, False): "Durch die Quellen belegt",
    }
    leads: Mapping[Status, str] = {
        "abstained": "Dazu steht nichts in den Dateien",
        "ungrounded": "Durch die Dateien nicht belegt",
        "direct": "Nicht aus den Dateien",
    }
    not_told = "Aus den Dateien ging es nicht hervor"
    doubtful: Mapping[Certainty, str] = {"probably": "Wahrscheinlich", "in doubt": "Zweifelhaft"}
    advice: Mapping[Certainty, str] = {
        "probably": "Das beantwortet die Frage wahrscheinlich. Das Zitat zeigt es.",
        "in doubt": "Das beantwortet die Frage vielleicht nicht. Das Zitat zeigt es.",
    }
    no_answer = "Keine Antwort"
    understood = "verstanden als: {question}"
    removed = "(entfernt, weil es nicht in den Textstellen steht: {sentences})"
    lacks = "Keine zitierte Textstelle nennt {names}: das handelt vielleicht von etwas anderem."
    positions = "Was darin steht, das Neueste zuerst:"
    positions_of_a_day = "Was darin steht:"
    changed = "Datei geändert {date}"
    nearest = "Am nächsten kommt:"
    nothing_near = "Keine Textstelle kommt der Frage nahe."
    about = "Der Index handelt von: {titles}."
    unrecorded = "Diese Frage ist nicht aufgezeichnet: Markierte Wörter, nächste Textstellen und Zeiten fehlen."
    similarity = "Ähnlichkeit {score:.2f}"
    page = "S. {page}"
    ocr = "durch OCR gelesen ({confidence})"
    unsure_ocr = "OCR war sich einer zitierten Zeile nicht sicher"
    cites_changed = (
        "eine zitierte Datei ist nicht mehr so, wie sie indexiert wurde; die nächste Aktualisierung liest sie"
    )
    became: Mapping[FileChange, str] = {
        "changed": "seit dem Indexieren geändert",
        "gone": "nicht mehr da",
    }
    of_pages, of_words, of_rows = ("{n} Seite", "{n} Seiten"), ("{n} Wort", "{n} Wörter"), ("{n} Zeile", "{n} Zeilen")
    and_more = ("und {n} weitere", "und {n} weitere")
    stand_out: Mapping[str, str] = {"table": "Tabelle", "names": "Namen", "dates": "Daten", "amounts": "Beträge"}
    files_hold = ("{n} Datei enthält „{wanted}“", "{n} Dateien enthalten „{wanted}“")
    files_near = ("{n} Datei kommt „{wanted}“ nahe", "{n} Dateien kommen „{wanted}“ nahe")
    near = "dem Sinn nach"
    more_places = ("und {n} weitere Stelle", "und {n} weitere Stellen")
    file_silent = "steht nicht darin"
    parts_read = "aus {n} von {all} Textstellen, dem Anfang jedes Teils"
    web = "Web"
    web_page = "Webseite"
    from_fallback_corpus = "aus dem Ersatzkorpus {name}"
    in_index = "Index {name}"
    doubts: Mapping[Support, str] = {
        "no": "steht nicht in den Textstellen",
        "partially": "steht nur zum Teil in den Textstellen",
        "unparsed": "nicht geprüft",
    }
    located: Mapping[QuoteMatch, str] = {
        "exact": "wörtlich",
        "words": "nach gemeinsamen Wörtern",
        "property": "eine Eigenschaft der Datei",
        "computed": "aus diesen Zeilen berechnet",
    }
    stands = "steht wörtlich in der Datei"
    record = "ein Datensatz, als Text ausgeschrieben"
    not_verified = "nicht bestätigt"
    may_answer = "sie antwortet vielleicht: {span!r}"
    unsure = "das Modell ist nicht sicher, ob {span!r} die Frage beantwortet"
    about_the_matter = "sie handelt davon und sagt die Antwort nicht"
    about_something_else = "sie handelt von etwas anderem"
    properties: Mapping[str, str] = {
        "author": "{file} nennt {value} als Verfasser.",
        "date": "{file} trägt das Datum {value}.",
        "title": "Der Titel von {file} lautet {value}.",
    }


ENGLISH, GERMAN = AnswerTexts(), German()
TABLES: Mapping[str, AnswerTexts] = {table.code: table for table in (ENGLISH, GERMAN)}
"""The languages that are shipped; others fall back to English."""

REFUSALS = (
    *(table.refusal for table in TABLES.values()),
    "Die Passagen enthalten die Antwort nicht.",
    "Die Passagen enthalten keine Antwort.",
    "Die Textstellen enthalten die Antwort nicht.",
    "Les passages ne contiennent pas la réponse.",
    "Los pasajes no contienen la respuesta.",
    "I passaggi non contengono la risposta.",
    "As passagens não contêm a resposta.",
    "De passages bevatten het antwoord niet.",
)
"""The fixed reply as this program writes it, and as models translate it on their own."""
ENDINGS = (
    *("to the question", "to this question", "to your question"),
    *("auf die frage", "auf diese frage", "auf deine frage", "auf ihre frage"),
)
"""What models like to add to it."""


def texts_in(code: str) -> AnswerTexts:
    """Return the texts of a language, or the English ones if it has none."""
    return TABLES.get(code, ENGLISH)


def texts_for(language: str, question: str, before: str = "") -> AnswerTexts:
    """Return the texts under a setting `answer.language`.

    With `question` they are those of its language, or of the language `before` it in a chat (a code) if the question
    does not tell its own; else English.
    """
    return texts_in(detected(question, before) if language == OF_QUESTION else code_of(language))


def asked_language(language: str, question: str, before: str = "") -> str:
    """Return the language that a model is told to write in, under a setting `answer.language`; "" for English.

    A language that is not known here is told by the name that it was given; `before` is as in `texts_for`.
    """
    if language != OF_QUESTION:
        return NAMES.get(code_of(language), language)
    code = detected(question, before)
    return "" if code == "en" else NAMES.get(code, "the language of the question")


def fallback_note(language: str) -> str:
    """Return a note for a person who asked for a language without texts of its own, else ""."""
    if language == OF_QUESTION or code_of(language) in TABLES:
        return ""
    shipped = " and ".join(NAMES[code] for code in TABLES)
    name = NAMES.get(code_of(language), language)
    return f"what local-rag itself says in an answer is in English: it has {shipped}, not {name}"


def is_refusal(text: str) -> bool:
    """Whether a text is the fixed reply in one of the languages, as this program writes it."""
    return any(text == table.refusal for table in TABLES.values())


def ran_out_of_time(reason: str) -> bool:
    """Whether the reason of an answer is that the wall clock ended."""
    return reason.startswith(tuple(table.out_of_time for table in TABLES.values()))


def is_engine_failure(reason: str) -> bool:
    """Whether the reason of an answer is that the engine failed after it was written."""
    return reason.startswith(tuple(table.engine_failed for table in TABLES.values()))
