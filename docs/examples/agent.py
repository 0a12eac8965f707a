"""An agent that asks your files: a chat model decides when, and LangGraph calls the tool.

python docs/examples/agent.py "When does the lease end?"   asks the default index, with a model of Ollama
"""

import sys
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from local_rag import Rag


def agent_of(model: BaseChatModel, rag: Rag) -> CompiledStateGraph[MessagesState]:
    tools = [rag.as_tool()]  # the answer as text, with its status, files and quotes
    deciding = model.bind_tools(tools)

    def decide(state: MessagesState) -> dict[str, Any]:
        return {"messages": [deciding.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", decide)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


if __name__ == "__main__":
    from langchain_ollama import ChatOllama

    with Rag.open() as rag:
        agent = agent_of(ChatOllama(model="qwen3:4b-instruct"), rag)
        print(agent.invoke({"messages": [("user", sys.argv[1])]})["messages"][-1].text)
