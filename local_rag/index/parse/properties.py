"""What a file says of itself: title, author, date and subject, without what a program filled in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from itertools import islice
from typing import Any

from local_rag.index.names import name_words
from local_rag.index.parse.dates import iso_date
from local_rag.index.parse.parsed_file import Properties, clean
from local_rag.text.display import shorten

LONG_TITLE = 200
LONG_AUTHOR = 300
LONG_SUBJECT = 500
"""Characters of each that are kept."""

MANY = 50
"""Authors or keywords that are looked at."""

_LOOKED_AT = 10_000
"""Characters of one property that are looked at."""

_FILE = re.compile(
    r"\.(pdf|docx?|dotx?|odt|rtf|txt|md|rst|html?|dvi|tex|indd|pptx?|xlsx?|pmd|qxd|ps|eps|pages|wpd|fm|cdr|ai)\W*$",
    re.IGNORECASE,
)
_BY_PROGRAM = re.compile(
    r"microsoft (word|excel|powerpoint)\b|powerpoint[- ]pr[äe]|adobe photoshop|imagemagick|full page fax|about:|https?://",
    re.IGNORECASE,
)
_NO_TITLE = re.compile(
    r"\W*(untitled( document)?|new document|page title|(no )?title|slide|layout|book|document|presentation|blank"
    r"|print|unknown|none|null|heading|header|(table of )?contents|scan(ned document)?|default|home)[\W\d]*",
    re.IGNORECASE,
)
_NOBODY = frozenset(
    """admin administrator anonym anonymous author authors default guest ieuser ghostscript me myself n/a name nobody
    none null owner pc python-docx root scanner sapbatch system test unbekannt unknown unspecified user username
    utilisateur (anonymous) (unspecified) windows""".split()
) | {
    "microsoft office user",
    "windows user",
    "your name",
    "author name",
    "apache poi",
    "openpyxl",
    "un-named",
    "not set",
    "pdf creator",
}
"""What stands in place of an author's name where nobody gave one."""

_TEMPLATES_MADE = ("2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z")
"""When the templates of python-docx and python-pptx were made, which programs leave in what they write with them."""

_ADDRESS = re.compile(r"\s*<[^<>]*>")
_NAMED_ADDRESS = re.compile(r"\S+@\S+\s*\(([^()]*)\)")
_TITLES = ("title", "headline")
_AUTHORS = ("author", "authors", "creator", "creators", "byline")
_DATES = (
    "created",
    "date",
    "published",
    "publishedtime",
    "issued",
    "dateissued",
    "publisheddate",
    "publishdate",
    "pubdate",
    "datepublished",
    "publicationdate",
    "releasedate",
    "originalpublication",
    "updated",
    "lastmodified",
)
_SUBJECTS = ("subject", "subjects", "description", "summary", "keywords", "tags", "categories", "topic")


def stated(
    title: str = "", authors: Iterable[str] = (), date: str = "", subjects: Iterable[str] = (), *, program: str = ""
) -> Properties:
    """Properties as they stand in a file, made safe to store; what says nothing is left out.

    `program` is what wrote the file: an author of its name is no person.
    """
    return Properties(_title(title), _authors(authors, program), iso_date(date), _subject(subjects, title))


def from_mapping(mapping: Mapping[Any, Any]) -> Properties:
    """Properties by their names in front matter, fields or JSON; case, blanks and hyphens in a name do not count."""
    known = dict[str, list[str]]()
    for key, value in list(mapping.items())[:200]:
        name = re.sub(r"[\s_.-]", "", key).lower() if isinstance(key, str) and len(key) < 50 else ""
        known.setdefault(name, []).extend(_texts(value))

    def of(names: Iterable[str]) -> list[str]:
        return [text for name in names for text in known.get(name, ())]

    dates = (iso_date(text) for text in of(_DATES))
    authors = next((known[name] for name in _AUTHORS if known.get(name)), [])
    return stated(next(iter(of(_TITLES)), ""), authors, next(filter(None, dates), ""), of(_SUBJECTS))


def dublin_core(tree: Any) -> Properties:
    """Properties in the XML of an office file or a book: Dublin Core's, and those that Office and OpenDocument add."""

    def texts(*names: str) -> list[str]:
        nodes = () if tree is None else tree.iter(*(f"{{*}}{name}" for name in names))
        return [text for node in islice(nodes, MANY) if (text := " ".join("".join(node.itertext()).split()))]

    authors = [part for author in texts("initial-creator") or texts("creator") for part in author.split(";")]
    dates = [date for date in texts("created", "creation-date") or texts("date") if date not in _TEMPLATES_MADE]
    subjects = texts("subject", "keywords", "keyword")
    return stated(next(iter(texts("title")), ""), authors, next(iter(dates), ""), subjects)


def _texts(value: Any) -> list[str]:
    """What a value of front matter says: a text, a number, a date, a list of these, or of objects with a name."""
    if isinstance(value, list | tuple):
        return [text for inner in value[:MANY] if not isinstance(inner, list | tuple) for text in _texts(inner)]
    if isinstance(value, dict):
        name = value.get("name")
        return [name] if isinstance(name, str) else []
    if isinstance(value, bool) or not isinstance(value, str | int | float | date):
        return []
    return [str(value)] if not isinstance(value, int) or abs(value) < 1_000_000_000 else []


def one_line(text: str, width: int) -> str:
    """A property as it is stored."""
    return shorten(clean(text[:_LOOKED_AT]), width)


def _title(title: str) -> str:
    """A title, unless it is the name of a file, a number of an archive, or what a program puts there."""
    title = one_line(title, LONG_TITLE)
    is_name = _FILE.search(title) and " " not in title
    by_program = _BY_PROGRAM.match(title) or _NO_TITLE.fullmatch(title)
    return "" if is_name or by_program or not _says_something(title) else title


def _says_something(text: str) -> bool:
    """Whether a word is in it that a person would say: not in hashes and numbers."""
    return any(character.isalpha() for character in text) and (" " in text or bool(name_words(text + ".txt")))


def _authors(authors: Iterable[str], program: str) -> str:
    names = dict.fromkeys(_name(author) for author in list(authors)[:MANY])
    kept = [name for name in names if name and not _is_program(name, program)]
    return one_line(("; " if any("," in name for name in kept) else ", ").join(kept), LONG_AUTHOR)


def _name(author: str) -> str:
    """Names without mail addresses, unless there is nothing else."""
    line = one_line(author, LONG_AUTHOR * 4)
    bare = _ADDRESS.sub("", _NAMED_ADDRESS.sub(r"\1", line)).strip(" ,;")
    bare = bare or line.strip("<> ,;")
    nobody = bare.casefold() in _NOBODY or "://" in bare or not any(character.isalpha() for character in bare)
    return "" if nobody else bare


def _is_program(name: str, program: str) -> bool:
    """Whether an author is called as what wrote the file: EDGAR Online by the EDGAR PDF Generator."""
    first, by = (text.casefold().partition(" ")[0] for text in (name, program.strip()))
    return len(first) > 2 and by.startswith(first)


def _subject(subjects: Iterable[str], title: str) -> str:
    """Subject and keywords, each once, without what only repeats the title."""
    parts = dict[str, str]()
    for subject in list(subjects)[:MANY]:
        for part in re.split(r"\s*;\s*", one_line(subject, LONG_SUBJECT)):
            if _says_something(part) and part.casefold() not in _NOBODY | {"subject", "keywords", title.casefold()}:
                parts.setdefault(part.casefold(), part)
    return one_line("; ".join(parts.values()), LONG_SUBJECT)
