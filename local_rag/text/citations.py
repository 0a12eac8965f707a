"""Check the citations of an answer against its passages.

A language model is free to put [1] behind anything. A citation takes its content from the passage: the quote is cut
from it, page and heading are the passage's own, and `verified` is decided by comparing words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from local_rag.core.answer import Citation, QuoteMatch, Status
from local_rag.text.answer_language import ENDINGS, REFUSALS
from local_rag.text.answer_texts import ENGLISH, AnswerTexts
from local_rag.text.display import shorten
from local_rag.text.marks import Claim, Mark, claims, marks, without_bullet, without_marks
from local_rag.text.metadata import chunk_id, heading_at, is_computed, ocr_confidence, properties
from local_rag.text.names import head
from local_rag.text.sentences import Span, sentences, stripped
from local_rag.text.support import evidence
from local_rag.text.words import collapsed, content_stems, indentation, shared_stems, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

SAYS_SOMETHING = 5
"""The least number of words of a sentence of a near passage that is worth showing; headings have fewer."""

BETWEEN = "\n\n"
"""The text between the strips of a recomposed passage."""

LEAST_SIMILARITY = 0.2
"""The cosine below which a passage is too far away to be shown as near."""

NEAREST = 3
"""The most passages that are shown as near."""

CITED_SHARE = 0.5
"""The least share of what a sentence adds to its question, in words, in a passage cited although none says it."""

_LOOSE = re.compile(
    r"[ \t]*\((?:passages? )?(\d{1,2})\)(?=[.!?]?(?:\s|$))"
    r"|,?[ \t]*(?:(?:according to|as stated in|in|see) )?(?:the )?passages? (\d{1,2})(?=[.!?]?(?:\s*$|\n))",
    re.IGNORECASE,
)
"""Other forms in which models cite passages: "(2)", "in passage 3"."""

_THE_PASSAGE = (
    r"(?:the (?:given |provided )?(?:information|context)(?: (?:given|provided))? (?:in|by|from) )?"
    r"(?:the |these )?(?:given |provided |first |second |third |fourth )?passages?(?: from [^\s,]+)?"
)
_SOURCE_SAYS = re.compile(
    rf"(?:^|(?<=[.!?]\s))(?:(?:according to|as stated in|based on) {_THE_PASSAGE},? "
    rf"|{_THE_PASSAGE} (?:\w+ly )?(?:states?|says?|mentions?|indicates?) that )(\w)",
    re.IGNORECASE | re.MULTILINE,
)
_AS_STATED = re.compile(
    rf",? (?:as (?:stated|mentioned|described) in|according to) {_THE_PASSAGE}(?=[.!?])", re.IGNORECASE
)
"""Phrases at the end of a sentence, and in _SOURCE_SAYS at its start, that say only that it comes from the passages."""

_PASSAGES = r"(?:(?:provided|given) )?(?:passages?|excerpts?|texts?|context)"
_OWN_REFUSAL = re.compile(
    r"(?:(?:based on|according to) [^.,]*, )?(?:"
    r"(?:i(?:'| a)m sorry,? (?:but )?)?i (?:cannot|can't) (?:answer|find|provide|determine)\b|"
    rf"(?:the|this|these) {_PASSAGES} (?:(?:do|does|did) not|don't|doesn't) (?:\w+ly )?"
    r"(?:mention|contain|provide|specify|say|state|include|give|indicate|list|tell|answer)\b"
    r"|there is no (?:mention|information)\b"
    r"|no information (?:about|on|regarding) [^.]* (?:is|was) (?:provided|available|found)(?: in\b|[.,]|$)"
    r"|[^.]* (?:is|are|was|were) not (?:\w+ly )?(?:mentioned|contained|provided|specified|stated|included|given"
    rf"|indicated|listed|found) in (?:any of )?(?:the|this|these) {_PASSAGES}(?:[.,]|$))"
)
"""The beginning of a reply in which a model says of itself that the passages hold no answer, folded."""

_BETWEEN_MARKS = re.compile(r"\s*(?:(?:and|&|,|;|or)\s*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Checked:
    """Hold the text without unknown numbers, its citations in order, and the errors that were found.

    `uncited` counts sentences without a citation. `marks` are the marks of the text; code that looks like one, x[0], is
    not among them.
    """

    text: str
    citations: tuple[Citation, ...]
    uncited: int
    marks: tuple[Mark, ...] = ()

    @property
    def status(self) -> Status:
        """The status that the citations alone allow: grounded if every sentence has a verified citation."""
        if not self.text or reads_as_refusal(self.text):
            return "abstained"
        verified = sum(citation.verified for citation in self.citations)
        if not verified:
            return "ungrounded"
        return "grounded" if verified == len(self.citations) and not self.uncited else "partial"


def check(text: str, documents: Sequence[Document], question: str = "") -> Checked:
    """Check every mark [n] of an answer to a question against the n-th document.

    A citation is verified if the passage says the sentence word for word, in whole sentences of its own, or if every
    number and name of the sentence stands in the quote, in the same order, the two share most words, and neither denies
    or turns the statement of the other: see `support`. A property of the file supports a sentence in the same way.
    """
    text, placed = known_marks(text, documents)
    citations: list[Citation] = []
    uncited = 0
    for sentence, cited in _cited(text, placed, documents):
        uncited += not cited and bool(words(sentence))
        citations += [_cite(sentence, number, documents[number - 1], question) for number in cited]
    return Checked(text, tuple(dict.fromkeys(citations)), uncited, placed)


def confirmed(checked: Checked) -> Checked:
    """Verify the citations of an answer whose sentences the evaluator finds in the passages."""
    by_evaluator = (
        each if each.verified else replace(each, verified=True, located="evaluator") for each in checked.citations
    )
    return replace(checked, citations=tuple(by_evaluator))


def renumbered(checked: Checked) -> Checked:
    """Renumber the marks and citations 1, 2, … in the order in which a reader meets them."""
    new = {number: position for position, number in enumerate(order(checked), start=1)}
    text, placed = _written(checked.text, checked.marks, new)
    citations = tuple(replace(citation, number=new[citation.number]) for citation in checked.citations)
    return replace(checked, text=text, citations=citations, marks=placed)


def order(checked: Checked) -> list[int]:
    """Return the numbers of the marks, each once, in the order in which a reader meets them."""
    return list(dict.fromkeys(number for _, cited in checked.marks for number in cited))


def remapped(text: str, new: Mapping[int, int], documents: Sequence[Document]) -> str:
    """Replace each mark [n] of an answer over these documents by [new[n]], and remove the other marks."""
    return _written(text, _marks(text, documents), new)[0]


def marked(text: str, documents: Sequence[Document], question: str = "") -> str:
    """Set the marks of a model's answer by code: behind each sentence the number of the passage that says it.

    The model's own marks, such as [1], (1) or "in passage 1", are hints: a hint stays where no passage says the
    sentence.
    """
    if check(text, documents, question).status == "grounded":
        return text
    text = _SOURCE_SAYS.sub(lambda match: match[1].upper(), _AS_STATED.sub("", text))
    text = _LOOSE.sub(lambda match: f" [{match[1] or match[2]}]", text)
    for claim in reversed(claims(text)):
        numbers = _saying(claim, documents, question)
        if tuple(numbers) != claim.numbers:
            said = without_marks(claim.span.of(text)).rstrip()
            cell = " |" * said.endswith("|")
            mark = f" [{', '.join(map(str, numbers))}]" if numbers else ""
            text = f"{text[: claim.span.start]}{said.removesuffix('|').rstrip()}{mark}{cell}{text[claim.span.end :]}"
    return text


def _saying(claim: Claim, documents: Sequence[Document], question: str) -> list[int]:
    """Return the numbers of the passages to cite for a sentence.

    If passages say it, these are the hinted ones among them, else the first, word-for-word matches first. If none does,
    they are the hinted ones, else the passage that holds most of its words, if it holds the share CITED_SHARE.
    """
    if claim.text.endswith(":"):
        return []
    cited = {
        number: _cite(claim.text, number, document, question) for number, document in enumerate(documents, start=1)
    }
    verified = [number for number, citation in cited.items() if citation.verified]
    if hinted := [number for number in claim.numbers if number in verified]:
        return hinted
    if verified:
        return [min(verified, key=lambda number: (cited[number].located != "exact", number))]
    if known := [number for number in claim.numbers if number in cited]:
        return known
    stems = set(content_stems(claim.text))
    wanted = stems - set(content_stems(question)) or stems
    held = {
        number: len(wanted & set(content_stems(f"{head(document)} {document.page_content}")))
        for number, document in enumerate(documents, 1)
    }
    best = max(held, key=lambda number: held[number], default=0)
    return [best] if best and held[best] >= CITED_SHARE * len(wanted) else []


def known_marks(text: str, documents: Sequence[Document]) -> tuple[str, tuple[Mark, ...]]:
    """Remove the numbers that name none of these documents; return the text and its marks."""
    return _written(text, _marks(text, documents), {number: number for number in range(1, len(documents) + 1)})


def nearest(
    documents: Iterable[Document], question: str, whys: Mapping[str, str], texts: AnswerTexts = ENGLISH
) -> tuple[Citation, ...]:
    """Return citations of the passages that came closest to an unanswered question, each with its best sentence.

    `whys` says by chunk id why a passage was not enough; otherwise its similarity is given as the reason.
    """
    scores = [(float(document.metadata.get("score", 0.0)), document) for document in documents]
    near = [(score, document) for score, document in scores if score >= LEAST_SIMILARITY][:NEAREST]
    citations: list[Citation] = []
    for number, (score, document) in enumerate(near, start=1):
        found = [(place, _best_sentence(question, place.text)) for place in _places(document)]
        place, span = max(found, key=lambda pair: shared_stems(question, pair[1].of(pair[0].text)))
        why = whys.get(chunk_id(document), texts.similarity.format(score=score))
        citation = _citation(number, document, place, span)
        citations.append(replace(citation, why=why))
    return tuple(citations)


def quotation(number: int, document: Document, span: Span) -> Citation:
    """Cite a span of a passage, in code points of its text, under a number; the quote is exact."""
    place = next(place for place in _places(document) if span.end <= place.offset + len(place.text))
    inside = Span(max(0, span.start - place.offset), span.end - place.offset)
    return _citation(number, document, place, inside, inside.of(place.text), located="exact", verified=True)


def reads_as_refusal(text: str) -> bool:
    """Return whether a model's reply says only that the passages do not hold the answer; `is_refusal` finds this
    program's own refusals.

    It is the fixed refusal in any language of REFUSALS, with or without marks, quotation marks and full stop, and with
    an ending that models like to add, such as "to the question"; or a first sentence of a model's own that says so.
    """
    plain = _plain(text)
    fixed = {f"{_plain(refusal)} {end}".strip() for refusal in REFUSALS for end in ("", *ENDINGS)}
    return plain in fixed or bool(_OWN_REFUSAL.match(plain))


def _plain(reply: str) -> str:
    return collapsed(without_marks(reply)).strip("-*•|\"'“”„«». ").casefold()


def _written(text: str, known: Iterable[Mark], new: Mapping[int, int]) -> tuple[str, tuple[Mark, ...]]:
    """Replace each mark [n] of a text by [new[n]], without numbers that have no new one; return text and marks."""
    written, end = "", 0
    placed: list[Mark] = []
    for span, cited in known:
        kept = tuple(new[number] for number in cited if number in new)
        written += text[end : span.start]
        if kept:
            old = span.of(text)
            mark = f"{old[: indentation(old)]}[{', '.join(map(str, kept))}]"
            placed.append((Span(len(written), len(written) + len(mark)), kept))
            written += mark
        end = span.end
    written += text[end:]
    blanks = indentation(written)
    moved = [(Span(max(0, span.start - blanks), span.end - blanks), cited) for span, cited in placed]
    return written.strip(), tuple(moved)


def _marks(text: str, documents: Sequence[Document]) -> list[Mark]:
    """Return the marks of a text that are not code."""
    return [mark for mark in marks(text) if not _is_code(text, *mark, documents)]


def _is_code(text: str, span: Span, cited: Sequence[int], documents: Sequence[Document]) -> bool:
    """Return whether an apparent mark is an index, x[0], that a passage also contains; the mark of "costs 9 euros[1]."
    is not.
    """
    before = re.search(r"[\w.)\]]+$", text[: span.start])
    if span.of(text)[0] != "[" or not before:
        return False
    known = any(before.group() + span.of(text) in document.page_content for document in documents)
    goes_on = re.match(r"[ \t]*(?:[\w(=+*/<>`-]|[.]\S)", text[span.end :])
    return known and (bool(goes_on) or not all(1 <= number <= len(documents) for number in cited))


def _cited(text: str, placed: Sequence[Mark], documents: Sequence[Document]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the claims of an answer without marks, each with its numbers; a sentence with several marks yields its
    clauses.

    A claim without a mark is cited with those numbers of the answer whose passages say it word for word. A line that
    names the subject of the next claim, "Harbour Lane:", is not a claim if its words stand in the name, title, heading
    or date of a cited file.
    """
    everywhere = dict.fromkeys(number for _, cited in placed for number in cited)
    every = claims(text, placed)
    for claim, following in zip_longest(every, every[1:]):
        if claim.numbers:
            yield from _clauses(text, claim, placed)
        elif not (following and claim.text.endswith(":") and _are_of(claim.text, following.numbers, documents)):
            said = without_bullet(claim.text)
            copied = (n for n in everywhere if evidence(said, documents[n - 1].page_content).exact)
            yield said, tuple(copied)


