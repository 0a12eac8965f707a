"""A graph of your own with local-rag as one of its nodes: it answers a mail from your files, or leaves it to a person.

python docs/examples/subgraph.py "When does the lease end?"   asks the default index
"""

import sys
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from local_rag import Answer, Rag


class Mail(TypedDict, total=False):
    """Keys that local-rag's graphs know have their names: what they read and write is shared."""

    sender: str
    question: str
    generation: str
    answer: Answer
    reply: str


def is_answered(mail: Mail) -> Literal["reply", "hand_over"]:
    return "reply" if mail["answer"].status == "grounded" else "hand_over"


def reply(mail: Mail) -> Mail:
    sources = ", ".join(sorted({citation.source for citation in mail["answer"].citations}))
    return {"reply": f"Dear {mail['sender']},\n\n{mail['generation']}\n\nFrom: {sources}"}


def hand_over(mail: Mail) -> Mail:
    return {"reply": f"Dear {mail['sender']},\n\nI will look into this: {mail['question']}"}


def mails_of(rag: Rag) -> CompiledStateGraph[Mail]:
    graph = StateGraph(Mail)
    graph.add_node("files", rag.graph("self-rag"))
    graph.add_node(reply)
    graph.add_node(hand_over)
    graph.add_edge(START, "files")
    graph.add_conditional_edges("files", is_answered)
    graph.add_edge("reply", END)
    graph.add_edge("hand_over", END)
    return graph.compile()


if __name__ == "__main__":
    with Rag.open() as rag:
        print(mails_of(rag).invoke({"sender": "Ann", "question": sys.argv[1]})["reply"])
