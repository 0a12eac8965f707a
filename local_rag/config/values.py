"""Define all settings by section, with their defaults, bounds and descriptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from local_rag.core.protocols import Style

GraphName = Literal["plain", "self-rag", "crag", "adaptive"]
EngineName = Literal["auto", "ollama", "openai", "extractive"]
DeviceName = Literal["auto", "cpu", "cuda", "mps"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Section):
    """Limit the tries and the time of a graph; the state of one question is counted against these limits."""

    rewrites: int = Field(1, ge=0, le=20, description="how often a question may be rewritten")
    generations: int = Field(3, ge=1, le=20, description="how many answers may be written")
    steps: int = Field(10, ge=1, le=20, description="sentences of reasoning, or parts of an answer, for one question")
    seconds: float = Field(300.0, gt=0, description="longest time for one question")


class SelfRag(_Section):
    """Set the parts of Self-RAG (arXiv 2310.11511) that the tutorial leaves out."""

    final_grade: Literal["together", "separate"] = Field(
        "together", description="together: support and usefulness in one check; separate: two, with a node between"
    )
    candidates: int = Field(1, ge=1, le=8, description="drafts per attempt, each from another part of the passages")
    hard_constraint: bool = Field(False, description="drop sentences without support before drafts are ranked")
    retrieve: Literal["always", "decide", "each"] = Field(
        "always", description="always; decide: only if the files are needed; each: again before each part of an answer"
    )

    @field_validator("retrieve")
    @classmethod
    def _combines(cls, retrieve: str, info: ValidationInfo) -> str:
        drafts = info.data.get("candidates", 1)
        if retrieve == "each" and drafts > 1:
            raise ValueError(
                f"each writes one part after the other and cannot be combined with self_rag.candidates: {drafts}; "
                "set self_rag.candidates: 1"
            )
        return retrieve


class Crag(_Section):
    """Set the parts of CRAG (arXiv 2401.15884) that the tutorial leaves out."""

    trigger: Literal["any_irrelevant", "thresholds"] = Field(
        "any_irrelevant",
        description="any_irrelevant: one irrelevant passage leads to the web; thresholds: scores decide",
    )
    upper: float = Field(0.8, ge=0, le=1, description="correct: some score is above this (0.795 on PopQA)")
    lower: float = Field(
        0.05, ge=0, le=1, validate_default=True, description="incorrect: all scores are below this (0.005 to 0.045)"
    )
    refine: bool = Field(False, description="keep only the strips of each passage that help")

    @field_validator("lower")
    @classmethod
    def _below_upper(cls, lower: float, info: ValidationInfo) -> float:
        upper = info.data.get("upper", 1.0)
        if lower > upper:
            raise ValueError(f"crag.lower must not be above crag.upper, which is {upper:g}")
        return lower


class Adaptive(_Section):
    """Set what follows if a source has no answer, and questions in several steps (arXiv 2403.14403, section 3.2)."""

    fallback: Literal["web", "rewrite"] = Field(
        "web",
        description="where the files hold nothing relevant and the web is allowed: web, once; or rewrite the question",
    )
    complexity: Literal["single", "auto", "multi"] = Field(
        "single", description="single: one retrieval; auto: as the router decides; multi: several for every question"
    )
    per_step: int = Field(6, ge=1, le=50, description="new passages per step")
    collected: int = Field(15, ge=1, le=100, description="passages of all steps together")


class AnswerShape(_Section):
    """Set the form of an answer; a generator is asked for it, and quotes keep the language of the files."""

    sentences: int = Field(3, ge=1, le=20, description="how many sentences, items, steps or rows an answer may have")
    style: Style = Field("short", description="short: running text; list, steps (numbered) or table")
    language: str = Field(
        "question",
        pattern=r"^[^\W\d_]+(?:[ -][^\W\d_]+){0,3}$",
        max_length=40,
        description="the language of answers: question, as the question is; or a name, such as German or de",
    )


class Thresholds(_Section):
    """Set thresholds in [0, 1]; an empty one is the value that `calibrate` found for the engine, or its own."""

    relevance: float | None = Field(None, ge=0, le=1, description="score from which a passage is relevant")
    answer: float | None = Field(None, ge=0, le=1, description="score below which an answer is not given")


class Chunks(_Section):
    size: int = Field(250, ge=16, description="tokens of a passage, never above the embedder's window")
    overlap: int = Field(0, ge=0, description="tokens that neighbouring passages share")


def _listed(value: object) -> object:
    """Split a list that a variable or a flag gives as one string with commas."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


Grading = Literal["auto", "packed", "each", "evaluator"]
"""Who grades passages and answers.

"auto": the trained evaluator and code grade both. "packed" and "each": a language model grades both, with as many
passages in a call as fit, or one passage in each call. "evaluator": the evaluator grades the passages and a language
model the answer.
"""


