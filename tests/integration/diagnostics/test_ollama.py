"""Test doctor's checks of Ollama, against a server on loopback."""

from dataclasses import replace

import pytest
from support.ollama_server import Model, OllamaServer, error
from support.screen import shown

from local_rag.config.settings import Settings
from local_rag.diagnostics import ollama as module
from local_rag.diagnostics.doctor import run_checks
from local_rag.diagnostics.ollama import NO_CLOUD, no_cloud, ollama_checks
from local_rag.terminal.diagnostics import checks_table

SMALL = Model(size=1_000_000, window=16_384)
THINKS = Model(size=1, capabilities=("completion", "thinking"))
AFAR = Model(size=400, remote_host="https://ollama.com:443")
VERDICTS = '{"r": "yes no"}'


@pytest.fixture
def there(ollama, monkeypatch):
    """Return a server at the address of OLLAMA_HOST, with a small model that is named for every role."""
    ollama.models = {"tiny:latest": SMALL}
    monkeypatch.setenv("LOCAL_RAG_MODEL", "tiny")
    return ollama


def checked(**flags):
    """Return the checks by name, after checking that no name comes twice, since there is one model."""
    checks = list(ollama_checks(Settings.load(**flags)))
    assert len({check.name for check in checks}) == len(checks)
    return {check.name: check for check in checks}


def test_a_good_server_passes_every_check(there):
    there.cloud = {"disabled": True, "source": "env"}
    there.script(VERDICTS)
    checks = checked()
    assert {(check.state, check.fix) for check in checks.values()} == {("ok", "")}
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


# --- no server --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "host", "state", "found", "fix"),
    [
        ({"engine": "extractive"}, "192.0.2.7", "ok", "extractive: ", ""),
        ({}, "", "note", "the extractive engine answers instead", "ollama serve   (to install it: https://ollama.com"),
        (
            {},
            "",
            "note",
            "no Ollama server answers at 127.0.0.1:1",
            "\nthen: local-rag models pull   (downloads qwen3:",
        ),
        ({"engine": "ollama"}, "", "bad", "no Ollama server answers", "\nthen: local-rag models pull   (downloads "),
        ({"profile": "8gb"}, "", "bad", "no Ollama server answers", "\nthen: local-rag models pull   (downloads "),
        ({"model": "tiny"}, "", "bad", "no Ollama server answers", "\nthen: local-rag models pull tiny"),
        ({}, "192.0.2.7", "note", "192.0.2.7:11434 is not this machine, so nothing was sent", "ALLOW_HOSTS=192.0.2.7"),
    ],
)
def test_a_missing_server_is_a_problem_only_if_it_was_named(monkeypatch, flags, host, state, found, fix):
    if host:
        monkeypatch.setenv("OLLAMA_HOST", host)
    (check,) = ollama_checks(Settings.load(**flags))
    assert check.state == state and found in check.found and fix in check.fix


def test_something_else_listens_there(there):
    there.instead["/api/version"] = error(404, "no page here")
    (check,) = ollama_checks(Settings.load())
    assert (check.name, check.state) == ("Ollama", "bad") and "no page here" in check.found


def test_ollama_itself_may_call_out(there):
    check = checked()["Ollama cloud"]
    assert check.state == "note" and "at its start and every four hours" in check.found
    assert "OLLAMA_NO_CLOUD" in check.fix
    there.instead["/api/status"] = error(404, "page not found")
    assert "does not say whether it may call ollama.com" in checked()["Ollama cloud"].found


@pytest.mark.parametrize("platform", NO_CLOUD)
def test_how_to_switch_that_off_begins_with_this_system(platform):
    first, *_, last = lines = no_cloud(platform).splitlines()
    assert first == NO_CLOUD[platform] and set(lines) > set(NO_CLOUD.values()) and "disable_ollama_cloud" in last


# --- a model ----------------------------------------------------------------------------------------------------------

MODELS = [
    # models of the server, flags, check, state, what was found, what mends it
    ({}, {"engine": "auto", "model": "none"}, "model", "bad", "has no model none", "LOCAL_RAG_MODEL=tiny:latest"),
    ({"afar:latest": AFAR}, {"model": "afar"}, "model", "bad", "would send your question and passages to", ""),
    ({}, {"model": "big:cloud"}, "model", "bad", "would send your question and passages to", ""),
    (
        {"afar:latest": AFAR},
        {"model": "afar", "ollama__allow_cloud": "afar"},
        "model",
        "note",
        "answers from https://ollama.com:443, because you allowed it",
        "take afar out of the setting",
    ),
    (
        {"tiny:latest": Model(size=1, window=2048)},
        {},
        "model window",
        "note",
        "trained for 2,048 tokens, so num_ctx is lowered to that from 8,192",
        '"tiny": {num_ctx: 2048}',
    ),
    ({"tiny:latest": THINKS}, {}, "thinking", "ok", "tiny can think; it is sent think: false", ""),
    ({"tiny:latest": THINKS}, {"think": "low"}, "thinking", "ok", "tiny can think; it is sent think: low", ""),
    ({}, {"think": "low"}, "thinking", "bad", "tiny cannot think", '{models: {"tiny": {think: false}}}'),
    (
        {"gpt-oss:20b": replace(THINKS, family="unheard")},
        {"model": "gpt-oss:20b", "think": "false"},
        "thinking",
        "bad",
        "loses its verdicts",
        '{models: {"gpt-oss:20b": {think: low}}}',
    ),
    ({"q:4b-mlx": SMALL}, {"model": "q:4b-mlx"}, "model build", "note", "Ollama issue 18567", "models pull q "),
    ({"tiny:latest": Model(size=5)}, {}, "model memory", "ok", "takes about 5 B of this machine's 10 B", ""),
    ({"tiny:latest": Model(size=8)}, {}, "model memory", "note", "more than 70%", "local-rag models "),
    ({"tiny:latest": Model(size=11)}, {}, "model memory", "bad", "was not tried", "local-rag models "),
]


