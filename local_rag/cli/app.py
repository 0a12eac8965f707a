"""Assemble the commands of the program, its one-line errors with hints, and its exit codes.

Stdout gets results, stderr gets progress. Exit codes: 0 grounded (or done), 1 error, 2 usage, 3 abstained, 4 partial,
ungrounded or direct, 130 Ctrl-C, 141 the reader of the output has gone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from local_rag.cli.ask import ask, chat, search
from local_rag.cli.bundle import bundle_app
from local_rag.cli.calibrate import calibrate
from local_rag.cli.config import config_app, graph
from local_rag.cli.demo import demo
from local_rag.cli.doctor import doctor
from local_rag.cli.eval import eval_app
from local_rag.cli.index import copy, files, index, remove, status
from local_rag.cli.mcp import mcp
from local_rag.cli.models import models_app
from local_rag.cli.options import option, with_query, with_web
from local_rag.cli.outline import outline
from local_rag.cli.prompts import prompts_app
from local_rag.cli.runs import runs_app
from local_rag.cli.serve import serve
from local_rag.cli.threads import kept, threads_app
from local_rag.cli.watch import watch
from local_rag.core import process
from local_rag.core.errors import LocalRagError, mistake_of

COMMANDS = (
    *(index, watch, ask, chat, search, outline, status, files, remove, copy, kept),
    *(calibrate, doctor, graph, demo, serve, mcp),
)
GROUPS = {
    "threads": threads_app,
    "runs": runs_app,
    "models": models_app,
    "prompts": prompts_app,
    "eval": eval_app,
    "bundle": bundle_app,
    "config": config_app,
}
"""The groups of commands, in the order of --help."""
_NAMES = {*(command.__name__ for command in COMMANDS), *GROUPS}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Ask your own files, on your own machine. Start with: local-rag index FOLDER, then: local-rag ask QUESTION.",
)


for command in COMMANDS:
    app.command()(command)
for name, group in GROUPS.items():
    app.add_typer(group, name=name)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return the exit code.

    An error is one line and a hint on stderr; --debug adds the traceback.
    """
    arguments = list(arguments)
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    debug = "--debug" in words or bool(os.environ.get("LOCAL_RAG_DEBUG"))
    arguments = [word for position, word in enumerate(arguments) if word != "--debug" or position >= len(words)]
    arguments = with_query(with_web(arguments))
    try:
        _must_be_somewhere()
        result = app(args=arguments, prog_name="local-rag", standalone_mode=False)
        if result == process.INTERRUPTED:  # Typer turns KeyboardInterrupt into this exit code
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, Abort):
        goes_on = (
            arguments[:1] in (["index"], ["copy"], ["eval"], ["bundle"])
            or arguments[:2] == ["models", "pull"]
            or "--each" in arguments
        )
        hint = "the same command continues where it stopped" if goes_on else ""
        return say("stopped", hint, process.INTERRUPTED)
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message())
            return 2
        return say(f"error: {_in_plain_words(error)}", f"{_command_of(error, arguments)} --help", 2)
    except LocalRagError as error:
        return say(f"error: {error}", error.hint, error.exit_code, error if debug else None)
    except Exception as error:
        hint = "" if debug else "the same command with --debug shows where"
        return say(f"error: {type(error).__name__}: {error}", hint, 1, error if debug else None)


def _in_plain_words(error: TyperException) -> str:
    """Return the message of a usage error, with our own wording for values of the wrong kind."""
    errors = getattr(error.__cause__, "errors", None)
    if errors is not None:
        details = errors()[0]
        error.message = f"{mistake_of(details)}, not {details['input']!r}"
    return error.format_message()


def _command_of(error: TyperException, arguments: Sequence[str]) -> str:
    """Return the command that an error is about, from the arguments if the parser does not tell it."""
    context = getattr(error, "ctx", None)
    if context is not None and context.parent is not None:
        return str(context.command_path)
    return f"local-rag {arguments[0]}" if arguments and arguments[0] in _NAMES else "local-rag"


def _must_be_somewhere() -> None:
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise LocalRagError("the folder that you are in was deleted", hint="cd ~   then the same command") from error


def say(line: str, hint: str, code: int, traced: Exception | None = None) -> int:
    """Show the cursor, write an error and its hint to stderr, and return the exit code."""
    from local_rag.terminal.console import stderr, write_error, write_traceback

    stderr().show_cursor()
    if traced is not None:
        write_traceback(traced)
    write_error(line, hint)
    return code


def _version(wanted: bool) -> None:
    if wanted:
        from local_rag import __version__

        typer.echo(f"local-rag {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, option("--version", "Show the version.", is_eager=True, callback=_version)] = False,
    debug: Annotated[bool, option("--debug", "Show the traceback of an error.")] = False,
) -> None:
    """Take the options before the command; --debug may stand anywhere."""
