"""Doctor's look at Ollama, against a server on loopback."""

from __future__ import annotations

import json

import pytest
from support.ollama_server import Model, OllamaServer, empty, error
from support.screen import shown

from local_rag.config.settings import Settings
from local_rag.diagnostics import ollama as module
from local_rag.diagnostics.doctor import run_checks
from local_rag.diagnostics.ollama import NO_CLOUD, no_cloud, ollama_checks
from local_rag.terminal.doctor import checks_table

SMALL = Model(size=1_000_000, window=16_384)
VERDICTS = '{"r": "yes no"}'


@pytest.fixture
def there(ollama, monkeypatch):
    """A server where Ollama's own variable says, with a small model that a person named for everything."""
    ollama.models = {"tiny:latest": SMALL}
    monkeypatch.setenv("OLLAMA_HOST", ollama.host)
    monkeypatch.setenv("LOCAL_RAG_MODEL", "tiny")
    return ollama


def checked(**flags):
    """Name -> check; a name that comes twice is a mistake where there is one model."""
    checks = list(ollama_checks(Settings.load(**flags)))
    assert len({check.name for check in checks}) == len(checks)
    return {check.name: check for check in checks}


def test_all_is_well(there):
    there.cloud = {"disabled": True, "source": "env"}
    there.script(VERDICTS)
    checks = checked()
    assert {check.state for check in checks.values()} == {"ok"}
    assert [check.fix for check in checks.values()] == [""] * 7
    found = {name: check.found for name, check in checks.items()}
    assert found["Ollama"] == f"{there.version} at {there.host}"
    assert found["Ollama cloud"] == "switched off (env): Ollama contacts no other machine"
    assert found["model"] == "tiny is installed (3.2B, Q4_K_M)"
    assert found["model memory"].startswith("tiny takes about 1.0 MB of this machine's ")
    assert found["model window"] == "8,192 of the 16,384 tokens that tiny was trained for"
    assert found["thinking"] == "tiny does not think; it is sent think: false"
    assert found["schema"].startswith("tiny kept to the form of a verdict at the first try (")
    assert "of them loading the model" in found["schema"]
    (chat,) = there.chats
    assert chat["format"]["properties"]["r"]["pattern"] == "^(yes|no) (yes|no)$"


