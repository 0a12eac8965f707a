"""What a question did as spans of OpenTelemetry: the question, its nodes, each call to a model, each retrieval.

Attributes have OpenInference's names (https://github.com/Arize-ai/openinference/tree/main/spec), which Phoenix and
Langfuse read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from local_rag.core.serialization import to_plain
from local_rag.runtime.collector import Collector

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage
    from langchain_core.outputs import LLMResult

KIND = "openinference.span.kind"
PROJECT = "local-rag"
SHOWN = ("query", "route", "label", "why", "status", "reason", "generation", "decisions")
"""What a span shows of what a node returns: the passages are those of the retrieval's own span."""


class Spans(BaseCallbackHandler):
    """Makes a span of each run that callbacks are told of, and sends it to a collector on this machine.

    Raises UsageError, NotLocal and LocalRagError as `Collector` does.
    """

    run_inline = True

    def __init__(self, url: str) -> None:
        collector = Collector(url)
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        about = {"service.name": PROJECT, "openinference.project.name": PROJECT}
        self._provider = TracerProvider(sampler=ALWAYS_ON, resource=Resource(about))
        self._provider.add_span_processor(BatchSpanProcessor(collector))
        self._tracer = self._provider.get_tracer(PROJECT)
        self._running: dict[UUID, Any] = {}

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()

    # --- what callbacks are told ----------------------------------------------------------------------------------

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **about: Any
    ) -> None:
        """A question, or a node of its graph."""
        state = inputs if isinstance(inputs, Mapping) else {}
        metadata = about.get("metadata") or {}
        given = {"input.value": str(state.get("question", "")), "session.id": str(metadata.get("thread_id") or "")}
        self._start(run_id, parent_run_id, str(about.get("name") or "chain"), "CHAIN", given)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """Of a node what it decided and wrote; of a question the answer."""
        state = outputs if isinstance(outputs, Mapping) else {}
        shown = {key: state[key] for key in SHOWN if state.get(key)}
        self._end(run_id, {"output.value": _json(shown), "output.mime_type": "application/json"})

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A node that waits for a person has not failed: it is gone through again with their answer."""
        from langgraph.errors import GraphBubbleUp

        if isinstance(error, GraphBubbleUp):
            self._end(run_id, {})
        else:
            self._failed(run_id, error)

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **about: Any,
    ) -> None:
        """A call to a language model; its name is that of the task."""
        metadata, options = about.get("metadata") or {}, about.get("invocation_params") or {}
        given = {
            "llm.model_name": str(metadata.get("ls_model_name") or options.get("model") or ""),
            "llm.provider": str(metadata.get("ls_provider") or ""),
            "llm.invocation_parameters": _json(options),
            "input.value": str(messages[0][-1].text) if messages and messages[0] else "",
        }
        for number, message in enumerate(messages[0] if messages else ()):
            given |= _message(f"llm.input_messages.{number}", message)
        self._start(run_id, parent_run_id, str(about.get("name") or "chat model"), "LLM", given)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """The reply, and its tokens."""
        message: Any = getattr(response.generations[0][0], "message", None)
        if message is None:
            return self._end(run_id, {})
        used = message.usage_metadata or {}
        counts = {"prompt": "input_tokens", "completion": "output_tokens", "total": "total_tokens"}
        given: dict[str, Any] = {f"llm.token_count.{name}": int(used.get(key, 0)) for name, key in counts.items()}
        given |= {"output.value": str(message.text), **_message("llm.output_messages.0", message)}
        self._end(run_id, given)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._failed(run_id, error)

    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **about: Any
    ) -> None:
        """A search of the index."""
        self._start(run_id, parent_run_id, str(about.get("name") or "retriever"), "RETRIEVER", {"input.value": query})

    def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **_: Any) -> None:
        """The passages, best first."""
        given: dict[str, Any] = {}
        for number, document in enumerate(documents):
            at, metadata = f"retrieval.documents.{number}.document", document.metadata
            place = {name: metadata.get(name) for name in ("source", "page", "heading", "url") if metadata.get(name)}
            given[f"{at}.id"] = str(metadata.get("chunk_id", ""))
            given[f"{at}.content"] = document.page_content
            given[f"{at}.metadata"] = _json(place)
            if isinstance(score := metadata.get("score"), float):
                given[f"{at}.score"] = score
        self._end(run_id, given)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._failed(run_id, error)

    # --- spans ----------------------------------------------------------------------------------------------------

    def _start(self, run: UUID, parent: UUID | None, name: str, kind: str, given: Mapping[str, Any]) -> None:
        """Begin a span below that of the run around it; a question is a trace of its own, whatever the host traces."""
        from opentelemetry.context import Context
        from opentelemetry.trace import set_span_in_context

        around = self._running.get(parent) if parent else None
        context = set_span_in_context(around, Context()) if around is not None else Context()
        known = {key: value for key, value in given.items() if value != ""}
        self._running[run] = self._tracer.start_span(name, context=context, attributes={KIND: kind, **known})

    def _end(self, run: UUID, given: Mapping[str, Any]) -> None:
        from opentelemetry.trace import Status, StatusCode

        if span := self._running.pop(run, None):
            span.set_attributes(given)
            span.set_status(Status(StatusCode.OK))
            span.end()

    def _failed(self, run: UUID, error: BaseException) -> None:
        from opentelemetry.trace import Status, StatusCode

        if span := self._running.pop(run, None):
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, str(error)))
            span.end()


def _message(at: str, message: BaseMessage) -> dict[str, str]:
    roles = {"human": "user", "ai": "assistant"}
    return {f"{at}.message.role": roles.get(message.type, message.type), f"{at}.message.content": str(message.text)}


def _json(value: object) -> str:
    return json.dumps(to_plain(value), ensure_ascii=False, default=str)
