"""Run a chat: each line is a question or a /command, and a question that fails does not end the chat."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from local_rag.core.answer import Answer
from local_rag.core.documents import CONDITIONS, Narrowing
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.terminal.answers import answer_parts, sources_table, threads_table
from local_rag.terminal.console import PlainTable, stderr, stdout, write, write_error, write_json
from local_rag.terminal.questions import QuestionRunner
from local_rag.text.answer_language import ran_out_of_time
from local_rag.text.display import joined, plural, shorten

PROMPT = "> "
KEYS = {condition.option.removeprefix("--"): name for name, condition in CONDITIONS.items()}
"""The conditions by the keys that a person types."""
EXAMPLE = "/only in:notes after:2023 type:pdf from:ann"


@dataclass
class Chat:
    """Ask the questions of one thread; `thread` is empty until the first answer names it.

    Answers go to stdout. With `as_json`, each is one line of JSON, and everything else goes to stderr.
    """

    runner: QuestionRunner
    thread: str = ""
    graph: str = ""
    as_json: bool = False
    last: Answer | None = None
    failures: int = 0
    _terminal: bool = field(default_factory=lambda: sys.stdin.isatty())

    def run(self) -> int:
        """Read lines to the end; return 1 if a question of a script failed, else 0.

        Ctrl-C ends a script; in a terminal it only stops the question.
        """
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        if self.thread:
            self._go_on(self.thread)
        if self._terminal:
            self._tell("Ask, or type /help. Ctrl-D leaves.")
        while True:
            try:
                if not self._take(read_line(self._terminal)):
                    break
            except EOFError:
                self._newline()
                break
            except KeyboardInterrupt:
                if not self._terminal:
                    raise
                self._newline()
        return 1 if self.failures and not self._terminal else 0

    def _take(self, line: str) -> bool:
        """Do what a line says, and return False for the line that ends the chat."""
        line = line.strip()
        command, _, argument = line.partition(" ")
        try:
            if command == "/quit":
                return False
            if command.startswith("/"):
                if command not in COMMANDS:
                    raise UsageError(f"there is no command {shorten(command, 40)}", hint="/help lists them")
                COMMANDS[command][-1](self, argument.strip())
            elif line:
                self._ask(line)
        except LocalRagError as error:
            self.failures += 1
            write_error(f"error: {error}", error.hint)
            if self.as_json and not command.startswith("/"):
                write_json({"question": line, "error": str(error), "hint": error.hint}, indent=None)
        return True

    def _ask(self, question: str) -> None:
        name = self.thread or self.runner.rag.history.fresh(question)
        try:
            self.last = self.runner.answer(question, graph=self.graph or None, thread=name)
        except KeyboardInterrupt:
            if not self._terminal:
                raise
            write_error("stopped")
            return
        if self.as_json:
            write_json(self.last, indent=None)
        else:
            write(*answer_parts(self.last, self.runner.label), "")
        if ran_out_of_time(self.last.reason):
            self._tell("The time ran out, so the thread does not remember this question.")
        elif not self.thread:
            self.thread = name
            self._tell(f"thread: {name}")

    def _new(self, name: str) -> None:
        from local_rag.runtime.kept import thread_name

        name = thread_name(name) if name else ""
        if name in self.runner.rag.history.names():
            raise UsageError(f"there is a thread {name!r} already", hint=f"/threads {name}   goes on with it")
        self.thread, self.last = name, None
        self._show(f"A new thread{f': {name}' if name else ', which its first question names'}.")

    def _threads(self, name: str) -> None:
        history = self.runner.rag.history
        if name:
            try:
                name = history.thread(name).name
            except UsageError as error:
                raise UsageError(str(error), hint="/threads lists them, /new NAME begins another") from error
            self._go_on(name)
            return
        kept = history.threads()
        self._show(threads_table(kept, self.thread) if kept else "There are no threads yet.")

    def _from(self, turn: str) -> None:
        if not self.thread:
            raise UsageError("there is no question yet to go on from", hint="/threads NAME   goes on with a thread")
        if not turn.isdecimal():
            raise UsageError(f"/from takes the number of a question, not {shorten(turn, 40)!r}", hint="/from 1")
        self._go_on(self.runner.rag.history.fork(self.thread, int(turn)))

    def _go_on(self, name: str) -> None:
        """Continue a thread, with its questions behind the arrow keys and the sources of its last answer."""
        history = self.runner.rag.history
        turns = history.turns(name) if name in history.names() else []
        self.thread, self.last = name, turns[-1].answer if turns else None
        if self._terminal:
            with suppress(ImportError):
                import readline

                for turn in turns:
                    readline.add_history(" ".join(turn.answer.question.split()))
        so_far = f"{plural(len(turns), 'question')} so far" if turns else "a new one"
        self._tell(f"thread: {name} ({so_far})")

    def _sources(self, _: str) -> None:
        if self.last is None:
            raise UsageError("there is no answer yet whose sources could be shown", hint="ask a question first")
        cited = self.last.citations
        self._show(sources_table(self.last, self.runner.label) if cited else "The last answer cites nothing.")

    def _only(self, argument: str) -> None:
        """Replace all conditions, including those of the command line."""
        if argument == "off":
            self.runner.within = Narrowing()
        elif argument:
            narrowing = typed_conditions(argument)
            files = len(self.runner.rag.corpus.files(narrowing))  # raises UsageError if no file is left
            self.runner.within = narrowing
            count = f" ({plural(files, 'file')})" if files else ""
            self._show(f"only {shown_conditions(narrowing)}{count}")
            return
        now = shown_conditions(Narrowing.of(self.runner.within))
        self._show(f"only {now} (/only off ends that)" if now else f"everything is asked ({EXAMPLE})")

    def _graph(self, name: str) -> None:
        from local_rag.graphs import GRAPHS

        if name and name not in GRAPHS:
            raise UsageError(f"there is no graph {shorten(name, 40)!r}", hint=f"/graph {'|'.join(GRAPHS)}")
        if name:
            self.runner.rag.graph(name)
            self.graph = name
        now = self.graph or self.runner.rag.settings.values.graph
        others = joined([other for other in GRAPHS if other != now], "or")
        self._show(f"graph: {now}" if name else f"graph: {now} (/graph {others} takes another)")

    def _help(self, _: str) -> None:
        table = PlainTable()
        for name, (typed, meaning, _do) in COMMANDS.items():
            table.add_row(Text(f"{name} {typed}", "cyan"), meaning)
        table.add_row(Text("/quit", "cyan"), "leave; Ctrl-D does the same, Ctrl-C stops a question")
        self._show(table)

    def _show(self, part: RenderableType) -> None:
        (stderr() if self.as_json else stdout()).print(part)

    def _tell(self, line: str) -> None:
        self.runner.display.say(line)

    def _newline(self) -> None:
        if self._terminal:
            stderr().print()


COMMANDS: dict[str, tuple[str, str, Callable[[Chat, str], None]]] = {
    "/new": ("[NAME]", "begin another thread", Chat._new),
    "/threads": ("[NAME]", "list the threads, or go on with one", Chat._threads),
    "/from": ("N", "go on from the N-th question, as a thread of its own", Chat._from),
    "/sources": ("", "every citation of the last answer, with its quote and where it stands", Chat._sources),
    "/only": (
        "[CONDITIONS]",
        "ask only in:PATH after:DATE before:DATE type:TYPE from:NAME; off ends that, alone it shows",
        Chat._only,
    ),
    "/graph": ("[NAME]", "show which graph answers, or take another", Chat._graph),
    "/help": ("", "this list", Chat._help),
}
"""The argument of each command, its meaning, and its function."""


def read_line(terminal: bool) -> str:
    """Return the next line of stdin; raise EOFError at the end."""
    if terminal and sys.stdout.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401  # input() edits and remembers lines once this is there
        return input(PROMPT)
    if terminal:
        stderr().print(PROMPT, end="")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def typed_conditions(argument: str) -> Narrowing:
    """Return the conditions that a person typed; raise UsageError for an unknown key or a text that is no date."""
    try:
        parts = shlex.split(argument)
    except ValueError as error:
        raise UsageError(
            f"a quote lacks its other one: {shorten(argument, 60)}", hint='/only from:"Ann Lee"'
        ) from error
    values: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        key, colon, value = part.partition(":")
        if not (colon and value and key in KEYS):
            keys = joined([f"{known}:" for known in KEYS], "or")
            raise UsageError(f"/only takes {keys} with a value, or off, not {shorten(part, 40)!r}", hint=EXAMPLE)
        values[KEYS[key]].append(value)
        if len(values[KEYS[key]]) > 1 and not CONDITIONS[KEYS[key]].several:
            raise UsageError(f"/only takes one {key}:", hint=EXAMPLE)
    conditions: dict[str, Any] = {
        name: given if CONDITIONS[name].several else given[0] for name, given in values.items()
    }
    try:
        return Narrowing(**conditions)
    except UsageError as error:
        raise UsageError(re.sub(r"--(after|before)\b", r"\1:", str(error)), hint=EXAMPLE) from error


def shown_conditions(narrowing: Narrowing) -> str:
    """Return the conditions as a person types them."""
    key_of = {name: key for key, name in KEYS.items()}
    return " ".join(
        f"{key_of[name]}:{shlex.quote(text)}"
        for name, value in narrowing.conditions.items()
        if name in key_of
        for text in (value if isinstance(value, list) else [value])
    )
