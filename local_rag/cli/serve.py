"""`local-rag serve`: the page and its API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from local_rag.cli.options import (
    IndexesOption,
    delete_old,
    stderr_display,
    with_options,
)
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from socket import socket

    from local_rag.config.settings import Settings
    from local_rag.server.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of `serve`, in the order of its --help."""

    index: IndexesOption = None
    port: Annotated[int | None, typer.Option("--port", metavar="N", min=1, max=65535, help="The port.")] = None
    root: Annotated[
        list[Path] | None,
        typer.Option("--root", metavar="FOLDER", help="A folder below which the page may add folders; repeatable."),
    ] = None
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False
    demo: Annotated[bool, typer.Option("--demo", help="Serve the handbook that ships with local-rag.")] = False
    print_key: Annotated[bool, typer.Option("--print-key", help="Print the key of the API, for programs.")] = False
    print_url: Annotated[bool, typer.Option("--print-url", help="Print the address of the server that runs.")] = False

    @property
    def flags(self) -> dict[str, Any]:
        """The settings that are given, as `Settings.load` takes them. Raises UsageError."""
        if not self.demo:
            return _given({"index": self.index or None})
        if self.index:
            raise UsageError("--demo serves the handbook, so it takes no --index", hint="local-rag serve --demo")
        from local_rag.diagnostics.demo import INDEX, SAVED_PAGES

        return _given({"index": INDEX, "web__source": str(SAVED_PAGES)})

    @property
    def roots(self) -> list[Path]:
        """The folders of --root as they are on disk, links followed. Raises UsageError."""
        roots = [path.expanduser().resolve() for path in self.root or ()]
        for given, root in zip(self.root or (), roots, strict=True):
            if not root.is_dir():
                raise UsageError(
                    f"--root takes a folder, and {given} is none", hint="local-rag serve --root ~/Documents"
                )
        return roots


@with_options
def serve(options: ServeOptions) -> int:
    """Open a page in the browser to ask, search and manage your files, and serve the API beneath it.

    Only this machine can reach it, and only who has the address that is printed: keep that to yourself.
    """
    from local_rag.config.settings import Settings
    from local_rag.runtime.opening import check_named_indexes
    from local_rag.server import serving
    from local_rag.server.auth import Access, read_key
    from local_rag.server.workspace import Workspace
    from local_rag.terminal.console import write

    settings = Settings.load(**options.flags)
    data_folder, roots = settings.data_folder, options.roots
    if options.print_key:
        write(read_key(data_folder))
        return 0
    if options.print_url:
        write(serving.address(data_folder, serving.running(data_folder, options.port)))
        return 0
    if not options.demo:
        check_named_indexes(settings)
    sockets, port = serving.listen(options.port or settings.values.serve.port, exactly=options.port is not None)
    if options.demo:
        _index_handbook(settings)
    delete_old(settings)
    workspace = Workspace(settings, Access(data_folder, port), options.flags, roots)
    _serve(workspace, sockets, port, browser=not options.no_browser)
    return 0


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def _index_handbook(settings: Settings) -> None:
    from local_rag.diagnostics.demo import index_demo

    index_demo(settings, stderr_display())


def _serve(workspace: Workspace, sockets: Sequence[socket], port: int, *, browser: bool) -> None:
    from local_rag.server.serving import address, noted, open_browser, serve
    from local_rag.terminal.console import stderr, stdout

    data_folder, say = workspace.settings.data_folder, stderr()

    def started() -> None:
        stdout().print(address(data_folder, port), soft_wrap=True)
        say.print("Only programs of this machine can reach it, with this address. Ctrl-C ends it.", soft_wrap=True)
        if browser and not open_browser(page):
            say.print("No browser could be opened here: open the address yourself.")

    with noted(data_folder, port) as page:
        serve(workspace, sockets, started)
    say.print("stopped")
