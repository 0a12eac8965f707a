"""Which hosts and addresses a page may be fetched from: public ones. Everything here is decided without a network."""

from __future__ import annotations

import ipaddress
import re
import socket
from contextlib import suppress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LOCAL_NAMES = frozenset(
    "localhost local localdomain internal intranet private corp home lan home.arpa onion test invalid".split()
)
"""Names under which nothing public stands: RFC 2606, 6761, 6762 (with its appendix G), 7686, 8375, and `internal`."""

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")

_CLOUD = {
    ipaddress.ip_address("169.254.169.254"),  # AWS, Azure, Google, OpenStack and others
    ipaddress.ip_address("169.254.170.2"),  # AWS, containers
    ipaddress.ip_address("100.100.100.200"),  # Alibaba
    ipaddress.ip_address("168.63.129.16"),  # Azure: a public address, answered by the host of a virtual machine
    ipaddress.ip_address("192.0.0.192"),  # Oracle
    ipaddress.ip_address("fd00:ec2::254"),  # AWS
}
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""The only part of IPv6 out of which public addresses are given (IANA, IPv6 address space)."""
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""NAT64 (RFC 6052): the last 32 bits are the IPv4 address that is meant."""
_SPECIAL = tuple(
    ipaddress.ip_network(block)
    for block in (
        "192.0.0.0/24",  # IETF protocol assignments; some versions of Python count them as global
        "192.88.99.0/24",  # relays of 6to4, given up (RFC 7526)
        "2001::/23",  # IETF protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation (RFC 9637)
    )
)


def refused_name(host: str) -> str:
    """Why a host name (in ASCII, small letters, no final dot) is not even looked up; empty if it may be."""
    labels = host.split(".")
    if not all(_LABEL.fullmatch(label) for label in labels) or len(host) > 253:
        return "no name of a host"
    if _NUMBER.fullmatch(labels[-1]):
        return "an address in an unusual form"
    if len(labels) == 1 or labels[-1] in LOCAL_NAMES or ".".join(labels[-2:]) in LOCAL_NAMES:
        return "a name of this machine or its network"
    return ""


def refused_address(address: Address) -> str:
    """Why nothing is fetched from an address; empty for a public one.

    An address that carries another (IPv4-mapped, NAT64, 6to4, Teredo) is refused for what it carries.
    """
    for reached in (address, *_carried(address)):
        if reason := _refused(reached):
            return reason
    return ""


def _carried(address: Address) -> tuple[Address, ...]:
    """The IPv4 addresses inside an IPv6 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    carried: list[Address] = [inner for inner in (address.ipv4_mapped, address.sixtofour) if inner is not None]
    carried += address.teredo or ()
    if address in _TRANSLATED:
        carried.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(carried)


def _refused(address: Address) -> str:
    if address in _CLOUD:
        return "an address of a cloud's metadata service"
    if address.is_unspecified or address.is_loopback:
        return "an address of this machine"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return _refused(address.ipv4_mapped) or "an IPv4 address in the form of IPv6"
        if address in _TRANSLATED:
            return ""
        if address.scope_id is not None:
            return "an address of one network only"
    return _refused_block(address)


def _refused_block(address: Address) -> str:
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    if any(address in block for block in _SPECIAL) or address.is_reserved:
        return "a reserved address"
    if address.is_private or not address.is_global:
        return "an address of a private network"
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return "a reserved address"
    return ""


def refused_neighbour(address: Address) -> str:
    """Why nothing is fetched from a public address in this machine's own network; empty for any other address.

    With IPv6 at home the pages that are visited know that network: the router and the neighbours share the first 64
    bits of this machine's address, in IPv4 the first 24.
    Nothing is sent: connecting a datagram socket only asks the routing table which address would be the sender's.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((str(address), 443))
        mine = probe.getsockname()[0]
        if address in ipaddress.ip_network(f"{mine}/{24 if address.version == 4 else 64}", strict=False):
            return "an address of this machine"
    return ""
