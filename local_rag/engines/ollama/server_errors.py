"""What goes wrong with a server, as errors of this project."""

from __future__ import annotations

import json
import re

import httpx

from local_rag.core.errors import EngineError, LocalRagError, ModelMissing, NotLocal
from local_rag.engines.ollama.address import Address, down
from local_rag.engines.ollama.clients import ollama


def project_error(error: Exception, where: Address, model: str = "", doing: str = "") -> LocalRagError:
    """An error of a client library as an error of this project, with what to type."""
    if isinstance(error, httpx.HTTPStatusError):
        return _refused(error.response.status_code, _message(error.response), where, model)
    if isinstance(error, ollama().ResponseError):
        return _refused(error.status_code, _runner_message(error.error), where, model)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
        return down(where)
    if isinstance(error, httpx.TimeoutException):
        return EngineError(
            f"Ollama at {where} did not answer in time ({doing})", hint="ollama ps shows whether it still works"
        )
    if isinstance(error, httpx.HTTPError):
        return EngineError(f"the connection to Ollama at {where} was cut: {error}", hint="ollama serve")
    return EngineError(f"the program at {where} is not an Ollama server: {error}", hint="local-rag doctor")


_CAUSES = (
    (r"does not support chat", "{model} is no chat model", "local-rag models lists those that answer questions"),
    (r"does not support thinking|think value", "{model} cannot think as it is told to",
     "take the line 'think' for it out of your models.yaml"),
    (r"invalid model name", "{model} is no name of a model", "local-rag models lists those that there are"),
    (r"server busy|pending requests", "Ollama is busy with other questions", "ask again when they are done: ollama ps"),
    (r"memory|cuda|allocat|\boom\b|signal: killed|unable to load|timed out waiting for llama runner",
     "Ollama could not run {model}", "take a smaller one: local-rag models lists them with the memory that they need"),
)  # fmt: skip
"""Words of an error (read in Ollama's issue tracker and source), what they mean, and what to do."""


def _refused(status: int, message: str, where: Address, model: str) -> LocalRagError:
    if status == 404 and model and message.startswith("model "):
        return ModelMissing(f"Ollama at {where} has no model {model}", hint=f"local-rag models pull {model}")
    if status == 403:
        return NotLocal(f"Ollama refuses {model}: {message}", hint="local-rag models shows those that run here")
    for words, meaning, hint in _CAUSES:
        if re.search(words, message, re.IGNORECASE):
            return EngineError(f"{meaning.format(model=model or 'the model')}: {message}", hint=hint)
    return EngineError(f"Ollama at {where} reports an error{_code(status)}: {message}", hint="local-rag doctor")


def _code(status: int) -> str:
    return f" ({status})" if status > 0 else ""


def _message(response: httpx.Response) -> str:
    try:
        return _runner_message(str(response.json()["error"]))
    except (ValueError, KeyError, TypeError):
        return response.text[:200] or response.reason_phrase


def _runner_message(message: str) -> str:
    """New servers put the runner's own JSON into the string of an error."""
    try:
        inner = json.loads(message)["error"]
        return str(inner["message"] if isinstance(inner, dict) else inner)
    except (ValueError, KeyError, TypeError):
        return message
