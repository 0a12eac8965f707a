"""Choose CRAG's action after grading, discard documents, and refine them (arXiv 2401.15884, section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from local_rag.core.verdicts import Graded, Relevance
from local_rag.graphs import rules, strips
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.graders import graded_passages, grading, in_last_prompt, relevance_verdicts, usage_of
from local_rag.graphs.nodes.node import Emit, node
from local_rag.graphs.state import CragState, State, after, standalone_of
from local_rag.text.display import plural


@node(grading, rules.crag_action)
def grade_documents(state: State, deps: Deps, emit: Emit) -> CragState:
    """Grade the documents and choose CRAG's action: by the tutorial's yes and no, or by the paper's thresholds.

    `web_search` tells as in the tutorial whether the web comes next, which it never does if it is off.
    """
    documents = state.get("documents", [])
    verdicts = relevance_verdicts(state, deps)
    if deps.crag.trigger == "any_irrelevant":
        update = graded_passages(state, verdicts)
        action = rules.action_by_labels(len(update["documents"]), len(documents))
    else:
        action = rules.action_by_scores(verdicts, deps.crag.upper, deps.crag.lower)
        update = graded_passages(
            state, verdicts, [] if action == "incorrect" else _kept_by_scores(documents, verdicts, deps)
        )
    now = after(state, {"spent": deps.exhausted(state.get("tries", {}))})
    goes = action != "correct" and rules.web_allowed(now) == "web"
    return {**update, "action": action, "web_search": "Yes" if goes else "No"}


def _kept_by_scores(documents: Sequence[Document], verdicts: Sequence[Relevance], deps: Deps) -> list[Document]:
    """Return the documents that are relevant by label or score; if there are none, those with a score not below the
    lower threshold.
    """
    upper, lower = deps.crag.upper, deps.crag.lower
    graded = [(document, verdict.label, verdict.score) for document, verdict in zip(documents, verdicts, strict=True)]
    relevant = [
        document for document, label, score in graded if label == "relevant" or (score is not None and score > upper)
    ]
    return relevant or [document for document, _, score in graded if score is not None and score >= lower]


@node("setting the passages aside", rules.web_allowed)
def discard_documents(state: State, deps: Deps, emit: Emit) -> State:
    """Discard all retrieved documents, CRAG's action `incorrect`."""
    return {"documents": []}


@node("refining the passages")
def refine_documents(state: State, deps: Deps, emit: Emit) -> State:
    """Cut the passages of the files into strips, grade them in one call, keep the best in their order.

    Documents stay whole if refining is off; so do pages of the web, whose strips were selected already, but not
    passages of a fallback corpus. If no strip is good enough, the documents stay whole, too: the grader found them
    relevant as a whole.
    """
    documents = state.get("documents", [])
    web = [document for document in documents if _is_page(document)]
    files = [document for document in documents if not _is_page(document)]
    if not deps.crag.refine or not files:
        return {"documents": documents}
    cut = [strip for document in files for strip in strips.of_passage(document)]
    if len(cut) == len(files):
        return {"documents": documents}
    verdicts = deps.engine.relevance(standalone_of(state), cut)
    best = strips.best(verdicts)
    kept = strips.recomposed(files, [cut[number] for number in best]) if best else files
    why = f"{len(best)} of {plural(len(cut), 'strip')}" if best else "no strip alone is good enough"
    return {
        "documents": [*kept, *web],
        "graded": in_last_prompt(cut, verdicts) or state.get("graded", []),
        "usage": usage_of(verdicts),
        "decisions": [Graded("refine_documents", "refined" if best else "whole", why)],
    }


def _is_page(document: Document) -> bool:
    """Return whether a document was selected from a page of the web."""
    return document.metadata.get("origin") == "web" and not document.metadata.get("fallback_corpus")
