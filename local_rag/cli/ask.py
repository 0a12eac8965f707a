"""Implement `local-rag ask`, `chat` and `search`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from local_rag.cli.options import (
    EmbedderOption,
    IndexesOption,
    JsonOption,
    KOption,
    LinesOption,
    QuestionOptions,
    argument,
    delete_old,
    option,
    settings_of,
    stderr_display,
    with_options,
    write_result,
)
from local_rag.core.documents import EVERYTHING, Narrowing
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from local_rag.core.answer import Answer
    from local_rag.terminal.questions import QuestionRunner

ABSTAINED, NOT_GROUNDED = 3, 4

ModeOption = Annotated[
    Literal["hybrid", "dense", "words"],
    option("--mode", "Rank by meaning and words, by meaning, or by words.", "hybrid|dense|words"),
]


@with_options
def ask(
    question: Annotated[str, argument("QUESTION", "A question about your files.")],
    options: QuestionOptions,
    each: Annotated[
        list[str] | None,
        option("--each", "Ask each of these files alone, for a table; repeatable.", "PATH|GLOB"),
    ] = None,
    written: Annotated[
        Literal["terminal", "markdown", "csv"],
        option("--as", "How the table of --each is written.", "terminal|markdown|csv"),
    ] = "terminal",
) -> int:
    """Answer a question from your files.

    The answer has citations. If the files do not answer the question, the program says so. With --each, a table shows
    what each file says; the same command continues a stopped one.
    """
    from local_rag.runtime.rag import Rag
    from local_rag.terminal.answers import answer_parts
    from local_rag.terminal.questions import QuestionRunner

    settings, display, narrowing = options.settings(), stderr_display(), options.narrowing
    if each and options.thread is not None:
        raise UsageError("--each asks every file by itself, and not in a --thread", hint="leave one of them out")
    if written != "terminal" and not each:
        raise UsageError("--as writes the table of --each, which is missing", hint='--each "FOLDER/*"')
    delete_old(settings)
    with Rag.open(settings, display=display) as rag:
        runner = QuestionRunner(rag, display, narrowing, options.trace, announce=True)
        if each:
            wanted = replace(narrowing, within=(*narrowing.within, *each))
            return _ask_each(runner, question, wanted, "json" if options.json else written)
        answer = runner.answer(question, thread=options.thread)
        write_result(answer, answer_parts(answer, runner.label), as_json=options.json)
    return exit_code(answer)


def _ask_each(runner: QuestionRunner, question: str, wanted: Narrowing, written: str) -> int:
    """Write a table of what each file says; return the exit code of the least certain answer."""
    from local_rag.runtime.each import WRITTEN, rows_of
    from local_rag.terminal.answers import answers_of_files
    from local_rag.terminal.console import write, write_json

    runner.say_conditions()
    answers = []
    for answer in runner.rag.each(question, wanted):
        answers.append(answer)
        runner.display.say(f"{len(answers)}  {runner.label(answer.source)}{' (kept)' if answer.kept else ''}")
    rows = rows_of(answers, runner.label)
    if written == "json":
        write_json(
            [row | {"source": each.source, "full": each.answer} for row, each in zip(rows, answers, strict=True)]
        )
    else:
        write(*([WRITTEN[written](rows).rstrip("\n")] if written in WRITTEN else answers_of_files(rows)))
    return max((exit_code(each.answer) for each in answers), default=ABSTAINED)


def exit_code(answer: Answer) -> int:
    """Return the exit code for the status of an answer."""
    return {"grounded": 0, "abstained": ABSTAINED}.get(answer.status, NOT_GROUNDED)


@with_options
def chat(options: QuestionOptions, json: LinesOption = False) -> int:
    """Ask questions that follow each other.

    A follow-up is understood from the questions before it; /help lists the commands. Chats are stored and can be
    continued. In a pipe, each line is a question, and the exit code is 1 if one failed.
    """
    from local_rag.runtime.kept import thread_name
    from local_rag.runtime.rag import Rag
    from local_rag.terminal.chat import Chat
    from local_rag.terminal.questions import QuestionRunner

    settings, display, narrowing = options.settings(), stderr_display(), options.narrowing
    name = "" if options.thread is None else thread_name(options.thread)
    delete_old(settings)
    with Rag.open(settings, display=display) as rag:
        rag.graph(settings.values.graph)
        runner = QuestionRunner(rag, display, narrowing, options.trace)
        runner.say_conditions()
        return Chat(runner, name, as_json=json).run()


@with_options
def search(
    query: Annotated[
        list[str],
        argument("QUERY...", """Words or a question; '"exact phrase" -word' in single quotes."""),
    ],
    k: KOption = None,
    mode: ModeOption = "hybrid",
    narrowing: Narrowing = EVERYTHING,
    index: IndexesOption = None,
    embedder: EmbedderOption = None,
    files: Annotated[bool, option("--files", "Name every file that holds it, with its best place.")] = False,
    json: JsonOption = False,
) -> int:
    """Show the passages that fit a query best.

    No answer is written. A passage must contain each "exact phrase" and no -word. Put single quotes around such a
    query, because the shell removes double quotes.
    """
    from local_rag.index.exact_words import found, typed_query
    from local_rag.index.mentions import hit_line
    from local_rag.runtime.opening import check_question, open_embedder, open_indexes
    from local_rag.terminal.answers import passages_table
    from local_rag.text.answer_texts import ENGLISH

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
        if files:
            hits, label = opened.files_with(typed, narrowing), opened.path_labels(Path.cwd())
            lines = [hit_line(hit, label(hit.passage.metadata["source"]), ENGLISH) for hit in hits]
            plain = [{**hit.passage.metadata, **hit._asdict(), "passage": hit.passage.page_content} for hit in hits]
            write_result(plain, lines or ["nothing found"], as_json=json)
            return 0
        passages = found(opened.search(parsed.text, settings.values.k, within=narrowing, mode=mode), mode, narrowing)
        also_in, label = opened.also_in(passages, narrowing), opened.path_labels(Path.cwd())
    plain = [
        {"text": passage.page_content, **passage.metadata, "also_in": also_in[passage.metadata["chunk_id"]]}
        for passage in passages
    ]
    write_result(plain, [passages_table(passages, label, also_in) if passages else "nothing found"], as_json=json)
    return 0
