"""A text that adds nothing to another one, and texts that differ in what matters."""

from __future__ import annotations

import pytest

from local_rag.text.near_duplicates import Distinct

CLAUSE = (
    "The tenant shall pay the rent of 950 euros on the third working day of each month to the account of the landlord. "
    "The deposit is due before the keys are handed over. Small repairs are paid by the tenant, up to 100 euros each."
)


@pytest.mark.parametrize(
    "copy",
    [
        CLAUSE.upper(),
        "> " + CLAUSE.replace(". ", ".\n> "),
        CLAUSE.replace("landlord", "land-\nlord"),
        CLAUSE.replace("to the account", "on an account"),
        CLAUSE[: CLAUSE.index(" Small")],
    ],
    ids=["case", "quoted mail", "hyphenated", "weightless words", "a part of it"],
)
def test_a_text_that_adds_nothing_is_not_taken(copy):
    distinct = Distinct()
    assert [distinct.takes(text) for text in (CLAUSE, copy)] == [True, False]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("950", "990"),
        ("shall pay", "shall not pay"),
        ("before the keys", "after the keys"),
        ("the landlord", "Mr Vance"),
        ("is due", "was due"),
        ("100 euros each.", "100 euros each. Valid from 2024."),
    ],
)
def test_versions_that_disagree_are_both_taken(old, new):
    distinct = Distinct()
    assert [distinct.takes(text) for text in (CLAUSE, CLAUSE.replace(old, new, 1))] == [True, True]


def test_short_texts_and_other_scripts():
    distinct = Distinct()
    texts = ["yes", "Yes!", "no", "家賃は月初に支払う", "家賃は月末に支払う"]
    assert [distinct.takes(text) for text in texts] == [True, False, True, True, True]
