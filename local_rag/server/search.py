"""Search without an answer; list the choices for a question, graphs, models, and the checks of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, Depends
from pydantic import Field

from local_rag.config.values import GraphName
from local_rag.core.documents import CONDITIONS
from local_rag.core.errors import EngineError, NotLocal, UsageError
from local_rag.diagnostics.check import Check
from local_rag.diagnostics.models import ModelReport, model_report
from local_rag.server.answers import cut, passage_view
from local_rag.server.auth import Asking, person_only
from local_rag.server.errors import in_fields
from local_rag.server.jobs import Job
from local_rag.server.responses import Body, Narrowed, event_stream
from local_rag.server.turns import IndexName, index_names
from local_rag.server.work import reported
from local_rag.server.workspace import HEAVY, Here, Workspace
from local_rag.text.display import for_terminal, joined
from local_rag.text.markup import unmarked
from local_rag.text.words import content_stems

PATIENCE = 3.0
"""Seconds that a model server may take to list its models."""

router = APIRouter()


class Search(Narrowed):
    """Hold the words or the question to search for; "exact phrases" and -words count."""

    query: str
    index: str | None = None
    k: int = Field(10, ge=1, le=100)
    mode: Literal["hybrid", "dense", "words"] = "hybrid"


@router.post("/api/search", dependencies=HEAVY)
def search(request: Search, workspace: Here) -> dict[str, Any]:
    """Find the `passages` that fit a query, best first; `notes` say what the search does not cover.

    The `segments` of a passage are its text without markup, in which the words of the query are marked. `also_in` lists
    the other files that hold the same text.
    """
    from local_rag.index.exact_words import found, typed_query
    from local_rag.runtime.opening import check_question

    if not request.query.strip():
        raise UsageError("the query is empty", hint="type words or a question")
    check_question(request.query)
    query = typed_query(request.query)
    narrowing = query.narrow(request.narrowing)
    with ExitStack() as opened:
        index = _index(workspace, request.index, opened)
        passages = found(
            index.search(query.text, request.k, within=narrowing, mode=request.mode), request.mode, narrowing
        )
        also_in, label = index.also_in(passages, narrowing), index.path_labels()
        notes = [for_terminal(in_fields(note)) for note in index.waiting_notes()]
    stems = content_stems(query.text)
    views = [
        passage_view(each, label, stems)
        | {"segments": cut(unmarked(each.page_content), stems)}
        | {"also_in": [label(path) for path in also_in[each.metadata["chunk_id"]]]}
        for each in passages
    ]
    return {"passages": views, "notes": notes}


def _index(workspace: Workspace, name: str | None, opened: ExitStack) -> Any:
    """Return the index of the open `Rag`; if none can be opened, open the index for this search alone."""
    from local_rag.runtime.opening import open_indexes

    try:
        return opened.enter_context(workspace.using(name)).index
    except (EngineError, NotLocal):  # a search asks no model
        return opened.enter_context(open_indexes(workspace.settings_of(name)))


@dataclass(frozen=True)
class Choices:
    """List what a question can set, and the defaults.

    `named` gives the label of each index and its number of files, and `graphs` describes each graph. `conditions` are
    the fields that narrow a question, each with its name, its label and an example. `writer` names the models that
    write answers, or is "" if answers are quotes; then `without` says why.
    """

    indexes: Sequence[str]
    named: Mapping[str, IndexName]
    graphs: Mapping[str, str]
    models: Sequence[str]
    web: Sequence[str]
    conditions: Sequence[dict[str, str]]
    defaults: dict[str, Any]
    writer: str = ""
    without: str = ""


@router.get("/api/choices")
def choices(workspace: Here) -> Choices:
    """List what a question can set, and the defaults."""
    from local_rag.graphs.drawing import OF_GRAPHS
    from local_rag.runtime.engine_choice import QUICK

    values, report = workspace.settings.values, None
    with suppress(UsageError):  # the settings name no model that there is
        report = model_report(workspace.settings, QUICK)
    there = (
        [model.name for model in report.models if model.installed is not None and not model.refused] if report else []
    )
    return Choices(
        indexes=workspace.indexes(),
        named=index_names(workspace),
        graphs=OF_GRAPHS,
        models=there,
        web=("off", "ask"),
        conditions=[{"name": name, "label": of.label, "example": of.example} for name, of in CONDITIONS.items()],
        defaults={
            "index": [*workspace.settings.index_paths],
            "graph": values.graph,
            "engine": values.engine,
            "model": values.model,
            "web": "off" if values.web.enabled == "off" else "ask",
            "k": values.k,
        },
        writer=joined(report.in_use) if report and report.answering else "",
        without=report.problem if report else "",
    )


@dataclass(frozen=True)
class NodeView:
    """Describe a node by its name for people and what it does."""

    id: str
    name: str
    about: str


@dataclass(frozen=True)
class GraphView:
    """Describe a graph; its nodes are in order from the question to the answer.

    An edge has the IDs of its nodes (`source`, `target`), a `label` that says when it is taken, and `conditional`.
    """

    name: str
    about: str
    nodes: Sequence[NodeView]
    edges: Sequence[Any]


@router.get("/api/graphs/{name}")
def graph(name: GraphName, workspace: Here) -> GraphView:
    """Describe the nodes and edges of a graph under the settings."""
    from local_rag.graphs.deps import Options
    from local_rag.graphs.drawing import OF_GRAPHS, column, words_of

    nodes, edges = column(name, Options.of(workspace.settings.values))
    views = [NodeView(node, *words_of(node)) for node in nodes]
    return GraphView(name, OF_GRAPHS[name], views, edges)


@router.get("/api/doctor", dependencies=HEAVY)
def doctor(workspace: Here, index: str | None = None) -> dict[str, Sequence[Check]]:
    """Check this machine, in the order in which problems are best solved."""
    from local_rag.diagnostics.doctor import run_checks

    return {"checks": run_checks(workspace.settings_of(index))}


@router.get("/api/models")
def models(workspace: Here, index: str | None = None) -> ModelReport:
    """List the language models."""
    return model_report(workspace.settings_of(index), PATIENCE)


class OfModel(Body):
    """Name a model of Ollama, and what is done with it: `pull` lets Ollama download it, `try` measures it."""

    model: str = Field(max_length=200)
    do: Literal["pull", "try"]


@router.post("/api/models", dependencies=[Depends(person_only)])
def with_model(request: OfModel, workspace: Here, caller: Asking) -> Any:
    """Let Ollama download a model, or try it; the `report` says in `lines` what came of it."""
    flags, about = {**workspace.flags, "model": request.model}, {"name": for_terminal(request.model)}
    job = workspace.jobs.work(Job("models", caller, about, lambda job: reported(job, request.do, flags)))
    return event_stream(job, workspace.limits.heartbeat)
