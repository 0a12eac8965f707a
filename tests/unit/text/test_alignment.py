"""Which parts of a passage are quoted word for word."""

from __future__ import annotations

import pytest

from local_rag.text.support import evidence

MAIL = "Subject: mail 1\nFrom: Bob <bob@x.org>\nTo: ann@x.org\n\nDear Ann, the board met."


@pytest.mark.parametrize(
    ("sentence", "passage", "located"),
    [
        ("From: Bob <bob@x.org>", MAIL, "exact"),
        ("title: The Lighthouse of Skerry Point", "title: The Lighthouse of Skerry Point\nauthor: Ann\n", "near"),
        ("Authors: Ann Lee, Bob May", "Title: Boats\nAuthors: Ann Lee,\n   Bob May\nStatus: Final\n", "exact"),
        # a line that goes on says more than its part
        ("Result: the board approved the plan", "Result: the board approved the plan\nonly in part.\n", "near"),
        ("Result: the plan of the board", "Result: the plan of the board was rejected.\n", "near"),
    ],
)
def test_a_labelled_line_is_found_word_for_word(sentence, passage, located):
    assert evidence(sentence, passage).located == located
