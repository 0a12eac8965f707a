"""Do the long work of a page in a process of its own, `python -m local_rag.server.work`, which frees its memory.

Its request is one line of JSON on stdin: {"what": …, "settings": …} and what a function of `WORK` reads. It writes a
line for each event: a note, its progress, and last the report or the error. It stops soon after stdin ends, because a
person stopped it or its server has ended; the stored index is consistent at every moment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import chdir, closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from local_rag.config.settings import Settings
from local_rag.core import errors
from local_rag.core.cancel import Cancel, check, scope
from local_rag.core.child_process import NO_WINDOW, command, environment, reply_stream
from local_rag.core.errors import LocalRagError
from local_rag.core.progress import ShowProgress
from local_rag.core.serialization import to_json, to_plain
from local_rag.server.errors import log_unknown
from local_rag.server.jobs import Job, JobEvent

OFTEN = 0.1
"""The least seconds between two lines of progress; lines in between are left out."""
PATIENCE = 60.0
"""Seconds that the process may take to stop; then it exits at once."""
ENDED = "the process that works for this page has ended early"


def worked(
    job: Job,
    what: str,
    settings: Mapping[str, Any],
    told: Callable[[float | None], None] = lambda share: None,
    **more: Any,
) -> Generator[JobEvent, None, Any]:
    """Run the process, yield its events as they come, and return its report; call `told` with each share of progress.

    `what` is a key of `WORK`, and `more` is what its function reads. Raise the error that the process reports, and
    LocalRagError if it ends early.
    """
    yield "begun", {"id": job.id, **job.about}
    pipe, request = subprocess.PIPE, {"what": what, "settings": settings, **more}
    with subprocess.Popen(
        command(__name__),
        stdin=pipe,
        stdout=pipe,
        env=environment(),
        creationflags=NO_WINDOW,
        start_new_session=True,  # Ctrl-C at the terminal is for the server, which stops its jobs
    ) as process:
        assert process.stdin and process.stdout, "both are pipes"
        job.at_stop = process.stdin.close
        try:
            process.stdin.write(f"{to_json(request, indent=None)}\n".encode())
            process.stdin.flush()
            for line in process.stdout:
                name, value = json.loads(line)
                if name == "report":
                    return value
                if name == "error":
                    raise getattr(errors, value[0])(*value[1:])
                if name == "progress":
                    told(value["share"])
                yield name, value
        except (OSError, ValueError) as error:
            job.cancel.check()
            raise LocalRagError(ENDED) from error
        finally:
            with suppress(OSError):
                process.stdin.close()
        job.cancel.check()
        raise LocalRagError(ENDED)


def reported(job: Job, what: str, settings: Mapping[str, Any], **more: Any) -> Generator[JobEvent]:
    """Run the process as `worked` does, and yield its report as the last event."""
    yield "report", (yield from worked(job, what, settings, **more))


class _Told:
    """Write the notes and the progress of the work as lines of JSON."""

    def __init__(self, lines: IO[bytes]) -> None:
        self._lines, self._shown = lines, 0.0

    def tell(self, name: str, value: Any) -> None:
        self._lines.write(f"{to_json([name, value], indent=None)}\n".encode("utf-8", "replace"))
        self._lines.flush()

    def say(self, line: str) -> None:
        if not line.startswith("  "):
            self.tell("note", {"text": line})

    @contextmanager
    def progress(self, doing: str = "") -> Iterator[ShowProgress]:
        self.tell("progress", {"share": None, "line": doing})
        yield self._show

    def _show(self, share: float | None, line: str) -> None:
        check()
        if time.monotonic() - self._shown > OFTEN:
            self._shown = time.monotonic()
            self.tell("progress", {"share": share, "line": line})


def main() -> None:
    """Run the process: read the request, do the work, and write the report or the error."""
    from local_rag.core.process import prepare_own_process

    prepare_own_process()
    told = _Told(reply_stream())
    try:
        told.tell("report", to_plain(_work(json.loads(sys.stdin.readline()), told)))
    except Exception as error:
        log_unknown(error, "work")
        known = [each.__name__ for each in type(error).__mro__ if each.__module__ == errors.__name__]
        unknown = "the process that works for this page met an error that it does not know; the terminal says where"
        told.tell("error", [known[0], str(error), getattr(error, "hint", "")] if known else ["LocalRagError", unknown])


def _work(request: Mapping[str, Any], told: _Told) -> Any:
    cancel = Cancel()

    def until_left() -> None:
        sys.stdin.read()
        cancel.stop()
        time.sleep(PATIENCE)
        os._exit(1)

    threading.Thread(target=until_left, daemon=True).start()
    with scope(cancel):
        return WORK[request["what"]](Settings.load(**request["settings"]), request, told)


def _index(settings: Settings, request: Mapping[str, Any], told: _Told) -> Any:
    """Index the `paths`, or the `sample` that ships with the package; return the report."""
    from local_rag.diagnostics.demo import index_demo
    from local_rag.runtime.indexing import Request, index_files

    if request["sample"]:
        return index_demo(settings, told)
    return index_files(settings, Request([*map(Path, request["paths"])], **request["options"]), told)[0]


def _evaluate(settings: Settings, request: Mapping[str, Any], told: _Told) -> Any:
    """Ask the cases of the file `cases` in the graph of the settings; return the folder and the tables of the run."""
    from local_rag.evaluation.evaluate import evaluate
    from local_rag.evaluation.report import tables
    from local_rag.evaluation.runner import Plan
    from local_rag.evaluation.sets import open_cases

    path = Path(request["cases"])
    with chdir(path.parent):  # so that what is wrong with the file is said of its name alone
        cases = open_cases([Path(path.name)])
    evaluation = evaluate(settings, cases, Plan((settings.values.graph,), ("hybrid",)), told)
    if evaluation.error:
        raise evaluation.error
    return {"folder": evaluation.folder.path, "tables": [*tables(evaluation.summary)]}


def _pull(settings: Settings, _: Mapping[str, Any], told: _Told) -> Any:
    """Let Ollama download the model of the settings."""
    from local_rag.diagnostics.models import pull_models
    from local_rag.text.display import format_bytes

    return {"lines": [f"{each.name} is installed ({format_bytes(each.size)})." for each in pull_models(settings, told)]}


def _try(settings: Settings, _: Mapping[str, Any], told: _Told) -> Any:
    """Try the model of the settings, and measure its grades."""
    from local_rag.diagnostics.trial import conclusion, run_trial
    from local_rag.runtime.engine_choice import open_language_model

    with closing(open_language_model(settings, trial=True)) as engine:
        trial = run_trial(settings, engine, told)
    right = sum(task.right for task in trial.tried)
    return {"lines": [f"{right} of {len(trial.tried)} tasks as expected.", *conclusion(trial)]}


WORK: Mapping[str, Callable[[Settings, Mapping[str, Any], _Told], Any]] = {
    "index": _index,
    "evaluate": _evaluate,
    "pull": _pull,
    "try": _try,
}

if __name__ == "__main__":
    main()
