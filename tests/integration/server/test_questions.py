"""Questions over the API: their events, the queue, joining, stopping, and the consent to web queries."""

import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.asking import Gated, Stubborn, asked, eventually, joined, names, scripted, streamed, until, values
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage
from support.serving import a_workspace, error_of, every_node

from local_rag.config.values import Web
from local_rag.core.errors import IndexMissing
from local_rag.runtime.rag import Rag
from local_rag.server.auth import Limits
from local_rag.web.search import DdgsSearch

PLAN = "What does the plan cost?"


def test_a_question_is_answered_as_events(serve):
    events = asked(serve(scripted()), graph="self-rag")
    assert names(events)[:3] == ["queued", "begun", "started"] and names(events)[-1] == "answer"
    assert {"retrieved", "graded", "token"} <= {*names(events)}
    works, ended = ([each["node"] for each in values(events, kind)] for kind in ("started", "step"))
    assert works and {*works} <= {*ended}, "whatever begins has ended"
    begun, answer = events[1][1], events[-1][1]
    assert (begun["graph"], begun["question"], begun["thread"]) == ("self-rag", PLAN, "")
    assert values(events, "retrieved")[0]["passages"][0]["label"] == "/notes/1.md"
    assert {"relevance", "support", "usefulness"} <= {graded["kind"] for graded in values(events, "graded")}
    assert "".join(token["text"] for token in values(events, "token")) == "It costs 100 euros [1]. "
    assert (answer["status"], answer["status_text"], answer["turn"]) == ("grounded", "Supported by your files", 0)
    assert answer["certainty"] == "sure"
    status, paragraph, quotes = answer["blocks"]
    assert (status["kind"], status["name"], status["text"]) == ("note", "status", "Supported by your files")
    written = [{"t": "text", "s": "It costs 100 euros"}, {"t": "cite", "n": 1, "quote": 0}, {"t": "text", "s": "."}]
    assert paragraph == {"kind": "paragraph", "nodes": [{"t": "p", "c": written}]}
    assert quotes["sources"] == answer["citations"] and answer["citations"][0]["place"] == "/notes/1.md"
    assert len(answer["citations"][0]["file_id"]) == 20


def test_without_a_stream_the_answer_alone_is_sent_and_short_unless_the_whole_is_wanted(serve):
    client = serve(scripted(), "key")
    request = {"question": PLAN, "stream": False}
    answer, whole = client.posted("/api/ask", request), client.posted("/api/ask", {**request, "detail": True})
    assert (answer["text"], answer["status"]) == ("It costs 100 euros [1].", "grounded")
    assert answer["citations"][0]["label"] == "/notes/1.md" and not {"blocks", "decisions", "path"} & set(answer)
    assert set(answer) < set(whole) and whole["blocks"] and whole["decisions"]
    assert set(client.ran("/api/ask", {"question": PLAN})[-1][1]) == set(answer)


CANNOT = [
    ({"question": "  "}, "usage", ""),
    ({"question": "x" * 5000}, "usage", ""),
    ({"graph": "self"}, "usage", ""),
    ({"index": "../secret"}, "not_found", ""),
    ({"index": "/etc"}, "not_found", ""),
    ({"after": "soon"}, "usage", ""),
    ({"thread": "a\nb"}, "usage", ""),
    ({"caller": "cookie"}, "usage", ""),
    ({"colour": "blue"}, "usage", ""),
    ({"model": "none:7b"}, "model_missing", "local-rag models pull none:7b"),
    ({"model": "tiny", "engine": "extractive"}, "usage", "--engine ollama"),
]


def test_what_cannot_be_asked_is_refused_before_anything_begins(serve, ollama):
    client = serve(workspace := scripted(), "key")
    for given, code, hint in CANNOT:
        error = client.posted("/api/ask", {"question": "Why?", **given}, 404 if code == "not_found" else 400)
        assert error["code"] == code and hint in error["hint"], given
        assert client.got("/api/jobs")["jobs"] == [] and workspace.opened == [] and not ollama.chats, given


