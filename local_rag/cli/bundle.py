"""Implement `local-rag bundle`, which takes local-rag to a machine without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from local_rag.cli.options import (
    EmbedderOption,
    JsonOption,
    argument,
    option,
    settings_of,
    stderr_display,
    write_result,
)
from local_rag.core.errors import LocalRagError

if TYPE_CHECKING:
    from local_rag.bundle.create import CreatedBundle
    from local_rag.bundle.install import Bundle

bundle_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Take local-rag to an offline machine.")

FolderArgument = Annotated[Path, argument("DIR", "The folder of the bundle.")]
SumOption = Annotated[str, option("--sum", "The SHA-256 of the manifest, as create printed it.", "HEX")]


@bundle_app.command()
def create(
    folder: FolderArgument,
    platform: Annotated[
        str | None,
        option("--platform", "linux-x86_64, linux-aarch64, macos-arm64, macos-x86_64, windows-x86_64.", "NAME"),
    ] = None,
    python: Annotated[str | None, option("--python", "The version of Python on the other machine.", "3.12")] = None,
    index: Annotated[str | None, option("--index", "An index to include; none if left out.", "NAME|PATH")] = None,
    ollama_models: Annotated[
        list[str] | None,
        option("--ollama-model", "A model of the local Ollama to include; repeatable.", "NAME"),
    ] = None,
    embedder: EmbedderOption = None,
    find_links: Annotated[
        list[Path] | None,
        option(
            "--find-links",
            "Also look for wheels in this folder, as pip does; repeatable.",
            "DIR",
            exists=True,
            file_okay=False,
            resolve_path=True,
        ),
    ] = None,
    only_find_links: Annotated[
        bool, option("--only-find-links", "Look for wheels only in --find-links, as pip with --no-index.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Collect everything an offline machine needs.

    A bundle has wheels, the embedding model, models.yaml and, if named, an index and Ollama models, with SHA-256 sums.
    It is for this platform and Python unless you name others. After Ctrl-C, the same command continues.
    """
    from local_rag.bundle.create import create as make
    from local_rag.bundle.resolve import Target

    options = ["--no-index"] if only_find_links else []
    options += [part for links in find_links or () for part in ("--find-links", str(links))]
    created = make(
        folder.expanduser().absolute(),
        settings_of(index, embedder=embedder),
        Target.of(platform, python),
        stderr_display(),
        index=index is not None,
        models=ollama_models or (),
        options=options,
    )
    write_result(created, _created_lines(created), as_json=json)
    return 0


def _created_lines(created: CreatedBundle) -> Iterator[str]:
    from local_rag.text.display import format_bytes

    for kind, count in created.sizes.items():
        yield f"{kind:<12} {format_bytes(count):>9}"
    yield f"{'together':<12} {format_bytes(sum(created.sizes.values())):>9}   in {created.folder}"
    yield "To compare on the other side, SHA-256:"
    yield f"  {created.manifest}  manifest.json"
    yield f"  {created.program}  install.py"
    yield "What to type there stands in README.txt."


@bundle_app.command()
def install(
    folder: FolderArgument,
    sum: SumOption = "",
    index: Annotated[str | None, option("--index", "Install the index under this name.", "NAME|PATH")] = None,
    keep: Annotated[bool, option("--keep", "Keep files that exist and differ, install the rest.")] = False,
    dry_run: Annotated[bool, option("--dry-run", "Check the bundle and show what would be installed.")] = False,
) -> int:
    """Install the index and models of a bundle.

    Settings are installed too, each file where local-rag looks for it. The packages are installed by the bundle's
    install.py, which makes an environment for them and then runs this command.
    """
    from local_rag.bundle.install import Refused, must_be_whole, read
    from local_rag.bundle.place import place
    from local_rag.terminal.console import write

    try:
        bundle = read(folder.expanduser().absolute(), sum)
        must_be_whole(bundle)
    except Refused as error:
        raise LocalRagError(str(error), hint=error.hint) from error
    settings = settings_of(index)
    named = settings.index_folder if index else None
    write(*place(bundle, settings, named, stderr_display(), keep=keep, dry=dry_run))
    if not dry_run:
        write(*_next(bundle, index))
    return 0


def _next(bundle: Bundle, index: str | None) -> Iterator[str]:
    """Yield the commands that can be typed now."""
    import sys

    from local_rag.bundle.install import program, quoted

    command = quoted(program(Path(sys.prefix), "local-rag"))
    yield f"installed. Now:\n  {command} demo"
    for name in (index or Path(path).parent.name for path in bundle.files if path.startswith("indexes/")):
        yield f'  {command} ask "…" --index {name}'
