"""The reports of an evaluation: every figure is there, nothing leaves the page, and hostile texts stay texts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from lxml import etree, html
from support.evaluation_run import (
    FOLDER,
    GRAPHS,
    MANIFEST,
    MODES,
    answer_record,
    cases_of,
    passage_of,
    records_of,
    summary_of,
)
from support.screen import shown as lines_shown

from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.reports import charts, formatting, markdown, page
from local_rag.evaluation.reports.chart import COLOURS, INK
from local_rag.evaluation.reports.drawings import save, svg
from local_rag.evaluation.reports.facts import missing, warnings
from local_rag.evaluation.reports.outcomes import BAD, FAILED, WRONG, outcome, searched, unblamed
from local_rag.evaluation.reports.refusal_charts import refusal_chart, trade_off_chart
from local_rag.evaluation.reports.reliability_chart import FEW, grader_chart
from local_rag.evaluation.reports.tables import RETRIEVAL, tables
from local_rag.evaluation.summary import summary
from local_rag.terminal.evaluation import evaluation_parts

NOTHING = {
    "cases": {},
    "retrieval": {},
    "routes": None,
    "graphs": {},
    "refusal_curve": None,
    "score_curve": None,
    "failures": [],
}


def lines_of(manifest, figures, cases=(), width=None):
    return lines_shown(*evaluation_parts(manifest, figures, cases), width=width)


@pytest.fixture(scope="module")
def run():
    cases = cases_of()
    return MANIFEST, cases, records_of(cases), summary_of()


@pytest.fixture(scope="module")
def written(run):
    return page.report(*run)


@pytest.fixture(scope="module")
def tree(written):
    return html.document_fromstring(written)


# --- figures and tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "value", "shown"),
    [
        (formatting.share, 0.6421, ".642"),
        (formatting.share, 1.0, "1.000"),
        (formatting.share, -0.05, "-.050"),
        (formatting.share, -0.0001, ".000"),
        (formatting.share, 0, ".000"),
        (formatting.share, None, "–"),
        (formatting.count, 1204.0, "1,204"),
        (formatting.count, None, "–"),
        (formatting.mean, 2.44, "2.4"),
        (formatting.mean, 0.0, "0"),
        (formatting.mean, 1234.5, "1,234"),
        (formatting.seconds, 0.0123, "0.012"),
        (formatting.seconds, 1.25, "1.25"),
        (formatting.seconds, 83.14, "83.1"),
        (formatting.seconds, 1500.2, "1,500"),
        (formatting.seconds, None, "–"),
    ],
)
def test_figures_are_written_with_three_digits(form, value, shown):
    assert form(value) == shown


def test_every_figure_is_in_every_report(run, written):
    text = html.document_fromstring(written).text_content()
    lines = "\n".join(lines_of(MANIFEST, run[3]))
    marked = markdown.report(*run).replace("\\", "")
    seen = 0
    for table in tables(run[3]):
        for row in table.rows:
            assert "| " + " | ".join(row) + " |" in marked
            assert all(cell in text for cell in row)
            seen += len(row)
        for row in table.narrowed().rows:
            assert re.search(r"\s+".join(map(re.escape, row)), lines)
    assert seen > 200


def test_the_figures_of_a_real_summary_fit_the_tables(run):
    made = summary(run[1], run[2])
    shown = {table.title: table for table in tables(made)}
    assert set(shown) == {table.title for table in tables(run[3])}
    about = made["graphs"]["crag"]
    row = next(row for row in shown["Refusals"].rows if row[0] == "crag")
    assert row[1] == str(about["refusals"]["cases"])
    assert row[2] == formatting.share(about["refusals"]["precision"])
    assert "–" not in "".join("".join(row) for row in shown["Answers"].rows)
    assert sum(chart.draw is not None for chart in charts.charts(made)) == 5


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_terminal_is_never_wider_than_it_is(width):
    lines = lines_of(MANIFEST, summary_of(), width=width)
    assert max(map(len, lines)) <= width
    assert not any(line != line.rstrip() for line in lines)
    start = lines.index("Answers")
    assert lines[start + 1].split()[:3] == ["cases", "EM", "F1"]
    head, first = lines[start + 1], lines[start + 2]
    assert head.index("EM") + 2 == first.index(".071") + 4, "numbers stand at the right of their columns"
    assert sum("over 14 answerable cases with reference answers" in line for line in lines) == 1
    assert "4 failures, in none of the figures; the first 3:" in "\n".join(lines)


def test_one_empty_line_stands_between_the_tables_and_none_at_the_end():
    without = summary_of() | {"failures": []}
    for made in (without, summary_of()):
        lines = lines_of(MANIFEST | {"finished": None}, made, width=80)
        assert not any(one == other == "" for one, other in pairwise(lines))
        assert lines[0].startswith("The run is not finished") and lines[-1]


def test_every_figure_has_a_meaning(run, written):
    for table in tables(run[3]):
        unsaid = {column.head for column in table.columns if not column.meaning}
        cuts = {column.head for column in RETRIEVAL if "@" in column.head}
        assert unsaid <= cuts - {"R@1", "P@1"} or table.title == "Routes"
    lines = " ".join(" ".join(lines_of(MANIFEST, run[3], width=80)).split())
    assert "answers: share of the answerable answered; balanced: mean of recall and answers" in lines
    assert "P@5 at most .200 for one place" in lines
    assert "EM is near 0 where whole sentences are quoted" in lines
    for text in (markdown.report(*run).replace("\\", ""), written):
        for told in ("P@5 .200", "near 0 for an engine that quotes", "chance gets .500", "answered with reservations"):
            assert told in text
        for told in ("refused rightly", "refused wrongly", "labelled relevant", "unless it is all of the file"):
            assert told in text
        assert "really relevant" not in text and "refused bad" not in text


def test_a_table_that_is_missing_says_which_labels_it_needs():
    manifest = MANIFEST | {"judge": None}
    counts = dict.fromkeys(summary_of()["cases"], 0) | {"total": 24}
    bare = NOTHING | {"cases": counts}
    told = [
        "no Retrieval: no case names a relevant place (relevant)",
        "no Routes: no case names a route (route)",
        "no Answers: no case has reference answers (answers)",
        "no Refusals: no case says whether it is answerable (answerable)",
    ]
    assert list(missing(manifest, bare)) == told
    assert list(missing(manifest | {"retrieval_only": True}, bare)) == told[:1]
    assert list(missing(manifest, bare | {"cases": counts | {"with_answers": 1, "answerable": 1}})) == told[:2]
    assert list(missing(manifest, summary_of())) == list(missing(manifest, NOTHING)) == []
    assert lines_of(manifest, bare, width=80) == told
    lines = markdown.report(manifest, [], [], bare).splitlines()
    shown = html.document_fromstring(page.report(manifest, [], [], bare))
    assert shown.xpath("//ul[@class='missing']/li/text()") == told
    assert [line for line in lines if line.startswith("- no ")] == [f"- {line}" for line in told]


def test_a_judge_that_had_nothing_to_judge_says_so():
    told = "no answer could be judged: the judge needs cases with reference answers that were answered"
    made = summary_of() | {"failures": []}
    assert list(missing(MANIFEST, made)) == []
    for number, about in enumerate(made["graphs"].values()):
        about["judge"] = None if number else about["judge"] | {"verdicts": 0}
    assert list(missing(MANIFEST, made)) == [told]
    assert told in lines_of(MANIFEST, made)
    assert told in markdown.report(MANIFEST, [], [], made)
    failed = {"kind": "judgement", "case": "q1", "graph": "crag", "error": "ServerDown: x"}
    assert list(missing(MANIFEST, made | {"failures": [failed]})) == []
    assert list(missing(MANIFEST | {"finished": None}, made)) == []
    assert list(missing(MANIFEST | {"judge": None}, made)) == []


def test_cases_that_rules_made_are_told_to_flatter():
    kinds = ("heading", "near", "foreign", "figure", "definition")
    cases = [replace(case, note=f"proposed: {kinds[number % 5]}") for number, case in enumerate(cases_of(10))]
    told = (
        "10 of 10 cases were made by rules from the files' own words: word search looks better than on people's "
        "questions, and foreign questions are easy to refuse."
    )
    assert warnings({}, cases) == [told]
    assert " ".join(lines_of(MANIFEST, NOTHING, cases, width=60)).replace("  ", " ") == told
    assert told in markdown.report(MANIFEST, cases, [], summary_of())
    made = summary_of() | {"graphs": {}, "routes": None, "refusal_curve": None}
    shown = html.document_fromstring(page.report(MANIFEST, cases, [], made))
    assert told in shown.xpath("//p[@class='warn']/text()")
    others = [replace(case, note=note) for case in cases[:5] for note in ("proposed: ollama/qwen3:4b",)]
    assert warnings({}, [*others, *cases[5:]]) == [], "half of them is not most of them"
    assert warnings({}, [*others[1:], *cases[4:]])[0].startswith("6 of 10 cases")
    assert warnings({}, [replace(case, note="proposed: figure, edited") for case in cases]) == []
    assert warnings({}, []) == []


def test_what_is_empty_is_left_out():
    assert lines_of(MANIFEST, NOTHING, width=80) == []
    assert charts.charts(NOTHING) == ()
    shown = html.document_fromstring(page.report(MANIFEST, [], [], NOTHING))
    assert not shown.xpath("//table|//svg|//details[@class='case']")
    assert "## Retrieval" not in markdown.report(MANIFEST, [], [], NOTHING)


def test_a_run_of_retrieval_alone(run):
    manifest = MANIFEST | {"retrieval_only": True, "graphs": [], "judge": None}
    rows = [row for row in run[2] if row["kind"] == "retrieval"]
    made = run[3] | {"graphs": {}, "routes": None, "refusal_curve": None, "failures": []}
    lines = "\n".join(lines_of(manifest, made, width=80))
    assert "Retrieval" in lines and "Answers" not in lines and "fail" not in lines
    shown = html.document_fromstring(page.report(manifest, run[1], rows, made))
    assert [one.get("id") for one in shown.iter("svg")] == ["chart-recall"]
    chips = shown.xpath("//summary//span[@data-who='hybrid']")
    assert len(chips) == len(run[1]) and not any("hidden" in chip.attrib for chip in chips)
    assert "1 of 1 relevant found at rank 1" in shown.text_content()
    assert "Where it is bad" not in markdown.report(manifest, run[1], rows, made)


def test_a_run_that_was_stopped_says_so(run):
    manifest = MANIFEST | {"finished": None}
    assert "not finished" in lines_of(manifest, run[3], width=80)[0]
    assert "not finished" in markdown.report(manifest, run[1], run[2], NOTHING)
    assert "not finished" in page.report(manifest, run[1], run[2], NOTHING)


# --- outcomes and Markdown ------------------------------------------------------------------------------------

KNOWN = Case("a", "?", ("nine bar",), True)


@pytest.mark.parametrize(
    ("case", "text", "status", "ended"),
    [
        (KNOWN, "It holds Nine  bar. [1]", "grounded", "right"),
        (KNOWN, "It holds nine[1] bar.", "partial", "right"),
        (KNOWN, "It holds ten bar. [1]", "grounded", "wrong"),
        (KNOWN, "", "abstained", "refused wrongly"),
        (Case("a", "?", answerable=False), "", "abstained", "refused rightly"),
        (Case("a", "?", answerable=False), "Blue. [1]", "direct", "answered wrongly"),
        (Case("a", "?", answerable=True), "Blue. [1]", "grounded", "not checked"),
        (Case("a", "?"), "", "abstained", "not checked"),
    ],
)
def test_how_a_question_ended(case, text, status, ended):
    assert outcome(case, answer_record(case, "plain", text, status, passages=[])) == ended


PLACE = Case("a", "?", (), True, (Target("valves/1.pdf", 2), Target("valves/2.pdf", 1)))


@pytest.mark.parametrize(
    ("cited", "ended"),
    [
        ([{"number": 1, "verified": True, "holds": []}, {"number": 2, "verified": True, "holds": [1]}],
         "cites the right place"),
        ([{"number": 1, "verified": True, "holds": []}], "cites another place"),
        ([], "cites no place"),
    ],
)  # fmt: skip
def test_without_a_reference_answer_the_place_decides(cited, ended):
    row = answer_record(PLACE, "plain", "Blue. [1]", passages=[]) | {"cited": cited}
    row["answer"]["citations"] *= len(cited)
    assert outcome(PLACE, row) == ended
    assert (ended in BAD) == (ended != "cites the right place")
    text = markdown.report(MANIFEST, [PLACE], [row], NOTHING)
    assert ("Cites another place" in text) == (ended == "cites another place")
    chip = html.document_fromstring(page.report(MANIFEST, [PLACE], [row], NOTHING)).xpath("//summary//@data-what")
    assert chip == [ended]


def test_nothing_is_praised_that_could_not_be_wrong():
    bare, said = Case("a", "?"), "Nothing here could be wrong: no case has reference answers or places."
    row = answer_record(bare, "plain", "Blue. [1]", passages=[])
    assert unblamed([bare], [row]) == said
    assert said in markdown.report(MANIFEST, [bare], [row], NOTHING)
    assert said in page.report(MANIFEST, [bare], [row], NOTHING)
    failed = {"kind": "answer", "case": "a", "graph": "crag", "error": "x"}
    assert unblamed([bare], [row, failed]) == said
    assert unblamed([KNOWN], [failed]) == "Nothing here could be wrong: no question with labels came to an end."
    right = answer_record(KNOWN, "plain", "Nine bar. [1]", passages=[])
    assert unblamed([KNOWN], [right]) == "No mistake by the labels, in 1 answer or refusal."
    told = "No mistake by the labels, in 1 answer or refusal; 1 more could not be checked, or failed."
    assert unblamed([KNOWN], [right, failed]) == told
    assert told in markdown.report(MANIFEST, [KNOWN], [right, failed], NOTHING)


def test_a_failed_question_and_searches():
    assert outcome(KNOWN, {"kind": "answer", "error": "ServerDown: x"}) == "failed"
    row = {"gains": {"relevant 1": 1.0}, "units": [*map(str, range(9)), "relevant 1"]}
    assert searched(row) == "found in the first 10"
    assert searched(row | {"units": ["0", *row["units"]]}) == "not in the first 10"
    assert searched(row | {"gains": {}}) == "not checked"
    assert searched({"error": "x"}) == "failed"


def test_markdown_says_how_it_was_made_and_where_it_is_bad(run):
    text = markdown.report(*run)
    assert "- command: `local-rag eval 'my cases.jsonl' --graph plain --graph crag`" in text
    for fact in ("f00dcafe", "- seed: 7", "24 of 30 cases", "local-rag 0.1.0", "SHA-256 cdcd", "127.0.0.1:11434"):
        assert fact in text
    assert "Järvelin & Kekäläinen 2002" in text
    assert "- q2, crag: ServerDown: no Ollama server answers" in text
    bad = text.partition("## Where it is bad")[2].partition("\n## ")[0]
    heads = re.findall(r"^\*\*(.+?)\*\*", bad, re.M)
    assert heads == ["Wrong answers", "Not answerable, and answered", "Answerable, and refused"]
    for head, part in zip(heads, bad.split("**")[2::2], strict=True):
        assert 0 < part.count("\n- `q") <= markdown.WORST, head
    wrong = [row for row in run[2] if "kettle" in str(row.get("answer", {}).get("text")) and row["case"] == "q1"]
    line = next(line for line in bad.splitlines() if line.startswith("- `q1` How much pressure") and "plain" in line)
    assert all(row["graph"] in line for row in wrong)


def test_markdown_shows_hostile_texts_as_they_are():
    question = "Is `x` | <img src=x onerror=y> *bold* [a](javascript:b)\n# head\x1b[31m\u202e?"
    case = Case("a`b|\n# c", question, ("no",), True)
    rows = [answer_record(case, "plain", "yes", passages=[])]
    text = markdown.report(MANIFEST, [case], rows, NOTHING)
    line = next(line for line in text.splitlines() if "bold" in line)
    assert line.startswith("- `a'b|\\n# c`" if "\\n" in line else "- `a'b| # c`")
    assert r"\`x\` \| \<img src=x onerror=y\> \*bold\* \[a\]\(javascript:b\) \# head?" in line


# --- the page -------------------------------------------------------------------------------------------------


def test_the_page_asks_no_one_for_anything(written, tree):
    allowed = """html head body meta title style script header nav main section figure figcaption h1 h2 h3 p a b bdi q
        blockquote div span ul li dl dt dd pre details summary table thead tbody tr th td form label select option input
        output svg desc defs use path g text tspan clippath rect"""
    assert {one.tag for one in tree.iter(etree.Element)} <= set(allowed.split())
    for one in tree.iter(etree.Element):
        for name, value in one.attrib.items():
            if name in {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background", "ping"}:
                assert value.startswith("#"), (one.tag, name, value)
            assert not name.startswith("on"), (one.tag, name)
            assert all(found.startswith("#") for found in re.findall(r"url\(['\"]?([^)'\"]*)", value))
    for style in tree.iter("style"):
        assert "url(" not in style.text and "@import" not in style.text
    rest = written.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://", rest)


def test_the_policy_of_the_page_lets_its_own_script_run_and_no_other(tree):
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    (script,) = tree.iter("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert tree.xpath("//meta[@name='referrer']/@content") == ["no-referrer"]


def test_the_links_and_ids_of_the_page_hold(tree):
    ids = Counter(tree.xpath("//@id"))
    assert [name for name, count in ids.items() if count > 1] == []
    assert all(link.removeprefix("#") in ids for link in tree.xpath("//a/@href|//use/@href"))
    assert tree.xpath("//a[starts-with(@href, '#c1p')]")


def test_every_case_can_be_opened_down_to_its_passages(run, tree):
    cases = tree.xpath("//details[@class='case']")
    assert len(cases) == len(run[1])
    row = next(row for row in run[2] if row["kind"] == "answer" and row["graph"] == "crag" and row["case"] == "q2")
    shown = cases[[case.id for case in run[1]].index(row["case"])]
    text = " ".join(shown.text_content().split())
    case = next(case for case in run[1] if case.id == row["case"])
    assert case.question in text and case.answers[0] in text and case.relevant[0].quote in text
    assert len(shown.xpath(".//div[@class='passage']")) == 4, "shown once, though every graph has them"
    for passage in row["passages"]:
        assert passage["text"] in text
    assert "self-rag, crag and adaptive: cosine .710, graded relevant .710 (label: relevant)" in text
    assert "graded relevant .610 (label: irrelevant, so wrong)" in text
    assert "retrieve 0.021 s → generate 1.40 s" in text
    assert "support: fully (every word stands there)" in text
    assert "4 calls, 3,600 tokens read and 240 written" in text
    assert "expected vectorstore, taken: vectorstore" in text
    assert "verified" in text and "holds relevant 1" in text
    assert FOLDER not in shown.xpath("string(.//div[@class='passage'])")


def test_a_verdict_that_was_given_twice_is_told_once():
    case = cases_of(1)[0]
    row = answer_record(case, "self-rag")
    row["grades"] *= 2
    shown = html.document_fromstring(page.report(MANIFEST, [case], [row], NOTHING)).text_content()
    assert "self-rag: cosine .710, graded relevant .710 (label: relevant), 2 times" in shown


def test_a_failed_question_shows_its_error(run, tree):
    failed = next(row for row in run[2] if "error" in row)
    shown = tree.xpath("//details[@class='case']")[[case.id for case in run[1]].index(failed["case"])]
    assert failed["error"] in shown.text_content()
    assert f"{failed['graph']}: failed" in shown.text_content()


def test_what_went_wrong_comes_first_and_is_linked(run, tree):
    cases, rows = run[1:3]
    by_id = {case.id: case for case in cases}
    ended = {
        case.id: {
            outcome(by_id[row["case"]], row) for row in rows if row["kind"] == "answer" and row["case"] == case.id
        }
        for case in cases
    }
    shown = tree.xpath("//details[@class='case']")
    ids = [one.xpath("string(summary/span[@class='soft'])") for one in shown]
    assert [one.get("id") for one in shown] == [f"c{number}" for number in range(1, len(cases) + 1)]

    def turn(case):
        groups = ({WRONG}, {"answered wrongly"}, {"refused wrongly"}, {FAILED})
        return next((place for place, group in enumerate(groups) if group & ended[case.id]), 4)

    assert ids == [case.id for case in sorted(cases, key=turn)] != [case.id for case in cases]
    heads = tree.xpath("//section[@id='bad']/p/b/text()")
    assert heads == ["Wrong answers", "Not answerable, and answered", "Answerable, and refused"]
    links = tree.xpath("//section[@id='bad']//a")
    assert links
    for link in links:
        case = tree.get_element_by_id(link.get("href").removeprefix("#"))
        assert case.xpath("string(summary/span[@class='question'])") == link.text
        assert case.xpath("summary//span[contains(@class, 'bad')]")


def test_searches_that_found_nothing_come_first_where_nothing_else_was_asked():
    cases = cases_of(2)
    row = {"kind": "retrieval", "mode": "dense", "gains": {"relevant 1": 1.0}, "seconds": 0.1}
    rows = [row | {"case": "q1", "units": ["relevant 1"]}, row | {"case": "q2", "units": ["c0ffee"]}]
    shown = html.document_fromstring(page.report(MANIFEST, cases, rows, NOTHING))
    assert shown.xpath("//summary/span[@class='soft']/text()") == ["q2", "q1"]
    assert "first: c0ffee" in shown.text_content(), "rows without places in words show the names of the things"


def test_searches_say_in_words_what_they_found(tree):
    text = tree.text_content()
    assert "c0ffee" not in text
    assert "first: valves/1.pdf, p. 2 (relevant 1); handbook/other.pdf, p. 4" in text


def test_the_head_is_short_and_the_rest_stands_under_settings(tree):
    assert tree.xpath("//header//dt/text()") == ["started", "cases", "engine", "index"]
    made = tree.xpath("//section[@id='made']/dl/dt/text()")
    assert {"finished", "command", "fingerprint", "seed", "models.yaml", "versions", "judge"} <= set(made)


def test_the_filters_know_every_graph_mode_and_outcome(tree):
    who = tree.xpath("//select[@name='who']/option/text()")
    assert who == ["any", *GRAPHS, *MODES] or set(who) == {"any", *GRAPHS, *MODES}
    outcomes = set(tree.xpath("//select[@name='what']/option/text()"))
    assert set(tree.xpath("//summary//@data-what")) | {"any"} == outcomes
    assert "graph or search" in tree.xpath("//form//label/text()")
    assert "hidden" in tree.get_element_by_id("filter").attrib, "without JavaScript there is nothing to filter with"


HOSTILE = (
    "<script>alert(1)</script></textarea></style></details></pre></script><!-- <img src=http://evil.example/x "
    "onerror=alert(2)> --> ' onmouseover='x' \" onfocus=\"x\" {{ 7*7 }} {% raw %} & &lt; \x00\x1b[31mred\x1b]0;t\x07 "
    "\u202eevil\u202c \u2066iso\u2069 ]]> \ud800 end"
)


def hostile_run():
    about = {"source": f"/x/{HOSTILE}.md", "heading": HOSTILE, "url": "", "chunk_id": HOSTILE, "query": HOSTILE}
    case = replace(cases_of(1)[0], id=HOSTILE, question=HOSTILE, note=HOSTILE, answers=(HOSTILE,))
    passages = [passage_of(case, 0, HOSTILE, **about), passage_of(case, 1, "word" * 25_000, chunk_id="long")]
    row = answer_record(case, "plain", HOSTILE, passages=passages, reason=HOSTILE)
    row["answer"]["decisions"].append(row["answer"]["decisions"][1] | {"why": HOSTILE, "verdict": HOSTILE})
    row["answer"]["usage"]["notes"] = [HOSTILE]
    failed = {"kind": "answer", "case": case.id, "graph": "crag", "error": HOSTILE}
    manifest = MANIFEST | {"name": HOSTILE, "command": [HOSTILE], "settings": {HOSTILE: HOSTILE}}
    manifest |= {"models_yaml": {"sha256": HOSTILE, "text": HOSTILE}, "engine": {"describe": HOSTILE, "why": HOSTILE}}
    failure = {"kind": "answer", "case": case.id, "graph": "crag", "error": HOSTILE}
    return manifest, [case], [row, failed], NOTHING | {"failures": [failure]}


def test_hostile_texts_stay_texts():
    written = page.report(*hostile_run())
    written.encode()
    assert not re.search("[\x00\x07\x1b\u202a-\u202e\u2066-\u2069\ud800]", written)
    assert "{{ 7*7 }}" in written and "49" not in re.sub("[0-9.]{3,}", "", written.partition("<main>")[0])
    tree = html.document_fromstring(written)
    assert len(list(tree.iter("script"))) == 1
    assert not list(tree.iter("img", "textarea"))
    assert [name for one in tree.iter(etree.Element) for name in one.attrib if name.startswith("on")] == []
    assert len(tree.xpath("//details[@class='case']")) == 1
    assert "<script>alert(1)</script>" in tree.xpath("string(//div[@class='passage'])")
    for name in ("terminal", "markdown"):
        manifest, cases, rows, made = hostile_run()
        text = (
            markdown.report(manifest, cases, rows, made)
            if name == "markdown"
            else "\n".join(lines_of(manifest, made, width=80))
        )
        text.encode()
        assert not re.search("[\x00\x07\x1b\u202a-\u202e\u2066-\u2069]", text)


def test_long_words_are_cut_and_the_page_says_so():
    written = page.report(*hostile_run())
    assert "Passages are cut to 2000 characters" in written
    assert "word" * 500 + "…" in written
    assert len(written) < 400_000


def test_a_large_run_shows_less_of_each_passage():
    cases = cases_of(3)
    small = [answer_record(case, "plain") for case in cases]
    assert page.limits_of(small) == page.MOST
    passages = [passage_of(cases[0], place, "x") for place in range(20)]
    large = [answer_record(Case(str(number), "?"), "plain", passages=passages) for number in range(1200)]
    assert page.limits_of(large).passage == page.BUDGET.passage // 24_000
    assert page.LEAST.passage < page.limits_of(large).passage < page.MOST.passage


@pytest.mark.parametrize(
    ("sources", "root"),
    [
        (["/a/b/c.md", "/a/b/d/e.md"], "/a/b/"),
        (["/a/b.md", "/c/d.md"], ""),
        (["/a/b.md", "https://example.org/x"], "/a/"),
        (["C:\\n\\a.md", "C:\\n\\m\\b.md"], "C:\\n\\"),
        (["squad/1", "squad/2"], ""),
        ([], ""),
    ],
)
def test_the_folder_of_all_files_is_said_once(sources, root):
    case = cases_of(1)[0]
    passages = [passage_of(case, place, source=source) for place, source in enumerate(sources)]
    assert page.root_of([answer_record(case, "plain", passages=passages)]) == root


def test_the_same_run_gives_the_same_bytes(run, written):
    assert page.report(*run) == written
    assert markdown.report(*run) == markdown.report(*run)


# --- charts ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn():
    """(chart, its SVG) for each chart of a run."""
    return [(chart, svg(chart)) for chart in charts.charts(summary_of())]


def test_charts_are_well_formed_and_keep_apart(drawn):
    seen: Counter[str] = Counter()
    assert [chart.name for chart, _ in drawn] == ["cost", "refusals", "trade-off", "recall", "grader"]
    for chart, text in drawn:
        assert text.startswith("<svg")
        tree = etree.fromstring(text)
        seen.update(tree.xpath("//@id"))
        assert tree.get("role") == "img" and chart.title in tree.get("aria-label") and chart.alt
        used = {one.removeprefix("#") for one in tree.xpath("//@href")} | set(re.findall(r"url\(#([^)]+)\)", text))
        assert used <= set(tree.xpath("//@id"))
        assert "currentColor" in text and INK not in text and "#000000" not in text
        words = " ".join(tree.xpath("//*[local-name()='text']//text()"))
        assert len(words) > 40, "words stay words"
    assert max(seen.values()) == 1


def test_charts_name_their_points_and_axes(drawn):
    text = {chart.name: shown for chart, shown in drawn}
    for graph in GRAPHS:
        assert text["cost"].count(f">{graph}<") == 2, "over seconds, and over calls"
        assert text["refusals"].count(f">{graph}<") == 1
    assert "median seconds per question" in text["cost"]
    assert "calls to a language model per question" in text["cost"]
    assert all(f">{mode}<" in text["recall"] for mode in MODES)
    assert "recall@k" in text["recall"] and ">100<" in text["recall"]
    assert ">verdicts<" in text["grader"]


def test_the_curve_of_the_threshold_runs_by_its_thresholds():
    import matplotlib.figure

    steps = [(0.0, 1.0, 0.0), (0.2, 1.0, 0.8), (0.4, 0.7, 0.8), (0.6, 0.7, 0.9), (0.8, 0.0, 1.0)]
    curve = [{"threshold": at, "answer_rate": x, "refusal_recall": y} for at, x, y in steps]
    figure = matplotlib.figure.Figure()
    refusal_chart(summary_of()["graphs"], curve[::-1]).draw(figure)
    line = next(one for one in figure.axes[0].lines if one.get_label() == "cosine threshold")
    assert [tuple(point) for point in line.get_xydata()] == [(x, y) for _, x, y in steps]


def test_bins_of_few_verdicts_are_hollow():
    import matplotlib.figure

    made = summary_of()["graphs"]["crag"]
    made["grading"]["bins"][2]["verdicts"] = FEW - 1
    chart = grader_chart({"crag": made})
    figure = matplotlib.figure.Figure()
    chart.draw(figure)
    _, many, few = figure.axes[0].lines
    assert (len(many.get_xdata()), list(few.get_xdata())) == (3, [0.5])
    assert few.get_fillstyle() == "none" and few.get_linestyle() == "None"
    assert chart.reading.endswith("Hollow: fewer than 5 verdicts, too few to go by.")
    made["grading"]["bins"][2]["verdicts"] = FEW
    assert "Hollow" not in grader_chart({"crag": made}).reading
    assert "share labelled relevant" in svg(chart)


def test_the_line_of_the_refusal_plot_is_explained():
    made = summary_of()
    assert refusal_chart(made["graphs"], made["refusal_curve"]).reading.endswith(
        "The line: refuse whenever the best cosine is below a threshold, the best one picked afterwards. "
        "A graph below the line does worse than that."
    )


def test_the_trade_off_plot_has_a_line_for_each_score_and_a_mark_for_each_graph():
    import matplotlib.figure

    made = summary_of()
    points = [(0.0, 1.0, 0.0, None), (0.5, 0.8, 0.6, 0.75), (1.0, 0.0, 1.0, 0.5)]
    names = ("threshold", "answer_rate", "refusal_recall", "refusal_precision")
    curve = [dict(zip(names, point, strict=True)) for point in points]
    chart = trade_off_chart(made["graphs"], made["refusal_curve"], curve)
    assert chart.alt.endswith("threshold on the grader's score: at most .700")
    figure = matplotlib.figure.Figure()
    chart.draw(figure)
    above, below = figure.axes
    line = next(line for line in above.lines if line.get_label() == "threshold on the grader's score")
    assert [tuple(point) for point in line.get_xydata()] == [(1.0, 0.5), (0.8, 0.7), (0.0, 0.5)]
    line = next(line for line in below.lines if line.get_label() == "threshold on the grader's score")
    assert [tuple(point) for point in line.get_xydata()] == [(0.8, 0.75), (0.0, 0.5)], "no refusal has no precision"
    assert {line.get_label() for line in above.lines} >= set(GRAPHS)


def test_without_calls_there_is_no_plot_over_calls():
    made = summary_of()
    for about in made["graphs"].values():
        about["cost"]["calls"] = 0.0
    assert "language model per question" not in svg(charts.cost_chart(made["graphs"]))


def test_what_cannot_be_drawn_is_said_in_words():
    made = summary_of()
    for about in made["graphs"].values():
        about["answers"]["f1"] = about["refusals"]["recall"] = None
        about["grading"] = {"labelled": 12, "bins": []}
    for about in made["retrieval"].values():
        about["recall"] = {"1": None}
    for chart in charts.charts(made):
        assert chart.draw is None and chart.reading.startswith("No plot: ") and svg(chart) == ""
        with pytest.raises(ValueError, match="No plot"):
            save(chart, None)
    assert "verdicts without scores" in grader_chart(made["graphs"]).reading


def test_a_chart_is_saved_as_a_picture(tmp_path):
    path = save(charts.recall_chart(summary_of()["retrieval"]), tmp_path / "recall.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_colours_are_seen_on_white_and_on_black():
    def light(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))

    for colour in COLOURS:
        assert 1.05 / (light(colour) + 0.05) > 2.8
        assert (light(colour) + 0.05) / (light("#1d2128") + 0.05) > 2.8
