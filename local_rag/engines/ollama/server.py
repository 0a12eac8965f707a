"""Ask an Ollama server about itself and its models, and let it embed texts; no request here generates text from a
prompt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import AliasPath, BaseModel, ConfigDict, Field

from local_rag.core import process
from local_rag.core.address import address, down
from local_rag.core.errors import EngineError, LocalRagError, ModelMissing, NotLocal, ServerDown
from local_rag.engines.ollama.transport import CONNECT, GuardedServer, Refused
from local_rag.text.display import printable, shorten

if TYPE_CHECKING:
    from types import ModuleType

PATIENCE = 10.0
"""Seconds to wait for an answer about models; it takes milliseconds unless the machine is overloaded."""

LONGEST_VERSION = 40
"""The most characters of a server's version that are shown."""

PULLING = 600.0
"""Seconds without a message that are allowed in a pull; checking the sum of a large file is silent."""

_QUIET = {"NO_PROXY": "*", "no_proxy": "*", "OLLAMA_HOST": "127.0.0.1"}
"""Variables that turn off every proxy for httpx (`NO_PROXY=*`), also that of the system's settings."""


@cache
def ollama() -> ModuleType:
    """Import ollama-python, with other proxy variables if those of the shell make the import fail."""
    try:
        import ollama as library
    except (ImportError, ValueError):
        with process.environment(_QUIET):
            import ollama as library
    return library


