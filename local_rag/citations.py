"""An answer and its passages -> the answer with citations that code has checked.

A language model is free to put [1] behind anything. What a citation says here comes from the passage: the quote is cut
from it, page and heading are its own, and `verified` is decided by comparing words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from local_rag.text import (
    Span,
    content_stems,
    marks,
    names,
    numbers,
    sentences,
    shorten,
    stripped,
    without_marks,
    words,
)
from local_rag.types import NOT_IN_PASSAGES, Citation, Status

if TYPE_CHECKING:
    from langchain_core.documents import Document

CLOSE = 0.8
"""A quote is close to its sentence when it holds more than this share of the sentence's content words (stemmed).

One foreign word in five is too many: "the board rejected the plan" and "the board approved the plan" share two of
three.
"""

QUOTE_SENTENCES = 3
"""The longest quote, in sentences of the passage, that is put beside a sentence which is no verbatim copy."""

SAYS_SOMETHING = 5
"""Words from which a sentence of a near passage is worth showing; headings are shorter."""

_NEGATIONS = frozenset("not no never none nor neither cannot without nothing nobody".split())


@dataclass(frozen=True)
class Checked:
    """The text with unknown numbers taken out, its citations in order, and what was wrong.

    `dropped` counts numbers that name no passage; `uncited` the sentences that no citation stands behind.
    """

    text: str
    citations: tuple[Citation, ...]
    dropped: int
    uncited: int

    @property
    def status(self) -> Status:
        """What the citations alone allow to say: grounded when every sentence has a verified one."""
        if self.text == NOT_IN_PASSAGES or not self.text:
            return "abstained"
        verified = sum(citation.verified for citation in self.citations)
        if not verified:
            return "ungrounded"
        return "grounded" if verified == len(self.citations) and not self.uncited and not self.dropped else "partial"


@dataclass(frozen=True)
class _Claim:
    """A run of the answer and the numbers behind it; `text` is without marks."""

    text: str
    numbers: tuple[int, ...]


def check(text: str, documents: Sequence[Document]) -> Checked:
    """Check every mark [n] of an answer against the n-th document.

    A citation is verified when its quote is a verbatim span of the passage, every number and name of the sentence
    stands in the quote, the quote is `CLOSE` to the sentence, and its best part denies something just when that does.
    """
    known, dropped = _known_marks(text, len(documents))
    citations: list[Citation] = []
    uncited = 0
    for claim in _claims(known, documents):
        if not claim.numbers:
            uncited += bool(content_stems(claim.text))
            continue
        citations += [_cite(claim.text, number, documents[number - 1]) for number in claim.numbers]
    return Checked(known, tuple(dict.fromkeys(citations)), dropped, uncited)


def renumbered(checked: Checked) -> Checked:
    """The same with the numbers 1, 2, … in the order in which a reader meets them."""
    order = dict.fromkeys(number for _, cited in marks(checked.text) for number in cited)
    new = {number: position for position, number in enumerate(order, start=1)}
    parts: list[str] = []
    end = 0
    for span, cited in marks(checked.text):
        parts += [checked.text[end : span.start], _mark(span.of(checked.text), [new[number] for number in cited])]
        end = span.end
    return replace(
        checked,
        text="".join([*parts, checked.text[end:]]),
        citations=tuple(replace(citation, number=new[citation.number]) for citation in checked.citations),
    )


def nearest(documents: Iterable[Document], question: str, limit: int = 3) -> tuple[Citation, ...]:
    """The passages that came closest to a question that nothing answered, each with its best sentence."""
    found = []
    for number, document in enumerate(documents, start=1):
        span = _best_window(content_stems(question), document.page_content, longest=1, shortest=SAYS_SOMETHING)
        found.append(_citation(number, document, span, verified=False, sentence=""))
    return tuple(found[:limit])


def locate(sentence: str, passage: str) -> Span | None:
    """The span of a passage that reads like the sentence: the same characters but for white space, case and marks."""
    wanted, _ = _plain(sentence)
    text, positions = _plain(passage)
    at = text.find(wanted) if wanted else -1
    if at < 0:
        return None
    return Span(positions[at], positions[at + len(wanted) - 1] + 1)


def _plain(text: str) -> tuple[str, list[int]]:
    """Lower case, no marks, single blanks, with the position in `text` of every character that is left."""
    hidden = [span for span, _ in marks(text)]
    kept: list[str] = []
    positions: list[int] = []
    skip = iter(hidden)
    mark = next(skip, None)
    for position, character in enumerate(text):
        while mark and position >= mark.end:
            mark = next(skip, None)
        if mark and mark.start <= position:
            continue
        if character.isspace():
            if not kept or kept[-1] == " ":
                continue
            character = " "
        lower = character.lower()
        kept.append(lower if len(lower) == 1 else character)
        positions.append(position)
    while kept and kept[-1] == " ":
        kept.pop()
        positions.pop()
    return "".join(kept), positions


def _known_marks(text: str, count: int) -> tuple[str, int]:
    """The text without numbers outside 1..count, and how many there were."""
    parts: list[str] = []
    end = dropped = 0
    for span, cited in marks(text):
        good = [number for number in cited if 1 <= number <= count]
        dropped += len(cited) - len(good)
        parts.append(text[end : span.start])
        if good:
            parts.append(_mark(span.of(text), good))
        end = span.end
    return "".join([*parts, text[end:]]).strip(), dropped


def _mark(old: str, numbers: Sequence[int]) -> str:
    """A mark with other numbers and the same blanks before it."""
    return f"{old[: old.index('[')]}[{', '.join(map(str, numbers))}]"


def _claims(text: str, documents: Sequence[Document]) -> list[_Claim]:
    """Cut an answer at its marks: the sentence before a mark is cited by it, sentences before that one are not.

    A longer run that stands in a cited passage word for word (an introduction with its list) stays one claim.
    """
    claims: list[_Claim] = []
    start = 0
    for run_end, end, cited in _runs(text):
        run = text[start:run_end].strip()
        spans = sentences(run)
        if len(spans) > 1 and not any(locate(run, documents[number - 1].page_content) for number in cited):
            claims += [_Claim(span.of(run), ()) for span in spans[:-1]]
            run = spans[-1].of(run)
        if run:
            claims.append(_Claim(run, cited))
        elif claims:
            claims[-1] = _Claim(claims[-1].text, tuple(dict.fromkeys((*claims[-1].numbers, *cited))))
        start = end
    rest = text[start:]
    return claims + [_Claim(span.of(rest), ()) for span in sentences(rest)]


def _runs(text: str) -> list[tuple[int, int, tuple[int, ...]]]:
    """(end of the words, end of the marks and the full stop behind them, numbers) of each cited run of a text."""
    runs: list[tuple[int, int, tuple[int, ...]]] = []
    for span, cited in marks(text):
        tail = re.compile(r"[.!?…]+").match(text, span.end)
        end = tail.end() if tail else span.end
        if runs and not text[runs[-1][1] : span.start].strip():
            runs[-1] = (runs[-1][0], end, tuple(dict.fromkeys((*runs[-1][2], *cited))))
        else:
            runs.append((span.start, end, tuple(dict.fromkeys(cited))))
    return runs


def _cite(sentence: str, number: int, document: Document) -> Citation:
    passage = document.page_content
    exact = locate(sentence, passage)
    if exact and words(exact.of(passage)):
        return _citation(number, document, exact, verified=True, sentence=sentence)
    span = _best_window(content_stems(sentence), passage, QUOTE_SENTENCES, sentence)
    return _citation(number, document, span, verified=_supports(span.of(passage), sentence), sentence=sentence)


def _supports(quote: str, sentence: str) -> bool:
    """Whether the words of a quote carry a sentence: numbers, names, denial and enough of its content words."""
    if not numbers(sentence) <= numbers(quote) or not names(sentence) <= set(words(quote)):
        return False
    stems = content_stems(without_marks(sentence))
    core = max((span.of(quote) for span in sentences(quote)), key=lambda part: _coverage(stems, part), default="")
    return _denies(sentence) == _denies(core) and _coverage(stems, quote) > CLOSE


def _denies(text: str) -> bool:
    return any(word in _NEGATIONS or word.endswith("n't") for word in words(text))


def _coverage(stems: Sequence[str], quote: str) -> float:
    if not stems:
        return 0.0
    there = set(content_stems(quote))
    return sum(stem in there for stem in stems) / len(stems)


def _best_window(stems: Sequence[str], passage: str, longest: int, sentence: str = "", shortest: int = 1) -> Span:
    """The shortest run of up to `longest` sentences that covers most of the stems (and carries the sentence).

    Sentences of fewer than `shortest` words, such as headings, are passed over where there are others.
    """
    spans = sentences(passage) or [stripped(passage, 0, len(passage))]
    spans = [span for span in spans if len(words(span.of(passage))) >= shortest] or spans
    best, best_key = spans[0], (-1.0, 0.0, 0)
    for size in range(1, longest + 1):
        for first in range(len(spans) - size + 1):
            window = Span(spans[first].start, spans[first + size - 1].end)
            quote = window.of(passage)
            key = (float(bool(sentence) and _supports(quote, sentence)), _coverage(stems, quote), -size)
            if key > best_key:
                best, best_key = window, key
    return best


def _citation(number: int, document: Document, span: Span, *, verified: bool, sentence: str) -> Citation:
    about = document.metadata
    offset = int(about.get("start", 0))
    return Citation(
        number=number,
        source=str(about.get("source", "")),
        page=about.get("page"),
        heading=str(about.get("heading", "")),
        quote=span.of(document.page_content),
        start=offset + span.start,
        end=offset + span.end,
        url=str(about.get("url", "")),
        verified=verified,
        sentence=shorten(sentence, 400),
        origin="web" if about.get("origin") == "web" else "files",
    )
