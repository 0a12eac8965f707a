"""A chat as a file of Markdown, and how a citation names where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from local_rag.core.answer import Answer, Citation, Conflict, Position
from local_rag.runtime.kept import AnsweredTurn
from local_rag.runtime.trace_lines import trace_line, verdicts_line
from local_rag.text.answer_texts import ENGLISH, AnswerTexts, texts_in
from local_rag.text.display import local_time, plural, printable, shorten
from local_rag.text.markup import as_read, unmarked


def markdown(name: str, turns: Sequence[AnsweredTurn], *, verdicts: bool = False) -> str:
    """A page: questions, answers, numbered sources with file, page and quote. Nothing from files is markup in it.

    Below each answer stands the way to it in a line, with `verdicts` each of them in a list.
    """
    first, last = when(turns[0]), when(turns[-1])
    time = first if first == last else f"{first} to {last}"
    lines = [f"# {escaped(name)}", "", f"{plural(len(turns), 'question')}, {time}."]
    for turn in turns:
        lines += ["", *_section(turn.answer, verdicts)]
    return "\n".join(lines) + "\n"


def _section(answer: Answer, verdicts: bool) -> Iterator[str]:
    texts = texts_in(answer.language)
    yield f"## {escaped(answer.question)}"
    yield ""
    if answer.asked not in ("", answer.question):
        understood = texts.understood.format(question=answer.asked)
        yield f"*{escaped(understood[:1].upper() + understood[1:])}*"
        yield ""
    doubt = texts.lead(answer)
    if doubt:
        yield f"**{doubt}{f': {escaped(answer.reason)}' if answer.reason else ''}.**"
        yield ""
    if answer.status != "abstained":
        yield "\n\n".join(escaped(paragraph) for paragraph in unmarked(answer.text).splitlines() if paragraph.strip())
    for conflict in answer.conflicts:
        yield from ("", *_conflict(conflict, texts))
    if answer.citations:
        yield ""
        yield from (
            source_line(citation, texts) for citation in sorted(answer.citations, key=lambda citation: citation.number)
        )
    if line := verdicts_line(answer):
        yield from ("", f"*{escaped(line)}*")
    if verdicts and answer.decisions:
        yield ""
        yield from (f"- {escaped(trace_line(graded, str))}" for graded in answer.decisions)


def source_line(citation: Citation, texts: AnswerTexts = ENGLISH) -> str:
    """A citation as an item of a list: its number, where it stands, its quote."""
    doubt = "" if citation.verified else f" ({texts.not_verified})"
    where = location(citation, escaped, texts)
    document = f" ({escaped(line)})" if (line := document_line(citation)) else ""
    return f"- \\[{citation.number}\\] {where}{document}: “{escaped(as_read(citation.quote))}”{doubt}"


def _conflict(conflict: Conflict, texts: AnswerTexts) -> Iterator[str]:
    yield f"**{conflict_line(conflict, texts)}**"
    yield ""
    for position in conflict.positions:
        date = position_date(position, texts)
        yield f"- {f'{escaped(date)}: ' if date else ''}**{escaped(position.text)}**"
        yield from (f"  {source_line(citation, texts)}" for citation in position.citations)


def conflict_line(conflict: Conflict, texts: AnswerTexts = ENGLISH) -> str:
    """That files disagree, and the order of what they say where their days differ."""
    days = {local_time(position.date)[:10] for position in conflict.positions}
    return texts.positions if len(days) > 1 else texts.positions_of_a_day


def position_date(position: Position, texts: AnswerTexts = ENGLISH) -> str:
    """The day of a position, and whether that is only when its file was changed; empty where it is not known."""
    day = local_time(position.date)[:10]
    return texts.changed.format(date=day) if position.dated == "file" else day


def document_line(citation: Citation) -> str:
    """Title, author and date of the cited document in one line, where neither its heading nor its path says them."""
    date = local_time(citation.date)
    repeated = citation.heading.startswith(citation.title) or citation.source.endswith(citation.title)
    title = "" if repeated else citation.title
    return ", ".join(shorten(part, 100) for part in (title, citation.author, date) if part)


def location(citation: Citation, clean: Callable[[str], str], texts: AnswerTexts = ENGLISH) -> str:
    """The file or URL of a citation with its page, or else its heading, and the fallback corpus that it is of,
    or its index where several are asked as one.

    `clean` makes text from files harmless.
    """
    if citation.fallback_corpus:
        own = location(replace(citation, fallback_corpus=""), clean, texts)
        return f"{own} ({texts.from_fallback_corpus.format(name=clean(citation.fallback_corpus))})"
    if citation.index:
        own = location(replace(citation, index=""), clean, texts)
        return f"{own} ({texts.in_index.format(name=clean(citation.index))})"
    source = clean(citation.url or citation.source)
    if where := texts.where(citation):
        return f"{source}, {where}"
    return f"{source}, § {clean(citation.heading)}" if citation.heading else source


_MARKUP = re.compile(r"[\\`*_\[\]<>&#|~$@]|:(?=//)|(?<=www)\.|^[-+=]")
_NUMBER = re.compile(r"^(\d+)([.)])")


def escaped(text: str) -> str:
    """One line that Markdown shows as it is: whatever could be markup stands behind a backslash (CommonMark, 2.4).

    At its beginning there are further signs that would be: of a list, or of a heading above it. GitHub makes links of
    what looks like an address, so that is broken up, too.
    """
    return _NUMBER.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", " ".join(printable(text).split())))


def when(turn: AnsweredTurn) -> str:
    """The time of a turn for people, in UTC."""
    return f"{turn.at[:16].replace('T', ' ')} UTC"
