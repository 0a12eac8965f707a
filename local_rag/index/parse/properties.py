"""The properties that a file names: title, author, date and subject, without what a program filled in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import islice
from typing import Any

from local_rag.index.parse.parsed_file import UNKNOWN, Properties, one_line
from local_rag.text.names import MONTHS, SALUTATION, SIGNED, name_words

LONG_TITLE = 200
LONG_AUTHOR = 300
LONG_SUBJECT = 500
"""Characters of a subject that are kept."""

MOST_NAMES = 50
"""Authors or keywords that are looked at."""

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
"""Words in place of an author's name where nobody gave one."""

_ELEMENTS = "title initial-creator creator created creation-date date subject keywords keyword".split()
_TEMPLATES_MADE = ("2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z")
"""The dates of the templates of python-docx and python-pptx, which programs leave in what they write with them."""

_ADDRESS = re.compile(r"\s*<[^<>]*>")
_NAMED_ADDRESS = re.compile(r"\S+@\S+\s*\(([^()]*)\)")
_TITLES = ("title", "headline")
_AUTHORS = ("initialcreator", "author", "authors", "creator", "creators", "byline")
_DATES = (
    "created",
    "creationdate",
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
_SUBJECTS = ("subject", "subjects", "description", "summary", "keywords", "keyword", "tags", "categories", "topic")

_OLDEST_YEAR = 1000
"""The first year; an earlier one is a number that means something else."""

_LONG_DATE = 200
"""Characters of a date that are looked at."""

_LETTER = 3_000
"""Characters in which a letter has its salutation; it ends within four times as many."""

_DATE_LINE = 6
"""Words of a line that is a date and a place."""

MONTH_NUMBERS = {"sept": 9} | {
    name: number for number, names in enumerate(MONTHS, 1) for full in names for name in (full, full[:3])
}
MONTH = "|".join(sorted(MONTH_NUMBERS, reverse=True))
"""An expression for the name of a month, the longer of two that begin alike first."""

_MONTH = rf"(?P<name>{MONTH})(?![^\W\d_])\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<year>\d{4})[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?(?!\d)",
        r"^(?:D:)?(?P<year>\d{4})(?P<month>\d\d)(?:(?P<day>\d\d)(?:T?(?:\d\d){1,3}(?!\d).*)?)?$",
        rf"(?<![^\W_]){_DAY}[ .-]*(?:of )?{_MONTH}[ ,-]*(?P<year>\d{{4}})(?!\d)",
        rf"(?<![^\W\d_]){_MONTH} *{_DAY},? +(?P<year>\d{{4}})(?!\d)",
        rf"(?<![^\W\d_]){_MONTH}[ ,-]*(?P<year>\d{{4}})(?!\d)",
        r"(?<!\d)(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<day>1[3-9]|2\d|3[01])/(?P<month>\d{1,2})/(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<month>\d{1,2})/(?P<day>1[3-9]|2\d|3[01])/(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?:D:)?(?P<year>[12]\d{3})(?!\d)",
    )
)
_WITH_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T\d\d:\d\dZ")


def stated(title: str = "", authors: Iterable[str] = (), date: str = "", subjects: Iterable[str] = ()) -> Properties:
    """Return properties as they stand in a file, made safe to store, without those that say nothing."""
    return Properties(_title(title), _authors(authors), iso_date(date), _subject(subjects, title))


def from_mapping(mapping: Mapping[Any, Any]) -> Properties:
    """Return properties by their names in front matter, fields or JSON; case, blanks and hyphens in a name do not
    count.
    """
    known = dict[str, list[str]]()
    for key, value in list(mapping.items())[:200]:
        name = re.sub(r"[\s_.-]", "", key).lower() if isinstance(key, str) and len(key) < 50 else ""
        known.setdefault(name, []).extend(_texts(value))

    def of(names: Iterable[str]) -> list[str]:
        return [text for name in names for text in known.get(name, ())]

    dates = map(iso_date, of(_DATES))
    authors = next(filter(None, map(known.get, _AUTHORS)), [])
    return stated(next(iter(of(_TITLES)), ""), authors, next(filter(None, dates), ""), of(_SUBJECTS))


def dublin_core(tree: Any) -> Properties:
    """Return properties in the XML of an office file or a book: Dublin Core's, and those that Office and OpenDocument
    add.
    """
    known: dict[str, list[str]] = {}
    for node in () if tree is None else islice(tree.iter(*(f"{{*}}{name}" for name in _ELEMENTS)), 10 * MOST_NAMES):
        text = " ".join("".join(node.itertext()).split())
        if text not in _TEMPLATES_MADE:
            known.setdefault(node.tag.rpartition("}")[2], []).append(text)
    return from_mapping(known)


