"""An answer as a list of blocks: what a person is shown of it, in order. Every renderer draws these and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from local_rag.core.answer import Answer, Citation, Conflict, Status
from local_rag.text.answer_language import texts_in
from local_rag.text.answer_texts import AnswerTexts
from local_rag.text.display import home_path, is_url, local_time, short_path, shorten
from local_rag.text.markup import as_read
from local_rag.text.nodes import Node, answer_tree
from local_rag.text.words import words

Label = Callable[[str], str]
"""Names a file for whoever reads."""

Tone = Literal["quiet", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class Source:
    """A quote as it is shown. `where` is its page or heading, `of` the index or the corpus that it is of.

    `about` has title, author and date of the document, where neither `label` nor `where` says them; `read` is the
    quote without markup; `how` says how it was found, `stands` that it stands word for word in the file, else "";
    `doubt` that it is not verified, no text of the file, or of a file that has changed, else "".
    """

    citation: Citation
    label: str
    where: str
    of: str
    about: str
    read: str
    how: str
    doubt: str
    stands: str = ""

    @property
    def place(self) -> str:
        """File, and page or heading: notes/plan.pdf, p. 4 (index mail)."""
        return ", ".join(filter(None, (self.label, self.where))) + (f" ({self.of})" if self.of else "")


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence of the program's own. `name` says which; that of a status has its reason, and a tone, and where the
    answer is doubtful what to do.
    """

    name: Literal["understood", "status", "removed", "lacks", "nothing_near", "about"]
    text: str
    reason: str = ""
    tone: Tone = "quiet"
    advice: str = ""
    kind: Literal["note"] = "note"

    @property
    def line(self) -> str:
        return ": ".join(filter(None, (self.text, self.reason)))


