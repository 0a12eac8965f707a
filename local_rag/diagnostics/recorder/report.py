"""A recording in words."""

from __future__ import annotations

from collections.abc import Sequence

from local_rag.diagnostics.recorder.contacts import Contact, Recording
from local_rag.text.display import plural, printable

NOT_KNOWN = "nothing is proven"


def recording_lines(recording: Recording, daemon: Sequence[str] = ()) -> list[str]:
    """The finding first; then hosts, what else was spoken to, what the method cannot see, and `daemon`."""
    lines = [*_finding(recording), *(_away(contact) for contact in recording.away)]
    here = [contact for contact in recording.contacts if contact.what == "loopback"]
    lines += [f"on this machine: {contact} ({contact.by})" for contact in here]
    if recording.answer_status:
        lines.append(f"question: {recording.question} ({recording.answer_status}, {recording.seconds:.1f} s)")
    lines.append(f"not seen: {recording.blind}")
    return [printable(line) for line in (*lines, *daemon)]


def _finding(recording: Recording) -> list[str]:
    method = f"(method: {recording.method})"
    failed = [] if recording.answer_status else [_failure(recording)]
    if recording.away:
        lookups = sum(contact.what == "name look-up" for contact in recording.away)
        hosts = plural(len(recording.away) - lookups, "host")
        return [f"{hosts} contacted or tried, {plural(lookups, 'name')} looked up {method}", *failed]
    if failed:
        return [f"{NOT_KNOWN}: 0 hosts contacted, but {failed[0]} {method}"]
    left = "nothing left this machine" if recording.complete else "nothing was seen to leave this machine"
    return [f"{left}: 0 hosts contacted {method}"]


def _failure(recording: Recording) -> str:
    """Why there is no answer: the last line of an error, without its hint."""
    said = [line for line in recording.stderr.splitlines() if line.strip() and not line.startswith("hint: ")]
    why = f": {said[-1].removeprefix('error: ')}" if said else ""
    ended = f"exit code {recording.exit_code}" if recording.exit_code >= 0 else "it was ended"
    return f"the question was not answered ({ended}{why})"


def _away(contact: Contact) -> str:
    if contact.what == "name look-up":
        return f"  LOOKED UP {contact} ({contact.by})"
    if contact.failed:
        return f"  TRIED {contact} ({contact.by}; {contact.failed})"
    return f"  CONTACTED {contact} ({contact.by})"
