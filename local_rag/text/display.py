"""Write text for people: one line, no control characters, counts and lists in words; and URLs as they are compared and
shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit, urlunsplit

from local_rag.text.words import IGNORABLE, collapsed

if TYPE_CHECKING:
    from local_rag.core.documents import Catalog

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PORTS = {"http": 80, "https": 443}
_PLAIN = "/?:@!$&'()*+,;=%[]"
"""Characters that stay as they are in a path or query; "%" is among them so that encoded text is not encoded again."""


def is_url(name: str) -> bool:
    """Return whether a name is a URL of any scheme and not a file; a URL that cannot be fetched is refused later, with
    a reason.

    A scheme has at least two letters: C:// is a disk.
    """
    return bool(_SCHEME.match(name))


def is_page(source: str) -> bool:
    """Return whether the source of a document is a page of the web; files are stored with absolute paths."""
    return source.startswith(("http://", "https://"))


def composed(name: str) -> str:
    """Spell a name in Unicode's NFC, in which names are compared: some disks store the umlaut of "Entwürfe" as a
    character of its own.
    """
    return unicodedata.normalize("NFC", name)


def normal(url: str) -> str:
    """Normalize a URL: scheme and host in small letters, no default port, "/" for an empty path, no fragment.

    A string that no page can be fetched from stays as it is.
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


_BIDI_CHARACTERS = "\u202a-\u202e\u2066-\u2069"
_UNSEEN_CHARACTERS = "\u200b\u2060-\u2065\u206a-\u206f\u180e\u3164\uffa0\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
"""Characters that are invisible and shape nothing; joiners, variation selectors and directional marks are not among
them.
"""
_INVISIBLE = re.compile(f"[{IGNORABLE}\u2800\U00013441\U00013442\U00016fe4\U0001d159]")
"""Ignorable characters, and also an empty Braille cell, blank hieroglyphs, a filler of Khitan, and a note without a
head.
"""
_BIDI = re.compile(f"[{_BIDI_CHARACTERS}]")
_UNSEEN = re.compile(f"[{_UNSEEN_CHARACTERS}]")
_BREAKS = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SEPARATORS = re.compile("[\u2028\u2029]")
_UNSAFE = re.compile(f"[\x7f-\x9f\u2028\u2029{_BIDI_CHARACTERS}{_UNSEEN_CHARACTERS}]")
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def shorten(text: str, width: int) -> str:
    """Return one line of at most `width` characters, cut at a word, with … in place of the missing text."""
    line = collapsed(text)
    if len(line) <= width:
        return line
    cut = line[: width - 1].rsplit(" ", 1)[0] or line[: width - 1]
    return cut.rstrip(" ,;:") + "…"


