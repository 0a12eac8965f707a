"""Change files as a person does, read them with the loaders, and show what was read or synced in one text."""

import time

import pytest

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse import loaders
from local_rag.index.parse.parsed_file import ParsedFile

PROPERTIES = ("page", "title", "author", "date", "subject", "url")


def load(path):
    with loaders.told():
        return loaders.load(path)


def document_of(path):
    (found,) = load(path).documents
    return found


def reason(path):
    with pytest.raises(FileSkipped) as skipped:
        load(path)
    return str(skipped.value)


def shown(document):
    """Return a document as text, with its properties and the headings at their places: "[title Oil]<1 Oil>Oil"."""
    text = document.text
    for heading in reversed(document.headings):
        text = f"{text[: heading.start]}<{heading.level} {heading.text}>{text[heading.start :]}"
    return "".join(f"[{name} {value}]" for name in PROPERTIES if (value := getattr(document, name))) + text


def done(person, steps):
    """Do the steps: the name of a method of `person`, its arguments and, last, its options."""
    for name, *arguments in steps:
        options = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
        getattr(person, name)(*arguments, **options)


def told(report, name, parsed=0):
    """Return what a report names, with "!" after new warnings, and what it counts."""
    named = {kind: list(map(name, getattr(report, kind))) for kind in ("new", "updated", "removed")}
    for kind in ("skipped", "kept"):
        named[kind] = [name(file.path) + "!" * file.new for file in getattr(report, kind)]
    named["forgotten"] = [name(file.path) for file in report.forgotten]
    counted = {"unchanged": report.unchanged, "reused": report.reused, "parsed": parsed}
    lists = {kind: " ".join(sorted(names)) for kind, names in named.items()}
    return ", ".join(f"{kind} {value}" for kind, value in (lists | counted).items() if value)


def load_shouted(path):
    """Read a file in capital letters, whose first line is the title; one that says SLEEP takes forever.

    A file named "begun" beside it tells that it is being read.
    """
    title, _, text = path.read_text().partition("\n")
    if text == "SLEEP":
        path.with_name("begun").touch()
        time.sleep(600)
    if not text:
        raise FileSkipped("is nothing but a title")
    return ParsedFile((LoadedDocument(text.lower().replace("\n", "\r\n"), title.title()),))
