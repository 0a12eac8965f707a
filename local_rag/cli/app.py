"""The command line. Commands are thin: they read options, call the parts, and let `show` write what came out.

Stdout gets results, stderr gets progress. Exit codes: 0 grounded (or done), 1 error, 2 usage, 3 abstained,
4 partial, ungrounded or direct, 130 Ctrl-C.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import Abort, TyperException

from local_rag.cli.bundle import bundle_app
from local_rag.cli.calibrate import calibrate
from local_rag.cli.chat import chat
from local_rag.cli.config import config_app
from local_rag.cli.eval import eval_app
from local_rag.cli.models import models_app
from local_rag.cli.options import (
    DirectOption,
    EmbedderOption,
    EngineOption,
    ExplainOption,
    GraphOption,
    IndexOption,
    InOption,
    JsonOption,
    KOption,
    ModelOption,
    ModelsOption,
    ProfileOption,
    SecondsOption,
    StrictOption,
    ThreadOption,
    TraceFileOption,
    TraceOption,
    TrustOption,
    WebOption,
    settings_of,
    stderr_console,
    with_web,
)
from local_rag.cli.threads import threads_app
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.serialization import to_plain

if TYPE_CHECKING:
    from local_rag.core.answer import Answer

ABSTAINED, NOT_GROUNDED, INTERRUPTED = 3, 4, 130

GARBAGE = 100_000
"""New objects between two looks for garbage; Python's own number is 700."""

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Ask your own files, on your own machine. Start with: local-rag index FOLDER, then: local-rag ask QUESTION.",
)
app.add_typer(config_app, name="config")
app.add_typer(models_app, name="models")
app.add_typer(eval_app, name="eval")
app.add_typer(bundle_app, name="bundle")
app.add_typer(threads_app, name="threads")
app.command("calibrate")(calibrate)


def main() -> None:
    """The program `local-rag`.

    It leaves without taking the interpreter down module by module: with PyTorch loaded that takes over a second, and
    there is nothing left to do once `run` has closed what it opened. Garbage is collected seldom: what is imported
    makes none, and looking for it takes a fifth of the time until the first answer.
    """
    gc.set_threshold(GARBAGE)
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command; the exit code. An error is one line and a hint on stderr, a traceback only with --debug."""
    arguments = list(arguments)
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    debug = "--debug" in words or bool(os.environ.get("LOCAL_RAG_DEBUG"))
    arguments = [word for position, word in enumerate(arguments) if word != "--debug" or position >= len(words)]
    arguments = with_web(arguments)
    try:
        result = app(args=arguments, prog_name="local-rag", standalone_mode=False)
        if result == INTERRUPTED:  # what Typer makes of KeyboardInterrupt
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, Abort):
        goes_on = arguments[:1] in (["index"], ["eval"], ["bundle"]) or arguments[:2] == ["models", "pull"]
        hint = "the same command goes on where it stopped" if goes_on else ""
        return _say("stopped", hint, INTERRUPTED)
    except TyperException as error:
        return _usage(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except LocalRagError as error:
        if debug:
            raise
        return _say(f"error: {error}", error.hint, error.exit_code)
    except Exception as error:
        if debug:
            raise
        return _say(f"error: {type(error).__name__}: {error}", "the same command with --debug shows where", 1)


def _say(line: str, hint: str, code: int) -> int:
    from local_rag.terminal.show import say

    say(line, hint)
    return code


def _usage(error: TyperException) -> int:
    from local_rag.terminal.show import write

    if type(error).__name__ == "NoArgsIsHelpError":
        write(error.format_message())
        return 2
    context = getattr(error, "ctx", None)
    return _say(f"error: {error.format_message()}", f"{context.command_path if context else 'local-rag'} --help", 2)


def _version(wanted: bool) -> None:
    if wanted:
        from local_rag import __version__
        from local_rag.terminal.show import write

        write(f"local-rag {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options before the command; --debug may stand anywhere."""