def test_what_fails_is_the_last_event_and_the_next_question_is_answered(serve):
    engine = ScriptedEngine()
    engine.broken = True
    client = serve(scripted(engine))
    fell = {"code": "engine", "message": "the model fell over", "hint": "ollama serve", "action": "terminal"}
    assert asked(client)[-1] == ("error", fell)
    alone = client.post("/api/ask", {"question": "Why?", "stream": False})
    assert error_of(alone) == (502, "engine") and alone.json() == {"error": fell}
    engine.broken = False
    assert asked(client)[-1][0] == "answer"


def test_an_error_that_nobody_knows_says_nothing_of_the_question(serve, caplog):
    client = serve(a_workspace())
    assert asked(client, thread="plan")[-1][1]["code"] == "index_missing"
    assert unanswered(client, "plan") == [(PLAN, "failed")], "before the graph began"

    def fails(*_, **__):
        raise ValueError("my secret question")

    client.workspace.using = fails
    (name, error) = asked(client)[-1]
    assert (name, error["code"]) == ("error", "internal") and "secret" not in str(error)
    assert "ValueError" in caplog.text and "secret" not in caplog.text


def test_the_history_is_read_while_an_index_is_opened(serve, monkeypatch):
    opening, read = threading.Event(), threading.Event()

    def slow(settings):
        opening.set()
        assert read.wait(30)
        raise IndexMissing("there is none")

    monkeypatch.setattr(Rag, "open", slow)
    client = serve(a_workspace())
    with streamed(client) as events:
        assert opening.wait(30)
        assert client.got("/api/threads") == {"threads": []}
        read.set()
        assert [*names(events)][-1] == "error"


def test_settings_of_a_question_are_given_on(serve, ollama):
    workspace = scripted()
    asked(serve(workspace), model="tiny", engine="ollama", k=2, within=["/notes/*.md"])
    assert workspace.opened == [(None, {"engine": "ollama", "model": "tiny"})]
    _, k, within, _ = workspace.scripted.corpus.queries[-1]
    assert (k, within) == (2, ("/notes/*.md",))


def states(client):
    return [(job["state"], job["position"], job["about"]["question"]) for job in client.got("/api/jobs")["jobs"]]


def test_questions_wait_for_each_other_and_see_their_place_until_too_many_wait(serve):
    engine = Gated()
    client = serve(scripted(engine, limits=replace(Limits(), waiting=2)))
    with streamed(client, "First?") as running, streamed(client, "Second?") as second, streamed(client) as third:
        until(running, "token")
        queued = until(second, "queued")
        assert (queued["position"], until(third, "queued")["position"]) == (1, 2)
        assert error_of(client.post("/api/ask", {"question": "One more?"})) == (429, "busy")
        assert states(client) == [
            ("running", 0, "First?"),
            ("waiting", 1, "Second?"),
            ("waiting", 2, PLAN),
        ]
        client.posted(f"/api/jobs/{queued['id']}/stop")
        assert until(second, "error")["code"] == "stopped", "without having begun"
        assert error_of(client.post(f"/api/jobs/{queued['id']}/stop")) == (404, "not_found")
        assert until(third, "queued")["position"] == 1
        engine.gate.set()
        assert until(running, "answer")["text"] == "It costs 100 euros [1]."
        assert until(third, "answer")["question"] == PLAN
    assert eventually(lambda: states(client) == [])


def test_a_question_goes_on_when_its_stream_is_left_and_is_joined_and_stopped_by_others(serve):
    engine = Gated()
    client = serve(scripted(engine))
    with streamed(client, thread="plan") as events:
        job = until(events, "begun")["id"]
        until(events, "token")
    running = client.got("/api/thread", thread="plan")["running"]
    assert running == [{"job": job, "question": PLAN}]
    consent = client.post(f"/api/jobs/{job}/web", {"send": True, "query": "the plan"})
    assert error_of(consent) == (409, "conflict"), "nothing of it waits for one"
    with joined(client, job) as late, joined(client, job) as another:
        assert until(late, "queued")["id"] == job and until(late, "begun")["thread"] == "plan"
        engine.gate.set()
        assert until(late, "answer") == until(another, "answer")
    with joined(client, job) as ended:
        assert until(ended, "answer")["turn"] == 1, "whoever comes after the end sees it, too"
    assert client.got("/api/thread", thread="plan")["running"] == []
    assert error_of(client.get("/api/jobs/none/events")) == (404, "not_found")


