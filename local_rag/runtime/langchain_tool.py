"""A LangChain tool over a Rag, for other people's agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool
from langsmith import tracing_context
from pydantic import BaseModel, Field

from local_rag.core.asynchronous import on_a_thread
from local_rag.core.errors import LocalRagError
from local_rag.runtime.export import conflict_line, document_line, location, position_date
from local_rag.text.display import printable, shorten

if TYPE_CHECKING:
    from local_rag.core.answer import Answer, Citation
    from local_rag.runtime.rag import Rag

TITLES = 8
"""Titles of the index in the tool's description, by which an agent decides whether to ask."""

LONGEST = 300
"""Characters of a quote, of the reason beside it, and of the place where it stands."""

MEANING = {
    "grounded": "grounded: the files say this",
    "partial": "partial: the files say this only in part",
    "ungrounded": "ungrounded: the files do not support this",
    "direct": "direct: no file was looked at, this is not from the files",
    "abstained": "abstained: the files do not say",
}


def tool_of(rag: Rag, name: str, graph: str | None) -> BaseTool:
    """A tool that asks this Rag; see `Rag.as_tool`."""

    def ask(question: str) -> str:
        try:
            return tool_text(rag.ask(question, graph=graph))
        except LocalRagError as error:
            return f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else "")

    async def aask(question: str) -> str:
        return await on_a_thread(lambda: ask(question))

    return _FilesTool.from_function(ask, aask, name=name, description=_description(rag), args_schema=_Input)


def tool_text(answer: Answer, label: Callable[[str], str] = str) -> str:
    """An answer as an agent reads it: text, status, and where it stands; `label` names files."""
    why = f" ({printable(answer.reason)})" if answer.reason else ""
    lines = [printable(answer.text), "", f"status: {MEANING[answer.status]}{why}"]
    if answer.citations:
        lines += ["sources:", *(f"[{citation.number}] {_source(citation, label)}" for citation in answer.citations)]
    for conflict in answer.conflicts:
        lines.append(conflict_line(conflict))
        for position in conflict.positions:
            date = position_date(position)
            quotes = (f"[{citation.number}] {_source(citation, label)}" for citation in position.citations)
            lines.append(f"- {f'{date}: ' if date else ''}{_one_line(position.text)}, {'; '.join(quotes)}")
    if answer.nearest:
        lines.append("nearest passages, which do not answer it:")
        for citation in answer.nearest:
            lines.append(f"- {_source(citation, label)}{f' ({_one_line(citation.why)})' if citation.why else ''}")
    if answer.about:
        lines.append(f"the files are about: {'; '.join(shorten(printable(title), 80) for title in answer.about)}")
    return "\n".join(lines)


class _Input(BaseModel):
    question: str = Field(description="A whole question that can be understood without the chat before it.")


class _FilesTool(StructuredTool):
    """LangSmith never sees its input and output by way of the tool itself, whatever the environment says.

    An agent that is traced by its own program still sends what it was told.
    """

    def run(self, *arguments: Any, **options: Any) -> Any:
        with tracing_context(enabled=False):
            return super().run(*arguments, **options)

    async def arun(self, *arguments: Any, **options: Any) -> Any:
        with tracing_context(enabled=False):
            return await super().arun(*arguments, **options)


def _description(rag: Rag) -> str:
    titles = "; ".join(shorten(printable(title), 80) for title in rag.index.catalog().titles[:TITLES])
    about = f" They are about: {titles}." if titles else ""
    return f"Answers a question from the person's own files, with file and quote, or says that they do not say.{about}"


def _source(citation: Citation, label: Callable[[str], str]) -> str:
    document = f" ({_one_line(line)})" if (line := document_line(citation)) else ""
    place = location(replace(citation, source=label(citation.source)), _one_line)
    return f'{place}{document}: "{_one_line(citation.quote)}"'


def _one_line(text: str) -> str:
    return shorten(printable(text), LONGEST)
