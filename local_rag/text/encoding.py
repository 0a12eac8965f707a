"""Decode bytes to text: by byte order marks, as UTF-8, by the encoding that a file or a server declares, and only then
by a guess.
"""

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
_MAGIC = (b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"\x7fELF", b"\xd0\xcf\x11\xe0", b"\x1f\x8b", b"\xff\xd8\xff", b"GIF8")
_ISO_2022 = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$B", "iso2022_jp"), (b"\x1b$@", "iso2022_jp"))
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_SUPERSETS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "shift_jis_2004": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
}
"""The supersets that the web reads in place of some encodings (https://encoding.spec.whatwg.org/#names-and-labels)."""
_ENCODINGS = re.compile(
    r"utf-?8|utf-16(?:-[lb]e)?|utf-32(?:-[lb]e)?|ascii|cp\d+|iso8859-\d+|iso2022_\w+|koi8-[rtu]|kz1048|ptcp154|tis-620"
    r"|shift_jis\w*|euc_\w+|gb2312|gbk|gb18030|big5(?:hkscs)?|johab|mac-\w+"
)
"""Python's names of text encodings. Python has other codecs, some of which take quadratic time."""
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_SAMPLE = 1 << 18
_BROKEN_SEQUENCES = 0.02
"""The share of bad bytes among the multi-byte sequences up to which a text counts as damaged UTF-8."""


def decode(data: bytes, *labels: str) -> str:
    """Decode bytes to text; `labels` are the encodings that sources declare, the most trusted first, or "".

    UTF-8 is tried before any label, because hardly any other text is valid UTF-8, and labels may be wrong. Raises
    FileSkipped for empty or blank bytes and for bytes that are not text.
    """
    if not data.strip():
        raise FileSkipped("is empty")
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").removeprefix("\ufeff")
    if wide := _wide(data[:4096]):
        return data.decode(wide, "replace")
    for escape, encoding in _ISO_2022:
        if escape in data[:4096] and 0 not in data[:4096]:
            return data.decode(encoding, "replace")
    _refuse_binary(data)
    if (text := _utf8(data)) is not None:
        return text
    encodings = [encoding for label in labels if (encoding := known_encoding(label)) not in ("", "utf-8")]
    for encoding in encodings:
        with suppress(UnicodeError):
            return data.decode(encoding)
    return data.decode(encodings[0] if encodings else _guess(data), "replace")


def declared_charset(data: bytes) -> str:
    """Return the encoding that a page or an XML file names in its first 2 KB, or ""."""
    match = _CHARSET.search(data[:2048])
    label = match.group(1).decode("ascii", "replace") if match else ""
    return "" if label.lower().startswith(("utf-16", "utf-32")) else label  # it could not be read if it were


def known_encoding(label: str) -> str:
    """Return Python's name for a text encoding, or ""; mails write x-sjis, windows-874 and iso-8859-8-i."""
    label = label.strip().lower()
    for form in (label, re.sub(r"^x-|-[ei]$", "", label), re.sub(r"^(x-)?(windows|dos|cp)-", "cp", label)):
        with suppress(LookupError, ValueError):
            name = codecs.lookup(form).name
            return _SUPERSETS.get(name, name) if _ENCODINGS.fullmatch(name) else ""
    return ""


def _wide(head: bytes) -> str:
    """Recognise UTF-16 or UTF-32 without a mark by the zero bytes of Latin letters, which stand at the same places;
    else return "".
    """
    if len(head) < 8:
        return ""
    zeros = [head[offset::4].count(0) / len(head[offset::4]) for offset in range(4)]
    patterns = {
        "utf-32-be": (zeros[0] > 0.9 and zeros[1] > 0.9 and zeros[3] < 0.1),
        "utf-32-le": (zeros[3] > 0.9 and zeros[2] > 0.9 and zeros[0] < 0.1),
        "utf-16-be": (zeros[0] > 0.4 and zeros[2] > 0.4 and zeros[1] + zeros[3] < 0.05),
        "utf-16-le": (zeros[1] > 0.4 and zeros[3] > 0.4 and zeros[0] + zeros[2] < 0.05),
    }
    return next((name for name, fits in patterns.items() if fits), "")


def _refuse_binary(data: bytes) -> None:
    sample = data[:_SAMPLE]
    control = len(sample) - len(sample.translate(None, _CONTROL))
    most = 0 if data.startswith(_MAGIC) else max(2, 0.01 * len(sample))  # a text may begin "GIF89a is"
    if control > most or (0 in sample and _utf8(sample) is None):
        raise FileSkipped("is binary, not text")


def _utf8(data: bytes) -> str | None:
    """Decode UTF-8, with a few damaged places (or a character cut at the end) allowed; return None if it
    is not UTF-8.
    """
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    if bad:
        sequences = sum(1 for _ in re.finditer(rb"[\xc2-\xf4][\x80-\xbf]+", data))
        if bad > 1 + _BROKEN_SEQUENCES * sequences or sequences < 2 * bad:
            return None
    return text


def _guess(data: bytes) -> str:
    """Guess the encoding with charset-normalizer from the first 256 KB; return cp1252 if it has no guess or if cp1252
    fits as well.
    """
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE and (cut := sample.rfind(b"\n")) > 0:
        sample = sample[:cut]
    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        return "cp1252"
    rivals = (each for each in matches if each.encoding == "cp1252")
    if any(each.chaos <= best.chaos and each.coherence >= best.coherence for each in rivals):
        return "cp1252"
    name = codecs.lookup(best.encoding).name
    if name == "cp1250" and not re.search(rb"[\x80-\x9f]", data):
        return "iso8859-2"  # the same but for the letters that Windows puts into 80 to 9f, and a Slavic text has them
    return _SUPERSETS.get(name, name)
