"""Choose the language of what the program says in an answer, and recognise its fixed replies in every language."""

from __future__ import annotations

from collections.abc import Mapping

from local_rag.text.answer_texts import ENGLISH, AnswerTexts
from local_rag.text.display import joined
from local_rag.text.languages import NAMES, code_of, detected
from local_rag.text.translations import French, German, Spanish

OF_QUESTION = "question"
"""The setting `answer.language` for "as the question is"."""

TABLES: Mapping[str, AnswerTexts] = {table.code: table for table in (ENGLISH, German(), French(), Spanish())}
"""The languages that are shipped; others fall back to English."""

REFUSALS = (
    *(table.refusal for table in TABLES.values()),
    "Die Passagen enthalten die Antwort nicht.",
    "Die Passagen enthalten keine Antwort.",
    "Die Textstellen enthalten die Antwort nicht.",
    "I passaggi non contengono la risposta.",
    "As passagens não contêm a resposta.",
    "De passages bevatten het antwoord niet.",
)
"""The fixed reply as this program writes it, and as models translate it on their own."""
ENDINGS = (
    *("to the question", "to this question", "to your question"),
    *("auf die frage", "auf diese frage", "auf deine frage", "auf ihre frage"),
    *("à la question", "à cette question", "à votre question", "a la pregunta", "a esta pregunta", "a su pregunta"),
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
    shipped = joined(NAMES[code] for code in TABLES)
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
