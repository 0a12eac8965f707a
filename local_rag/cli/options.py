"""Define the options that several commands share, and load the settings that they set."""

from __future__ import annotations

import functools
import inspect
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from local_rag.core.documents import CONDITIONS, EVERYTHING, Narrowing
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.runtime.history import History
    from local_rag.terminal.console import TerminalDisplay


def option(name: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """Return an option with its help, and what its value is called there; `more` is as for Typer."""
    return typer.Option(name, help=help, metavar=metavar, **more)


def argument(metavar: str, help: str) -> Any:
    """Return an argument as its help calls and explains it."""
    return typer.Argument(metavar=metavar, help=help)


IndexOption = Annotated[list[str] | None, option("--index", "The index to use.", "NAME|PATH|URL")]
IndexesOption = Annotated[
    list[str] | None,
    option("--index", "The index to use; repeatable, to search several.", "NAME|PATH|URL"),
]
EmbedderOption = Annotated[str | None, option("--embedder", "An embedding model of models.yaml.", "NAME")]
JsonOption = Annotated[bool, option("--json", "Write the result as one JSON object.")]
_LEFT_OUT = re.compile(r"-[^\W\d_]{2}|-[\"“„«]")
"""How a word begins that a query excludes; options of local-rag have two hyphens, and -k is a typing error for --k."""

EngineOption = Annotated[
    str | None,
    option("--engine", "Which engine grades and answers.", "auto|ollama|openai|extractive"),
]
ModelOption = Annotated[str | None, option("--model", "The model for all roles.", "NAME")]
ProfileOption = Annotated[str | None, option("--profile", "A profile of models.yaml, such as 16gb.", "NAME")]
SecondsOption = Annotated[float | None, option("--seconds", "The longest time for a question, in seconds.", "S")]
WebFromOption = Annotated[
    str | None,
    option(
        "--web-from",
        "Let crag and adaptive search saved pages, or another index, in place of the web: nothing leaves.",
        "FOLDER|INDEX",
    ),
]
LinesOption = Annotated[bool, option("--json", "Write each answer as one line of JSON.")]
KOption = Annotated[int | None, option("--k", "Passages retrieved per query.", "N")]
FormatOption = Annotated[
    str | None,
    option("--format", "The format of CASES; guessed if left out.", "jsonl|squad|beir|clapnq|hotpotqa"),
]


class Listing(TyperGroup):
    """Run the command `list` of a group if none, or only options, are given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] != "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def settings_of(index: str | Sequence[str] | None = None, *, several: bool = False, **flags: Any) -> Settings:
    """Return the settings in force under these options; None means not given.

    Raise UsageError for more than one index unless the command takes `several`.
    """
    from local_rag.config.settings import Settings

    if index and not isinstance(index, str) and len(index) > 1 and not several:
        raise UsageError(
            f"this command takes one --index, not {len(index)}; ask, chat, search, eval, serve and mcp take several",
            hint=f"the same command with --index {shlex.quote(index[0])} alone",
        )
    return Settings.load(index=index or None, **flags)


def history_of(settings: Settings | None = None) -> History:
    """Open the history after deleting entries older than the settings allow; by default nothing is deleted."""
    from local_rag.runtime.history import History
    from local_rag.runtime.history_file import earlier_history
    from local_rag.text.display import joined, plural

    settings = settings or settings_of()
    write_notes(filter(None, [earlier_history(settings.data_folder)]))
    history = History.open(settings.data_folder)
    if days := settings.values.history.keep_days:
        first = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
        old = {
            "chat": [each.name for each in history.threads(begun=True) if each.at < first],
            "run": [each.id for each in history.runs() if each.at < first],
            "judgement": [each.run for each in history.judgements() if each.at < first],
            "file answer": [each.name for each in history.quoting() if each.kind == "file answer" and each.at < first],
        }
        if any(old.values()):
            threads, runs, judgements, of_files = old.values()
            history.delete(threads=threads, runs=runs, judgements=judgements, of_files=of_files)
            gone = joined(plural(len(names), kind) for kind, names in old.items() if names)
            write_notes([f"deleted {gone} of more than {plural(days, 'day')} ago (history.keep_days)"])
    return history


def delete_old(settings: Settings) -> None:
    """Delete entries of the history that are older than the settings allow."""
    if settings.values.history.keep_days:
        history_of(settings).close()


def write_notes(lines: Iterable[str]) -> None:
    """Write lines about a result to stderr."""
    from local_rag.terminal.console import stderr

    for line in lines:
        stderr().print(line, soft_wrap=True)


def write_result(value: object, parts: Iterable[Any], *, as_json: bool) -> None:
    """Write a result to stdout: `value` as JSON for programs, or the `parts` that show it to people."""
    from local_rag.terminal.console import write, write_json

    if as_json:
        write_json(value)
    else:
        write(*parts)


def stderr_display() -> TerminalDisplay:
    """Return a display on stderr for progress."""
    from local_rag.terminal.console import TerminalDisplay, stderr

    return TerminalDisplay(stderr())


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Choose the index, and the engine that grades and answers."""

    index: IndexOption = None
    embedder: EmbedderOption = None
    engine: EngineOption = None
    model: ModelOption = None
    profile: ProfileOption = None

    def settings(self, **flags: Any) -> Settings:
        """Return the settings under these options and further `flags`."""
        given = {field.name: getattr(self, field.name) for field in fields(self)} | flags
        return settings_of(given.pop("index"), **given)


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """Hold the options of `ask` and `chat`, in the order of their --help."""

    graph: Annotated[str | None, option("--graph", "Which graph answers.", "plain|self-rag|crag|adaptive")] = None
    index: IndexesOption = None
    narrowing: Narrowing = EVERYTHING
    thread: Annotated[
        str | None,
        option("--thread", "Ask in this chat: an existing one is continued, a new name starts one.", "NAME"),
    ] = None
    engine: EngineOption = None
    model: ModelOption = None
    profile: ProfileOption = None
    web: Annotated[
        str | None,
        option("--web", "Let crag and adaptive search the web; ask: you confirm each query.", "[on|ask|off]"),
    ] = None
    web_from: WebFromOption = None
    k: KOption = None
    seconds: SecondsOption = None
    sentences: Annotated[
        int | None,
        option("--sentences", "How many sentences, items or rows an answer has at most.", "N"),
    ] = None
    style: Annotated[str | None, option("--style", "The layout of answers.", "short|list|steps|table")] = None
    language: Annotated[
        str | None,
        option("--language", "The language of answers, such as German; by default yours.", "NAME"),
    ] = None
    direct: Annotated[
        bool | None,
        option("--direct/--no-direct", "Allow answers that use none of your files.", show_default=False),
    ] = None
    strict: Annotated[
        bool | None,
        option("--strict/--no-strict", "Remove sentences that no passage supports.", show_default=False),
    ] = None
    explain: Annotated[
        bool | None,
        option("--explain/--no-explain", "Ask the graders to give reasons.", show_default=False),
    ] = None
    json: JsonOption = False
    trace: Annotated[bool, option("--trace", "Show each step and verdict on stderr.")] = False
    no_record: Annotated[bool, option("--no-record", "Record no run (see local-rag runs).")] = False
    embedder: EmbedderOption = None

    def settings(self) -> Settings:
        names = ("graph", "engine", "model", "profile", "k", "embedder", "direct", "strict", "explain")
        flags = {name: getattr(self, name) for name in names}
        flags |= {f"answer__{name}": getattr(self, name) for name in ("sentences", "style", "language")}
        flags |= {"limits__seconds": self.seconds, "web__enabled": self.web, "web__source": self.web_from}
        flags |= {"runs__keep": 0 if self.no_record else None}
        return settings_of(self.index, several=True, **flags)


def with_options(command: Callable[..., int]) -> Callable[..., int]:
    """Return the command with one option per field in place of each parameter that is a dataclass.

    The options stand at the parameter's position; those of a `Narrowing` are the `CONDITIONS`. A parameter of the
    command replaces the option of the same name.
    """
    own = inspect.signature(command, eval_str=True).parameters
    made = {name: each.annotation for name, each in own.items() if is_dataclass(each.annotation)}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in own.items():
        for option in _options_of(made[name]) if name in made else [parameter]:
            option = own.get(option.name, option).replace(kind=inspect.Parameter.KEYWORD_ONLY)
            parameters.setdefault(option.name, option)

    @functools.wraps(command)
    def run(**values: Any) -> int:
        return command(**{name: _made(made[name], values) if name in made else values[name] for name in own})

    run.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]
    return run


