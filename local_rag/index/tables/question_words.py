"""The words by which people ask about tables: figures, comparisons, and what columns are called. Data only."""

from __future__ import annotations

import re
from collections.abc import Sequence

from local_rag.index.parse.properties import MONTH, MONTH_NUMBERS
from local_rag.index.tables.query import Aggregate, Comparison
from local_rag.index.tables.values import LEAP, date_of
from local_rag.text.lexicon import UNITS
from local_rag.text.names import MONTHS
from local_rag.text.words import stem, words

WORD = re.compile(r"[^\W_]+(?:[.,:'’&/-]+[^\W_]+)*")


_IRREGULAR = {
    form: verb
    for line in """win won|lose lost|draw drawn|send sent|pay paid|buy bought|sell sold|spend spent|take took taken
give gave given|write wrote written|get got|hold held|drive drove driven|teach taught|grow grew grown|break broke broken
keep kept|lend lent|begin began begun|leave left|owe owed|stop stopped""".split("|")
    for verb, *forms in [line.split()]
    for form in forms
}
"""Forms of verbs that no stemmer knows."""


ABBREVIATIONS = {
    short: full
    for line in """qty quantity|tel telephone phone|mob mobile|hrs hours|pts points|amt amount
loc location|cond condition|temp temperature|hum humidity|rh humidity|batt battery|dept department|addr address
pd paid|recd received|conf confirmation|opp opponent|att attendance|tbl table|odo odometer|dep deposit departure
arr arrival|emerg emergency|pers persons|nts nights|cntd counted|art article|btl bottle|btls bottles
yr year|avg average|desc description|cat category|inv invoice|cust customer|emp employee|dob birth|pct percent
rtg rating|sess sessions|ts time|rec received|vol volume|wt weight|len length|ht height|bal balance""".splitlines()
    for short, _, full in [pair.partition(" ") for pair in line.split("|")]
}
"""Words of headers that are written short."""


def stems(text: str) -> set[str]:
    """Return the stems of the words of a text."""
    return {stem(_IRREGULAR.get(word, word)) for word in words(text)}


_SYNONYMS = [
    (frozenset(words(line)), stems(line))
    for line in """price prices cost costs costing rate rates fee fees charge charges expensive cheap amount
amount amounts sum total net gross pay pays paid payment payments spend spent cost costs price debit worth
amount amounts sum total net gross cost price bill billed charge charged bring
amount amounts sum cost price debit expense expenses money invoiced donate donated donation donations spend spent
salary salaries wage wages pay pays paid earn earns earned earning earnings income
rent pay paid pays
name names person people member members employee employees staff
phone phones telephone mobile cell call
email mail mails address write
temperature warm hot cold warmest hottest coldest
location keep kept store stored stand stands lie where find place
start begin begins began start starts started open opens first
end stop stops stopped end ends ended finish finishes finished until close closes
lent borrow borrowed borrows lend lends lender borrower
invoice bill bills
back return returned returns brought
value values worth
city cities town towns place places location where
office offices place places location where based
ground venue room site store location where
date dates day days when
author authors writer writers wrote written write by
year years published publication built made released
since when joined
quantity stock count number copies pieces many
mileage odometer km kilometres miles driven
address street
state status
client clients customer customers buyer
trainer trainers tutor tutors teacher teachers teaches teach taught instructor coach
vehicle vehicles car cars
time times duration took take fast
score scores result results mark marks grade grades got
country countries nation from
delivered delivery arrived arrive arrives
gross incl included including inclusive
attendance spectators crowd visitors
rsvp reply replied answer answered respond responded confirmed
owner owners belong belongs
hour hours long
length long
weight weigh weighs heavy kilo kilos kg
height tall high
depth deep
width wide
distance far
age old""".splitlines()
]
"""Groups of words of headers, and of the words by which people ask for them, each with its inflections."""


def synonyms(text: str) -> set[str]:
    """Return the stems of the names that a column may have which the words of a text ask for."""
    return set[str]().union(*(group for asking, group in _SYNONYMS if not asking.isdisjoint(words(text))))


