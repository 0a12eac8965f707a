"""Run the programs in docs/examples, each on files that are indexed here."""

import ast
import asyncio
import json
from importlib import import_module
from inspect import iscoroutine
from pathlib import Path

import pytest
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from starlette.testclient import TestClient

from local_rag import Rag

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
LEASE = "When does the lease end?"
NOTES = "# Lease\n\nThe lease of the flat ends on 31 March 2027.\n\nThe notice period of the lease is three months.\n"


@pytest.fixture(autouse=True)
def rag(home, converted, monkeypatch):
    """Open the Rag of a person in a folder with notes, which are indexed."""
    (home / "notes").mkdir()
    (home / "notes" / "lease.md").write_text(NOTES)
    monkeypatch.chdir(home)
    monkeypatch.syspath_prepend(EXAMPLES)
    with Rag.from_files(["notes"], index="default") as rag:
        yield rag


class Scripted(FakeMessagesListChatModel):
    def bind_tools(self, tools, **_):
        return self


def test_the_agent_asks_the_files(rag):
    call = {"name": "ask_my_files", "args": {"question": LEASE}, "id": "1"}
    model = Scripted(responses=[AIMessage("", tool_calls=[call]), AIMessage("In March.")])
    _, _, told, last = import_module("agent").agent_of(model, rag).invoke({"messages": [("user", LEASE)]})["messages"]
    assert told.text.startswith("status: grounded\n") and last.text == "In March."
    assert "The lease of the flat ends on 31 March 2027. [1]" in told.text


def test_the_graph_replies_from_the_files_or_hands_over(rag):
    mails = import_module("subgraph").mails_of(rag)
    replies = [mails.invoke({"sender": "Ann", "question": each})["reply"] for each in (LEASE, "Who won the cup?")]
    assert "31 March 2027. [1]\n\nFrom: " in replies[0]
    assert replies[1] == "Dear Ann,\n\nI will look into this: Who won the cup?"


def test_the_route_answers():
    with TestClient(import_module("route").app) as client:
        answer, empty = (client.get("/answer", params={"question": each}) for each in (LEASE, " "))
    assert answer.json()["sources"][0]["quote"] == "The lease of the flat ends on 31 March 2027."
    assert (empty.status_code, "the question is empty" in empty.text) == (422, True)


def test_the_cells_of_the_notebook_run():
    """Run the cells as Jupyter does: one after the other in one loop, with `await` outside of functions."""
    cells = [c for c in json.loads((EXAMPLES / "notebook.ipynb").read_text())["cells"] if c["cell_type"] == "code"]
    names, shown = {}, []

    async def run():
        for cell in cells:
            code = compile("".join(cell["source"]), "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if iscoroutine(running := eval(code, names)):  # noqa: S307
                await running
            shown.append(str(names.get("answer")))

    asyncio.run(run())
    assert {"The lease of the flat ends on 31 March 2027. [1]", "The roof was repaired in spring. [1]"} <= {*shown}
    assert not any(cell["outputs"] for cell in cells)
