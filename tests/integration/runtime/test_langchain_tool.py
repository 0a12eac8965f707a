"""Test a Rag as a LangChain tool: what an agent reads, errors as text, several threads, and LangGraph's ToolNode."""

import asyncio

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from support.asking import opened
from support.fakes import ScriptedEngine


def tool(engine=None, **options):
    return opened(engine).as_tool(**options)


QUESTION = {"question": "What does the plan cost?"}


def test_an_agent_reads_the_answer_its_status_and_where_it_stands():
    asking = tool()
    assert asking.invoke(QUESTION) == (
        "status: grounded\n\n"
        "**Supported by your files.**\n\n"
        "It costs 100 euros [1].\n\n"
        "- [1] /notes/1.md: “Passage 1 says that the plan costs 100 euros.”"
    )
    assert asking.name == "ask_my_files"
    assert asking.args["question"]["type"] == "string"
    assert "They are about: Plan." in asking.description


def test_name_and_graph_can_be_chosen():
    engine = ScriptedEngine()
    asking = tool(engine, name="notes", graph="plain")
    asking.invoke(QUESTION)
    assert asking.name == "notes"
    assert not [call for call in engine.asked if call[0] == "grade"], "plain grades nothing"


def test_silence_of_the_files_is_said_and_no_error():
    said = tool(ScriptedEngine(relevant=["n"])).invoke(QUESTION)
    assert said.startswith(
        "status: abstained\n\n**I could not tell from your files: none of the 4 passages found answers the question.**"
    )
    assert "\n\n- [1] /notes/1.md: “Passage 1 says that the plan costs 100 euros.” (similarity 0.50)\n" in said
    assert said.endswith("The index is about: Plan.")


def test_errors_come_back_as_text():
    engine = ScriptedEngine()
    engine.broken = True
    assert tool(engine).invoke(QUESTION) == "error: the model fell over\nhint: ollama serve"


def test_langgraphs_tool_node_calls_it():
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([tool()]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    call = {"name": "ask_my_files", "args": QUESTION, "id": "1", "type": "tool_call"}
    state = asyncio.run(graph.compile().ainvoke({"messages": [AIMessage("", tool_calls=[call])]}))
    message = state["messages"][-1]
    assert (message.status, message.tool_call_id) == ("success", "1")
    assert "It costs 100 euros [1]." in message.content
