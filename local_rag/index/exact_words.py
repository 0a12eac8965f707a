"""Operators in a typed query, "exact phrases" and -words, and whether a passage obeys them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from local_rag.core.documents import Narrowing
from local_rag.core.errors import UsageError
from local_rag.text.identifiers import searchable
from local_rag.text.words import words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.index.store.values import Passage

_OPERATOR = re.compile(
    r"(?<![^\s(])(?P<minus>-?)(?:\"([^\"]*)\"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»)(?![^\W_])"
    r"|(?<!\S)-(?P<word>[^\W\d_][^\s\"]*)"
)


CHANCE = 0.4
"""A cosine that made-up words do not reach: "xkcdqwe" and nine more come to .25 to .36 with MiniLM, on 36 PEPs."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query: `text` without operators, `phrases` that must occur, `without` that must not."""

    text: str
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def narrow(self, narrowing: Narrowing) -> Narrowing:
        """Return the narrowing with these phrases added."""
        return replace(narrowing, phrases=self.phrases, without=self.without)


def found(passages: list[Document], mode: str, narrowing: Narrowing) -> list[Document]:
    """Return the passages that a search shows: none where no passage has a word of the query, is named by it or near
    it.

    The nearest are shown all the same in a search by meaning alone, or of some documents.
    """
    about = (each.metadata for each in passages)
    fit = (each["sparse"] or each["named"] or each["score"] >= CHANCE for each in about)
    return passages if mode != "hybrid" or narrowing.of_documents or any(fit) else []


def typed_query(typed: str) -> Query:
    """Read a query as people type it: "exact phrase" in any quotes, -word and -"a phrase".

    A hyphen within a word or before a number, and a quote without its other, stand for themselves. Raises UsageError
    where only what is to be left out is named, and where there is no word.
    """
    without = [_operand(match) for match in _OPERATOR.finditer(typed) if _leaves_out(match)]
    text = _OPERATOR.sub(lambda match: " " if _leaves_out(match) else f" {_operand(match)} ", typed)
    query = Query(" ".join(text.split()), quoted_phrases(typed), _sensible(without))
    if not words(query.text):
        hint = "local-rag search '\"notice period\" -draft'"
        raise UsageError(
            "the query only says what to leave out" if query.without else "the query has no word", hint=hint
        )
    return query


def quoted_phrases(question: str) -> tuple[str, ...]:
    """Return the phrases that stand in quotes in a question."""
    return _sensible(_operand(match) for match in _OPERATOR.finditer(question) if not _leaves_out(match))


def obeys(passage: Passage, wanted: Narrowing) -> bool:
    """Return whether every one of the `phrases` stands in a passage, its heading or its title, and none of `without`;
    case and accents are folded.
    """
    if not (wanted.phrases or wanted.without):
        return True
    text = "\n".join(_spaced(searchable(each)) for each in (passage.text, passage.heading, passage.title))
    return all(_spaced(phrase) in text for phrase in wanted.phrases) and not any(
        _spaced(phrase) in text for phrase in _sensible(wanted.without)
    )


def _spaced(text: str) -> str:
    return " ".join(["", *words(text), ""])


def _leaves_out(match: re.Match[str]) -> bool:
    return bool(match["minus"] or match["word"])


def _operand(match: re.Match[str]) -> str:
    return next(text for text in match.groups()[1:] if text is not None)


def _sensible(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts that have words, each once."""
    return tuple(dict.fromkeys(text.strip() for text in texts if words(text)))
