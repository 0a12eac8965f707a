"""Implement `local-rag demo`, which asks a sample handbook, and then saved pages in place of the web."""

from __future__ import annotations

from local_rag.cli.options import settings_of, stderr_display


def demo() -> int:
    """Try three questions on a sample handbook.

    The handbook ships with local-rag and is indexed first.
    """
    from rich.text import Text

    from local_rag.diagnostics.demo import (
        ANSWERED,
        DOCUMENTS,
        INDEX,
        NOT_ANSWERED,
        ON_SAVED_PAGES,
        SAVED_PAGES,
        index_demo,
    )
    from local_rag.runtime.rag import Rag
    from local_rag.terminal.answers import answer_parts
    from local_rag.terminal.console import write
    from local_rag.terminal.index import report_parts
    from local_rag.terminal.questions import QuestionRunner
    from local_rag.text.display import short_path

    display = stderr_display()
    write("", Text(f"$ local-rag index {short_path(DOCUMENTS)} --index {INDEX}", "bold"))
    settings = settings_of(INDEX, web__enabled="off", web__source=str(SAVED_PAGES))
    write(*report_parts(index_demo(settings, display)))
    statuses = []
    with Rag.open(settings, display=display) as rag:
        runner = QuestionRunner(rag, display)
        for line in rag.choice.lines:
            display.say(line)
        for question, graph, options in (
            (ANSWERED, None, ""),
            (NOT_ANSWERED, None, ""),
            (ON_SAVED_PAGES, "crag", f" --graph crag --web-from {short_path(SAVED_PAGES)}"),
        ):
            write("", Text(f'$ local-rag ask "{question}" --index {INDEX}{options}', "bold"))
            answer = runner.answer(question, graph=graph)
            write(*answer_parts(answer, runner.label))
            statuses.append(answer.status)
    return 0 if statuses[:2] == ["grounded", "abstained"] and statuses[2] != "abstained" else 1
