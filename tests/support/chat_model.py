"""Provide a chat model of LangChain for tests: a real BaseChatModel that answers as `ollama_mind` does."""

import json
import re
import time
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

from support.ollama_mind import mind


class MindModel(BaseChatModel):
    """Reply from `script` first, raising an exception that it contains; then reply by shared words.

    `seen` notes the messages of each call. `refuses` names the ways of requesting JSON that its server does not know.
    """

    model_name: str = "mind"
    script: list[Any] = Field(default_factory=list)
    seen: list[dict] = Field(default_factory=list)
    refuses: tuple[str, ...] = ()
    pace: float = 0.0

    @property
    def _llm_type(self):
        return "mind"

    @property
    def _identifying_params(self):
        return {"model_name": self.model_name, "pace": self.pace}

    def _reply(self, messages, schema, way=None):
        body = {"messages": [{"content": message.text} for message in messages], "format": schema}
        told = self.script.pop(0) if self.script else None
        self.seen.append({"messages": messages, "schema": schema, "way": way})
        if isinstance(told, BaseException):
            raise told
        return mind(body) if told is None else told

    def _generate(self, messages, stop=None, run_manager=None, schema=None, way="", **options):
        if way in self.refuses:
            raise ValueError(f"this server has no {way}")
        text = self._reply(messages, schema, way or None)
        time.sleep(self.pace)
        counted = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
        message = AIMessage(text, usage_metadata=counted)
        if way == "tools":
            name = schema["title"]
            message = AIMessage(
                "", tool_calls=[{"name": name, "args": json.loads(text), "id": "1"}], usage_metadata=counted
            )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(self, messages, stop=None, run_manager=None, schema=None, way="", **options):
        if way == "tools":
            raise NotImplementedError("a call to a tool comes at once")
        words = re.findall(r"\S+\s*", self._reply(messages, schema, way or None)) or [""]
        for number, word in enumerate(words):
            time.sleep(self.pace)
            last = number + 1 == len(words)
            counted = (
                {"input_tokens": 10, "output_tokens": len(words), "total_tokens": 10 + len(words)} if last else None
            )
            chunk = ChatGenerationChunk(message=AIMessageChunk(word, usage_metadata=counted))
            if run_manager:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk


class SchemaModel(MindModel):
    """Accept a JSON schema, as most servers do today."""

    def with_structured_output(self, schema, *, include_raw=False, method="json_schema", **options):
        return self.bind(schema=schema if method != "json_mode" else None, way=method) | JsonOutputParser()


class ToolModel(MindModel):
    """Call tools, and have no other structured output; BaseChatModel derives one from that."""

    def bind_tools(self, tools, *, tool_choice=None, **options):
        return self.bind(schema=tools[0], way="tools")


def told_shape(messages):
    """Return the schema for `mind` that a prompt with an example of JSON at its end asks for."""
    task = messages[1].text.rpartition("\n\nTask: ")[2]
    if "JSON" not in task:
        return None
    example = task[task.rindex("in JSON") :]
    keys = dict(re.findall(r'"(\w)": ("[^"]*"|\[[^\]]*\]|true or false|…)', example))
    doubt = re.search(r'If in doubt, choose "(\w+)"', task)
    shapes = {
        "r": {"type": "string", "pattern": ""},
        "s": {"type": "string", "pattern": ""},
        "u": {"type": "integer"},
        "d": {"type": "string", "enum": [doubt[1] if doubt else ""]},
        "c": {"type": "string", "enum": ["single"]},
        "n": {"type": "string", "enum": re.findall(r"yes|no|continue", keys.get("n", ""))},
    }
    return {
        "properties": {
            key: {"type": "boolean"} if value == "true or false" else shapes.get(key, {}) for key, value in keys.items()
        }
    }


class PlainModel(MindModel):
    """Know nothing of JSON, and do what the prompt says."""

    def _reply(self, messages, schema, way=None):
        return super()._reply(messages, told_shape(messages), way)
