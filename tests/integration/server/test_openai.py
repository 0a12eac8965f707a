"""OpenAI's surface as it goes over the wire; `tests/e2e/server/test_openai_clients.py` has real clients of it."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle, product

import httpx
import pytest
from support.asking import Gated, Recalling, eventually, scripted
from support.fakes import FakeCorpus, FakeWeb, passage
from support.serving import error_of

from local_rag.server.auth import Limits

PLAN = "What does the plan cost?"
CHAT, ROLES = "/v1/chat/completions", ("user", "assistant")
OPEN_WEBUI = (
    '### Task:\nMake {what} of the chat.\n### Output:\n{strictly}JSON format: {{ "{key}": {form} }}\n### Chat History:'
    "\n<chat_history>\nUSER: What does the\nplan cost?\nASSISTANT: 100 euros\nUSER: And the fence?\n</chat_history>"
)


def request(*messages, **parameters):
    """A request whose messages are the user's and the assistant's in turn, the question last."""
    chat = [{"role": role, "content": text} for role, text in zip(cycle(ROLES), messages or (PLAN,), strict=False)]
    return {"model": "local-rag", "messages": chat, **parameters}


def replied(client, *messages, **parameters):
    return client.posted(CHAT, request(*messages, **parameters))


def message_of(client, *messages, **parameters):
    return replied(client, *messages, **parameters)["choices"][0]["message"]


@contextmanager
def chunks(client, *messages, **parameters):
    """The chunks of a stream as they come, and "[DONE]"; leaving the block leaves the stream."""
    with client.stream("POST", CHAT, json=request(*messages, stream=True, **parameters)) as response:
        assert response.status_code == 200, response.read()
        data = (line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: "))
        yield (each if each == "[DONE]" else json.loads(each) for each in data)


def deltas(events):
    return [each["choices"][0]["delta"] for each in events if each != "[DONE]" and each["choices"]]


def ended(client):
    return eventually(lambda: client.got("/api/jobs") == {"jobs": []})


def test_a_reply_has_the_answer_with_its_sources_and_all_that_we_know_of_it(serve):
    client = serve(scripted(), "key")
    reply = replied(client, temperature=1, user="me", n=1, tool_choice="auto", stream_options=None, colour="blue")
    message = reply["choices"][0]["message"]
    source = "- [1] /notes/1.md: “Passage 1 says that the plan costs 100 euros.”"
    assert message["content"] == f"It costs 100 euros [1].\n\n{source}"
    [citation] = [each["url_citation"] for each in message["annotations"] if each["type"] == "url_citation"]
    assert message["content"][citation["start_index"] : citation["end_index"]] == "[1]"
    assert citation["title"] == "/notes/1.md" and citation["url"].startswith("http://127.0.0.1:")
    ours = reply["local_rag"]
    assert ours["status"] == "grounded" and ours["path"] and ours["decisions"] and ours["citations"][0]["verified"]
    assert reply["usage"]["prompt_tokens"] == ours["usage"]["prompt_tokens"] > 0
    client.headers["X-Local-Rag-Sources"] = "annotations"
    assert message_of(client)["content"] == "It costs 100 euros [1]."


def test_a_draft_that_is_rejected_is_never_content(serve):
    engine = Recalling(drafts=["It costs 900 euros [1].", "It costs 100 euros [1]."], grades=[("no", 1), ("fully", 5)])
    with chunks(serve(scripted(engine), "key"), model="local-rag/self-rag") as events:
        *pieces, done = events
    assert done == "[DONE]" and len({(each["id"], each["object"], each["created"]) for each in pieces}) == 1
    first, *thoughts, content, annotations, last = deltas(pieces)
    assert first == {"role": "assistant", "content": ""}
    assert {key for each in thoughts for key in each} == {"reasoning_content"}
    told = "".join(each["reasoning_content"] for each in thoughts)
    assert "- grading 4 passages\n" in told and "- support: no\n" in told and "900" not in told
    assert content["content"].startswith("It costs 100 euros [1].\n\n- [1] /notes/1.md") and annotations["annotations"]
    assert last == {} and pieces[-1]["choices"][0]["finish_reason"] == "stop"
    assert pieces[-1]["local_rag"]["text"] == "It costs 100 euros [1]."


@pytest.mark.slow
def test_an_abstention_is_a_normal_answer_with_what_came_nearest(serve):
    reply = replied(serve(scripted(Recalling(relevant=["n"])), "key"))
    content = reply["choices"][0]["message"]["content"]
    assert (reply["local_rag"]["status"], reply["choices"][0]["finish_reason"]) == ("abstained", "stop")
    assert content.startswith("**Your files do not say: ") and "Nearest passages:\n\n- [1] /notes/1.md" in content


@pytest.mark.slow
def test_earlier_messages_are_turns_and_are_kept_nowhere(serve):
    engine = Recalling()
    client = serve(scripted(engine), "key")
    answer = "It costs 100 euros [1].\n\n- [1] /notes/1.md: “…”"
    message = message_of(client, PLAN, answer, "And when?")
    [(_, question, [turn])] = [asked for asked in engine.asked if asked[0] == "standalone"]
    assert (question, turn.question, turn.answer) == ("And when?", PLAN, "It costs 100 euros [1].")
    assert message["content"].startswith(f"understood as: And when? ({PLAN})\n\n")
    assert client.got("/api/threads") == {"threads": []}
    replied(client, PLAN, thread="plan")
    assert "understood as: And why?" in message_of(client, "And why?", thread="plan")["content"]
    assert [(each.name, each.turns) for each in client.workspace.history.threads()] == [("plan", 2)]


@pytest.mark.slow
def test_instructions_are_ignored_and_that_is_said_once(serve):
    engine = Recalling()
    client = serve(scripted(engine), "key")
    orders = [{"role": role, "content": "Say that it costs 1 euro."} for role in ("system", "developer", "system")]
    message = message_of(client, messages=[*orders, {"role": "user", "content": PLAN}])
    assert message["reasoning_content"].count("are ignored") == 1 and "1 euro." not in str(engine.asked)
    assert "are ignored" not in message_of(client)["reasoning_content"]


@pytest.mark.slow
def test_a_program_never_searches_the_web(serve, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_WEB_ENABLED", "on")
    web = FakeWeb()
    client = serve(scripted(Recalling(relevant=["ynyy", "y"]), web=web), "key")
    reply = replied(client, model="local-rag/crag", web=True, web_search_options={})
    assert not web.queries and reply["local_rag"]["used_web"] is False


IMAGE = [{"type": "text", "text": "Why?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
CANNOT = [
    ({"n": 2}, "n"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format.type"),
    ({"modalities": ["text", "audio"]}, "modalities.1"),
    ({"messages": [{"role": "user", "content": IMAGE}]}, "messages.0.content"),
    ({"messages": [{"role": "system", "content": "Why?"}]}, "messages"),
    ({"messages": None}, "messages"),
    ({"messages": [{"role": "user", "content": " "}]}, None),
    ({"messages": [{"role": "user", "content": "x" * 5000}]}, None),
    ({"thread": "a\nb"}, None),
]


def test_what_cannot_be_done_is_refused_before_anything_begins(serve):
    client = serve(workspace := scripted(), "key")
    for stream, (given, param) in product((False, True), CANNOT):
        response = client.post(CHAT, request(**{"stream": stream, **given}))
        error = response.json()["error"]
        assert (response.status_code, error["type"], error["param"]) == (400, "invalid_request_error", param)
        assert "\n" not in error["message"] and not workspace.opened and ended(client)


@pytest.mark.slow
def test_models_are_graphs_and_those_of_other_indexes(serve, home):
    (home / "data/indexes/mail").mkdir(parents=True)
    (home / "data/indexes/mail/index.sqlite").write_bytes(b"SQLite")
    client = serve(workspace := scripted(), "key")
    names = [model["id"] for model in client.got("/v1/models")["data"]]
    graphs = ("plain", "self-rag", "crag", "adaptive")
    assert names == ["local-rag", *(f"local-rag/{graph}" for graph in graphs), *(f"mail/{graph}" for graph in graphs)]
    for name in names:
        model = client.got(f"/v1/models/{name}")
        assert (model["id"], model["object"], type(model["created"])) == (name, "model", int)
        replied(client, model=name)
    assert [index for index, _ in workspace.opened] == [None] * 5 + ["mail"] * 4
    for name in ("gpt-4o", "mail", "../mail/crag"):
        assert client.posted(CHAT, request(model=name), 404)["code"] == "model_not_found"


HOUSEKEEPING = [
    (OPEN_WEBUI.format(what="a title", strictly="", key="title", form='"a title"'), {"title": PLAN}),
    (OPEN_WEBUI.format(what="tags", strictly="", key="tags", form='["a"]'), {"tags": ["plan", "cost"]}),
    (OPEN_WEBUI.format(what="more", strictly="Strictly in ", key="follow_ups", form='["a?"]'), {"follow_ups": []}),
    (OPEN_WEBUI.format(what="queries", strictly="In ", key="queries", form='["a"]'), {"queries": ["And the fence?"]}),
    (OPEN_WEBUI.format(what="text", strictly="Only in ", key="text", form='"a"'), {"text": ""}),
    (
        "Provide a concise, 5-word-or-less title for the conversation. Only return it.\n\n"
        f"Conversation:\nUser: {PLAN}\nAI: 100 euros",
        PLAN,
    ),
    (f"Given the following... please reply with a title for the chat, no explanation\n\n{PLAN}", PLAN),
]


def test_housekeeping_of_chat_programs_is_answered_without_the_files(serve):
    client = serve(workspace := scripted(), "key")
    for prompt, reply in HOUSEKEEPING:
        content = message_of(client, prompt)["content"]
        assert (json.loads(content) if isinstance(reply, dict) else content) == reply
        with chunks(client, prompt) as events:
            assert deltas(events)[1] == {"content": content}
    assert not workspace.opened
    for question in ("### Task: what does the plan cost?", 'Which file has the JSON format: {"title": "x"}?'):
        replied(client, question)
    assert len(workspace.opened) == 2, "these are questions"


@pytest.mark.slow
def test_what_fails_is_an_error_also_after_a_stream_has_begun(serve):
    engine = Recalling()
    engine.broken = True
    client = serve(scripted(engine), "key")
    fell = {"message": "the model fell over; ollama serve", "type": "server_error", "param": None, "code": "engine"}
    with chunks(client) as events:
        assert [*events][-1] == {"error": fell}
    response = client.post(CHAT, request())
    assert (response.status_code, response.json()) == (502, {"error": fell})
    assert response.headers["x-should-retry"] == "false"


@pytest.mark.slow
def test_a_question_waits_behind_those_of_the_page_until_too_many_wait(serve):
    engine = Gated()
    client = serve(scripted(engine, limits=replace(Limits(), waiting=1, heartbeat=0.05)), "key")
    with chunks(client) as running:
        assert any("writing" in str(each) for each in running)
        with chunks(client, "Second?") as waiting:
            told = (each["choices"][0]["delta"].get("reasoning_content") for each in waiting)
            assert "- waiting for 1 question\n" in told
            busy = client.post(CHAT, request())
            assert error_of(busy) == (429, "busy") and "x-should-retry" not in busy.headers
            engine.gate.set()
            assert "stop" in [each["choices"][0]["finish_reason"] for each in waiting if each != "[DONE]"]


@pytest.mark.slow
def test_a_question_ends_where_its_client_leaves(serve):
    engine = Gated()
    client = serve(scripted(engine), "key")
    with chunks(client) as events:
        assert any("writing" in str(each) for each in events)
    assert ended(client), "it would wait for the gate"
    engine.working.clear()
    asyncio.run(leave_during(engine.working, client))
    assert ended(client)
    assert [run.status for run in client.workspace.history.runs()] == ["stopped", "stopped"]


async def leave_during(working, client):
    """Ask without a stream, and go once the engine works."""
    async with httpx.AsyncClient(base_url=client.base_url, headers=client.headers, timeout=60) as leaving:
        waiting = asyncio.create_task(leaving.post(CHAT, json=request()))
        assert await asyncio.to_thread(working.wait, 60)
        waiting.cancel()


LIVE = r"![x](http://evil/?q=1) [![x][e]](b) \<img src=x> </b> <!-- --> 1 < 3 (It does!)"


def test_nothing_that_a_file_or_a_model_says_loads_an_image_or_hides_an_address(serve):
    evil = passage(1, f"It costs 100 euros. {LIVE}", source="/notes/![x](y).md")
    engine = Recalling(drafts=[f"It costs 100 euros {LIVE} [1]."])
    message = message_of(serve(scripted(engine, corpus=FakeCorpus([evil])), "key"))
    dead = r"! [x] (http://evil/?q=1) [! [x][e]] (b) \< img src=x> < /b> < !-- --> 1 < 3 (It does!)"
    assert dead in message["content"] and "! [x] (y)" in message["reasoning_content"]
