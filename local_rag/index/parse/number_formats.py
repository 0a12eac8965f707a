"""Numbers of sheets and charts as their format shows them (ECMA-376, part 1, section 18.8.31)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, DecimalException
from functools import lru_cache

BUILT_IN = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 14: "yyyy-mm-dd", 15: "d-mmm-yy"}
BUILT_IN |= {16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss"}
BUILT_IN |= {22: "yyyy-mm-dd h:mm", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss"}
BUILT_IN |= dict.fromkeys((37, 38, 41, 42), "#,##0") | dict.fromkeys((39, 40, 43, 44), "#,##0.00")
"""Formats that a file names by their number alone (section 18.8.30)."""

EPOCH, EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_DIGITS = 21
"""Digits before the point of a number that is written out."""

_LONG = 200
"""Characters of a format that are read."""

_NOT_SHOWN = re.compile(r"_.|\*.|\[(?!\$|[hms]+\]|[<>=])[^\]]*\]|\[\$-[^\]]*\]", re.IGNORECASE)
_LITERAL = re.compile(r'"([^"]*)"?|\\(.)|\[\$([^\]-]*)[^\]]*\]', re.DOTALL)
_PLACES = re.compile(r"[0#?](?:[0#?,.]*[0#?])?")
_TIME = re.compile(r"\[([hms])+\]|([ymdhs])\2*|AM/PM|A/P", re.IGNORECASE)
_TIMES = {"yyyy": "%Y", "yy": "%y", "mmmm": "%B", "mmm": "%b", "mm": "%m", "dddd": "%A", "ddd": "%a", "dd": "%d"}
_TIMES |= {"hh": "%H", "ss": "%S", "AM/PM": "%p", "A/P": "%p"}
_NAMES = {"y": "year", "m": "month", "d": "day", "h": "hour", "s": "second"}
_SECONDS = {"h": 3600, "m": 60, "s": 1}


@lru_cache(maxsize=10_000)
def formatted(text: str, code: str = "", epoch: datetime = EPOCH) -> str:
    """A stored number as it is shown; what is no number, or has a format that is not known here, as it is stored.

    A date in figures is ISO 8601 unless its format has dots: the order of 3/4/26 follows the reader's Excel.
    """
    try:
        number = Decimal(text)
        if "." in text or "E" in text:
            number = Decimal(f"{float(text):.15g}")  # as many digits as Excel has
        shown = _shown(number, code[:_LONG], epoch) if code else ""
        return shown or (f"{number.normalize():f}" if abs(number.adjusted()) < _DIGITS else text)
    except (DecimalException, ValueError, OverflowError):
        return text


@lru_cache(maxsize=1000)
def _sections(code: str) -> tuple[list[str], dict[int, str]]:
    """The sections of a format, with a character for each of its literals."""
    literals = dict[int, str]()

    def keep(match: re.Match[str]) -> str:
        literals[0xF000 + len(literals)] = next(filter(None, match.groups()), "")
        return chr(0xF000 + len(literals) - 1)

    return _LITERAL.sub(keep, _NOT_SHOWN.sub("", code)).split(";"), literals


def _shown(number: Decimal, code: str, epoch: datetime) -> str:
    sections, literals = _sections(code)
    at = 1 if number < 0 else 2 if number == 0 else 0
    section = sections[at if at < len(sections) else 0]
    if re.search(r"[<>=@Ee]", section):
        shown = ""
    elif _TIME.search(section):
        shown = _moment(number, section, epoch)
    else:
        shown = _figures(number if len(sections) == 1 else abs(number), section)
    return shown.translate(literals).strip()


def _figures(number: Decimal, section: str) -> str:
    """A number in the places of its format: "#,##0.0,," groups digits, has one decimal and counts millions."""
    if (match := _PLACES.search(section)) is None:
        return ""
    before, after = section[: match.start()], section[match.end() :]
    bare = after.lstrip(",")
    number *= Decimal(100) ** section.count("%") / Decimal(1000) ** (len(after) - len(bare))
    whole, _, decimals = match[0].partition(".")
    number = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    sign = "-" if number < 0 else ""
    if _PLACES.search(bare):  # 000-00-0000
        places = re.findall(r"[0#?]", section)
        digits = iter(f"{abs(number):f}".zfill(len(places)))
        is_one = set(section) & set("/.,%") or number.adjusted() >= len(places)
        return "" if is_one else sign + re.sub(r"[0#?]", lambda _: next(digits), section)
    figures, _, rest = f"{abs(number):{',' * (',' in whole)}f}".partition(".")
    least = decimals.rfind("0") + 1
    rest = rest[:least] + rest[least:].rstrip("0")
    return f"{sign}{before}{figures.zfill(whole.count('0'))}{'.' * bool(rest)}{rest}{bare}"


def _moment(number: Decimal, section: str, epoch: datetime) -> str:
    """A date, a time of day or a span of time."""
    seconds = int((number * 86_400).quantize(Decimal(1), ROUND_HALF_UP))
    moment = epoch + timedelta(seconds=seconds)
    parts = list(_TIME.finditer(section))
    letters = [part[0].strip("[]")[0].lower() for part in parts]
    for at, letter in enumerate(letters):
        is_minute = "h" in letters[max(0, at - 1) : at] or "s" in letters[at + 1 : at + 2]
        letters[at] = "n" if letter == "m" and is_minute else letter
    if {*"ymd"} <= {*letters} and "mmm" not in section.lower() and "." not in section:
        day = f"{moment:%Y-%m-%d}"
        return f"{day} {moment:%H:%M}" if "h" in letters and seconds % 86_400 else day
    shown, end = "", 0
    for part, letter in zip(parts, letters, strict=True):
        word = part[0].upper() if letter == "a" else part[0].lower()
        if part[1]:
            text = str(abs(seconds) // _SECONDS[letter.replace("n", "m")]).zfill(len(word) - 2)
        elif letter == "n":
            text = f"{moment:%M}"
        elif letter == "h" and "a" in letters:
            text = f"{moment:%I}".removeprefix("0")
        else:
            text = f"{moment:{_TIMES[word]}}" if word in _TIMES else str(getattr(moment, _NAMES[letter]))
        shown += section[end : part.start()] + text
        end = part.end()
    return "-" * (seconds < 0 and bool(parts[0][1])) + shown + section[end:]
