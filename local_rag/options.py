"""The options that several commands share, and the settings that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.config import Settings

IndexOption = Annotated[str | None, typer.Option("--index", metavar="NAME|PATH", help="The index to use.")]
ModelsOption = Annotated[str | None, typer.Option("--models", metavar="FILE", help="A models.yaml to read first.")]
TrustOption = Annotated[
    bool | None, typer.Option("--trust-models-here", help="Read ./models.yaml too.", show_default=False)
]
EmbedderOption = Annotated[str | None, typer.Option("--embedder", metavar="NAME", help="A model of models.yaml.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write the result as one JSON object.")]
InOption = Annotated[
    list[str] | None, typer.Option("--in", metavar="PATH|GLOB", help="Only these files; may be given several times.")
]
EngineOption = Annotated[
    str | None, typer.Option("--engine", metavar="auto|ollama|extractive", help="What grades and answers.")
]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="NAME", help="The Ollama model for everything.")]
ProfileOption = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="A profile of models.yaml, such as 16gb.")
]
KOption = Annotated[int | None, typer.Option("--k", metavar="N", help="Passages retrieved per query.")]


def settings_of(index: str | None, models: str | None = None, trust: bool | None = None, **flags: Any) -> Settings:
    """The settings in force under these options; None means not given."""
    from local_rag.config import Settings

    return Settings.load(index=index, models=models, trust_models_here=trust or None, **flags)


def stderr_console() -> Console:
    """Where progress is shown."""
    from rich.console import Console

    return Console(stderr=True)
