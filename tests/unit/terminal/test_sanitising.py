"""Test that no string of a file, a model or the web controls the terminal or hides in it."""

import dataclasses
import io
import json
import re
import types
import typing
from collections.abc import Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from local_rag.core.answer import Answer
from local_rag.core.documents import SyncReport
from local_rag.core.events import Called, Done, Note, Retrieved, Started, Step, Token, WebQuery
from local_rag.core.verdicts import Call, Graded, Usage
from local_rag.index.catalog import IndexStatus
from local_rag.index.store.values import IndexedFile
from local_rag.index.sync.report import Progress
from local_rag.runtime.indexing import sync_progress
from local_rag.runtime.kept import AnsweredTurn, KeptRun, RunPassages
from local_rag.terminal import console as consoles
from local_rag.terminal.answers import answer_parts, passages_table, sources_table, turns_table
from local_rag.terminal.console import SafeConsole, TerminalDisplay, write_error, write_json, write_traceback
from local_rag.terminal.history import run_parts, runs_table
from local_rag.terminal.index import file_lines, report_parts, status_table
from local_rag.terminal.questions import QuestionDisplay
from local_rag.text.display import for_terminal

ATTACKS = (
    "\x1b]0;PWNED\x07",
    "\x1b]52;c;UFdORUQ=\x1b\\",
    "\x1b[31m",
    "\x1b[2J",
    "\x1bPq\x1b\\",
    "\x9b31m",
    "\x9d0;PWNED\x9c",
    "\x1b]8;;http://example.invalid\x07",
    "\x07\x08\x0b\x0c\r\x00\x7f\x85",
    "\u202e\u2066\u2069\u202a",
    "\u200b\u2060\ufeff\u2028\u2029\u3164\ufff9",
    "\U000e0041\U000e007f",
    "\x1b",
)
OWN = re.compile(r"\x1b\[[0-9;?]*[mAKJlhG]|\x1b\]8;[^\x1b\x07]*;[^\x1b\x07]*\x1b\\|\r")
"""The sequences that rich writes itself: colours, links, and the moves of a region that is drawn anew."""
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

hostile = st.lists(st.sampled_from((*ATTACKS, "word", " ", "\n", "[1]", "é", "مر\u200cحبا")), max_size=6).map("".join)


def filled(kind, text):
    """Return a value of a type with `text` for every string in it."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is str:
        return text
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, localns={"Document": Document})
        return kind(**{field.name: filled(hints[field.name], text) for field in dataclasses.fields(kind)})
    if origin is tuple:
        return (filled(arguments[0], text),) * 2
    if origin in (Mapping, dict) or kind is dict:
        return {text: filled(arguments[1], text)}
    if origin is typing.Literal:
        return arguments[0]
    if origin in (typing.Union, types.UnionType):
        return filled(next(kind for kind in arguments if kind is not type(None)), text)
    return {int: 1, float: 0.5, bool: True, type(None): None}.get(kind, text)


def an_answer(console, text):
    for status in ("partial", "abstained"):
        answer = dataclasses.replace(filled(Answer, text), status=status, tries={})
        turn = AnsweredTurn("k3x7", "2026-01-01T00:00:00+00:00", answer)
        yield from (*answer_parts(answer, str), sources_table(answer), turns_table([turn]))


def a_sync_a_status_and_a_search(console, text):
    report = filled(SyncReport, text)
    keys = "source title heading chunk_id origin url".split()
    scores = {"page": None, "start": 0, "end": 1, "score": 0.5, "rank_score": 0.1}
    yield from (*report_parts(report), *report_parts(report, all_warnings=True))
    yield from file_lines([filled(IndexedFile, text)], str)
    yield status_table(filled(IndexStatus, text), text)
    yield passages_table([Document(text, metadata=dict.fromkeys(keys, text) | scores)])


def run_of(text):
    """Return a run in which every string is this text."""
    passage = {"chunk_id": text, "source": text, "page": None, "heading": text, "start": 0, "end": 1, "score": 0.5}
    draft = {"text": text, "why": text}
    asked = {"graph": text, "k": 1, "within": [text]}
    engine = {"name": text, "describe": text, "fingerprint": text}
    asked |= {"index": {"name": text, "path": "/", "others": []}, "engine": engine, "version": text}
    asked |= {"settings": {"model": text}, "origins": {"model": text}, "thresholds": {}}
    lines = [
        {"event": "retrieved", "query": text, "documents": [passage | {"origin": "web", "url": text, "title": text}]},
        {"event": "graded"} | dataclasses.asdict(filled(Graded, text)),
        {"event": "called", "call": dataclasses.asdict(filled(Call, text))},
        {"event": "note", "text": text},
        {"event": "web_query", "engine": text, "query": text},
        {"event": "step", "node": text, "seconds": 0.5, "state": {"drafts": [draft], "asked": text}},
    ]
    lines = [{"at": 1.0} | line for line in lines]
    return KeptRun(*[text] * 6, "failed", 0.0, *[text] * 3, asked, lines, hint=text)


def a_run(console, text):
    run = run_of(text)
    yield from (*run_parts(run, RunPassages(None, str, text), whole=True), runs_table([run.summary()]))


def events(console, text):
    passage = Document("x", metadata={"source": text, "chunk_id": text, "score": 0.5, "url": ""})
    happened = (
        WebQuery(text, text),
        Started(text, text),
        Step(text, 0.5),
        Retrieved(text, (passage,)),
        filled(Graded, text),
        Called(filled(Call, text)),
        Note(text),
        Token(text, 1),
        Done(dataclasses.replace(filled(Answer, text), tries={})),
    )
    QuestionDisplay(console, trace=True).follow(iter(happened))
    return ()


def progress(console, text):
    display = TerminalDisplay(console)
    display.say(text)
    with sync_progress(display) as show:
        show(Progress(1, 2, 3, text, 4.0, 0.5))
    with display.progress(text) as show:
        show(None, text)
    return ()


def an_error(console, text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consoles, "stderr", lambda: console)
        write_error(f"error: {text}", text)
        try:
            raise ValueError(text)
        except ValueError as error:
            write_traceback(error)
    return ()


@pytest.mark.parametrize("drawn", [an_answer, a_sync_a_status_and_a_search, a_run, events, progress, an_error])
@settings(max_examples=settings().max_examples // 5)
@given(text=hostile)
@example(text=" ".join(ATTACKS))
def test_no_string_of_what_is_shown(drawn, text):
    out = io.StringIO()
    for console in (SafeConsole(out), SafeConsole(out, force_terminal=True, width=80, color_system="truecolor")):
        for part in drawn(console, text):
            console.print(part)
    shown = out.getvalue()
    assert not UNSAFE.search(OWN.sub("", shown)), ascii(shown)
    assert "PWNED" not in "".join(OWN.findall(shown)), ascii(shown)


@given(hostile)
def test_json_says_the_same_and_drives_nothing(text):
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", out)
        write_json({text: [text]})
    assert not UNSAFE.search(out.getvalue())
    assert json.loads(out.getvalue()) == {text: [text]}


@pytest.mark.parametrize("text", ["می‌خواهم", "क्‍ष", "👩‍👩‍👧", "10⁵", "naïve", "שלום\u200f!", "❤️"])
def test_what_shapes_a_script_stays(text):
    assert for_terminal(text) == text


def test_usage_has_no_string_that_is_not_filled():
    """Check `filled` itself, which would silently leave a new kind of field empty."""
    assert filled(Usage, "x") != Usage()
