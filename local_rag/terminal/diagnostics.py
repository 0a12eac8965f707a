"""Show the results of `doctor`, `models` and `prompts` in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from local_rag.diagnostics.models import TIGHT, ModelEntry, ModelReport
from local_rag.diagnostics.prompts import OURS, ShownPrompt
from local_rag.diagnostics.trial import Trial, conclusion
from local_rag.terminal.console import PlainTable, indented
from local_rag.text.display import format_bytes, joined, plural, short_path, shorten

if TYPE_CHECKING:
    from local_rag.core.verdicts import Usage
    from local_rag.diagnostics.check import Check
    from local_rag.diagnostics.network import Recording

SIGNS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "bad": ("BAD", "bold red")}


def checks_table(checks: Iterable[Check]) -> PlainTable:
    """Return a row per check; below a problem stand the command that fixes it, or several to choose from."""
    table = PlainTable()
    for check in checks:
        table.add_row(Text(*SIGNS[check.state]), f"{check.name}: {check.found}")
        for fix in check.fix.splitlines():
            table.add_row("", Text.assemble(("-> ", "dim"), (fix, "cyan")))
    return table


def recording_parts(recording: Recording, ollama: Sequence[str]) -> Iterator[Text]:
    """Yield the finding, then hosts, connections on this machine, the method's blind spots, and notes on Ollama."""
    first, *others = _finding(recording)
    yield Text(first, "green" if recording.code == 0 else "red")
    yield from map(Text, others)
    for contact in recording.away:
        did = "LOOKED UP" if contact.what == "name look-up" else "CONTACTED OR TRIED"
        yield Text(f"  {did} {contact} ({contact.by})", "red")
    for contact in recording.contacts:
        if contact.what == "loopback":
            yield Text(f"on this machine: {contact} ({contact.by})")
    if recording.answer_status:
        yield Text(f"question: {recording.question} ({recording.answer_status}, {recording.seconds:.1f} s)")
    yield Text(f"not seen: {recording.blind}", "dim")
    yield from map(Text, ollama)


def _finding(recording: Recording) -> list[str]:
    method = f"(method: {recording.method})"
    ended = f"exit code {recording.exit_code}" if recording.exit_code >= 0 else "it was ended"
    failed = [] if recording.answer_status else [f"the question was not answered ({ended})"]
    if recording.away:
        lookups = sum(contact.what == "name look-up" for contact in recording.away)
        hosts = plural(len(recording.away) - lookups, "host")
        return [f"{hosts} contacted or tried, {plural(lookups, 'name')} looked up {method}", *failed]
    if failed:
        return [f"nothing is proven: 0 hosts contacted, but {failed[0]} {method}"]
    left = "nothing left this machine" if recording.complete else "nothing was seen to leave this machine"
    return [f"{left}: 0 hosts contacted {method}"]


UNKNOWN = "-"
FITS = {"yes": ("yes", "green"), "tight": ("tight", "yellow"), "no": ("NO", "red"), "unknown": (UNKNOWN, "dim")}
ABOUT_WIDTH = 30
"""The minimum columns for the remarks about the models; with less room they are left out."""
REPLY_WIDTH = 60
"""The maximum characters of a reply in the table."""


def model_parts(report: ModelReport) -> Iterator[RenderableType]:
    """Yield the models for answers, the embedders with a star for the one in use, and the next command."""
    if report.profile:
        yield from _language_models(report)
    elif report.problem:
        yield Text(report.problem, "yellow")
        yield f"  -> {report.hint}"
    else:
        yield f"{joined(report.in_use)}, window {report.num_ctx:,} tokens, served at {report.server}"
    yield ""
    embedders = PlainTable("  embedder", "languages", "licence", "state", "about", least=ABOUT_WIDTH)
    for each in report.embedders:
        embedders.add_row(
            Text(f"{'*' if each.in_use else ' '} {each.name}", "bold" if each.in_use else ""),
            "many" if "*" in each.languages else ", ".join(each.languages) or UNKNOWN,
            each.licence or UNKNOWN,
            {True: "there", False: each.command or "not there", None: UNKNOWN}[each.there],
            Text(each.about, "dim"),
        )
    yield embedders
    yield Text("An index keeps its embedder; another one: local-rag index --reembed --embedder NAME", "dim")
    if report.profile and not report.problem:
        yield from _next(report)


