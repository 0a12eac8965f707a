"""An answer and its passages -> the answer with citations that code has checked.

A language model is free to put [1] behind anything. What a citation says here comes from the passage: the quote is cut
from it, page and heading are its own, and `verified` is decided by comparing words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from local_rag.core.answer import Citation, QuoteMatch, Status
from local_rag.text.answer_texts import ENGLISH, AnswerTexts, refusals
from local_rag.text.display import shorten
from local_rag.text.marks import Claim, Mark, begins_item, claims, marks, without_bullet, without_marks
from local_rag.text.parts import heading_at, properties
from local_rag.text.sentences import Span, sentences, stripped
from local_rag.text.support import evidence
from local_rag.text.words import content_stems, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

SAYS_SOMETHING = 5
"""Words from which a sentence of a near passage is worth showing; headings are shorter."""

BETWEEN = "\n\n"
"""What stands between the strips of a recomposed passage."""

NEAR = 0.2
"""Cosine below which a passage is not worth naming as near."""

NEAREST = 3
"""Passages that are named as near."""

_BETWEEN_MARKS = re.compile(r"\s*(?:(?:and|&|,|;|or)\s*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Checked:
    """The text with unknown numbers taken out, its citations in order, and what was wrong.

    `dropped` counts numbers that name no passage; `uncited` the sentences that no citation stands behind. `marks` are
    the marks of the text: what looks like one in code, x[0], is not among them.
    """

    text: str
    citations: tuple[Citation, ...]
    dropped: int
    uncited: int
    marks: tuple[Mark, ...] = ()

    @property
    def status(self) -> Status:
        """What the citations alone allow to say: grounded when every sentence has a verified one."""
        if not self.text or reads_as_refusal(self.text):
            return "abstained"
        verified = sum(citation.verified for citation in self.citations)
        if not verified:
            return "ungrounded"
        return "grounded" if verified == len(self.citations) and not self.uncited and not self.dropped else "partial"


def check(text: str, documents: Sequence[Document]) -> Checked:
    """Check every mark [n] of an answer against the n-th document.

    A citation is verified when the passage says the sentence word for word, in whole sentences of its own, or when
    every number and name of the sentence stands in the quote, in the same order, the two are close, and neither denies
    or turns what the other says: see `verification`. A property of the file carries a sentence in the same way.
    """
    known, dropped = _known_marks(text, documents, range(1, len(documents) + 1))
    text, placed = _written(text, known)
    citations: list[Citation] = []
    uncited = 0
    for sentence, numbers in _cited(text, placed, documents):
        uncited += not numbers and bool(words(sentence))
        citations += [_cite(sentence, number, documents[number - 1]) for number in numbers]
    return Checked(text, tuple(dict.fromkeys(citations)), dropped, uncited, placed)


def renumbered(checked: Checked) -> Checked:
    """The same with the numbers 1, 2, … in the order in which a reader meets them."""
    new = {number: position for position, number in enumerate(order(checked), start=1)}
    text, placed = _written(
        checked.text, [(span, tuple(new[number] for number in cited)) for span, cited in checked.marks]
    )
    citations = tuple(replace(citation, number=new[citation.number]) for citation in checked.citations)
    return replace(checked, text=text, citations=citations, marks=placed)


def order(checked: Checked) -> list[int]:
    """The numbers of its marks, each once, in the order in which a reader meets them."""
    return list(dict.fromkeys(number for _, cited in checked.marks for number in cited))


def without(text: str, new: Mapping[int, int]) -> str:
    """A text with its mark [n] as [new[n]]; a number that has no new one is left out."""
    kept = [(span, tuple(new[number] for number in cited if number in new)) for span, cited in marks(text)]
    return _written(text, kept)[0]


def remapped(text: str, numbers: Sequence[int], part: Sequence[Document]) -> tuple[str, int]:
    """An answer over a part of the passages, with its marks as they count in the whole: n becomes `numbers[n - 1]`.

    Numbers that name none of the part are left out, and counted.
    """
    known, dropped = _known_marks(text, part, numbers)
    return _written(text, known)[0], dropped


def _known_marks(text: str, documents: Sequence[Document], numbers: Sequence[int]) -> tuple[list[Mark], int]:
    """The marks of a text that are no code, n as `numbers[n - 1]`, and how many numbers name no document."""
    known: list[Mark] = []
    dropped = 0
    for span, cited in marks(text):
        if not _is_code(text, span, cited, documents):
            kept = tuple(numbers[n - 1] for n in cited if 1 <= n <= len(numbers))
            dropped += len(cited) - len(kept)
            known.append((span, kept))
    return known, dropped


def nearest(
    documents: Iterable[Document], question: str, whys: Mapping[str, str], texts: AnswerTexts = ENGLISH
) -> tuple[Citation, ...]:
    """The passages that came closest to a question that nothing answered, each with its best sentence.

    `whys` says by chunk id why a passage was not enough; where nobody said, its similarity does.
    """
    scores = [(float(document.metadata.get("score", 0.0)), document) for document in documents]
    near = [(score, document) for score, document in scores if score >= NEAR][:NEAREST]
    return tuple(
        replace(
            _citation(number, document, _best_sentence(question, document.page_content), verified=False, sentence=""),
            why=whys.get(str(document.metadata.get("chunk_id", "")), texts.similarity.format(score=score)),
        )
        for number, (score, document) in enumerate(near, start=1)
    )


def quotation(number: int, document: Document, span: Span) -> Citation:
    """A part of a passage, code points of its text, as a citation of the number: it is word for word what it quotes."""
    offset = 0
    for strip in _strips(document):
        if span.end <= offset + len(strip.page_content):
            inside = Span(max(0, span.start - offset), span.end - offset)
            citation = _citation(number, strip, inside, verified=True, sentence=inside.of(strip.page_content))
            return replace(citation, located="exact")
        offset += len(strip.page_content) + len(BETWEEN)
    return _citation(number, document, span, verified=False, sentence="")


def reads_as_refusal(text: str) -> bool:
    """Whether a model means the fixed reply for "your files do not say"; `is_refusal` is what this program writes.

    In any language that a model may write it in, with or without marks, quotation marks and full stop; models like to
    add "to the question".
    """
    plain = _plain(text)
    return any(
        plain.startswith(fixed := _plain(refusal)) and plain.removeprefix(fixed).strip() in ("", *endings)
        for refusal, endings in refusals()
    )


def _plain(reply: str) -> str:
    return " ".join(without_marks(reply).split()).strip("-*•|\"'“”„«». ").casefold()


def _written(text: str, known: Sequence[Mark]) -> tuple[str, tuple[Mark, ...]]:
    """A text with its marks written anew as [1, 2], those without numbers left out, and where they stand then."""
    written, end = "", 0
    placed: list[Mark] = []
    for span, cited in known:
        written += text[end : span.start]
        if cited:
            old = span.of(text)
            mark = f"{old[: len(old) - len(old.lstrip())]}[{', '.join(map(str, cited))}]"
            placed.append((Span(len(written), len(written) + len(mark)), cited))
            written += mark
        end = span.end
    written += text[end:]
    blanks = len(written) - len(written.lstrip())
    moved = (Span(max(0, span.start - blanks), span.end - blanks) for span, _ in placed)
    return written.strip(), tuple(zip(moved, (cited for _, cited in placed), strict=True))


def _is_code(text: str, span: Span, cited: Sequence[int], documents: Sequence[Document]) -> bool:
    """Whether what looks like a mark is an index, x[0], that a passage has too; "costs 9 euros[1]." is none."""
    before = re.search(r"[\w.)\]]+$", text[: span.start])
    if span.of(text)[0] != "[" or not before:
        return False
    known = any(before.group() + span.of(text) in document.page_content for document in documents)
    goes_on = re.match(r"[ \t]*[\w(=+*/<>.`-]", text[span.end :]) and not re.match(r"[.](?:\s|$)", text[span.end :])
    return known and (bool(goes_on) or not all(1 <= number <= len(documents) for number in cited))


def _cited(text: str, placed: Sequence[Mark], documents: Sequence[Document]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The claims of an answer without marks, with their numbers; of a sentence with several marks its clauses.

    A claim without a mark is cited with those of the answer whose passages say it word for word.
    """
    everywhere = dict.fromkeys(number for _, cited in placed for number in cited)
    for claim in claims(text, placed):
        if claim.numbers:
            yield from _clauses(text, claim, placed)
        else:
            yield claim.text, tuple(n for n in everywhere if _is_copied(claim.text, documents[n - 1]))


