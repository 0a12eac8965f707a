"""Test how answers look in a terminal and in a pipe."""

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from support.fakes import passage
from support.screen import shown

from local_rag.core.answer import Answer, Citation, Conflict, Highlight, Position, Sentence
from local_rag.core.documents import Skipped, SyncReport
from local_rag.core.events import Called, Done, Retrieved, Started, Step, Token, WebQuery
from local_rag.core.verdicts import Call, Graded, Usage
from local_rag.index.path_labels import PathLabels
from local_rag.index.sync.report import Progress
from local_rag.runtime.indexing import progress_line, sync_progress
from local_rag.runtime.trace_lines import trace_line, usage_line
from local_rag.terminal.answers import answer_parts, passages_table, sources_table
from local_rag.terminal.console import SafeConsole, TerminalDisplay
from local_rag.terminal.index import report_parts
from local_rag.terminal.questions import QuestionDisplay
from local_rag.text.display import short_path


def citation(number=1, quote="The valve holds.", **about):
    base = {"source": "/notes/plan.pdf", "page": 4, "heading": "", "start": 0, "end": 1, "url": "", "verified": True}
    return Citation(number=number, quote=quote, **base | about)


def answer(text="The valve holds. [1]", status="grounded", **about):
    question = about.pop("question", "?")
    return Answer(question, text, status, citations=about.pop("citations", (citation(),)), **about)


EVENTS = [
    Started("begin", ""),
    Started("retrieve", "retrieving"),
    Started("generate", "writing"),
    Token("A first draft", 1),
    Token("A second \x1b[31mdraft", 2),
    WebQuery("valve price", "stand-in"),
    Done(answer()),
]


def lines(shown_answer):
    return shown(*answer_parts(shown_answer))


def followed(terminal):
    out = io.StringIO()
    console = SafeConsole(out, force_terminal=terminal, width=80, color_system=None)
    assert QuestionDisplay(console).follow(EVENTS).status == "grounded"
    return out.getvalue()


def test_a_terminal_sees_the_live_draft_and_no_control_characters_of_it():
    drawn = followed(terminal=True)
    assert "A second draft" in drawn and "\x1b[31m" not in drawn
    assert drawn.rstrip().endswith("\x1b[2K"), "the draft is wiped before the answer is written"


