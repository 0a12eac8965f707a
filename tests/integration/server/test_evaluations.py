"""Evaluations over the API: started on a case file, watched, stopped, continued, shown, compared; and the checks."""

import pytest
from support.evaluation_cases import cases_file
from support.serving import error_of


@pytest.fixture
def client(here, serve):
    return serve()


@pytest.mark.slow
def test_cases_of_a_person_are_asked_as_a_job_and_evaluations_listed_with_their_reports(client, here, at_once, said):
    (here / "data/cases").mkdir()
    cases = cases_file(here / "data/cases")
    said(f"eval {cases} --graph plain --out {here / 'other'}")
    told = client.ran("/api/evaluations", {"cases": "of mine.jsonl", "text": cases.read_text()})
    assert told[0] == ("begun", {"id": told[0][1]["id"], "name": "of mine.jsonl"})
    name, report = told[-1]
    assert name == "report"
    answers = next(table for table in report["tables"] if table["title"] == "Answers")
    assert answers["rows"][0][0] == "self-rag" and len(answers["head"]) == len(answers["rows"][0])
    listed = client.got("/api/evaluations")
    assert listed["cases"] == ["mine"]
    found = listed["evaluations"]
    assert found == sorted(found, key=lambda each: each["started"], reverse=True)
    new, old = sorted(found, key=lambda each: each["id"] != report["id"])  # both may have begun in one second
    assert (new["id"], new["name"], new["graphs"], new["report"]) == (report["id"], "of mine", ["self-rag"], True)
    assert (old["name"], old["cases"], old["graphs"], old["report"]) == ("mine", 3, ["plain"], True)
    assert old["finished"] and old["contained"]["plain"]["of"] == 2
    for each in (new, old):
        response = client.get(f"/api/evaluations/{each['id']}/report")
        assert response.headers["content-type"].startswith("text/html") and "<html" in response.text
        policy = response.headers["content-security-policy"]
        assert policy.startswith("sandbox; default-src 'none'") and "script" not in policy, "an origin of its own"
        assert "inline" in response.headers["content-disposition"]
    for id_ in ("none", "..%2F..%2Fx"):
        assert client.got(f"/api/evaluations/{id_}/report", 404)["code"] == "not_found"


def test_what_is_no_case_is_said_in_a_line(client, at_once):
    said = client.ran("/api/evaluations", {"cases": "my.jsonl", "text": "no case"})[-1][1]["message"]
    assert said.startswith("my.jsonl, line 1 is not JSON")
    missing = client.posted("/api/evaluations", {"cases": "../../etc/passwd"}, 404)
    assert missing["message"] == "there are no cases 'passwd'"


@pytest.mark.slow
def test_a_model_is_fetched_and_tried_as_a_job(client, ollama, at_once):
    done = client.ran("/api/models", {"model": "llama3.2:3b", "do": "pull"})
    assert done[-1] == ("report", {"lines": ["llama3.2:3b is installed (2.0 GB)."]})
    lines = client.ran("/api/models", {"model": "tiny", "do": "try"})[-1][1]["lines"]
    assert "tasks as expected." in lines[0] and lines[1] == "Every verdict had the form that was asked for."
    assert client.ran("/api/models", {"model": "none", "do": "pull"})[-1][1]["action"] == "models"
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