def _are_of(label: str, numbers: Iterable[int], documents: Sequence[Document]) -> bool:
    """Return whether the words of a label stand in the name, title, heading or date of one of these documents."""
    each = ([documents[number - 1].metadata.get(key) for key in _NAMED] for number in numbers)
    return any(set(words(label)) <= set(words(" ".join(map(str, named)))) for named in each)


_NAMED = ("source", "title", "heading", "date")


def _clauses(text: str, claim: Claim, placed: Sequence[Mark]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield a claim with its numbers; a sentence with words between its marks yields the text before each mark, and the
    rest.
    """
    inside = [mark for mark in placed if claim.span.start < mark[0].end <= claim.span.end]
    start, numbers = claim.span.start, dict[int, None]()
    for (span, cited), (following, _) in pairwise(inside):
        numbers |= dict.fromkeys(cited)
        between, before = text[span.end : following.start], without_marks(text[start : span.start])
        if words(before) and not _BETWEEN_MARKS.fullmatch(between) and not claim.columns:
            yield without_marks(text[start : span.end]).strip(" \n,;"), tuple(numbers)
            start, numbers = span.end, {}
    yield without_marks(text[start : claim.span.end]).strip(" \n,;"), tuple(numbers | dict.fromkeys(inside[-1][1]))


def _cite(sentence: str, number: int, document: Document, question: str) -> Citation:
    """Cite the best quote for a sentence in its passage; in a passage that was recomposed of strips, the best quote of
    one strip.
    """
    sentence = without_bullet(sentence)
    found = [(place, evidence(sentence, place.text, question, head(document))) for place in _places(document)]
    place, best = max(found, key=lambda pair: (pair[1].verified, pair[1].exact))
    stated = (each.quote for each in properties(document) if evidence(sentence, each.sentence).verified)
    if not best.verified and (quote := next(stated, "")):
        citation = _citation(number, document, place, Span(0, 0), sentence, located="property", verified=True)
        return replace(citation, quote=quote, page=None, heading="")
    if is_computed(document):  # one citation for all of its lines
        *_, whole = _places(document)
        return _citation(number, document, whole, Span(0, len(whole.text)), located="computed", verified=best.verified)
    located: QuoteMatch = "exact" if best.exact else "words"
    return _citation(number, document, place, best.span, sentence, located=located, verified=best.verified)


class _Place(NamedTuple):
    """Hold a continuous part of a passage: its start in the document, its offset in the passage, and its text."""

    start: int
    offset: int
    text: str


def _places(document: Document) -> Iterator[_Place]:
    """Yield the parts of a passage in order (see `graphs.strips.recomposed`); a computed passage yields each line, then
    the whole.
    """
    text, start, offset = document.page_content, int(document.metadata.get("start", 0)), 0
    if is_computed(document):
        yield from (_Place(start, 0, line) for line in [*text.split("\n"), text] if line)
        return
    for first, end in document.metadata.get("pieces") or [(start, start + len(text))]:
        yield _Place(first, offset, text[offset : offset + end - first])
        offset += end - first + len(BETWEEN)


def _best_sentence(question: str, passage: str) -> Span:
    """Return the earliest sentence that holds most words of a question; headings are skipped if there is another
    sentence.
    """
    spans = sentences(passage) or [stripped(passage, 0, len(passage))]
    spans = [span for span in spans if len(words(span.of(passage))) >= SAYS_SOMETHING] or spans
    return max(spans, key=lambda span: shared_stems(question, span.of(passage)))


def _citation(
    number: int,
    document: Document,
    place: _Place,
    span: Span,
    sentence: str = "",
    *,
    located: QuoteMatch = "words",
    verified: bool = False,
) -> Citation:
    metadata = document.metadata
    start, end = place.start + span.start, place.start + span.end
    if is_computed(document):
        start, end = metadata["start"], metadata["end"]
    return Citation(
        number=number,
        source=str(metadata.get("source", "")),
        page=metadata.get("page"),
        heading=heading_at(document, start, end),
        quote=span.of(place.text),
        start=start,
        end=end,
        url=str(metadata.get("url", "")),
        verified=verified,
        sentence=shorten(sentence, 400),
        origin="web" if metadata.get("origin") == "web" else "files",
        located=located,
        fallback_corpus=str(metadata.get("fallback_corpus", "")),
        title=str(metadata.get("title") or ""),
        author=str(metadata.get("author") or ""),
        date=str(metadata.get("date") or ""),
        index=str(metadata.get("index", "")),
        chunk_id=str(metadata.get("of") or metadata.get("chunk_id", "")),  # a strip names the passage that it is of
        ocr=ocr_confidence(document, start, end),
        rows=tuple((first, last) for first, last in metadata.get("rows", ())),
    )
