"""What a recorder notes: the hosts that a process contacted, tried or looked up."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

What = Literal["loopback", "elsewhere", "name look-up"]


@dataclass(frozen=True)
class Contact:
    """One host. `host` is an address, or the name that was looked up; `by` is the call and, where known, the program.

    `failed` is why the call itself was refused, so that nothing was sent; empty where it may have been.
    """

    host: str
    port: int | None
    what: What
    by: str
    failed: str = ""

    def __str__(self) -> str:
        if self.port is None or self.what == "name look-up":
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One process under a recorder, mostly one that asks a question.

    `method` and `blind` are for people: how it was recorded, and what that cannot see. `complete`: no process of ours
    contacted a host that is not in `contacts`. `exit_code` is that of the question, 0, 3 or 4 where it was answered or
    abstained; `answer_status` is empty where it did neither.
    """

    question: str = ""
    method: str
    blind: str
    complete: bool
    contacts: tuple[Contact, ...]
    exit_code: int
    seconds: float
    answer_status: str = ""
    stdout: str
    stderr: str

    @property
    def away(self) -> tuple[Contact, ...]:
        """All that is not loopback: contacted, tried or looked up."""
        return tuple(contact for contact in self.contacts if contact.what != "loopback")

    @property
    def code(self) -> int:
        """0 if the question was answered, or abstained from, and nothing elsewhere was contacted; otherwise 1."""
        return 0 if self.answer_status and not self.away else 1


def contact(host: str, port: int | None, by: str, failed: str = "") -> Contact:
    """A contact by address, or by a name that the system resolves."""
    return Contact(host, port, "loopback" if is_loopback(host) else "elsewhere", by, failed)


def lookup(name: str, by: str) -> Contact:
    """A question for a name; one for localhost is answered here, whoever is asked."""
    return Contact(name, None, "loopback" if is_loopback(name) else "name look-up", by)


def is_loopback(host: str) -> bool:
    """Whether this is this machine; 0.0.0.0 and :: are, as somebody to connect to."""
    name = host.rstrip(".").casefold()
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def distinct(contacts: Iterable[Contact]) -> tuple[Contact, ...]:
    """Each host, port and kind once, as it was first met; a call that was not refused says more than one that was."""
    first: dict[tuple[str, int | None, What], Contact] = {}
    for contact in contacts:
        key = contact.host, contact.port, contact.what
        if key not in first or (first[key].failed and not contact.failed):
            first[key] = contact
    return tuple(first.values())
