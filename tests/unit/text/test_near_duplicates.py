"""A text that adds nothing to another one, and texts that differ in what matters."""

from __future__ import annotations

import pytest

from local_rag.text.near_duplicates import Distinct

CLAUSE = (
    "The tenant shall pay the rent of 950 euros on the third working day of each month to the account of the landlord. "
    "The deposit is due before the keys are handed over and is paid back within six months after the end of the lease. "
    "Small repairs in the flat are paid by the tenant up to an amount of 100 euros for each repair."
)


def taken(*texts: str) -> list[bool]:
    distinct = Distinct()
    return [distinct.takes(text) for text in texts]


@pytest.mark.parametrize(
    "copy",
    [
        CLAUSE.upper(),
        "> " + CLAUSE.replace(". ", ".\n> "),
        CLAUSE.replace("landlord", "land-\nlord"),
        CLAUSE.replace("to the account", "on an account"),
        CLAUSE[: CLAUSE.index(" Small")],
        "continued: " + CLAUSE,
    ],
    ids=["case", "quoted mail", "hyphenated", "weightless words", "a part of it", "a word before it"],
)
def test_a_text_that_adds_nothing_is_not_taken(copy):
    assert taken(CLAUSE, copy) == [True, False]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("950", "990"),
        ("third", "first"),
        ("six months", "twelve months"),
        ("shall pay", "shall not pay"),
        ("is due", "is never due"),
        ("by the tenant", "by the landlord"),
        ("before the keys", "after the keys"),
        ("Small repairs", "All repairs"),
        ("the landlord", "Mr Vance"),
        ("is paid", "was paid"),
    ],
)
def test_versions_that_disagree_are_both_taken(old, new):
    assert old in CLAUSE
    assert taken(CLAUSE, CLAUSE.replace(old, new, 1)) == [True, True]
    assert taken(CLAUSE.replace(old, new, 1), CLAUSE) == [True, True]


def test_who_owes_whom_is_a_matter_of_order():
    text = "On demand tenant shall inform landlord of all damage in writing and without any further delay of his own"
    other = text.replace("tenant", "x").replace("landlord", "tenant").replace("x", "landlord", 1)
    assert taken(text, other) == [True, True]


@pytest.mark.parametrize("end", [" Valid from 2024.", " Signed by Vance.", " This does not hold for the cellar."])
def test_a_fact_at_the_end_is_something_new(end):
    assert taken(CLAUSE, CLAUSE + end) == [True, True]
    assert taken(CLAUSE + end, CLAUSE) == [True, False], "the longer one says it all"


def test_two_texts_about_the_same_are_both_taken():
    assert taken(CLAUSE, "Rent is due early in the month. Whoever rents the flat pays for small repairs.") == [
        True,
        True,
    ]


def test_short_texts_and_other_scripts():
    assert taken("yes", "Yes!", "no", "", "") == [True, False, True, True, True]
    assert taken("家賃は月初に支払う", "家賃は月末に支払う") == [True, True]
