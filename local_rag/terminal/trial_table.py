"""What a model made of the tasks of `local-rag models try`."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from local_rag.core.usage import Usage
from local_rag.diagnostics.trial import Trial
from local_rag.terminal.console import PlainTable
from local_rag.text.display import joined, plural, shorten

REPLY_WIDTH = 60
"""Characters of a reply in the table."""


def trial_parts(trial: Trial) -> Iterator[RenderableType]:
    """A row for each task, the sum, and below the table what went wrong."""
    seconds = sum(task.seconds for task in trial.tried)
    table = PlainTable("task", "as expected", "seconds", "tokens", "schema", "reply")
    for task in trial.tried:
        as_expected = Text("yes", "green") if task.right else Text("NO", "red")
        table.add_row(
            task.task, as_expected, *_costs(task.usage, task.seconds), task.schema, shorten(task.said, REPLY_WIDTH)
        )
    right = f"{sum(task.right for task in trial.tried)} of {len(trial.tried)}"
    table.add_row("total", right, *_costs(trial.total, seconds), "", "")
    yield from ("", table, "")
    for task in trial.tried:
        if not task.right:
            yield f"{task.task}: expected {task.expected}; it was: {shorten(task.said, 200) or 'nothing'}"
    if loading := sum(call.load_seconds for call in trial.total.log if call.loaded):
        times = plural(trial.total.loads, "time")
        yield f"{loading:.1f} of the {seconds:.1f} s went into loading the model ({times})."
    yield from (f"note: {note}" for note in trial.total.notes)
    if trial.honoured:
        yield "Every verdict had the form that was asked for."
        return
    wrong = [task.task for task in trial.tried if task.schema not in ("yes", "-")]
    yield (
        f"The form of a reply was not kept at once: {joined(wrong)}. Each retry costs a call, and what stays unusable "
        'counts as "not relevant" or "not supported".'
    )
    yield "  -> local-rag models   lists others; a newer Ollama may help as well"


def _costs(usage: Usage, seconds: float) -> tuple[str, str]:
    return f"{seconds:.2f}", f"{usage.prompt_tokens:,} + {usage.output_tokens:,}"