def _texts(value: Any) -> list[str]:
    """Return the texts of a value of front matter: a text, a number, a date, a list of these, or of objects with a
    name.
    """
    if isinstance(value, list | tuple):
        return [text for inner in value[:MOST_NAMES] if not isinstance(inner, list | tuple) for text in _texts(inner)]
    if isinstance(value, dict):
        value = value.get("name")
    return [str(value)] if isinstance(value, str | int | float | date) and not isinstance(value, bool) else []


def _title(title: str) -> str:
    """Return a title, "" for the name of a file, a number of an archive, or what a program puts there."""
    title = one_line(title, LONG_TITLE)
    is_name = _FILE.search(title) and " " not in title
    by_program = _BY_PROGRAM.match(title) or _NO_TITLE.fullmatch(title)
    return "" if is_name or by_program or not _says_something(title) else title


def _says_something(text: str) -> bool:
    """Return whether a text has a word that a person would say: hashes and numbers have none."""
    return any(character.isalpha() for character in text) and (" " in text or bool(name_words(text + ".txt")))


def _authors(authors: Iterable[str]) -> str:
    names = dict.fromkeys(_name(name) for author in list(authors)[:MOST_NAMES] for name in author.split(";"))
    return one_line(("; " if any("," in name for name in names) else ", ").join(filter(None, names)), LONG_AUTHOR)


def _name(author: str) -> str:
    """Return names without mail addresses, unless there is nothing else."""
    line = one_line(author, LONG_AUTHOR * 4)
    bare = _ADDRESS.sub("", _NAMED_ADDRESS.sub(r"\1", line)).strip(" ,;")
    bare = bare or line.strip("<> ,;")
    nobody = bare.casefold() in _NOBODY or "://" in bare or not any(character.isalpha() for character in bare)
    return "" if nobody else bare


def _subject(subjects: Iterable[str], title: str) -> str:
    """Return subject and keywords, each once, without those that only repeat the title."""
    said = (
        part.strip() for subject in list(subjects)[:MOST_NAMES] for part in one_line(subject, LONG_SUBJECT).split(";")
    )
    parts = {part.casefold(): part for part in said if _says_something(part)}
    nothing = _NOBODY | {"subject", "keywords", title.casefold()}
    return one_line("; ".join(part for key, part in parts.items() if key not in nothing), LONG_SUBJECT)


def of_letter(text: str) -> Properties:
    """Return who signed a letter, and the date in a line of its own above the salutation: "Graz, 28 August 2023"."""
    salutation = SALUTATION.search(text[:_LETTER])
    if not salutation:
        return UNKNOWN
    signed = list(SIGNED.finditer(text, salutation.end(), salutation.end() + 4 * _LETTER))
    above = (line for line in text[: salutation.start()].splitlines() if len(line.split()) <= _DATE_LINE)
    date = next(filter(None, map(iso_date, above)), "")
    return stated(authors=[signed[-1]["whole"]] if signed else (), date=date)


def iso_date(text: str) -> str:
    """Return the date that a text has: "28-Feb-2018" is "2018-02-28", "March 2018" is "2018-03", "c. 1890" is "1890".

    A time is left out, but for one that `iso_time` wrote. Of 3/4/2018 only the year is certain. "" stands for no date,
    for years before _OLDEST_YEAR and after next year.
    """
    text = text[:_LONG_DATE].strip()
    if _WITH_TIME.fullmatch(text):
        return text if iso_date(text[:10]) == text[:10] else ""
    return next((written for form in _FORMS if (match := form.search(text)) and (written := _written(match))), "")


def iso_time(when: datetime) -> str:
    """Return a moment in UTC, to the minute: "2023-03-31T09:30Z"; one without a zone is taken for UTC. "" as in
    `iso_date`.
    """
    with suppress(OverflowError, ValueError):
        when = when.astimezone(UTC) if when.tzinfo else when
        return iso_date(f"{when:%Y-%m-%dT%H:%M}Z".rjust(17, "0"))
    return ""


def _written(match: re.Match[str]) -> str:
    """Return the date, "" if there is no such day."""
    known = match.groupdict("")
    year, day, name = known["year"], known.get("day", ""), known.get("name", "")
    month = str(MONTH_NUMBERS[name.lower()]) if name else known.get("month", "")
    try:
        date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ""
    is_possible = _OLDEST_YEAR <= int(year) <= date.today().year + 1
    return "-".join(part.zfill(2) for part in (year, month, day) if part) if is_possible else ""
