"""The surface that chat programs know: OpenAI's /v1/models and /v1/chat/completions, with the key alone.

Each graph is a model. The last message of the user is the question, what stands before it are turns of the chat, and
nothing is kept of them but what a `thread` that is named keeps. A question ends where its client leaves.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict

from local_rag.config.values import GraphName
from local_rag.core.address import LOOPBACK
from local_rag.core.errors import Stopped
from local_rag.runtime.export import turns_of
from local_rag.runtime.opening import check_question
from local_rag.server.ask import Ask, enter
from local_rag.server.completions import Completion, Reply, completion_of, reasoning
from local_rag.server.errors import ApiError, openai_error
from local_rag.server.jobs import Job
from local_rag.server.responses import Json, harmless_json
from local_rag.server.workspace import Here, Workspace
from local_rag.text.display import shorten
from local_rag.text.words import content_words

OWN = "local-rag"
"""The model that is the graph of the settings; before a "/" the indexes of the settings."""
IGNORED = "system and developer messages are ignored: what an answer may say is fixed by the files"
LOOK = 0.5
"""Seconds between two looks whether a client that waits for a whole answer is still there."""
LONGEST_TITLE = 60
"""Characters."""

_FORM = re.compile(r'### Task:.*?JSON format:[\s`]*\{\s*"(?P<key>\w+)"\s*:\s*(?P<several>\[)?', re.DOTALL)
"""Open WebUI's (`backend/open_webui/config.py`, DEFAULT_…_PROMPT_TEMPLATE): titles, tags, follow-ups, queries, …"""
_TITLES = (
    "Provide a concise, 5-word-or-less title",  # LibreChat's (danny-avila/agents, src/utils/title.ts)
    "Given the following... please reply with a title",  # Continue's (core/util/chatDescriber.ts)
)
_ASKED = re.compile(r"^user: (.+?)(?=^(?:user|assistant|ai): |^</chat_history>|\Z)", re.DOTALL | re.I | re.M)
"""What the person says in the chat that such a prompt holds."""

router = APIRouter()


def _text(content: Any) -> Any:
    """The text of a message, also where it comes in parts. Raises ValueError for a picture, sound or file."""
    if not isinstance(content, list):
        return content or ""
    kinds = [part.get("type") if isinstance(part, dict) else type(part).__name__ for part in content]
    if wrong := [kind for kind in kinds if kind != "text"]:
        raise ValueError(f"expected text, not {wrong[0]}")
    return "\n".join(str(part.get("text", "")) for part in content)


class Message(BaseModel):
    """A message of a chat."""

    role: str
    content: Annotated[str, BeforeValidator(_text)] = ""


class TextForm(BaseModel):
    """The form of an answer, which is text."""

    type: Literal["text"]


class StreamOptions(BaseModel):
    """What a stream ends with."""

    include_usage: bool | None = None


