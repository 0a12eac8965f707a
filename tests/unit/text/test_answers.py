"""What an answer consists of: items and rows, the words that answer, and values that can be compared."""

import pytest
from support.fakes import passage

from local_rag.core.answer import Highlight
from local_rag.core.readings import Reading, ReadSpan
from local_rag.core.verdicts import Grade
from local_rag.engines.language_model.passages import Passages
from local_rag.engines.language_model.prompts import Prompts
from local_rag.graphs.drafts import without_unsupported
from local_rag.text.answer_values import highlights, place_of, ranked, same, value_of
from local_rag.text.citations import check, renumbered
from local_rag.text.marks import claims, tables

# --- items and rows


DOCUMENTS = [
    passage(1, "Plan A costs 5 euros a month. It ends in May."),
    passage(2, "Plan B costs 7 euros a month."),
]
TABLE = "| item | price |\n|---|---:|\n| Plan A | 5 euros [1] |\n| Plan B | 7 euros [2] |"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLE, [("| Plan A | 5 euros |", (1,)), ("| Plan B | 7 euros |", (2,))]),
        (
            "| item | price | source |\n| :--- | ---: | --- |\n| Plan A [1] | 5 euros. It ends in May. | [1] |",
            [("| Plan A | 5 euros. It ends in May. | |", (1,))],
        ),
        ("Plan | Price\n--- | ---\nPlan A | 5 euros [1]", [("Plan A | 5 euros", (1,))]),
        (f"The prices are: [1]\n\n{TABLE}\n\nPlan A ends in May [1].",
         [("The prices are:", (1,)), ("| Plan A | 5 euros |", (1,)), ("| Plan B | 7 euros |", (2,)),
          ("Plan A ends in May.", (1,))]),
        ("- Plan A costs 5 euros. [1]\n- Plan B costs 7 euros [2].",
         [("- Plan A costs 5 euros.", (1,)), ("- Plan B costs 7 euros.", (2,))]),
        ("1. Choose Plan A. It ends in May. [1]\n2) Pay 5 euros [1]\n3. Wait.",
         [("1. Choose Plan A. It ends in May.", (1,)), ("2) Pay 5 euros", (1,)), ("3. Wait.", ())]),
        ("* **Plan A**: 5 euros [1]. It ends soon [1].", [("* **Plan A**: 5 euros.", (1,)), ("It ends soon.", (1,))]),
        ("It costs 5 | 7 euros [1].", [("It costs 5 | 7 euros.", (1,))]),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_an_item_or_a_row_is_a_claim(text, expected):
    assert [(claim.text, claim.numbers) for claim in claims(text)] == expected


@pytest.mark.parametrize(
    ("text", "status", "verified"),
    [
        (TABLE, "grounded", [True, True]),
        (TABLE.replace("7 euros", "8 euros"), "partial", [True, False]),
        (TABLE.replace(" [2]", ""), "partial", [True]),
        (TABLE.replace("[2]", "[9]"), "partial", [True]),
        ("- Plan A costs 5 euros a month. It ends in May. [1]\n- Plan B: 7 euros [2]", "grounded", [True, True]),
        ("1. Plan A costs 5 euros [1]\n2. Plan B costs 9 euros [2]", "partial", [True, False]),
    ],
)
def test_the_marks_of_an_item_or_a_row_are_checked(text, status, verified):
    checked = check(text, DOCUMENTS)
    assert (checked.status, [citation.verified for citation in checked.citations]) == (status, verified)
    assert renumbered(checked).text.count("\n") == text.count("\n")


def test_the_bullet_of_an_item_is_no_part_of_what_is_quoted():
    for item in ("- ", "1. ", "12) ", "• "):
        (citation,) = check(f"{item}It ends in May. [1]", DOCUMENTS).citations
        assert (citation.sentence, citation.located, citation.verified) == ("It ends in May.", "exact", True)
    (kept,) = check("2. Wait. [1]", [passage(1, "1. Open it.\n2. Wait.\n")]).citations
    assert (kept.sentence, kept.located) == ("Wait.", "exact")


def test_a_table_that_a_passage_has_is_cited_by_one_mark():
    quoted = "| item | price |\n|---|---|\n| Plan A | 5 euros |\n| Plan B | 7 euros |"
    checked = check(f"{quoted} [1]", [passage(1, f"The prices:\n\n{quoted}\n")])
    assert checked.status == "grounded" and checked.uncited == 0


def test_a_row_without_support_goes_with_its_line():
    text, grade, removed = without_unsupported(TABLE, Grade("partially", 4, ("fully", "no")))
    assert text == "| item | price |\n|---|---:|\n| Plan A | 5 euros [1] |"
    assert removed == ["| Plan B | 7 euros |"] and grade.support == "fully"
    assert without_unsupported(TABLE, Grade("no", 4, ("no", "no")))[0] == "", "no headings alone"


def test_a_grader_is_told_the_headings_of_a_row():
    task = Prompts().check_task(TABLE, Passages.plain([passage(1), passage(2)]))
    assert "1. | Plan A | 5 euros | (columns: item | price) [1]\n" in task


