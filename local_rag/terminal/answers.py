"""Show answers in a terminal with citations and doubts, the passages of a search, chats, and what whole files say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from local_rag.core.answer import Answer, Citation
from local_rag.core.outline import OutlineLine
from local_rag.core.verdicts import Graded
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.export import when
from local_rag.runtime.trace_lines import verdicts_line
from local_rag.terminal.answer_text import drawn
from local_rag.terminal.console import PlainTable, link
from local_rag.text.answer_texts import ENGLISH
from local_rag.text.blocks import (
    Disagreement,
    Nearest,
    Note,
    Quotes,
    Source,
    Tone,
    Written,
    blocks,
    source_of,
    sources_of,
)
from local_rag.text.display import joined, short_path, shorten
from local_rag.text.markup import as_read

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.runtime.kept import AnsweredTurn, Thread

Quoted = set[tuple[int, str]]
"""The quotes of an answer by number and text."""

QUOTE_WIDTH = 160
"""The maximum characters of a quote after a citation; --json has the whole quote."""
TEXT_WIDTH = 300
"""The maximum characters of a verdict, such as a rewritten query, of its reason, of a draft and of a note."""

COLOURS = {
    "grounded": "green",
    "relevant": "green",
    "fully": "green",
    "partial": "yellow",
    "partially": "yellow",
    "direct": "yellow",
    "abstained": "yellow",
    "unparsed": "yellow",
    "ungrounded": "red",
    "no": "red",
    "irrelevant": "red",
    "failed": "red",
    "refused": "red",
}
"""The colour of each status of an answer, and of each verdict."""


def answer_parts(answer: Answer, label: PathLabel = short_path) -> Iterator[RenderableType]:
    """Yield the blocks of an answer, with an empty line before each block except notes of the program."""
    quoted = {(citation.number, citation.quote) for citation in answer.citations}
    begun = False
    for block in blocks(answer, label):
        parts = [*_PARTS[block.kind](block, quoted)]
        if begun and not isinstance(block, Note):
            yield ""
        yield from parts
        begun = begun or (bool(parts) and not (isinstance(block, Note) and block.name == "understood"))


def _note(note: Note, _: Quoted) -> Iterator[RenderableType]:
    if note.name == "status" and note.tone == "quiet":
        return
    if note.name == "status":
        yield Text.assemble((note.text, _STYLES[note.tone]), f": {note.reason}." if note.reason else ".")
    else:
        yield Text(note.line, "dim" if note.name == "understood" else _STYLES[note.tone])


def _written(part: Written, _: Quoted) -> Iterator[RenderableType]:
    yield from drawn(part.nodes)


def _sides(part: Written, _: Quoted) -> Iterator[RenderableType]:
    """Yield each side below its name, with an empty line between two sides."""
    for number, line in enumerate(drawn(part.nodes)):
        if number and number % 2 == 0:
            yield ""
        yield line


def _disagreement(block: Disagreement, quoted: Quoted) -> Iterator[RenderableType]:
    """Yield the answer, date and source of each side, with its quote unless the quotes below contain it."""
    yield Text(block.title, "yellow")
    table = PlainTable()
    for side in block.sides:
        said, when = Text(shorten(side.text, QUOTE_WIDTH), "bold"), side.when
        for source in side.sources:
            where = Text.assemble(f"[{source.citation.number}] ", location(source))
            if source.about:
                where.append(f" ({source.about})")
            if (source.citation.number, source.citation.quote) not in quoted:
                quote = Text(f'"{shorten(source.read, QUOTE_WIDTH)}"', "dim")
                quote.highlight_words([side.text], "bold")
                where = Text.assemble(where, ", ", quote)
            table.add_row("", when, said, where)
            said, when = Text(), ""
    yield table


def _quotes(block: Quotes, _: Quoted) -> Iterator[RenderableType]:
    """Yield a row per passage, with further quotes of the passage below it."""
    table, last = PlainTable(gap=1), None
    for source in block.sources:
        number = source.citation.number
        if number == last:
            table.add_row("", _quote(source))
        elif source.citation.located == "computed" and not source.doubt:  # the answer says the same
            table.add_row(f"[{number}]", location(source))
        else:
            table.add_row(f"[{number}]", Text.assemble(location(source), ", ", _quote(source)))
        last = number
    yield table


def _nearest(block: Nearest, _: Quoted) -> Iterator[RenderableType]:
    yield block.title
    table = PlainTable(gap=1)
    for source in block.sources:
        why = f" ({shorten(source.citation.why, QUOTE_WIDTH)})" if source.citation.why else ""
        table.add_row(" ", Text.assemble(location(source), ", ", _quote(source, doubts=False), (why, "dim")))
    yield table


_PARTS: Mapping[str, Callable[[Any, Quoted], Iterator[RenderableType]]] = {
    "note": _note,
    "paragraph": _written,
    "list": _written,
    "rows": _written,
    "sides": _sides,
    "disagreement": _disagreement,
    "quotes": _quotes,
    "nearest": _nearest,
}
_STYLES: Mapping[Tone, str] = {"quiet": "", "warn": "yellow", "bad": "red"}


def _quote(source: Source, *, doubts: bool = True) -> Text:
    text = Text(f'"{shorten(source.read, QUOTE_WIDTH)}"', "dim")
    if doubts and source.doubt:
        text.append(f" ({source.doubt})", "dim" if source.citation.verified else "yellow")
    return text


def sources_table(answer: Answer, label: PathLabel = short_path) -> PlainTable:
    """Return every citation of an answer and its conflicts: its source, how it was found, and the whole quote."""
    table = PlainTable(gap=1)
    for source in sources_of(answer, label):
        of = source.citation
        characters = f", characters {of.start:,} to {of.end:,}" if of.located != "property" else ""
        table.add_row(f"[{of.number}]", location(source) + Text(f"{characters} ({source.how})", "dim"))
        table.add_row("", f'"{source.read}"')
    return table


def threads_table(threads: Iterable[Thread], current: str = "") -> PlainTable:
    """Return a row per chat, with a star for the current one."""
    table = PlainTable("  thread", "turns", "last (UTC)", "began with", least=20)
    for thread in threads:
        marked = Text("* " + thread.name, "bold") if thread.name == current else f"  {thread.name}"
        table.add_row(marked, f"{thread.turns:,}", when(thread.at), shorten(thread.first, 60))
    return table


def turns_table(turns: Sequence[AnsweredTurn], label: PathLabel = short_path, *, verdicts: bool = False) -> PlainTable:
    """Return the questions and answers of a chat, with one line on the path to each or with every verdict."""
    table = PlainTable(gap=1)
    for number, turn in enumerate(turns, start=1):
        if number > 1:
            table.add_row("", "")
        table.add_row(f"{number}.", Text.assemble((turn.answer.question, "bold"), (f"  ({when(turn.at)} UTC)", "dim")))
        answer = turn.answer
        for part in answer_parts(answer, label):
            table.add_row("", part)
        if line := verdicts_line(answer):
            table.add_row("", Text(line, "dim"))
        if verdicts and answer.decisions:
            table.add_row("", verdicts_table(answer.decisions, label))
    return table


ALSO_IN = 5
"""The maximum number of other files with the same text to name."""


def passages_table(
    passages: list[Document], label: PathLabel = short_path, also_in: Mapping[str, Sequence[str]] | None = None
) -> PlainTable:
    """Return the passages of a search: source, scores, words that name the document, and beginning of the text.

    `also_in` maps `chunk_id` to the other files that contain the same text.
    """
    table = PlainTable(gap=1)
    for rank, passage in enumerate(passages, start=1):
        metadata = passage.metadata
        named = f", named by “{metadata['named']}”" if metadata.get("named") else ""
        scores = f"  (similarity {metadata['score']:.3f}, rank score {metadata['rank_score']:.4f}{named})"
        table.add_row(f"[{rank}]", location(source_of(citation_of(metadata), ENGLISH, label)) + Text(scores, "dim"))
        table.add_row("", shorten(as_read(passage.page_content), 300))
        if paths := (also_in or {}).get(metadata["chunk_id"]):
            others = [f"{len(paths) - ALSO_IN:,} more (--json)"] if len(paths) > ALSO_IN else []
            table.add_row("", Text(f"also in {joined([*map(label, paths[:ALSO_IN]), *others])}", "dim"))
    return table


def citation_of(metadata: Mapping[str, Any]) -> Citation:
    """Return a whole passage as a citation, without its text."""
    known = {name: metadata[name] for name in ("source", "page", "heading", "start", "end")}
    known |= {name: metadata.get(name) or "" for name in ("url", "fallback_corpus", "index")}
    return Citation(number=0, quote="", verified=True, **known)


def location(source: Source) -> Text:
    """Return file, page or heading, and one of several indexes: notes/plan.pdf, p. 4. A click opens the file."""
    rest = replace(source, where=shorten(source.where, 80)).place.removeprefix(source.label)
    return link(source.label, _address(source.citation)).append(rest)


def _address(citation: Citation) -> str:
    """Return what a click opens; for a fallback corpus the saved page, which needs no network."""
    if citation.url and not (citation.fallback_corpus and Path(citation.source).is_absolute()):
        return citation.url
    page = f"#page={citation.page}" if citation.page is not None else ""
    path = Path(citation.source)
    return (path.as_uri() if path.is_absolute() else str(path)) + page


def verdicts_table(decisions: Iterable[Graded], label: PathLabel) -> PlainTable:
    """Return a row per verdict: its kind; label, score, passage and reason."""
    table = PlainTable()
    for graded in decisions:
        table.add_row(Text(graded.kind, "dim"), verdict_text(graded, label))
    return table


def verdict_text(graded: Graded, label: PathLabel = short_path, where: str = "") -> Text:
    """Return label, score, passage and reason: relevant 0.83 notes/plan.pdf, p. 4 (it names the price)."""
    text = Text(shorten(graded.verdict, TEXT_WIDTH), COLOURS.get(graded.verdict, ""))
    if graded.kind == "usefulness" and graded.verdict.isdigit():
        text.append(" of 5")
    if graded.score is not None:
        text.append(f" {graded.score:.2f}")
    if graded.source:
        text.append(f"  {label(graded.source)}{where}")
    if graded.why:
        text.append(f" ({shorten(as_read(graded.why), TEXT_WIDTH)})", "dim")
    return text


# --- whole files


def outline_lines(lines: Sequence[OutlineLine]) -> Iterator[Text]:
    """Return the lines of an outline; the first says what the file is."""
    for line in lines:
        yield Text(line.text, "bold") if line.kind == "about" else Text(f"- {line.text}")


def answers_of_files(rows: Sequence[dict[str, str]]) -> Iterator[RenderableType]:
    """Yield the name of each file, and below it its answers, each with its place and a quote that says more."""
    several = len({row["question"] for row in rows}) > 1
    for file, of_file in groupby(rows, key=lambda row: row["file"]):
        yield Text(file, "bold")
        table = PlainTable()
        for row in of_file:
            asked = f"{row['question']} " * several
            said = Text.assemble((asked, "dim"), shorten(row["answer"], QUOTE_WIDTH))
            said.append(f" ({row['certainty']})" if row["certainty"] else "")
            quote = shorten(row["quote"], QUOTE_WIDTH) if row["quote"] != row["answer"] else ""
            if where := joined(filter(None, (row["place"], quote)), "·"):
                said.append(f"\n{where}", "dim")
            table.add_row("", said)
        yield table
