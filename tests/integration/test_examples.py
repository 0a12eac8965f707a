"""The programs in docs/examples, each run on files that are indexed here."""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
from inspect import iscoroutine
from pathlib import Path

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from starlette.testclient import TestClient

from local_rag import Answer, Rag

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
LEASE = "When does the lease end?"
NOTES = "# Lease\n\nThe lease of the flat ends on 31 March 2027.\n\nThe notice period of the lease is three months.\n"


@pytest.fixture(autouse=True)
def notes(home, converted, monkeypatch):
    """Somebody in a folder with notes, which are indexed."""
    (home / "notes").mkdir()
    (home / "notes" / "lease.md").write_text(NOTES)
    monkeypatch.chdir(home)
    monkeypatch.syspath_prepend(EXAMPLES)
    Rag.from_files(["notes"], index="default").close()


class Asking(BaseChatModel):
    """Calls the tool with what a person said, and then repeats the first line that the tool returned."""

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        assert [tool.name for tool in tools] == ["ask_my_files"]
        return self

    def _generate(self, messages, *_, **__):
        last = messages[-1]
        call = {"name": "ask_my_files", "args": {"question": last.text}, "id": "1"}
        said = last.text.splitlines()[0] if isinstance(last, ToolMessage) else ""
        message = AIMessage(said, tool_calls=[] if said else [call])
        return ChatResult(generations=[ChatGeneration(message=message)])


def test_the_agent_asks_the_files():
    with Rag.open() as rag:
        agent = importlib.import_module("agent").agent_of(Asking(), rag)
        assert agent.invoke({"messages": [("user", LEASE)]})["messages"][-1].text.startswith("The lease of the flat")


def test_the_graph_replies_from_the_files_or_hands_over():
    with Rag.open() as rag:
        mails = importlib.import_module("subgraph").mails_of(rag)
        assert "31 March 2027. [1]\n\nFrom: " in mails.invoke({"sender": "Ann", "question": LEASE})["reply"]
        unknown = mails.invoke({"sender": "Ann", "question": "Who won the cup final in 1998?"})
        assert unknown["reply"] == "Dear Ann,\n\nI will look into this: Who won the cup final in 1998?"


def test_the_route_answers():
    with TestClient(importlib.import_module("route").app) as client:
        answer = client.get("/answer", params={"question": LEASE}).json()
        assert answer["sources"][0]["quote"] == "The lease of the flat ends on 31 March 2027."
        empty = client.get("/answer", params={"question": " "})
        assert (empty.status_code, "the question is empty" in empty.text) == (422, True)


def test_the_cells_of_the_notebook_run():
    """As Jupyter runs them: one after the other in one loop; the last expression of each is shown."""
    notebook = json.loads((EXAMPLES / "notebook.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)
    names, shown = {}, []

    async def run():
        for cell in cells:
            tree = ast.parse("".join(cell["source"]))
            if isinstance(tree.body[-1], ast.Expr):
                tree.body[-1] = ast.Assign([ast.Name("_", ast.Store())], tree.body[-1].value)
            code = compile(ast.fix_missing_locations(tree), "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if iscoroutine(running := eval(code, names)):  # noqa: S307
                await running
            shown.append(names.pop("_", None))

    asyncio.run(run())
    assert [answer.status for answer in shown if isinstance(answer, Answer)] == ["grounded", "grounded"]
    assert "<blockquote>" in shown[1]._repr_html_()