@pytest.mark.parametrize(
    "text",
    ["a | b", "a | b\nc | d", "| a |\n\n|---|\n| b |", "|---|---|", "no bar at all\n---\nmore", "| a | b |\n---\nx"],
)
def test_what_is_no_table(text):
    assert tables(text) == []


# --- values


def value(text):
    start = text.index("<")
    return value_of(text.replace("<", "").replace(">", ""), start, text.index(">") - 1)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("<3 March 2021>", "<2021-03-03>", True),
        ("<March 2021>", "<3 March 2021>", True),
        ("<March 3, 2021>", "on <3. März 2021>", True),
        ("on <03.04.2021>", "<3 April 2021>", True),
        ("in <2020>", "early <May 2020>", True),
        ("<4 June 1957>", "<4 June 1961>", False),
        ("<1994>", "<1995>", False),
        ("at <9:40> p.m.", "at <21:40>", True),
        ("at <3 pm>", "at <14:30>", False),
        ("EUR <1,200>", "<1.200 €>", True),
        ("<three hundred and fifty>", "<350>", True),
        ("<a dozen> eggs", "<12> eggs", True),
        ("within <30> days", "within <40> days", False),
        ("<300> euros", "<350 euros>", False),
        ("<2,000> euros", "<1,780 euros>", False),
        ("every <May>", "<April>", False),
        ("12,<480> people", "<12,500> people", None),
        ("<24 months>", "<two years>", None),
        ("<€300>", "<$300>", None),
        ("<5 %>", "<5>", None),
        ("version <4.2>", "<4.2.0>", None),
        ("<3.1.4>", "<3.10.2>", False),
        ("<Jane Smith>", "<Smith>", True),
        ("<Jane Smith>", "<J. Smith>", None),
        ("<Müller>", "<Mueller>", None),
        ("the <UN>", "the <United Nations>", None),
        ("<Anna Brook>", "<Peter Hartmann>", False),
        ("<Paris>", "<1994>", None),
    ],
)
def test_two_answers_say_the_same_or_not_or_it_is_not_certain(first, second, verdict):
    assert same(value(first), value(second)) is same(value(second), value(first)) is verdict


def test_words_that_are_no_name_and_several_numbers_have_no_value():
    assert value("It is painted <red>.") is None
    assert value("From <10 to 15> people came.") is None


# --- short answers


PASSAGE = "In 1902 the mill burned down. A new mill, of stone, was built in 1902 by Ada Quill [3] and her sons."


def span(text, phrase, logit=5.0, after=""):
    start = text.index(phrase, text.index(after))
    return ReadSpan(start, start + len(phrase), phrase, logit)


def reading(answerable, *spans):
    return Reading(1 - answerable, 0.0, answerable, spans, answerable)


def test_passages_compare_by_their_probability_and_spans_of_one_by_their_logits():
    sure = reading(0.8, ReadSpan(0, 4, "1902", 3.0), ReadSpan(8, 12, "mill", 2.0), ReadSpan(20, 24, "1911", -9.0))
    unsure = reading(0.3, ReadSpan(0, 4, "1877", 9.0))
    order = [(answer.passage, answer.span.text) for answer in ranked([unsure, sure, reading(0.0)])]
    assert order == [(1, "1902"), (1, "mill"), (0, "1877"), (1, "1911")]


@pytest.mark.parametrize(
    ("quoted", "after", "expected"),
    [
        ("A new mill, of stone, was built in 1902 by Ada Quill and her sons. [1]", "stone", 35),
        ("It was 1902 [1]. A new mill, of stone,\nwas built in 1902 by Ada Quill and her sons. [1]", "stone", 52),
        ("In 1902 the mill burned down. [1] A new mill, of stone, was built in 1902 by Ada Quill. [2]", "In", 3),
        ("The new mill is of 1911 [1902].", "stone", None),
        ("The mill has 21902 stones.", "stone", None),
    ],
)
def test_the_words_around_tell_which_of_equal_phrases_is_meant(quoted, after, expected):
    place = place_of(span(PASSAGE, "1902", after=after), PASSAGE, quoted)
    assert (place and place.start) == expected
    assert place is None or quoted[place.start : place.end] == "1902"


def test_a_phrase_is_recognised_over_a_line_break():
    assert place_of(ReadSpan(0, 9, "Ada\nQuill", 1.0), "Ada\nQuill came.", "It was Ada Quill.") == Highlight(7, 16)


def test_the_best_short_answer_that_a_text_holds_is_the_highlight():
    readings = [reading(0.2, span(PASSAGE, "stone")), reading(0.9, span(PASSAGE, "Ada Quill"), span(PASSAGE, "1902"))]
    text = "In 1902 the mill burned down. [2]"
    assert highlights(text, [PASSAGE, PASSAGE], readings) == (Highlight(3, 7),)
    assert highlights("Nothing of it. [1]", [PASSAGE, PASSAGE], readings) == ()
    assert highlights(text, [], []) == ()


def test_a_phrase_is_recognised_without_the_numbers_in_brackets_that_a_quote_leaves_out():
    with_mark = span(PASSAGE, "Ada Quill [3] and her sons")
    assert place_of(with_mark, PASSAGE, "It was built by Ada Quill and her sons. [1]") == Highlight(16, 38)
