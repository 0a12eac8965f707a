"""The options that several commands share, and the settings that they make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.config.settings import Settings

IndexOption = Annotated[str | None, typer.Option("--index", metavar="NAME|PATH", help="The index to use.")]
ModelsOption = Annotated[str | None, typer.Option("--models", metavar="FILE", help="A models.yaml to read first.")]
TrustOption = Annotated[
    bool | None, typer.Option("--trust-models-here", help="Read ./models.yaml too.", show_default=False)
]
EmbedderOption = Annotated[str | None, typer.Option("--embedder", metavar="NAME", help="A model of models.yaml.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write the result as one JSON object.")]
InOption = Annotated[
    list[str] | None, typer.Option("--in", metavar="PATH|URL|GLOB", help="Only these; may be given several times.")
]
EngineOption = Annotated[
    str | None, typer.Option("--engine", metavar="auto|ollama|extractive", help="What grades and answers.")
]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="NAME", help="The Ollama model for everything.")]
ProfileOption = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="A profile of models.yaml, such as 16gb.")
]
WebOption = Annotated[
    str | None, typer.Option("--web", metavar="[on|ask|off]", help="Search the web where a graph wants to: on, or ask.")
]
GraphOption = Annotated[str | None, typer.Option("--graph", metavar="plain|self-rag|crag|adaptive")]
SecondsOption = Annotated[float | None, typer.Option("--seconds", metavar="S", help="Wall clock of a question.")]
ThreadOption = Annotated[
    str | None,
    typer.Option("--thread", metavar="NAME", help="The chat it is in: an old one goes on, a new one begins."),
]
DirectOption = Annotated[
    bool | None,
    typer.Option("--direct/--no-direct", help="Allow answers that no file was looked at for.", show_default=False),
]
StrictOption = Annotated[
    bool | None,
    typer.Option("--strict/--no-strict", help="Take out sentences without support.", show_default=False),
]
ExplainOption = Annotated[
    bool | None,
    typer.Option("--explain/--no-explain", help="Ask the graders for their reasons.", show_default=False),
]
TraceOption = Annotated[bool, typer.Option("--trace", help="Show each step and verdict on stderr.")]
TraceFileOption = Annotated[
    Path | None,
    typer.Option("--trace-file", metavar="FILE", help="Each event and state as a JSON line; a new or empty file."),
]
LinesOption = Annotated[bool, typer.Option("--json", help="Write each answer as one line of JSON.")]
KOption = Annotated[int | None, typer.Option("--k", metavar="N", help="Passages retrieved per query.")]


def settings_of(index: str | None, models: str | None = None, trust: bool | None = None, **flags: Any) -> Settings:
    """The settings in force under these options; None means not given."""
    from local_rag.config.settings import Settings

    return Settings.load(index=index, models=models, trust_models_here=trust or None, **flags)


def stderr_console() -> Console:
    """Where progress is shown."""
    from rich.console import Console

    return Console(stderr=True, emoji=False)  # a query is shown as it leaves


def with_web(arguments: Sequence[str]) -> list[str]:
    """--web may stand alone, which means on; the words after it are its value only if they are one."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given = list(arguments)
    for place in reversed(range(end)):
        if given[place] == "--web":
            has_value = place + 1 < end and given[place + 1] in ("on", "ask", "off")
            given[place] = f"--web={given.pop(place + 1) if has_value else 'on'}"
    return given
