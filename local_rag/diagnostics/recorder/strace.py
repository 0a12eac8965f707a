"""What strace wrote about a process and all its children -> contacts.

The lines are those of `strace -f -y -s 300 -o FILE -e trace=` with CALLS, with --decode-pids=comm or without: no other
system call of Linux names a host. Seen with strace 6.1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from local_rag.diagnostics.recorder.contacts import Contact, contact, distinct, lookup

CALLS = "connect,sendto,sendmsg,sendmmsg,?io_uring_setup"
BYTES = 300
"""Bytes of a message that strace keeps: a DNS question is at most 12 + 255 + 4 (RFC 1035, section 4.1)."""

DNS = (53, 5353)
REFUSED = {"ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT", "EACCES", "EPERM", "EINVAL"}
"""Errors of a call that sent nothing."""

QUIET = {"AF_UNSPEC", "AF_NETLINK"}
"""Families that reach nobody: the first undoes a connect, the second speaks to the kernel."""

HOST_REQUESTS = (4, 5, 14)
"""Requests to nscd that name a host: GETHOSTBYNAME, GETHOSTBYNAMEv6, GETAI (glibc, nscd/nscd-client.h)."""

_LINE = re.compile(r"(?:\[pid +)?(\d+)(?:<(.*?)>)?\]? +(.*)")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\.\.\.)?')
_ADDRESS = re.compile(r"\{sa_family=(\w+)(.*?)\}")


@dataclass(frozen=True)
class _Address:
    family: str
    host: str
    port: int | None


@dataclass(frozen=True)
class _Call:
    """One system call: who made it, on which socket, to which addresses, with which bytes, and its error."""

    name: str
    program: str
    socket: str
    addresses: tuple[_Address, ...]
    sent: tuple[bytes, ...]
    error: str


@dataclass
class _Sockets:
    """Sockets that were connected, by what strace calls them; the service behind a Unix socket, by its path.

    `unread` are name servers that were asked, or may have been, and what for could not be read.
    """

    peers: dict[str, _Address] = field(default_factory=dict)
    unread: dict[str, Contact] = field(default_factory=dict)


@dataclass(frozen=True)
class Traced:
    """Contacts, and the programs that set io_uring up: what they send through it is not seen."""

    contacts: tuple[Contact, ...]
    rings: tuple[str, ...]


def traced(lines: Iterable[str]) -> Traced:
    """Everything that the lines say about the network."""
    sockets = _Sockets()
    contacts: list[Contact] = []
    rings: dict[str, None] = {}
    for call in _calls(lines):
        if call.name == "io_uring_setup":
            if not call.error:
                rings[call.program] = None
        elif call.name == "connect":
            contacts += _connected(call, sockets)
        else:
            contacts += _sent(call, sockets)
    return Traced(distinct([*contacts, *sockets.unread.values()]), tuple(rings))


def _connected(call: _Call, sockets: _Sockets) -> Iterator[Contact]:
    for address in call.addresses:
        by = f"connect by {call.program}"
        if address.family == "AF_UNIX":
            if _service(address) and (not call.error or call.error in ("EINPROGRESS", "EAGAIN")):
                sockets.peers[call.socket] = address
                _ask(call, address, sockets)
        elif address.port in DNS:
            sockets.peers[call.socket] = address
            if call.error in REFUSED:
                yield contact(address.host, address.port, by, call.error)
            else:
                _ask(call, address, sockets)
        else:
            sockets.peers.pop(call.socket, None)
            yield contact(address.host, address.port, by, call.error if call.error in REFUSED else "")


def _sent(call: _Call, sockets: _Sockets) -> Iterator[Contact]:
    peer = sockets.peers.get(call.socket)
    for address in call.addresses or ((peer,) if peer else ()):
        by = f"{call.name} by {call.program}"
        if address.family != "AF_UNIX" and address.port not in DNS:
            yield contact(address.host, address.port, by, call.error if call.error in REFUSED else "")
            continue
        read = _service(address) if address.family == "AF_UNIX" else _dns_name
        names = [name for name in map(read, call.sent) if name] if read else []
        if names:
            sockets.unread.pop(call.socket, None)
            yield from (lookup(name, f"{_server(address)}, by {call.program}") for name in names)
        elif call.addresses and address.family != "AF_UNIX":
            _ask(call, address, sockets)


def _ask(call: _Call, address: _Address, sockets: _Sockets) -> None:
    """A name server was reached; unless a name can be read later, that is noted. nscd is asked for users too."""
    if address.family != "AF_UNIX" or _service(address) is not _nscd_name:
        by = f"{_server(address)}, by {call.program}"
        sockets.unread.setdefault(call.socket, Contact("a name that cannot be read", None, "name look-up", by))


def _server(address: _Address) -> str:
    return f"asked of {address.host}" if address.family == "AF_UNIX" else f"asked of the name server {address.host}"


# --- lines ----------------------------------------------------------------------------------------------------------


def _calls(lines: Iterable[str]) -> Iterator[_Call]:
    """Whole calls: one that another process interrupted stands on two lines, one that never returned on half of one."""
    begun: dict[str, tuple[str, str]] = {}
    for line in lines:
        match = _LINE.match(line.rstrip("\n"))
        if not match:
            continue
        process, program, text = match[1], match[2] or f"process {match[1]}", match[3]
        if text.endswith("<unfinished ...>"):
            begun[process] = program, text.removesuffix("<unfinished ...>")
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>", text)
        if resumed:
            program, start = begun.pop(process, (program, ""))
            text = start + text[resumed.end() :]
        yield from _call(program, text)
    for program, text in begun.values():
        yield from _call(program, text)


def _call(program: str, line: str) -> Iterator[_Call]:
    """The call on a line. What a message says is taken out first, so that it cannot pass for an address."""
    literals = [literal[1] for literal in _LITERAL.finditer(line)]
    numbers = iter(range(len(literals)))
    text = _LITERAL.sub(lambda _: f'"{next(numbers)}"', line)
    name = re.match(r"(\w+)\((\d+(?:<[^>]*>)?)?", text)
    if not name:
        return
    error = re.search(r"\) += -1 (\w+)", text)
    used: set[int] = set()
    addresses = tuple(address for address in _addresses(text, literals, used) if address.family not in QUIET)
    sent = tuple(_bytes(literal) for number, literal in enumerate(literals) if number not in used)
    yield _Call(name[1], program, _socket(program, name[2] or ""), addresses, sent, error[1] if error else "")


def _socket(program: str, descriptor: str) -> str:
    """socket:[562082] is one socket in all processes; a bare number is one within its program."""
    named = re.search(r"<(.+)>", descriptor)
    return named[1] if named else f"{program} {descriptor}"


def _addresses(text: str, literals: list[str], used: set[int]) -> Iterator[_Address]:
    for match in _ADDRESS.finditer(text):
        family, fields = match[1], match[2]
        port = re.search(r"sin6?_port=htons\((\d+)\)", fields)
        literal = re.search(r'"(\d+)"', fields)
        host = f"{family}{fields}"
        if literal:
            used.add(int(literal[1]))
            host = literals[int(literal[1])]
        yield _Address(family, host, int(port[1]) if port else None)


def _bytes(literal: str) -> bytes:
    """The bytes of a string as strace writes it: as in C, with octal escapes."""
    text = literal.encode("latin-1", "replace").decode("unicode_escape", "replace")
    return text.encode("latin-1", "replace")


# --- names ----------------------------------------------------------------------------------------------------------


def _dns_name(sent: bytes) -> str:
    """The name in a DNS question (RFC 1035, section 4.1), else empty; over TCP its length stands before it."""
    return _question(sent) or _question(sent[2:])


def _question(message: bytes) -> str:
    if len(message) < 17 or message[2] & 0x80 or message[4:6] != b"\0\1":
        return ""
    labels, at = [], 12
    while at < len(message) and 0 < message[at] < 64:
        labels.append(message[at + 1 : at + 1 + message[at]])
        at += 1 + message[at]
    whole = at < len(message) and message[at] == 0
    return b".".join(labels).decode("ascii", "backslashreplace") if whole else ""


def _resolved_name(sent: bytes) -> str:
    """systemd-resolved is asked in JSON: {"method": "io.systemd.Resolve.…", "parameters": {"name": "example.org"}}."""
    match = re.search(rb'"name"\s*:\s*"([^"]+)"', sent)
    return match[1].decode("utf-8", "replace") if match else ""


def _nscd_name(sent: bytes) -> str:
    """A request is version, type and length as three 32-bit numbers, and the key with a zero behind it."""
    if len(sent) > 12 and int.from_bytes(sent[4:8], sys.byteorder) in HOST_REQUESTS:
        return sent[12:].rstrip(b"\0").decode("utf-8", "replace")
    return ""


def _avahi_name(sent: bytes) -> str:
    match = re.match(rb"RESOLVE-HOSTNAME\S* +(\S+)", sent)
    return match[1].decode("utf-8", "replace") if match else ""


_SERVICES = {"/nscd/": _nscd_name, "systemd/resolve": _resolved_name, "avahi-daemon": _avahi_name}
"""Services on this machine that look names up for others, by a part of the path of their socket."""


def _service(address: _Address) -> Callable[[bytes], str] | None:
    """How to read what such a service is asked; None for any other socket."""
    return next((read for part, read in _SERVICES.items() if part in address.host), None)
