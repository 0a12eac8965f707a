"""Names in a Host header."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from urllib.parse import urlsplit


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty for what is none."""
    with suppress(ValueError):
        parts = urlsplit(f"//{host}")
        if parts.netloc == host and "@" not in host and (parts.port is None or parts.port > 0):
            return (parts.hostname or "").casefold()
    return ""


def is_loopback(name: str) -> bool:
    """Whether a name in a Host header can only be this machine."""
    if name == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(name).is_loopback
    return False
