"""Serve OpenAI's API on loopback as llama.cpp, vLLM or LM Studio do, with a script like that of Ollama."""

from support.ollama_server import OllamaServer, Turn, encoded, reply_of


class SseTurn(Turn):
    """Hold one chat that is answered in server-sent events."""

    def event(self, value):
        if not self.wire.started:
            self.wire.start(200, "text/event-stream")
        self.wire.write(b"data: " + (value if isinstance(value, bytes) else encoded(value)) + b"\n\n")

    def line(self, message, **more):
        delta = {"content": message.get("content", "")}
        if "thinking" in message:
            delta = {"reasoning_content": message["thinking"]}
        self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

    def finish(self, reason, output, prompt=None):
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        used = {"prompt_tokens": self.prompt_tokens if prompt is None else prompt, "completion_tokens": output}
        self.event({"choices": [], "usage": used})
        self.event(b"[DONE]")
        self.wire.end()


class OpenAIServer(OllamaServer):
    """Run one server; `kind` is the program it imitates, `forms` the reply forms it knows, `window` is in tokens."""

    def __init__(self, kind="llama.cpp", models=("tiny",), window=4096, forms=("json_schema", "json_object")):
        super().__init__()
        self.kind, self.served, self.window, self.forms = kind, models, window, forms

    @property
    def base_url(self):
        return f"http://{self.host}/v1"

    @property
    def chats(self):
        """Return the bodies of the chats, in their order."""
        return [request.body for request in list(self.requests) if request.path == "/v1/chat/completions"]

    def _listed(self):
        about = {"llama.cpp": {"meta": {"n_params": 7}}, "vLLM": {"max_model_len": self.window}}
        return {"object": "list", "data": [{"id": name} | about.get(self.kind, {}) for name in self.served]}

    def _answer(self, wire, request):
        if request.path in self.instead:
            return self.instead[request.path].send(SseTurn(wire, request.body or {}))
        if request.path == "/v1/models":
            return wire.json(200, self._listed())
        if request.path == "/props" and self.kind == "llama.cpp":
            return wire.json(200, {"default_generation_settings": {"n_ctx": self.window}})
        if request.path == "/api/v0/models" and self.kind == "LM Studio":
            about = {"loaded_context_length": self.window, "max_context_length": 99_999}
            return wire.json(200, {"data": [{"id": name} | about for name in self.served]})
        if request.path == "/v1/chat/completions":
            return self._chat(wire, request.body)
        return wire.json(200, {"error": f"Unexpected endpoint {request.path}"})

    def _refusal(self, body):
        form = (body.get("response_format") or {}).get("type")
        return (400, f"'response_format.type' {form} is not known") if form and form not in self.forms else None

    def _run(self, wire, body):
        turn = SseTurn(wire, body, self.count(self.render(body["messages"])))
        turn.room = min(body["max_tokens"], max(1, self.window - turn.prompt_tokens))
        if turn.prompt_tokens > self.window:
            said = f"the request exceeds the available context size ({self.window} tokens)"
            return wire.json(400, {"error": {"code": 400, "message": said, "type": "exceed_context_size_error"}})
        chosen = self._script.popleft() if self._script else self.always
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        with self._changed:
            self._answering += 1
            self._changed.notify_all()
        return reply_of(chosen(body | {"format": schema}) if callable(chosen) else chosen).send(turn)
