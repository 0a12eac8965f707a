"""URLs as names of pages: what is one, and one spelling for each."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit, urlunsplit

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PORTS = {"http": 80, "https": 443}
_PLAIN = "/?:@!$&'()*+,;=%[]"
"""Signs that stay as they are in a path or query; "%" because what is encoded is not encoded again."""


def is_url(name: str) -> bool:
    """Whether a person means a URL and no file, whatever its scheme: what cannot be fetched is refused with a reason.

    Two letters before the colon at least: C:// is a disk.
    """
    return bool(_SCHEME.match(name))


def is_page(source: str) -> bool:
    """Whether the source of a document is a page of the web; files are stored with absolute paths."""
    return source.startswith(("http://", "https://"))


def normal(url: str) -> str:
    """One spelling: scheme and host in small letters, no port that goes without saying, "/" for no path, no fragment.

    What no page can be fetched from stays as it is.
    """
    url = url.encode("utf-8", "replace").decode().strip()  # a terminal may hand over bytes that are no text
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None:
        return url
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname.removesuffix(".")
    place = host if port in (None, _PORTS[parts.scheme]) else f"{host}:{port}"
    path, query = quote(parts.path or "/", _PLAIN), quote(parts.query, _PLAIN)
    return urlunsplit((parts.scheme, place, path, query, ""))
