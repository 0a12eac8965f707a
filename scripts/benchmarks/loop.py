"""Build the Self-RAG loop of the LangGraph tutorials: ChatOllama, a JSON grader per passage, two checks, rewrites.

Their nodes, edges and fields (docs/design.md); the prompts are our own words. It ends with its last text after `TRIES`.
"""

from __future__ import annotations

import json
from typing import Any, TypedDict

from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_ollama import ChatOllama
from langgraph.graph import END, START, StateGraph

from local_rag.core.protocols import Corpus

TRIES = 3
"""Rewrites, and texts that the passages do not support, until it ends."""

RELEVANT = (
    'Is this document relevant to the question? Reply in JSON: {{"score": "yes"}} or {{"score": "no"}}.\n\n{0}\n\n{1}'
)
SUPPORTED = 'Do these facts support the answer? Reply in JSON: {{"score": "yes"}} or {{"score": "no"}}.\n\n{0}\n\n{1}'
USEFUL = 'Does the answer resolve the question? Reply in JSON: {{"score": "yes"}} or {{"score": "no"}}.\n\n{0}\n\n{1}'
WRITE = (
    "Answer the question from this context in at most three sentences. If you do not know the answer, say that you do"
    " not know.\n\nQuestion: {0}\n\nContext: {1}"
)
REWRITE = "Write a better version of this question for a search by vectors, and nothing else.\n\n{0}"


class Loop(TypedDict, total=False):
    question: str
    documents: list[str]
    generation: str
    tries: int


class Tutorial:
    """The loop over an index; `ask` returns its last text with the calls and the tokens that it cost."""

    def __init__(self, index: Corpus, model: str, k: int) -> None:
        self._index, self._k = index, k
        self._writer = ChatOllama(model=model, temperature=0)
        self._grader = ChatOllama(model=model, temperature=0, format="json")
        graph = StateGraph(Loop)
        graph.add_node("retrieve", self._retrieve)
        graph.add_node("grade_documents", self._grade_documents)
        graph.add_node("generate", self._generate)
        graph.add_node("transform_query", self._transform_query)
        graph.add_edge(START, "retrieve")
        graph.add_edge("retrieve", "grade_documents")
        graph.add_conditional_edges(
            "grade_documents", lambda state: "generate" if state["documents"] else self._again(state, "transform_query")
        )
        graph.add_conditional_edges("generate", self._graded)
        graph.add_edge("transform_query", "retrieve")
        self._graph = graph.compile()

    def ask(self, question: str) -> tuple[str, int, int]:
        counter = _Calls()
        end = self._graph.invoke({"question": question, "tries": 0}, {"callbacks": [counter], "recursion_limit": 60})
        tokens = sum(usage["total_tokens"] for usage in counter.usage_metadata.values())
        return end.get("generation", ""), counter.calls, tokens

    def _retrieve(self, state: Loop) -> Loop:
        return {"documents": [each.page_content for each in self._index.search(state["question"], self._k)]}

    def _grade_documents(self, state: Loop) -> Loop:
        return {"documents": [each for each in state["documents"] if self._yes(RELEVANT, each, state["question"])]}

    def _generate(self, state: Loop) -> Loop:
        prompt = WRITE.format(state["question"], "\n\n".join(state["documents"]))
        return {"generation": str(self._writer.invoke(prompt).content), "tries": state["tries"] + 1}

    def _transform_query(self, state: Loop) -> Loop:
        return {
            "question": str(self._writer.invoke(REWRITE.format(state["question"])).content),
            "tries": state["tries"] + 1,
        }

    def _graded(self, state: Loop) -> str:
        if not self._yes(SUPPORTED, "\n\n".join(state["documents"]), state["generation"]):
            return self._again(state, "generate")
        return (
            END if self._yes(USEFUL, state["question"], state["generation"]) else self._again(state, "transform_query")
        )

    def _again(self, state: Loop, node: str) -> str:
        return node if state["tries"] < 2 * TRIES else END

    def _yes(self, prompt: str, *given: str) -> bool:
        said: Any = json.loads(str(self._grader.invoke(prompt.format(*given)).content))
        return isinstance(said, dict) and str(said.get("score")).casefold() == "yes"


class _Calls(UsageMetadataCallbackHandler):
    """Count the calls of the model beside its tokens."""

    calls = 0

    def on_chat_model_start(self, *_: Any, **__: Any) -> None:
        self.calls += 1
