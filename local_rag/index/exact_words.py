"""What a person types besides words: "exact phrases" and -words, and whether a passage obeys them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing
from local_rag.text.words import words

if TYPE_CHECKING:
    from local_rag.index.store.schema import Passage

_QUOTED = re.compile(r"(?<![^\s(])(-?)(?:\"([^\"]*)\"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»)(?![^\W_])")
_LEFT_OUT = re.compile(r"(?<!\S)-([^\W\d_][^\s\"]*)")


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for: `text` without operators, `phrases` that must occur, `without` that must not."""

    text: str
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def narrow(self, narrowing: Narrowing) -> Narrowing:
        """The narrowing with these phrases, too."""
        return replace(narrowing, phrases=self.phrases, without=self.without)


def typed_query(typed: str) -> Query:
    """A query as people type it: "exact phrase" in any quotes, -word and -"a phrase".

    A hyphen within a word or before a number, and a quote without its other, stand for themselves. Raises UsageError
    where only what is to be left out is named, and where there is no word.
    """
    text: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    end = 0
    for match in [*_QUOTED.finditer(typed), None]:
        between = typed[end : match.start() if match else len(typed)]
        text.append(_LEFT_OUT.sub(" ", between))
        without += _LEFT_OUT.findall(between)
        if match:
            end, quoted = match.end(), _inside(match)
            (without if match.group(1) else phrases).append(quoted)
            text += [] if match.group(1) else [quoted]
    query = Query(" ".join(" ".join(text).split()), _sensible(phrases), _sensible(without))
    if query.without and not words(query.text):
        raise UsageError("the query only says what to leave out", hint="""local-rag search '"notice period" -draft'""")
    if not words(query.text):
        raise UsageError("the query has no word", hint='local-rag search "notice period"')
    return query


def quoted_phrases(question: str) -> tuple[str, ...]:
    """The phrases that stand in quotes in a question."""
    return _sensible([_inside(match) for match in _QUOTED.finditer(question) if not match.group(1)])


@dataclass(frozen=True, slots=True)
class ExactWords:
    """Sequences of words, case and accents folded: a passage holds every one of `phrases` and none of `without`."""

    phrases: tuple[tuple[str, ...], ...]
    without: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, narrowing: Narrowing) -> ExactWords | None:
        """Those of a narrowing, None where it has none."""
        phrases, without = (
            tuple(tuple(words(text)) for text in texts if words(text))
            for texts in (narrowing.phrases, narrowing.without)
        )
        return cls(phrases, without) if phrases or without else None

    def are_in(self, passage: Passage) -> bool:
        """Whether a passage obeys, in its text, its heading or its title."""
        texts = [words(text) for text in (passage.text, passage.heading, passage.title)]
        return all(_occurs(phrase, texts) for phrase in self.phrases) and not any(
            _occurs(phrase, texts) for phrase in self.without
        )


def _occurs(phrase: Sequence[str], texts: Sequence[Sequence[str]]) -> bool:
    size = len(phrase)
    return any(
        phrase[0] == word and tuple(text[at : at + size]) == tuple(phrase)
        for text in texts
        for at, word in enumerate(text)
    )


def _inside(match: re.Match[str]) -> str:
    return next(text for text in match.groups()[1:] if text is not None)


def _sensible(texts: Sequence[str]) -> tuple[str, ...]:
    """Those that have words, each once."""
    return tuple(dict.fromkeys(text.strip() for text in texts if words(text)))