@pytest.mark.parametrize("engine", [Gated, Stubborn])
def test_a_question_is_stopped_while_it_works_and_remembered_for_its_thread(serve, engine):
    engine = engine()
    client = serve(scripted(engine))
    with streamed(client, thread="plan") as events:
        job = until(events, "begun")["id"]
        assert engine.working.wait(20)
        client.post(f"/api/jobs/{job}/stop")
        assert until(events, "error")["code"] == "stopped"
    engine.gate.set()
    assert unanswered(client, "plan") == [(PLAN, "stopped")]
    assert asked(client, thread="plan")[-1][1]["turn"] == 1
    assert unanswered(client, "plan") == []


def stopped_in(client, thread):
    """Ask something in a thread, and stop it in the middle."""
    with streamed(client, thread=thread) as events:
        begun = until(events, "begun")
        until(events, "token")
        client.post(f"/api/jobs/{begun['id']}/stop")
        until(events, "error")
    return begun["thread"]


def unanswered(client, thread):
    return [(each["question"], each["state"]) for each in client.got("/api/thread", thread=thread)["unanswered"]]


def listed(client):
    return [(each["name"], each["turns"], each["unanswered"]) for each in client.got("/api/threads")["threads"]]


def test_a_new_server_still_knows_what_was_stopped_in_a_thread(serve):
    client, other = serve(scripted(Gated())), serve(scripted())
    name = stopped_in(client, "")
    assert name.endswith("What does the plan cost") and listed(client) == [(name, 0, True)]
    with closing(sqlite3.connect(client.workspace.history.path)) as database, database:
        database.execute("UPDATE questions SET state = 'running'")  # as a process leaves it that is killed
    assert listed(other) == [], "it may be answered at a terminal now"
    again = serve(scripted())
    assert unanswered(again, name) == [(PLAN, "cut off")]
    assert listed(again) == [(name, 0, True)]
    asked(again, "What else?", thread=name)
    assert unanswered(again, name) == [(PLAN, "cut off")] and listed(again) == [(name, 1, False)]
    asked(again, thread=name)
    assert unanswered(again, name) == []


def test_a_thread_is_renamed_and_deleted_with_its_runs_even_if_its_first_question_was_stopped(serve):
    engine = Gated()
    client = serve(scripted(engine))
    stopped_in(client, "plan")
    engine.gate.set()
    asked(client, thread="rent")
    client.posted("/api/thread/rename", {"thread": "rent", "to": "plan"}, status=400)
    assert client.posted("/api/thread/rename", {"thread": "plan", "to": "costs"}) == {"name": "costs"}
    client.got("/api/thread", thread="plan", status=404)
    assert unanswered(client, "costs") == [(PLAN, "stopped")]
    assert client.posted("/api/thread/delete", {"thread": "costs"}) == {"runs": 1}
    client.got("/api/thread", thread="costs", status=404)
    client.posted("/api/thread/delete", {"thread": "costs"}, status=404)
    client.posted("/api/thread/rename", {"thread": "rent", "to": "Harbour Street: rent"})
    assert asked(client, "And then?", thread="Harbour Street: rent")[-1][1]["turn"] == 2
    assert {run.thread for run in client.workspace.history.runs()} == {"Harbour Street: rent"}


def corrected(**script):
    """CRAG goes to the web: one passage is irrelevant."""
    return ScriptedEngine(relevant=["ynyy", "y"], drafts=["It costs 900 euros [1]."], **script)


@pytest.mark.parametrize("send", [True, False])
def test_a_web_query_leaves_only_after_a_person_has_seen_its_words(serve, send, tmp_path):
    web = FakeWeb()
    web.words = DdgsSearch(Web(), tmp_path, None).words
    client = serve(scripted(corrected(), web=web))
    with streamed(client, "What does the\u200b pl\u202ean\U000e0041 cost?", graph="crag", web=True) as events:
        consent = f"/api/jobs/{until(events, 'begun')['id']}/web"
        query = until(events, "web_query")
        assert query["query"] == "What does the plan cost? 1", "nothing hidden is to leave"
        assert query["asks"] and not web.queries, "nothing has left yet"
        assert error_of(client.post(consent, {"send": send, "query": "other words"})) == (409, "conflict")
        assert not web.queries, "a consent to other words is none"
        with_key = {"authorization": f"Bearer {client.workspace.access.key}"}
        refused = client.post(consent, {"send": True, "query": query["query"]}, headers=with_key)
        assert error_of(refused) == (403, "forbidden") and not web.queries, "a program consents to nothing"
        client.posted(consent, {"send": send, "query": query["query"]})
        answer = until(events, "answer")
    assert web.queries == ([query["query"]] if send else [])
    assert answer["used_web"] is send


