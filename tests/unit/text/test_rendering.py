"""The text of a file as nodes: each kind, and what is quoted marked wherever it stands."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.text.test_nodes import SIGNS, assert_allowed, every, plain_text

from local_rag.text.rendering import rendered

MARKDOWN = """---
title: Plan
---
# The **plan** { #plan }

\U0001f600 It has `code`, a [link](https://a.test/b), a [file](other.md), ![a picture](x.png) and <b>HTML</b>.

- one *item*
- two **items** here

> quoted words
> of two lines

```python
def cost():
    return 1
```

Name | Age | City
Ada | Age: 36 | City: **London**
Bo | City: Rome

<div><p>Words in HTML</p></div>
"""
RST = """=====
 Plan
=====

Author: Ada

The ``rent`` of :pep:`8` is **900
euros**, see `the site <https://a.test/b>`_ and `Prices`_ of __init__ [1]_.

Prices
------

- one *item*
  of two lines

  #. inner::

       x = '``'

- last

.. _target:
.. note:: Words of
   a note

>>> 1 + 1
2

==== ====
A    B
==== ====
1    ``2``
==== ====
"""
NOTEBOOK = "# Costs\n\nIt is ~~800~~ **900**.\n\n```\nprint(1)\n```"
SHEET = "Costs\nItem | Price | Note\nRoof | Price: 400\nDoor | Price: 90 | Note: *red*"
PAGE = "A title\n\nSome words\non two lines.\n\n- first\n- second\n\nThe `end`."


def of_kind(nodes, *kinds):
    return [plain_text([node]) for node in every(nodes) if node["t"] in kinds]


def links(nodes):
    return [node["href"] for node in every(nodes) if node["t"] == "link"]


def read(text, suffix, quote="", headings=()):
    start = text.index(quote) if quote else 0
    return rendered(text, suffix, headings, 0, len(text), [(start, start + len(quote))]).nodes


@pytest.mark.parametrize(
    ("text", "suffix", "quote", "marked"),
    [
        (MARKDOWN, ".md", "# The **plan**", ["The ", "plan"]),
        (MARKDOWN, ".md", "It has `code`, a [link](https://a.test/b)", ["It has ", "code", ", a ", "link"]),
        (MARKDOWN, ".md", "<b>HTML</b>", ["HTML"]),
        (MARKDOWN, ".md", "- one *item*\n- two **items**", ["one ", "item", "two ", "items"]),
        (MARKDOWN, ".md", "quoted words\n> of two", ["quoted words of two"]),
        (MARKDOWN, ".md", "def cost():\n    return", ["def cost():\n    return"]),
        (MARKDOWN, ".md", "Age: 36 | City: **London**", ["36", "London"]),
        (MARKDOWN, ".md", "Rome", ["Rome"]),
        (MARKDOWN, ".md", "Words in HTML", ["Words in HTML"]),
        (MARKDOWN, ".md", "title: Plan", ["title: Plan"]),
        (SHEET, ".csv", "Roof | Price: 400", ["Roof", "400"]),
        (PAGE, ".html", "words\non two", ["words\non two"]),
        (PAGE, ".html", "- first\n- second", ["first", "second"]),
        ("x = 1\ny = '**'", "code", "y = '**'", ["y = '**'"]),
        (NOTEBOOK, ".ipynb", "is ~~800~~ **900**", ["is ", "800", " ", "900"]),
        ("- **a**\n# b | c | d", "text", "**a**\n# b", ["**a**\n# b"]),
        (RST, ".rst", "``rent`` of :pep:`8` is **900\neuros**", ["rent", " of PEP 8 is ", "900 euros"]),
        (RST, ".rst", "the site <https://a.test/b>`_ and `Prices`_", ["the site", " and Prices"]),
        (RST, ".rst", "item*\n  of two", ["item", " of two"]),
        (RST, ".rst", "x = '``'", ["x = '``'"]),
        (RST, ".rst", "Words of\n   a", ["Words of a"]),
        (RST, ".rst", "1    ``2``", ["1    2"]),
    ],
)
def test_a_quote_is_marked_in_the_nodes_of_its_text(text, suffix, quote, marked):
    nodes = read(text, suffix, quote, {0})
    assert of_kind(nodes, "mark") == marked


def test_markdown_is_read_without_its_markup():
    nodes = read(MARKDOWN, ".md")
    assert not [sign for sign in ("**", "`", "#", "](", "<", "---") if sign in plain_text(nodes)]
    assert of_kind(nodes, "h") == ["The plan"] and of_kind(nodes, "li") == ["one item", "two items here"]
    assert links(nodes) == ["https://a.test/b"]
    assert of_kind(nodes, "th") == ["Name", "Age", "City"]
    assert of_kind(nodes, "td") == ["Ada", "36", "London", "Bo", "", "Rome"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("A sentence\nof two lines.", ["A sentence of two lines."]),
        ("A term\n  and what\n  it means.", ["A term", "and what it means."]),
        ("PEP: 1\nTitle: Of lines\nthat go on\nAuthor: Ada", ["PEP: 1", "Title: Of lines that go on", "Author: Ada"]),
    ],
)
def test_a_line_of_a_sentence_goes_on_and_one_of_fields_or_terms_ends(text, lines):
    (paragraph,) = read(text, ".rst")
    assert [node.get("s", "br") for node in paragraph["c"]] == "\nbr\n".join(lines).split("\n")


def test_restructured_text_is_read_without_its_markup():
    nodes = read(RST, ".rst", headings={0, RST.index("Prices\n")})
    assert of_kind(nodes, "h") == ["Plan", "Prices"] and of_kind(nodes, "code") == ["rent"]
    assert of_kind(nodes, "pre") == [
        "x = '``'",
        ">>> 1 + 1\n2",
        RST[RST.index("==== ") :].strip().replace("``2``", "2    "),
    ]
    assert of_kind(nodes, "p") == [
        "Author: Ada",
        "The rent of PEP 8 is 900 euros, see the site and Prices of __init__ [1].",
        "one item of two lines",
        "last",
        "note: Words of a note",
    ]
    assert links(nodes) == ["https://a.test/b"]
    assert [node["t"] for node in every(nodes) if node["t"] in ("ul", "ol")] == ["ul", "ol"]


def test_rows_are_a_table_from_the_middle_on_too():
    assert of_kind(read(SHEET, ".csv", headings={0}), "h", "th") == ["Costs", "Item", "Price", "Note"]
    start = SHEET.index("Door")
    (table,) = rendered(SHEET, ".csv", {0}, start, len(SHEET)).nodes
    assert (table["t"], of_kind([table], "td")) == ("table", ["Door", "90", "*red*"])


@pytest.mark.parametrize(("text", "suffix", "inside"), [(MARKDOWN, ".md", "quoted"), (RST, ".rst", "of two")])
def test_the_blocks_of_a_window_join_to_the_whole(text, suffix, inside):
    middle = text.index(inside)
    first, last = (rendered(text, suffix, {0}, *window) for window in ((0, middle), (middle, len(text))))
    rest = rendered(text, suffix, {0}, first.end, len(text))
    assert first.end == rest.start and last.start < middle
    assert first.nodes + rest.nodes == read(text, suffix, headings={0})


@settings(max_examples=2 * settings().max_examples)
@given(SIGNS, st.sampled_from([".md", ".csv", ".rst", "text", "code"]), *[st.integers(0, 80)] * 4)
def test_whatever_goes_in_only_allowed_nodes_come_out(text, suffix, start, length, begin, size):
    part = rendered(text, suffix, {0}, start, start + length, [(begin, begin + size)])
    assert_allowed(part.nodes)
