"""Recognise questions for files that mention something or are about it, in English and German.

The form must fit the whole question, and the noun must be a kind of file: of anything else a table may be asked.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import collapsed, fold, stem, words


class FileQuestion(NamedTuple):
    """Hold what files are asked for, and the stem of their kind, such as "contract"; "" for any file.

    `made` says that the files are wanted whose author or date this is.
    """

    wanted: str
    kind: str = ""
    made: bool = False


_ANY = """file document paper text page article dateien datei dokument dokumente dokumenten seiten unterlagen
    texte""".split()
_NOUNS = """files? documents? papers? texts? pages? contracts? agreements? leases? letters? mails? e-?mails? messages?
    notes? reports? invoices? bills? offers? quotes? books? articles? memos? minutes protocols? policies policy manuals?
    handbooks? guides? spreadsheets? presentations? slides pdfs? specifications? specs? proposals? certificates?
    receipts? statements? chapters? posts? peps? rfcs? dateien? datei dokumente?n? seiten unterlagen texten?
    vertr[aä]gen? mietvertr[aä]gen? briefen? berichten? rechnungen angeboten? protokollen? notizen"""
_NOUN = rf"(?P<noun>(?:\w+ )?(?:{'|'.join(_NOUNS.split())}))"
_HOLD = (
    r"(?:mentions?|contains?|names?|(?:have|has|includes?|cite|cites|quotes?|discuss(?:es)?|covers?|describes?)"
    r"|(?:talks?|speaks?|says? (?:something|anything)|writes?|is|are) (?:about|on)|refers? to|deals? with|uses?|lists?)"
)
_KIND = re.compile("|".join(_NOUNS.split()))
_MADE = "(?:written|made|signed|sent|published|issued|created|posted|dated|taken)"
_X = r"(?P<wanted>.{2,120}?)"
_FORMS = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:in )?(?:which|what) (?:of (?:my|the|our|these) )?{_NOUN} (?:that )?(?:do |does )?(?:all )?{_HOLD} {_X}",
        rf"in (?:which|what) (?:of (?:my|the|our|these) )?{_NOUN} (?:is|are|was|were|do|does) {_X}"
        r"(?: (?:mentioned|named|discussed|described|contained|found|written|said|occur|appear|stand))",
        rf"(?:please )?(?:list|show|find|name|give)(?: me)?(?: all| every| the| all the| any| my)* {_NOUN}"
        rf" (?:(?:that|which) {_HOLD}|mentioning|containing|with|about|naming|on|having) {_X}",
        rf"(?:which|what) (?:of (?:my|the|our|these) )?{_NOUN} (?:is|are|was|were|did|has|have)"
        rf" (?P<made>{_MADE}(?: by| on| in| from)?|by|from) {_X}",
        r"(?:(?:please )?(?:list|show|find|name|give)(?: me)? )?(?:(?:all|every|the|any|my) )*"
        rf"{_NOUN} (?:(?:that|which) (?:is|are|was|were) )?(?P<made>{_MADE}(?: by| on| in| from)?|by|from) {_X}",
        rf"welche (?:der |von den |meiner )?{_NOUN} (?:erwähnen|erwähnt|enthalten|enthält|nennen|nennt|haben|hat"
        rf"|handeln von|behandeln) {_X}",
        rf"in welche[nmr] (?:der |von den |meiner )?{_NOUN} (?:steht|stehen|kommt|geht es um|wird|werden) {_X}"
        r"(?: vor| erwähnt| genannt| behandelt)?",
    )
]
_ARTICLE = re.compile(
    r"\A(?:an?|any|the|some|anything (?:about|on)|something (?:about|on)|eine?[nmrs]?|der|die|das|dem|den|etwas über)"
    r"\s+",
    re.I,
)
_COMPARED = re.compile(
    r"\b(?:more|less|fewer|above|below|over|under|at least|between|mehr als|weniger|über|unter)\b.*\d", re.I
)


def file_question(question: str) -> FileQuestion | None:
    """Return the question as one for files, or None if it has no such form or compares numbers."""
    plain = collapsed(question).rstrip("?.! ").replace("’", "'")
    if len(plain) > 300 or _COMPARED.search(plain):
        return None
    for form in _FORMS:
        if match := form.fullmatch(plain):
            kinds = [word for word in match["noun"].split() if fold(word) not in STOP_WORDS]
            kind = stem(fold(kinds[-1])) if kinds else ""
            made = bool(match.groupdict().get("made"))
            wanted = _ARTICLE.sub("", match["wanted"]).strip(" \"'“”„»«")
            return FileQuestion(wanted, "" if kind in map(stem, _ANY) else kind, made)
    return None


def of_document(question: str, name: str) -> str:
    """Return a question to one document, with its kind in the place of "it": "When does this lease end?".

    The kind is the last that the name of the document says; where it says none the question stays as it is.
    """
    kinds = [word for word in words(name) if _KIND.fullmatch(word) and stem(word) not in map(stem, _ANY)]
    return re.sub(r"\bit\b", f"this {kinds[-1]}", question, count=1) if kinds else question
