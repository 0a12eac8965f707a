"""Evaluations over the API: started on a case file, watched, stopped, continued, shown, compared; and the checks."""

from __future__ import annotations

import shutil

import pytest
from support.evaluation_cases import cases_file
from support.garden import enter, put_back

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


def test_the_checks_and_the_models_are_those_of_the_terminal(client):
    checks = {check["name"]: check for check in client.got("/api/doctor")["checks"]}
    assert checks["Python"]["state"] == "ok" and "2 files" in checks["index"]["found"]
    assert all(check["fix"] for check in checks.values() if check["state"] == "bad")
    report = client.got("/api/models")
    assert report["problem"] and report["hint"] and not report["answering"]
    assert any(model["in_use"] for model in report["models"])
