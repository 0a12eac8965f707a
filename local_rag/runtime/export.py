"""Export a chat as Markdown, and turn the messages of a chat program into turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from local_rag.core.protocols import Turn
from local_rag.runtime.kept import AnsweredTurn
from local_rag.runtime.trace_lines import trace_line, verdicts_line
from local_rag.text.answer_markdown import escaped, markdown
from local_rag.text.blocks import blocks
from local_rag.text.display import home_path, plural

SOURCES = "\n\n- ["
"""The beginning of the list of sources, which is removed when an answer comes back as a turn."""


def chat_markdown(name: str, turns: Sequence[AnsweredTurn], *, verdicts: bool = False, plain: bool = False) -> str:
    """Return a page with questions, answers, and numbered sources with file, page and quote.

    Text from files is escaped. Below each answer stands its path in a line; with `verdicts` a list of all verdicts too.
    A `plain` page has neither, and its file names begin at home.
    """
    label = home_path if plain else str
    first, last = when(turns[0].at), when(turns[-1].at)
    time = f"{first} UTC" if first == last else f"{first} UTC to {last} UTC"
    lines = [f"# {escaped(name)}", "", f"{plural(len(turns), 'question')}, {time}."]
    for turn in turns:
        answer = turn.answer
        lines += ["", f"## {escaped(answer.question)}", "", markdown(blocks(answer, label), escaped)]
        if not plain and (line := verdicts_line(answer)):
            lines += ["", f"*{escaped(line)}*"]
        if verdicts and answer.decisions:
            lines += ["", *(f"- {escaped(trace_line(graded, str))}" for graded in answer.decisions)]
    return "\n".join(lines) + "\n"


def when(moment: str) -> str:
    """Return a time (ISO 8601, UTC) in a form for people."""
    return moment[:16].replace("T", " ")


def turns_of(messages: Iterable[tuple[bool, str]]) -> list[Turn]:
    """Return questions with their answers, without the sources in the text of an answer.

    Each message is (whether a person wrote it, its text).
    """
    turns: list[Turn] = []
    for asks, text in messages:
        if asks:
            turns.append(Turn(text, ""))
        elif turns:
            turns[-1] = Turn(turns[-1].question, text.partition(SOURCES)[0])
    return turns