def _language_models(report: ModelReport) -> Iterator[RenderableType]:
    """Yield the profile, the server, and a table with a row per model."""
    yield f"profile {report.profile}: {joined(report.in_use)}, window {report.num_ctx:,} tokens"
    yield indented(f"({report.why}; for another: --profile NAME)")
    if report.problem:
        yield Text(f"{report.problem}, so what is installed is not known", "yellow")
        yield f"  -> {report.hint}"
    else:
        yield f"Ollama {report.version} at {report.server}"
    yield ""
    table = PlainTable("  model", "memory", "fits", "state", "profiles", "about", least=ABOUT_WIDTH)
    for model in report.models:
        table.add_row(
            Text(f"{'*' if model.in_use else ' '} {model.name}", "bold" if model.in_use else ""),
            UNKNOWN if model.memory is None else format_bytes(model.memory),
            Text(*FITS[model.fits]),
            _state(model, known=not report.problem),
            ", ".join(model.profiles) or UNKNOWN,
            Text(model.about, "dim"),
        )
    yield table
    yield ""
    used, memory = "* in use." if report.answering else "* would be used.", report.memory
    fits = f"fits: into this machine's {format_bytes(memory or 0)}; tight: takes more than {TIGHT:.0%} of it."
    yield Text(f"{used} {'This system does not say how much memory it has.' if memory is None else fits}", "dim")


def _state(model: ModelEntry, *, known: bool) -> str:
    if model.remote_host:
        return f"answers from {model.remote_host.removeprefix('https://').removesuffix(':443')}"
    if model.loaded:
        return f"loaded, {model.window:,} tokens" if model.window else "loaded"
    if model.installed is not None:
        return f"installed, {format_bytes(model.installed)}"
    download = format_bytes(model.download) if model.download else ""
    return ", ".join(filter(None, ("not installed", download))) if known else f"download {download or UNKNOWN}"


def _next(report: ModelReport) -> Iterator[RenderableType]:
    used = [model for model in report.models if model.in_use]
    command = "local-rag models try"
    if away := [model.name for model in used if model.refused]:
        yield f"{joined(away)} would send your questions away, so it is not asked; take one that runs here:"
        command = "LOCAL_RAG_MODEL=NAME, or a profile of your own in models.yaml"
    elif missing := [model.name for model in used if model.installed is None and not model.remote_host]:
        yield f"{joined(missing)} {'is' if len(missing) == 1 else 'are'} not installed:"
        command = "local-rag models pull"
    yield Text.assemble("  -> ", (command, "cyan"))


def trial_parts(trial: Trial) -> Iterator[RenderableType]:
    """Yield a row for each task, the total, and below the table what went wrong."""
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
    yield from conclusion(trial)
    if not trial.honoured:
        yield "  -> local-rag models   lists others; a newer Ollama may help as well"


def _costs(usage: Usage, seconds: float) -> tuple[str, str]:
    return f"{seconds:.2f}", f"{usage.prompt_tokens:,} + {usage.output_tokens:,}"


def prompt_parts(shown: Iterable[ShownPrompt]) -> Iterator[RenderableType]:
    """Yield each prompt text with its name, purpose, origin and digest, and the meaning of its placeholders."""
    for number, prompt in enumerate(shown):
        if number:
            yield ""
        own = prompt.origin != OURS
        origin = short_path(prompt.origin) if own else OURS
        yield Text.assemble((prompt.name, "bold cyan" if own else "bold"), (f"  {origin}, {prompt.digest}", "dim"))
        yield Text(f"({prompt.purpose})", "dim")
        for line in prompt.text.splitlines():
            yield indented(line)
        for name, meaning in prompt.placeholders.items():
            required = "required, " if name in prompt.required else ""
            yield Text(f"{{{name}}}: {required}{meaning}", "dim")
