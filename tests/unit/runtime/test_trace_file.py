"""--trace-file: every event as it happens, the state after each node, and files that are left alone."""

from __future__ import annotations

import json
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from support.fakes import FakeCorpus, ScriptedEngine

from local_rag.config.settings import Settings
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.events import Step
from local_rag.core.serialization import to_plain
from local_rag.core.usage import Usage
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from local_rag.runtime.trace_file import TraceFile


def opened(engine=None, **flags):
    return Rag(Settings.load(**flags), FakeCorpus(), Choice(engine or ScriptedEngine()))


def traced(path, rag, graph="self-rag", **about):
    with TraceFile.open(path) as file:
        list(file.following(rag.stream("What does the plan cost?", graph=graph), question="What?", **about))
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_event_is_a_line_with_its_kind_and_time(tmp_path):
    lines = traced(tmp_path / "run.jsonl", opened(), thread="plan")
    assert lines[0] == {"event": "asked", "at": 0.0, "question": "What?", "thread": "plan"}
    assert {line["event"] for line in lines} == {"asked", "started", "retrieved", "graded", "step", "token", "done"}
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    assert lines[-1]["answer"]["text"] == "It costs 100 euros [1]."
    steps = [line for line in lines if line["event"] == "step"]
    assert [step["node"] for step in steps] == ["retrieve", "grade_documents", "generate", "grade_generation"]
    assert all(step["seconds"] >= 0 for step in steps)


def test_the_state_after_each_node_is_there(tmp_path):
    engine = ScriptedEngine(relevant=["yn"], scores=[[0.9, 0.1, 0.8, 0.2]], grades=[("fully", 5, (), 0.75)])
    lines = traced(tmp_path / "run.jsonl", opened(engine))
    states = {line["node"]: line["state"] for line in lines if line["event"] == "step"}
    first = states["retrieve"]["documents"][0]
    assert first == {
        "chunk_id": "1",
        "source": "/notes/1.md",
        "page": None,
        "heading": "",
        "start": 0,
        "end": 45,
        "score": 0.5,
        "origin": "files",
        "text": "Passage 1 says that the plan costs 100 euros.",
    }
    assert states["retrieve"]["query"] == "What does the plan cost?"
    assert [one["chunk_id"] for one in states["grade_documents"]["documents"]] == ["1", "3"]
    assert states["grade_documents"]["rejected"] == ["2", "4"]
    assert states["grade_documents"]["decisions"][0]["score"] == 0.9
    assert states["generate"]["tries"] == {"generations": 1}
    assert states["generate"]["usage"]["calls"] == 2
    assert states["grade_generation"]["grade"]["score"] == 0.75
    assert states["grade_generation"]["generation"] == "It costs 100 euros [1]."


@pytest.mark.parametrize("graph", ["plain", "crag", "adaptive"])
@pytest.mark.parametrize("relevant", ["y", "n", "?y"])
def test_every_graph_can_be_written(tmp_path, graph, relevant):
    flags = {"self_rag__candidates": 2, "crag__refine": True, "adaptive__complexity": "multi"}
    lines = traced(tmp_path / "run.jsonl", opened(ScriptedEngine(relevant=[relevant]), **flags), graph)
    assert lines[-1]["event"] == "done"


def test_drafts_with_their_passages_can_be_written(tmp_path):
    engine = ScriptedEngine(grades=[("no", 1), ("fully", 5)])
    lines = traced(tmp_path / "run.jsonl", opened(engine))
    (draft,) = next(line["state"]["drafts"] for line in reversed(lines) if line["event"] == "step")
    assert draft["documents"][0]["chunk_id"] == "1"
    assert draft["grade"]["support"] == "no"


def test_a_line_is_there_as_soon_as_its_event_is(tmp_path):
    path = tmp_path / "run.jsonl"
    with TraceFile.open(path) as file:
        events = file.following(opened().stream("What does the plan cost?"), question="What?")
        for count, _ in enumerate(events, start=2):
            assert len(path.read_text().splitlines()) == count
            if count == 6:
                break
        events.close()
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_only_its_owner_may_read_it(tmp_path):
    path = tmp_path / "run.jsonl"
    path.touch(0o644)
    for file in (path, tmp_path / "new.jsonl"):
        TraceFile.open(file).close()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_holds_something_is_left_alone(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists already and is not empty") as caught:
        TraceFile.open(path)
    assert "rm " in caught.value.hint
    assert path.read_text() == "mine"


def test_a_path_that_cannot_be_written_is_one_line(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "run.jsonl"):
        with pytest.raises(UsageError, match="cannot be written to"):
            TraceFile.open(path)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError):
        TraceFile.open(tmp_path / "pipe")


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no /dev/null here")
def test_nobody_is_told_to_remove_a_device():
    with pytest.raises(UsageError, match="it is not a regular file") as caught:
        TraceFile.open(Path("/dev/null"))
    assert "rm " not in caught.value.hint


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_disk_that_fills_up_is_one_line(tmp_path):
    with suppress(OSError), Path("/dev/full").open("w") as full:  # noqa: SIM117  # closing it fails, too
        with pytest.raises(LocalRagError, match=r"cannot write to the trace file .*: there is no space left"):
            list(TraceFile(tmp_path / "run.jsonl", full).following(iter(()), question="What?"))


def test_what_json_does_not_know_is_written_all_the_same(tmp_path):
    import numpy as np

    plain = to_plain({"a": float("nan"), "b": (1, {2}), "c": np.float32(0.5)})
    assert plain == {"a": None, "b": [1, [2]], "c": 0.5}
    with TraceFile.open(tmp_path / "run.jsonl") as file:
        list(file.following(iter([Step("retrieve", 0.5, {"usage": Usage(calls=1)})]), question="\ud800"))
    asked, step = map(json.loads, (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines())
    assert asked["question"] == "?"
    assert step["state"]["usage"]["calls"] == 1
