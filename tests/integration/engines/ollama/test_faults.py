"""Whatever goes wrong with Ollama ends in a clear error or in a marked verdict, in time, and never in a yes."""

import pytest
from support.ollama_engine import (
    QUESTION,
    YES,
    answered,
    contents,
    engine_on,
    graded,
    labels,
    passages,
)
from support.ollama_server import (
    OllamaServer,
    cut,
    empty,
    error,
    error_line,
    no_done,
    raw,
    redirect,
    say,
    slow,
    stall,
)

from local_rag.core import cancel
from local_rag.core.errors import EngineError, ModelMissing, NotLocal, ServerDown
from local_rag.core.protocols import Attempt
from local_rag.engines import calls

ANSWER = "It costs 100 euros [1]."
OUT_OF_MEMORY = "model requires more system memory (5.6 GiB) than is available (2.1 GiB)"
RUNNER_DIED = "an error was encountered while running the model: unexpected EOF"


@pytest.fixture
def impatient(monkeypatch):
    """Settings for a server that must answer at once; the time to read a prompt is left out."""
    monkeypatch.setattr(calls, "READING", 1e6)
    return {"idle_seconds": 0.1, "load_seconds": 0.7}


# --- the server and the model -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gone", "kind", "said"),
    [
        (lambda ollama: ollama.close(), ServerDown, "no Ollama server answers"),
        (lambda ollama: ollama.models.clear(), ModelMissing, "has no model tiny"),
    ],
)
def test_the_server_or_the_model_is_gone_between_two_questions(ollama, engine, gone, kind, said):
    engine.relevance(QUESTION, passages())
    gone(ollama)
    for task in (lambda: engine.relevance(QUESTION, passages()), lambda: answered(engine)):
        with pytest.raises(kind, match=said) as met:
            task()
        assert met.value.hint


# --- silence ----------------------------------------------------------------------------------------------------------


def test_a_slow_first_token_is_a_model_that_loads(ollama, impatient):
    patient = impatient | {"load_seconds": 60.0}  # silence of more than idle_seconds, and of far less than these
    assert labels(graded(ollama, slow(0.3, YES), **patient)) == ["relevant", "relevant"]


def test_a_first_token_that_never_comes(ollama, impatient):
    with pytest.raises(EngineError, match="tiny sent nothing for 1 s, so the connection was closed") as met:
        graded(ollama, slow(600, YES), **impatient)
    assert "LOCAL_RAG_OLLAMA_IDLE_SECONDS" in met.value.hint
    ollama.wait_idle()
    assert ollama.requests[-1].aborted


def test_a_long_prompt_may_take_long_to_read(ollama):
    assert labels(graded(ollama, slow(0.5, YES), idle_seconds=0.1, load_seconds=0.1)) == ["relevant", "relevant"]


def test_a_stall_in_the_middle(ollama, impatient):
    ollama.always = stall(2, 30)
    with engine_on(ollama, **impatient | {"load_seconds": 60.0}) as engine:
        for task in (lambda: engine.relevance(QUESTION, passages()), lambda: answered(engine)):
            with pytest.raises(EngineError, match=r"tiny stopped in the middle of its reply for 0 s"):
                task()
            ollama.wait_idle()
            assert ollama.requests[-1].aborted


# --- replies that break off -------------------------------------------------------------------------------------------

BREAKS = {
    "no done": no_done('{"r": ["yes", "yes"'),
    "no done, though whole": no_done(YES),
    "nothing at all": no_done(""),
    "no chunk": raw(200, "application/x-ndjson", []),
    "cut": cut(3, YES),
    "cut before it began": cut(0),
    "at once": empty(1),
    "error line": error_line(3, RUNNER_DIED),
}
every_break = pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)


@every_break
def test_a_verdict_that_breaks_off_is_asked_for_once_more(ollama, broken):
    verdicts = graded(ollama, broken, YES)
    assert labels(verdicts) == ["relevant", "relevant"]
    usage = verdicts[0].usage
    assert (usage.calls, usage.retries, usage.unparsed) == (2, 1, 0)
    assert [call.retry for call in usage.log] == [False, True]
    first, second = ollama.chats
    assert contents(first) == contents(second)
    assert (first["options"]["temperature"], second["options"]["temperature"]) == (0.0, 0.7)


@every_break
def test_an_answer_that_breaks_off_begins_anew_and_warmer_and_is_then_an_error(ollama, engine, broken):
    ollama.script(broken, ANSWER, broken, broken)
    pieces, text = answered(engine)
    with pytest.raises(EngineError, match=r"tiny|was cut in the middle") as met:
        answered(engine)
    assert "ask again" in met.value.hint
    assert text == ANSWER
    wrote = any(piece.text for piece in pieces[: next((i for i, p in enumerate(pieces) if p.restart), 0)])
    assert sum(piece.restart for piece in pieces) == wrote, "a restart only where there is something to forget"
    assert (pieces[-1].usage.calls, pieces[-1].usage.retries) == (2, 1)
    first, second, *others = ollama.chats
    assert (first["options"]["temperature"], second["options"]["temperature"]) == (0.0, 0.7)
    assert contents(first) == contents(second) and len(others) == 2


def test_a_server_that_dies_in_the_middle_and_stays_away(ollama, engine):
    ollama.script(stall(1, 600))
    pieces = engine.answer(QUESTION, passages(), Attempt())
    assert next(pieces).text == "It"
    ollama.close()
    assert next(pieces).restart
    with pytest.raises(ServerDown, match="no Ollama server answers"):
        next(pieces)


# --- loading again ----------------------------------------------------------------------------------------------------


def test_a_load_is_counted_and_takes_nothing_from_the_time_of_the_question(ollama, engine):
    ollama.script(say(YES, load_ms=30_000))
    limited = cancel.Cancel(60)
    before = limited.deadline
    with cancel.scope(limited):
        first = engine.relevance(QUESTION, passages())[0].usage
        again = engine.relevance(QUESTION, passages())[0].usage
    assert (first.loads, again.loads) == (1, 0)
    assert limited.deadline == pytest.approx(before + 30)


# --- elsewhere --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_not_followed(ollama, status):
    with OllamaServer() as elsewhere, engine_on(ollama) as engine:
        away = redirect(f"http://{elsewhere.host}/api/chat", status)
        ollama.script(away, away)
        for task in (lambda: engine.relevance(QUESTION, passages()), lambda: answered(engine)):
            with pytest.raises(NotLocal, match=f"redirects to http://{elsewhere.host}/api/chat, which is not") as met:
                task()
            assert "port" in met.value.hint
        for target in (f"http://{elsewhere.host}/api/show", "/elsewhere"):
            ollama.instead = {"/api/show": redirect(target, status)}
            with pytest.raises(NotLocal, match="redirects to"), engine_on(ollama):
                pass
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (OUT_OF_MEMORY, "could not run tiny: model requires more system memory"),
        ("llama runner process has terminated: signal: killed", "could not run tiny"),
        ("unable to load model: /blobs/x", "could not run tiny"),
        ('"tiny" does not support chat', "no chat model"),
        ("server busy, please try again. maximum pending requests exceeded", "busy"),
        ("invalid model name", "no name of a model"),
    ],
)
def test_errors_say_what_they_mean(ollama, engine, message, words):
    ollama.always = lambda body: error(500, message)
    for task in (lambda: engine.relevance(QUESTION, passages()), lambda: answered(engine)):
        with pytest.raises(EngineError, match=words) as met:
            task()
        assert met.value.hint != "local-rag doctor"
    assert len(ollama.chats) == 2, "it is not asked for again"
