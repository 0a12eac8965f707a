"""Test that reports have every figure, that the page makes no request, and that hostile texts stay texts."""

import re
from dataclasses import replace

import pytest
from lxml import html
from support.evaluation_run import FOLDER, GRAPHS, MANIFEST, answer_record, cases_of, passage_of, records_of
from support.screen import shown as lines_shown

from local_rag.evaluation import page
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.figures import FIGURES, summary
from local_rag.evaluation.plots import plots
from local_rag.evaluation.report import missing, number, seconds, share, tables, warnings
from local_rag.terminal.evaluation import evaluation_parts

VALVE = Case("q1", "How much?", ("9 bar",), True, (Target("valves/1.pdf", 2),))


def written_of(cases, records, **manifest):
    return page.report(MANIFEST | manifest, cases, records, summary(cases, records))


def lines_of(cases, records, width=None, **manifest):
    parts = evaluation_parts(MANIFEST | manifest, summary(cases, records), cases)
    return lines_shown(*parts, width=width)


@pytest.fixture(scope="module")
def run():
    cases = cases_of()
    return cases, records_of(cases)


@pytest.fixture(scope="module")
def written(run):
    return written_of(*run)


@pytest.fixture(scope="module")
def tree(written):
    return html.document_fromstring(written)


@pytest.mark.parametrize(
    ("form", "value", "shown"),
    [
        (share, 0.6416, ".642"),
        (share, 1.0, "1.000"),
        (share, -0.05, "-.050"),
        (share, -0.0001, ".000"),
        (share, None, "–"),
        (number, 2.44, "2.4"),
        (number, 1234.4, "1,234"),
        (number, 0, "0"),
        (seconds, 0.0123, "0.012"),
        (seconds, 1.25, "1.25"),
        (seconds, 83.14, "83.1"),
        (seconds, 1234.5, "1,234"),
        (seconds, None, "–"),
    ],
)
def test_figures_are_written_with_three_digits(form, value, shown):
    assert form(value) == shown


# --- figures and tables


def test_every_figure_is_in_the_terminal_and_on_the_page_with_its_meaning(run, written):
    made = list(tables(summary(*run)))
    shown = "\n".join(lines_of(*run))
    assert {table.title for table in made} == {figure.group for figure in FIGURES} - {"Fallback corpus"}
    text = html.fromstring(written).text_content()
    for table in made:
        assert table.title in shown and f"<h3>{table.title}</h3>" in written
        assert all(len(row) == len(table.head) for row in table.rows)
        assert all(meaning in text for _, meaning in table.meanings)


def test_a_level_of_certainty_that_no_answer_has_is_left_out(run):
    (table,) = [table for table in tables(summary(*run)) if table.title == "Certainty"]
    assert {"sure", "refused", "sure: right"} < {*table.head} and not {"probably", "without files"} & {*table.head}


@pytest.mark.parametrize("width", [60, 100])
def test_the_terminal_is_never_wider_than_it_is(run, width):
    assert max(map(len, lines_of(*run, width=width))) <= width


def test_a_table_that_is_missing_says_which_labels_it_needs():
    bare = (Case("1", "What?"),)
    found = summary(bare, [answer_record(bare[0], "adaptive")])
    assert list(missing(MANIFEST | {"judge": None}, found)) == [
        "no Retrieval: no case names a relevant place (relevant)",
        "no Router: no case names a route (route)",
        "no Answers: no case has reference answers (answers)",
        "no Refusals: no case says whether it is answerable (answerable)",
    ]
    unjudged = list(missing(MANIFEST | {"modes": [], "graphs": []}, found))
    assert unjudged == ["no answer could be judged: the judge needs cases with reference answers that were answered"]


def test_what_must_be_known_before_the_figures():
    headings = [Case(str(n), "q", note="proposed: heading") for n in range(3)]
    assert list(warnings(MANIFEST, headings)) == [
        "3 of 3 cases were made from headings of the files: word search looks better than on people's questions."
    ]
    assert list(warnings(MANIFEST, [replace(case, note=f"{case.note}, mended") for case in headings])) == []
    (line,) = warnings(MANIFEST | {"finished": None}, [])
    assert line == "The run is not finished: the same command continues where it stopped."


# --- how questions ended


@pytest.mark.parametrize(
    ("case", "about", "ended"),
    [
        (VALVE, {"text": "It holds 9 bar [1]."}, "right"),
        (VALVE, {"text": "It holds 8 bar [1]."}, "wrong"),
        (VALVE, {"status": "abstained"}, "refused wrongly"),
        (replace(VALVE, answers=(), relevant=(), answerable=False), {}, "answered wrongly"),
        (replace(VALVE, answers=(), relevant=(), answerable=False), {"status": "abstained"}, "refused rightly"),
        (replace(VALVE, answers=()), {}, "cites the right place"),
        (replace(VALVE, answers=(), relevant=()), {}, "not checked"),
    ],
)
def test_an_answer_has_the_outcome_that_its_labels_say(case, about, ended):
    assert page.outcome(case, answer_record(case, "plain", **about)) == ended


def test_a_search_succeeds_up_to_rank_ten():
    found = {"kind": "retrieval", "gains": {"a": 1.0}, "units": [*"xxxxxxxxx", "a"]}
    assert page.outcome(VALVE, found) == "found in the first 10"
    assert page.outcome(VALVE, found | {"units": [*"xxxxxxxxxx", "a"]}) == "not in the first 10"
    assert page.outcome(VALVE, found | {"gains": {}}) == "not checked"
    assert page.outcome(VALVE, found | {"error": "gone"}) == "failed"
    elsewhere = answer_record(replace(VALVE, answers=()), "plain") | {"cited": []}
    assert page.outcome(replace(VALVE, answers=()), elsewhere) == "cites another place"


