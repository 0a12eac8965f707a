"""What the program itself says in an answer, in English; `translations` has it in other languages.

Errors, help and progress are in English.
"""

from __future__ import annotations

from collections.abc import Mapping

from local_rag.core.answer import ENGINE_FAILED, OUT_OF_TIME, Answer, Certainty, Citation, QuoteMatch, Status
from local_rag.core.documents import FileChange
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.core.verdicts import Support
from local_rag.text.display import joined

Count = tuple[str, str]
"""A text for one, and for several; {n} is the number."""

_RECORDS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
"""Suffixes of files whose rows or records are read as "name: value" pairs."""


class AnswerTexts:
    """The program's sentences in English. A name in braces is filled where the text is used.

    `refusal` is the fixed reply for "your files do not say". `advice` says to who reads an answer how certain it is,
    `stands` is said of a quote that is in the file as it is now. How a reason begins, `out_of_time` and
    `engine_failed`, is compared with. `grounded`: see `grounds`.
    """

    code = "en"
    refusal = NOT_IN_PASSAGES
    out_of_time = OUT_OF_TIME
    out_of_time_after = OUT_OF_TIME + " after {seconds:g} s"
    engine_failed = ENGINE_FAILED
    nothing_found = "nothing was found"
    not_in_passages = "the passages found do not contain the answer"
    passages_gone = "passages that it was written from have left the index"
    not_answered = "what the passages say does not answer the question"
    the_web = "the web"
    fallback_corpus = "the fallback corpus"
    source_not_asked = "{name} was not asked"
    source_gave_nothing = "{name} gave nothing"
    not_in_source = "what {name} gave does not contain it"
    and_also = ", and "
    either = "or"
    unread = (
        "the grader gave no usable verdict on {n} passage, and found no other that answers",
        "the grader gave no usable verdict on {n} passages, and found no other that answers",
    )
    none_relevant = (
        "the one passage found does not answer the question",
        "none of the {n} passages found answers the question",
    )
    without_passages = "the engine cannot answer without passages"
    without_files = "answered without looking into your files"
    checks_unfinished = "its checks could not be finished"
    unchecked = "it could not be checked"
    sentences_unchecked = (
        "{left} of {n} sentence could not be checked",
        "{left} of {n} sentences could not be checked",
    )
    usefulness_unchecked = "supported, but whether it answers the question could not be checked"
    not_useful = "supported, but it may not be what you asked for"
    partly_supported = "only partly supported by the passages"
    not_supported = "not supported by the passages"
    no_verdict = "it could not be checked: the grader gave no usable verdict"
    taken_out = (
        "{n} sentence without confirmed support taken out",
        "{n} sentences without confirmed support taken out",
    )
    unverified = ("{n} citation could not be verified", "{n} citations could not be verified")
    uncited = ("{n} sentence without a citation", "{n} sentences without a citation")
    files_disagree = "your files disagree"
    grounded: Mapping[tuple[bool, bool], str] = {
        (True, True): "Quoted from your files",
        (True, False): "Quoted from its sources",
        (False, True): "Supported by your files",
        (False, False): "Supported by its sources",
    }
    leads: Mapping[Status, str] = {
        "abstained": "Your files do not say",
        "ungrounded": "Not supported by your files",
        "direct": "Not from your files",
    }
    not_told = "I could not tell from your files"
    doubtful: Mapping[Certainty, str] = {"probably": "Probably", "in doubt": "In doubt"}
    advice: Mapping[Certainty, str] = {
        "probably": "This probably answers your question. Check the quote.",
        "in doubt": "This may not answer your question. Check the quote.",
    }
    no_answer = "No answer"
    understood = "understood as: {question}"
    removed = "(taken out, because the passages do not say it: {sentences})"
    lacks = "No cited passage mentions {names}: this may be about something else."
    positions = "What they say, the newest first:"
    positions_of_a_day = "What they say:"
    changed = "file changed {date}"
    nearest = "Closest:"
    nothing_near = "No passage comes near the question."
    about = "The index is about: {titles}."
    unrecorded = "No record of this question is kept: marked words, nearest passages and times are missing."
    similarity = "similarity {score:.2f}"
    page = "p. {page}"
    ocr = "read by OCR ({confidence})"
    unsure_ocr = "OCR was not sure of a line that is quoted"
    cites_changed = "a file that is cited is not as it was indexed; the next update of the index reads it"
    became: Mapping[FileChange, str] = {
        "changed": "changed since it was indexed",
        "gone": "is not there any more",
    }
    of_pages, of_words, of_rows = ("{n} page", "{n} pages"), ("{n} word", "{n} words"), ("{n} row", "{n} rows")
    and_more = ("and {n} more", "and {n} more")
    stand_out: Mapping[str, str] = {"table": "Table", "names": "Names", "dates": "Dates", "amounts": "Amounts"}
    files_hold = ("{n} file holds “{wanted}”", "{n} files hold “{wanted}”")
    files_made = ("{n} file has “{wanted}” as author or date", "{n} files have “{wanted}” as author or date")
    quoted_instead = "your files are quoted, because their words answer more surely than what the model wrote"
    by_property = "a file that states no author is left out, and one that states no date counts by its last change"
    files_near = ("{n} file is near “{wanted}” in meaning", "{n} files are near “{wanted}” in meaning")
    near = "near in meaning"
    more_places = ("and {n} more place", "and {n} more places")
    file_silent = "does not say"
    parts_read = "made from {n} of {all} passages, the beginning of each part"
    web = "web"
    web_page = "web page"
    from_fallback_corpus = "from the fallback corpus {name}"
    in_index = "index {name}"
    doubts: Mapping[Support, str] = {
        "no": "not in the passages",
        "partially": "only partly in the passages",
        "unparsed": "not checked",
    }
    located: Mapping[QuoteMatch, str] = {
        "exact": "word for word",
        "words": "by the words that they share",
        "evaluator": "in other words",
        "property": "a property of the file",
        "computed": "made by code of these lines",
    }
    stands = "stands word for word in your file"
    record = "a record, written out as text"
    table_not_read = "the question could not be read as one about this table, whose rows are shown as found"
    not_verified = "not verified"
    may_answer = "it may answer: {span!r}"
    unsure = "the model is not sure whether {span!r} answers the question"
    about_the_matter = "it is about the matter and does not say the answer"
    about_something_else = "it is about something else"
    properties: Mapping[str, str] = {
        "author": "{file} names {value} as its author.",
        "date": "{file} bears the date {value}.",
        "title": "The title of {file} is {value}.",
    }

    def count(self, texts: Count, n: int, **values: object) -> str:
        """Return the text for a number."""
        return texts[n != 1].format(n=f"{n:,}", **values)

    def where(self, citation: Citation) -> str:
        """Return the page of a citation and the confidence of OCR, such as "p. 3, read by OCR (.87)", or ""."""
        page = [] if citation.page is None else [self.page.format(page=citation.page)]
        if citation.ocr is not None:
            page.append(self.ocr.format(confidence=f"{citation.ocr:.2f}".removeprefix("0")))
        return ", ".join(page)

    def lead(self, answer: Answer) -> str:
        """Return the lead of an answer that is not grounded: how certain it is, or what is wrong with it."""
        if answer.status == "partial":
            return self.doubtful.get(answer.certainty, self.doubtful["in doubt"])
        if answer.status == "abstained" and answer.reason.startswith(self.out_of_time):
            return self.no_answer
        if answer.status == "abstained" and answer.nearest:
            return self.not_told
        return self.leads.get(answer.status, "")

    def lines(self, answer: Answer) -> dict[str, str]:
        """Sentences about an answer, empty where they do not apply."""
        silent, understood = answer.status == "abstained", answer.asked not in ("", answer.question)
        lacks = (
            silent
            and not answer.nearest
            and "retrieve" in answer.path
            and not answer.reason.startswith(self.out_of_time)
        )
        removed = "; ".join(f'"{sentence}"' for sentence in answer.removed)
        return {
            "understood": self.understood.format(question=" ".join(answer.asked.split())) if understood else "",
            "removed": self.removed.format(sentences=removed) if removed else "",
            "lacks": self.lacks.format(names=joined(map(repr, answer.lacks), self.either)) if answer.lacks else "",
            "nothing_near": self.nothing_near if lacks else "",
            "about": self.about.format(titles="; ".join(answer.about)) if silent and answer.about else "",
        }

    def grounds(self, answer: Answer) -> str:
        """Return the grounds of an answer: quotes or a model's words, from files alone or from other sources, too."""
        files = all(citation.origin == "files" for citation in answer.citations)
        return self.grounded[answer.quotes_only, files]

    def how(self, citation: Citation) -> str:
        """How a quote was located in its passage; that of a row or record is no text of the file itself."""
        if not citation.verified:
            return self.not_verified
        if citation.located == "exact" and citation.source.lower().endswith(_RECORDS):
            return self.record
        return self.located[citation.located]


ENGLISH = AnswerTexts()