class Reply(BaseModel):
    """Read the relevant fields of a server's reply."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Installed(Reply):
    """Hold a model that the server has. `remote_host` is set if it answers from another machine; `size` is in bytes.

    `digest` is that of its manifest: another digest means other weights or another template under the same name.
    """

    name: str
    size: int = 0
    parameters: str = Field("", validation_alias=AliasPath("details", "parameter_size"))
    quantization: str = Field("", validation_alias=AliasPath("details", "quantization_level"))
    remote_host: str = ""
    digest: str = ""


class Loaded(Reply):
    """Hold a model in memory, with its window in tokens; `size` and its part `on_gpu` are in bytes."""

    name: str
    size: int = 0
    on_gpu: int = Field(0, validation_alias="size_vram")
    window: int | None = Field(None, validation_alias="context_length")


class ModelInfo(Reply):
    """Hold the information of a model's file: its capabilities, its host, and in `model_info` the window it was trained
    with.
    """

    capabilities: tuple[str, ...] = ()
    family: str = Field("", validation_alias=AliasPath("details", "family"))
    remote_host: str = ""
    model_info: dict[str, Any] = {}

    @property
    def window(self) -> int | None:
        """The window in tokens, or None."""
        window = self.model_info.get(f"{self.model_info.get('general.architecture')}.context_length")
        return window if isinstance(window, int) and window > 0 else None


class Cloud(Reply):
    """Hold whether the server itself is prevented from calling its maker; None if it does not tell (before v0.24)."""

    disabled: bool | None = Field(None, validation_alias=AliasPath("cloud", "disabled"))
    source: str = Field("", validation_alias=AliasPath("cloud", "source"))


class _Version(Reply):
    version: str = "unknown"


class _Installed(Reply):
    models: list[Installed] = []


class _Loaded(Reply):
    models: list[Loaded] = []


class _Embedded(Reply):
    embeddings: list[list[float]]


class OllamaApi(GuardedServer):
    """Call the API of one Ollama server. Raises ServerDown, ModelMissing, NotLocal, EngineError, each with what to
    type.
    """

    called, is_not, at_silence = "Ollama", "is not an Ollama server", "ollama ps shows whether it still works"

    def __init__(self, host: str, allowed: Collection[str] = (), patience: float = PATIENCE) -> None:
        super().__init__(address(host), allowed, patience)

    def down(self) -> ServerDown:
        return down(self.address)

    def refusal(self, refused: Refused, model: str) -> LocalRagError:
        status, message = refused.status, refused.said
        if status == 404 and model and message.startswith("model "):
            return ModelMissing(f"Ollama at {self} has no model {model}", hint=f"local-rag models pull {model}")
        if status == 403:
            return NotLocal(f"Ollama refuses {model}: {message}", hint="local-rag models shows those that run here")
        if "exceeds" in message and "context length" in message:
            return TextTooLong(f"a text is too long for {model}: {message}", hint="local-rag index … --chunk-size 100")
        for words, meaning, hint in _CAUSES:
            if re.search(words, message, re.IGNORECASE):
                return EngineError(f"{meaning.format(model=model or 'the model')}: {message}", hint=hint)
        code = f" ({status})" if status > 0 else ""
        return EngineError(f"Ollama at {self} reports an error{code}: {message}", hint="local-rag doctor")

    def error_of(self, error: Exception, model: str = "", doing: str = "") -> LocalRagError:
        if isinstance(error, ollama().ResponseError):
            error = Refused(error.status_code, error.error)
        return super().error_of(error, model, doing)

    def version(self) -> str:
        return shorten(printable(self._asked("GET", "/api/version", _Version).version), LONGEST_VERSION)

    def cloud(self) -> Cloud:
        """Ask GET /api/status; both recorded versions have it."""
        try:
            return self._asked("GET", "/api/status", Cloud)
        except EngineError:
            return Cloud()

    def installed(self) -> list[Installed]:
        return self._asked("GET", "/api/tags", _Installed).models

    def loaded(self) -> list[Loaded]:
        return self._asked("GET", "/api/ps", _Loaded).models

    def show(self, model: str) -> ModelInfo:
        """Ask POST /api/show. Raises ModelMissing for a model that the server does not have."""
        return self._asked("POST", "/api/show", ModelInfo, model, {"model": model})

    def preload(self, model: str, options: Mapping[str, Any], keep_alive: str | int, patience: float) -> None:
        """Load a model without a prompt (`messages: []`), with the options of the later chats."""
        body = {"model": model, "messages": [], "stream": False, "options": options, "keep_alive": keep_alive}
        self._asked("POST", "/api/chat", Reply, model, body, patience)

    def embed(
        self, model: str, texts: Sequence[str], num_ctx: int, keep_alive: str | int, patience: float
    ) -> list[list[float]]:
        """Embed texts by POST /api/embed. Raises TextTooLong for a text that the model does not read whole."""
        body = {"model": model, "input": list(texts), "truncate": False, "options": {"num_ctx": num_ctx}}
        return self._asked(
            "POST", "/api/embed", _Embedded, model, body | {"keep_alive": keep_alive}, patience
        ).embeddings

    def pull(self, model: str) -> Iterator[tuple[str, int, int]]:
        """Make the server fetch a model; yield (the current step, bytes done, bytes in all) as it goes on."""
        client = ollama().Client(
            host=self.address.url,
            transport=self.transport,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(PULLING, connect=CONNECT),
        )
        try:
            for part in client.pull(model, stream=True):
                yield part.status or "", part.completed or 0, part.total or 0
        except (ollama().ResponseError, httpx.HTTPError, ConnectionError, ValueError) as error:
            raise self.error_of(error, model, "pulling") from error


# --- names of models ------------------------------------------------------------------------------------------------


def is_cloud_name(model: str) -> bool:
    """Return whether a name alone sends the prompt to ollama.com: its tag is `cloud` or ends in
    `-cloud`, in any case.
    """
    tag = model.rpartition(":")[2].strip().casefold() if ":" in model else ""
    return tag == "cloud" or tag.endswith("-cloud")


def check_name(model: str, allowed: Collection[str]) -> None:
    """Raise NotLocal for a cloud model by its name, unless that name is allowed; no request is made."""
    check_remote(model, "ollama.com" if is_cloud_name(model) else "", allowed)


def check_remote(model: str, remote_host: str, allowed: Collection[str]) -> None:
    """Raise NotLocal for an installed model that answers from another machine, unless its name is allowed."""
    if remote_host and model not in allowed:
        raise NotLocal(
            f"the model {model} would send your question and passages to {remote_host}, so it was not asked",
            hint="local-rag models shows those that run here; LOCAL_RAG_OLLAMA_ALLOW_CLOUD=NAME allows one by name",
        )


def same_model(first: str, second: str) -> bool:
    """Return whether two names mean one model: a name without a tag means `:latest`."""
    return _tagged(first) == _tagged(second)


def _tagged(name: str) -> str:
    short = name.strip().casefold().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return short if ":" in short.rpartition("/")[2] else f"{short}:latest"


# --- errors ---------------------------------------------------------------------------------------------------------


class TextTooLong(EngineError):
    """Report a text that is longer than an embedding model reads."""


_CAUSES = (
    (r"does not support embed", "{model} is no embedding model", "local-rag models lists those that there are"),
    (r"does not support chat", "{model} is no chat model", "local-rag models lists those that answer questions"),
    (r"does not support thinking|think value", "{model} cannot think as it is told to",
     "take the line 'think' for it out of your models.yaml"),
    (r"invalid model name", "{model} is no name of a model", "local-rag models lists those that there are"),
    (r"server busy|pending requests", "Ollama is busy with other questions", "ask again when they are done: ollama ps"),
    (r"memory|cuda|allocat|\boom\b|signal: killed|unable to load|timed out waiting for llama runner",
     "Ollama could not run {model}", "take a smaller one: local-rag models lists them with the memory that they need"),
)  # fmt: skip
"""Words of an error (read in Ollama's issue tracker and source), its meaning, and what to do."""
