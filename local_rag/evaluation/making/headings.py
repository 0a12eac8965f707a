"""Questions from headings: what a document says under one. They have no short answer; the passage is the label."""

from __future__ import annotations

import re
from collections.abc import Iterator

from local_rag.evaluation.making.wording import Idea, document_name, is_in_english, is_prose, plain_line
from local_rag.index.store.schema import Passage
from local_rag.text.sentences import sentences
from local_rag.text.words import content_words, fold, words

_NUMBERED = re.compile(r"^(?:§+|chapter|section|part|appendix)?\s*(?:\d+(?:\.\d+)*|[IVX]+)[.):]?\s+", re.IGNORECASE)
_ANCHOR = re.compile(r"\s*\{\s*[#.][^}]*\}$")
_EMPTY = frozenset(
    """contents index references bibliography acknowledgements acknowledgments appendix notes footnotes inhalt
    inhaltsverzeichnis literatur imprint impressum recap summary details introduction overview conclusion conclusions
    example examples abstract more sources""".split()
) | {
    "learn more", "read more", "see also", "next steps", "further reading", "external links", "table of contents",
}  # fmt: skip
_INFINITIVE = re.compile(r"^(how|when|where|why|what) to (.+)$", re.IGNORECASE)
_IS_WHAT = re.compile(r"^(what|who) (.+) (is|are|was|were)$", re.IGNORECASE)
_QUESTION = re.compile(
    r"^(?:what|who|where|when|why|how|which) (?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|must"
    r"|may|many|much|long|often) ",
    re.IGNORECASE,
)
_POINTS = frozenset("it its this that these those they them here there".split())


def of_heading(passage: Passage) -> Iterator[Idea]:
    """The heading that the passage stands under, where it begins in it and has text below."""
    parts = [part.strip() for part in passage.heading.split(" > ") if part.strip()]
    if not parts or _squeezed(parts[-1]) not in _squeezed(passage.text):
        return
    heading = _bare(_NUMBERED.sub("", parts[-1])).strip(" .:")
    document = _bare(document_name(passage)) or _bare(parts[0])
    body = next((span for span in sentences(passage.text) if _is_body(span.of(passage.text), parts)), None)
    if body is None or fold(heading) in _EMPTY or fold(heading) == fold(document) or not content_words(heading):
        return
    english = is_in_english(passage)
    if english or is_prose(passage.text):  # of a list or of code nobody can say which language it is in
        yield Idea(_question(heading, document, english), "", body, "heading", heading, about=document)


def _is_body(sentence: str, parts: list[str]) -> bool:
    """A sentence of some length that is no heading and no row of a table."""
    plain = _bare(sentence)
    if plain.startswith("#") or "|" in plain:
        return False
    return len(plain.split()) >= 5 and _squeezed(plain) not in {_squeezed(_bare(part)) for part in parts}


def _bare(heading: str) -> str:
    return plain_line(_ANCHOR.sub("", heading))


def _squeezed(text: str) -> str:
    return " ".join(words(text))


def _question(heading: str, document: str, english: bool) -> str:
    if heading.endswith("?"):
        return _placed(heading, document, english)
    if not english:
        return f"{document}: {heading}?"
    if match := _IS_WHAT.match(heading):
        return f"{match[1].capitalize()} {match[3]} {match[2]}?"
    if _QUESTION.match(heading):
        return _placed(f"{heading}?", document, english)
    if match := _INFINITIVE.match(heading):
        verb = "can" if match[1].lower() == "how" else "should"
        return f"{match[1].capitalize()} {verb} one {match[2]}?"
    if fold(document) in fold(heading):
        return f"What is said under “{heading}”?"
    return f"What does “{document}” say about “{heading}”?"


def _placed(question: str, document: str, english: bool) -> str:
    """A question with the name of its document, where it points at something ("How does it work?")."""
    if english and _POINTS & set(words(question)):
        return f"According to “{document}”, {question[0].lower()}{question[1:]}"
    return question
