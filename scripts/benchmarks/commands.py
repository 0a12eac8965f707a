"""Run the program as a person starts it, and time it from the shell to the last byte."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = (sys.executable, "-m", "local_rag")


@dataclass(frozen=True)
class Done:
    """Hold the measurements of a command: `seconds` of wall clock, `busy` seconds of the processor, and its output.

    `memory` is the most MB that one process held.
    """

    seconds: float
    busy: float
    memory: float
    out: str


def environment(data: Path, **more: str) -> dict[str, str]:
    """Return variables for settings and indexes below `data`, without Ollama, with compiled modules kept as usual."""
    own = {f"LOCAL_RAG_{name}_DIR": str(data / name.lower()) for name in ("CONFIG", "DATA")}
    cache = "LOCAL_RAG_CACHE_DIR"
    kept = {key: value for key, value in os.environ.items() if key == cache or not key.startswith("LOCAL_RAG_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | own | {"LOCAL_RAG_ENGINE": "extractive"} | more


def timed(words: Sequence[str], env: Mapping[str, str]) -> Done:
    """Run a command to its end while nothing else runs; raise SystemExit with its output if it fails."""
    with tempfile.TemporaryFile("w+") as out:
        began = time.perf_counter()
        process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        out.seek(0)
        said = out.read()
    if process.returncode not in (0, 3, 4):  # 3 and 4: no answer, an answer that is not grounded
        raise SystemExit(f"error: {' '.join(words)} ended with {process.returncode}\n{said}")
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return Done(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / unit, said)


def index(data: Path, corpus: Path) -> Path:
    """Return the index of a folder, made with the program itself, which continues after a stop."""
    place = data / "indexes" / corpus.name
    timed([*PROGRAM, "index", str(corpus), "--index", str(place)], environment(data))
    return place


def ready(data: Path) -> None:
    """Convert the embedder, which happens once and is not measured."""
    sample = data / "sample"
    sample.mkdir(exist_ok=True)
    (sample / "one.txt").write_text("A text to begin with.\n", encoding="utf-8")
    index(data, sample)


def must_have_ollama(model: str) -> None:
    """Raise SystemExit with a hint if no Ollama answers or if it lacks the model."""
    from local_rag.config.settings import Settings
    from local_rag.core.errors import LocalRagError
    from local_rag.runtime.engine_choice import open_ollama

    try:
        open_ollama(Settings.load(model=model or None)).close()
    except LocalRagError as error:
        raise SystemExit(f"error: {error}\n  try: {error.hint}") from error


def weights_of_minilm() -> Path:
    """Return the folder of MiniLM, which a baseline loads too."""
    from local_rag.config.models import load_models
    from local_rag.config.settings import Settings
    from local_rag.index.embed import weights

    return weights.folder(load_models(Settings.load()).embedder("minilm"))
