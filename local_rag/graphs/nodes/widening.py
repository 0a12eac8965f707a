"""The node that gives relevant passages what stands around them."""

from __future__ import annotations

from local_rag.core.verdicts import Graded
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.node import Emit, node
from local_rag.graphs.rules import last_retrieved
from local_rag.graphs.state import State, Update, standalone_of
from local_rag.graphs.untraced import Graph
from local_rag.graphs.widening import widened
from local_rag.text.display import plural
from local_rag.text.parts import chunk_ids, parts


def widening(graph: Graph, following: str) -> str:
    """Passages are widened before the `following` node; the name of the node that does it."""
    graph.add_node(widen_documents)
    graph.add_edge("widen_documents", following)
    return "widen_documents"


@node("reading what stands around the passages")
def widen_documents(state: State, deps: Deps, emit: Emit) -> Update:
    """Widen the passages that were retrieved last and are relevant, as far as the engine has room for it."""
    documents, new = state.get("documents", []), last_retrieved(state)
    others = [document for document in documents if document not in new]
    first = documents.index(new[0]) if new else 0
    room = deps.engine.room(standalone_of(state), documents)
    known = [id_ for document in others for id_ in chunk_ids(document)]
    wide = widened(new, deps.index, room, deps.widen, known)
    held = sum(len(parts(document)) or 1 for document in wide)
    verdict = "widened" if held > len(new) or len(wide) < len(new) else "as retrieved"
    why = f"{plural(len(new), 'passage')} became {len(wide)} of {held} stored ones"
    return {
        "documents": [*others[:first], *wide, *others[first:]],
        "decisions": [Graded("widen_documents", verdict, why)],
    }
