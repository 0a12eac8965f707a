"""Test which values a narrowing accepts and refuses, and how it describes itself."""

from datetime import date
from pathlib import Path

import pytest

from local_rag.core.documents import Narrowing, first_day
from local_rag.core.errors import UsageError


def test_a_partial_date_is_its_first_day():
    assert [first_day(day) for day in ("2023", "2023-03", "2023-03-31", "2023-03-31T09:30Z")] == [
        "2023-01-01",
        "2023-03-01",
        "2023-03-31",
        "2023-03-31",
    ]


@pytest.mark.parametrize("day", ["31.3.2023", "2023-13", "2023-02-30", "23", "0000", "2023-3", "yesterday"])
def test_what_is_no_date_is_refused_in_one_line(day):
    with pytest.raises(UsageError, match="--after takes a date as 2023, 2023-03 or 2023-03-31") as caught:
        Narrowing(after=day)
    assert day in str(caught.value) and Narrowing(after=caught.value.hint.split()[1])


def test_dates_between_which_there_is_none_are_refused():
    for before in ("2023", "2023-01-01", "2022"):
        with pytest.raises(UsageError, match=f"no date is from 2023 on and before {before}"):
            Narrowing(after="2023", before=before)
    assert Narrowing(after="2023", before="2023-01-02")


def test_what_a_program_has_for_dates_files_and_single_values_is_taken():
    narrowing = Narrowing(within=Path("notes"), after=date(2023, 3, 31), types=".PDF", authors=["Ann Lee"])
    assert narrowing == Narrowing(("notes",), "2023-03-31", "", ("pdf",), ("Ann Lee",))
    assert Narrowing.of("notes") == Narrowing.of(["notes"]) == Narrowing(within="notes")
    assert not Narrowing.of(None) and not Narrowing.of(())
    with pytest.raises(UsageError, match="--type takes a text, not 7"):
        Narrowing(types=[7])


def test_it_is_described_as_a_sentence_has_it():
    narrowing = Narrowing(("my notes",), "2023", "2024-06", ("pdf", "md"), ("Ann Lee",))
    assert narrowing.described() == "in my notes of type pdf or md by Ann Lee dated since 2023 and before 2024-06"
    assert narrowing == Narrowing(**narrowing.conditions)