class Ollama(_Section):
    """Set the connection to the Ollama server; models.yaml says which models it runs."""

    host: str = Field("127.0.0.1:11434", description="where Ollama listens: host, host:port or a URL")
    allow_hosts: Names = Field((), description="hosts besides this machine that may be sent questions and passages")
    allow_cloud: Names = Field((), description="models that may answer from another machine, by name")
    grading: Grading = Field(
        "auto",
        description="who grades: auto, the evaluator; packed or each, the model; evaluator, both",
    )
    keep_alive: str = Field(
        "5m",
        coerce_numbers_to_str=True,
        pattern=r"^-?(\d+|(\d+(\.\d+)?(ms|s|m|h))+)$",
        description="how long a model stays in memory after a call, such as 1h30m; -1: for ever",
    )
    idle_seconds: float = Field(60.0, gt=0, description="longest silence within a reply")
    load_seconds: float = Field(180.0, gt=0, description="longest wait for a model to be loaded")

    @field_validator("keep_alive")
    @classmethod
    def _with_unit(cls, value: str) -> str:
        return f"{value}s" if value[-1].isdigit() else value  # Ollama refuses a number without a unit

    @property
    def by_model(self) -> Ollama:
        """Return these settings with grading by the model if the evaluator would grade."""
        return self.model_copy(update={"grading": "packed"}) if self.grading in ("auto", "evaluator") else self


class OpenAI(_Section):
    """Set another model server, for `engine: openai`; grading and time limits are those of `ollama`."""

    base_url: str = Field(
        "http://127.0.0.1:8080/v1", description="where a server speaks OpenAI's API: llama.cpp, LM Studio, Jan, vLLM"
    )
    allow_hosts: Names = Field((), description="hosts besides this machine that may be sent questions and passages")


ENGINES = ("brave", "duckduckgo", "grokipedia", "mojeek", "startpage", "wikipedia", "yahoo")
"""The text search engines of ddgs 9.16, checked here because ddgs silently searches all of them for an unknown name."""


def _switch(value: object) -> str:
    """Return "on" or "off" for the many ways in which YAML and people write them."""
    word = str(value).strip().lower()
    return {"true": "on", "yes": "on", "1": "on", "false": "off", "no": "off", "0": "off"}.get(word, word)


class Web(_Section):
    """Set whether, where and how long the web is searched; a query is shown and logged before it leaves."""

    enabled: Annotated[Literal["off", "on", "ask"], BeforeValidator(_switch)] = Field(
        "off", description="off, on, or ask: each query must be allowed in the terminal"
    )
    source: str = Field(
        "", description="a folder of saved pages, or an index, searched in place of the web: nothing leaves"
    )
    never: Names = Field((), description="indexes whose questions never go to the web, by name or path")
    engines: Names = Field(("duckduckgo",), description=f"search engines, asked in this order: {', '.join(ENGINES)}")
    seconds: float = Field(12.0, gt=0, description="longest time for one web search, without reading the pages")
    page_seconds: float = Field(10.0, gt=0, description="longest time for reading one page")
    region: str = Field("wt-wt", pattern=r"^[a-z]{2}-[a-z]{2,3}$", description="such as us-en; wt-wt for none")

    @field_validator("engines")
    @classmethod
    def _known(cls, engines: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in engines if name not in ENGINES]
        if unknown or not engines:
            raise ValueError(f"{unknown[0] if unknown else 'none'} is no search engine: there are {', '.join(ENGINES)}")
        return tuple(dict.fromkeys(engines))


class Serve(_Section):
    port: int = Field(8321, ge=1, le=65_535, description="where local-rag serve listens; the next free port if taken")


class Postgres(_Section):
    allow_hosts: Names = Field((), description="hosts besides this machine on which PostgreSQL may hold an index")


class Api(_Section):
    allow_origins: Names = Field(
        (),
        description="origins whose pages may use the API of local-rag serve with its key, such as http://localhost:3000",
    )

    @field_validator("allow_origins")
    @classmethod
    def _origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [
            origin
            for origin in origins
            if not re.fullmatch(r"https?://[\w.-]+(:\d+)?|https?://\[[0-9a-f:]+\](:\d+)?", origin)
        ]
        if wrong:
            raise ValueError(f"an origin is http://HOST:PORT or https://HOST, with no path, not {wrong[0]!r}")
        return origins


class Ocr(_Section):
    enabled: bool = Field(False, description="index also reads images, and pages without a text layer, by OCR")
    languages: Names = Field((), description="languages for tesseract, such as rus, ara; none: rapidocr, if installed")


class Runs(_Section):
    """Set how many runs of answered questions are kept: see `runtime.recording`."""

    keep: int = Field(200, ge=0, le=100_000, description="questions whose run is recorded, the last ones; 0: none")


