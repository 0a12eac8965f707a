"""The files of the page: static, the same for everybody, without data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, cast

from local_rag.server.endpoints import Endpoint, File, Nothing, Request
from local_rag.server.errors import NotFound

if TYPE_CHECKING:
    from local_rag.server.place import Place

PAGE = Path(__file__).parent / "page"
_IMPORT = re.compile(r"""(?:from|import) "(\.{1,2}/[^"]+)";""")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What is served of the folder; licences and digests beside the code of others are not."""


class PageFile(Request):
    """A file below the folder of the page."""

    path: str


def index(place: Place, request: Nothing) -> File:
    """The page, which names the scripts that it begins with: each would else be known once what imports it is there."""
    page = _file("index.html")
    links = "".join(f'<link rel="modulepreload" href="/page/{name}">\n' for name in _scripts())
    return replace(page, content=cast("bytes", page.content).replace(b"</head>", f"{links}</head>".encode()))


def icon(place: Place, request: Nothing) -> File:
    """What browsers look for by themselves."""
    return _file("icon.svg")


def page_file(place: Place, request: PageFile) -> File:
    """A script, a style sheet or a drawing of the page."""
    return _file(request.path)


def _file(name: str) -> File:
    file = _files().get(name)
    if file is None:
        raise NotFound("the page has no such file")
    return File(file.read_bytes(), KINDS[file.suffix], inline=True)


@cache
def _scripts() -> Sequence[str]:
    """The scripts that the first view is made of, with all that they import."""
    names = ["app.js", "views/ask.js"]
    for name in names:
        paths = _IMPORT.findall(_files()[name].read_text(encoding="utf-8"))
        imported = (normpath(f"{name}/../{path}") for path in paths)
        names += [script for script in dict.fromkeys(imported) if script not in names]
    return names


@cache
def _files() -> Mapping[str, Path]:
    """The files of the page by their paths in its folder."""
    return {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*") if path.suffix in KINDS}


ENDPOINTS = (
    Endpoint("GET", "/", index, response=File, access="shell", summary="the page"),
    Endpoint("GET", "/favicon.ico", icon, response=File, access="shell", summary="the icon of the page"),
    Endpoint("GET", "/page/{path:path}", page_file, PageFile, File, "shell", "a file of the page"),
)
