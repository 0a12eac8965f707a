"""Threads over the API: listed, shown, renamed, deleted, exported."""

import re

import pytest
from lxml.html import fromstring
from support.asking import asked, scripted
from support.fakes import FakeCorpus, ScriptedEngine, passage


@pytest.fixture
def talked(serve):
    """A client of a server with one thread of two turns."""
    client = serve(scripted())
    asked(client, thread="plan")
    asked(client, "And the other?", thread="plan")
    return client


def test_threads_are_listed_and_shown_with_whole_answers(talked):
    (listed,) = talked.got("/api/threads")["threads"]
    assert (listed["name"], listed["turns"], listed["first"]) == ("plan", 2, "What does the plan cost?")
    thread = talked.got("/api/thread?thread=plan&detail=true")
    first, second = thread["turns"]
    assert (thread["unanswered"], thread["running"]) == ([], [])
    assert (first["turn"], second["turn"]) == (1, 2) and first["at"] < second["at"]
    assert second["blocks"][0]["text"] == "understood as: And the other? (What does the plan cost?)"
    assert first["run"] and first["run"] != second["run"], "the record of each question is known, for feedback"
    assert first["seconds"] > 0 and first["blocks"][1]["kind"] == "paragraph"


def test_a_thread_is_shown_whole_without_its_records(talked):
    before, _ = talked.got("/api/thread?thread=plan&detail=true")["turns"]
    talked.workspace.history.delete(runs=[run.id for run in talked.workspace.history.runs()])
    first, _ = talked.got("/api/thread?thread=plan&detail=true")["turns"]
    assert first == before | {"run": ""}


def test_the_nearest_passages_of_an_abstention_are_shown_again(serve):
    client = serve(scripted(ScriptedEngine(relevant=["n"])))
    answer = asked(client, thread="plan")[-1][1]
    (again,) = client.got("/api/thread?thread=plan&detail=true")["turns"]
    status, nearest, *_ = answer["blocks"]
    assert answer["status_text"].startswith("I could not tell from your files: ")
    assert status["reason"] and nearest["title"]
    assert (
        again["blocks"] == answer["blocks"]
        and nearest["sources"] == answer["nearest"]
        and answer["nearest"][0]["label"]
    )


def test_a_thread_of_any_name_is_reached(serve):
    client = serve(scripted())
    for name in ("a/b", "a/export", "plan/turns/1", "a%2Fb", "100%"):
        asked(client, thread=name)
        listed, shown = client.got("/api/threads")["threads"][0], client.got("/api/thread", thread=name)
        assert listed["name"] == shown["name"] == name
        assert client.get("/api/thread/export", params={"thread": name, "turn": 1}).status_code == 200, name
        assert client.posted("/api/thread/rename", {"thread": name, "to": f"{name} it"}) == {"name": f"{name} it"}


def test_a_name_that_is_taken_or_none_is_refused(talked):
    asked(talked, thread="rent")
    for wanted in ("rent", "a\u202eb", "", "a\nb"):
        assert talked.posted("/api/thread/rename", {"thread": "plan", "to": wanted}, 400)["code"] == "usage", wanted
    talked.posted("/api/thread/rename", {"thread": "none", "to": "x"}, 404)
    assert talked.posted("/api/thread/rename", {"thread": "plan", "to": " plan "}) == {"name": "plan"}
    assert {each["name"] for each in talked.got("/api/threads")["threads"]} == {"plan", "rent"}


def test_a_thread_and_an_answer_are_exported_as_markdown(talked):
    whole = talked.get("/api/thread/export?thread=plan")
    assert whole.headers["content-disposition"].startswith("attachment") and "plan.md" in str(whole.headers)
    assert whole.text.startswith("# plan\n\n2 questions") and whole.text.count("\n## ") == 2
    second = talked.get("/api/thread/export?thread=plan&turn=2")
    assert second.text.count("\n## ") == 1 and "## And the other?" in second.text
    for turn, status in ((3, 404), (0, 400)):
        talked.got("/api/thread/export", status, thread="plan", turn=turn)