def printable(text: str) -> str:
    """Remove ANSI sequences and control characters but newline and tab, so that no text that was read can control a
    terminal.

    Bidirectional overrides (Unicode TR 9, section 2) are removed too, because they show a text in another order than it
    is stored in.
    """
    if text.isascii() and text.isprintable():  # most of what a page is sent
        return text
    return _BIDI.sub("", _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def for_terminal(text: str) -> str:
    """Return a text as `printable` does, also without invisible characters: zero-width spaces, tag characters, fillers,
    separators.

    Joiners (Persian, Indic scripts, emoji), variation selectors and directional marks stay, because they shape visible
    text.
    """
    return _UNSEEN.sub("", printable(_SEPARATORS.sub("\n", text)))


def seen_line(text: str) -> str:
    """Return one line without any invisible character, so that a reader sees every character of it.

    Joiners, variation selectors and directional marks are removed, too, so a word of some scripts may be spelled more
    simply.
    """
    shown = (ch for ch in printable(text) if ch.isspace() or unicodedata.category(ch)[0] != "C")
    return collapsed(_INVISIBLE.sub("", "".join(shown)))


def safe_json(json: str) -> str:
    """Escape characters in JSON text that could control a terminal or that are invisible; a program reads the same
    values.
    """
    from json import dumps

    return _UNSAFE.sub(lambda match: dumps(match[0])[1:-1], json)


def plural(count: int, noun: str, many: str = "") -> str:
    """Return a count with its noun: 1 passage, 2 passages, 2 entries (`many` where -s is wrong)."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def joined(parts: Iterable[str], last: str = "and") -> str:
    """Join a list in words: a, b and c."""
    items = list(parts)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}" if items else ""


def reasons(*parts: str) -> str:
    """Join the reasons that are given, which may be none."""
    return "; ".join(filter(None, parts))


def those_there(names: Sequence[str]) -> str:
    """Return a clause that lists the names that exist: "there is only a", "there are a and b", "there are none yet"."""
    if len(names) == 1:
        return f"there is only {names[0]}"
    return f"there are {joined(names)}" if names else "there are none yet"


def short_path(path: object) -> str:
    """Shorten a path for a person at a terminal, relative to the current folder if it lies below."""
    return home_path(path, Path.cwd())


def home_path(path: object, here: Path | None = None) -> str:
    """Return a path relative to `here` if it lies below, else with ~ for the home folder; URLs stay whole."""
    full = Path(str(path))
    for base, prefix in ((here, ""), (Path.home(), "~")):
        if base and not is_url(str(path)) and full.is_relative_to(base):
            return on_one_line(str(prefix / full.relative_to(base)))
    return on_one_line(str(path))


def local_time(date: str) -> str:
    """Format a document's date for people; a date with a time is converted to this machine's time zone,
    which is named.
    """
    moment = _moment(date)
    return f"{moment:%Y-%m-%d %H:%M %Z}" if moment else date


def local_iso(date: str) -> str:
    """Convert a document's date to this machine's time zone in ISO 8601: "2023-03-31T09:30Z" is
    "2023-03-31T10:30+01:00" where clocks are an hour ahead of UTC.
    """
    moment = _moment(date)
    return moment.isoformat(timespec="minutes") if moment else date


def _moment(date: str) -> datetime | None:
    """Return a date that has a time in this machine's time zone; None for a date without a time, which has no zone."""
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromisoformat(date).astimezone() if "T" in date else None
    return None


def on_one_line(name: str) -> str:
    """Escape the line breaks of a name, so that it cannot begin a line of its own."""
    return _BREAKS.sub(lambda match: repr(match[0])[1:-1], name)


def format_bytes(count: int) -> str:
    """Format a number of bytes for people, in powers of 1,000."""
    if count < 1000:
        return f"{count} B"
    power = 1 + (count >= 999_950) + (count >= 999_950_000)  # 999,950 would be shown as 1000.0 kB
    return f"{count / 1000**power:.1f} {('kB', 'MB', 'GB')[power - 1]}"


def waiting_line(embedded: int, chunks: int) -> str:
    """Return a line such as "12,400 of 56,000 passages are embedded; the others are found by their words only", or ""
    if all are embedded.
    """
    if embedded >= chunks:
        return ""
    if not embedded:
        return f"none of {plural(chunks, 'passage')} is embedded; all are found by their words only"
    return f"{embedded:,} of {plural(chunks, 'passage')} are embedded; the others are found by their words only"


LONGEST_ABOUT = 600
"""The most characters of a description that a person writes."""
_LONGEST_SUMMARY = 1_000
_TITLE, _FOLDER, _KINDS = 50, 40, 6


def summary(catalog: Catalog) -> str:
    """Return one line about an index: its files by kind, their folders, and titles that represent the topics of all
    passages.
    """
    rest = sum(int(kind.rpartition(" ")[2].replace(",", "")) for kind in catalog.kinds[_KINDS:])
    kinds = ", ".join(catalog.kinds[:_KINDS]) + (f", and {plural(rest, 'other')}" if rest else "")
    folders = joined(shorten(folder, _FOLDER) for folder in catalog.folders)
    topics = "; ".join(shorten(title, _TITLE) for title in catalog.topics or catalog.titles)
    line = plural(catalog.files or catalog.documents, "file")
    line += f" ({kinds})" * bool(kinds) + f" in {folders}" * bool(folders)
    return shorten(f"{line}; among them: {topics}" if topics else line, _LONGEST_SUMMARY)


def by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """Sort counts by kind, the most frequent first, kinds of equal count by name."""
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def kinds_in_words(counts: Mapping[str, int]) -> str:
    """Return how many files there are of each kind: "2 .pptx and 1 without a suffix"."""
    names = {suffix: shorten(on_one_line(suffix), 20) for suffix in counts}
    return joined(
        f"{count:,} {names[suffix].replace('(none)', '') or 'without a suffix'}" for suffix, count in counts.items()
    )
