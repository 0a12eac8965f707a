"""A run once more: the same question under the same conditions, as far as there still are any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from local_rag.config.index_folders import index_path
from local_rag.config.settings import Settings
from local_rag.config.values import Values
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.runtime.kept_run import KeptRun
from local_rag.runtime.kept_runs import Runs
from local_rag.runtime.recording import Recorder
from local_rag.runtime.run_difference import RunDifference, difference

if TYPE_CHECKING:
    from local_rag.graphs.deps import MaySearch
    from local_rag.runtime.rag import Rag

NOT_TAKEN = ("threads.", "traces.", "trace.", "runs.", "feedback.", "web.enabled", "web.never", "ollama.allow_")
"""Settings of today that hold for a replay, too: what may leave this machine, and what is kept."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A run, the same question asked now, and what differs. `notes` say what could not be the same."""

    first: KeptRun
    second: KeptRun
    difference: RunDifference
    notes: tuple[str, ...] = ()


def replay(runs: Runs, name: str, may_search: MaySearch | None = None) -> Replay:
    """Ask the question of a run again, with the settings that it had; see `opened_again`. Leaves a run of its own."""
    run = runs.get(name)
    with opened_again(run, runs.settings) as (rag, notes):
        for _ in rag.stream(run.standalone_question, within=run.narrowing, may_search=may_search):
            pass
        return replayed(run, rag, notes)


@contextmanager
def opened_again(run: KeptRun, settings: Settings) -> Iterator[tuple[Rag, tuple[str, ...]]]:
    """A Rag with the settings of a run, which remembers what it does, and in a line each what cannot be as it was.

    A question that followed others of a chat is asked as it was understood then, outside of the chat. Whether the web
    is on, and which servers may be spoken to, is what `settings` say; for such a question the web stays off, because
    its wording was made with answers in view. Raises what `Rag.open` raises.
    """
    from local_rag.runtime.rag import Rag

    if not run.folder:
        raise UsageError(
            f"the run {run.id} asked a corpus that a program gave, and no index, so it cannot be asked again from here",
            hint=f"local-rag runs show {run.id}",
        )
    again, notes = _settings(run, settings)
    with Rag.open(again) as rag:
        replay_of = {"id": run.id, "thread": run.thread}
        rag.recorder = Recorder(again.data_folder, again.values.runs.keep, remember=True, replay_of=replay_of)
        if rag.engine.name != (then := run.conditions["engine"]["name"]):
            notes = (*notes, f"the engine was {then}, and is {rag.engine.name} now")
        yield rag, notes


def replayed(run: KeptRun, rag: Rag, notes: tuple[str, ...] = ()) -> Replay:
    """The comparison of a run with the question that a Rag of `opened_again` has answered since."""
    second = KeptRun(rag.recorder.latest)
    return Replay(run, second, difference(run, second), notes)


def _settings(run: KeptRun, settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    recorded: Mapping[str, Any] = run.conditions["settings"]
    known = set(settings.origin)
    taken = {name: value for name, value in recorded.items() if name in known and not name.startswith(NOT_TAKEN)}
    taken |= {"index": _index(run, settings), "also": tuple(run.others), "graph": run.graph, "k": run.conditions["k"]}
    notes = [f"there is no setting {name} any more" for name in recorded if name not in known]
    if settings.origin["web.source"] == "flag":
        then, taken["web.source"] = taken.get("web.source", ""), settings.values.web.source
        notes.append(
            f"the fallback corpus was {then or 'none'}, and is {taken['web.source'] or 'none'} now: --web-from"
        )
    origins = run.conditions["origins"]
    origin = {name: origins.get(name, "default") if name in taken else settings.origin[name] for name in known}
    is_follow_up = run.standalone_question != run.question
    web = "off" if is_follow_up else settings.values.web.enabled
    if recorded.get("web.enabled", "off") != web:
        why = "the question followed others of a chat" if is_follow_up else "--web switches it on"
        notes.append(f"the web was {recorded.get('web.enabled', 'off')}, and is {web} now: {why}")
    if is_follow_up:
        notes.append(f"asked as it was understood in the chat: {run.standalone_question}")
    try:
        values = Values.model_validate(_tree(taken | {"web.enabled": web} | _kept(settings, set(taken))))
    except ValueError as error:
        raise LocalRagError(
            f"the settings of the run {run.id} cannot be had in this version: {error}", hint="ask the question anew"
        ) from error
    again = replace(settings, values=values, origin=origin, models=run.conditions.get("models") or settings.models)
    return again, tuple(notes)


def _index(run: KeptRun, settings: Settings) -> str:
    """The name of the index, or its path where another index has that name by now."""
    name = str(run.conditions["index"]["name"])
    return name if str(index_path(name, settings.data_folder).resolve()) == run.folder else run.folder


def _kept(settings: Settings, taken: set[str]) -> dict[str, Any]:
    return {name: settings.get(name) for name in settings.origin if name not in taken and name != "web.enabled"}


def _tree(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        section, _, leaf = name.rpartition(".")
        (tree.setdefault(section, {}) if section else tree)[leaf] = value
    return tree
