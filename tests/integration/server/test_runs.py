"""Runs and feedback over the API, on real runs of an index of notes."""

import os

import pytest
from support.garden import BEGIN, CUP, GREENHOUSE

from local_rag.evaluation.cases import read_cases
from local_rag.runtime.history import History
from local_rag.server.answers import file_id


@pytest.fixture
def client(here, serve):
    return serve()


@pytest.fixture
def ids(here):
    with History.open() as history:
        return {each.question: each.id for each in history.runs()}


def test_runs_are_listed_in_pages_by_words_and_status(client, ids):
    every = client.got("/api/runs")
    assert [each["question"] for each in every["runs"]] == [CUP, GREENHOUSE, BEGIN] and every["next"] is None
    first = client.got("/api/runs?limit=1")
    assert (first["next"], first["total"]) == (1, 3)
    assert client.got("/api/runs?limit=1&cursor=1")["runs"][0]["id"] == ids[GREENHOUSE]
    assert client.got("/api/runs?filter=GREENH")["total"] == 1 == client.got("/api/runs?status=abstained")["total"]
    assert client.got("/api/runs?index=default")["total"] == 3
    assert client.got("/api/runs?status=good", 400)["code"] == "usage"


def test_a_run_is_shown_with_its_path_verdicts_passages_timings_and_answer(client, ids, here):
    shown = client.got(f"/api/runs/{ids[CUP]}")
    nodes = [step["node"] for step in shown["steps"] if step["node"]]
    assert nodes == shown["path"] == ["begin", "retrieve", "grade_documents", "discard_documents", "give_up", "finish"]
    began = [step["at"] for step in shown["steps"]]
    assert began == sorted(began) and all(step["seconds"] >= 0 for step in shown["steps"][:6])
    (retrieved,) = [event for event in shown["steps"][1]["events"] if event["event"] == "retrieved"]
    chunks = [passage["chunk_id"] for passage in shown["passages"]]
    assert [passage["chunk_id"] for passage in retrieved["documents"]] == chunks
    graded = [event for event in shown["steps"][2]["events"] if event["event"] == "graded"]
    assert {verdict["kind"] for verdict in graded} >= {"relevance"} and shown["prompts"] == {}
    passages = {passage["label"]: passage for passage in shown["passages"]}
    plan = passages["notes/plan.md"]
    assert plan["file_id"] == file_id(str(here / "notes/plan.md")) and plan["text"] and plan["why"] == ""
    assert shown["answer"]["status"] == "abstained" and shown["answer"]["blocks"][0]["kind"] == "note"
    assert shown["run"]["engine"] == "extractive" and shown["set"]["graph"] == "crag"
    answered = client.got(f"/api/runs/{ids[GREENHOUSE]}")
    assert answered["answer"]["citations"][0]["label"] == "notes/plan.md" and answered["run"]["thread"] == "garden"
    assert client.got("/api/runs/zzzz", 404)["code"] == "not_found"
    assert client.got("/api/runs/last")["run"]["id"] == ids[CUP]
    assert client.got("/api/runs/..%2Fx", 404)


def test_a_run_becomes_a_case_in_a_file_of_the_data_folder(client, ids, here):
    path = f"/api/runs/{ids[GREENHOUSE]}/case"
    assert client.posted(path, {"cases": "my own"}, 400)["message"].startswith("say what a right answer is")
    made = client.posted(path, {"cases": "my own", "answers": ["4,200 euros"]})
    assert (made["question"], made["sources"], made["total"]) == (GREENHOUSE, 1, 1)
    file = here / "data/cases/my own.jsonl"
    assert os.name == "nt" or file.stat().st_mode & 0o777 == 0o600
    assert "has that question already" in client.posted(path, {"cases": "my own", "right": True}, 400)["message"]
    wrong = client.posted(f"/api/runs/{ids[CUP]}/case", {"cases": "my own", "right": True})
    assert (wrong["answerable"], wrong["total"]) == (False, 2) and len(read_cases(file)) == 2
    for name in ("../x", "/etc/x", ".hidden", "a/b", "", "x" * 81):
        assert client.posted(path, {"cases": name, "right": True}, 400)["code"] == "usage"
    (here / "data/cases/away.jsonl").symlink_to("/etc/passwd")
    assert client.posted(path, {"cases": "away", "right": True}, 400)["code"] == "usage"


def test_feedback_is_given_listed_made_into_cases_and_taken_back(client, ids):
    given = client.posted(
        "/api/feedback", {"run": ids[GREENHOUSE], "good": True, "note": "a \u202ereversed\u202c note"}
    )
    assert (given["good"], given["note"], given["question"]) == (True, "a reversed note", GREENHOUSE)
    client.posted("/api/feedback", {"run": ids[CUP], "good": False, "note": "it is there"})
    assert [each["run"] for each in client.got("/api/feedback")["feedback"]] == [ids[CUP], ids[GREENHOUSE]]
    assert client.got("/api/runs")["good"] == {ids[CUP]: False, ids[GREENHOUSE]: True}
    assert client.got(f"/api/runs/{ids[CUP]}")["feedback"]["note"] == "it is there"
    made = client.posted("/api/feedback/cases", {"cases": "judged"})
    assert (made["kept"], made["known"], made["unlabelled"], made["elsewhere"], made["total"]) == (2, 0, 0, 0, 2)
    assert client.posted("/api/feedback/cases", {"cases": "judged"})["known"] == 2
    assert client.posted(f"/api/feedback/{ids[CUP]}/delete")["deleted"] == [ids[CUP]]
    assert len(client.got("/api/feedback")["feedback"]) == 1
    assert client.posted("/api/feedback", {"run": "zzzz", "good": True}, 404)["code"] == "not_found"
    assert client.posted("/api/feedback", {"run": ids[CUP], "good": "maybe"}, 400)["code"] == "usage"


def test_a_thread_that_is_renamed_takes_its_feedback_along(client, ids):
    client.posted("/api/feedback", {"run": ids[GREENHOUSE], "good": True})
    client.posted("/api/thread/rename", {"thread": "garden", "to": "yard"})
    client.posted("/api/thread/delete", {"thread": "yard"})
    assert client.got("/api/feedback")["feedback"] == []
