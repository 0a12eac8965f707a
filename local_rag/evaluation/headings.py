"""Make questions from headings: what a document says under one; the passage is the label instead of a short answer.

The questions use the words of a heading without knowing its meaning, so a person must check each of them.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from local_rag.index.store.values import Passage
from local_rag.text.display import is_page
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.sentences import Span, sentences
from local_rag.text.words import BULLET, content_words, fold, words

ENGLISH = 0.15
"""The minimum share of English function words in English text; tables and other languages have fewer."""

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
_QUESTION = re.compile(
    r"^(?:what|who|where|when|why|how|which) (?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|must"
    r"|may|many|much|long|often) ",
    re.IGNORECASE,
)
_POINTS = frozenset("it its this that these those they them here there".split())
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")


def of_heading(passage: Passage) -> tuple[str, Span] | None:
    """Return a question about the passage's heading, and the sentence that follows the heading.

    Return None if the heading does not begin in the passage, means nothing by itself, or has no text below it.
    """
    parts = [part.strip() for part in passage.heading.split(" > ") if part.strip()]
    if not parts or " ".join(words(parts[-1])) not in " ".join(words(passage.text)):
        return None
    heading = _bare(_NUMBERED.sub("", parts[-1])).strip(" .:")
    document = _document_name(passage) or _bare(parts[0])
    body = next((span for span in sentences(passage.text) if _is_body(span.of(passage.text), parts)), None)
    if body is None or fold(heading) in _EMPTY or fold(heading) == fold(document) or not content_words(heading):
        return None
    if not _is_english(passage.text):
        return (f"{document}: {heading}?", body) if is_prose(passage.text) else None
    return _question(heading, document), body


def is_prose(text: str) -> bool:
    """Return whether most of a passage is whole sentences, and no table, word list or code."""
    parts = [span.of(text) for span in sentences(text)]
    whole = [part for part in parts if len(part.split()) >= 5 and _SENTENCE.search(part) and "|" not in part]
    return sum(map(len, whole)) * 2 >= len(text.strip()) > 0


def _is_english(text: str) -> bool:
    """Return whether enough of the words outside of tables are English function words."""
    every = words("\n".join(line for line in text.splitlines() if "|" not in line))
    return len(every) >= 5 and sum(word in STOP_WORDS for word in every) >= ENGLISH * len(every)


def _is_body(sentence: str, parts: list[str]) -> bool:
    """Return whether a sentence has some length and is neither a heading nor a row of a table."""
    plain = _bare(sentence)
    if plain.startswith("#") or "|" in plain or len(plain.split()) < 5:
        return False
    return words(plain) not in [words(_bare(part)) for part in parts]


def _bare(line: str) -> str:
    """Return the text on one line, without an anchor and the marks of lists, links and emphasis."""
    plain = re.sub(rf"^(?:>|{BULLET})\s+", "", " ".join(_ANCHOR.sub("", line).split()))
    plain = re.sub(r"!?\[([^\]]+)\]\([^)\s]*\)", r"\1", plain)
    return re.sub(r"(?<!\w)([*_`]{1,3})(?=\S)([^*`]*?\S)\1(?!\w)", r"\2", plain)


def _document_name(passage: Passage) -> str:
    """Return what a person calls the document: its title, else its outermost heading, else its file name.

    Only the title of a web page ("Leases - Example Ltd") is cut, because a document's own heading is its name.
    """
    top, title = passage.heading.partition(" > ")[0].strip(), passage.title.strip()
    if title and title != top:
        title = re.split(r"\s[–—|-]\s|: ", title)[0]
    named = title or top
    if not named and not is_page(passage.source):
        named = re.sub(r"[-_.]+", " ", PurePath(passage.source).stem).strip()
    return _bare(named).strip(" .:?!")


def _question(heading: str, document: str) -> str:
    """Return the heading as an English question, with the document's name if the heading has a word like "this"."""
    if heading.endswith("?") or _QUESTION.match(heading):
        question = f"{heading.rstrip('?')}?"
        pointing = _POINTS & set(words(question))
        return f"According to “{document}”, {question[0].lower()}{question[1:]}" if pointing else question
    if match := _INFINITIVE.match(heading):
        return f"{match[1].capitalize()} {'can' if match[1].lower() == 'how' else 'should'} one {match[2]}?"
    if fold(document) in fold(heading):
        return f"What is said under “{heading}”?"
    return f"What does “{document}” say about “{heading}”?"
