"""Implement `local-rag serve`, the page and its API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from local_rag.cli.options import IndexesOption, delete_old, option, stderr_display
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from socket import socket

    from local_rag.server.workspace import Workspace


def serve(
    index: IndexesOption = None,
    port: Annotated[int | None, option("--port", "The port.", "N", min=1, max=65535)] = None,
    root: Annotated[
        list[Path] | None,
        option("--root", "A folder below which the page may add folders; repeatable.", "FOLDER"),
    ] = None,
    watch: Annotated[bool, option("--watch", "Keep the indexes up to date as files change.")] = False,
    no_browser: Annotated[bool, option("--no-browser", "Only print the address.")] = False,
    demo: Annotated[bool, option("--demo", "Serve the handbook that ships with local-rag.")] = False,
    print_key: Annotated[bool, option("--print-key", "Print the key of the API, for programs.")] = False,
    print_url: Annotated[bool, option("--print-url", "Print the address of the server that runs.")] = False,
) -> int:
    """Ask, search and manage files in a browser.

    The page uses an API that other programs can use too. Only this machine can reach it, and only with the printed
    address: keep it to yourself.
    """
    from local_rag.config.settings import Settings
    from local_rag.diagnostics.demo import INDEX, SAVED_PAGES, index_demo
    from local_rag.runtime.opening import check_named_indexes
    from local_rag.server import serving
    from local_rag.server.auth import Access, read_key
    from local_rag.server.workspace import Workspace
    from local_rag.terminal.console import write

    if demo and index:
        raise UsageError("--demo serves the handbook, so it takes no --index", hint="local-rag serve --demo")
    flags: dict[str, Any] = {"index": INDEX, "web__source": str(SAVED_PAGES)} if demo else {"index": index or None}
    settings, roots = Settings.load(**flags), _folders(root or ())
    data_folder = settings.data_folder
    if print_key:
        write(read_key(data_folder))
        return 0
    if print_url:
        write(serving.address(data_folder, serving.running(data_folder, port)))
        return 0
    if not demo:
        check_named_indexes(settings)
    sockets, own_port = serving.listen(port or settings.values.serve.port, exactly=port is not None)
    if demo:
        index_demo(settings, stderr_display())
    delete_old(settings)
    workspace = Workspace(settings, Access(data_folder, own_port), flags, roots)
    _serve(workspace, sockets, own_port, browser=not no_browser, watching=watch)
    return 0


def _folders(given: Sequence[Path]) -> list[Path]:
    """Return the folders of --root with links resolved; raise UsageError for a path that is no folder."""
    for path in given:
        if not path.expanduser().is_dir():
            raise UsageError(f"--root takes a folder, and {path} is none", hint="local-rag serve --root ~/Documents")
    return [path.expanduser().resolve() for path in given]


def _serve(workspace: Workspace, sockets: Sequence[socket], port: int, *, browser: bool, watching: bool) -> None:
    from local_rag.server.serving import address, noted, open_browser, serve
    from local_rag.server.watching import watch
    from local_rag.terminal.console import stderr, stdout

    data_folder, say = workspace.settings.data_folder, stderr()

    def started() -> None:
        stdout().print(address(data_folder, port), soft_wrap=True)
        say.print("Only programs of this machine can reach it, with this address. Ctrl-C ends it.", soft_wrap=True)
        if browser and not open_browser(page):
            say.print("No browser could be opened here: open the address yourself.")
        if watching:
            watch(workspace, lambda line: say.print(line, soft_wrap=True))

    with noted(data_folder, port) as page:
        serve(workspace, sockets, started)
    say.print("stopped")
