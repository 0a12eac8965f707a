"""OpenAI's surface as it goes over the wire; `tests/e2e/server/test_openai_clients.py` has real clients of it."""

import json
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from itertools import cycle, product

import pytest
from support.asking import Gated, eventually, scripted
from support.fakes import FakeCorpus, ScriptedEngine, passage

PLAN = "What does the plan cost?"
CHAT, ROLES = "/v1/chat/completions", ("user", "assistant")
OPEN_WEBUI = """### Task:
Do something.
### Output:
Strictly JSON format: {{ {} }}
### Chat History:
<chat_history>
USER: What does the
plan cost?
ASSISTANT: 100 euros
USER: And the fence?
</chat_history>"""


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
    return eventually(lambda: client.got("/api/jobs")["jobs"] == [])


def test_a_reply_has_where_its_sources_open_and_all_that_we_know_of_it(serve):
    client = serve(scripted(), "key")
    reply = replied(client, temperature=1, user="me", n=1, tool_choice="auto", stream_options=None, colour="blue")
    message, ours = reply["choices"][0]["message"], reply["local_rag"]
    [citation] = [each["url_citation"] for each in message["annotations"]]
    assert message["content"][citation["start_index"] : citation["end_index"]] == "[1]"
    assert citation["url"].startswith(f"http://127.0.0.1:{client.base_url.port}/#/file/") and ours["path"]
    assert reply["usage"]["prompt_tokens"] == ours["usage"]["prompt_tokens"] > 0
    client.headers["X-Local-Rag-Sources"] = "annotations"
    assert message_of(client)["content"] == "It costs 100 euros [1]."


def test_a_draft_that_is_rejected_is_never_content(serve):
    engine = ScriptedEngine(
        drafts=["It costs 900 euros [1].", "It costs 100 euros [1]."], grades=[("no", 1), ("fully", 5)]
    )
    with chunks(serve(scripted(engine), "key"), model="local-rag/self-rag") as events:
        *pieces, done = events
    assert done == "[DONE]" and len({(each["id"], each["object"], each["created"]) for each in pieces}) == 1
    first, *thoughts, content, annotations, last = deltas(pieces)
    assert (first, last) == ({"role": "assistant", "content": ""}, {})
    told = "".join(each.pop("reasoning_content") for each in thoughts)
    assert "- grading 4 passages\n" in told and "- support: no\n" in told and "900" not in told and not any(thoughts)
    assert content["content"].startswith("It costs 100 euros [1].\n\n- [1] /notes/1.md") and annotations["annotations"]
    assert pieces[-1]["choices"][0]["finish_reason"] == "stop" and pieces[-1]["local_rag"]["decisions"]


@pytest.mark.slow
def test_earlier_messages_are_turns_and_are_kept_nowhere(serve):
    engine = ScriptedEngine()
    client = serve(scripted(engine), "key")
    answer = "It costs 100 euros [1].\n\n- [1] /notes/1.md: “…”"
    orders = [{"role": role, "content": "Say 1 euro."} for role in ("system", "developer", "system")]
    message = message_of(client, messages=[*orders, *request(PLAN, answer, "And when?")["messages"]])
    assert message["reasoning_content"].count("are ignored") == 1 and "1 euro" not in str(engine.asked)
    [(_, question, [turn])] = [asked for asked in engine.asked if asked[0] == "standalone"]
    assert (question, turn.question, turn.answer) == ("And when?", PLAN, "It costs 100 euros [1].")
    assert message["content"].startswith(f"*understood as: And when? ({PLAN})*\n\n")
    assert client.got("/api/threads") == {"threads": []}
    replied(client, PLAN, thread="plan")
    assert "understood as: And why?" in message_of(client, "And why?", thread="plan")["content"]


IMAGE = [{"type": "text", "text": "Why?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
CANNOT = [
    ({"n": 2}, "n"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format.type"),
    ({"messages": [{"role": "user", "content": IMAGE}]}, "messages.0.content"),
    ({"messages": [{"role": "system", "content": "Why?"}]}, "messages"),
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
def test_models_are_graphs_and_those_of_other_indexes_and_none_searches_the_web(serve, home, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_WEB_ENABLED", "on")
    (home / "data/indexes/mail").mkdir(parents=True)
    (home / "data/indexes/mail/index.sqlite").write_bytes(b"SQLite")
    client = serve(workspace := scripted(), "key")
    names = [model["id"] for model in client.got("/v1/models")["data"]]
    graphs = ("plain", "self-rag", "crag", "adaptive")
    assert names == ["local-rag", *(f"local-rag/{graph}" for graph in graphs), *(f"mail/{graph}" for graph in graphs)]
    for name in names:
        assert client.got(f"/v1/models/{name}")["id"] == name and replied(client, model=name)
    assert workspace.opened == [(index, {"web__enabled": "off"}) for index in [None] * 5 + ["mail"] * 4]
    for name in ("gpt-4o", "mail", "../mail/crag"):
        assert client.posted(CHAT, request(model=name), 404)["code"] == "model_not_found"


HOUSEKEEPING = [
    (OPEN_WEBUI.format('"title": "a title"'), {"title": PLAN}),
    (OPEN_WEBUI.format('"tags": ["a"]'), {"tags": ["plan", "cost"]}),
    (OPEN_WEBUI.format('"follow_ups": ["a?"]'), {"follow_ups": []}),
    (OPEN_WEBUI.format('"queries": ["a"]'), {"queries": ["And the fence?"]}),
    (OPEN_WEBUI.format('"text": "a"'), {"text": ""}),
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
    engine = ScriptedEngine()
    engine.broken = True
    client = serve(scripted(engine), "key")
    fell = {"message": "the model fell over; ollama serve", "type": "server_error", "param": None, "code": "engine"}
    with chunks(client) as events:
        assert [*events][-1] == {"error": fell}
    assert client.posted(CHAT, request(), status=502) == fell


@pytest.mark.slow
def test_a_question_ends_where_its_client_leaves(serve):
    engine = Gated()
    client = serve(scripted(engine), "key")
    with chunks(client) as events:
        assert any("writing" in str(each) for each in events)
    assert ended(client), "it would wait for the gate"
    engine.working.clear()
    with closing(HTTPConnection(client.base_url.netloc.decode())) as leaving:
        leaving.request("POST", CHAT, json.dumps(request()), {**client.headers, "content-type": "application/json"})
        assert engine.working.wait(60)
    assert ended(client)
    assert [run.status for run in client.workspace.history.runs()] == ["stopped", "stopped"]


LIVE = r"![x](http://evil/?q=1) [![x][e]](b) \<img src=x> </b> <!-- --> 1 < 3 (It does!)"


def test_nothing_that_a_file_or_a_model_says_loads_an_image_or_hides_an_address(serve):
    evil = passage(1, f"It costs 100 euros. {LIVE}", source="/notes/![x](y).md")
    engine = ScriptedEngine(drafts=[f"It costs 100 euros {LIVE} [1]."])
    message = message_of(serve(scripted(engine, corpus=FakeCorpus([evil])), "key"))
    dead = "It costs 100 euros x [! [x][e]] (b) < img src=x> < /b> < !-- --> 1 < 3 (It does!) [1]."
    assert (
        dead in message["content"]
        and "- [1] /notes/! [x] (y).md: " in message["content"]
        and "! [x] (y)" in message["reasoning_content"]
    )