@app.command()
def index(
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH|URL", help="Files, folders, pages.")] = None,
    urls: Annotated[Path | None, typer.Option("--urls", metavar="FILE", help="A list of URLs, one per line.")] = None,
    index: IndexOption = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="PATTERN", help="Leave out, as .gitignore would.")
    ] = None,
    include_secrets: Annotated[
        bool, typer.Option("--include-secrets", help="Private keys and .env files too.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what cannot be seen any more.")] = False,
    reembed: Annotated[bool, typer.Option("--reembed", help="New vectors from the stored text.")] = False,
    chunk_size: Annotated[int | None, typer.Option("--chunk-size", metavar="TOKENS")] = None,
    chunk_overlap: Annotated[int | None, typer.Option("--chunk-overlap", metavar="TOKENS")] = None,
    embedder: EmbedderOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
    json: JsonOption = False,
) -> int:
    """Index files, folders and web pages; without any, bring all files that were indexed before up to date.

    A page is fetched only when it is named.
    """
    from local_rag.runtime.indexing import Request, index_files, named
    from local_rag.terminal.progress import TerminalDisplay
    from local_rag.terminal.show import report_lines, write, write_json

    files, pages = named(paths or [], urls)
    settings = settings_of(
        index,
        models,
        trust_models_here,
        embedder=embedder,
        chunks__size=chunk_size,
        chunks__overlap=chunk_overlap,
    )
    request = Request(files, pages, exclude or (), include_secrets, prune, reembed)
    report, pages_left = index_files(settings, request, TerminalDisplay(stderr_console()))
    if json:
        write_json({**to_plain(report), "pages_left": pages_left})
        return 0
    for line in report_lines(report, pages_left):
        write(line)
    return 0


@app.command()
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question about your files.")],
    graph: GraphOption = None,
    index: IndexOption = None,
    within: InOption = None,
    thread: ThreadOption = None,
    engine: EngineOption = None,
    model: ModelOption = None,
    profile: ProfileOption = None,
    web: WebOption = None,
    k: KOption = None,
    seconds: SecondsOption = None,
    direct: DirectOption = None,
    strict: StrictOption = None,
    explain: ExplainOption = None,
    json: JsonOption = False,
    trace: TraceOption = False,
    trace_file: TraceFileOption = None,
    embedder: EmbedderOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
) -> int:
    """Answer a question from your files, with citations, or say that they do not say."""
    from local_rag.runtime.rag import Rag
    from local_rag.runtime.warm_up import import_langgraph
    from local_rag.terminal.question import Asking, print_answer, recording
    from local_rag.terminal.show import write_json

    flags: dict[str, Any] = {"graph": graph, "engine": engine, "model": model, "profile": profile, "k": k}
    flags |= {"embedder": embedder, "limits__seconds": seconds, "web__enabled": web}
    flags |= {"direct": direct, "strict": strict, "explain": explain}
    settings = settings_of(index, models, trust_models_here, **flags)
    with recording(trace_file) as record, Rag.open(settings) as rag:
        import_langgraph()
        asking = Asking(rag, stderr_console(), within or (), trace, record, announce=True)
        answer = asking.answer(question, thread=thread)
    if json:
        write_json(answer)
    else:
        print_answer(answer)
    return exit_code(answer)


app.command()(chat)


def exit_code(answer: Answer) -> int:
    """0 grounded, 3 abstained, 4 for what is partial, ungrounded or direct."""
    return {"grounded": 0, "abstained": ABSTAINED}.get(answer.status, NOT_GROUNDED)


@app.command()
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a question.")],
    k: KOption = None,
    within: InOption = None,
    index: IndexOption = None,
    embedder: EmbedderOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
    json: JsonOption = False,
) -> int:
    """Show the passages that fit best; no answer is written."""
    from local_rag.runtime.rag import open_embedder, open_index
    from local_rag.terminal.progress import TerminalDisplay
    from local_rag.terminal.show import document_lines, write, write_json

    if not query.strip():
        raise UsageError("the query is empty", hint='local-rag search "notice period"')
    settings = settings_of(index, models, trust_models_here, k=k, embedder=embedder)
    with open_index(settings, open_embedder(settings, TerminalDisplay(stderr_console()))) as opened:
        found = opened.search(query, settings.values.k, within=within or ())
    if json:
        write_json([{"text": one.page_content, **one.metadata} for one in found])
        return 0
    for rank, one in enumerate(found, start=1):
        for line in document_lines(rank, one, links=sys.stdout.isatty()):
            write(line)
    if not found:
        write("nothing found")
    return 0


