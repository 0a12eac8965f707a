"""`local-rag ask`: one question, one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from local_rag.cli.options import QuestionOptions, delete_old, stderr_display, with_options

if TYPE_CHECKING:
    from local_rag.core.answer import Answer

ABSTAINED, NOT_GROUNDED = 3, 4


@with_options
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question about your files.")],
    options: QuestionOptions,
) -> int:
    """Answer a question from your files, with citations, or say that the files do not answer it."""
    from local_rag.runtime.rag import Rag
    from local_rag.terminal.answers import answer_parts
    from local_rag.terminal.console import write_result
    from local_rag.terminal.question_runner import QuestionRunner

    settings, display, narrowing = options.settings(), stderr_display(), options.narrowing
    delete_old(settings)
    with Rag.open(settings, display=display) as rag:
        runner = QuestionRunner(rag, display, narrowing, options.trace, announce=True)
        answer = runner.answer(question, thread=options.thread)
        write_result(answer, answer_parts(answer, runner.label), as_json=options.json)
    return exit_code(answer)


def exit_code(answer: Answer) -> int:
    """That of a command that answers a question."""
    return {"grounded": 0, "abstained": ABSTAINED}.get(answer.status, NOT_GROUNDED)
