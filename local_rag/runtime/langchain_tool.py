"""Offer a Rag as a LangChain tool for agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool
from langsmith import tracing_context
from pydantic import BaseModel, Field

from local_rag.core.asynchronous import on_a_thread
from local_rag.core.errors import LocalRagError
from local_rag.text.answer_markdown import markdown
from local_rag.text.blocks import blocks
from local_rag.text.display import printable, shorten

if TYPE_CHECKING:
    from local_rag.core.answer import Answer
    from local_rag.runtime.rag import Rag

TITLES = 8
"""The number of the index's titles in the tool's description, from which an agent decides whether to ask."""


def tool_of(rag: Rag, name: str, graph: str | None) -> BaseTool:
    """Return a tool that asks this Rag; see `Rag.as_tool`."""

    def ask(question: str) -> str:
        try:
            return tool_text(rag.ask(question, graph=graph))
        except LocalRagError as error:
            return f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else "")

    async def aask(question: str) -> str:
        return await on_a_thread(lambda: ask(question))

    titles = "; ".join(shorten(printable(title), 80) for title in rag.corpus.catalog().titles[:TITLES])
    about = "Answers a question from the person's own files, with file and quote, or says that they do not say."
    about += f" They are about: {titles}." if titles else ""
    return _FilesTool.from_function(ask, aask, name=name, description=about, args_schema=_Input)


def tool_text(answer: Answer, label: Callable[[str], str] = str) -> str:
    """Return an answer as an agent reads it: status, text and sources; `label` names files."""
    return f"status: {answer.status}\n\n{markdown(blocks(answer, label), quiet=True)}"


class _Input(BaseModel):
    question: str = Field(description="A whole question that can be understood without the chat before it.")


class _FilesTool(StructuredTool):
    """Keep the tool's input and output out of LangSmith, whatever the environment says.

    An agent that its own program traces still sends what the tool told it.
    """

    def run(self, *arguments: Any, **options: Any) -> Any:
        with tracing_context(enabled=False):
            return super().run(*arguments, **options)

    async def arun(self, *arguments: Any, **options: Any) -> Any:
        with tracing_context(enabled=False):
            return await super().arun(*arguments, **options)
