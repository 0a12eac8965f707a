"""Questions without a language model: from definitions, figures, dates and headings of English text.

They follow the form of a sentence and know nothing of its meaning, so a person looks at each of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from local_rag.evaluation.making.headings import of_heading
from local_rag.evaluation.making.wording import Idea, document_name, is_contents, is_in_english, plain_line
from local_rag.index.store.schema import Passage
from local_rag.text.lexicon import NUMBER_WORDS, STOP_WORDS
from local_rag.text.numbers import names
from local_rag.text.sentences import Span, sentences
from local_rag.text.words import fold, words

LONGEST = 45
"""Words of a sentence that is looked at."""
LONGEST_SUBJECT = 7
"""Words of what a question may be about."""
LONGEST_ANSWER = 25
"""Words of an answer; the words of a reference answer are compared with those of another one by one."""
LEAST_DEFINITION = 3
"""Words that say what something is; what an abbreviation stands for may be fewer."""


def ideas(passage: Passage) -> list[Idea]:
    """Questions that a passage answers, the better ones first; none for a table of contents."""
    if is_contents(passage.text):
        return []
    from_sentences: list[Idea] = []
    if is_in_english(passage):
        for span in sentences(passage.text):
            line = plain_line(span.of(passage.text))
            if 4 <= len(line.split()) <= LONGEST and "|" not in line:
                from_sentences += _of_sentence(line, span, passage)
        from_sentences += _glossary(passage)
    from_sentences.sort(key=lambda idea: idea.kind != "figure")
    return [*from_sentences, *of_heading(passage)]


# --- sentences ------------------------------------------------------------------------------------------------------

_NUMBER = (
    rf"(?:[$€£]?\d[\d.,:/]*(?:th|st|nd|rd)?[%€]?|(?:{'|'.join(word for word in NUMBER_WORDS if word != 'one')})\b)"
)
_ABOUT = r"(?:(?:about|at most|at least|up to|around|roughly|only|exactly|over|under|no more than|set to) )?"
_MONTHS = "january february march april may june july august september october november december".split()
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTH = f"(?:{'|'.join(_MONTHS)})"
_DATE = rf"(?:(?:\d{{1,2}} )?{_MONTH}(?: \d{{1,2}},?)?(?: \d{{4}})?|1[5-9]\d\d|20\d\d|\d{{4}}-\d\d-\d\d)"
_TIME = rf"(?:{_DATE}|{'|'.join(_DAYS)}|\d{{1,2}}:\d\d|\d{{1,2}} ?(?:am|pm|a\.m|p\.m))"
_UNIT = r"(?:second|minute|hour|day|night|week|month|quarter|year|decade)s?\b"
_SUBJECT = r"^(?P<s>[^\W_][^,;:()\"“”„‘?!]{1,70}?)"
_PARTICIPLE = (
    r"(?:\w+ed|\w{2,}en|(?:re)?(?:made|built)|sold|bought|held|found|sent|paid|told|born|set|put|cut|won|lost|laid"
    r"|known)"
)

_STOPS = re.compile(
    r"; |: | [–—] |, (?=\d+ [a-z])"
    r"|, (?:because|so|but|while|which|who|where|and|or|as|since|although|though|when|if|with)\b"
    r"| (?:because|unless|whereas|although) "
)
_CODE = re.compile(r"[{}<>\\=|^~`→]|\]_|\w_\w|\w\(\)|&#?\w+;?|::")
_NO_SUBJECT = frozenset(
    """it its this that these those he she they we i you there here such each every some many most all both other
    another one if when where while because although though since as but and or so in on at by for from to with without
    under over after before during of about what which who whose how why not no nothing none everything something also
    then thus therefore however instead only even just either neither unlike like let see note please""".split()
)
_NO_SUBJECT_INSIDE = frozenset(
    """that which who whom if when whether not because is are was were has have had it this these those there you he she
    they we i now most only next following their""".split()
)
_GENERIC = frozenset(
    """method paper table figure figures program text chapter section document author authors following result results
    idea problem question answer former latter model set list case point way part first second third last next rest
    two three others same difference example reason purpose aim goal step name issue key itself""".split()
)
"""Nouns that say nothing without what stands around them: the question then names the document."""

_RULES = tuple(
    (re.compile(_SUBJECT + pattern, re.IGNORECASE), question, kind)
    for pattern, question, kind in (
        (rf" (?P<v>costs?) (?P<r>{_ABOUT}{_NUMBER}.*)$", "How much {do} {s} cost?", "figure"),
        (rf" (?P<v>takes?|lasts?) (?P<r>{_ABOUT}{_NUMBER} {_UNIT}.*)$", "How long {do} {s} {plain}?", "figure"),
        (r" (?P<v>starts?|begins?|ends?|opens?|closes?|expires?) (?:on|at|in|from)"
         rf" (?P<r>(?:the )?{_TIME}.*)$", "When {do} {s} {plain}?", "figure"),
        (rf" (?P<v>is|are) due (?:on|at|in|by) (?P<r>(?:the )?{_TIME}.*)$", "When {v} {s} due?", "figure"),
        (rf" (?P<v>was|were) (?P<p>{_PARTICIPLE}\b(?: (?:for|up|out|off|down))?)"
         rf" (?:[^,;]*? )?(?:in|on|since) (?P<r>{_DATE})\b", "When {v} {s} {p}?", "figure"),
        (rf" (?P<v>has|have) (?P<r>{_ABOUT}{_NUMBER}) (?P<n>[\w-]+s(?: of [\w-]+(?: [\w-]+s)?)?|[\w-]+ [\w-]+s)\b",
         "How many {n} {do} {s} have?", "figure"),
        (rf" (?P<v>is|are|was|were) (?P<r>{_ABOUT}{_NUMBER}.*)$", "What {v} {s}?", "figure"),
        (r" stands for (?P<r>.+)$", "What does {s} stand for?", "definition"),
        (r" means (?P<r>(?!that\b).+)$", "What does {s} mean?", "definition"),
        (r", also (?:called|known as) (?P<r>[^,]{2,40}),", "What else is {s} called?", "name"),
        (r", or (?P<r>[^,]{2,30}) for short,", "What is {s} called for short?", "name"),
        (r" (?P<v>is|are) (?P<r>(?:an?|the|one of) .+)$", "What {v} {s}?", "definition"),
    )
)  # fmt: skip
"""(pattern, question, kind). In a pattern s is the subject, v the verb and r the answer; in a question {do} agrees with
the verb and {plain} is its plain form."""


def _of_sentence(line: str, span: Span, passage: Passage) -> Iterator[Idea]:
    """The question of the first rule that the sentence follows."""
    for pattern, form, kind in _RULES:
        match = pattern.match(line)
        if match is None or not _is_subject(match["s"]):
            continue
        answer = _cut(match["r"])
        defined = kind == "definition" and not form.endswith("stand for?")
        if not (_defines(answer) if defined else _is_answer(answer)):
            continue
        subject = _inside(match["s"], passage.text, is_activity=kind == "figure" and match["s"].endswith("ing"))
        groups = match.groupdict("")
        verb = groups.get("v", "").lower()
        do = "does" if verb.endswith("s") else "do"
        question = form.format_map(groups | {"s": subject, "v": verb, "do": do, "plain": verb.removesuffix("s")})
        if _is_generic(match["s"]):
            document = document_name(passage)
            if not document:
                continue
            question = f"According to “{document}”, {question[0].lower()}{question[1:]}"
        is_term = kind == "definition" and question.startswith("What") and not question.endswith("mean?")
        yield Idea(question, answer, span, kind, subject if is_term else "", verb in ("are", "were"))
        return


def _cut(answer: str) -> str:
    """Up to where another clause begins."""
    return _STOPS.split(answer)[0].strip().rstrip(".!?")


def _is_answer(answer: str) -> bool:
    """Not too long, no code, and no bracket that the cut left open."""
    if answer.count("(") != answer.count(")") or answer.count('"') % 2 or answer[-1:] in ":;,":
        return False
    return 1 <= len(answer.split()) <= LONGEST_ANSWER and not _CODE.search(answer)


def _defines(answer: str) -> bool:
    """An answer that says more than "a number"."""
    return _is_answer(answer) and len(answer.split()) >= LEAST_DEFINITION


def _is_subject(phrase: str) -> bool:
    parts = fold(phrase).split()
    return (
        len(parts) <= LONGEST_SUBJECT
        and not _CODE.search(phrase)
        and parts[0] not in _NO_SUBJECT
        and not set(parts) & _NO_SUBJECT_INSIDE
        and any(part not in STOP_WORDS for part in parts)
    )


def _is_generic(subject: str) -> bool:
    """Whether it says nothing alone, such as "the method" or "the first of them"."""
    telling = [word for word in words(subject) if word not in STOP_WORDS and word not in NUMBER_WORDS]
    return not telling or telling[-1] in _GENERIC


def _inside(subject: str, text: str, *, is_activity: bool = False) -> str:
    """A subject as it is written inside a sentence: a small first letter unless it is a name.

    A single word that the text never writes small is taken for one, but for an activity such as "building".
    """
    first, *others = subject.split(" ")
    inner = any(ch.isupper() or ch.isdigit() for ch in first[1:])
    titled = others and others[0][:1].isupper() and first.lower() not in ("the", "a", "an")
    small = others or is_activity or re.search(rf"\b{re.escape(first.lower())}\b", text)
    if inner or titled or (first.lower() not in STOP_WORDS and (fold(first) in names(text) or not small)):
        return subject
    return subject[0].lower() + subject[1:]


# --- glossaries -----------------------------------------------------------------------------------------------------

_ENTRY = re.compile(r"(?P<s>[A-Za-z][\w' @/-]{1,40}?): (?P<r>\S.{14,})$")
_NO_TERM = frozenset(
    """note notes example examples warning tip figure table source see hint important caution from to subject date
    author title address phone email url http https cc re step answer question input output text prompt other others
    user assistant""".split()
)


def _glossary(passage: Passage) -> Iterator[Idea]:
    """Lines of the form "Term: what it is", where a passage has two of them at least."""
    entries: list[tuple[re.Match[str], Span]] = []
    for span in sentences(passage.text):
        match = _ENTRY.match(plain_line(span.of(passage.text)))
        if match and _is_subject(match["s"]) and len(match["s"].split()) <= 4 and len(match["r"].split()) > 3:
            entries += [(match, span)] if fold(match["s"].split()[0]) not in _NO_TERM else []
    terms = Counter(fold(match["s"]) for match, _ in entries)
    for match, span in entries if len(terms) > 1 else ():
        answer = _cut(match["r"])
        known = terms[fold(match["s"])] == 1
        if known and _defines(answer) and fold(answer.split()[0]) in ("a", "an", "the", "one"):
            term = _inside(match["s"].strip(), passage.text)
            yield Idea(f"What is {term}?", answer, span, "definition", term)
