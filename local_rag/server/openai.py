"""Serve OpenAI's /v1/models and /v1/chat/completions for chat programs, which need the key.

Each graph is a model. The last message of the user is the question, and earlier messages are turns of the chat. Nothing
is stored unless the request names a `thread`. A question is stopped when its client disconnects.
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
"""The model for the graph of the settings; before a "/" it stands for the indexes of the settings."""
IGNORED = "system and developer messages are ignored: what an answer may say is fixed by the files"
LOOK = 0.5
"""Seconds between two checks whether a client that waits for a whole answer is still connected."""
LONGEST_TITLE = 60
"""The most characters of the title of a chat."""

_FORM = re.compile(r'### Task:.*?JSON format:[\s`]*\{\s*"(?P<key>\w+)"\s*:\s*(?P<several>\[)?', re.DOTALL)
"""The form of Open WebUI's prompts for titles, tags, follow-ups, queries and so on.

Source: `backend/open_webui/config.py`, DEFAULT_…_PROMPT_TEMPLATE.
"""
_TITLES = (
    "Provide a concise, 5-word-or-less title",  # LibreChat's (danny-avila/agents, src/utils/title.ts)
    "Given the following... please reply with a title",  # Continue's (core/util/chatDescriber.ts)
)
_ASKED = re.compile(r"^user: (.+?)(?=^(?:user|assistant|ai): |^</chat_history>|\Z)", re.DOTALL | re.I | re.M)
"""The messages of the person in the chat that such a prompt holds."""

router = APIRouter()


def _text(content: Any) -> Any:
    """Return the text of a message, joined if it comes in parts; raise ValueError for a picture, sound or file."""
    if not isinstance(content, list):
        return content or ""
    kinds = [part.get("type") if isinstance(part, dict) else type(part).__name__ for part in content]
    if wrong := [kind for kind in kinds if kind != "text"]:
        raise ValueError(f"expected text, not {wrong[0]}")
    return "\n".join(str(part.get("text", "")) for part in content)


class Message(BaseModel):
    """Hold a message of a chat."""

    role: str
    content: Annotated[str, BeforeValidator(_text)] = ""


class TextForm(BaseModel):
    """Name the form of an answer, which is always text."""

    type: Literal["text"]


class StreamOptions(BaseModel):
    """Say whether a stream ends with the token usage."""

    include_usage: bool | None = None


class Chat(BaseModel):
    """Hold a question after a chat; other parameters are accepted and change nothing.

    `thread` is an addition to OpenAI's form: the question is stored in that thread, whose turns replace the earlier
    messages.
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
    """Return the index and the graph of each model; None stands for that of the settings."""
    graphs: tuple[GraphName, ...] = get_args(GraphName)
    own: dict[str, tuple[str | None, GraphName | None]] = {OWN: (None, None)}
    own |= {f"{OWN}/{graph}": (None, graph) for graph in graphs}
    others = [index for index in workspace.indexes() if [index] != [*workspace.settings.index_paths]]
    return own | {f"{index}/{graph}": (index, graph) for index in others for graph in graphs if index != OWN}


def chosen(workspace: Workspace, model: str) -> tuple[str | None, GraphName | None]:
    """Return the index and the graph of a model; raise ApiError for an unknown one."""
    models = models_of(workspace)
    if model not in models:
        why = f"there is no model {model!r} here"
        raise ApiError(404, "model_not_found", why, "GET /v1/models lists those that are there", param="model")
    return models[model]


@router.get("/v1/models")
def models(workspace: Here) -> dict[str, Any]:
    """List the models: one for each graph, and one for each graph of each further index."""
    return {"object": "list", "data": [_model(workspace, model) for model in models_of(workspace)]}


@router.get("/v1/models/{id:path}")
def model(id: str, workspace: Here) -> dict[str, Any]:
    """Describe one model."""
    chosen(workspace, id)
    return _model(workspace, id)


def _model(workspace: Workspace, id_: str) -> dict[str, Any]:
    created = int(datetime.fromisoformat(workspace.began).timestamp())
    return {"id": id_, "object": "model", "created": created, "owned_by": OWN}


@dataclass(frozen=True)
class Asked:
    """Hold the queued question of a chat, or its immediate reply, and write the response.

    Sources open at the address `page`, as files of `index`; if `listed`, the text lists them.
    """

    chat: Chat
    job: Job | Completion
    page: str
    index: str | None
    listed: bool

    async def thoughts(self, seconds: float) -> AsyncIterator[str]:
        """Yield the progress until the answer is complete, and "" after so many seconds without an event."""
        if isinstance(self.job, Job):
            if any(message.role in ("system", "developer") for message in self.chat.messages):
                yield reasoning("note", {"text": IGNORED})
            async for event in self.job.follow(seconds):
                thought = reasoning(*event) if event else ""
                if thought or event is None:
                    yield thought

    def completion(self) -> Completion:
        """Return the reply of an ended question; raise the error with which it failed."""
        if isinstance(self.job, Completion):
            return self.job
        if self.job.failure is not None:
            raise self.job.failure
        assert self.job.answer is not None, "a question that has not failed has an answer"
        view = self.job.events[-1][1]
        return completion_of(*self.job.answer, view, self.page, self.index, listed=self.listed)

    async def lines(self, heartbeat: float) -> AsyncIterator[str]:
        """Yield chunks as Server-Sent Events, and a comment after `heartbeat` seconds without an event."""
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
    """Put the question of a chat into the queue, and stop it after the response; raise an error for a wrong request."""
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
    """Ask a question as a chat program does, and send the answer as a chat completion."""
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
    """Return the reply to a prompt that a chat program sends on its own, as for a chat's title; None for a question.

    Chat programs send such prompts to the model of the chat unless another one is set up. The reply consists of words
    of the chat in the form that the prompt asks for, and no file is read.
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