@pytest.mark.parametrize(("models", "flags", "name", "state", "found", "fix"), MODELS)
def test_each_problem_of_a_model_has_its_fix(there, monkeypatch, tmp_path, models, flags, name, state, found, fix):
    there.models |= models
    if name == "model memory":
        monkeypatch.setattr(module, "total_memory", lambda: 10)
    if think := flags.get("think"):
        file = tmp_path / "mine.yaml"
        file.write_text(f"ollama:\n  models:\n    gpt-oss: {{think: {think}}}\n    tiny: {{think: {think}}}\n")
        flags = {key: value for key, value in flags.items() if key != "think"} | {"models": str(file)}
    checks = checked(**flags)
    assert checks[name].state == state and found in checks[name].found and fix in checks[name].fix
    is_left_alone = name == "model" or found == "was not tried"
    assert ("schema" in checks) == bool(there.chats) == (not is_left_alone)


def test_under_auto_a_missing_model_is_a_note(there, monkeypatch):
    monkeypatch.delenv("LOCAL_RAG_MODEL")
    assert checked()["model"].state == "note"
    assert checked(engine="ollama")["model"].state == "bad"
    assert there.chats == []


def test_facts_that_the_server_does_not_tell_are_notes(there, monkeypatch):
    there.instead["/api/show"] = error(200, "")
    monkeypatch.setattr(module, "total_memory", lambda: None)
    checks = checked()
    assert "does not say for how many tokens it was trained" in checks["model window"].found
    assert checks["model memory"].state == "note"


def test_a_large_model_that_is_loaded_is_tried(there, monkeypatch):
    checked()  # loads it
    monkeypatch.setattr(module, "total_memory", lambda: 10)
    checks = checked()
    assert (checks["model memory"].state, checks["schema"].state) == ("note", "ok")


@pytest.mark.parametrize(
    ("replies", "state", "found", "fix"),
    [
        (("Yes and no.", VERDICTS), "note", "only at the second try", "local-rag models try tiny"),
        (("Yes and no.", '{"r": ["maybe", "no"]}'), "bad", "no usable verdict on two passages", "models try tiny\n"),
        ((error(500, "cudaMalloc failed: out of memory"),), "bad", "could not run tiny", ""),
    ],
)
def test_a_reply_that_has_not_its_form(there, replies, state, found, fix):
    there.script(*replies)
    checks = checked()
    assert checks["schema"].state == state and found in checks["schema"].found and fix in checks["schema"].fix
    assert checks["model"].state == "ok"


def test_both_models_of_a_profile(there, monkeypatch, tmp_path):
    monkeypatch.delenv("LOCAL_RAG_MODEL")
    there.models |= {"small:1b": SMALL, "other:1b": SMALL}
    profile = 'mine: {memory: 1, model: "small:1b", roles: {grader: "other:1b"}}'
    (tmp_path / "mine.yaml").write_text(f"ollama:\n  profiles:\n    {profile}\n")
    checks = list(ollama_checks(Settings.load(models=str(tmp_path / "mine.yaml"), profile="mine")))
    assert [check.found.split()[0] for check in checks if check.name == "model"] == ["small:1b", "other:1b"]
    assert checks[-1].found.startswith("other:1b kept to the form")


def test_doctor_ends_with_the_checks_of_ollama(there):
    checks = run_checks(Settings.load())
    assert [check.name for check in checks][-1] == "schema"
    lines = shown(checks_table(checks))
    (first,) = [number for number, line in enumerate(lines) if line.startswith("note  Ollama cloud: ")]
    assert lines[first + 1].strip().startswith("-> ")


def test_an_old_server_passes_the_other_checks(monkeypatch):
    with OllamaServer("0.24.0") as old:
        old.models = {"tiny:latest": SMALL}
        monkeypatch.setenv("OLLAMA_HOST", old.host)
        checks = checked(model="tiny")
    assert {check.state for name, check in checks.items() if name != "Ollama cloud"} == {"ok"}


GEMMA4 = replace(THINKS, family="gemma4")


@pytest.mark.parametrize(
    ("version", "model", "think", "found"),
    [
        (
            "0.23.4",
            THINKS,
            "false",
            "form of its verdicts with think: false (Ollama issues 14645, 15260) needs Ollama",
        ),
        ("0.23.4", GEMMA4, "false", ""),
        ("0.21.0", GEMMA4, "false", "needs Ollama 0.21.1"),
        ("0.23.4", THINKS, "max", "think: max (Ollama issue 15787) needs Ollama 0.24 or newer, and this is 0.23.4"),
        ("0.24.0", THINKS, "max", ""),
        ("built here", THINKS, "max", ""),
        ("0.9.0", SMALL, "false", "tiny needs Ollama 0.21.1 or newer, and this is 0.9.0"),
    ],
)
def test_what_needs_a_newer_ollama(there, tmp_path, version, model, think, found):
    there.version = version
    there.models["tiny:latest"] = model
    requires = ', requires: "0.21.1"' if version == "0.9.0" else ""
    (tmp_path / "mine.yaml").write_text(f"ollama: {{models: {{tiny: {{think: {think}{requires}}}}}}}")
    check = checked(models=str(tmp_path / "mine.yaml")).get("Ollama version")
    assert found in check.found and "newer Ollama from https://ollama.com" in check.fix if found else check is None