def _clauses(text: str, claim: Claim, placed: Sequence[Mark]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """A claim with its numbers; of a sentence with words between its marks what stands before each, and the rest."""
    inside = [mark for mark in placed if claim.span.start <= mark[0].start < claim.span.end]
    start, numbers = claim.span.start, dict[int, None]()
    for (span, cited), following in zip_longest(inside, inside[1:]):
        numbers |= dict.fromkeys(cited)
        between = text[span.end : following[0].start] if following else ""
        is_end = not _BETWEEN_MARKS.fullmatch(between) and words(without_marks(text[start : span.start]))
        if following and is_end and not claim.columns:
            yield without_marks(text[start : span.end]).strip(" \n,;"), tuple(numbers)
            start, numbers = span.end, {}
    yield without_marks(text[start : claim.span.end]).strip(" \n,;"), tuple(numbers)


def _is_copied(text: str, document: Document) -> bool:
    return evidence(text, document.page_content).located == "exact"


def _cite(sentence: str, number: int, document: Document) -> Citation:
    """The best quote for a sentence in its passage; in one that was recomposed of strips, in one of these.

    The bullet or number of a list item is the answer's, unless the passage has it, too.
    """
    if begins_item(sentence) and not _is_copied(sentence, document):
        sentence = without_bullet(sentence)
    citations = []
    for strip in _strips(document):
        best = evidence(sentence, strip.page_content)
        citation = _citation(number, strip, best.span, verified=best.verified, sentence=sentence)
        citations.append(replace(citation, located=best.located))
    closest = max(citations, key=lambda citation: (citation.verified, _CLOSER.index(citation.located)))
    return closest if closest.verified else _of_property(sentence, number, document) or closest


_CLOSER: tuple[QuoteMatch, ...] = ("property", "words", "near", "exact")


def _of_property(sentence: str, number: int, document: Document) -> Citation | None:
    """The property of the file that says a sentence, "Author: Ada Quill"; None where none does."""
    for known in properties(document):
        if evidence(sentence, known.sentence).verified:
            citation = _citation(number, document, Span(0, 0), verified=True, sentence=sentence)
            return replace(citation, quote=known.quote, page=None, heading="", located="property")
    return None


def _strips(document: Document) -> list[Document]:
    """The parts of a passage that stand together in its file; see `graphs.strips.recomposed`."""
    pieces: Sequence[tuple[int, int]] | None = document.metadata.get("pieces")
    if not pieces:
        return [document]
    strips, offset = [], 0
    for start, end in pieces:
        text, metadata = document.page_content[offset : offset + end - start], document.metadata | {"start": start}
        strips.append(document.model_copy(update={"page_content": text, "metadata": metadata}))
        offset += end - start + len(BETWEEN)
    return strips


def _best_sentence(question: str, passage: str) -> Span:
    """The earliest sentence that holds most words of a question; headings are passed over where there is more."""
    spans = sentences(passage) or [stripped(passage, 0, len(passage))]
    spans = [span for span in spans if len(words(span.of(passage))) >= SAYS_SOMETHING] or spans
    wanted = set(content_stems(question))
    return max(spans, key=lambda span: len(wanted & set(content_stems(span.of(passage)))))


def _citation(number: int, document: Document, span: Span, *, verified: bool, sentence: str) -> Citation:
    metadata = document.metadata
    offset = int(metadata.get("start", 0))
    return Citation(
        number=number,
        source=str(metadata.get("source", "")),
        page=metadata.get("page"),
        heading=heading_at(document, offset + span.start, offset + span.end),
        quote=span.of(document.page_content),
        start=offset + span.start,
        end=offset + span.end,
        url=str(metadata.get("url", "")),
        verified=verified,
        sentence=shorten(sentence, 400),
        origin="web" if metadata.get("origin") == "web" else "files",
        fallback_corpus=str(metadata.get("fallback_corpus", "")),
        title=str(metadata.get("title") or ""),
        author=str(metadata.get("author") or ""),
        date=str(metadata.get("date") or ""),
        index=str(metadata.get("index", "")),
        chunk_id=str(metadata.get("of") or metadata.get("chunk_id", "")),  # a strip names the passage that it is of
    )
