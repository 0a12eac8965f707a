"""Decide by comparing words whether a passage supports a sentence; in doubt, it does not.

A passage supports a sentence that it has word for word, or if a few neighbouring sentences hold most of its words with
the same numbers, names and denials. Citations and the extractive grading of answers share this check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

from local_rag.core.verdicts import Support
from local_rag.text import lexicon
from local_rag.text.lexicon import UNITS
from local_rag.text.marks import begins_item, claims, marks, without_bullet, without_marks
from local_rag.text.markup import markup, plain
from local_rag.text.names import MONTHS
from local_rag.text.numbers import TOKEN, Quantity, is_number, quantities, written_names
from local_rag.text.sentences import Span, sentences, stripped
from local_rag.text.words import BULLET, WORD, content_stems, fold, stem, tidied, tidy, words

IN_FULL = 0.8
"""The share of a sentence's content words (stemmed) that a quote must exceed to support it in full.

One foreign word in five is too many: "the board rejected the plan" and "the board approved the plan" share two of
three. Numbers are compared by value and do not count here.
"""
IN_PART = 0.6
"""The least share of a sentence's content words in a quote that supports it in part."""
ABOUT = 0.75
"""The least share of the words that a sentence repeats from its question which the passage and its header must hold."""
FEW_PARTS = 3
"""The least number of parts that make a sentence a list, whose items may stand apart from each other."""
TURNED = 0.9
"""The least share of a sentence's content words in a quote that has nearly the same words and another meaning."""
PART_WORDS = 8
"""The least number of words of a verbatim part of a sentence that is enough as a quote."""
QUOTE_SENTENCES = 3
"""The most sentences of a quote that is compared with a sentence which is no verbatim copy."""

Judge = Callable[[str, Sequence[str]], bool]
"""A function that returns whether one of the passages supports all of a sentence, by an evaluator."""

_LEAD = re.compile(rf"(?:[\s\"'“”„«»‘’(\[*_#>|]|{BULLET}(?=\s))*")
_TRAIL = " \t\n.!…。！\"'“”’»)]*_:;,|"
_MONTHS = {fold(name) for names in MONTHS for name in names}
_PARTS = re.compile(r",? and |[,;:] ")
_FULL_NAME = re.compile(r"\W*[A-Z][\w'’-]+ (?:[A-Z]\. )?[A-Z][\w'’-]+")
_CONTRAST = re.compile(r"(?:\bbut|\band|,) not\b|\brather than\b|\binstead of\b|\bsondern\b", re.IGNORECASE)
_NAMES_A_LINE = re.compile(r"[*_]*:[*_]*\s| \| ")


class Evidence(NamedTuple):
    """Hold the part of a passage to show beside a sentence, the degree of its support, and whether it is word for word.

    `turned`: some part has nearly the same words and another meaning. `restated`: the part holds everything that the
    sentence adds to the question.
    """

    span: Span
    support: Support
    exact: bool = False
    turned: bool = False
    restated: bool = False

    @property
    def verified(self) -> bool:
        return self.support == "fully"


def sentence_supports(
    generation: str, passages: Sequence[str], judge: Judge, question: str = "", headers: Sequence[str] = ()
) -> list[tuple[str, Support]]:
    """Grade each of `marks.claims(generation)` by the passages that it cites; by all passages if it cites none.

    A sentence that is not verbatim is supported in full only if the `judge` agrees: an evaluator recognises
    paraphrases; numbers and names are compared by code. For `question` and the `headers` of the passages see
    `evidence`.
    """
    supports: list[tuple[str, Support]] = []
    for claim in claims(generation):
        cited = [n - 1 for n in claim.numbers if 0 < n <= len(passages)] or range(len(passages))
        sentence, texts = without_bullet(claim.text), [without_marks(passages[n]) for n in cited]
        of = [headers[n] if headers else "" for n in cited]
        found = [evidence(sentence, text, question, header) for text, header in zip(texts, of, strict=True)]
        support: Support = max((each.support for each in found), key=_RANK.index, default="no")
        settled = any(each.exact or each.restated or (support == "no" and each.turned) for each in found)
        if not settled:
            telling = [text for text in texts if _holds_numbers(text, sentence) and _holds_names(text, sentence)]
            judged = bool(telling) and judge(sentence, telling)
            support = "fully" if judged else min(support, "partially", key=_RANK.index)
        supports.append((claim.text, support))
    return supports


_RANK: tuple[Support, ...] = ("no", "partially", "fully")


