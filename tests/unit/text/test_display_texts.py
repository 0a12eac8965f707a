"""Lines that say what an index holds, when a document was written, and that files disagree."""

import pytest

from local_rag.core.answer import Conflict, Position
from local_rag.core.documents import Catalog
from local_rag.runtime.export import conflict_line, position_date
from local_rag.text.display import local_iso, local_time, summary, those_there, waiting_line


def test_the_kinds_that_are_not_named_are_counted():
    kinds = (".pdf 1,000", ".txt 3", ".md 3", ".csv 2", ".eml 2", ".rst 2", ".docx 2", ".epub 1")
    line = summary(Catalog(20, 40, files=1_015, kinds=kinds))
    assert line == "1,015 files (.pdf 1,000, .txt 3, .md 3, .csv 2, .eml 2, .rst 2, and 3 others)"
    assert summary(Catalog(1, 1, files=1, kinds=(".md 1",))) == "1 file (.md 1)"


def test_a_moment_is_shown_by_the_clocks_of_this_machine(clocks_in_berlin):
    assert local_time("2025-03-03T09:00Z") == "2025-03-03 10:00 CET"
    assert local_iso("2025-07-03T23:30Z") == "2025-07-04T01:30+02:00"
    assert [local_time(date) for date in ("2025-03", "2025-03-03", "")] == ["2025-03", "2025-03-03", ""]
    assert position_date(Position("x", "2025-07-03T23:30Z", (), "document")) == "2025-07-04"


@pytest.mark.parametrize(("other", "ordered"), [("2024-06-01", False), ("2024-06-01T08:00Z", False), ("2023", True)])
def test_sides_of_the_same_day_are_in_no_order(other, ordered):
    line = conflict_line(Conflict((Position("a", "2024-06-01T09:00Z", ()), Position("b", other, ()))))
    assert ("the newest first" in line) == ordered


def test_what_there_is_instead_is_said_of_any_number():
    there = [those_there(names) for names in ([], ["a"], ["a", "b", "c"])]
    assert there == ["there are none yet", "there is only a", "there are a, b and c"]


def test_what_waits_for_its_vector_is_counted():
    lines = [waiting_line(0, 1457), waiting_line(3, 1457), waiting_line(9, 9)]
    assert lines[0] == "none of 1,457 passages is embedded; all are found by their words only"
    assert lines[1:] == ["3 of 1,457 passages are embedded; the others are found by their words only", ""]
