"""Test the choice of the engine: a named one is never replaced, and `auto` says which it took and why."""

from contextlib import closing

import pytest
from support.fakes import FakeCorpus
from support.fakes_index import HashingEmbedder
from support.ollama_server import Model

from local_rag.config.settings import Settings
from local_rag.core.errors import LocalRagError, ModelMissing, NotLocal, ServerDown, UsageError
from local_rag.runtime.engine_choice import choose_engine, open_ollama

OURS = "qwen3:4b-instruct"


def chosen(**flags):
    choice = choose_engine(Settings.load(**flags), HashingEmbedder(), FakeCorpus())
    choice.engine.close()
    return choice


@pytest.fixture(autouse=True)
def sixteen(monkeypatch):
    """Pretend that the machine has 16 GB."""
    monkeypatch.setattr("local_rag.config.models.total_memory", lambda: 16_000_000_000)


@pytest.fixture
def there(ollama):
    """Return a server at the address of OLLAMA_HOST, with the model of the profile."""
    ollama.models[OURS] = Model()
    return ollama


def test_without_a_server_auto_quotes_and_says_why():
    choice = chosen()
    assert choice.engine.name == "extractive"
    assert choice.lines == [
        "engine: extractive, quotes only (no Ollama server answers at 127.0.0.1:1)",
        "  to change that: ollama serve   (to install it: https://ollama.com/download)",
    ]
    assert max(map(len, choice.lines)) < 80, "each fits a line of a terminal"


def test_with_a_server_and_the_model_auto_takes_ollama_and_says_how_to_change_it(there):
    assert chosen(engine="extractive").engine.name == "extractive"
    assert there.requests == [], "what was named asks no server"
    choice = chosen()
    assert choice.engine.name == f"ollama/{OURS}"
    assert "window 8,192 tokens" in choice.lines[0]
    assert "--engine extractive" in choice.lines[1]
    assert there.chats == []
    assert chosen(engine="ollama").lines[1:] == [], "what was named is not explained"


def test_with_a_server_without_the_model_auto_names_the_command_and_what_there_is(there):
    del there.models[OURS]
    choice = chosen()
    assert choice.engine.name == "extractive"
    assert "has no model qwen3:4b-instruct; it has tiny:latest" in choice.why
    assert "local-rag models pull qwen3:4b-instruct" in choice.change and "--model tiny:latest" in choice.change


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ({"engine": "ollama"}, ""),
        ({"model": OURS}, ""),
        ({"profile": "8gb"}, ""),
        ({"ollama__host": "127.0.0.1:1"}, r".* and ollama.host = '127.0.0.1:1' \(flag\) needs one$"),
    ],
)
def test_a_missing_server_is_an_error_for_what_was_named(flags, why):
    with pytest.raises(ServerDown, match=f"no Ollama server answers{why}"):
        chosen(**flags)


def test_a_missing_server_is_an_error_with_the_setting_that_needs_one_and_the_way_without(home, monkeypatch):
    config = home / "config" / "config.yaml"
    _write(config, "model: qwen9:900b\n")
    with pytest.raises(ServerDown) as met:
        chosen()
    assert str(met.value).endswith(f"and model = 'qwen9:900b' ({config}) needs one")
    assert met.value.hint.startswith("ollama serve ") and met.value.hint.endswith(f"take model out of {config}")
    monkeypatch.setenv("LOCAL_RAG_MODEL", "mistral")
    with pytest.raises(ServerDown, match=r"'mistral' \(LOCAL_RAG_MODEL\)") as met:
        chosen()
    assert met.value.hint.endswith("unset LOCAL_RAG_MODEL")


@pytest.mark.parametrize(
    ("flags", "file", "text"),
    [
        ({"model": "mistral"}, "config.yaml", ""),
        ({}, "config.yaml", "model: mistral\n"),
        ({}, "models.yaml", 'ollama: {profiles: {16gb: {model: "mistral"}}}\n'),
    ],
)
def test_a_named_model_that_is_missing_is_an_error(there, home, flags, file, text):
    _write(home / "config" / file, text)
    with pytest.raises(ModelMissing, match="has no model mistral") as met:
        chosen(**flags)
    assert "local-rag models pull mistral" in met.value.hint


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_roles_may_have_models_of_their_own(there, home):
    profile = f'{{memory: 16, model: "{OURS}", num_ctx: 4096, roles: {{grader: tiny}}}}'
    _write(home / "config" / "models.yaml", f"ollama: {{profiles: {{two: {profile}}}}}\n")
    engine = chosen(profile="two").engine
    assert {use.model for use in engine.models} == {OURS, "tiny"}
    assert engine.setups["grader"].model == "tiny" and engine.setups["generator"].model == OURS