@lru_cache(maxsize=512)
def evidence(sentence: str, passage: str, question: str = "", header: str = "") -> Evidence:
    """Find the part of a passage that supports a sentence: word for word, else by the words that they share.

    A quote need not repeat the content of the question and of the passage's header: it supports a sentence if it holds
    the rest, as "Rent: £900" does for "The rent of the flat is £900.". The result is cached, because an answer is
    checked when it is written and again when it is returned.
    """
    spans = sentences(passage) or [stripped(passage, 0, len(passage))]
    inner = [_inner(passage, span) for span in spans]
    starts, ends = {span.start for span in inner}, {span.end for span in inner}
    for copy in _copies(sentence, passage) if words(sentence) else ():
        within = _inner(passage, copy)
        if (within.start in starts and within.end in ends) or _stands_alone(copy, passage, spans):
            return Evidence(_with_markup(copy, passage), "fully", exact=True)
    plain = _plain(_LEAD.sub("", sentence, count=1))
    sizes = product(range(1, QUOTE_SENTENCES + 1), range(len(spans)))
    quotes = [_compared(plain, passage, spans[first : first + size]) for size, first in sizes]
    best = max(quotes, key=lambda quote: (_RANK.index(quote.support), quote.covered))
    turned = any(quote.covered >= TURNED and quote.support == "no" for quote in quotes)
    if question and best.support != "fully":
        parts = [part for part in _PARTS.split(plain) if _stems(part) or quantities(part)]
        for wanted in [plain], parts * (len(parts) >= FEW_PARTS):
            found = [_adding(part, question, header, passage, quotes) for part in wanted]
            if found and all(found):
                whole = [quote.span for quote in found if quote]
                span = Span(min(each.start for each in whole), max(each.end for each in whole))
                return Evidence(span, "fully", restated=True)
    return Evidence(best.span, best.support, turned=turned)


def _adding(sentence: str, question: str, header: str, passage: str, quotes: Sequence[_Quote]) -> _Quote | None:
    """Return the closest and shortest quote that holds everything a sentence, or an item of its list, adds to the
    question, or None.
    """
    adding = [quote for quote in quotes if _adds(sentence, question, header, quote.span.of(passage), passage)]
    return max(adding, key=lambda quote: (quote.covered, -len(quote.span.of(passage))), default=None)


def _adds(sentence: str, question: str, header: str, quote: str, passage: str) -> bool:
    """Return whether a quote holds everything that a sentence adds to the question, and is about the things that the
    sentence names.

    A name of the sentence stands in the quote or the header. If it stands elsewhere in the passage, the quote must not
    begin with another name, and the passage must not be a list of such names.
    """
    quote, around = _plain(quote), f"{header}\n{passage}"
    near = f"{header}\n{quote}"
    units = {token for token in words(sentence) if token in UNITS}
    telling = _stems(sentence) - set(map(stem, units | lexicon.LINKING))
    new, known = telling - _stems(question), (telling & _stems(question)) - _last_verb(question)
    added = [wanted for wanted in quantities(sentence) if not _holds(question, wanted)]
    return (
        bool(new & _stems(quote) or (added and not new))
        and len(new & _stems(near)) >= IN_FULL * len(new)
        and len(known & _stems(around)) >= ABOUT * len(known)
        and all(_holds(quote, wanted) for wanted in added)
        and _holds_numbers(around, sentence)
        and (
            _holds_names(near, sentence)
            or (_holds_names(around, sentence) and not _of_another(sentence, quote, passage))
        )
        and denies(sentence) == denies(quote)
        and not contrary(words(sentence), words(quote))
        and not _turns(sentence) - _turns(quote) - _turns(question)
        and _same_names_in_order(sentence, quote)
    )


def _last_verb(question: str) -> set[str]:
    """Return the stem of the verb that ends a question with "do": a passage may say "departs" for "leave"."""
    *_, before, last = ["", "", *words(question)]
    is_verb = before not in lexicon.BEFORE_NOUNS and not {"do", "does", "did"}.isdisjoint(words(question))
    return {stem(last)} if is_verb else set()


def _of_another(sentence: str, quote: str, passage: str) -> bool:
    """Return whether a quote begins with a name that the sentence lacks, or a name of the sentence that the quote lacks
    begins a line of the passage.
    """
    first = _FULL_NAME.match(quote)
    if first and set(words(first.group())).isdisjoint(words(sentence)):
        return True
    absent = [name for name in written_names(sentence) if fold(name) not in words(quote)]
    return any(re.search(rf"^\W*{re.escape(name)}\b[^\n:|]{{0,30}}[:|]", passage, re.MULTILINE) for name in absent)


def _same_names_in_order(sentence: str, quote: str) -> bool:
    """Return whether the names that both texts hold once stand in the same order: who sold to whom."""
    return _in_one_order(
        *([fold(name) for name in written_names(text) if fold(name) not in _MONTHS] for text in (sentence, quote))
    )


