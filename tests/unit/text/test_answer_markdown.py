"""An answer as Markdown: what its nodes say, and nothing that ends a block, a cell or a code before its time."""

import pytest

from local_rag.core.answer import Answer, Citation
from local_rag.text.answer_markdown import escaped, markdown
from local_rag.text.blocks import blocks


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("It is **4**, *so* ~~5~~.", ""),
        ("2. two\n3. three", ""),
        ("- a\n- b\n  1. c", "* a\n* b\n  1. c"),
        ("> quoted\n> twice", ""),
        ("# Head", "#### Head"),
        ("- a\n\n  ```\n  x\n  ```\n\n  b", "* a\n  ```\n  x\n  ```\n  b"),
        ("| a | b |\n| --- | --- |\n| x \\| y | `1` |", ""),
        ("`` a`b ``", ""),
        ("````\n```\n<img>\n````", ""),
        ("see [here](https://x.org/a) or <https://x.org>", "see here (https://x.org/a) or https://x.org"),
    ],
)
def test_it_is_written_as_a_model_writes_it(written, same):
    assert markdown(blocks(Answer("?", written, "grounded"))) == (same or written)


def test_nothing_of_a_file_begins_a_line_or_is_markup():
    name = "/notes/a\n- [2] <b>.md"
    shown = blocks(
        Answer("?", "Yes.", "grounded", citations=(Citation(1, name, None, "", "a_b\n# x", 0, 9, "", True),))
    )
    assert markdown(shown).splitlines()[2:] == [r"- [1] /notes/a\n- [2] <b>.md: “a_b x”"]
    assert markdown(shown, escaped).splitlines()[2:] == [r"- \[1\] /notes/a\\n- \[2\] \<b\>.md: “a\_b x”"]
