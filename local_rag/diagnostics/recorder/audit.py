"""What the audit hook of `recorded_process.py` wrote -> contacts."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from local_rag.diagnostics.recorder.contacts import Contact, contact, distinct, lookup


@dataclass(frozen=True)
class Audited:
    """Contacts; the programs that were started; the libraries with clients of their own, None if it never ended."""

    contacts: tuple[Contact, ...]
    started: tuple[str, ...]
    loaded: tuple[str, ...] | None


def audited(lines: Iterable[str]) -> Audited:
    """Everything that the hook saw. A line that was cut off by the end of the process is left out."""
    contacts: list[Contact] = []
    started: dict[str, None] = {}
    loaded: tuple[str, ...] | None = None
    for event in map(_event, lines):
        if "program" in event:
            started[event["program"]] = None
        elif "port" in event:
            contacts.append(contact(event["host"], event["port"], f"{event['event']} by python"))
        elif "host" in event:
            if event["host"] and not _is_address(event):
                contacts.append(lookup(event["host"], f"{event['event']} by python"))
        elif "loaded" in event:
            loaded = tuple(event["loaded"])
    return Audited(distinct(contacts), tuple(started), loaded)


def _event(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _is_address(event: dict[str, Any]) -> bool:
    """Whether nobody needs to be asked: an address is turned into an address; only its name would be a question."""
    if event["event"] in ("socket.gethostbyaddr", "socket.getnameinfo"):
        return False
    try:
        ipaddress.ip_address(event["host"].partition("%")[0])
    except ValueError:
        return False
    return True
