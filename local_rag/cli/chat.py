"""`local-rag chat`: questions that follow one another."""

from __future__ import annotations

from local_rag.cli.options import LinesOption, QuestionOptions, stderr_console, with_question_options


@with_question_options
def chat(options: QuestionOptions, json: LinesOption = False) -> int:
    """Ask questions that follow each other; a follow-up is understood from those before. /help lists the commands.

    Chats are stored and can be continued. In a pipe each line is a question; the exit code is 1 if one failed.
    """
    from local_rag.graphs.threads import thread_name
    from local_rag.runtime.rag import Rag
    from local_rag.runtime.warm_up import import_langgraph
    from local_rag.terminal.chat import Chat
    from local_rag.terminal.live import say_terms
    from local_rag.terminal.question import Asking, recording

    settings = options.settings()
    name = "" if options.thread is None else thread_name(options.thread)
    console = stderr_console()
    with recording(options.trace_file) as record, Rag.open(settings) as rag:
        import_langgraph()
        rag.graph(settings.values.graph)
        say_terms(console, rag)
        return Chat(Asking(rag, console, options.within or (), options.trace, record), name, as_json=json).run()