class History(_Section):
    keep_days: int = Field(
        0, ge=0, le=36_500, description="days after which chats not used, runs and feedback go; 0: never"
    )


class Values(_Section):
    """Hold every setting; a dotted name is one variable: limits.seconds is LOCAL_RAG_LIMITS_SECONDS."""

    index: str = Field(
        "default", min_length=1, description="the index to use: a name, a folder, or postgresql://HOST/DB#NAME"
    )
    also: Names = Field((), description="further indexes that are asked as one with it, by name or path")
    graph: GraphName = Field("self-rag", description="the graph that answers")
    engine: EngineName = Field(
        "auto", description="the engine that grades and answers: auto, ollama, openai or extractive"
    )
    model: str = Field(
        "", description="the model for everything; empty: the profile's, or the only one of a server (openai)"
    )
    profile: str = Field("", description="the profile of models.yaml; empty: by this machine's memory")
    k: int = Field(4, ge=1, le=100, description="passages retrieved per query")
    embedder: str = Field("minilm", description="the embedding model, by its name in models.yaml, or ollama/NAME")
    evaluator: str = Field("minilm", description="the small model that reads passages, by its name in models.yaml")
    device: DeviceName = Field(
        "auto", description="embeds passages: auto, cpu; cuda (NVIDIA), mps (Apple) as PyTorch finds them"
    )
    chunks: Chunks = Chunks()
    ocr: Ocr = Ocr()
    direct: bool = Field(False, description="allow answers that use none of the files, marked as such")
    strict: bool = Field(False, description="remove sentences without support instead of marking them")
    explain: bool = Field(False, description="ask the graders of a language model for a reason")
    limits: Limits = Limits()
    self_rag: SelfRag = SelfRag()
    crag: Crag = Crag()
    adaptive: Adaptive = Adaptive()
    answer: AnswerShape = AnswerShape()
    thresholds: Thresholds = Thresholds()
    ollama: Ollama = Ollama()
    openai: OpenAI = OpenAI()
    web: Web = Web()
    runs: Runs = Runs()
    history: History = History()
    serve: Serve = Serve()
    api: Api = Api()
    postgres: Postgres = Postgres()


# mypy reads no types from `Values`: a TypedDict made from its fields would take any name and any value. A test holds
# that both have the same names.
class Flags(TypedDict, total=False):
    """Type the settings as keywords, with __ for the dot; None means not given.

    A list may be one string with commas. `engine` is missing because a program may also give an engine of its own.
    """

    models: str | None  # the path of another models.yaml
    index: str | Sequence[str] | None
    also: str | Sequence[str] | None
    graph: GraphName | None
    model: str | None
    profile: str | None
    k: int | None
    embedder: str | None
    evaluator: str | None
    device: DeviceName | None
    chunks__size: int | None
    chunks__overlap: int | None
    ocr__enabled: bool | None
    ocr__languages: str | Sequence[str] | None
    direct: bool | None
    strict: bool | None
    explain: bool | None
    limits__rewrites: int | None
    limits__generations: int | None
    limits__steps: int | None
    limits__seconds: float | None
    self_rag__final_grade: Literal["together", "separate"] | None
    self_rag__candidates: int | None
    self_rag__hard_constraint: bool | None
    self_rag__retrieve: Literal["always", "decide", "each"] | None
    crag__trigger: Literal["any_irrelevant", "thresholds"] | None
    crag__upper: float | None
    crag__lower: float | None
    crag__refine: bool | None
    adaptive__fallback: Literal["web", "rewrite"] | None
    adaptive__complexity: Literal["single", "auto", "multi"] | None
    adaptive__per_step: int | None
    adaptive__collected: int | None
    answer__sentences: int | None
    answer__style: Style | None
    answer__language: str | None
    thresholds__relevance: float | None
    thresholds__answer: float | None
    ollama__host: str | None
    ollama__allow_hosts: str | Sequence[str] | None
    ollama__allow_cloud: str | Sequence[str] | None
    ollama__grading: Grading | None
    ollama__keep_alive: str | None
    ollama__idle_seconds: float | None
    ollama__load_seconds: float | None
    openai__base_url: str | None
    openai__allow_hosts: str | Sequence[str] | None
    web__enabled: Literal["off", "on", "ask"] | bool | None
    web__source: str | None
    web__never: str | Sequence[str] | None
    web__engines: str | Sequence[str] | None
    web__seconds: float | None
    web__page_seconds: float | None
    web__region: str | None
    runs__keep: int | None
    history__keep_days: int | None
    serve__port: int | None
    api__allow_origins: str | Sequence[str] | None
    postgres__allow_hosts: str | Sequence[str] | None
