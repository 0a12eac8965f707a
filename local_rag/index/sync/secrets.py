"""Files that hold keys or passwords, told by their names and by how they begin."""

from __future__ import annotations

import re
from fnmatch import translate
from pathlib import Path

from local_rag.index.sync.regular_file import read_start


def names(patterns: str) -> re.Pattern[str]:
    """File names in the syntax of a shell, matched at once."""
    return re.compile("|".join(translate(pattern) for pattern in patterns.split()))


_SECRETS = names(
    """.env .env.* id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk *.pem *.key *.p12 *.pfx *.jks *.keystore
    *.kdbx *.ppk .netrc _netrc .pgpass .htpasswd .pypirc .npmrc .git-credentials credentials credentials.json
    client_secret*.json secrets.json secrets.yaml secrets.yml secrets.toml"""
)
_TEMPLATES = (".env.example", ".env.sample", ".env.template", ".env.dist")
_PRIVATE_KEY = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:Bag Attributes.*?)?"
    rb"(?:-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-)",
    re.DOTALL,
)


def is_secret_name(name: str) -> bool:
    """Whether files of that name hold keys or passwords, whatever is in this one."""
    name = name.lower()
    return name not in _TEMPLATES and bool(_SECRETS.match(name))


def holds_key(path: Path) -> bool:
    """Whether a file begins as a private key does; one that cannot be opened is left to the parser to report."""
    try:
        return bool(_PRIVATE_KEY.match(read_start(path, 2048)))
    except OSError:
        return False
