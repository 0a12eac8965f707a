"""Decide from which addresses a page may be fetched: public ones outside of this machine's own network."""

from __future__ import annotations

import ipaddress
import re
import socket
from contextlib import suppress

from local_rag.core.errors import FileSkipped

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PORTS = (80, 443)

LOCAL_NAMES = frozenset(
    "localhost local localdomain internal intranet private corp home lan home.arpa onion test invalid".split()
)
"""Domains without anything public: RFC 2606, 6761, 6762 (with its appendix G), 7686, 8375, and `internal`."""

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""RFC 6052: the last 32 bits are the IPv4 address."""
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""The only part of IPv6 with public addresses (IANA, IPv6 address space)."""
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(block)
    for block in (
        "168.63.129.16/32",  # Azure's metadata service, at a public address; those of other clouds are not public
        "192.0.0.0/24",  # IETF protocol assignments; some versions of Python count them as global
        "192.88.99.0/24",  # relays of 6to4 (RFC 7526)
        "2001::/23",  # IETF protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which carries any IPv4 address (RFC 7526)
        "3fff::/20",  # documentation (RFC 9637)
    )
)


def public_addresses(host: str, port: int) -> list[Address]:
    """Return the addresses of a host (in ASCII, without a final dot), looked up once.

    Raise FileSkipped for a port that is not the web's, for a local name, and if any one of the addresses is not public.
    """
    if port not in PORTS:
        raise FileSkipped(f"refused: {host} on port {port}; only {PORTS[0]} and {PORTS[1]} are the web's")
    addresses = _looked_up(host, port)
    for refused in (refused_address, refused_neighbour):
        for address in addresses:
            if reason := refused(address):
                named = "" if str(address) == host else f"{address}, "
                raise FileSkipped(f"refused: {host} is {named}{reason}")
    return addresses


def _looked_up(host: str, port: int) -> list[Address]:
    with suppress(ValueError):
        return [ipaddress.ip_address(host)]
    if reason := refused_name(host):
        raise FileSkipped(f"refused: {host} is {reason}")
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return [ipaddress.ip_address(text) for text in dict.fromkeys(str(entry[4][0]) for entry in entries)]
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be written in a query
        raise FileSkipped(f"{host} has no address") from error


def refused_name(host: str) -> str:
    """Return why a host name (in lower case) must not be looked up, or ""."""
    labels = host.split(".")
    if not all(_LABEL.fullmatch(label) for label in labels) or len(host) > 253:
        return "no name of a host"
    if _NUMBER.fullmatch(labels[-1]):
        return "an address in an unusual form"
    if len(labels) == 1 or labels[-1] in LOCAL_NAMES or ".".join(labels[-2:]) in LOCAL_NAMES:
        return "a name of this machine or its network"
    return ""


def refused_address(address: Address) -> str:
    """Return why nothing is fetched from an address, or "" for a public one."""
    if address in _NAT64:
        address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    public = address.is_global and not address.is_multicast and not any(address in block for block in _NOT_PUBLIC)
    if isinstance(address, ipaddress.IPv6Address):
        public = public and address in _GLOBAL_UNICAST and address.scope_id is None
    return "" if public else "not a public address"


def refused_neighbour(address: Address) -> str:
    """Return why nothing is fetched from a public address in this machine's own network, or "".

    With IPv6 at home, the visited pages know that network: the router and the neighbours share the first 64 bits of
    this machine's address, in IPv4 the first 24. Nothing is sent: connecting a datagram socket only asks the routing
    table for the sender's address.
    """
    family, prefix = (socket.AF_INET, 24) if address.version == 4 else (socket.AF_INET6, 64)
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((str(address), 443))
        if address in ipaddress.ip_network(f"{probe.getsockname()[0]}/{prefix}", strict=False):
            return "in the network of this machine"
    return ""
