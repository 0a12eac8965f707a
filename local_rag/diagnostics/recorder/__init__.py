"""`local-rag doctor --network`: one question under the strongest recorder that this machine allows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMissing, LocalRagError
from local_rag.core.progress import Display
from local_rag.diagnostics.recorder.contacts import Recording
from local_rag.diagnostics.recorder.methods import TITLES, Method, usable, watch

QUESTION = "What are these files about?"
"""Asked of the person's own files where no question is given; whether they answer it matters little here."""

LOADING = 300.0
"""Seconds that a question may take on top of its own limit: loading the libraries under a tracer, and a model."""

ASK = """
import sys
root = sys.argv.pop(1)
if root not in sys.path:
    sys.path.insert(0, root)
from local_rag.cli.app import run
sys.exit(run(sys.argv[1:]))
"""
"""The command line, in the environment of the caller; `root` is where this package lies."""


@dataclass(frozen=True)
class Daemon:
    """Whether an Ollama would be asked, and what is known of its own calls."""

    used: bool
    lines: tuple[str, ...]


def record_question(settings: Settings, question: str, display: Display) -> tuple[Recording, Daemon]:
    """Record a question, or one that suits the index if it is empty; and what is known of Ollama's own calls.

    Without an index it is asked of the demo's documents. Raises IndexMissing where an index was named.
    """
    server = daemon(settings)
    with _indexed(settings, display) as (indexed, suggested):
        recording = record(
            settings_args(indexed),
            question or suggested,
            display,
            method=strongest(with_ollama=server.used),
            seconds=settings.values.limits.seconds + LOADING,
        )
    return recording, server


def strongest(*, with_ollama: bool = False) -> Method:
    """The first method that works here. An Ollama of this machine is out of reach in a namespace of our own."""
    candidates: tuple[Method, ...] = ("strace", "audit") if with_ollama else ("strace", "namespace", "audit")
    return next((method for method in candidates if usable(method)), "audit")


def record(
    arguments: Sequence[str],
    question: str,
    display: Display,
    *,
    method: Method | None = None,
    seconds: float = LOADING * 2,
) -> Recording:
    """Run `local-rag ask QUESTION` with these options in a child with the caller's own environment, and watch it.

    Its progress is shown. After `seconds` it is ended.
    """
    method = method or strongest()
    display.say(f"recording a question with {TITLES[method]}…")
    root = str(Path(__file__).parents[3])
    words = [root, "ask", "--json", *arguments, "--", question]
    recording = watch(method, ASK, words, seconds=seconds, say=display.say)
    return replace(recording, question=question, answer_status=_status(recording.stdout))


def _status(stdout: str) -> str:
    """The status of the answer that `ask --json` wrote, empty if it wrote none."""
    try:
        answer = json.loads(stdout)
    except ValueError:
        return ""
    return str(answer.get("status", "")) if isinstance(answer, dict) else ""


def settings_args(settings: Settings) -> list[str]:
    """The options of `local-rag ask` that stand for the flags of these settings; what else is set, the child reads."""
    names = ("index", "embedder", "engine", "model", "profile", "graph", "k")
    return [f"--{name}={settings.get(name)}" for name in names if settings.origin[name] == "flag"]


@contextmanager
def _indexed(settings: Settings, display: Display) -> Iterator[tuple[Settings, str]]:
    """The settings and a question that suits: the index that is there, else one of the demo's documents for now."""
    from local_rag.diagnostics.demo import ANSWERED, index_demo
    from local_rag.index.index import Index

    try:
        Index.inspect(settings.index_path)
    except IndexMissing:
        if settings.origin["index"] != "default":
            raise
    else:
        yield settings, QUESTION
        return
    with TemporaryDirectory(prefix="local-rag-") as folder:
        values = settings.values.model_copy(update={"index": str(Path(folder) / "demo")})
        there = replace(settings, values=values, origin={**settings.origin, "index": "flag"})
        index_demo(there, display)
        yield there, ANSWERED


def daemon(settings: Settings) -> Daemon:
    """What no recorder of ours sees: whether the Ollama server may call its maker, and how to switch that off."""
    from local_rag.diagnostics.ollama_checks import cloud_check, no_cloud
    from local_rag.runtime.engine_choice import QUICK, named, open_server

    if settings.values.engine == "extractive":
        return Daemon(False, ("Ollama: not used, the engine is extractive",))
    must = settings.values.engine == "ollama" or bool(named(settings))
    try:
        with closing(open_server(settings, None if must else QUICK)) as server:
            server.version()
            check = cloud_check(server)
            used, finding, fix = True, f"Ollama at {server.address}: {check.found}", check.fix
    except LocalRagError as error:
        used, fix = must, no_cloud()
        finding = f"Ollama: {error}; so what it does by itself is not known. What keeps it from calling ollama.com:"
    return Daemon(used, (finding, *(f"  {line}" for line in fix.splitlines())))
