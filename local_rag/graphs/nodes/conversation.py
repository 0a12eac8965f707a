"""The memory of a chat: a follow-up is made whole before a graph, and the turn is kept after it.

Only `turns` outlives a question: every other key is emptied when the next one begins.
"""

from __future__ import annotations

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from local_rag.core.errors import Stopped
from local_rag.core.events import Note
from local_rag.core.protocols import Turn
from local_rag.core.verdicts import Graded
from local_rag.graphs.answering import checked_answer, texts_of
from local_rag.graphs.deps import Deps, Options, deps_of
from local_rag.graphs.graph import Graph
from local_rag.graphs.nodes.node import Emit, Node, node
from local_rag.graphs.nodes.queries import REMEMBERED, kept_off_the_web
from local_rag.graphs.state import Result, State, standalone_of
from local_rag.text.answer_texts import ran_out_of_time


def graph_of(
    options: Options, *nodes: Node, state: type[State] = State, result: type[Result] = Result
) -> tuple[Graph, str, str]:
    """A graph with these nodes, no edge yet, and where a question begins and ends in it.

    That is at START and END, or with `options.memory` at the nodes that make a follow-up whole and keep the turn.
    """
    graph = Graph(state, result)
    start, end = START, END
    if options.memory:
        start, end = "standalone_question", "remember"
        graph.add_node(standalone_question)
        graph.add_node(remember)
        graph.add_edge(START, start)
        graph.add_edge(end, END)
    for added in nodes:
        graph.add_node(added)
    return graph, start, end


@node(lambda state, deps: "reading the question" if state.get("turns") or deps.turns else "starting", begins=True)
def standalone_question(state: State, deps: Deps, emit: Emit) -> State:
    """The question as it would be asked without the chat before it; the first one stays as it is.

    A thread that has asked an index which is kept from the web has no budget for it: no edge leads there.
    """
    question, turns = state["question"], state.get("turns") or list(map(dict, deps.turns))
    fresh: State = {"asked": question, "index": deps.folder, "turns": turns}
    if not turns:
        return fresh
    if deps.limit("web_searches") and (why := kept_off_the_web(turns, deps)):
        emit(Note(why))
        fresh["spent"] = ["web_searches"]
    history = [
        Turn(turn.get("asked") or turn.get("question", ""), turn.get("answer", "")) for turn in turns[-REMEMBERED:]
    ]
    rewrite = deps.engine.standalone(question, history)
    text = rewrite.text.strip() or question
    decisions = [Graded("standalone_question", text)] if text != question else []
    return {**fresh, "asked": text, "usage": rewrite.usage, "decisions": decisions}


def remember(state: State, runtime: Runtime[Deps]) -> State:
    """Keep the turn: what the next question of the chat needs to know of it.

    No bare `node`: the clock may run out right before it, and the answer that was found stands. A question that the
    clock ended, or a person, is not kept: the thread stays as it was.
    """
    deps = deps_of(runtime)
    if deps.cancel.stopped:
        raise Stopped("stopped")
    update: State = {"generation": state.get("generation", ""), "path": ["remember"]}
    if ran_out_of_time(state.get("reason", "")):
        return update
    texts = texts_of(state, deps)
    turn = {
        "question": state["question"],
        "asked": standalone_of(state),
        "answer": checked_answer(state, texts).text,
        "language": texts.code,
        "shown": state.get("shown", []),
        "indexes": list(deps.folders),
        "web_never": bool(deps.folder) and any(map(deps.kept_from_web, deps.folders)),
    }
    return {**update, "turns": [*state.get("turns", []), turn]}
