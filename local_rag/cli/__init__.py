"""The command line: one module per command. `main` is the program `local-rag`."""

from __future__ import annotations

import os
import sys

from local_rag.core import process
from local_rag.core.errors import LocalRagError

INTERRUPTED, BROKEN_PIPE = 130, 141


def main() -> None:
    """Run the command that the process was started with; it leaves the process with the exit code.

    It leaves without taking the interpreter down module by module: with PyTorch loaded that takes over a second, and
    there is nothing left to do once `run` has closed what it opened.
    """
    process.prepare_streams()
    process.prepare_own_process(process.CONVERTING)  # before the imports of `run`, which make no garbage
    code = 0
    try:
        code = _help() if sys.argv[1:] == ["--help"] else _run()
        sys.stdout.flush()
        sys.stderr.flush()
    except process.StreamClosed:
        code = BROKEN_PIPE
    except KeyboardInterrupt:  # another Ctrl-C, while the first was being shown
        from local_rag.cli.app import show_cursor

        code = INTERRUPTED
        show_cursor()
    except LocalRagError as error:
        from local_rag.cli.app import say

        code = code or say(f"error: {error}", error.hint, 1)
    os._exit(code)


def _help() -> int:
    """The help of the program as it is kept in `program_help`, for Typer takes three times as long as Python itself.

    In a terminal with fewer than 80 columns Typer lays it out.
    """
    from local_rag.cli.program_help import HELP

    if _columns() < 80:
        return _run()
    sys.stdout.write(HELP)
    return 0


def _columns() -> int:
    """The width that Typer takes: COLUMNS, else the terminal's, else 80 (as `shutil.get_terminal_size`)."""
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
        return columns if columns > 0 else os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (ValueError, OSError):
        return 80


def _run() -> int:
    from local_rag.cli.app import run

    return run(sys.argv[1:])