@pytest.mark.parametrize("terminal", [False, True])
def test_a_pipe_and_a_terminal_that_cannot_be_drawn_on_see_the_stages_but_no_draft(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert followed(terminal).splitlines() == ["retrieving…", "writing…", "asking stand-in: valve price"]


@pytest.mark.parametrize(
    ("ask", "line"), [(False, "asking stand-in: valve price\n"), (True, "not asking stand-in: valve price (")]
)
def test_the_words_that_leave_are_shown_before_they_do_and_need_a_terminal_to_be_asked_about(ask, line):
    out, query = io.StringIO(), WebQuery("valve \x1b[31mprice", "stand-in")
    display = QuestionDisplay(SafeConsole(out), ask=ask)
    display.show(query)
    assert display.may_search(query) is not ask and out.getvalue().startswith(line)


def cited(**about):
    return lines(answer(citations=(citation(**about),)))[2].removeprefix("[1] ")


def test_a_citation_names_file_page_and_words_and_opens_on_a_click():
    assert cited() == '/notes/plan.pdf, p. 4, "The valve holds."'
    *_, linked = shown(*answer_parts(answer()), width=80, colour=True)
    opened, closed = "\x1b]8;id=0;file:///notes/plan.pdf#page=4\x1b\\", "\x1b]8;;\x1b\\"
    assert f"[1] {opened}/notes/plan.pdf{closed}, p. 4, " in re.sub(r"id=\d+", "id=0", linked)
    assert cited(verified=False).endswith("(not verified)")
    marked = "## Price\n\nThe **rent** is `900` euros."
    assert cited(quote=marked).endswith('"Price The rent is 900 euros."')
    assert shown(passages_table([passage(1, marked)]))[1].strip() == "Price The rent is 900 euros."
    assert cited(page=None, heading='A, "b"') == '/notes/plan.pdf, § A, "b", "The valve holds."'


def test_a_long_citation_is_wrapped_beside_its_number_in_a_terminal_and_never_in_a_pipe():
    long = answer(citations=(citation(quote="The valve holds. " * 8),))
    terminal = shown(*answer_parts(long), width=40)
    assert len(terminal) > 4
    assert all(len(line) <= 40 for line in terminal)
    assert terminal[2].startswith("[1] /notes/plan.pdf")
    assert all(line.startswith("    ") for line in terminal[3:])
    assert len(lines(long)) == 3


def test_wide_characters_take_two_columns():
    table = shown(passages_table([passage(1, source="/notes/合同.md"), passage(2, "价格是一百欧元。" * 8)]), width=40)
    assert table[0].startswith("[1] /notes/合同.md")
    assert max(map(cell_len, table)) in (39, 40)


def test_a_search_shows_which_words_named_the_document():
    named = passage(1)
    named.metadata["named"] = "rule 17"
    (line, *_), (plain, *_) = (shown(passages_table([each]), width=200) for each in (named, passage(1)))
    assert "named by “rule 17”" in line and "named" not in plain


@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_no_colour_and_no_link_where_they_are_not_wanted(monkeypatch, name):
    monkeypatch.setenv(name, "dumb")
    out = io.StringIO()
    SafeConsole(out, force_terminal=True, width=80).print(*answer_parts(answer()))
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize(
    ("status", "certainty", "first"),
    [
        ("partial", "probably", "Probably: because."),
        ("partial", "in doubt", "In doubt: because."),
        ("partial", "", "In doubt: because."),
        ("ungrounded", "in doubt", "Not supported by your files: because."),
        ("direct", "", "Not from your files: because."),
        ("abstained", "", "Your files do not say: because."),
    ],
)
def test_what_is_not_grounded_says_so_first(status, certainty, first):
    assert lines(answer(status=status, certainty=certainty, reason="because"))[0] == first


def test_two_quotes_of_one_passage_share_its_line():
    both = (citation(1, 'First, "quoted".'), citation(1, "Second."))
    assert lines(answer(citations=both))[2:] == ['[1] /notes/plan.pdf, p. 4, "First, "quoted"."', '    "Second."']


def test_a_sentence_that_its_passages_do_not_carry_is_marked_behind_its_end():
    parts = [
        ("The valve holds [1].", "fully", ""),
        (" It is red [2].", "no", " (not in the passages)"),
        (" It was dear [1]!", "partially", " (only partly in the passages)"),
        (" Nobody knows [3].", "unparsed", " (not checked)"),
    ]
    text, sentences = "", []
    for part, support, _ in parts:
        sentences.append(Sentence(part, len(text), len(text + part), support))
        text += part
    doubted = answer(text, sentences=tuple(sentences), highlights=(Highlight(text.index("red"), text.index(" [2]")),))
    marked, *_ = answer_parts(doubted)
    assert marked.plain == "".join(part + mark for part, _, mark in parts)
    assert [marked.plain[span.start : span.end] for span in marked.spans if span.style == "bold"] == ["red"]


def test_markdown_of_a_model_is_drawn():
    written = (
        "## What it costs\n\nThe **plan** costs `100` euros [1], see [the site](https://x.org):\n\n"
        "- one *seat*\n- two seats [1]\n\n| Plan | Price |\n|---|---|\n| Basic | **100** |\n\n```\npay --now\n```"
    )
    assert lines(answer(written))[:12] == [
        "What it costs",
        "",
        "The plan costs 100 euros [1], see the site (https://x.org):",
        "",
        "- one seat",
        "- two seats [1]",
        "",
        "Plan | Price",
        "Basic | 100",
        "",
        "  pay --now",
        "",
    ]


def test_sides_of_a_comparison_stand_apart():
    compared = "Lease:\n\n- 900 euros [1]\n- 3 months\n\nOffer:\n\n- 800 euros"
    assert lines(answer(compared))[:6] == ["Lease:", "- 900 euros [1]", "- 3 months", "", "Offer:", "- 800 euros"]


def test_a_side_of_a_disagreement_is_named_by_title_and_date_of_its_document():
    old, new = (citation(number, f"It is {price}.", title=f"Lease {price}") for number, price in ((1, 900), (2, 950)))
    sides = (Position("950", "2024-03-01", (new,), "document"), Position("900", "2020-01-01", (old,), "document"))
    rows = [line.split(maxsplit=3) for line in lines(answer(conflicts=(Conflict(sides),))) if line.startswith(" ")]
    assert [row[:3] for row in rows] == [["2024-03-01", "950", "[2]"], ["2020-01-01", "900", "[1]"]]
    assert rows[0][3] == '/notes/plan.pdf, p. 4 (Lease 950), "It is 950."'


def test_sentences_that_were_taken_out_are_named():
    removed = lines(answer(removed=("It is red.", "It was \x1b[31mdear.")))[1]
    assert removed == '(taken out, because the passages do not say it: "It is red."; "It was dear.")'


NEAR = citation(why="covers 1 of 3 words")


@pytest.mark.parametrize(
    ("about", "shown_"),
    [
        (
            {
                "question": "What fits it?",
                "nearest": (NEAR,),
                "about": ("Plan", "Le\x1btter"),
                "reason": "nothing fits",
            },
            [
                "I could not tell from your files: nothing fits.",
                "",
                "Closest:",
                '  /notes/plan.pdf, p. 4, "The valve holds." (covers 1 of 3 words)',
                "The index is about: Plan; Letter.",
            ],
        ),
        (
            {"path": ("retrieve", "give_up"), "reason": "nothing fits"},
            ["Your files do not say: nothing fits.", "No passage comes near the question."],
        ),
        ({"path": ("web_search", "give_up")}, ["Your files do not say."]),
        ({"path": ("retrieve",), "reason": "out of time after 2 s"}, ["No answer: out of time after 2 s."]),
    ],
)
def test_an_abstention_says_why_and_what_comes_nearest(about, shown_):
    assert lines(answer("", "abstained", citations=(), **about)) == shown_


def test_sources_are_shown_whole_with_where_they_stand():
    long = "The valve holds. " * 20
    quoted = (citation(2, located="exact"), citation(1, long, verified=False), citation(1, "Next.", start=9, end=15))
    both = answer(citations=quoted)
    assert shown(sources_table(both)) == [
        "[1] /notes/plan.pdf, p. 4, characters 0 to 1 (not verified)",
        f'    "{long.strip()}"',
        "[1] /notes/plan.pdf, p. 4, characters 9 to 15 (by the words that they share)",
        '    "Next."',
        "[2] /notes/plan.pdf, p. 4, characters 0 to 1 (word for word)",
        '    "The valve holds."',
    ]


def test_a_question_is_shown_as_it_was_understood_where_that_differs():
    whole = answer(asked="What does the \x1b[31mvalve\n cost?")
    assert lines(whole)[0] == "understood as: What does the valve cost?"
    dim = shown(*answer_parts(whole), width=80, colour=True)[0]
    assert dim == "\x1b[2munderstood as: What does the valve cost?\x1b[0m"
    assert lines(answer(asked="?"))[0] == "The valve holds. [1]"


TRACED = [
    (Step("retrieve", 0.123), "  retrieve: 0.12 s"),
    (Graded("standalone_question", "What does it cost?"), "    standalone_question: What does it cost?"),
    (
        Graded("relevance", "relevant", "covers it", "abcdefgh", 0.8, "/n/a.md"),
        "    relevance /n/a.md (abcdef): relevant 0.80 (covers it)",
    ),
    (Graded("decide_retrieval", "retrieve", "", score=0.3), "    decide_retrieval: retrieve 0.30"),
    (Graded("candidate", "2", "support 1.00", score=2.5), "    candidate: 2 2.50 (support 1.00)"),
    (Graded("support", "partially", "", score=0.5), "    support: partially 0.50"),
    (Graded("usefulness", "5", "", score=0.4), "    usefulness: 5 of 5, score 0.40"),
    (Graded("complexity", "multi"), "    complexity: multi"),
    (Graded("reason", "go on", "It is red."), "    reason: go on (It is red.)"),
    (Graded("retrieve_step", "new", "2 new passages, 4 in all"), "    retrieve_step: new (2 new passages, 4 in all)"),
    (Graded("refine_documents", "refined", "2 of 5 strips"), "    refine_documents: refined (2 of 5 strips)"),
    (
        Called(Call("grader", "m", 1200, 30, 1.5, 0.0, 1.0, 0.4)),
        "    grader m: 1,200 + 30 tokens, 1.50 s (1.00 reading, 0.40 writing)",
    ),
    (Retrieved("the cost?", ()), '    0 passages for "the cost?"'),
    (
        Retrieved("the cost?", (passage(1), passage(2, score=0.25))),
        '    2 passages for "the cost?": /notes/1.md (1) 0.50 and /notes/2.md (2) 0.25',
    ),
    (Started("retrieve", "retrieving"), ""),
]


@pytest.mark.parametrize(("event", "line"), TRACED, ids=[type(event).__name__ for event, _ in TRACED])
def test_each_line_of_the_trace(event, line):
    assert trace_line(event) == line


def test_the_last_line_of_the_trace_counts_every_kind():
    tries = {"generations": 1, "rewrites": 2, "web_searches": 1, "steps": 3}
    done = answer(graph="adaptive", path=("retrieve_step", "reason"), seconds=1.5, tries=tries, usage=Usage(2, 300, 20))
    assert usage_line(done) == (
        "adaptive: retrieve_step -> reason; 1.50 s; 2 calls, 300 + 20 tokens; "
        "1 generation, 2 rewrites, 1 web search and 3 steps of reasoning"
    )


def test_the_draft_begins_anew_with_each_candidate():
    display = QuestionDisplay(SafeConsole(io.StringIO(), force_terminal=True, width=80))
    for token in (Token("one", 1), Token(" more", 1), Token("two", 1, candidate=2)):
        display.show(token)
    assert display.draft == "two"


def test_the_report_of_a_sync():
    report = SyncReport(
        ("a", "b"), ("c",), 1340, (), (Skipped("/n/x.pdf", "is empty"),), ignored={".gz": 2, "(none)": 1}, empty=("/m",)
    )
    assert shown(*report_parts(report)) == [
        "2 new, 1 updated, 1,340 unchanged, 0 removed, 1 skipped",
        "/m holds no file to index",
        "Not indexed, because local-rag does not read these kinds of files: 2 .gz and 1 without a suffix",
        "Skipped, wholly or in part:",
        "  /n/x.pdf: is empty",
    ]


def test_progress_says_the_time_left_once_it_is_known():
    assert progress_line(Progress(0, 51, 10, "a.pdf", 5.0, 0.01)) == "0 of 51 files, 10 passages"
    half = progress_line(Progress(12, 51, 340, "a.pdf", 20.0, 0.1, rate=17.2, left=180.0))
    assert half == "12 of 51 files, 340 passages, 17/s, about 3:00 left"
    vectors = progress_line(Progress(340, 12_345, 340, "a.pdf", 20.0, 0.1, "vectors", rate=18.0, left=667.0))
    assert vectors == "340 of 12,345 passages embedded, 18/s, about 11:07 left"
    out = io.StringIO()
    console = SafeConsole(out, force_terminal=True, width=100, color_system=None)
    with sync_progress(TerminalDisplay(console)) as show:
        show(Progress(12, 51, 340, "/notes/a.pdf", 20.0, 0.1))
    assert "12 of 51 files" in out.getvalue()
    assert "a.pdf" in out.getvalue()


def test_paths_are_short_where_that_helps(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert short_path(tmp_path / "notes" / "a.md") == str(Path("notes/a.md"))
    assert short_path("/elsewhere/two\nlines.md") == "/elsewhere/two\\nlines.md"


@pytest.mark.parametrize("line_break", ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_no_name_begins_a_line_of_its_own(line_break):
    name = f"/notes/a.{line_break}error: fake"
    report = SyncReport(skipped=(Skipped(name, "is empty"),), ignored={f".{line_break}error: fake": 1})
    for label in (short_path, PathLabels(["/notes"])):
        assert not [line for line in shown(*report_parts(report, label=label)) if line.strip().startswith("error")]
