"""`local-rag chat`: questions that follow one another."""

from __future__ import annotations

from typing import Any

from local_rag.cli.options import (
    DirectOption,
    EmbedderOption,
    EngineOption,
    ExplainOption,
    GraphOption,
    IndexOption,
    InOption,
    KOption,
    LinesOption,
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
)


def chat(
    thread: ThreadOption = None,
    graph: GraphOption = None,
    index: IndexOption = None,
    within: InOption = None,
    engine: EngineOption = None,
    model: ModelOption = None,
    profile: ProfileOption = None,
    web: WebOption = None,
    k: KOption = None,
    seconds: SecondsOption = None,
    direct: DirectOption = None,
    strict: StrictOption = None,
    explain: ExplainOption = None,
    json: LinesOption = False,
    trace: TraceOption = False,
    trace_file: TraceFileOption = None,
    embedder: EmbedderOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
) -> int:
    """Ask question after question; a follow-up is understood from those before it. /help lists the commands.

    Threads are kept and can be gone on with. In a pipe each line is a question, and 1 is returned if one failed.
    """
    from local_rag.graphs.threads import thread_name
    from local_rag.runtime.rag import Rag
    from local_rag.runtime.warm_up import import_langgraph
    from local_rag.terminal.chat import Chat
    from local_rag.terminal.live import say_terms
    from local_rag.terminal.question import Asking, recording

    flags: dict[str, Any] = {"graph": graph, "engine": engine, "model": model, "profile": profile, "k": k}
    flags |= {"embedder": embedder, "limits__seconds": seconds, "web__enabled": web}
    flags |= {"direct": direct, "strict": strict, "explain": explain}
    settings = settings_of(index, models, trust_models_here, **flags)
    name = "" if thread is None else thread_name(thread)
    console = stderr_console()
    with recording(trace_file) as record, Rag.open(settings) as rag:
        import_langgraph()
        rag.graph(settings.values.graph)
        say_terms(console, rag)
        return Chat(Asking(rag, console, within or (), trace, record), name, as_json=json).run()
