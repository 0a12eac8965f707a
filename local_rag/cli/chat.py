"""`local-rag chat`: questions that follow one another."""

from __future__ import annotations

from typing import Annotated

import typer

from local_rag.cli.options import LinesOption, QuestionOptions, delete_old, stderr_display, with_options
from local_rag.core.errors import UsageError

FromTurnOption = Annotated[
    int | None,
    typer.Option("--from-turn", metavar="N", help="Go on from the N-th question of --thread, as a thread of its own."),
]


@with_options
def chat(options: QuestionOptions, from_turn: FromTurnOption = None, json: LinesOption = False) -> int:
    """Ask questions that follow each other; a follow-up is understood from those before. /help lists the commands.

    Chats are stored and can be continued. In a pipe each line is a question; the exit code is 1 if one failed.
    """
    from local_rag.runtime.kept import thread_name
    from local_rag.runtime.rag import Rag
    from local_rag.terminal.chat import Chat
    from local_rag.terminal.question_runner import QuestionRunner

    settings, display, narrowing = options.settings(), stderr_display(), options.narrowing
    name = ""
    if options.thread is not None:
        name = thread_name(options.thread)
    if from_turn is not None and not name:
        raise UsageError("--from-turn needs the thread that it is a turn of", hint="local-rag threads   lists them")
    delete_old(settings)
    with Rag.open(settings, display=display) as rag:
        rag.graph(settings.values.graph)
        runner = QuestionRunner(rag, display, narrowing, options.trace)
        runner.say_conditions()
        if from_turn is not None:
            name = rag.history.fork(name, from_turn)
        return Chat(runner, name, as_json=json).run()
