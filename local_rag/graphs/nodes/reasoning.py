"""A question in several steps (IRCoT, arXiv 2212.10509, as Adaptive-RAG uses it for its class C, arXiv 2403.14403).

Retrieve, write one sentence of reasoning, retrieve with that sentence, and so on; then one answer over all that was
collected. It ends when the answer is there, when nothing new comes, or when steps, passages or time are used up.
"""

from __future__ import annotations

from local_rag.core.events import Retrieved
from local_rag.core.verdicts import Graded
from local_rag.graphs import edges
from local_rag.graphs.nodes.common import nearest
from local_rag.graphs.nodes.node import Emit, after, asked, counted, id_of, log, node, same_query, usage_of
from local_rag.graphs.state import Deps, State, Update
from local_rag.text.display import plural


@node(lambda state: "retrieving for the next step" if state.get("thoughts") else "retrieving")
def retrieve_step(state: State, deps: Deps, emit: Emit) -> Update:
    """The best new passages for the last thought, at most `per_step` of them and `collected` in all."""
    have = state.get("documents", []) if state.get("tried") else []
    query = state.get("query") or asked(state)
    room = min(deps.adaptive.per_step, deps.adaptive.collected - len(have))
    known = [id_of(document) for document in have]
    found = deps.index.search(query, room, within=deps.within, exclude=known) if room > 0 else []
    emit(Retrieved(query, tuple(found)))
    update: Update = {
        "query": query,
        "tried": [*state.get("tried", ()), query],
        "documents": [*have, *found],
        "nearest": nearest([*state.get("nearest", ()), *found]),
        "step": "new" if found else "nothing new",
        "generation": state.get("generation", ""),
    }
    label = edges.found_new(after(state, update, deps))
    why = f"{plural(len(found), 'new passage')}, {len(have) + len(found)} in all"
    return update | {"decisions": log(state, emit, Graded("retrieve_step", label, why))}


@node(lambda state: f"reasoning, step {len(state.get('thoughts', ())) + 1}")
def reason(state: State, deps: Deps, emit: Emit) -> Update:
    """One more sentence towards the answer; it is the next query unless the engine names a better one."""
    documents, thoughts = state.get("documents", []), state.get("thoughts", [])
    thought = deps.engine.reason(asked(state), documents, thoughts)
    query = (thought.query or thought.text).strip()
    full = len(documents) >= deps.adaptive.collected
    repeated = any(same_query(query) == same_query(earlier) for earlier in state.get("tried", ()))
    enough = thought.done or not query or full or repeated
    update: Update = {
        "thoughts": [*thoughts, thought.text] if thought.text else thoughts,
        "query": asked(state) if enough else query,
        "tries": counted(state, "steps"),
        "step": "enough" if enough else "go on",
        "usage": usage_of(state) + thought.usage,
        "generation": state.get("generation", ""),
    }
    label = edges.goes_on(after(state, update, deps))
    return update | {"decisions": log(state, emit, Graded("reason", label, thought.text))}
