"""Does a passage say what a sentence says? Decided by comparing words; where in doubt, no.

It does where it has the sentence word for word, or most of its words in a few neighbouring sentences with the same
numbers, names and denials. One check for citations and for the extractive grading of answers.
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

NEAR = 0.8
"""A quote is near its sentence when it holds more than this share of the sentence's content words (stemmed).

One foreign word in five is too many: "the board rejected the plan" and "the board approved the plan" share two of
three. Numbers are compared by value and count for nothing here.
"""
PART = 0.6
"""The same for a sentence that is supported in part."""
ABOUT = 0.75
"""Share of what a sentence repeats of its question that the passage with its header must hold to be about it."""
FEW_PARTS = 3
"""Parts from which a sentence is a list, whose items may stand apart from each other."""
TURNED = 0.9
"""The same for a quote that says another thing of nearly the same words."""
PART_WORDS = 8
"""Words from which a verbatim part of a sentence may stand for itself."""
QUOTE_SENTENCES = 3
"""The longest quote, in sentences of the passage, that is put beside a sentence which is no verbatim copy."""

Judge = Callable[[str, Sequence[str]], bool]
"""Whether one of the passages supports all of a sentence, as an evaluator says."""

_LEAD = re.compile(rf"(?:[\s\"'“”„«»‘’(\[*_#>|]|{BULLET}(?=\s))*")
_TRAIL = " \t\n.!…。！\"'“”’»)]*_:;,|"
_MONTHS = {fold(name) for names in MONTHS for name in names}
_PARTS = re.compile(r",? and |[,;:] ")
_FULL_NAME = re.compile(r"\W*[A-Z][\w'’-]+ (?:[A-Z]\. )?[A-Z][\w'’-]+")
_CONTRAST = re.compile(r"(?:\bbut|\band|,) not\b|\brather than\b|\binstead of\b|\bsondern\b", re.IGNORECASE)
_NAMES_A_LINE = re.compile(r"[*_]*:[*_]*\s| \| ")


class Evidence(NamedTuple):
    """The part of a passage to put beside a sentence, how far it supports it, and whether it is word for word.

    `turned`: some part says something else of nearly the same words. `restated`: it holds what the sentence adds to
    what was said.
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
    """Each of `marks.claims(generation)` with its support by the passages that it cites; by all where it cites none.

    A sentence that is not verbatim is supported in full only if the `judge` says so, too: an evaluator recognises other
    words for the same; numbers and names are the code's to compare. `question` and `headers` of the passages: see
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
    """Where a passage says a sentence: word for word, else by the words that they share.

    What the question and the header of the passage say goes without saying: a quote carries a sentence if it holds what
    is new in it, as "Rent: £900" does with "The rent of the flat is £900.".
    Cached, because an answer is checked when it is written and again when it is handed over.
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
    """The quote that holds what a sentence, or an item of its list, adds to the question: the closest and shortest."""
    adding = [quote for quote in quotes if _adds(sentence, question, header, quote.span.of(passage), passage)]
    return max(adding, key=lambda quote: (quote.covered, -len(quote.span.of(passage))), default=None)


