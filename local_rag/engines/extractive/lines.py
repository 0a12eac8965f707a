"""Find lines that answer: key lines, rows and items with a fact, the lists that a question asks for, and results
computed from tables; lay out quotes.

Lines are rarely sentences, and the evaluator reads them less well, so they are found by their words: a line belongs to
its headings and its file, whose words count with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from local_rag.engines.assessment import is_of_kind
from local_rag.engines.extractive.quotes import MAX_WORDS, is_inline_list, is_row, lists, spoken
from local_rag.text.document_questions import document_question
from local_rag.text.languages import code_of, detected
from local_rag.text.lexicon import UNITS
from local_rag.text.marks import begins_item, claims, without_bullet, without_marks
from local_rag.text.markup import plain
from local_rag.text.metadata import is_computed, last_heading
from local_rag.text.names import head
from local_rag.text.numbers import quantities, written_names
from local_rag.text.questions import (
    ANSWERING_SHARE,
    asked_number,
    coverage,
    holds_sides,
    kind_of,
    lacking,
    months,
    named,
)
from local_rag.text.sentences import sentences
from local_rag.text.words import collapsed, content_stems, stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Shape

ITEM = "- "
"""The beginning of a list item."""
LISTED = ("items", "steps")
"""The kinds of questions that a whole list answers."""
NEARLY_ALL = 0.75
"""The least share of a question's weight that a line with its headings holds if it answers, and so for a list."""
INTRODUCED = 0.4
"""The least share of a question's weight in the introduction of a list and its heading."""
KEY = re.compile(r"[\s>*_-]*(?P<key>[^\W\d_][\w/()'’-]*(?: [\w/()'’-]+){0,3})[*_]*\s?:[*_]*\s+\S")
"""A key and its colon, before which French puts a blank."""
_STEP = re.compile(r"\s*\d{1,2}[.)] ")
"""The number of a step."""
COMPUTED = "it is computed from the table"


_SAYS = re.compile(
    r"\b(?:said|says|asked|asks|reported|reports|thought|thinks|stated|states|explained|explains|added|adds|noted|notes"
    r"|wrote|writes|suggested|suggests|proposed|proposes|mentioned|mentions|warned|warns|promised|promises|replied"
    r"|answered|recommended|recommends|argued|argues|complained|objected|agreed|announced)\b|:\s"
)
"""A verb of saying, or the colon behind a speaker."""


class Line(NamedTuple):
    """Hold a line or an item that answers by its words: its text, the passage (from 0), and the share of the question
    in it and its headings. `complete`: no item of its list, which has `of` items by its own words, is missing.
    """

    text: str
    passage: int
    share: float
    complete: bool = True
    of: int = 0


def facts(question: str, passages: Sequence[Document], weights: dict[str, float]) -> list[Line]:
    """Return the lines that hold nearly all of a question about one fact, with every name and number, and something
    new.
    """
    if not weights or kind_of(question) not in ("fact", "open"):
        return []
    asked = named(question)
    found = [
        Line(text, place, share)
        for place, passage in enumerate(passages)
        for text in fact_lines(passage.page_content)
        if (share := _share(text, head(passage), weights, asked)) >= NEARLY_ALL and _says_more(question, text)
    ]
    best = max((line.share for line in found), default=0.0)
    return [line for line in found if line.share == best]


def fact_lines(passage: str) -> Iterator[str]:
    """Yield the key lines, rows and items of a passage that are not too long for a line of facts."""
    for line in passage.splitlines():
        written = without_bullet(plain(without_marks(line))).strip()
        key = KEY.match(written)
        if (begins_item(line) or is_row(line) or key) and (1 if key else 2) < len(written.split()) <= MAX_WORDS:
            yield written


def _share(line: str, of: str, weights: dict[str, float], asked: set[str]) -> float:
    """Return the share of a question's weight in a line with its headings; 0 if a name is missing."""
    held = {quantity.unit for quantity in quantities(line)}
    units = [unit for unit, first in UNITS.items() if first in held]
    spelled = " ".join([line, *months(line), *units])
    if not coverage(weights, spelled) or lacking(asked, f"{of} {spelled}"):
        return 0.0
    return coverage(weights, f"{of} {spelled}")


def _says_more(question: str, line: str) -> bool:
    """Return whether a line states something that the question asks for: a number, a name, or any word.

    A key line answers a question for its key: "Landlord: …" names the landlord.
    """
    if key := KEY.match(line):
        asked = set(content_stems(question))
        named = stem(words(key["key"])[-1]) in asked and not asked.issuperset(content_stems(line))
        return named and is_of_kind(question, line) is not False
    return is_of_kind(question, line) is True


def statements(question: str, passages: Sequence[Document], weights: dict[str, float]) -> list[Line]:
    """Return the sentences in which the person that a question names says something about its topic; not `complete` if
    only the heading names the topic.
    """
    form = document_question(question)
    if form is None or form.asks != "topic" or not written_names(f"- {form.name}"):
        return []
    who, topic = set(words(form.name)), {stem: weights[stem] for stem in content_stems(form.topic) if stem in weights}
    found = []
    for place, passage in enumerate(passages):
        heading = last_heading(passage)
        for span in sentences(passage.page_content):
            said = _SAYS.split(sentence := span.of(passage.page_content), maxsplit=1)
            if len(said) > 1 and not who.isdisjoint(words(said[0])):
                share, whole = coverage(topic, f"{heading} {said[-1]}"), coverage(topic, said[-1]) >= NEARLY_ALL
                found.append(Line(collapsed(plain(sentence)), place, share, whole))
    best = max(((line.complete, line.share) for line in found), default=(False, 0.0))
    return [line for line in found if (line.complete, line.share) == best and line.share >= NEARLY_ALL]


