"""Questions over the API: their events, the queue, stopping, leaving, and the consent to web queries."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from support.asking import Gated, Stubborn, asked, eventually, names, place_of, streamed, until, values
from support.fakes import FakeCorpus, FakeWeb, passage
from support.remembering import Recalling
from support.serving import Client, served, signed_in

from local_rag.config.values import Web
from local_rag.server.place import Limits
from local_rag.web.search import DdgsSearch


def test_a_question_is_answered_as_events():
    events = asked(Client(place_of()), graph="self-rag")
    assert names(events)[:2] == ["begun", "node_started"] and names(events)[-1] == "answer"
    assert {"node_ended", "retrieved", "graded", "token"} <= {*names(events)}
    begun, answer = events[0][1], events[-1][1]
    assert (begun["graph"], begun["question"], begun["thread"]) == ("self-rag", "What does the plan cost?", "")
    assert values(events, "retrieved")[0]["passages"][0]["label"] == "/notes/1.md"
    assert {"relevance", "support", "usefulness"} <= {graded["kind"] for graded in values(events, "graded")}
    assert "".join(token["text"] for token in values(events, "token")) == "It costs 100 euros [1]. "
    assert (answer["status"], answer["status_text"], answer["turn"]) == ("grounded", "Grounded in your files", 0)
    assert answer["blocks"] == [
        {"t": "p", "c": [{"t": "text", "s": "It costs 100 euros"}, {"t": "cite", "n": 1}, {"t": "text", "s": "."}]}
    ]
    assert answer["citations"][0]["label"] == "/notes/1.md" and len(answer["citations"][0]["file_id"]) == 20


def test_a_program_asks_with_the_key():
    assert asked(Client(place_of(), "key"))[-1][0] == "answer"


@pytest.mark.parametrize(
    "request_, code, status",
    [
        ({"question": "  "}, "usage", 400),
        ({"question": "x" * 5000}, "usage", 400),
        ({"question": "Why?", "graph": "self"}, "usage", 400),
        ({"question": "Why?", "index": "../secret"}, "not_found", 404),
        ({"question": "Why?", "index": "/etc"}, "not_found", 404),
        ({"question": "Why?", "after": "soon"}, "usage", 400),
        ({"question": "Why?", "thread": "a\nb"}, "usage", 400),
        ({"question": "Why?", "caller": "cookie"}, "usage", 400),
        ({"question": "Why?", "colour": "blue"}, "usage", 400),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_streams(request_, code, status):
    place = place_of()
    response = Client(place, "key").post("/api/ask", request_)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert not place.questions.queue(), "nothing waits for it"


@pytest.mark.parametrize(
    "given, code, hint",
    [
        ({"model": "none:7b"}, "model_missing", "local-rag models pull none:7b"),
        ({"model": "tiny", "engine": "extractive"}, "usage", "--engine ollama"),
    ],
)
def test_a_model_that_is_not_there_is_refused_before_anything_begins(given, code, hint, ollama, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", ollama.host)
    place = place_of()
    response = Client(place).post("/api/ask", {"question": "Why?", **given})
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, code) and hint in error["hint"]
    assert not place.questions.queue() and place.opened == [] and not ollama.chats


def test_an_engine_that_fails_is_an_event_and_the_next_question_is_answered():
    engine = Recalling()
    engine.broken = True
    client = Client(place_of(engine))
    assert asked(client)[-1] == (
        "error",
        {"code": "engine", "message": "the model fell over", "hint": "ollama serve"},
    )
    engine.broken = False
    assert asked(client)[-1][0] == "answer"


def test_settings_of_a_question_are_given_on(ollama, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", ollama.host)
    place = place_of()
    asked(Client(place), model="tiny", engine="ollama", k=2, within=["/notes/*.md"])
    assert place.opened == [(None, {"engine": "ollama", "model": "tiny"})]
    _, k, within, _ = place.rag().index.queries[-1]
    assert (k, within) == (2, ("/notes/*.md",))


def test_questions_wait_for_each_other_and_see_their_place_until_too_many_wait():
    engine = Gated()
    place = place_of(engine, limits=replace(Limits(), waiting=1))
    with served(place) as address, signed_in(place, address) as first, signed_in(place, address) as second:
        with streamed(first) as running:
            until(running, "token")
            with streamed(second, "And then?") as waiting:
                queued = until(waiting, "queued")
                assert queued["position"] == 1
                refused = first.post("/api/ask", json={"question": "One more?"})
                assert (refused.status_code, refused.json()["error"]["code"]) == (429, "busy")
                listed = first.get("/api/questions").json()["questions"]
                assert [(each["position"], each["question"]) for each in listed] == [
                    (0, "What does the plan cost?"),
                    (1, "And then?"),
                ]
                engine.gate.set()
                assert until(running, "answer")["text"] == "It costs 100 euros [1]."
                assert until(waiting, "begun")["id"] == queued["id"]
                assert until(waiting, "answer")["question"] == "And then?"
        assert eventually(lambda: not place.questions.queue())


def test_a_question_that_waits_is_stopped_without_having_begun():
    engine = Gated()
    place = place_of(engine)
    with served(place) as address, signed_in(place, address) as first, signed_in(place, address) as second:
        with streamed(first) as running, streamed(second) as waiting:
            until(running, "token")
            second_id = until(waiting, "queued")["id"]
            assert first.post(f"/api/questions/{second_id}/stop", json={}).status_code == 200
            assert until(waiting, "error")["code"] == "stopped"
            engine.gate.set()
            until(running, "answer")
        assert first.post(f"/api/questions/{second_id}/stop", json={}).status_code == 404


@pytest.mark.parametrize("engine", [Gated, Stubborn])
def test_a_question_is_stopped_while_it_works_and_remembered_for_its_thread(engine):
    engine = engine()
    place = place_of(engine)
    with served(place) as address, signed_in(place, address) as client:
        with streamed(client, thread="plan") as events:
            id_ = until(events, "begun")["id"]
            assert engine.working.wait(20)
            client.post(f"/api/questions/{id_}/stop", json={})
            assert until(events, "error")["code"] == "stopped"
        engine.gate.set()
        thread = client.get("/api/threads/plan").json()
        assert (thread["turns"], thread["stopped"]) == ([], "What does the plan cost?")
        with streamed(client, thread="plan") as events:
            assert until(events, "answer")["turn"] == 1
        thread = client.get("/api/threads/plan").json()
        assert (len(thread["turns"]), thread["stopped"]) == (1, None)


def test_a_question_whose_stream_is_left_is_stopped_and_remembered_for_its_thread():
    engine = Gated()
    place = place_of(engine)
    with served(place) as address, signed_in(place, address) as client:
        with streamed(client, thread="") as events:
            name = until(events, "begun")["thread"]
            assert name.endswith("What does the plan cost")
            until(events, "token")
        assert eventually(lambda: not place.questions.queue())
        assert client.get(f"/api/threads/{name}").json()["stopped"] == "What does the plan cost?"
        (listed,) = client.get("/api/threads").json()["threads"]
        assert (listed["name"], listed["turns"], listed["stopped"]) == (name, 0, True)


def test_a_new_place_still_knows_what_was_stopped_in_a_thread():
    engine = Gated()
    place, other = place_of(engine), place_of()
    with served(place) as address, signed_in(place, address) as client, streamed(client, thread="plan") as events:
        until(events, "token")
    assert eventually(lambda: not place.questions.queue())
    with closing(sqlite3.connect(place.history.path)) as database, database:
        database.execute("UPDATE questions SET state = 'running'")  # as a process leaves it that is killed
    assert Client(other).get("/api/threads").json()["threads"] == [], "it may be answered at a terminal now"
    again = Client(place_of())

    def listed():
        return [(each["name"], each["turns"], each["stopped"]) for each in again.get("/api/threads").json()["threads"]]

    assert again.get("/api/threads/plan").json()["stopped"] == "What does the plan cost?"
    assert listed() == [("plan", 0, True)]
    asked(again, "What else?", thread="plan")
    assert again.get("/api/threads/plan").json()["stopped"] is None and listed() == [("plan", 1, False)]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_thread_whose_first_question_was_stopped_is_renamed_and_deleted(restarted):
    engine = Gated()
    place = place_of(engine)
    with served(place) as address, signed_in(place, address) as client, streamed(client, thread="plan") as events:
        until(events, "token")
    assert eventually(lambda: not place.questions.queue())
    client = Client(place_of() if restarted else place)
    assert [run.thread for run in place.history.runs()] == ["plan"]
    engine.gate.set()
    asked(client, thread="rent")
    for name, wanted in (("plan", "rent"), ("rent", "plan"), ("plan", "a\nb")):
        assert client.post(f"/api/threads/{name}/rename", {"to": wanted}).status_code == 400
    assert client.post("/api/threads/plan/rename", {"to": "costs"}).json() == {"name": "costs"}
    assert client.get("/api/threads/plan").status_code == 404
    assert client.get("/api/threads/costs").json()["stopped"] == "What does the plan cost?"
    assert client.post("/api/threads/costs/delete").json() == {"runs": 1}
    assert client.get("/api/threads/costs").status_code == 404
    assert client.post("/api/threads/costs/delete").status_code == 404
    assert [run.thread for run in place.history.runs()] == ["rent"]


def corrected(**script):
    """CRAG goes to the web: one passage is irrelevant."""
    return Recalling(relevant=["ynyy", "y"], drafts=["It costs 900 euros [1]."], **script)


@pytest.mark.parametrize("send", [True, False])
def test_a_web_query_leaves_only_after_a_person_has_seen_its_words(send, tmp_path):
    web = FakeWeb()
    web.words = DdgsSearch(Web(), tmp_path, None).words
    place = place_of(corrected(), web=web)
    with served(place) as address, signed_in(place, address) as client:
        with streamed(client, "What does the\u200b pl\u202ean\U000e0041 cost?", graph="crag", web=True) as events:
            id_ = until(events, "begun")["id"]
            query = until(events, "web_query")
            assert query["query"] == "What does the plan cost? 1", "nothing hidden is to leave"
            assert query["asks"] and not web.queries, "nothing has left yet"
            other = client.post(f"/api/questions/{id_}/web", json={"send": send, "query": "other words"})
            assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
            assert not web.queries, "a consent to other words is none"
            given = client.post(f"/api/questions/{id_}/web", json={"send": send, "query": query["query"]})
            assert given.status_code == 200
            answer = until(events, "answer")
        assert web.queries == ([query["query"]] if send else [])
        assert answer["used_web"] is send


def test_a_consent_counts_once_and_only_for_what_is_asked():
    engine = Gated()
    place = place_of(engine)
    with served(place) as address, signed_in(place, address) as client, streamed(client) as events:
        id_ = until(events, "begun")["id"]
        refused = client.post(f"/api/questions/{id_}/web", json={"send": True, "query": "the plan"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
        engine.gate.set()
        until(events, "answer")


def test_a_question_that_waits_for_a_consent_can_be_stopped():
    web = FakeWeb()
    place = place_of(corrected(), web=web)
    with served(place) as address, signed_in(place, address) as client:
        with streamed(client, graph="crag") as events:
            id_ = until(events, "begun")["id"]
            until(events, "web_query")
            client.post(f"/api/questions/{id_}/stop", json={})
            assert until(events, "error")["code"] == "stopped"
        assert not web.queries


@pytest.mark.parametrize("enabled", ["on", "ask", "off"])
def test_a_question_with_the_key_never_searches_the_web(enabled, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_WEB_ENABLED", enabled)
    web = FakeWeb()
    place = place_of(corrected(), web=web)
    events = asked(Client(place, "key"), graph="crag", web=True)
    assert not web.queries and events[-1][1]["used_web"] is False
    assert place.opened == [(None, {"web__enabled": "off"} if enabled != "off" else {})]
    (queue_of_a_page,) = [Client(place, "key").post("/api/questions/x/web", {"send": True, "query": "x"})]
    assert queue_of_a_page.status_code == 403


def test_control_characters_and_bidi_overrides_reach_no_client():
    evil = passage(1, "It costs 100 euros.\u202e\x1b[31m", source="/notes/\u202egpj.md", heading="a\x07b")
    place = place_of(Recalling(drafts=["It costs\u202e 100\x07 euros [1]."]), corpus=FakeCorpus([evil]))
    response = Client(place).post("/api/ask", {"question": "What does\u202e it cost?"})
    assert not any(bad in response.text for bad in ("\u202e", "\x1b", "\x07", "\\u202e", "\\u001b", "\\u0007"))


def test_graphs_are_laid_out_for_a_drawing():
    client = Client(place_of())
    drawn = client.get("/api/graphs/adaptive").json()
    ids = {node["id"] for node in drawn["nodes"]}
    assert {"standalone_question", "route_question", "__start__", "__end__"} <= ids
    assert all({edge["from"], edge["to"]} <= ids for edge in drawn["edges"])
    explained = {node["id"] for node in drawn["nodes"] if node["about"]}
    assert explained == ids - {"__start__", "__end__"} and drawn["about"].startswith("Adaptive RAG: ")
    assert "standalone_question" not in str(client.get("/api/graphs/adaptive?memory=false").json())
    assert client.get("/api/graphs/none").status_code == 400


def test_choices_are_what_a_question_can_set():
    choices = Client(place_of()).get("/api/choices").json()
    assert choices["indexes"] == ["default"] and choices["defaults"]["graph"] == "self-rag"
    assert [graph["name"] for graph in choices["graphs"]] == ["plain", "self-rag", "crag", "adaptive"]
    assert all(graph["about"] for graph in choices["graphs"])
    assert choices["defaults"]["web"] == "off" and choices["models"] == []