def test_an_answer_is_exported_as_one_file_that_asks_for_nothing_and_no_string_in_it_is_markup(serve):
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    corpus = FakeCorpus([passage(1, f"The plan costs 100 euros {evil}.", source="/n/<b>evil<b>.md")])
    client = serve(scripted(ScriptedEngine(drafts=[f"The plan costs 100 euros {evil} [1]."]), corpus=corpus))
    asked(client, f"What does it cost {evil}?", thread="plan")
    response = client.get("/api/thread/export?thread=plan&turn=1&format=html")
    assert response.headers["content-disposition"].startswith("attachment")
    page = fromstring(response.text)
    assert f"The plan costs 100 euros {evil}" in page.text_content()
    assert "Supported by your files" in page.text_content() and not re.search("<script|<img", response.text)
    assert page.xpath("//a[@class='cite'][@href='#c1']") and page.xpath("//h2[@id='c1']")
    assert not page.xpath("//script | //img | //*[@src] | //*[@href][not(starts-with(@href, '#'))]")
    assert page.xpath("//meta[@http-equiv]/@content")[0].startswith("default-src 'none'; style-src 'sha256-")


def left(client, thread="plan"):
    ended = client.got("/api/thread", thread=thread)["unanswered"]
    return [(each["question"], each["state"], (each["error"] or {}).get("message")) for each in ended]


@pytest.mark.parametrize("keep", ["200", "0"])
def test_a_question_that_fails_or_is_refused_stays_in_its_thread_until_it_is_asked_again(serve, keep, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_RUNS_KEEP", keep)
    engine = ScriptedEngine()
    client = serve(scripted(engine))
    engine.broken = True
    asked(client, thread="plan")
    engine.broken = False
    asked(client, "And the other?", thread="plan")
    refused = client.posted("/api/ask", {"question": "Who?", "thread": "plan", "index": "none"}, 404)
    (fell, none) = left(client)
    assert fell == ("What does the plan cost?", "failed", "the model fell over")
    assert none == ("Who?", "refused", "there is no index 'none' here") and refused["thread"] == "plan"
    assert [each["unanswered"] for each in client.got("/api/threads")["threads"]] == [True]
    asked(client, "Who?", thread="plan")
    assert left(client) == [fell] and not client.got("/api/threads")["threads"][0]["unanswered"]
    begun = client.posted("/api/ask", {"question": "Who is it?", "thread": "", "index": "none"}, 404)["thread"]
    assert left(client, begun) == [("Who is it?", "refused", "there is no index 'none' here")]


def test_what_a_chat_is_asked_of_is_kept_with_it_and_with_each_answer(serve):
    client = serve(scripted())
    narrowed = {"within": "/notes/*", "graph": "crag", "k": 2}
    answer = asked(client, thread="plan", **narrowed)[-1][1]
    asked(client, "And the other?", thread="plan")
    asked(client, thread="rent", engine="extractive")
    first, second = client.got("/api/thread?thread=plan&detail=true")["turns"]
    assert first["scope"] == answer["scope"] == narrowed and second["scope"] == {}
    assert client.got("/api/thread?thread=plan")["scope"] == {}
    client.posted("/api/thread/rename", {"thread": "rent", "to": "costs"})
    assert client.got("/api/thread?thread=costs")["scope"] == {"engine": "extractive"}
    client.posted("/api/ask", {"question": "Who?", "thread": "costs", "index": "none"}, 404)
    assert client.got("/api/thread?thread=costs")["scope"] == {"index": "none"}, "of what was refused, too"


def test_a_chat_is_found_by_words_of_its_answers(talked):
    def found(words):
        return [each["name"] for each in talked.got("/api/threads", filter=words)["threads"]]

    assert found("100 EUROS") == found("plan") == found("costs plan") == ["plan"]
    assert found("300 euros") == []