def listed(question: str, passages: Sequence[Document], weights: dict[str, float]) -> list[Line]:
    """Return the items of the list that a question asks for, or the sentence that is one: its introduction and heading
    are about the question. Steps are the items of a numbered list.
    """
    if not weights or (kind := kind_of(question)) not in LISTED:
        return []
    found: list[tuple[tuple[float, float], list[Line]]] = []
    of_names = content_stems(" ".join(named(question)))
    attribute = {stem: weight for stem, weight in weights.items() if stem not in of_names} or weights
    for place, passage in enumerate(passages):
        heading = last_heading(passage)
        headed = set() < set(content_stems(heading)) <= set(weights) and not lacking(named(question), head(passage))
        least = ANSWERING_SHARE if headed else NEARLY_ALL
        of_kind = _numbered if kind == "steps" else _itemised
        for introduction, items in of_kind(passage.page_content):
            share = coverage(weights, f"{head(passage)} {introduction}")
            introduced = headed or coverage(weights, f"{heading} {introduction}") >= INTRODUCED
            if share >= least and introduced:
                counted = (asked_number(question) or asked_number(introduction)) if items else 0
                texts = items or [collapsed(plain(without_bullet(introduction)))]
                if items and introduction.endswith(":") and kind == "items":
                    texts[0] = f"{introduction}\n{texts[0]}"
                lines = [Line(text, place, share, counted <= len(items), counted) for text in texts]
                found.append(((coverage(attribute, introduction), share), lines))
    return max(found, default=((), []), key=lambda each: each[0])[1]


def _itemised(passage: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the introduction and the items of each list, then each sentence that is a list, without items."""
    for block in lists(passage):
        yield block.introduction, [f"{ITEM}{item}" for item in block.items]
    yield from ((sentence, []) for span in sentences(passage) if _enumerates(sentence := span.of(passage)))


def _numbered(passage: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the introduction and the lines of each numbered list."""
    for block in lists(passage):
        steps = passage[block.start : block.end].split("\n")
        if all(map(_STEP.match, steps)):
            yield block.introduction, steps


def _enumerates(sentence: str) -> bool:
    """Return whether a sentence lists three things or more, but no dates or amounts."""
    _, *things = re.split(r",? (?:and|or|und|oder) |[,;] ", sentence)
    return (
        is_inline_list(sentence) and not is_row(sentence) and len(things) > 1 and not re.search(r"\d", " ".join(things))
    )


def may_be_all(question: str, text: str, sentences: int) -> bool:
    """Return whether a text may be a whole list, both sides of a comparison, or a summary, if the question asks for
    one.
    """
    kind, lines = kind_of(question), "\n" in text.strip()
    if kind == "items":
        return lines or (sentences == 1 and is_inline_list(text))
    return kind != "whole" or ((lines or sentences > 1) and holds_sides(question, text))


def laid_out(quotes: Sequence[str], shape: Shape) -> Iterator[str]:
    """Yield the quotes, each after its separator: a blank, a new line, or the bullet or number of a list."""
    items = len(quotes) > 1 and any(quote[0].islower() or quote[0] == "[" for quote in quotes)  # read as one sentence
    listed = shape.style != "short" or items
    for number, quote in enumerate(quotes):
        item = begins_item(quote)
        before = "" if number == 0 else "\n" if listed or item or "\n" in quote + quotes[number - 1] else " "
        after_item = number and not listed and begins_item(quotes[number - 1].rpartition("\n")[2])
        if number and not item and (after_item or f"\n{ITEM}" in quote):  # else Markdown takes it into the item before
            before = "\n\n"
        if shape.style == "steps":
            quote, bullet = quote.removeprefix(ITEM), f"{number + 1}. "
        else:
            bullet = "" if item else ITEM
        yield f"{before}{bullet if listed and chr(10) not in quote else ''}{quote}"


def unmet(quotes: Sequence[str], shape: Shape) -> Iterator[str]:
    """Yield notes on wishes that quotes cannot meet: a table, another language."""
    if shape.style == "table":
        yield "the extractive engine quotes sentences: they are set out as a list, not as a table"
    wanted, written = code_of(shape.language), detected(" ".join(quotes))
    if wanted and written and wanted != written:
        yield f"the extractive engine quotes: its answer keeps the language of the files and is not in {shape.language}"


# --- what was computed from tables, which is quoted as it is


def computed_places(documents: Sequence[Document]) -> list[int]:
    """Return the numbers (from 0) of the passages that were computed."""
    return [number for number, document in enumerate(documents) if is_computed(document)]


def computed_answers(documents: Sequence[Document], failed: str) -> list[str]:
    """Return the results computed from tables, each line with its mark, but none that a failed draft held."""
    drafts = spoken(failed)
    said = [(number, documents[number].page_content) for number in computed_places(documents)]
    new = [(number + 1, text) for number, text in said if spoken(text) not in drafts]
    return ["\n".join(f"{line} [{number}]" if line else "" for line in text.split("\n")) for number, text in new]


def is_all_computed(generation: str, documents: Sequence[Document]) -> bool:
    """Return whether every sentence of a text was computed."""
    held = spoken(" \n".join(documents[number].page_content for number in computed_places(documents)))
    return all(spoken(claim.text) in held for claim in claims(generation))
