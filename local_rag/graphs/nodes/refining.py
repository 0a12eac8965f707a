"""CRAG's knowledge refinement (arXiv 2401.15884, section 4.4): of each passage only the strips that help."""

from __future__ import annotations

from local_rag.core.verdicts import Graded
from local_rag.graphs import strips
from local_rag.graphs.nodes.node import Emit, asked, log, node, usage_of
from local_rag.graphs.state import Deps, State, Update
from local_rag.text.display import plural


@node(lambda state: "refining the passages")
def refine_documents(state: State, deps: Deps, emit: Emit) -> Update:
    """Cut the passages of the files into strips, grade them in one call, keep the best in their order.

    Where it is off, and for pages of the web, which were selected strip by strip already, documents go through as they
    are. Where no strip is good enough they do, too: the grader found them relevant as a whole.
    """
    documents = state.get("documents", [])
    files = [one for one in documents if one.metadata.get("origin") != "web"]
    if not deps.crag.refine or not files:
        return {"documents": documents}
    cut = [strip for document in files for strip in strips.of_passage(document)]
    if len(cut) == len(files):
        return {"documents": documents}
    verdicts = deps.engine.relevance(asked(state), cut, scored=True)
    best = strips.best(verdicts)
    kept = strips.recomposed(files, [cut[place] for place in best]) if best else files
    why = f"{len(best)} of {plural(len(cut), 'strip')}" if best else "no strip alone is good enough"
    web = [one for one in documents if one.metadata.get("origin") == "web"]
    return {
        "documents": [*kept, *web],
        "usage": sum((verdict.usage for verdict in verdicts), usage_of(state)),
        "decisions": log(state, emit, Graded("refine_documents", "refined" if best else "whole", why)),
    }
