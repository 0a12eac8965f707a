"""Name a file and a passage: the words of the file's name, and the header that is embedded beside the text; and find
who a letter is to and from.

The words of a name are those that a person would call the file by, without meaningless numbers and letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from local_rag.text.display import is_page, is_url, shorten
from local_rag.text.words import collapsed, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

HEADER_WEIGHT = 0.3
"""The weight of the header's vector beside that of the text: unit(text + HEADER_WEIGHT * header)."""

DOCUMENT_LENGTH = 160
"""The most characters of a document's header. The first 150 of 200 characters of a title tell it from others."""

HEADER_LENGTH = 240
"""The most characters of a passage's header, about 60 tokens of English: within the 254 of MiniLM's window in any
script.
"""

MONTHS = tuple(
    name.split()
    for name in """january januar|february februar|march märz|april|may mai|june juni|july juli|august|september
    |october oktober|november|december dezember""".split("|")
)
"""The names of the months in English and German."""

_SUFFIX = re.compile(r"(?<=.)\.(?=[^.]*[A-Za-z])[A-Za-z0-9]{1,10}$")
_DATE = re.compile(
    r"(?<![^\W_])(?P<year>(?:19|20)\d\d)(?P<mark>[-_. ]?)(?P<month>0[1-9]|1[0-2])"
    r"(?:(?P=mark)(?P<day>0[1-9]|[12]\d|3[01]))?(?![^\W_])"
)
_ISO_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])(?:-\d\d)?")
_WORD = re.compile(rf"{_ISO_DATE.pattern}(?!\S)|[^\s-]+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_BORDER = re.compile(
    r"(?<=[a-zß-ÿ]{2})(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ]{2})"  # AnnualReport, HTTPServer; iPhone is whole
    r"|(?<=[^\W\d_]{5})(?=\d)|(?<=[^\W\d_]{3})(?=\d\d)|(?<=[^\W\d_]{2})(?=\d{3})|(?<=\d{2})(?=[^\W\d_]{3})"
    r"|(?:(?<=19\d\d)|(?<=20\d\d))(?=[^\W\d_]\d?$)"
)
"""The borders between the words of a part: Report2023 and 2023Q2 have one, 10K and Q3 have none."""
_RANDOM = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{8,}|[b-df-hj-np-tv-xz]{6,}", re.IGNORECASE)

_NOTHING = frozenset(
    """attachment camscanner copy doc docs document dokument download dsc dscf dscn file files image img mvi new of
    output page part pdf photo pxl scan scanned screenshot shot temp tmp unbenannt unnamed untitled vid
    whatsapp""".split()
)
"""Words of names that a program gave: a name of only these words and numbers says nothing."""


def name_words(path: str) -> list[str]:
    """Return the words of a file's name in order, once each, as they are written; of a page's URL, those of its last
    part.

    The name is cut at punctuation, between a small and a capital letter, and between letters and numbers; "10K" and
    "Q3" stay whole. A number with leading zeros is listed with and without them. Hashes, long numbers and names that a
    scanner, a camera or a browser gave are left out.
    """
    name = list(_spoken(_parts(path)[-1]))
    dates = [word for word in name if _ISO_DATE.fullmatch(word) or _YEAR.fullmatch(word)]
    says_nothing = all(word.casefold() in _NOTHING or word.isdecimal() or word in dates for word in name)
    return _once(dates if says_nothing else name)


def name_text(path: str) -> str:
    """Return a file's name for full-text search: as it is written, without its suffix, plus the further words of
    `name_words`.
    """
    written = _SUFFIX.sub("", _parts(path)[-1])
    known = set(words(written))
    return " ".join([written, *(word for word in name_words(path) if not known.issuperset(words(word)))]).strip()


def name_date(path: str) -> str:
    """Return the day or month in a file's name, "2023-03-31" or "2023-03"; a year alone may be that of its subject."""
    return next(filter(_ISO_DATE.fullmatch, _spoken(_parts(path)[-1])), "")


def called(path: str) -> str:
    """Return the words by which a question may name a file, with its month in words and neighbouring words joined."""
    name = name_words(path)
    dates = filter(_ISO_DATE.fullmatch, name)
    months = [spelled for date in dates for spelled in (*MONTHS[int(date[5:7]) - 1], date[:4])]
    joined = [first + second for first, second in pairwise(name) if (first + second).isalpha()]
    return " ".join([*name, *months, *joined])


def folder_words(path: str) -> list[str]:
    """Return the words of the folders above a file, or of a page's host and the folders of its URL, once each."""
    return _once(word for part in _parts(path)[:-1] for word in _spoken(part))