def test_a_question_that_waits_for_a_consent_can_be_stopped(serve):
    web = FakeWeb()
    client = serve(scripted(corrected(), web=web))
    with streamed(client, graph="crag") as events:
        job = until(events, "begun")["id"]
        until(events, "web_query")
        client.post(f"/api/jobs/{job}/stop")
        assert until(events, "error")["code"] == "stopped"
    assert not web.queries


@pytest.mark.parametrize("enabled", ["on", "ask", "off"])
def test_a_question_with_the_key_never_searches_the_web(serve, enabled, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_WEB_ENABLED", enabled)
    web = FakeWeb()
    workspace = scripted(corrected(), web=web)
    events = asked(serve(workspace, "key"), graph="crag", web=True)
    assert not web.queries and events[-1][1]["used_web"] is False
    assert workspace.opened == [(None, {"web__enabled": "off"} if enabled != "off" else {})]


def test_control_characters_and_bidi_overrides_reach_no_client(serve):
    evil = passage(1, "It costs 100 euros.\u202e\x1b[31m", source="/notes/\u202egpj.md", heading="a\x07b")
    client = serve(scripted(ScriptedEngine(drafts=["It costs\u202e 100\x07 euros [1]."]), corpus=FakeCorpus([evil])))
    response = client.post("/api/ask", {"question": "What does\u202e it cost?", "detail": True})
    assert not any(bad in response.text for bad in ("\u202e", "\x1b", "\x07", "\\u202e", "\\u001b", "\\u0007"))


def test_graphs_are_laid_out_for_a_drawing(serve):
    client = serve(scripted())
    drawn = client.got("/api/graphs/adaptive")
    ids = {node["id"] for node in drawn["nodes"]}
    assert {"begin", "route_question", "finish", "__start__", "__end__"} <= ids
    assert all({edge["source"], edge["target"]} <= ids for edge in drawn["edges"])
    explained = {node["id"] for node in drawn["nodes"] if node["about"]}
    assert explained == ids - {"__start__", "__end__"} and drawn["about"].startswith("Adaptive RAG: ")
    client.got("/api/graphs/none", status=400)


def test_choices_are_what_a_question_can_set(serve):
    choices = serve(scripted()).get("/api/choices").json()
    assert choices["indexes"] == ["default"] and choices["defaults"]["graph"] == "self-rag"
    assert list(choices["graphs"]) == ["plain", "self-rag", "crag", "adaptive"] and all(choices["graphs"].values())
    assert choices["defaults"]["web"] == "off" and choices["models"] == []


def test_each_mark_names_its_quote(serve):
    corpus = FakeCorpus([passage(1, "The plan costs 100 euros. Pets are welcome."), passage(2, "It is old.")])
    drafts = ["- Pets are welcome [1]\n- It is old [2]\n- The plan costs 100 euros [1]\n"]
    answer = asked(serve(scripted(ScriptedEngine(drafts=drafts), corpus=corpus)))[-1][1]
    marks = [node for block in answer["blocks"] for node in every_node(block.get("nodes", ())) if node["t"] == "cite"]
    quoted = [answer["citations"][mark["quote"]]["sentence"] for mark in marks]
    assert quoted == ["Pets are welcome", "It is old", "The plan costs 100 euros"]


def test_each_file_is_asked_alone_and_the_last_event_has_the_whole_table(serve):
    class Files(FakeCorpus):
        def files(self, within=()):
            return [SimpleNamespace(path=f"/notes/{number}.md") for number in (1, 2)]

    events = asked(serve(scripted(corpus=Files())), each=True)
    rows = values(events, "row")
    assert [(row["file"], row["answer"], row["certainty"]) for row in rows] == [
        (f"/notes/{number}.md", "It costs 100 euros.", "sure") for number in (1, 2)
    ]
    name, table = events[-1]
    assert name == "rows" and table["rows"] == rows and table["csv"].count("\n") == 3
    assert "It costs 100 euros" in table["markdown"]
