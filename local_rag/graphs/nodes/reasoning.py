"""A question in several steps (IRCoT, arXiv 2212.10509, as Adaptive-RAG uses it for its class C, arXiv 2403.14403).

Retrieve, write one sentence of reasoning, retrieve with that sentence, and so on; then one answer over all that was
collected. It ends when the answer is there, when nothing new comes, or when steps, passages or time are used up.
"""

from __future__ import annotations

from local_rag.core.events import Retrieved
from local_rag.graphs import rules
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.node import Emit, counted, node
from local_rag.graphs.nodes.retrieval import named_documents, search
from local_rag.graphs.state import State, standalone_of
from local_rag.text.display import plural
from local_rag.text.metadata import chunk_id
from local_rag.text.words import query_key


@node(lambda state, deps: "retrieving for the next step" if state.get("thoughts") else "retrieving", rules.more_found)
def retrieve_step(state: State, deps: Deps, emit: Emit) -> State:
    """The best new passages for the last thought, at most `per_step` of them and `collected` in all."""
    have = state.get("documents", []) if state.get("tried") else []
    query = state.get("query") or standalone_of(state)
    k = min(deps.adaptive.per_step, deps.adaptive.collected - len(have))
    known = [chunk_id(passage) for passage in have]
    new = search(deps, query, k, known) if k > 0 else []
    emit(Retrieved(query, tuple(new)))
    return {
        "query": query,
        "tried": [*state.get("tried", ()), query],
        "documents": [*have, *new],
        "nearest": [*state.get("nearest", ()), *new],
        "decisions": named_documents(new),
        "step": "new" if new else "nothing new",
        "why": f"{plural(len(new), 'new passage')}, {len(have) + len(new)} in all",
    }


@node(lambda state, deps: f"reasoning, step {len(state.get('thoughts', ())) + 1}", rules.more_steps)
def reason(state: State, deps: Deps, emit: Emit) -> State:
    """One more sentence towards the answer; it is the next query unless the engine names a better one."""
    question, documents, thoughts = standalone_of(state), state.get("documents", []), state.get("thoughts", [])
    thought = deps.engine.reason(question, documents, thoughts)
    query = (thought.query or thought.text).strip()
    full = len(documents) >= deps.adaptive.collected
    repeated = any(query_key(query) == query_key(earlier) for earlier in state.get("tried", ()))
    enough = thought.done or not query or full or repeated
    return {
        "thoughts": [*thoughts, thought.text] if thought.text else thoughts,
        "query": question if enough else query,
        "tries": counted(state, "steps"),
        "step": "enough" if enough else "go on",
        "usage": thought.usage,
        "why": thought.text,
    }
