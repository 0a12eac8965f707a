"""Implement the command line, one module per command; `main` is the program `local-rag`."""

from __future__ import annotations

import os
import sys

from local_rag.core import process
from local_rag.core.errors import LocalRagError


def main() -> None:
    """Run the command that the process was started with, and end the process with its exit code.

    It skips the interpreter's own shutdown, which takes over a second with PyTorch loaded; `run` has closed everything
    that it opened.
    """
    process.prepare_streams()
    process.prepare_own_process()  # before the imports of `run`, which make no garbage
    code = 0
    try:
        from local_rag.cli.app import run

        code = run(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    except process.StreamClosed:
        code = process.BROKEN_PIPE
    except KeyboardInterrupt:  # a second Ctrl-C, while the first was being reported
        from local_rag.terminal.console import stderr

        code = process.INTERRUPTED
        stderr().show_cursor()
    except LocalRagError as error:
        from local_rag.terminal.console import write_error

        code = code or 1
        write_error(f"error: {error}", error.hint)
    os._exit(code)
