"""Loaders as a program of somebody's own has them: functions at the top of a module."""

from __future__ import annotations

import time

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.parsed_file import ParsedFile


def load_shouted(path):
    """Files of capital letters, whose first line is the title; one that says SLEEP takes for ever."""
    title, _, text = path.read_text(encoding="utf-8").partition("\n")
    if text == "SLEEP":
        time.sleep(600)
    if not text:
        raise FileSkipped("is nothing but a title")
    return ParsedFile((LoadedDocument(text.lower().replace("\n", "\r\n"), title.title()),))