class Chat(BaseModel):
    """A question after a chat; parameters that are not here are accepted and change nothing.

    `thread` is ours: the question is kept in that thread, whose turns count in place of the earlier messages.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    messages: list[Message]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    tool_choice: Literal["none", "auto"] | None = None
    response_format: TextForm | None = None
    modalities: list[Literal["text"]] | None = None
    thread: str | None = None


def models_of(workspace: Workspace) -> dict[str, tuple[str | None, GraphName | None]]:
    """The models: the index and the graph of each, None where it is that of the settings."""
    graphs: tuple[GraphName, ...] = get_args(GraphName)
    own: dict[str, tuple[str | None, GraphName | None]] = {OWN: (None, None)}
    own |= {f"{OWN}/{graph}": (None, graph) for graph in graphs}
    others = [index for index in workspace.indexes() if [index] != [*workspace.settings.index_paths]]
    return own | {f"{index}/{graph}": (index, graph) for index in others for graph in graphs if index != OWN}


def chosen(workspace: Workspace, model: str) -> tuple[str | None, GraphName | None]:
    """Index and graph of a model. Raises ApiError."""
    models = models_of(workspace)
    if model not in models:
        why = f"there is no model {model!r} here"
        raise ApiError(404, "model_not_found", why, "GET /v1/models lists those that are there", param="model")
    return models[model]


@router.get("/v1/models")
def models(workspace: Here) -> dict[str, Any]:
    """The models: a graph each, and those of further indexes."""
    return {"object": "list", "data": [_model(workspace, model) for model in models_of(workspace)]}


@router.get("/v1/models/{id:path}")
def model(id: str, workspace: Here) -> dict[str, Any]:
    """One model."""
    chosen(workspace, id)
    return _model(workspace, id)


def _model(workspace: Workspace, id_: str) -> dict[str, Any]:
    created = int(datetime.fromisoformat(workspace.began).timestamp())
    return {"id": id_, "object": "model", "created": created, "owned_by": OWN}


@dataclass(frozen=True)
class Asked:
    """The question of a chat in the queue, or what is replied at once, and how to say what comes of it.

    Sources open at the address `page`, as files of `index`, and are `listed` in the text.
    """

    chat: Chat
    job: Job | Completion
    page: str
    index: str | None
    listed: bool

    async def thoughts(self, seconds: float) -> AsyncIterator[str]:
        """What is told until the answer stands; an empty text after so many seconds with nothing to tell."""
        if isinstance(self.job, Job):
            if any(message.role in ("system", "developer") for message in self.chat.messages):
                yield reasoning("note", {"text": IGNORED})
            async for event in self.job.follow(seconds):
                thought = reasoning(*event) if event else ""
                if thought or event is None:
                    yield thought

    def completion(self) -> Completion:
        """What is replied, once it is there. Raises what the question failed with."""
        if isinstance(self.job, Completion):
            return self.job
        if self.job.failure is not None:
            raise self.job.failure
        assert self.job.answer is not None, "a question that has not failed has an answer"
        view = self.job.events[-1][1]
        return completion_of(*self.job.answer, view, self.page, self.index, listed=self.listed)

    async def lines(self, heartbeat: float) -> AsyncIterator[str]:
        """A stream: chunks as Server-Sent Events, with a comment after so many seconds without one."""
        reply, options = Reply(self.chat.model), self.chat.stream_options
        yield _line(reply.chunk({"role": "assistant", "content": ""}))
        async for thought in self.thoughts(heartbeat):
            yield _line(reply.chunk({"reasoning_content": thought})) if thought else ": still here\n\n"
        try:
            for chunk in reply.last_chunks(self.completion(), usage=bool(options and options.include_usage)):
                yield _line(chunk)
            yield "data: [DONE]\n\n"
        except Exception as error:
            yield _line({"error": openai_error(error)})


def asked(
    chat: Chat, workspace: Here, request: Request, x_local_rag_sources: Annotated[str, Header()] = ""
) -> Iterator[Asked]:
    """Put the question of a chat into the queue; it ends with the response. Raises what is wrong with it."""
    index, graph = chosen(workspace, chat.model)
    numbers = [number for number, message in enumerate(chat.messages) if message.role == "user"]
    if not numbers:
        raise ApiError(400, "usage", "messages: expected one with the role user, the question", param="messages")
    question = chat.messages[numbers[-1]].content
    page = f"http://{LOOPBACK[0]}:{request.url.port or 80}"  # as in the address that signs a browser in
    listed = x_local_rag_sources != "annotations"
    if (reply := housekeeping(question)) is not None:
        yield Asked(chat, Completion(reply), page, index, listed)
        return
    check_question(question)
    given = Ask(question=question, index=index, graph=graph, thread=chat.thread)
    said = [(each.role == "user", each.content) for each in chat.messages if each.role in ("user", "assistant")]
    turns = turns_of(said)[: len(numbers) - 1]
    job = enter(given, workspace, "key", turns)
    try:
        yield Asked(chat, job, page, index, listed)
    finally:
        job.stop()  # the client may have left


@router.post("/v1/chat/completions")
async def complete(chat: Chat, asked: Annotated[Asked, Depends(asked)], workspace: Here, request: Request) -> Any:
    """Ask a question as a chat program does: the answer as a chat completion."""
    if chat.stream:
        return StreamingResponse(asked.lines(workspace.limits.heartbeat), media_type="text/event-stream")
    told = []
    async for thought in asked.thoughts(LOOK):
        told.append(thought)
        if await request.is_disconnected():
            raise Stopped("the client has left")
    return Json(Reply(chat.model).whole(asked.completion(), "".join(told)))


def _line(value: dict[str, Any]) -> str:
    return f"data: {harmless_json(value)}\n\n"


def housekeeping(prompt: str) -> str | None:
    """The reply to a prompt that a chat program sends by itself, for a title or tags of a chat; None for a question.

    It goes to the model that is chatted with unless another one is set up; its reply is made of the words of the chat,
    in the form that it asks for, and no file is read.
    """
    prompt = prompt.strip()
    form = _FORM.match(prompt)
    if form is None and not prompt.startswith(_TITLES):
        return None
    asked = _ASKED.findall(prompt) or [prompt.partition("\n\n")[2]]
    first, last = (" ".join(each.split()) for each in (asked[0], asked[-1]))
    title = shorten(first, LONGEST_TITLE)
    if form is None:
        return title
    replies = {"title": title, "tags": content_words(first)[:3], "queries": [last]}
    reply = replies.get(form["key"], [] if form["several"] else "")
    return json.dumps({form["key"]: reply}, ensure_ascii=False)
