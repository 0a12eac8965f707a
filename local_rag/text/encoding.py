"""Bytes to text: byte order marks, UTF-8, what a file or a server declares, and only then a guess."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

from local_rag.core.errors import FileSkipped

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ISO_2022_JP = (b"\x1b$B", b"\x1b$@")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_SUPERSETS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "shift_jis_2004": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
}
"""What the web reads instead (https://encoding.spec.whatwg.org/#names-and-labels): the same and more."""
_ENCODINGS = re.compile(
    r"utf-?8|utf-16(?:-[lb]e)?|utf-32(?:-[lb]e)?|ascii|cp\d+|iso8859-\d+|iso2022_\w+|koi8-[rtu]|kz1048|ptcp154|tis-620"
    r"|shift_jis\w*|euc_\w+|gb2312|gbk|gb18030|big5(?:hkscs)?|johab|mac-\w+"
)
"""Python's names of encodings of texts. It has others, some of which take quadratic time."""
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_SAMPLE = 1 << 18
_BROKEN_SEQUENCES = 0.02
"""Share of bad bytes among the multi-byte sequences up to which a text still is UTF-8, but damaged."""


def decode(data: bytes, *labels: str) -> str:
    """The text of these bytes; `labels` are encodings that they are said to have, the most trusted first, or "".

    UTF-8 comes before any label, because nothing else happens to be valid UTF-8, and labels are wrong.
    Raises FileSkipped for no bytes at all and for bytes that are no text.
    """
    if not data.strip():
        raise FileSkipped("is empty")
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").removeprefix("\ufeff")
    if wide := _wide(data[:4096]):
        return data.decode(wide, "replace")
    sample, text = data[:_SAMPLE], _utf8(data)
    control = len(sample) - len(sample.translate(None, _CONTROL))
    if control > max(2, 0.01 * len(sample)) or (0 in sample and text is None):
        raise FileSkipped("is binary, not text")
    if any(escape in data[:4096] for escape in _ISO_2022_JP):
        return data.decode("iso2022_jp", "replace")
    if text is not None:
        return text
    encodings = [encoding for label in labels if (encoding := known_encoding(label)) not in ("", "utf-8")]
    for encoding in encodings:
        with suppress(UnicodeError):
            return data.decode(encoding)
    return data.decode(encodings[0] if encodings else _guess(data), "replace")


def declared_charset(data: bytes) -> str:
    """The encoding that a page or an XML file names in its first 2 KB, or nothing."""
    match = _CHARSET.search(data[:2048])
    label = match.group(1).decode("ascii", "replace") if match else ""
    return "" if label.lower().startswith(("utf-16", "utf-32")) else label  # it could not be read if it were


def known_encoding(label: str) -> str:
    """Python's name for an encoding of texts, or empty."""
    try:
        name = codecs.lookup(label.strip()).name
    except (LookupError, ValueError):
        return ""
    return _SUPERSETS.get(name, name) if _ENCODINGS.fullmatch(name) else ""


def _wide(head: bytes) -> str:
    """UTF-16 without a mark: the zero bytes of Latin letters stand at the same places."""
    even, odd = (head[start::2].count(0) / len(head) for start in (0, 1))
    if max(even, odd) < 0.2 or min(even, odd) > 0.02:
        return ""
    return "utf-16-be" if even > odd else "utf-16-le"


def _utf8(data: bytes) -> str | None:
    """The text if it is UTF-8, a few damaged places (or a character cut at the end) allowed; None if it is not."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    if bad:
        sequences = sum(1 for _ in re.finditer(rb"[\xc2-\xf4][\x80-\xbf]+", data))
        if bad > 1 + _BROKEN_SEQUENCES * sequences or sequences < 2 * bad:
            return None
    return text


def _guess(data: bytes) -> str:
    """charset-normalizer's best guess from the first 256 KB; of equal ones, and where it has none, cp1252."""
    from charset_normalizer import from_bytes

    sample = data if len(data) <= _SAMPLE else data[:_SAMPLE].rpartition(b"\n")[0] or data[:_SAMPLE]
    matches = from_bytes(sample)
    best = matches.best()
    if best is None or any(
        match.encoding == "cp1252" and match.chaos <= best.chaos and match.coherence >= best.coherence
        for match in matches
    ):
        return "cp1252"
    name = codecs.lookup(best.encoding).name
    if name == "cp1250" and not re.search(rb"[\x80-\x9f]", data):
        return "iso8859-2"  # the same but for the letters that Windows puts into 80 to 9f, and a Slavic text has them
    return _SUPERSETS.get(name, name)