@pytest.mark.parametrize("host", ["models.test:11434", "10.1.2.3", "http://localhost:11434/ollama", "no host"])
def test_ollamas_own_variable_names_nothing(monkeypatch, host):
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert chosen().engine.name == "extractive"
    with pytest.raises((NotLocal, UsageError)):
        chosen(engine="ollama")


def test_a_setting_is_stronger_than_ollamas_own_variable(there, monkeypatch):
    host = there.host
    monkeypatch.setenv("OLLAMA_HOST", "models.test")
    assert chosen(ollama__host=host).engine.name == f"ollama/{OURS}"


@pytest.mark.parametrize("host", ["models.test:11434", "10.1.2.3"])
def test_another_machine_by_a_setting_is_refused_before_anything_is_sent(host):
    with pytest.raises(NotLocal, match="is not this machine, so nothing was sent"):
        chosen(ollama__host=host)


@pytest.mark.parametrize("flags", [{"model": "tiny"}, {"profile": "8gb"}, {"profile": "no such"}])
def test_a_model_for_the_engine_without_one_is_a_mistake(flags, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_ENGINE", "extractive")
    with pytest.raises(UsageError, match="has no language model"):
        chosen(**flags)


def test_cloud_models_are_refused_by_name_and_by_where_they_run(there):
    for model in ("gpt-oss:120b-cloud", "glm:Cloud"):
        with pytest.raises(NotLocal, match=r"send your question and .* ollama\.com") as met:
            chosen(model=model)
        assert "LOCAL_RAG_OLLAMA_ALLOW_CLOUD" in met.value.hint
    there.models["afar:latest"] = Model(remote_host="https://ollama.com:443", remote_model="gpt-oss:120b")
    with pytest.raises(NotLocal, match=r"https://ollama\.com"):
        chosen(model="afar")
    with pytest.raises(NotLocal, match=r"https://ollama\.com"):
        chosen(model="afar", ollama__allow_cloud=["another"])
    assert chosen(model="afar", ollama__allow_cloud=["afar"]).engine.name == "ollama/afar"
    assert there.chats == []


def test_the_window_is_never_wider_than_the_model_was_trained_for(there):
    there.models[OURS] = Model(window=2048)
    assert chosen().engine.setups["grader"].num_ctx == 2048


def test_whatever_else_listens_there_is_no_ollama(there):
    from support.ollama_server import error

    there.instead = {"/api/show": error(404, "not here"), "/api/tags": error(404, "not here")}
    assert chosen().engine.name == "extractive"
    with pytest.raises(LocalRagError):
        chosen(engine="ollama")


@pytest.fixture
def no_weights(tmp_path):
    """Return settings for an evaluator whose weights are missing."""
    file = tmp_path / "models.yaml"
    file.write_text(f"evaluators: {{gone: {{path: {tmp_path / 'gone'}}}}}\n")
    return {"models": str(file), "evaluator": "gone"}


def test_the_engine_that_grades_by_the_evaluator_is_given_it(there):
    choice = chosen(ollama__grading="evaluator")
    assert choice.engine.grading == "evaluator" and choice.evaluator is not None
    assert choice.engine.how_graded.endswith(f"; evaluator {choice.evaluator.fingerprint}")
    assert choice.lines[0].endswith("; the evaluator grades passages")


def test_nothing_grades_or_is_quoted_in_the_place_of_an_evaluator_that_cannot_be_had(there, no_weights):
    gone = "the weights of the evaluator 'gone'"
    with pytest.raises(ModelMissing, match=rf"ollama.grading is evaluator \(.*\): {gone}") as met:
        chosen(ollama__grading="evaluator", **no_weights)
    assert met.value.hint
    assert there.chats == []
    choice = chosen(ollama__grading="packed", **no_weights)
    assert choice.engine.grading == "packed" and "without the evaluator" in choice.note
    with pytest.raises(ModelMissing, match=gone):
        chosen(engine="extractive", **no_weights)


def test_a_trial_asks_the_model_whoever_grades_questions(there):
    with closing(open_ollama(Settings.load(ollama__grading="evaluator"), trial=True)) as engine:
        assert engine.grading == "packed"
