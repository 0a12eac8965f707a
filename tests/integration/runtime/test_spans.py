"""Spans of OpenTelemetry go to a collector on this machine, where one is named, and nowhere else."""

from __future__ import annotations

import json

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.collector import collector
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage
from support.ollama_engine import engine_on
from support.ollama_server import error

from local_rag import Rag
from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.core.errors import EngineError, LocalRagError, NotLocal, UsageError
from local_rag.diagnostics.doctor import run_checks

pytest.importorskip("opentelemetry.sdk", reason="the extra otlp is not installed")
pytest.importorskip("opentelemetry.exporter.otlp.proto.common", reason="the extra otlp is not installed")

QUESTION = "What does the plan cost?"
ANSWER = "Passage 1 says that the plan costs 100 euros. [1]"
REPLIES = ['{"r": "yes yes yes yes"}', ANSWER, '{"s": "fully", "u": 5}']
KIND = "openinference.span.kind"


def opened(url, engine=None, **settings):
    corpus = FakeCorpus([passage(number, ANSWER.removesuffix(" [1]")) for number in range(1, 5)])
    return Rag.open(engine=engine or ScriptedEngine(), corpus=corpus, trace__otlp=url, **settings)


def test_a_question_is_a_trace_of_its_nodes_calls_and_retrievals(ollama):
    ollama.script(*REPLIES)
    with collector() as collected:
        with engine_on(ollama) as engine, opened(collected.url, engine) as rag:
            assert rag.ask(QUESTION, thread="taxes").text == ANSWER
        spans = {span.name: (span, attributes) for span, attributes in collected.spans()}
        assert {path for path, _, _ in collected.requests} == {"/v1/traces"}
        assert collected.requests[0][1]["content-type"] == "application/x-protobuf"
    assert len({span.trace_id for span, _ in spans.values()}) == 1
    above = {span.span_id: name for name, (span, _) in spans.items()}
    tree = {name: above.get(span.parent_span_id) for name, (span, _) in spans.items()}
    assert tree["self-rag"] is None
    assert (tree["index"], tree["retrieval_grader"]) == ("retrieve", "grade_documents")
    assert (tree["generator"], tree["generation_grader"]) == ("generate", "grade_generation")
    assert {tree[node] for node in ("retrieve", "grade_documents", "generate", "grade_generation")} == {"self-rag"}
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span, _ in spans.values())

    root = spans["self-rag"][1]
    assert (root[KIND], root["input.value"], root["session.id"]) == ("CHAIN", QUESTION, "taxes")
    assert json.loads(root["output.value"])["generation"] == ANSWER
    retrieval = spans["index"][1]
    assert (retrieval[KIND], retrieval["input.value"]) == ("RETRIEVER", QUESTION)
    assert retrieval["retrieval.documents.0.document.content"].startswith("Passage 1 says")
    assert retrieval["retrieval.documents.3.document.id"] == "4"
    assert retrieval["retrieval.documents.0.document.score"] == 0.5
    call = spans["generator"][1]
    assert (call[KIND], call["llm.model_name"], call["llm.provider"]) == ("LLM", "tiny", "ollama")
    assert call["llm.input_messages.0.message.role"] == "system"
    assert QUESTION in call["llm.input_messages.1.message.content"]
    assert call["llm.output_messages.0.message.content"] == ANSWER
    assert call["llm.token_count.total"] == call["llm.token_count.prompt"] + call["llm.token_count.completion"] > 0
    assert json.loads(spans["grade_documents"][1]["output.value"])["label"] == "generate"


def test_graphs_of_ones_own_program_are_traced_too_and_errors_are_seen(ollama):
    ollama.script(error(500, "out of memory"))
    with collector() as collected:
        with engine_on(ollama) as engine, opened(collected.url, engine) as rag, pytest.raises(EngineError):
            rag.graph("crag").invoke({"question": QUESTION})
        failed = {span.name: span.status for span, _ in collected.spans() if span.status.code == 2}
    assert set(failed) == {"crag", "grade_documents", "retrieval_grader"}
    assert "out of memory" in failed["retrieval_grader"].message


def test_a_node_that_waits_for_a_person_has_not_failed():
    with collector() as collected:
        with opened(collected.url, ScriptedEngine(relevant=["n"])) as rag:
            rag.web = FakeWeb()
            config = {"configurable": {"thread_id": "1"}}
            app = rag.graph("crag", checkpointer=InMemorySaver())
            waiting = app.invoke({"question": QUESTION}, config, context=rag.context(may_search="interrupt"))
            assert "__interrupt__" in waiting
        codes = {span.name: span.status.code for span, _ in collected.spans()}
    assert "web_search_node" in codes and set(codes.values()) == {1}


