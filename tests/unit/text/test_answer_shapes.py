"""Lists, steps and tables as models write them: an item or a row is a claim, and its marks are checked."""

from __future__ import annotations

import pytest
from support.fakes import passage

from local_rag.core.verdicts import Grade
from local_rag.engines.language_model.passages import Passages
from local_rag.engines.language_model.prompts import Prompts
from local_rag.graphs.grades import without_unsupported
from local_rag.text.citations import check, renumbered
from local_rag.text.marks import cells, claims, tables

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


def test_cells():
    assert cells(" | a | b c |") == ["a", "b c"]
