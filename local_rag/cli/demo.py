"""`local-rag demo`: index the handbook that ships with the package, and ask it two questions."""

from __future__ import annotations

from local_rag.cli.options import settings_of, stderr_display


def demo() -> int:
    """Index the handbook that ships with local-rag and ask it two questions."""
    from rich.text import Text

    from local_rag.diagnostics.demo import ANSWERED, DOCUMENTS, INDEX, NOT_ANSWERED, index_demo
    from local_rag.runtime.rag import Rag
    from local_rag.terminal.answers import answer_parts
    from local_rag.terminal.console import write
    from local_rag.terminal.index_report import report_parts
    from local_rag.terminal.question_runner import QuestionRunner
    from local_rag.text.display import short_path

    display = stderr_display()
    write("", Text(f"$ local-rag index {short_path(DOCUMENTS)} --index {INDEX}", "bold"))
    settings = settings_of(INDEX, web__enabled="off")
    write(*report_parts(index_demo(settings, display)))
    statuses = []
    with Rag.open(settings) as rag:
        runner = QuestionRunner(rag, display, announce=True)
        for question in (ANSWERED, NOT_ANSWERED):
            write("", Text(f'$ local-rag ask "{question}" --index {INDEX}', "bold"))
            answer = runner.answer(question)
            runner.announce = False
            write(*answer_parts(answer, runner.label))
            statuses.append(answer.status)
    return 0 if statuses == ["grounded", "abstained"] else 1
