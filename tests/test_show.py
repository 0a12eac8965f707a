"""What a person sees in a terminal and outside of one."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from local_rag.index.sync import Progress
from local_rag.indexing import progress_line, showing
from local_rag.live import Live
from local_rag.show import answer_lines, citation_line, report_lines, short_path
from local_rag.types import Answer, Citation, Done, Skipped, Started, SyncReport, Token, WebQuery

HOSTILE = "The \x1b[31mred\x1b]0;title\x07 valve \u202eholds\u202c."


def citation(number=1, quote="The valve holds.", **about):
    base = {"source": "/notes/plan.pdf", "page": 4, "heading": "", "start": 0, "end": 1, "url": "", "verified": True}
    return Citation(number=number, quote=quote, **base | about)


def answer(text="The valve holds. [1]", status="grounded", **about):
    return Answer("?", text, status, citations=about.pop("citations", (citation(),)), **about)


EVENTS = [
    Started("retrieve", "retrieving"),
    Started("generate", "writing"),
    Token("A first draft", 1),
    Token("A second \x1b[31mdraft", 2),
    WebQuery("valve price", "stand-in"),
    Done(answer()),
]


def shown(terminal):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=80, color_system=None)
    assert Live(console).follow(EVENTS).status == "grounded"
    return out.getvalue()


def test_a_terminal_sees_the_live_draft_and_no_control_characters_of_it():
    drawn = shown(terminal=True)
    assert "A second draft" in drawn
    assert "\x1b[31m" not in drawn
    assert drawn.rstrip().endswith("\x1b[2K"), "the draft is wiped before the answer is written"


def test_a_pipe_sees_the_stages_but_no_draft():
    assert shown(terminal=False).splitlines() == ["retrieving…", "writing…"]


def test_the_words_that_leave_are_shown_before_they_do_and_need_a_terminal_to_be_asked_about():
    out = io.StringIO()
    live = Live(Console(file=out, force_terminal=False, width=80, color_system=None))
    query = WebQuery("valve \x1b[31mprice", "stand-in")
    assert live.may_search(query) is True
    assert out.getvalue() == "asking stand-in: valve price\n"
    assert live.may_search(query, ask=True) is False
    assert "not asking stand-in" in out.getvalue() and "--web allows it" in out.getvalue()


def test_a_citation_names_file_page_and_words_and_opens_on_a_click():
    assert citation_line(citation()) == '[1] /notes/plan.pdf, p. 4, "The valve holds."'
    linked = citation_line(citation(), links=True)
    assert linked == (
        '[1] \x1b]8;;file:///notes/plan.pdf#page=4\x1b\\/notes/plan.pdf\x1b]8;;\x1b\\, p. 4, "The valve holds."'
    )
    assert citation_line(citation(verified=False)).endswith("(not verified)")
    assert citation_line(citation(page=None, heading='A, "b"')) == '[1] /notes/plan.pdf, § A, "b", "The valve holds."'


def test_nothing_that_was_read_drives_the_terminal():
    lines = list(answer_lines(answer(HOSTILE, citations=(citation(quote=HOSTILE, source=f"/notes/{HOSTILE}.md"),))))
    for line in lines:
        assert "\x1b" not in line
        assert "\x07" not in line
        assert "\u202e" not in line
    assert lines[0] == "The red valve holds."


@pytest.mark.parametrize(
    ("status", "first"),
    [
        ("partial", "With reservations: because."),
        ("ungrounded", "Not supported by your files: because."),
        ("direct", "Not from your files: because."),
        ("abstained", "Your files do not say: because."),
    ],
)
def test_what_is_not_grounded_says_so_first(status, first):
    assert next(answer_lines(answer(status=status, reason="because"))) == first


def test_a_timeout_is_not_called_silence_of_the_files():
    lines = answer_lines(answer(status="abstained", reason="out of time after 2 s", citations=()))
    assert next(lines) == "No answer: out of time after 2 s."


def test_two_quotes_of_one_passage_share_its_line():
    both = (citation(1, 'First, "quoted".'), citation(1, "Second."))
    assert list(answer_lines(answer(citations=both)))[2:] == [
        '[1] /notes/plan.pdf, p. 4, "First, "quoted"."',
        '    "Second."',
    ]


def test_the_report_of_a_sync():
    report = SyncReport(("a", "b"), ("c",), 1340, (), (Skipped("/n/x.pdf", "is empty"),), ignored={".gz": 2, "": 1})
    assert list(report_lines(report)) == [
        "2 new, 1 updated, 1,340 unchanged, 0 removed, 1 skipped",
        "Left alone, of kinds that are not read: 2 .gz and 1 without a suffix",
        "Skipped, wholly or in part:",
        "  /n/x.pdf: is empty",
    ]


def test_progress_says_the_time_left_once_it_is_known():
    assert progress_line(Progress(0, 51, 10, "a.pdf", 5.0, 0.01)) == "0 of 51 files, 10 passages, 2/s"
    half = progress_line(Progress(12, 51, 340, "a.pdf", 20.0, 0.1))
    assert half == "12 of 51 files, 340 passages, 17/s, about 3:00 left"
    out = io.StringIO()
    with showing(Console(file=out, force_terminal=True, width=100, color_system=None)) as show:
        show(Progress(12, 51, 340, "/notes/a.pdf", 20.0, 0.1))
    assert "12 of 51 files" in out.getvalue()
    assert "a.pdf" in out.getvalue()


def test_paths_are_short_where_that_helps(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert short_path(tmp_path / "notes" / "a.md") == str(Path("notes/a.md"))
    assert short_path("/elsewhere/two\nlines.md") == "/elsewhere/two\\nlines.md"