def test_what_the_router_and_a_fallback_corpus_are_searched_for_are_retrievals_too(tmp_path):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "plan.txt").write_text("The plan costs 100 euros a year.", encoding="utf-8")
    with collector() as collected:
        engine = ScriptedEngine(relevant=["n", "y"])
        with opened(collected.url, engine, web__source=str(tmp_path / "saved"), direct=True) as rag:
            rag.ask(QUESTION, graph="crag")
            rag.ask(QUESTION, graph="adaptive")
        spans = {span.span_id: (span, attributes) for span, attributes in collected.spans()}
    places = {
        (span.name, spans[span.parent_span_id][0].name)
        for span, attributes in spans.values()
        if attributes[KIND] == "RETRIEVER"
    }
    assert {("index", "route_question"), ("fallback corpus", "web_search_node")} <= places


@pytest.mark.parametrize(
    "url",
    [
        "http://192.0.2.1:6006/v1/traces",
        "https://cloud.langfuse.test/api/public/otel/v1/traces",
        "http://127.0.0.1.example.org/v1/traces",
        "http://0.0.0.0:6006/v1/traces",
    ],
)
def test_another_machine_is_refused_in_one_line(url):
    with pytest.raises(NotLocal, match="is not this machine, and spans quote your files") as raised:
        opened(url)
    assert "\n" not in str(raised.value)
    assert raised.value.hint == "http://127.0.0.1:6006/v1/traces is where Phoenix listens"


@pytest.mark.parametrize("url", ["phoenix", "127.0.0.1:6006", "ftp://127.0.0.1/v1/traces", "http://key@127.0.0.1/v1"])
def test_what_is_no_url_of_a_collector_is_refused(url):
    with pytest.raises(UsageError, match="takes the URL of a collector on this machine"):
        opened(url)


def test_a_collector_is_looked_at_before_a_fallback_corpus_is_indexed():
    with pytest.raises(UsageError, match="takes the URL of a collector"):
        opened("phoenix", web__source="a folder that is not there")


def test_redirects_and_proxies_are_not_followed(monkeypatch, caplog):
    with collector() as elsewhere, collector() as collected:
        for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy"):
            monkeypatch.setenv(name, elsewhere.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", elsewhere.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", elsewhere.url)
        collected.status, collected.headers = 307, {"location": elsewhere.url}
        with opened(collected.url) as rag:
            assert rag.ask(QUESTION).status == "grounded"
        assert collected.requests
        assert elsewhere.requests == []
    assert "the collector at 127.0.0.1" in caplog.text and "it answers with status 307" in caplog.text


def test_a_question_does_not_wait_for_a_collector_that_is_not_there(caplog):
    with opened("http://127.0.0.1:1/v1/traces") as rag:
        assert rag.ask(QUESTION).status == "grounded"
    assert caplog.text.count("spans are lost") == 1


def test_the_key_of_a_collector_comes_from_opentelemetrys_own_variable(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20YTpi, x-project = mine")
    with collector("/api/public/otel/v1/traces") as collected:
        with opened(collected.url) as rag:
            rag.ask(QUESTION)
        path, headers, _ = collected.requests[0]
    assert path == "/api/public/otel/v1/traces"
    assert (headers["authorization"], headers["x-project"]) == ("Basic YTpi", "mine")


def test_variables_alone_switch_nothing_on(monkeypatch):
    with collector() as collected:
        for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "PHOENIX_COLLECTOR_ENDPOINT"):
            monkeypatch.setenv(name, collected.url)
        monkeypatch.setenv("LANGSMITH_OTEL_ENABLED", "true")
        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        with Rag.open(engine=ScriptedEngine(), corpus=FakeCorpus()) as rag:
            rag.ask(QUESTION)
            assert rag.spans is None
        assert collected.requests == []


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setattr("local_rag.runtime.collector.LIBRARIES", ("opentelemetry.not_there",))
    with pytest.raises(LocalRagError, match="the extra 'otlp' brings") as raised:
        opened("http://127.0.0.1:6006/v1/traces")
    assert raised.value.hint == 'pip install "local-rag[otlp]"'


def test_doctor_and_kept_say_where_spans_go(monkeypatch, capsys):
    with collector() as collected:
        monkeypatch.setenv("LOCAL_RAG_TRACE_OTLP", collected.url)
        (check,) = [check for check in run_checks(Settings.load()) if check.name == "trace.otlp"]
        assert check.state == "ok" and "which keeps what they quote" in check.found
        assert run(["kept"]) == 0
        assert f"Spans go to {collected.url}" in " ".join(capsys.readouterr().out.split())
    (check,) = [check for check in run_checks(Settings.load()) if check.name == "trace.otlp"]
    assert check.state == "note" and "nothing listens at" in check.found
    monkeypatch.setenv("LOCAL_RAG_TRACE_OTLP", "http://192.0.2.1/v1/traces")
    (check,) = [check for check in run_checks(Settings.load()) if check.name == "trace.otlp"]
    assert check.state == "bad" and "is not this machine" in check.found
