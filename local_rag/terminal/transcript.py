"""A thread to read: its turns as answers, and as a page of Markdown that nothing in it can break."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from local_rag.core.answer import Answer, Citation
from local_rag.terminal.show import MARKED, answer_lines, table_lines
from local_rag.text.display import plural, printable, shorten

if TYPE_CHECKING:
    from local_rag.graphs.threads import Thread

FIRST = 60
"""Characters of a first question in a list."""

Turn = Mapping[str, Any]
"""What the memory of a graph keeps of a question; see `graphs.memory`."""

_CITATION = {one.name for one in fields(Citation)}


def answer_of(turn: Turn, thread: str = "") -> Answer:
    """A turn that was kept as the answer that it was, without what is not kept."""
    citations = ({name: value for name, value in source.items() if name in _CITATION} for source in turn["sources"])
    return Answer(
        question=turn["question"],
        text=turn["answer"],
        status=turn["status"],
        reason=turn.get("reason", ""),
        citations=tuple(Citation(**citation) for citation in citations),
        graph=turn.get("graph", ""),
        engine=turn.get("engine", ""),
        thread=thread,
        asked=turn.get("asked", ""),
    )


def thread_lines(threads: Iterable[Thread], current: str = "", width: int | None = None) -> list[str]:
    """A table of threads, the one that goes on marked; at most `width` columns, if need be without how each began."""
    rows = [
        [
            f"{'*' if one.name == current else ' '} {one.name}",
            f"{one.turns:,}",
            one.at[:16].replace("T", " "),
            printable(shorten(one.first, FIRST)),
        ]
        for one in threads
    ]
    head = ["  thread", "turns", "last (UTC)", "began with"]
    if width is not None and rows:
        room = width - max(map(len, table_lines(head[:3], [row[:3] for row in rows]))) - len("  ")
        if room < len(head[3]):
            return list(table_lines(head[:3], [row[:3] for row in rows]))
        rows = [[*row[:3], shorten(row[3], room)] for row in rows]
    return list(table_lines(head, rows))


def turn_lines(turns: Sequence[Turn], *, links: bool = False) -> Iterator[str]:
    """A thread in a terminal."""
    for number, turn in enumerate(turns, start=1):
        if number > 1:
            yield ""
        yield f"{number}. {printable(turn['question'])}  ({when(turn)})"
        yield from (f"   {line}" if line else "" for line in _flat(answer_lines(answer_of(turn), links=links)))


def markdown(name: str, turns: Sequence[Turn]) -> str:
    """A page: questions, answers, numbered sources with file, page and quote. Nothing from files is markup in it."""
    first, last = when(turns[0]), when(turns[-1])
    time = first if first == last else f"{first} to {last}"
    lines = [f"# {escaped(name)}", "", f"{plural(len(turns), 'question')}, {time}."]
    for turn in turns:
        lines += ["", *_section(answer_of(turn))]
    return "\n".join(lines) + "\n"


def _section(answer: Answer) -> Iterator[str]:
    yield f"## {escaped(answer.question)}"
    yield ""
    if answer.asked not in ("", answer.question):
        yield f"*Understood as: {escaped(answer.asked)}*"
        yield ""
    doubt = "Your files do not say" if answer.status == "abstained" else MARKED.get(answer.status, "")
    if doubt:
        yield f"**{doubt}{f': {escaped(answer.reason)}' if answer.reason else ''}.**"
        yield ""
    if answer.status != "abstained":
        yield "\n\n".join(escaped(paragraph) for paragraph in answer.text.splitlines() if paragraph.strip())
    if answer.citations:
        yield ""
        yield from (_source(citation) for citation in sorted(answer.citations, key=lambda one: one.number))


def _source(citation: Citation) -> str:
    page = f", p. {citation.page}" if citation.page is not None else ""
    heading = f", § {escaped(citation.heading)}" if citation.heading and not page else ""
    doubt = "" if citation.verified else " (not verified)"
    where = escaped(citation.url or citation.source)
    return f"- \\[{citation.number}\\] {where}{page}{heading}: “{escaped(citation.quote)}”{doubt}"


_MARKUP = re.compile(r"[\\`*_\[\]<>&#|~$@]|:(?=//)|(?<=www)\.|^[-+=]")
_NUMBER = re.compile(r"^(\d+)([.)])")


def escaped(text: str) -> str:
    """One line that Markdown shows as it is: whatever could be markup stands behind a backslash (CommonMark, 2.4).

    At its beginning there are further signs that would be: of a list, or of a heading above it. GitHub makes links of
    what looks like an address, so that is broken up, too.
    """
    return _NUMBER.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", " ".join(printable(text).split())))


def when(turn: Turn) -> str:
    """The time of a turn for people, in UTC."""
    return f"{str(turn.get('at', ''))[:16].replace('T', ' ')} UTC"


def _flat(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield from line.split("\n")
