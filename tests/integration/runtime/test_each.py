"""One question to many files: the rows, what is kept of them, and that it goes on where it was stopped."""

import csv
import io

import pytest
from support.garden import enter

from local_rag.core.cancel import Cancel
from local_rag.core.errors import Stopped, UsageError
from local_rag.runtime.each import WRITTEN, rows_of
from local_rag.runtime.rag import Rag

pytestmark = pytest.mark.usefixtures("converted")

LEASES = {
    "a.md": "# Lease of a flat\n\nThe lease ends on 31 May 2027.\n\nThe notice period is three months.\n",
    "b.md": "# Lease of a shed\n\nIt runs from today until 30 June 2026.\n\n=2+3 | The shed is [green].\n",
    "c.md": "# Lease of a boat\n\nThe boat is painted blue every spring.\n",
}
QUESTION = "When does it end, and what is the notice period?"


@pytest.fixture
def leases(tmp_path, monkeypatch):
    enter(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leases").mkdir()
    for name, text in LEASES.items():
        (tmp_path / "leases" / name).write_text(text)
    return tmp_path / "leases"


def rows(rag, within=("leases",), question=QUESTION):
    answers = [*rag.each(question, within)]
    return rows_of(answers, lambda path: path.rpartition("/")[2]), [answer.kept for answer in answers]


def test_each_file_is_asked_alone_for_each_part_and_what_it_does_not_say_is_said(leases):
    with Rag.from_files(["leases"], index="leases") as rag:
        asked, _ = rows(rag)
        assert [(row["file"], row["question"]) for row in asked[:2]] == [
            ("a.md", "When does it end?"),
            ("a.md", "What is the notice period?"),
        ]
        assert [row["answer"] for row in asked] == [
            "The lease ends on 31 May 2027.",
            "The notice period is three months.",
            "It runs from today until 30 June 2026.",
            *["does not say"] * 3,
        ]
        assert (asked[0]["quote"], asked[0]["certainty"], asked[3]["certainty"]) == (asked[0]["answer"], "sure", "")
        with pytest.raises(UsageError, match="no indexed file matches"):
            rows(rag, ["nothing/*"])


@pytest.mark.slow
def test_what_was_answered_is_kept_until_the_file_changes_and_a_stopped_question_goes_on(leases):
    two = ["leases/a.md", "leases/b.md"]
    with Rag.from_files(["leases"], index="leases") as rag:
        stop = Cancel()
        first = rag.each(QUESTION, two, cancel=stop)
        next(first)
        first.close()
        before, kept = rows(rag, two)
        assert kept[:2] == [True, True]
        assert rows(rag, two) == (before, [True] * 4)
        stop.stop()
        with pytest.raises(Stopped):
            next(rag.each("What is painted?", two, cancel=stop))
    (leases / "a.md").write_text(LEASES["a.md"].replace("2027", "2030"))
    with Rag.from_files(["leases"], index="leases") as rag:
        after, kept = rows(rag, two)
        assert kept == [False, False, True, True] and after[0]["answer"] == "The lease ends on 31 May 2030."


def test_the_table_is_written_as_markdown_and_csv_without_formulas_and_markup():
    head = "file,question,answer,quote,place,certainty"
    asked = dict.fromkeys(head.split(","), "b.md") | {"answer": "=2+3 | [green]"}
    (row,) = csv.DictReader(io.StringIO(WRITTEN["csv"]([asked])))
    assert row["answer"] == "'=2+3 | [green]" and row["file"] == "b.md"
    titles, _, line = WRITTEN["markdown"]([asked]).splitlines()
    assert titles == f"| {head.replace(',', ' | ')} |" and r"\| \[green\]" in line
    assert WRITTEN["csv"]([]).strip() == head