def _in_one_order(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the words that both texts hold once stand in the same order."""
    once = {word for word in first if first.count(word) == second.count(word) == 1}
    return [word for word in first if word in once] == [word for word in second if word in once]


def _with_markup(copy: Span, passage: str) -> Span:
    """Extend a copy by the markup at its ends, whose other half may stand inside: of **FastAPI** is fast."""
    around = markup(passage)
    start = next((start for start, end in around if end == copy.start), copy.start)
    return Span(start, next((end for start, end in around if start == copy.end), copy.end))


class _Quote(NamedTuple):
    """Hold neighbouring sentences of a passage that are compared with a sentence; `covered` is the share of its words
    that they hold.
    """

    span: Span
    covered: float
    support: Support


def _compared(sentence: str, passage: str, spans: Sequence[Span]) -> _Quote:
    parts = [_plain(span.of(passage)) for span in spans]
    stems = _stems(sentence)
    covered = len(stems & frozenset().union(*map(_stems, parts))) / len(stems) if stems else 0.0
    support: Support = "no"
    if covered >= IN_PART and _says_the_same(sentence, parts):
        support = "fully" if covered > IN_FULL else "partially"
    return _Quote(Span(spans[0].start, spans[-1].end), covered, support)


def _plain(text: str) -> str:
    return tidy(plain(without_marks(text)))


def _copies(sentence: str, passage: str) -> Iterator[Span]:
    """Yield the spans where a passage equals the sentence but for white space, case, marks and hyphenation."""
    wanted = _letters(sentence)[0].strip()
    text, positions = _letters(passage)
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        yield Span(positions[start], positions[start + len(wanted) - 1] + 1)
        start = text.find(wanted, start + 1)


@lru_cache(maxsize=64)
def _letters(text: str) -> tuple[str, list[int]]:
    """Return a tidied text in lower case, without marks and markup, and the original position of every letter."""
    kept = [
        (letter, position)
        for character, position in tidied(text, [*(span for span, _ in marks(text)), *markup(text)])
        for letter in character.casefold()
    ]
    return "".join(letter for letter, _ in kept), [position for _, position in kept]


def _stands_alone(copy: Span, passage: str, spans: Sequence[Span]) -> bool:
    """Return whether a copied part of a passage keeps its meaning alone: no negation, condition or number is cut off.

    A label is enough as well: a cell of a table, or the text before the colon of a line.
    """
    before = _LEAD.sub("", passage[passage.rfind("\n", 0, copy.start) + 1 : copy.start], count=1)
    after = passage[copy.end :].partition("\n")[0]
    if (not before or before.endswith(" | ")) and (named := _NAMES_A_LINE.match(after)):
        value = " ".join(after.split()[:4])  # "The pump is covered: not the seals"
        return "|" in named.group() or not (denies(value) or lexicon.CONDITIONS & set(words(value)))
    around = [span for span in spans if span.end > copy.start and span.start < copy.end]
    if not around or len(words(copy.of(passage))) < PART_WORDS:
        return False
    before, after = passage[around[0].start : copy.start], passage[copy.end : around[-1].end]
    cut_off = f"{before} … {after}"
    if denies(cut_off) or lexicon.CONDITIONS & set(words(cut_off)):
        return False
    whole = bool(re.search(r"(?:^|[\s(\"“„])$", before) and re.match(r"[\s,;:.!?)\"”|]|$", after))
    return whole and _holds_numbers(passage[around[0].start : around[-1].end], copy.of(passage))


def _inner(text: str, span: Span) -> Span:
    """Return a span without bullets, quotes and brackets before it and without its full stop."""
    lead, end = _LEAD.match(text, *span), span.start + len(span.of(text).rstrip(_TRAIL))
    return Span(lead.end() if lead else span.start, end)


# --- what a sentence and neighbouring sentences of a passage say ----------------------------------------------------


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    """Return the content stems without numbers, which are compared by value."""
    return frozenset(stem for stem in content_stems(text) if not is_number(stem))


def _says_the_same(sentence: str, parts: Sequence[str]) -> bool:
    """Return whether neighbouring sentences have the numbers and names of a sentence, and turn none of its words."""
    quote = "\n".join(parts)
    core = max(parts, key=lambda part: len(_stems(sentence) & _stems(part)))
    return (
        _hang_together(parts, _stems(sentence))
        and (sentence.endswith("?") or not core.endswith("?"))
        and denies(sentence) == any(map(denies, parts))
        and _holds_numbers(quote, sentence)
        and _holds_names(quote, sentence)
        and _same_order(sentence, quote)
        and not _turned(sentence, quote, core)
        and not contrary(words(sentence), words(quote))
    )


def _hang_together(parts: Sequence[str], stems: frozenset[str]) -> bool:
    """Return whether each later sentence continues the one before, and each adds words that the others lack.

    "Alice earns 50. Bob earns 70." must not support "Alice earns 70.".
    """
    for part in parts[1:]:
        goes_on = (words(part) or [""])[0] in lexicon.BACK_REFERENCES
        if not goes_on and not (parts[0].endswith(":") and begins_item(part)):
            return False
    return len(parts) == 1 or all(
        (stems & _stems(part)).difference(*(_stems(other) for other in parts if other is not part)) for part in parts
    )


def denies(text: str) -> bool:
    """Return whether a text denies something, outright or nearly."""
    return any(word in lexicon.NEGATIONS | lexicon.NEAR_NEGATIONS or word.endswith("n't") for word in words(text))


def _holds_numbers(quote: str, sentence: str) -> bool:
    """Return whether a quote has every number of a sentence with its unit; a unit other than % may be missing on one
    side.
    """
    return all(_holds(quote, wanted) for wanted in quantities(sentence))


def _holds(quote: str, wanted: Quantity) -> bool:
    return any(
        not set(wanted.values).isdisjoint(held.values)
        and (wanted.unit == held.unit or (not (wanted.unit and held.unit) and "%" not in (wanted.unit, held.unit)))
        for held in quantities(quote)
    )


def _holds_names(quote: str, sentence: str) -> bool:
    """Return whether a quote has every name of a sentence; a name that is also a function word (US, May) must match
    exactly.
    """
    exact = {word.removesuffix("'s") for word in WORD.findall(quote)}
    folded = set(map(fold, exact))
    return all(
        name in exact if fold(name) in lexicon.STOP_WORDS else fold(name) in folded for name in written_names(sentence)
    )


def _same_order(sentence: str, quote: str) -> bool:
    """Return whether the names and numbers that both texts hold once stand in the same order (who sold to whom); in a
    contrast, so must all words but function words.
    """
    names = set(map(fold, written_names(sentence) + written_names(quote))) - lexicon.STOP_WORDS
    contrasts = bool(_CONTRAST.search(sentence))
    orders: list[list[str]] = []
    for text in (sentence, quote):
        kept = {quantity.position: quantity.values[0] for quantity in quantities(text)}
        for position, match in enumerate(TOKEN.finditer(text)):
            token = fold(match.group()).removesuffix("'s")
            if token in names or (contrasts and token not in lexicon.STOP_WORDS and not is_number(token)):
                kept[position] = stem(token)
        orders.append([kept[position] for position in sorted(kept)])
    return _in_one_order(*orders)


def _turned(sentence: str, quote: str, core: str) -> bool:
    """Return whether words such as all, only, before or must stand in one text alone; `core` is the quote's sentence
    that is closest to the sentence.
    """
    added = _turns(sentence) - _turns(quote)
    lost = _turns(core) - _turns(sentence) - lexicon.OMISSIBLE_TURNS
    return any(
        not lexicon.TURN_SYNONYMS.get(turn, frozenset()) & set(words(other))
        for turns, other in ((added, quote), (lost, sentence))
        for turn in turns
    )


def _turns(text: str) -> set[str]:
    """Return the words that turn a sentence, by meaning; capitalised ones inside it are names (May)."""
    return {lexicon.TURNS[word] for word in WORD.findall(text[:1].lower() + text[1:]) if word in lexicon.TURNS}


def contrary(sentence: Sequence[str], quote: Sequence[str]) -> bool:
    """Return whether two texts have opposite words: rise and fall, lawful and unlawful."""
    return bool(opposed(sentence, quote) or opposed(quote, sentence))


def opposed(sentence: Sequence[str], quote: Sequence[str]) -> list[str]:
    """Return the words of a text in whose place another one has their opposites."""
    said, shown = set(map(stem, sentence)), set(map(stem, quote))
    quoted = {word for word in quote if stem(word) not in said}
    stems, negated = set(map(stem, quoted)), set(map(denied, quoted))
    return [
        word
        for word in sorted(set(sentence))
        if stem(word) not in shown
        if denied(word) in quoted or word in negated or stems & _OPPOSITES.get(stem(word), frozenset())
    ]


_OPPOSITES = {
    word: other
    for line in lexicon.CONTRARIES.strip().splitlines()
    for families in [[frozenset(map(stem, family.split())) for family in line.split(":")]]
    for family, other in permutations(families)
    for word in family
}
_PREFIXED = re.compile(
    r"(?:un|dis|non)(?P<any>\w{4,})"
    r"|(?:in|im|il|ir)(?P<adjective>\w{2,}(?:[ai]ble|[ai]bly|al|ally|ar|ate|ect|ive|ous|ure|ity|ly|\w\w[ae]n(?:t|ce|cy)))"
)


def denied(word: str) -> str:
    """Return the word that a negative prefix negates, lawful of unlawful, or ""; in- counts only before adjectives:
    import does not negate port.
    """
    match = _PREFIXED.fullmatch(word)
    return (match["any"] or match["adjective"]) if match else ""
