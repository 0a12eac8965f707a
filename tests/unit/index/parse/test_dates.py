"""Dates as files write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from local_rag.index.parse.dates import iso_date, iso_time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-03-31", "2023-03-31"),
        ("2023-03-31T09:30:00+02:00", "2023-03-31"),
        ("2023-03-31T09:30Z", "2023-03-31T09:30Z"),
        ("2023/3/7", "2023-03-07"),
        ("20230331", "2023-03-31"),
        ("D:20230331093000+02'00'", "2023-03-31"),
        ("D:20230331", "2023-03-31"),
        ("20230331T093000Z", "2023-03-31"),
        ("D:2023", "2023"),
        ("2023-03", "2023-03"),
        ("28-Feb-2018", "2018-02-28"),
        ("June 17, 2008 [eBook #1342]", "2008-06-17"),
        ("the 3rd of March 1894", "1894-03-03"),
        ("Fri, 16 Dec 2022 17:04:16 -0500", "2022-12-16"),
        ("March, 1994", "1994-03"),
        ("31.3.2023", "2023-03-31"),
        ("3/31/2023", "2023-03-31"),
        ("31/3/2023", "2023-03-31"),
        ("3/4/2023", "2023"),
        ("c. 1890", "1890"),
        ("2023-02-30", "2023"),
    ],
)
def test_a_date_is_as_precise_as_it_is_written(text: str, expected: str) -> None:
    assert iso_date(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "$Date$", "0017-03-31", "D:00010101", "3023-01-01", "9" * 5000, "12:30"])
def test_nonsense_is_no_date(text: str) -> None:
    assert iso_date(text) == ""


def test_the_year_that_comes_is_the_last() -> None:
    now = datetime.now().year
    assert iso_date(f"{now + 1}-01-01") and not iso_date(f"{now + 2}-01-01")


def test_a_moment_is_written_in_utc() -> None:
    there = timezone(timedelta(hours=-5))
    assert iso_time(datetime(2022, 12, 16, 22, 4, 16, tzinfo=there)) == "2022-12-17T03:04Z"
    assert iso_time(datetime(2022, 12, 16, 22, 4, 16)) == "2022-12-16T22:04Z"
    assert (
        iso_time(datetime(1, 1, 1, tzinfo=UTC))
        == iso_time(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=23))))
        == ""
    )
