"""Implement `local-rag ask`, `chat` and `search`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from local_rag.cli.options import (
    EmbedderOption,
    IndexesOption,
    JsonOption,
    KOption,
    LinesOption,
    QuestionOptions,
    delete_old,
    settings_of,
    stderr_display,
    with_options,
)
from local_rag.core.documents import EVERYTHING, Narrowing
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from local_rag.core.answer import Answer

ABSTAINED, NOT_GROUNDED = 3, 4

FromTurnOption = Annotated[
    int | None,
    typer.Option("--from-turn", metavar="N", help="Go on from the N-th question of --thread, as a thread of its own."),
]
ModeOption = Annotated[
    Literal["hybrid", "dense", "words"],
    typer.Option("--mode", metavar="hybrid|dense|words", help="Rank by meaning and words, by meaning, or by words."),
]


@with_options
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question about your files.")],
    options: QuestionOptions,
) -> int:
    """Answer a question from your files.

    The answer has citations. If the files do not answer the question, the program says so.
    """
    from local_rag.runtime.rag import Rag
    from local_rag.terminal.answers import answer_parts
    from local_rag.terminal.console import write_result
    from local_rag.terminal.questions import QuestionRunner

    settings, display, narrowing = options.settings(), stderr_display(), options.narrowing
    delete_old(settings)
    with Rag.open(settings, display=display) as rag:
        runner = QuestionRunner(rag, display, narrowing, options.trace, announce=True)
        answer = runner.answer(question, thread=options.thread)
        write_result(answer, answer_parts(answer, runner.label), as_json=options.json)
    return exit_code(answer)


def exit_code(answer: Answer) -> int:
    """Return the exit code for the status of an answer."""
    return {"grounded": 0, "abstained": ABSTAINED}.get(answer.status, NOT_GROUNDED)


@with_options
def chat(options: QuestionOptions, from_turn: FromTurnOption = None, json: LinesOption = False) -> int:
    """Ask questions that follow each other.

    A follow-up is understood from the questions before it; /help lists the commands. Chats are stored and can be
    continued. In a pipe, each line is a question, and the exit code is 1 if one failed.
    """
    from local_rag.runtime.kept import thread_name
    from local_rag.runtime.rag import Rag
    from local_rag.terminal.chat import Chat
    from local_rag.terminal.questions import QuestionRunner

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


@with_options
def search(
    query: Annotated[
        list[str],
        typer.Argument(metavar="QUERY...", help="""Words or a question; '"exact phrase" -word' in single quotes."""),
    ],
    k: KOption = None,
    mode: ModeOption = "hybrid",
    narrowing: Narrowing = EVERYTHING,
    index: IndexesOption = None,
    embedder: EmbedderOption = None,
    json: JsonOption = False,
) -> int:
    """Show the passages that fit a query best.

    No answer is written. A passage must contain each "exact phrase" and no -word. Put single quotes around such a
    query, because the shell removes double quotes.
    """
    from local_rag.index.exact_words import found, typed_query
    from local_rag.runtime.opening import check_question, open_embedder, open_indexes
    from local_rag.terminal.answers import passages_table
    from local_rag.terminal.console import write_result

    typed = " ".join(query)
    if not typed.strip():
        raise UsageError("the query is empty", hint='local-rag search "notice period"')
    check_question(typed)
    parsed = typed_query(typed)
    narrowing = parsed.narrow(narrowing)
    settings, display = settings_of(index, several=True, embedder=embedder, k=k), stderr_display()
    with open_indexes(settings, open_embedder(settings, display)) as opened:
        for line in opened.waiting_notes():
            display.say(line)
        passages = found(opened.search(parsed.text, settings.values.k, within=narrowing, mode=mode), mode, narrowing)
        also_in, label = opened.also_in(passages, narrowing), opened.path_labels(Path.cwd())
    plain = [
        {"text": passage.page_content, **passage.metadata, "also_in": also_in[passage.metadata["chunk_id"]]}
        for passage in passages
    ]
    write_result(plain, [passages_table(passages, label, also_in) if passages else "nothing found"], as_json=json)
    return 0
