"""Evaluations over the API: started on a case file, watched, stopped, continued, shown, compared; and the checks."""

from __future__ import annotations

import shutil

import pytest
from support.evaluation_cases import cases_file
from support.garden import enter, put_back
from support.serving import error_of, events_of

from local_rag.cli.app import run


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
def client(here, serve):
    return serve()


@pytest.mark.slow
def test_evaluations_are_listed(client):
    (old,) = client.got("/api/evaluations")["evaluations"]
    assert (old["name"], old["cases"], old["graphs"], old["report"]) == ("mine", 3, ["plain"], True)
    assert old["finished"] and old["contained"]["plain"]["of"] == 2


def test_a_report_is_a_page_of_an_origin_of_its_own(client):
    (old,) = client.got("/api/evaluations")["evaluations"]
    response = client.get(f"/api/evaluations/{old['id']}/report")
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/html")
    policy = response.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'") and "script" not in policy
    assert "inline" in response.headers["content-disposition"]
    assert "<html" in response.text
    assert client.got("/api/evaluations/none/report", 404)["code"] == "not_found"
    assert client.got("/api/evaluations/..%2F..%2Fx/report", 404)


def ran(response):
    assert response.status_code == 200, response.text
    return events_of(response.text)


@pytest.mark.slow
def test_cases_of_a_person_are_asked_as_a_job_and_the_figures_are_its_report(client, here):
    (kept,) = client.got("/api/evaluations")["cases"]
    asked = {"cases": "of mine.jsonl", "text": (here / "data/cases" / f"{kept}.jsonl").read_text()}
    told = ran(client.post("/api/evaluations", asked))
    assert told[0] == ("begun", {"id": told[0][1]["id"], "name": "of mine.jsonl"})
    name, report = told[-1]
    assert name == "report"
    answers = next(table for table in report["tables"] if table["title"] == "Answers")
    assert answers["rows"][0][0] == "self-rag" and len(answers["head"]) == len(answers["rows"][0])
    new = {each["id"]: each for each in client.got("/api/evaluations")["evaluations"]}[report["id"]]
    assert (new["name"], new["graphs"], new["report"]) == ("of mine", ["self-rag"], True)
    assert ran(client.post("/api/evaluations", {"cases": kept}))[-1][0] == "report"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"cases": "my.jsonl", "text": "no case"}, "my.jsonl, line 1 is not JSON"),
        ({"cases": "my.jsonl", "text": "{}\n"}, "my.jsonl has an unknown format"),
        ({"cases": "../../etc/passwd"}, "there are no cases 'passwd'"),
    ],
)
def test_what_is_no_case_is_said_in_a_line(client, asked, said):
    response = client.post("/api/evaluations", asked)
    error = response.json()["error"] if response.status_code == 404 else events_of(response.text)[-1][1]
    assert error["message"].startswith(said)


@pytest.mark.slow
def test_a_model_is_fetched_and_tried_as_a_job(client, ollama, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", ollama.host)
    done = ran(client.post("/api/models", {"model": "llama3.2:3b", "do": "pull"}))
    assert done[-1] == ("report", {"lines": ["llama3.2:3b is installed (2.0 GB)."]})
    lines = ran(client.post("/api/models", {"model": "tiny", "do": "try"}))[-1][1]["lines"]
    assert "tasks as expected." in lines[0] and lines[1] == "Every verdict had the form that was asked for."
    assert ran(client.post("/api/models", {"model": "none", "do": "pull"}))[-1][1]["action"] == "models"
    key = {"authorization": f"Bearer {client.workspace.access.key}", "cookie": ""}
    for path, body in (("models", {"model": "tiny", "do": "pull"}), ("evaluations", {"cases": "mine"})):
        assert error_of(client.post(f"/api/{path}", body, headers=key)) == (403, "forbidden")


def test_the_checks_and_the_models_are_those_of_the_terminal(client):
    checks = {check["name"]: check for check in client.got("/api/doctor")["checks"]}
    assert checks["Python"]["state"] == "ok" and "2 files" in checks["index"]["found"]
    assert all(check["fix"] for check in checks.values() if check["state"] == "bad")
    report = client.got("/api/models")
    assert report["problem"] and report["hint"] and not report["answering"]
    assert any(model["in_use"] for model in report["models"])