# --- the page


def test_the_page_asks_no_one_for_anything_and_runs_nothing(written, tree):
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    assert not tree.xpath("//script | //link | //img | //iframe | //form | //@src | //@onclick")
    assert all(address.startswith("#") for address in tree.xpath("//a/@href"))
    assert "url(" not in written and "@import" not in written


def test_the_links_and_ids_of_the_page_hold(tree):
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert {address[1:] for address in tree.xpath("//a/@href")} <= set(ids)
    for target in {address[1:] for address in tree.xpath("//section[@id='bad']//a/@href")}:
        (case,) = tree.xpath(f"//*[@id='{target}']")
        assert case.getparent().tag == "details", "what is linked lies in what a browser opens for it"


def test_the_worst_comes_first_and_every_outcome_can_be_chosen(run, tree):
    classes = [set(each.get("class").split()) for each in tree.xpath("//details[starts-with(@class, 'case')]")]
    assert len(classes) == len(run[0]) and "wrong" in classes[0] and not {"wrong", "failed"} & classes[-1]
    offered = {each.removeprefix("show-") for each in tree.xpath("//fieldset//@id")}
    assert offered == set().union(*classes) - {"case"}
    style = tree.xpath("//style")[0].text_content()
    assert all(f"main:has(#show-{each}:checked) .case:not(.{each})" in style for each in offered)


def test_a_case_is_shown_down_to_its_passages(tree):
    case = next(
        each for each in tree.xpath("//details[starts-with(@class, 'case')]") if "valve 1 hold" in each.text_content()
    )
    text = " ".join(case.text_content().split())
    for part in (
        "reference answer",
        "valves/1.pdf, p. 2, “Valve 1 holds 1 bar”",
        "graded relevant .710 (label: relevant)",
        "holds relevant 1",
        "retrieve 0.021 s → generate 1.40 s",
        "1 of 1 with a verified citation",
        "sure",
        "search, hybrid",
        "expected vectorstore, taken: vectorstore",
    ):
        assert part in text, part
    assert FOLDER not in text, "the folder of all files is said once"
    assert len(case.xpath(".//div[@class='passage']")) == 4, "each passage once, whoever saw it"


def test_what_failed_shows_its_error(run, tree):
    text = tree.xpath("//section[@id='failures']")[0].text_content()
    assert "in none of the figures" in text and "ServerDown" in text
    assert any("ServerDown" in line for line in lines_of(*run))


def test_nothing_is_praised_that_could_not_be_wrong():
    bare = Case("1", "What?")
    assert "Nothing here could be wrong" in written_of([bare], [answer_record(bare, "plain")])
    assert "No mistake by the labels." in written_of([VALVE], [answer_record(VALVE, "plain", "It is 9 bar.")])


def test_hostile_texts_stay_texts():
    evil = "<script>alert(1)</script> \x1b[31m &amp; {{ 7 * 7 }} \u202e\ud800"
    case = Case("<b>1</b>", evil, (evil,), True, (Target("<i>.pdf", quote=evil),), note=evil)
    record = answer_record(case, "plain", evil + " [1]", passages=[passage_of(case, 0, evil, source="/x/<u>.md")])
    made = written_of([case], [record], name=evil, settings={"<s>": evil})
    tree = html.document_fromstring(made)
    assert not tree.xpath("//script | //b[text()='1'] | //i | //u | //s")
    assert "49" not in tree.xpath("//h1")[0].text_content() and "\x1b" not in made and "\u202e" not in made
    assert tree.text_content().count("<script>alert(1)</script>") > 5
    assert not any("\x1b" in line for line in lines_of([case], [record]))


def test_long_texts_are_cut():
    case = Case("1", "Why?", ("x" * 5000,), True)
    record = answer_record(case, "plain", "long " * 2000, passages=[passage_of(case, 0, "p" * 9000)])
    made = written_of([case], [record])
    assert "p" * (page.PASSAGE + 1) not in made and "x" * 1001 not in made and made.count("long ") <= 1200


def test_the_same_run_gives_the_same_bytes(run, written):
    assert written_of(*run) == written


# --- plots


def test_plots_have_a_mark_or_a_line_for_each_graph_and_say_so_in_words(run, tree):
    made = list(plots(summary(*run)))
    assert [plot.title for plot in made] == [
        "Quality against cost",
        "Answering and refusing",
        "Recall of retrieval",
        "Calibration of the grader's scores",
    ]
    cost, refusals, recall, reliability = made
    assert [mark.shown.split(":")[0] for mark in cost.marks] == list(GRAPHS)
    assert {line.label for line in refusals.lines} >= {"chance", "threshold on the cosine", *GRAPHS}
    assert [line.label for line in recall.lines] == ["hybrid", "dense", "words"]
    assert any(mark.hollow for mark in reliability.marks) or len(reliability.marks) >= 3
    for plot in made:
        points = [*(mark.at for mark in plot.marks), *(at for line in plot.lines for at in line.points)]
        assert all(0 <= value <= 1 for at in points for value in at), plot.title
        assert plot.alt and re.search(r"\.\d{3}|1\.000", plot.alt)
    drawn = tree.xpath("//figure/svg")
    assert len(drawn) == 4 and all(svg.get("role") == "img" and svg.get("aria-label") for svg in drawn)
    assert len(drawn[0].xpath(".//circle")) == 4


def test_what_cannot_be_drawn_is_left_out():
    case = Case("1", "What?", ("x",), True)
    titles = [plot.title for plot in plots(summary([case], [answer_record(case, "plain")]))]
    assert titles == ["Quality against cost"]
    assert list(plots(summary([Case("1", "What?")], []))) == []
