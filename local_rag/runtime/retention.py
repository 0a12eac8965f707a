"""How long chats, runs and feedback are kept: `threads.keep_days`, `runs.keep_days`, `feedback.keep_days`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from local_rag.config.settings import Settings
from local_rag.runtime.feedback import FeedbackFolder
from local_rag.runtime.kept_runs import Runs
from local_rag.text.display import joined, plural


def delete_old(settings: Settings) -> Iterator[str]:
    """Delete what is older than the settings keep it, chats with their runs; a line for each kind of what went."""
    values = settings.values
    if values.threads.keep_days and (gone := _old_chats(settings, _begin(values.threads.keep_days))):
        yield (
            f"deleted {plural(len(gone), 'chat')} not used for {plural(values.threads.keep_days, 'day')} "
            f"(threads.keep_days): {joined(gone)}"
        )
    if values.runs.keep_days and (count := _old_runs(settings, _begin(values.runs.keep_days))):
        yield f"deleted {plural(count, 'run')} older than {plural(values.runs.keep_days, 'day')} (runs.keep_days)"
    if values.feedback.keep_days and (count := _old_feedback(settings, _begin(values.feedback.keep_days))):
        days = plural(values.feedback.keep_days, "day")
        yield f"deleted feedback on {plural(count, 'answer')} older than {days} (feedback.keep_days)"


def delete_chats(settings: Settings, names: Sequence[str]) -> int:
    """Delete chats, and the runs of their questions and the feedback on them, which say the same; how many runs.

    Raises UsageError, OSError.
    """
    from local_rag.graphs.threads import Threads

    with Threads.open(settings.data_folder) as threads:
        names = [threads.named(name) for name in names]  # as their runs have them
        for name in names:
            threads.delete(name)
    return delete_runs_of(settings, names)


def delete_runs_of(settings: Settings, names: Sequence[str]) -> int:
    """Delete the runs of chats, by the names that they are kept under, and the feedback on them; how many runs."""
    feedback = FeedbackFolder(settings)
    feedback.delete_paths(feedback.of_threads(names))
    return len(feedback.runs.delete_paths(feedback.runs.of_threads(names)))


def rename_chat(settings: Settings, name: str, new: str) -> str:
    """Give a chat another name, in the records of its questions and the feedback on them, too; how it is stored.

    Raises as `Threads.rename`.
    """
    from local_rag.graphs.threads import Threads

    with Threads.open(settings.data_folder) as threads:
        name = threads.named(name)
        new = threads.rename(name, new)
    rename_runs_of(settings, name, new)
    return new


def rename_runs_of(settings: Settings, name: str, new: str) -> None:
    """Write another name of a chat into its runs and the feedback on them."""
    Runs(settings).rename_thread(name, new)
    FeedbackFolder(settings).rename_thread(name, new)


def _begin(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def _old_chats(settings: Settings, begin: datetime) -> list[str]:
    folder = settings.data_folder
    if not (folder / "threads.sqlite").exists():
        return []
    from local_rag.graphs.threads import Threads

    with Threads.open(folder) as threads:
        old = [thread.name for thread in threads.list() if datetime.fromisoformat(thread.at) < begin]
    if old:
        delete_chats(settings, old)
    return sorted(old)


def _old_runs(settings: Settings, begin: datetime) -> int:
    runs = Runs(settings)
    return len(runs.delete_paths(runs.before(begin.isoformat(timespec="milliseconds").partition("+")[0])))


def _old_feedback(settings: Settings, begin: datetime) -> int:
    feedback = FeedbackFolder(settings)
    return len(feedback.delete_paths(feedback.before(begin.isoformat(timespec="seconds"))))
