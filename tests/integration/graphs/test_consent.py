"""Consent to a web query by an interruption of the graph: nothing leaves before the answer, nothing is paid twice."""

from dataclasses import replace

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from support.asking import opened
from support.fakes import ONE_CALL, FakeCorpus, FakeWeb, ScriptedEngine

from local_rag.core.events import WebQuery
from local_rag.graphs import compiled
from local_rag.graphs.deps import Deps

CHAT = {"configurable": {"thread_id": "1"}}
SCRIPT = {"relevant": ["nnnn", "y"], "drafts": ["It costs 900 euros [1]."], "rewritten": ["plan price 2026"]}


class Wordy(FakeWeb):
    """A search that is told at most 20 characters."""

    def words(self, query):
        return query[:20]


def asking(engine, web):
    """CRAG, and a function (what it is given) -> its result, each time with Deps of its own."""
    app = compiled("crag", checkpointer=InMemorySaver())

    def go_on(given):
        return app.invoke(given, CHAT, context=Deps(FakeCorpus(), engine, web, may_search="interrupt"))

    return app, go_on


@pytest.mark.parametrize(
    ("reply", "left", "status"),
    [
        ("yes", ["plan price 2026"], "grounded"),
        (" Y ", ["plan price 2026"], "grounded"),
        (True, ["plan price 2026"], "grounded"),
        ({"query": "tariff of the plan, in euros"}, ["tariff of the plan, "], "grounded"),
        ({"query": " tariff "}, ["tariff"], "grounded"),
        ({"query": "no smoking fine"}, ["no smoking fine"], "grounded"),
        ("Ja.", ["plan price 2026"], "grounded"),
        *(
            (reply, [], "abstained")
            for reply in [
                *("no", "nein", "tariff", "I said no", "please stop", "non merci", "northern plan tariff"),
                *("Auf keinen Fall senden", "yes but not that", "yes, no", "true", ""),
                *({"query": ""}, {"query": 7}, {"anything": "else"}, ["yes"], 1, False),
            ]
        ),
    ],
)
def test_crag_waits_for_an_answer_before_anything_leaves(reply, left, status):
    engine, web = ScriptedEngine(**SCRIPT), Wordy()
    app, go_on = asking(engine, web)
    waiting = go_on({"question": "What does the plan cost?"})
    (asked,) = waiting["__interrupt__"]
    assert asked.value == {"query": "plan price 2026", "engine": "stand-in"}
    assert [list(form) for form in asked.response_schema["anyOf"]][:2] == [["type"], ["enum"]]
    assert (app.get_state(CHAT).next, web.queries) == (("web_search_node",), [])
    calls = len(engine.asked)
    result = go_on(Command(resume=reply))
    assert (web.queries, result["answer"].status) == (left, status)
    assert [call[0] for call in engine.asked[:calls]] == ["relevance", "rewrite"]
    assert "rewrite" not in [call[0] for call in engine.asked[calls:]]
    refused = [graded.why for graded in result["answer"].decisions if graded.verdict == "refused"]
    assert refused == ([] if left else ["the query was not allowed to leave this machine"])


def test_other_words_are_the_ones_that_a_later_rewriting_knows():
    engine, web = ScriptedEngine(**SCRIPT), FakeWeb()
    app, go_on = asking(engine, web)
    go_on({"question": "What does the plan cost?"})
    deps = Deps(FakeCorpus(), engine, web, may_search="interrupt")
    parts = list(app.stream(Command(resume={"query": "tariff"}), CHAT, context=deps, stream_mode="custom"))
    assert [part.query for part in parts if isinstance(part, WebQuery)] == ["plan price 2026", "tariff"]
    assert app.get_state(CHAT).values["web_queries"] == ["What does the plan cost?", "plan price 2026", "tariff"]


def test_a_follow_up_is_made_whole_for_the_web_once_and_paid_once():
    """Adaptive goes to the web at once: the call that makes the query comes before the question to the person."""

    class Costly(ScriptedEngine):
        def standalone(self, question, history):
            return replace(super().standalone(question, history), usage=ONE_CALL)

    engine, web = Costly(source="vectorstore"), FakeWeb()
    rag = opened(engine)
    app = rag.graph("adaptive", checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "plan"}}

    def go_on(given):
        return app.invoke(given, config, context=Deps(rag.corpus, engine, web, may_search="interrupt"))

    go_on({"question": "What does the plan cost?"})
    engine.source, engine.asked[:] = "web_search", []
    (asked,) = go_on({"question": "And the other?"})["__interrupt__"]
    assert asked.value["query"] == "And the other? (What does the plan cost?)"
    assert web.queries == []
    before = [call[0] for call in engine.asked].count("standalone")
    result = go_on(Command(resume="yes"))
    assert web.queries == ["And the other? (What does the plan cost?)"]
    assert [call[0] for call in engine.asked].count("standalone") == before
    assert result["answer"].usage.calls == 2 + 1 + 1 + 1 + 1, "two for the question, route, strips, draft, grade"
    turns = app.get_state(config).values["turns"]
    assert [turn["question"] for turn in turns] == ["What does the plan cost?", "And the other?"]


@pytest.mark.parametrize("consent", ["interrupt", "never", "yes", None])
def test_without_a_checkpointer_or_a_consent_nothing_leaves(consent):
    engine, web = ScriptedEngine(**SCRIPT), FakeWeb()
    deps = Deps(FakeCorpus(), engine, web, may_search=consent)
    result = compiled("crag").invoke({"question": "What does the plan cost?"}, context=deps)
    assert (web.queries, result["answer"].status) == ([], "abstained")


@pytest.mark.parametrize(
    ("enabled", "given", "consent"),
    [
        ("ask", None, "interrupt"),
        (True, None, "always"),
        (True, "interrupt", "interrupt"),
        (True, "never", "never"),
        ("ask", print, print),
    ],
)
def test_the_consent_follows_from_settings_and_arguments(enabled, given, consent):
    assert opened(web__enabled=enabled).context(may_search=given).may_search == consent