def _options_of(kind: Any) -> Iterator[inspect.Parameter]:
    """Yield the options for the fields of a dataclass."""
    types = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        if types[field.name] is Narrowing:
            yield from _options_of(Narrowing)
        elif kind is not Narrowing:
            yield _option(field.name, types[field.name], field.default)
        elif condition := CONDITIONS.get(field.name):
            shown = option(condition.option, condition.help, condition.metavar)
            yield _option(field.name, Annotated[(list[str] if condition.several else str) | None, shown], None)


def _option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    """Build the dataclass from the options' values; raise UsageError for a text that is no date."""
    if kind is Narrowing:
        return Narrowing(**{name: values[name] for name in CONDITIONS if values[name]})
    types = get_type_hints(kind)
    return kind(
        **{
            field.name: _made(Narrowing, values) if types[field.name] is Narrowing else values[field.name]
            for field in fields(kind)
        }
    )


def with_web(arguments: Sequence[str]) -> list[str]:
    """Give --web the value on if no value follows it; the next word is its value only if it is on, ask or off."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    expanded = list(arguments)
    for position in reversed(range(end)):
        if expanded[position] == "--web":
            has_value = position + 1 < end and expanded[position + 1] in ("on", "ask", "off")
            expanded[position] = f"--web={expanded.pop(position + 1) if has_value else 'on'}"
    return expanded


def with_query(arguments: Sequence[str]) -> list[str]:
    """Move the words of `search` that begin with a hyphen behind its options, because -word excludes a word."""
    if arguments[:1] != ["search"] or "--" in arguments:
        return list(arguments)
    of_query = [word for word in arguments if _LEFT_OUT.match(word)]
    return [*(word for word in arguments if not _LEFT_OUT.match(word)), *(["--", *of_query] if of_query else [])]