def _parts(path: str) -> list[str]:
    """Split a path or URL into folders and name; return [""] if it has none."""
    if is_page(path):
        url = urlsplit(path)
        return [(url.hostname or "").removeprefix("www."), *filter(None, unquote(url.path).split("/"))]
    file = Path(path.partition("://")[2] or path)  # the id of a document that a program added
    return [part for part in file.parts if part != file.anchor] or [""]


def _spoken(name: str) -> Iterator[str]:
    """Yield the words of one name that a person might say, with dates in ISO 8601."""
    stem = _SUFFIX.sub("", unicodedata.normalize("NFC", name[:500]))
    stem = _DATE.sub(lambda found: f" {'-'.join(filter(None, found.group('year', 'month', 'day')))} ", stem)
    stem = "".join(c if c.isalnum() or c in "'’-" or unicodedata.category(c)[0] == "M" else " " for c in stem)
    for part in _WORD.findall(stem):
        if _ISO_DATE.fullmatch(part):
            yield part
        elif not _RANDOM.fullmatch(part):
            for word in _BORDER.split(part):
                if not word.isdecimal():
                    yield word.strip("'’")
                elif len(word) <= 5:  # longer ones are not said
                    yield from (word, word.lstrip("0") or word)


def _once(spelled: Iterable[str]) -> list[str]:
    once = dict[str, str]()
    for word in filter(None, spelled):
        once.setdefault(word.casefold(), word)
    return list(once.values())


# --- headers


def document_header(path: str, title: str) -> str:
    """Return the words of the file's name and the document's title, or "" if neither has any.

    If one of them repeats all of the other, the longer stands alone: "PEP 572 – Assignment Expressions" of
    pep-0572.rst. `path` may be the URL of a page. At most DOCUMENT_LENGTH characters.
    """
    name, title = name_words(path), collapsed(title)
    if is_url(title) or title.casefold() in (path.casefold(), path.replace("\\", "/").rpartition("/")[2].casefold()):
        title = ""
    in_name, in_title = _forms(words(" ".join(name))), _forms(words(title))
    if in_name.issuperset(words(title)):
        title = ""
    elif all(in_title & _forms(words(word)) for word in name):
        name = []
    return shorten(_sentences(" ".join(name), title), DOCUMENT_LENGTH)


def passage_header(document_header: str, heading: str) -> str:
    """Return the header of a passage: that of its document and the heading path "Chapter > Section" at its start.

    Outer headings that only repeat the document's header are left out, and so are those that do not fit: the innermost
    ones stay. At most HEADER_LENGTH characters.
    """
    known = _forms(words(document_header))
    path = [part for part in heading.split(" > ") if part.strip()]
    while path and known.issuperset(words(path[0])):
        path.pop(0)
    room = HEADER_LENGTH - len(document_header) - 2
    while len(path) > 1 and len(" > ".join(path)) > room:
        path.pop(0)
    return shorten(_sentences(document_header, shorten(" > ".join(path), room)), HEADER_LENGTH)


def _forms(spelled: list[str]) -> set[str]:
    """Return words, numbers without leading zeros, and neighbouring words joined."""
    numbers = {word.lstrip("0") for word in spelled if word.isdecimal()}
    return {*spelled, *numbers, *(first + second for first, second in pairwise(spelled))}


def _sentences(first: str, second: str) -> str:
    if not (first and second):
        return first or second
    return f"{first}{'' if first[-1] in '.!?…:' else '.'} {second}"


def header_of(document: Document) -> str:
    """Return the header that a passage is read with: the words of its file's name, its title and its heading; "" if
    there are none.
    """
    known = document.metadata
    header = document_header(str(known.get("source") or known.get("url") or ""), str(known.get("title") or ""))
    return passage_header(header, str(known.get("heading") or ""))


def head(document: Document) -> str:
    """Return one line about a passage's origin: the words of its file's name, title and headings, author and date."""
    named = name_words(str(document.metadata.get("source") or ""))
    about = (str(document.metadata.get(key) or "") for key in ("title", "heading", "author", "date"))
    return " ".join(filter(None, [*named, *about]))


# --- letters

SALUTATION = re.compile(
    r"^[ \t]*(?:(?:dear|to whom|sehr geehrte)\b[^\n.?]{0,80}"
    r"|(?:hello|hi|hallo|liebe[rs]?|guten tag)\b[^\n.?]{0,80}[,:!])[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
SIGNED = re.compile(
    r"^[ \t]*(?i:yours?|love|lots of|with|best|kind(?:est)?|warm(?:est)?|sincerely|regards|cheers|mit|liebe|viele"
    r"|herzlich\w*)\b[^\n.!?]{0,40},?[ \t]*\n\s*"
    r"(?P<whole>[^\W\d_a-z][\w.'’-]*(?:[ \t]+[^\W\d_a-z][\w.'’-]*){0,3})[ \t]*$",
    re.MULTILINE,
)
"""The name below the last line of a letter."""