@app.command()
def status(index: IndexOption = None, json: JsonOption = False) -> int:
    """What is indexed, where it lies, how big it is, and which model made it."""
    from local_rag.core.serialization import to_plain
    from local_rag.index.index import Index
    from local_rag.runtime.rag import served_by
    from local_rag.terminal.show import status_lines, write, write_json

    settings = settings_of(index)
    found = Index.inspect(settings.index_path)
    runtime = served_by(settings, found.fingerprint)
    if json:
        write_json(to_plain(found) | {"runtime": runtime})
        return 0
    for line in status_lines(found, runtime):
        write(line)
    return 0


@app.command()
def remove(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH|URL", help="Files, folders and pages to forget.")
    ] = None,
    index: IndexOption = None,
) -> int:
    """Forget files, folders or pages; with --index and no PATH, delete that index. Your own files are never touched."""
    from local_rag.index.index import Index
    from local_rag.runtime.indexing import named
    from local_rag.runtime.rag import open_index
    from local_rag.terminal.show import write
    from local_rag.text.display import plural, short_path

    settings = settings_of(index)
    if not paths:
        if index is None:
            raise UsageError("name what to remove", hint="local-rag remove PATH…   or   local-rag remove --index NAME")
        where = settings.index_path
        if sys.stdin.isatty() and not typer.confirm(f"Delete the index {short_path(where)}?", err=True):
            return 1
        Index.destroy(where)
        write(f"deleted the index {where}")
        return 0
    files, pages = named(paths)
    with open_index(settings, reembed=True) as opened:
        removed = opened.remove([*(path.absolute() for path in files), *pages])
        roots = [Path(root) for root in opened.status().roots]
    write(f"{plural(len(removed), 'file' if files else 'page')} removed")
    if any(Path(file).is_relative_to(root) for file in removed for root in roots):
        write("Their folder is still indexed, so the next local-rag index brings them back; --exclude leaves them out.")
    return 0


@app.command()
def doctor(
    question: Annotated[str | None, typer.Argument(metavar="[QUESTION]", help="For --network.")] = None,
    index: IndexOption = None,
    embedder: EmbedderOption = None,
    engine: EngineOption = None,
    model: ModelOption = None,
    profile: ProfileOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
    network: Annotated[bool, typer.Option("--network", help="Run a question and list every host contacted.")] = False,
    json: JsonOption = False,
) -> int:
    """Check this machine, the model and the index; each problem comes with the command that fixes it."""
    from local_rag.diagnostics.doctor import examine
    from local_rag.terminal.show import check_lines, columns_of, write, write_json

    flags = {"embedder": embedder, "engine": engine, "model": model, "profile": profile}
    settings = settings_of(index, models, trust_models_here, **flags)
    if network:
        from local_rag.diagnostics.recorder import run_network

        return run_network(settings, question or "", stderr_console(), as_json=json)
    if question:
        raise UsageError("a question has a meaning for doctor only with --network", hint="local-rag doctor --network …")
    checks = examine(settings)
    if json:
        write_json(checks)
    else:
        for line in check_lines(checks, colour=sys.stdout.isatty(), width=columns_of(sys.stdout)):
            write(line)
    return 0 if all(check.state != "bad" for check in checks) else 1


@app.command()
def graph(
    name: Annotated[str, typer.Argument(metavar="GRAPH", help="plain, self-rag, crag or adaptive.")],
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Mermaid text, in a terminal too.")] = False,
    ascii_: Annotated[bool, typer.Option("--ascii", help="An ASCII drawing, in a pipe too.")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="As it is wired in a chat.")] = False,
) -> int:
    """Draw a graph as the settings wire it: ASCII in a terminal, Mermaid in a pipe."""
    from local_rag.graphs.drawing import ascii_drawing, mermaid_drawing
    from local_rag.graphs.state import Options
    from local_rag.terminal.show import write

    options = Options.of(settings_of(None).values, memory=memory)
    as_ascii = ascii_ or (sys.stdout.isatty() and not mermaid)
    write(ascii_drawing(name, options) if as_ascii else mermaid_drawing(name, options))
    return 0


@app.command()
def demo() -> int:
    """Index the handbook that ships with local-rag and ask it two questions."""
    from local_rag.diagnostics.demo import run_demo

    return run_demo(stderr_console())


if __name__ == "__main__":
    main()
