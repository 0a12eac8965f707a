"""Feedback: a person's judgement of an answer, kept with all that a case for `eval` needs, since its run goes in time.

One file per answer in the folder `feedback` of the data folder, named like the record of its run; a second judgement of
the same answer takes the place of the first. It quotes files, so it is its owner's alone.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.answer import Citation
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.private_files import make_folder, replace_file
from local_rag.core.reasons import reason_of
from local_rag.core.serialization import from_plain, to_json
from local_rag.runtime.kept_runs import Runs, run_id
from local_rag.runtime.recording import NAME

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.runtime.kept_run import KeptRun

FOLDER = "feedback"
LONGEST = 2000
"""Characters of a note and of an expected answer."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """Whether an answer was good, and why. `run` is the ID of its run, `at` when it was judged (ISO 8601, UTC).

    `question` is the standalone one. `expected` is what a right answer says, empty where nobody said; `unanswerable`
    says that the files do not answer the question. `index` is the name that was asked, `folders` are those of all
    indexes whose passages it may quote, `citations` the verified ones of the answer, and `thread` is the chat that it
    is in.
    """

    run: str
    at: str
    good: bool
    note: str
    question: str
    text: str
    status: str
    graph: str = ""
    index: str = ""
    folder: str = ""
    folders: tuple[str, ...] = ()
    thread: str = ""
    citations: tuple[Citation, ...] = ()
    expected: str = ""
    unanswerable: bool = False


class FeedbackFolder:
    """The feedback in the data folder of some settings. Any process may add and delete some meanwhile."""

    def __init__(self, settings: Settings) -> None:
        self.runs = Runs(settings)
        self.folder = settings.data_folder / FOLDER

    def give(self, run: str, good: bool, note: str = "", *, expected: str = "", unanswerable: bool = False) -> Feedback:
        """Keep a judgement of the answer of a run, named as `Runs.get` takes it; it replaces an earlier one.

        Raises UsageError for a run that is not there or has no answer, for a note that is too long, and for an
        expected answer to a question that the files do not answer; LocalRagError where it cannot be written.
        """
        note, expected = (text.encode("utf-8", "replace").decode().strip() for text in (note, expected))
        for name, text in (("note", note), ("expected answer", expected)):
            if len(text) > LONGEST:
                raise UsageError(f"the {name} has {len(text):,} characters, and at most {LONGEST:,} are kept")
        if expected and unanswerable:
            raise UsageError("what the files do not answer has no expected answer", hint="leave one of them out")
        (record,) = self.runs.named([run])
        feedback = _of_run(self.runs.read(record), good, note, expected, unanswerable)
        self._write(self.folder / record.name, feedback)
        return feedback

    def list(self) -> Sequence[Feedback]:
        """All of it, that on the last run first; what cannot be read is left out."""
        return [feedback for _, feedback in self._entries()][::-1]

    def of_run(self, run: str) -> Feedback | None:
        """The feedback on the answer of a run, by its whole ID; None where there is none."""
        entries = (self.read(path) for path in self.paths() if run_id(path) == run)
        return next(filter(None, entries), None)

    def delete(self, runs: Iterable[str]) -> Sequence[str]:
        """Delete the feedback on runs, by their whole IDs; those of which there was some."""
        wanted = set(runs)
        return self.delete_paths(path for path in self.paths() if run_id(path) in wanted)

    def delete_paths(self, paths: Iterable[Path]) -> Sequence[str]:
        """Delete these files where they are still there; the IDs of their runs. Raises LocalRagError."""
        deleted = []
        for path in paths:
            try:
                path.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._cannot("deleted from", error) from error
            deleted.append(run_id(path))
        return deleted

    def of_index(self, folder: Path) -> Sequence[Path]:
        """The files of feedback on answers from the index in a folder."""
        return [path for path, feedback in self._entries() if str(folder.resolve()) in feedback.folders]

    def of_threads(self, names: Iterable[str]) -> Sequence[Path]:
        """The files of feedback on answers of chats, by the names that the chats are kept under."""
        wanted = set(names)
        return [path for path, feedback in self._entries() if feedback.thread in wanted]

    def rename_thread(self, name: str, new: str) -> None:
        """Write another name of a chat into the feedback on its answers, which goes with it. Raises LocalRagError."""
        for path in self.of_threads([name]):
            if feedback := self.read(path):
                self._write(path, replace(feedback, thread=new))

    def before(self, moment: str) -> Sequence[Path]:
        """The files of feedback that was given before an ISO 8601 time in UTC."""
        return [path for path, feedback in self._entries() if feedback.at < moment]

    def paths(self) -> Sequence[Path]:
        """All files, that on the first run first; whatever else lies there is not ours."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return sorted(path for path in self.folder.iterdir() if NAME.fullmatch(path.name) and not path.is_symlink())
        return []

    def read(self, path: Path) -> Feedback | None:
        """The feedback of a file; None for one that cannot be read."""
        with suppress(OSError, ValueError):
            return from_plain(Feedback, json.loads(path.read_bytes()))
        return None

    def _entries(self) -> Iterator[tuple[Path, Feedback]]:
        for path in self.paths():
            if feedback := self.read(path):
                yield path, feedback

    def _write(self, path: Path, feedback: Feedback) -> None:
        try:
            make_folder(self.folder)
            replace_file(path, to_json(feedback, indent=None).encode("utf-8", "replace") + b"\n")
        except OSError as error:
            raise self._cannot("written to", error) from error

    def _cannot(self, what: str, error: OSError) -> LocalRagError:
        where = shlex.quote(str(self.folder))
        return LocalRagError(f"feedback cannot be {what} {where}: {reason_of(error)}", hint=f"ls -ld {where}")


def _of_run(run: KeptRun, good: bool, note: str, expected: str, unanswerable: bool) -> Feedback:
    answer = run.answer
    if answer is None:
        raise UsageError(f"the run {run.id} has no answer ({run.status})", hint=f"local-rag runs show {run.id}")
    return Feedback(
        run=run.id,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        good=good,
        note=note,
        question=run.standalone_question,
        text=answer.text,
        status=answer.status,
        graph=run.graph,
        index=str(run.conditions["index"]["name"]),
        folder=run.folder,
        folders=tuple(sorted(run.folders)),
        thread=run.thread,
        citations=tuple(citation for citation in answer.citations if citation.verified),
        expected=expected,
        unanswerable=unanswerable,
    )
