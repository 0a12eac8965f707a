"""Numbers of sheets and charts as their format shows them (ECMA-376, part 1, section 18.8.31)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, DecimalException
from functools import lru_cache

_CODES = """0|0.00|#,##0|#,##0.00|0%|0.00%|yyyy-mm-dd|d-mmm-yy|d-mmm|mmm-yy|h:mm AM/PM|h:mm:ss AM/PM|h:mm|h:mm:ss
|yyyy-mm-dd h:mm|#,##0|#,##0|#,##0.00|#,##0.00|#,##0|#,##0|#,##0.00|#,##0.00|mm:ss|[h]:mm:ss|mm:ss"""
_NUMBERS = (*range(1, 5), 9, 10, *range(14, 23), *range(37, 48))
BUILT_IN = dict(zip(map(str, _NUMBERS), _CODES.replace("\n", "").split("|"), strict=True))
"""Formats that a file names by their number alone (section 18.8.30)."""

EPOCH, EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_MOST_DIGITS = 21
"""Digits before the point of a number that is written out."""

_LONGEST_FORMAT = 200
"""Characters of a format that are read."""

_NOT_SHOWN = re.compile(r"_.|\*.|\[(?!\$|[hms]+\]|[<>=])[^\]]*\]|\[\$-[^\]]*\]", re.IGNORECASE)
_LITERAL = re.compile(r'"([^"]*)"?|\\(.)|\[\$([^\]-]*)[^\]]*\]', re.DOTALL)
_PLACES = re.compile(r"[0#?](?:[0#?,.]*[0#?])?")
_TIME = re.compile(r"\[([hms])+\]|([ymdhs])\2*|AM/PM|A/P", re.IGNORECASE)
_TIMES = dict(
    zip(
        "yyyy yy mmmm mmm mm dddd ddd dd hh ss AM/PM A/P".split(),
        "%Y %y %B %b %m %A %a %d %H %S %p %p".split(),
        strict=True,
    )
)
_UNIT_SECONDS = {"h": 3600, "m": 60, "s": 1}


@lru_cache(maxsize=10_000)
def formatted(text: str, code: str = "", epoch: datetime = EPOCH) -> str:
    """Return a stored number as it is shown; what is no number, or has a format that is not known here, as it is
    stored.

    A date in figures is ISO 8601 unless its format has dots: the order of 3/4/26 follows the reader's Excel.
    """
    try:
        number = Decimal(text)
        if "." in text or "E" in text:
            number = Decimal(f"{float(text):.15g}")  # as many digits as Excel has
        shown = _shown(number, code[:_LONGEST_FORMAT], epoch) if code else ""
        return shown or (f"{number.normalize():f}" if abs(number.adjusted()) < _MOST_DIGITS else text)
    except (DecimalException, ValueError, OverflowError):
        return text


@lru_cache(maxsize=1000)
def _sections(code: str) -> tuple[list[str], dict[int, str]]:
    """Return the sections of a format, and its literals by the characters that stand for them."""
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
    """Return a number in the places of its format: "#,##0.0,," groups digits, has one decimal and counts millions."""
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
    """Return a date, a time of day or a span of time in its format."""
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
            text = str(abs(seconds) // _UNIT_SECONDS[letter.replace("n", "m")]).zfill(len(word) - 2)
        else:
            usual = _TIMES.get(word) or _TIMES.get(word * 2, "")
            sign = "%M" if letter == "n" else "%I" if letter == "h" and "a" in letters else usual
            text = f"{moment:{sign}}" if sign else ""
            text = text.removeprefix("0") if len(word) == 1 and letter != "n" else text
        shown += section[end : part.start()] + text
        end = part.end()
    return "-" * (seconds < 0 and bool(parts[0][1])) + shown + section[end:]
