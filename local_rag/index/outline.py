"""The outline of a file, at most a screen, from what the index has stored of it: no model reads it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import PurePath
from typing import Literal

from local_rag.core.documents import MEMBER, PLACE, Heading
from local_rag.core.outline import OutlineLine, Place
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import StoredDocument
from local_rag.index.tables.table import opened
from local_rag.text.answer_texts import ENGLISH, AnswerTexts
from local_rag.text.answer_values import DATED
from local_rag.text.display import local_time, shorten
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.marks import without_bullet
from local_rag.text.markup import as_read
from local_rag.text.sentences import sentences
from local_rag.text.words import words

READ = 1_500
"""Code points of a text in which its first sentences are looked for."""
BEGINNING = 400
"""Code points in which a date with its year is that of a letter."""
LEAST_WORDS = 4
"""Words of a sentence that says something; an address has fewer."""
BEGINS, TABLES, STANDING_OUT = 2, 5, 6
"""The most sentences from the beginning of a file, tables, and names, dates and amounts of each kind."""
WITHOUT_HEADINGS = 5
"""The most sentences from the beginning of a file that has no headings, such as a letter."""
SECTIONS = 16
"""Sections with a line of their own; of more the headings alone are named."""
LEAST_NUMBERED = 3
"""Numbered lines that are headings where a file has none: fewer may be a list."""
SENTENCE, HEADING, HEADINGS = 150, 80, 500
"""Characters of a sentence, of a heading, and of those below one; five times as many where headings alone are named."""
SHORT = 6_000
"""Code points of a file of which a name stands out that occurs once."""

_NUMBERED = re.compile(
    r"^[ \t]*(?P<name>(?:(?i:article|section|clause|chapter|part|artikel|kapitel|abschnitt|teil|§)\s+)?"
    r"(?P<number>\d{1,2}(?:\.\d{1,2})*)[.):]?[ \t]+(?:[–—:-][ \t]*)?"
    r"[^\W\d_a-z][^\n.;?!|]{1,70}[^\n.,;?!:|\s\d])[ \t]*$",
    re.MULTILINE,
)
_KEY_LINE = re.compile(r"\s*:?[\w-]+(?: [\w-]+){0,2}:(?:\s|$)")
_MONEY, _NUMBER = r"(?:€|\$|£|¥|EUR|USD|GBP|CHF)", r"\d[\d,.']*(?<=\d)(?: (?:million|billion|thousand|Mio\.?))?"
_STANDING_OUT: Mapping[Literal["names", "dates", "amounts"], re.Pattern[str]] = {
    "names": re.compile(
        r"(?<![\w.@/-])[A-ZÄÖÜ][\w'’&-]*[a-zäöüß][\w'’-]*"
        r"(?:[ \t]+(?:(?:of|de|der|van|von|and|&)[ \t]+)?[A-ZÄÖÜ][\w'’-]+){1,3}(?![\w@])"
    ),
    "dates": DATED,
    "amounts": re.compile(
        rf"(?<![\w$€£]){_MONEY} ?{_NUMBER}"
        rf"|(?<![\w.,]){_NUMBER} ?(?:{_MONEY}(?!\w)|(?:euros?|dollars?|pounds?|francs?)\b)",
        re.I,
    ),
}
_FUNCTION_WORD = re.compile(rf"\A(?:{'|'.join(STOP_WORDS)})\s+(?=[^\W\d])", re.I)

Headings = Sequence[tuple[int, Heading]]
"""Headings, each with the number of its document."""


def outlined(store: Store, source: str, texts: AnswerTexts = ENGLISH) -> Iterator[OutlineLine]:
    """Return the lines of a file, or none if it has no text."""
    documents = store.documents(source)
    if not documents:
        return
    first, headings, name = documents[0], _headings(documents), PurePath(source.rpartition(MEMBER)[2]).name
    title, levels = as_read(first.title) or name, [heading.level for _, heading in headings]
    alone = len(levels) > 1 and levels[0] < min(levels[1:])
    if headings and (alone or words(as_read(headings[0][1].text)) == words(title)):
        title, headings = as_read(headings[0][1].text) if title == name else title, headings[1:]
    dates = (match.group() for match in DATED.finditer(first.text[:BEGINNING]))
    dated = first.date or next((date for date in dates if re.search(r"\d{4}", date)), "")
    count, of = len(documents), texts.of_pages
    if first.page is None:
        count, of = sum(len(document.text.split()) for document in documents), texts.of_words
    parts = (PurePath(name).suffix[1:].lower(), local_time(dated), first.author, texts.count(of, count))
    about = f"{shorten(title, SENTENCE)}: {', '.join(filter(None, parts))}"
    yield OutlineLine("about", about, (Place(0, first.page, 0, 1),))
    yield from _sections(documents, headings, title)
    yield from islice(_tables(documents, store.tables_of(source), texts), TABLES)
    yield from _standing_out(documents, {title, *(heading.text for _, heading in headings)}, texts)


def _headings(documents: Sequence[StoredDocument]) -> Headings:
    """Return the headings of a file; numbered lines where it has pages or no headings; else its documents' titles.

    Of numbered lines those count that rise from the last 1 on: before it stands a table of contents.
    """
    said = [(n, each) for n, document in enumerate(documents) for each in document.headings if each.level < PLACE]
    if len(said) > 1 and documents[0].page is None:
        return sorted(said, key=lambda pair: (pair[0], pair[1].start))
    numbered, last = list[tuple[int, Heading]](), [0]
    for n, document in enumerate(documents):
        for match in _NUMBERED.finditer(document.text):
            number = [*map(int, match["number"].split("."))]
            numbered, last = ([], [0]) if number == [1] else (numbered, last)
            if last < number and number[0] <= last[0] + 1:
                numbered, last = [*numbered, (n, Heading(match.start(), len(number), match["name"]))], number
    if len(numbered) >= LEAST_NUMBERED or said or len({document.title for document in documents}) == 1:
        return numbered if len(numbered) >= LEAST_NUMBERED else said
    return [(n, Heading(0, 1, document.title)) for n, document in enumerate(documents)]


def _sections(documents: Sequence[StoredDocument], headings: Headings, title: str) -> Iterator[OutlineLine]:
    """How a file begins, and its outermost headings, each with the first sentence in its section and the headings of
    the next level.
    """
    end = headings[0][1].start if headings and headings[0][0] == 0 else READ
    said = (said for said in _said(documents, 0, 0, end) if not _KEY_LINE.match(said[0]) and said[0] != title)
    for says, place in islice(said, BEGINS if headings else WITHOUT_HEADINGS):
        yield OutlineLine("begins", says, (place,))
    levels = sorted({heading.level for _, heading in headings})
    tops = [at for at, (_, heading) in enumerate(headings) if at == 0 or heading.level == levels[0]]
    names = [shorten(as_read(heading.text), HEADING) for _, heading in headings]
    places = [Place(n, documents[n].page, each.start, each.start + len(each.text)) for n, each in headings]
    if len(tops) > SECTIONS:
        named = "; ".join(_on_page(names[at], places[at].page) for at in tops)
        yield OutlineLine("section", shorten(named, 5 * HEADINGS), tuple(places[at] for at in tops))
        return
    for at, end in pairwise([*tops, len(headings)]):
        inner = [names[n] for n in range(at + 1, end) if headings[n][1].level == levels[1]]
        stop = next((each.start for n, each in headings[at + 1 : at + 2] if n == headings[at][0]), None)
        says, place = next(_said(documents, places[at].document, places[at].end, stop), ("", places[at]))
        text = ": ".join(filter(None, (_on_page(names[at], places[at].page), says)))
        text += f" ({shorten('; '.join(inner), HEADINGS)})" if inner else ""
        yield OutlineLine("section", text, (place,))


def _said(documents: Sequence[StoredDocument], number: int, start: int, end: int | None) -> Iterator[tuple[str, Place]]:
    """Return the first telling sentences between two points of a text, without markup."""
    text = documents[number].text[start : start + READ if end is None else min(start + READ, end)]
    for span in sentences(text):
        says = without_bullet(as_read(span.of(text)))
        if len(words(says)) >= LEAST_WORDS and says[-1] not in ":," and "|" not in says:
            place = Place(number, documents[number].page, start + span.start, start + span.end)
            yield shorten(says, SENTENCE), place


def _tables(
    documents: Sequence[StoredDocument], tables: Mapping[int, bytes], texts: AnswerTexts
) -> Iterator[OutlineLine]:
    for number, data in tables.items():
        with opened(data) as there:
            for table in there:
                columns = shorten(", ".join(each.name for each in table.columns), SENTENCE)
                rows, page = texts.count(texts.of_rows, table.rows), documents[number].page
                text = _on_page(f"{texts.stand_out['table']}, {shorten(table.place, HEADING)}: {columns}, {rows}", page)
                yield OutlineLine("table", text, (Place(number, page, table.start, table.end),))


def _standing_out(
    documents: Sequence[StoredDocument], known: Collection[str], texts: AnswerTexts
) -> Iterator[OutlineLine]:
    """Return the commonest names, dates and amounts, each with its first page, without `known` headings."""
    least = 1 + (sum(len(document.text) for document in documents) > SHORT)
    for kind, pattern in _STANDING_OUT.items():
        counts, places = Counter[str](), dict[str, Place]()
        for number, document in enumerate(documents):
            for match in pattern.finditer(document.text):
                text = " ".join(_FUNCTION_WORD.sub("", match.group(), count=1).split())
                counts[text] += 1
                places.setdefault(text, Place(number, document.page, *match.span()))
        often = (text for text, count in counts.most_common() if count >= least and (kind != "names" or " " in text))
        if most := [*islice((text for text in often if not any(text in each for each in known)), STANDING_OUT)]:
            said = "; ".join(_on_page(text, places[text].page) for text in most)
            yield OutlineLine(kind, f"{texts.stand_out[kind]}: {said}", tuple(places[text] for text in most))


def _on_page(text: str, page: int | None) -> str:
    return f"{text} (p. {page})" if page else text
