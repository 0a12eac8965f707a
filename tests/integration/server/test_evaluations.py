"""Evaluations over the API: started on a case file, watched, stopped, continued, shown, compared; and the checks."""

from __future__ import annotations

import shutil

import pytest
from support.evaluation_cases import CASES, cases_file
from support.garden import enter, put_back
from support.serving import Client, a_place, events_of

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.core.errors import Stopped
from local_rag.evaluation.evaluate import EvaluationRequest, evaluate
from local_rag.evaluation.formats import open_cases
from local_rag.evaluation.runner import Plan
from local_rag.server.evaluation_job import EvaluationJobs


@pytest.fixture(scope="module")
def evaluated(garden):
    """The garden with cases about it in its data folder, and one evaluation."""
    base, kept = garden
    put_back(base, kept)
    with pytest.MonkeyPatch.context() as patched:
        enter(patched, base)
        (base / "data/cases").mkdir()
        cases = cases_file(base / "data/cases")
        assert run(["eval", str(cases), "--graph", "plain", "--out", str(base / "other")]) == 0
    return shutil.copytree(base, base.parent / "evaluated")


@pytest.fixture
def here(evaluated, here, monkeypatch):
    put_back(here, evaluated)
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def client(here):
    place = a_place()
    yield Client(place)
    place.close()


def got(client, path, status=200):
    response = client.get(path)
    assert response.status_code == status, response.text
    return response.json() if status == 200 else response.json()["error"]


def test_case_files_are_listed_with_what_is_wrong_with_them(client, here):
    (here / "data/cases/broken.jsonl").write_text("no json\n")
    (here / "data/cases/away.jsonl").symlink_to("/etc/passwd")
    broken, mine = got(client, "/api/cases")["cases"]
    assert (mine["name"], mine["cases"], mine["answerable"], mine["unanswerable"]) == ("mine", 3, 2, 1)
    assert broken["name"] == "broken" and "line 1 is not JSON" in broken["problem"]
    assert client.post("/api/evaluations", {"cases": "none"}).status_code == 404
    assert client.post("/api/evaluations", {"cases": "away"}).status_code == 404
    for wrong in ({"graphs": ["none"]}, {"engine": "none"}):
        response = client.post("/api/evaluations", {"cases": "mine", **wrong})
        assert (response.status_code, response.json()["error"]["code"]) == (400, "usage"), wrong


def test_an_evaluation_is_started_shown_and_compared_with_another(client):
    request = {"cases": "mine", "graphs": ["plain"], "index": "default", "limit": 2, "notes": "two of them\u202e"}
    events = events_of(client.post("/api/evaluations", request).text)
    assert events[0][0] == "begun" and events[-1][0] == "evaluated", events
    progress = [value for name, value in events if name == "progress"]
    assert progress[-1]["share"] == 1.0 and events[-1][1]["error"] is None
    new, old = got(client, "/api/evaluations")["evaluations"]
    assert new["id"] == events[-1][1]["id"] and (new["name"], new["cases"], new["graphs"]) == ("mine", 2, ["plain"])
    assert old["id"] != "other" and new["report"] and new["finished"] and new["contained"]["plain"]["of"] == 1
    shown = got(client, f"/api/evaluations/{new['id']}")
    assert shown["facts"][0] == ["notes", "two of them"]
    titles = [table["title"] for table in shown["tables"]]
    assert any("Retrieval" in title for title in titles) and [
        name for name, _ in shown["facts"] if name == "engine"
    ] == ["engine"]
    assert all(len(row) == len(table["head"]) for table in shown["tables"] for row in table["rows"])
    compared = got(client, f"/api/evaluations/compare?first={old['id']}&second={new['id']}")
    assert compared["over"] == "Their questions differ: 1 only in A. Compared: the 2 cases in both."
    assert (compared["only_first"], compared["only_second"]) == (1, 0)
    meanings = dict(compared["tables"][0]["table"]["meanings"])
    assert "by chance" in meanings["corrected p"] and len(meanings) == len(compared["tables"][0]["table"]["rows"]) + 2
    assert compared["tables"][0]["table"]["head"][2:4] == ["A", "B"] and compared["tables"][0]["verdicts"]
    assert got(client, f"/api/evaluations/compare?first={old['id']}&second=none", 404)["code"] == "not_found"


def test_a_report_is_a_page_of_an_origin_of_its_own(client):
    (old,) = got(client, "/api/evaluations")["evaluations"]
    response = client.get(f"/api/evaluations/{old['id']}/report")
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/html")
    policy = response.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts;") and "default-src 'none'" in policy
    assert "allow-same-origin" not in policy and "inline" in response.headers["content-disposition"]
    assert "<html" in response.text
    assert got(client, "/api/evaluations/none/report", 404)["code"] == "not_found"
    assert got(client, "/api/evaluations/..%2F..%2Fx/report", 404)


@pytest.mark.slow
def test_an_evaluation_that_is_stopped_keeps_what_it_has_and_goes_on(client, here):
    settings = Settings.load(web__enabled="off")
    request = EvaluationRequest(open_cases([here / "data/cases/mine.jsonl"]), Plan(("plain",), ("hybrid",)))

    class StopsIt:
        """The display of a job that is stopped once the first step is done."""

        def __init__(self, job):
            self.job, self.say = job, job.say

        def progress(self, doing=""):
            job = self.job

            class Show:
                def __enter__(self):
                    return self

                def __exit__(self, *error):
                    return None

                def __call__(self, share, line):
                    if share:
                        job.stop()

            return Show()

    job = EvaluationJobs().start("mine", lambda job: evaluate(settings, request, StopsIt(job)))
    job.wait()
    assert isinstance(job.error, Stopped)
    stopped, _ = got(client, "/api/evaluations")["evaluations"]
    assert stopped["finished"] == "" and not stopped["report"]
    shown = got(client, f"/api/evaluations/{stopped['id']}")
    assert shown["notes"][0].startswith("It is not finished")
    assert got(client, f"/api/evaluations/{stopped['id']}/report", 404)["hint"].startswith("start it again")
    events = events_of(client.post("/api/evaluations", {"cases": "mine", "graphs": ["plain"]}).text)
    assert events[-1][1] == {"id": stopped["id"], "error": None}, "it goes on in its folder"
    assert got(client, "/api/evaluations")["evaluations"][0]["finished"]


def test_nothing_runs_and_nothing_is_stopped(client):
    assert got(client, "/api/evaluations")["running"] is None
    assert client.post("/api/evaluations/stop").json() == {"stopped": False}
    assert client.post("/api/evaluations/watch").status_code == 404


def test_the_checks_and_the_models_are_those_of_the_terminal(client):
    checks = {check["name"]: check for check in got(client, "/api/doctor")["checks"]}
    assert checks["Python"]["state"] == "ok" and "2 files" in checks["index"]["found"]
    assert all(check["fix"] for check in checks.values() if check["state"] == "bad")
    report = got(client, "/api/models")
    assert (
        report["problem"]
        and report["hint"]
        and not report["answering"]
        and any(model["in_use"] for model in report["models"])
    )
    assert len(CASES) == 3
