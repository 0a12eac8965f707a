"""The findings of `local-rag doctor`: its checks, and what `--network` recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from local_rag.diagnostics.check import Check
from local_rag.diagnostics.network import Recording
from local_rag.terminal.console import PlainTable
from local_rag.text.display import plural

SIGNS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "bad": ("BAD", "bold red")}


def checks_table(checks: Iterable[Check]) -> PlainTable:
    """A row per check, and below what is not well the command that mends it, or several to choose from."""
    table = PlainTable()
    for check in checks:
        table.add_row(Text(*SIGNS[check.state]), f"{check.name}: {check.found}")
        for fix in check.fix.splitlines():
            table.add_row("", Text.assemble(("-> ", "dim"), (fix, "cyan")))
    return table


def recording_parts(recording: Recording, ollama: Sequence[str] = ()) -> Iterator[Text]:
    """The finding first; then hosts, connections on this machine, what the method cannot see, and `ollama`."""
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