def _adds(sentence: str, question: str, header: str, quote: str, passage: str) -> bool:
    """Whether a quote holds all that a sentence adds to the question, and is about what the sentence names.

    A name of the sentence stands in the quote or the header; else in the passage, and neither does the quote begin with
    another name nor is the passage a list of such names.
    """
    quote, around = _plain(quote), f"{header}\n{passage}"
    near = f"{header}\n{quote}"
    units = {token for token in words(sentence) if token in UNITS}
    telling = _stems(sentence) - set(map(stem, units | lexicon.LINKING))
    new, known = telling - _stems(question), (telling & _stems(question)) - _last_verb(question)
    added = [wanted for wanted in quantities(sentence) if not _holds(question, wanted)]
    return (
        bool(new & _stems(quote) or (added and not new))
        and len(new & _stems(near)) >= NEAR * len(new)
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
    """The stem of the verb that ends a question with "do", for a passage says leave in other words: departs."""
    *_, before, last = ["", "", *words(question)]
    is_verb = before not in lexicon.BEFORE_NOUNS and not {"do", "does", "did"}.isdisjoint(words(question))
    return {stem(last)} if is_verb else set()


def _of_another(sentence: str, quote: str, passage: str) -> bool:
    """Whether a quote begins with another name than those of a sentence, or one of these begins a line of its own."""
    first = _FULL_NAME.match(quote)
    if first and set(words(first.group())).isdisjoint(words(sentence)):
        return True
    absent = [name for name in written_names(sentence) if fold(name) not in words(quote)]
    return any(re.search(rf"^\W*{re.escape(name)}\b[^\n:|]{{0,30}}[:|]", passage, re.MULTILINE) for name in absent)


def _same_names_in_order(sentence: str, quote: str) -> bool:
    """Whether the names that both hold once stand in the same order: who sold to whom."""
    orders = [[fold(name) for name in written_names(text) if fold(name) not in _MONTHS] for text in (sentence, quote)]
    once = {name for name in orders[0] if orders[0].count(name) == orders[1].count(name) == 1}
    first, second = ([name for name in order if name in once] for order in orders)
    return first == second


def _with_markup(copy: Span, passage: str) -> Span:
    """A copy with the markup at its ends, of which the other half may stand inside: of **FastAPI** is fast."""
    around = markup(passage)
    start = next((start for start, end in around if end == copy.start), copy.start)
    return Span(start, next((end for start, end in around if start == copy.end), copy.end))


class _Quote(NamedTuple):
    """Neighbouring sentences of a passage beside a sentence; `covered` is the share of its words that they hold."""

    span: Span
    covered: float
    support: Support


def _compared(sentence: str, passage: str, spans: Sequence[Span]) -> _Quote:
    parts = [_plain(span.of(passage)) for span in spans]
    covered = _covered(_stems(sentence), parts)
    support: Support = "no"
    if covered >= PART and _says_the_same(sentence, parts):
        support = "fully" if covered > NEAR else "partially"
    return _Quote(Span(spans[0].start, spans[-1].end), covered, support)


def _plain(text: str) -> str:
    return tidy(plain(without_marks(text)))


def _copies(sentence: str, passage: str) -> Iterator[Span]:
    """Where a passage reads like the sentence: the same but for white space, case, marks and hyphenation."""
    wanted = _letters(sentence)[0].strip()
    text, positions = _letters(passage)
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        yield Span(positions[start], positions[start + len(wanted) - 1] + 1)
        start = text.find(wanted, start + 1)


@lru_cache(maxsize=64)
def _letters(text: str) -> tuple[str, list[int]]:
    """A text tidied and in lower case, without marks, and the position in it of every letter that is left."""
    kept = [
        (letter, position)
        for character, position in tidied(text, [*(span for span, _ in marks(text)), *markup(text)])
        for letter in character.casefold()
    ]
    return "".join(letter for letter, _ in kept), [position for _, position in kept]


def _stands_alone(copy: Span, passage: str, spans: Sequence[Span]) -> bool:
    """Whether a part of a sentence says the same alone: nothing that denies or limits it, and no number, is cut off.

    So does what only names an item or a row: a cell of a table, and what stands before the colon of a line.
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
    """A span without bullets, quotes and brackets before it and without its full stop."""
    lead, end = _LEAD.match(text, *span), span.start + len(span.of(text).rstrip(_TRAIL))
    return Span(lead.end() if lead else span.start, end)


# --- what a sentence and neighbouring sentences of a passage say ----------------------------------------------------


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    """The content stems but for numbers, which are compared by value."""
    return frozenset(stem for stem in content_stems(text) if not is_number(stem))


def _covered(stems: frozenset[str], parts: Sequence[str]) -> float:
    return len(stems & frozenset().union(*map(_stems, parts))) / len(stems) if stems else 0.0


def _says_the_same(sentence: str, parts: Sequence[str]) -> bool:
    """Whether neighbouring sentences have the numbers and names of a sentence, and turn none of its words."""
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
    """Whether each later sentence goes on about the one before, and each brings words that the others lack.

    "Alice earns 50. Bob earns 70." does not say what Alice earns twice over.
    """
    for part in parts[1:]:
        goes_on = (words(part) or [""])[0] in lexicon.BACK_REFERENCES
        if not goes_on and not (parts[0].endswith(":") and begins_item(part)):
            return False
    return len(parts) == 1 or all(
        (stems & _stems(part)).difference(*(_stems(other) for other in parts if other is not part)) for part in parts
    )


def denies(text: str) -> bool:
    """Whether a text denies something, outright or nearly."""
    return any(word in lexicon.NEGATIONS | lexicon.NEAR_NEGATIONS or word.endswith("n't") for word in words(text))


def _holds_numbers(quote: str, sentence: str) -> bool:
    """Whether a quote has every number of a sentence with its unit, which may be left out on one side but for %."""
    return all(_holds(quote, wanted) for wanted in quantities(sentence))


def _holds(quote: str, wanted: Quantity) -> bool:
    return any(
        not set(wanted.values).isdisjoint(held.values)
        and (wanted.unit == held.unit or (not (wanted.unit and held.unit) and "%" not in (wanted.unit, held.unit)))
        for held in quantities(quote)
    )


def _holds_names(quote: str, sentence: str) -> bool:
    """Whether a quote has every name of a sentence; one that is a common word too (US, May) in the same writing."""
    exact = {word.removesuffix("'s") for word in WORD.findall(quote)}
    folded = set(map(fold, exact))
    return all(
        name in exact if fold(name) in lexicon.STOP_WORDS else fold(name) in folded for name in written_names(sentence)
    )


def _same_order(sentence: str, quote: str) -> bool:
    """Whether what both texts hold once stands in the same order: names and numbers (who sold to whom), and all words
    where one thing is set against another.
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
    once = {name for name in orders[0] if orders[0].count(name) == orders[1].count(name) == 1}
    first, second = ([name for name in order if name in once] for order in orders)
    return first == second


def _turned(sentence: str, quote: str, core: str) -> bool:
    """Whether all, only, before, must, … stand in one of both; `core` is the quote's sentence that says most of it."""
    added = _turns(sentence) - _turns(quote)
    lost = _turns(core) - _turns(sentence) - lexicon.OMISSIBLE_TURNS
    return any(
        not lexicon.TURN_SYNONYMS.get(turn, frozenset()) & set(words(other))
        for turns, other in ((added, quote), (lost, sentence))
        for turn in turns
    )


def _turns(text: str) -> set[str]:
    """The words that turn a sentence, by meaning; those with a capital inside it are names (May)."""
    return {lexicon.TURNS[word] for word in WORD.findall(text[:1].lower() + text[1:]) if word in lexicon.TURNS}


def contrary(sentence: Sequence[str], quote: Sequence[str]) -> bool:
    """Whether the words of one text rise where the other falls, or are lawful where the other is unlawful."""
    stated, quoted = set(sentence) - set(quote), set(quote) - set(sentence)
    if any(denied(word) in quoted for word in stated) or any(denied(word) in stated for word in quoted):
        return True
    stems = set(map(stem, quoted))
    return any(stems & _OPPOSITES.get(stem(word), frozenset()) for word in stated)


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
    """What a word with a negative prefix denies, lawful of unlawful; in- only before adjectives: import is no port."""
    match = _PREFIXED.fullmatch(word)
    return (match["any"] or match["adjective"]) if match else ""