def test_the_extractive_engine_needs_no_server(monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_OLLAMA_HOST", "192.0.2.7")
    (check,) = ollama_checks(Settings.load(engine="extractive"))
    assert (check.name, check.state, check.fix) == ("engine", "ok", "")


def test_under_auto_a_missing_server_is_a_note():
    (check,) = ollama_checks(Settings.load())
    assert check.state == "note"
    assert check.found.startswith("no Ollama server answers at 127.0.0.1:1; the extractive engine answers instead")
    assert check.fix.splitlines()[0] == "ollama serve   (to install it: https://ollama.com/download)"
    assert check.fix.splitlines()[1].startswith("then: local-rag models pull   (downloads qwen3:")


@pytest.mark.parametrize("flags", [{"engine": "ollama"}, {"model": "tiny"}, {"profile": "8gb"}])
def test_a_server_that_was_asked_for_must_be_there(flags):
    (check,) = ollama_checks(Settings.load(**flags))
    assert (check.name, check.state) == ("Ollama", "bad")
    assert check.found.startswith("no Ollama server answers at 127.0.0.1:1")
    pull = "then: local-rag models pull" + (" tiny" if "model" in flags else "   (downloads ")
    assert check.fix.splitlines()[1].startswith(pull)


def test_a_host_that_is_not_this_machine(monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "192.0.2.7")
    (check,) = ollama_checks(Settings.load())
    assert check.state == "note"
    assert "192.0.2.7:11434 is not this machine, so nothing was sent to it" in check.found
    assert "LOCAL_RAG_OLLAMA_ALLOW_HOSTS=192.0.2.7" in check.fix


def test_something_else_listens_there(there):
    there.instead["/api/version"] = error(404, "no page here")
    (check,) = ollama_checks(Settings.load())
    assert (check.name, check.state) == ("Ollama", "bad")
    assert "no page here" in check.found


@pytest.mark.parametrize(("engine", "state"), [("auto", "note"), ("ollama", "bad")])
def test_a_missing_model(there, monkeypatch, engine, state):
    monkeypatch.delenv("LOCAL_RAG_MODEL")
    model = checked(engine=engine)["model"]
    assert model.state == state
    assert "has no model qwen3:" in model.found
    pull, other = model.fix.splitlines()
    assert pull.startswith("local-rag models pull qwen3:")
    assert other == "or use what is installed: LOCAL_RAG_MODEL=tiny:latest   (tiny:latest)"
    assert there.chats == []


@pytest.mark.parametrize("name", ["afar", "big:120b-cloud", "big:cloud"])
def test_a_model_that_answers_from_elsewhere_is_not_asked(there, name):
    there.models["afar:latest"] = Model(size=400, remote_host="https://ollama.com:443")
    checks = checked(model=name)
    assert checks["model"].state == "bad"
    assert f"{name} would send your question and passages to" in checks["model"].found
    assert "schema" not in checks
    assert there.chats == []


def test_a_remote_model_that_was_allowed_is_a_note_and_is_not_asked_here(there):
    there.models["afar:latest"] = Model(size=400, remote_host="https://ollama.com:443")
    checks = checked(model="afar", ollama__allow_cloud="afar")
    assert checks["model"].state == "note"
    assert "answers from https://ollama.com:443, because you allowed it" in checks["model"].found
    assert there.chats == []


def test_ollama_itself_may_call_out(there):
    check = checked()["Ollama cloud"]
    assert (check.state, "at its start and every four hours" in check.found) == ("note", True)
    assert "OLLAMA_NO_CLOUD" in check.fix
    there.instead["/api/status"] = error(404, "page not found")
    check = checked()["Ollama cloud"]
    assert (check.state, "does not say whether it may call ollama.com" in check.found) == ("note", True)
    assert "OLLAMA_NO_CLOUD" in check.fix


@pytest.mark.parametrize("platform", NO_CLOUD)
def test_how_to_switch_that_off_begins_with_this_system(platform):
    lines = no_cloud(platform).splitlines()
    assert lines[0] == NO_CLOUD[platform]
    assert set(lines) > set(NO_CLOUD.values())
    assert "disable_ollama_cloud" in lines[-1]
    assert len(no_cloud("plan9").splitlines()) == 4


def test_a_trained_window_that_is_smaller(there):
    there.models["tiny:latest"] = Model(size=1, window=2048)
    check = checked()["model window"]
    assert check.state == "note"
    assert check.found == "tiny was trained for 2,048 tokens, so num_ctx is lowered to that from 8,192"
    assert '"tiny": {num_ctx: 2048}' in check.fix
    assert there.chats[0]["options"]["num_ctx"] == 2048


def test_a_window_that_is_not_told(there):
    there.instead["/api/show"] = error(200, "")
    assert "does not say for how many tokens it was trained" in checked()["model window"].found


def test_a_model_that_is_loaded_with_another_window(there):
    assert "model loaded" not in checked()
    assert "model loaded" not in checked()
    check = checked(profile="8gb")["model loaded"]
    assert check.state == "note"
    assert "with a window of 8,192 tokens, so the next call loads it again with 4,096" in check.found


def thinks(tmp_path, think):
    file = tmp_path / "mine.yaml"
    file.write_text(f"ollama:\n  models:\n    gpt-oss: {{think: {think}}}\n    tiny: {{think: {think}}}\n")
    return str(file)


def test_thinking_that_fits_the_model(there, tmp_path):
    there.models["tiny:latest"] = Model(size=1, capabilities=("completion", "thinking"))
    assert checked()["thinking"].found == "tiny can think; it is sent think: false"
    assert checked(models=thinks(tmp_path, "low"))["thinking"].found == "tiny can think; it is sent think: low"
    there.models["gpt-oss:20b"] = Model(size=1, family="gptoss", capabilities=("completion", "thinking"))
    assert checked(model="gpt-oss:20b")["thinking"].state == "ok"


def test_thinking_that_the_model_cannot_or_must(there, tmp_path):
    cannot = checked(models=thinks(tmp_path, "low"))["thinking"]
    assert (cannot.state, cannot.found.split(",")[0]) == ("bad", "tiny cannot think")
    assert '{models: {"tiny": {think: false}}}' in cannot.fix
    there.models["gpt-oss:20b"] = Model(size=1, family="unheard", capabilities=("completion", "thinking"))
    must = checked(model="gpt-oss:20b", models=thinks(tmp_path, "false"))["thinking"]
    assert must.state == "bad"
    assert '{models: {"gpt-oss:20b": {think: low}}}' in must.fix


def test_an_mlx_build(there):
    there.models["qwen3.5:4b-mlx"] = SMALL
    check = checked(model="qwen3.5:4b-mlx")["model build"]
    assert check.state == "note"
    assert "Ollama issues 16776, 17183, 18567" in check.found
    assert check.fix.startswith("local-rag models pull qwen3.5 ")


@pytest.mark.parametrize(
    ("size", "state", "found"),
    [(5, "ok", "takes about 5 B of this machine's 10 B"), (8, "note", "more than 70%"), (11, "bad", "was not tried")],
)
def test_memory_against_the_size_of_the_model(there, monkeypatch, size, state, found):
    monkeypatch.setattr(module, "total_memory", lambda: 10)
    there.models["tiny:latest"] = Model(size=size)
    checks = checked()
    assert checks["model memory"].state == state
    assert found in checks["model memory"].found
    assert ("schema" in checks) == (state != "bad")


def test_a_large_model_that_is_loaded_is_tried(there, monkeypatch):
    checked()
    monkeypatch.setattr(module, "total_memory", lambda: 10)
    checks = checked()
    assert (checks["model memory"].state, checks["schema"].state) == ("note", "ok")
    monkeypatch.setattr(module, "total_memory", lambda: None)
    assert checked()["model memory"].state == "note"


def test_a_schema_that_is_kept_at_the_second_try_or_never(there):
    there.script("Yes and no.", VERDICTS)
    second = checked()["schema"]
    assert (second.state, "only at the second try" in second.found) == ("note", True)
    there.script("Yes and no.", '{"r": ["maybe", "no"]}')
    never = checked()["schema"]
    assert (never.state, "no usable verdict on two passages" in never.found) == ("bad", True)
    assert never.fix.splitlines()[0] == "local-rag models try tiny"


def test_replies_that_are_swallowed(there):
    there.models["tiny:latest"] = Model(capabilities=("completion", "thinking"))
    there.script(empty())
    check = checked()["schema"]
    assert check.state == "bad"
    assert "returned no text" in check.found and "'think: low'" in check.fix


def test_a_call_that_fails_is_one_finding(there):
    there.script(error(500, "cudaMalloc failed: out of memory"))
    checks = checked()
    assert checks["schema"].state == "bad"
    assert "could not run tiny" in checks["schema"].found
    assert checks["model"].state == "ok"


def test_both_models_of_a_profile(there, monkeypatch, tmp_path):
    monkeypatch.delenv("LOCAL_RAG_MODEL")
    there.models |= {"small:1b": SMALL, "other:1b": SMALL}
    file = tmp_path / "mine.yaml"
    profile = 'mine: {memory: 1, model: "small:1b", roles: {grader: "other:1b"}}'
    file.write_text(f"ollama:\n  profiles:\n    {profile}\n")
    checks = list(ollama_checks(Settings.load(models=str(file), profile="mine")))
    assert [check.found.split()[0] for check in checks if check.name == "model"] == ["small:1b", "other:1b"]
    assert checks[-1].found.startswith("other:1b kept to the form")


def test_doctor_as_a_whole(there, capsys):
    checks = run_checks(Settings.load())
    assert [check.name for check in checks][-1] == "schema"
    lines = shown(checks_table(checks))
    (first,) = [number for number, line in enumerate(lines) if line.startswith("note  Ollama cloud: ")]
    assert [line[:9] for line in lines[first + 1 : first + 5]] == ["      -> "] * 4
    assert json.dumps(lines)


def test_an_old_server(monkeypatch):
    with OllamaServer("0.24.0") as old:
        old.models = {"tiny:latest": SMALL}
        monkeypatch.setenv("OLLAMA_HOST", old.host)
        checks = checked(model="tiny")
    assert {check.state for name, check in checks.items() if name != "Ollama cloud"} == {"ok"}