PERSON = stems(
    "name person member borrower holder guest supplier vendor lender buyer seller child kid"
    " employee runner student author tenant donor trainer customer client player staff teacher"
    " contact owner patient winner candidate user guest driver participant tutor"
)
PERSON_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: [^\W\d_a-z][\w'’.-]*)+")
"""A first name or its letter, and a last name."""
COUNTS = stems("quantity count number")
FLUFF = stems(
    """a give list name mr mrs ms dr please tell find show table sheet row rows file entry entries record records
    register column value work works do play plays get gets got make made have belong live lives run runs go goes went
    come cost costs pay pays paid spend spent take takes took score scored scores write wrote number exist
    altogether together whole many much long often teach teaches attend teams see know called use used receive
    received contain contains hold holds item items put need needs bring brought was been still ever listed
    everyone everybody people player players leave leaves everything piece pieces thing things kind kinds sort sorts
    type types job jobs already currently pick picked come comes came still yet far say says said done values
reach reached contact contacted kid kids child children single"""
)
"""Words of questions that say nothing of which rows and columns are meant."""
YES, NO = frozenset("yes y true x ja 1 ✓ ✔".split()), frozenset("no n false nein 0 - – ✗".split())

ASKS_LIST = re.compile(r"\W*(?:which|who|whose|how many|list|what|name|show|welche|wer|wie viele|(?:on|in|at) which)\b")
RELATIONS = frozenset("than before after until between over above under below".split())
"""Words that set a value against another; where that is no number and no date the rules do not read it."""
TAKES_NUMBER = re.compile(r"(?!older|newer|earlier|later).*(?:than|over|above|exceeding|under|below|least|most|up to)")
EACH = frozenset("per each every by pro je".split())
ASKS_AMOUNT = re.compile(r"\W*(?:what|how much)\b.*\b(?:costs?|pay|paid|price|spen[dt]|charged?|worth)\b")
HOW_MUCH = re.compile(r"\bhow much\b|\bwie viel\b")
DENIES = re.compile(
    r"\b(?:not|no|never|without|except|excluding|lack(?:s|ing)?|neither|nor|nobody|nicht|kein\w*|ohne|außer)\b|n't\b"
)
"""Words that turn a condition round; the rules read them before a value or a column, with nothing else between."""
LACKS = frozenset("without no lack lacks lacking ohne kein keine keinen".split())
"""Words before a column whose cells are empty."""
MISSING = frozenset("missing empty blank".split())
"""Words behind such a column."""
HAS = frozenset("have has had got been reached contacted".split())
"""Words behind "not" with which a column of any kind is empty: do not have, has not been."""
DONE = frozenset("been was were is are have has had".split())
"""Words before the name of a column of dates that is told: have been returned."""
PARTICIPLE = re.compile(rf"\w+ed|done|gone|seen|been|{'|'.join(_IRREGULAR)}")
OF_NUMBERS = frozenset("time long heavy tall".split())
"""Hints of aggregates that no date is measured by."""
SINCE = stems("since joined start began opened from born birth year yr")
"""Names of dates since when something lasts."""
MEANT = {
    "not paid": re.compile(r"\b(?:owe[sd]?|owing|unpaid|outstanding|in arrears)\b", re.IGNORECASE),
    "not returned": re.compile(r"\b(?:still|currently) out(?: on loan)?\b|\b(?:still )?on loan\b", re.IGNORECASE),
    "arrived": re.compile(r"\b(?:turned up|got (?:there|here))\b", re.IGNORECASE),
    "paid": re.compile(r"\bsettled\b", re.IGNORECASE),
    "no stock": re.compile(r"\b(?:sold out|out of stock)\b", re.IGNORECASE),
    "no places": re.compile(r"\bfull(?=\W*$)|\b(?:fully booked|booked up)\b", re.IGNORECASE),
}
"""States of things, and how people call them that the rules do not read otherwise."""
_TAX = r"(?:the )?(?:vat|tax(?:es)?|gst|mwst\.?)"
TAXED = {
    "gross": re.compile(rf"\b(?:incl(?:uding|usive of|\.)?|with) {_TAX}\b|\b{_TAX} incl(?:uded|\.)?", re.IGNORECASE),
    "net": re.compile(
        rf"\b(?:excl(?:uding|usive of|\.)?|without|before|net of|ex) {_TAX}\b|\b{_TAX} excluded", re.IGNORECASE
    ),
}
"""Amounts with and without a tax; the tax is not asked for."""
MONEY = stems("bill invoice payment expense expenditure donation purchase sale transaction order debt")
"""Rows of which the biggest is the one with the highest amount."""
_BEFORE_ROWS = r"which|list|all|all the|of the|welche[rs]?|\w+est|[\d.,]+"
NAMES_ROWS = re.compile(rf"\b(?:{_BEFORE_ROWS}) $")
"""A word before the name of what the rows are, or what is counted: which books, the oldest book, over 8 books."""
NAMES_MEASURED = re.compile(rf"\b(?:{_BEFORE_ROWS}|many) $")
"""The same where a column of numbers is named: how many games did they lose."""
WHICH = frozenset("which what welche welcher welches welchem".split())
ASKS_WHICH = re.compile(r"\W*(?:who|which|welche[rs]?|wer)\b")
ASKS_YES = re.compile(r"\W*(?:is|are|was|were|does|do|did|has|have|ist|hat)\b")
ASKS_WHO = re.compile(r"^\W*(?:who|whom|whose|wer)\b")
AFTER_WHO = re.compile(r"\b(?:who|wer) $")
"""What stands before a verb: "who repaired" is not about a file with that word in its name."""
DOES = re.compile(r"\b(?:do|does|did)\b")
ASKS_WHERE = re.compile(r"\W*(?:where|wo)\b")
ASKS_WHEN = re.compile(r"\b(?:when|wann)\b|\bwhat (?:date|day)\b")
ASKS_TEXT = re.compile(
    r"\W*(?:why|explain|summari[sz]e|describe|how (?:do|does|can|should|to)|warum|erkläre)\b", re.IGNORECASE
)
"""The beginnings of questions that no cell, list or figure answers."""

FIGURES: Sequence[tuple[Aggregate, str, str]] = (
    ("max", "price", r"\bmost expensive\b|\bdearest\b|\bpriciest\b"),
    ("min", "price", r"\bcheapest\b|\bleast expensive\b"),
    ("min", "date", r"\boldest\b|\bearliest\b|\bfirst\b"),
    (
        "max",
        "date",
        r"\bnewest\b|\blatest\b|\byoungest\b|\bmost recent\b|\blast\b(?! (?:day|night|week|month|quarter|year))",
    ),
    ("min", "time", r"\bfastest\b|\bquickest\b"),
    ("max", "time", r"\bslowest\b"),
    ("max", "", r"\b(?:highest|largest|biggest|greatest|maximum|max)\b"),
    ("max", "long", r"\blongest\b"),
    ("max", "heavy", r"\bheaviest\b"),
    ("max", "tall", r"\btallest\b"),
    ("max", "", r"\b(?:höchste|größte)\w*\b"),
    ("max", "", r"\bmost\b(?! of)"),
    ("min", "", r"\b(?:lowest|smallest|least|fewest|minimum|min|niedrigste\w*|kleinste\w*)\b"),
    ("min", "long", r"\bshortest\b"),
    ("min", "heavy", r"\blightest\b"),
    ("mean", "", r"\b(?:on average|average|(?:the|its|their|a) mean|durchschnitt\w*)\b"),
    (
        "sum",
        "",
        r"\b(?:sum of|in total|total|sum|(?:al)?together|adds? up to|in all|combined|overall|insgesamt|summe)\b",
    ),
    ("count", "", r"\bhow many(?: different| times)?\b|(?:^|\bthe |\bwhat )number of\b|\bhow often\b|\bcount of\b"),
    ("count", "", r"\bwie (?:viele|oft)\b|\banzahl\b"),
)
"""Aggregates, the kind of column or the word for it that each hints at, and the words that ask for it."""

_SIGNS: dict[Comparison, str] = {
    "at least": "at least|no less than|not less than|since|from|starting|seit|ab",
    "at most": "at most|no more than|not more than|up to|until|till|through|by|bis",
    "over": "more than|greater than|higher than|larger than|longer than|over|above|exceeding|after|later than"
    "|newer than|nach",
    "under": "less than|fewer than|lower than|smaller than|shorter than|cheaper than|under|below|before|earlier than"
    "|prior to|older than|vor",
    "is": "in|on|during|of|for|im|am",
}
COMPARISONS = {phrase: sign for sign, phrases in _SIGNS.items() for phrase in phrases.split("|")}

NUMBER = re.compile(r"(?:[€$£¥]\s?)?-?\d(?:[\d,.']*\d)?")
_UNITS = "|".join(sorted(filter(str.isalpha, UNITS), key=len, reverse=True))
_AMOUNT = rf"{NUMBER.pattern}(?:\s?(?:(?:{_UNITS})(?:[²³]|\b)|[€$£¥%]|°c?))?"
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_DATE = (
    rf"\d{{4}}-\d\d(?:-\d\d)?|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}|(?:{_DAY} (?:of )?)?\b(?:{MONTH})\b\.?(?: {_DAY},?(?!\d))?"
    r"(?:,? \d{4})?|\b(?:19|20)\d\d\b(?!\s?[€$£¥%])"
)
CLOCK = r"\d{1,2}:[0-5]\d(?::[0-5]\d)?"
_VALUE = rf"{CLOCK}|{_DATE}|{_AMOUNT}"
BETWEEN = re.compile(
    rf"\bbetween ({_VALUE}) and ({_VALUE})|\bfrom ({_DATE}) (?:to|until|till|through) ({_DATE})"
    rf"|\b({MONTH}) ?[-–] ?((?:{MONTH})\b(?: \d{{4}})?)",
    re.IGNORECASE,
)
_PHRASES = "|".join(sorted(COMPARISONS, key=len, reverse=True))
COMPARED_VALUE = re.compile(
    rf"(?:\b(?P<sign>{_PHRASES}) (?:the |an? )?(?:(?:year|month) (?:of )?)?)?(?P<value>{_VALUE})",
    re.IGNORECASE,
)
"""A number or a date with what it is compared by."""


_HALF_DAY = re.compile(
    r"(?:\bat )?\b(\d{1,2})(?:[:.]([0-5]\d))?\s?([ap])(?:m\b|\.m\.)|(?:\bat )?\bnoon\b", re.IGNORECASE
)
"""A time of day as people type it: 5 pm, at 9.30 a.m., noon."""
_OR_MORE = re.compile(
    rf"(?:\b(?:at|on|in) )?({_VALUE}) (?:or|and) (later|after|more|over|earlier|before|less|fewer)\b"
    rf"(?! (?:than\b|{_VALUE}))",
    re.IGNORECASE,
)
"""A value with what is allowed beside it: 5 pm or later; not "under 5 or over 100", which are two."""
_QUARTER = re.compile(
    r"(?:\b(?:in|during|for|of|over) )?(?:\bthe )?\b(?:(?:first|1st|(second|2nd)|(third|3rd)|(fourth|4th)) quarter"
    r"|q(?:1|(2)|(3)|(4)))"
    r"\b(?:,? (?:of )?((?:19|20)\d\d)\b)?(?! of\b)",
    re.IGNORECASE,
)
"""A quarter with its year; "the first quarter of the members" is none."""
QUARTERS = ("q1", "q2", "q3", "q4")
_MONTH_NAMES = [str(names[0]).title() for names in MONTHS]


def ranges(question: str) -> str:
    """Return a question with ranges in words of comparison and times of day as 17:00; the year of a range of months is
    that of its end. A range of months without a year names each of them.
    """

    def of_day(match: re.Match[str]) -> str:
        hour = int(match[1] or 12) % 12 + 12 * ((match[3] or "p").lower() == "p")
        return f"{hour}:{match[2] or '00'}"

    def bound(match: re.Match[str]) -> str:
        return f"{'at least' if match[2].lower() in ('later', 'after', 'more', 'over') else 'at most'} {match[1]}"

    def compared(match: re.Match[str]) -> str:
        first, last = filter(None, match.groups())
        months = [MONTH_NUMBERS.get(each.casefold().rstrip(".")) for each in (first, last)]
        if months[0] and months[1]:
            return _each_month(months[0] - 1, months[1] - 1 + 12 * (months[1] < months[0]))
        year = re.search(r" (?:19|20)\d\d$", last)
        return f"at least {first}{year[0] if year and not re.search(r'[0-9]{4}', first) else ''} and at most {last}"

    question = re.sub(r"\b(?:until|till) when\b", "when end", question, flags=re.IGNORECASE)
    question = _OR_MORE.sub(bound, _HALF_DAY.sub(of_day, question))
    return BETWEEN.sub(
        compared,
        re.sub(
            r"\bover the (?=(?:whole|entire|year|season|summer|winter|month|week|weekend|course)\b)",
            "in the ",
            question,
        ),
    )


def quarters(question: str) -> str:
    """Return a question with the months of each quarter that it names."""

    def of_quarter(match: re.Match[str]) -> str:
        *which, year = match.groups()
        first = 3 * next((number % 3 + 1 for number, said in enumerate(which) if said), 0)
        return _each_month(first, first + 2, f" {year}" if year else "")

    return _QUARTER.sub(of_quarter, question)


def _each_month(first: int, last: int, year: str = "") -> str:
    """Return the months from one number to another, from 0: in March and in April."""
    *before, end = [f"in {_MONTH_NAMES[number % 12]}{year}" for number in range(first, last + 1)]
    return f"{', '.join(before)} and {end}" if before else end


def date_in(text: str) -> str | None:
    """Return a date as a person types it, a part of one, too: 2024, 2024-03; "-03" and "-03-08" of any year."""
    month = MONTH_NUMBERS.get(text.casefold().rstrip("."))
    if month:
        return f"-{month:02}"
    return date_of(text) or (date_of(f"{text} {LEAP}") or "").removeprefix(LEAP) or None
