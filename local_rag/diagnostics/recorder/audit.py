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
    found: list[Contact] = []
    started: dict[str, None] = {}
    loaded: tuple[str, ...] | None = None
    for said in map(_said, lines):
        if "program" in said:
            started[said["program"]] = None
        elif "port" in said:
            found.append(contact(said["host"], said["port"], f"{said['event']} by python"))
        elif "host" in said:
            if said["host"] and not _is_address(said):
                found.append(lookup(said["host"], f"{said['event']} by python"))
        elif "loaded" in said:
            loaded = tuple(said["loaded"])
    return Audited(distinct(found), tuple(started), loaded)


def _said(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _is_address(said: dict[str, Any]) -> bool:
    """Whether nobody needs to be asked: an address is turned into an address; only its name would be a question."""
    if said["event"] in ("socket.gethostbyaddr", "socket.getnameinfo"):
        return False
    try:
        ipaddress.ip_address(said["host"].partition("%")[0])
    except ValueError:
        return False
    return True