@dataclass(frozen=True, slots=True)
class Written:
    """A part of the text: a paragraph, a list, the rows of a table, or the sides of a comparison with their names."""

    kind: Literal["paragraph", "list", "rows", "sides"]
    nodes: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Side:
    """What files say that agree with each other, and since when."""

    text: str
    when: str
    sources: Sequence[Source]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Files that say different things."""

    title: str
    sides: Sequence[Side]
    kind: Literal["disagreement"] = "disagreement"


@dataclass(frozen=True, slots=True)
class Quotes:
    """The quotes of an answer, by their numbers."""

    sources: Sequence[Source]
    kind: Literal["quotes"] = "quotes"


@dataclass(frozen=True, slots=True)
class Nearest:
    """The passages that came closest where nothing answered."""

    title: str
    sources: Sequence[Source]
    kind: Literal["nearest"] = "nearest"


Block = Note | Written | Disagreement | Quotes | Nearest

_TONES: dict[Status, Tone] = {"grounded": "quiet", "ungrounded": "bad"}
_LISTS = ("ul", "ol")
ASKS = 3
"""Words from which a question asks for something: what an index is about is no reply to a greeting."""


def blocks(answer: Answer, label: Label = short_path) -> list[Block]:
    """Return the blocks of an answer; `label` names its files."""
    texts, silent = texts_in(answer.language), answer.status == "abstained"
    lines = texts.lines(answer)
    made: list[Block] = [Note("understood", lines["understood"])] if lines["understood"] else []
    tone = _TONES.get(answer.status, "warn")
    if answer.status == "grounded":
        made.append(Note("status", texts.grounds(answer), tone=tone))
    else:
        advice = texts.advice.get(answer.certainty, "") if answer.status == "partial" else ""
        made.append(Note("status", texts.lead(answer), answer.reason, tone, advice))
    if silent:
        sources = [source_of(citation, texts, label) for citation in answer.nearest]
        made += [Nearest(texts.nearest, sources)] if sources else []
        about = ("about",) if len(words(answer.question)) >= ASKS else ()
        return made + [Note(name, lines[name]) for name in ("nothing_near", *about) if lines[name]]
    made += _written(answer_tree(answer))
    made += [Note(name, lines[name], tone="warn") for name in ("removed", "lacks") if lines[name]]
    made += [_disagreement(conflict, texts, label) for conflict in answer.conflicts]
    quotes = [source_of(citation, texts, label) for citation in sorted(answer.citations, key=lambda each: each.number)]
    return made + ([Quotes(quotes)] if quotes else [])


def sources_of(answer: Answer, label: Label = short_path) -> list[Source]:
    """Everything that an answer cites, by its numbers; of an abstention what came nearest."""
    texts = texts_in(answer.language)
    return [source_of(citation, texts, label) for citation in answer.cited or answer.nearest]


def source_of(citation: Citation, texts: AnswerTexts, label: Label = short_path) -> Source:
    """Return a citation as it is shown."""
    of = [texts.in_index.format(name=home_path(citation.index))] if citation.index else []
    if citation.fallback_corpus:
        of.append(texts.from_fallback_corpus.format(name=home_path(citation.fallback_corpus)))
    elif citation.origin == "web" or citation.url:
        of.append(texts.web if citation.origin == "web" else texts.web_page)
    how, became = texts.how(citation), texts.became.get(citation.changed, "")
    doubt = how if not citation.verified or citation.located in ("property", "evaluator") else ""
    return Source(
        citation=citation,
        label=citation.url if is_url(citation.url) else label(citation.source),
        where=texts.where(citation) or (f"§ {citation.heading}" if citation.heading else ""),
        of=", ".join(of),
        about=_about(citation),
        read=as_read(citation.quote),
        how=", ".join(filter(None, (how, became))),
        doubt=", ".join(filter(None, (doubt, became))),
        stands=texts.stands if how == texts.located["exact"] and citation.origin == "files" and not became else "",
    )


def _about(citation: Citation) -> str:
    """Title, author and date of the cited document in one line, where neither its heading nor its path says them."""
    repeated = citation.heading.startswith(citation.title) or citation.source.endswith(citation.title)
    said = ("" if repeated else citation.title, citation.author, local_time(citation.date))
    return ", ".join(shorten(part, 100) for part in said if part)


def _disagreement(conflict: Conflict, texts: AnswerTexts, label: Label) -> Disagreement:
    """Return what each side says, the newest first if their days differ."""
    days = [local_time(position.date)[:10] for position in conflict.positions]
    sides = [
        Side(
            position.text,
            ", ".join(
                filter(None, (position.standing, texts.changed.format(date=day) if position.dated == "file" else day))
            ),
            [source_of(citation, texts, label) for citation in position.citations],
        )
        for day, position in zip(days, conflict.positions, strict=True)
    ]
    by_date = len({*days}) > 1 and not any(position.standing for position in conflict.positions)
    return Disagreement(texts.positions if by_date else texts.positions_of_a_day, sides)


def _written(nodes: Sequence[Node]) -> Iterator[Written]:
    """Yield the parts of a text: text outside of blocks is a paragraph, and lists below their names are sides."""
    for is_block, group in groupby(nodes, key=lambda node: node["t"] in BLOCKS):
        parts = [*group]
        if not is_block:
            yield Written("paragraph", [{"t": "p", "c": parts}])
            continue
        names = [at for at in range(len(parts) - 1) if _is_name(parts[at]) and parts[at + 1]["t"] in _LISTS]
        if len(names) > 1 and names[0] == 0 and 2 * len(names) == len(parts):
            yield Written("sides", parts)
            continue
        for part in parts:
            yield Written("rows" if part["t"] == "table" else "list" if part["t"] in _LISTS else "paragraph", [part])


BLOCKS = ("p", "ul", "ol", "quote", "h", "table", "pre")
"""The nodes that are no part of a line."""


def _is_name(node: Node) -> bool:
    return node["t"] == "p" and str(node["c"][-1].get("s", "")).endswith(":")
