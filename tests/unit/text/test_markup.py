"""The plain view of a text with markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.text.markup import markup, plain, view_of
from local_rag.text.support import evidence


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("**Landlord:** Margit *Osei*", "Landlord: Margit Osei"),
        ('see [the lease](https://a/b_(c) "Lease") and ![a plan](plan.png)', "see the lease and "),
        ("[![Build](https://a/b.svg)](https://c) Text [#9][issue]", " Text #9"),
        ("{func}`os.dup2`, :pep:`8`, {term}`slotted <slotted classes>`", "os.dup2, 8, slotted"),
        ("`sys.stdout`, ``x = y``, `the page <https://a>`_", "sys.stdout, x = y, the page"),
        ("a <b>bold</b> word<br/><!-- nothing -->", "a bold word"),
        ("matrix[i][j], f[x](y), 5*3 and 4*2, a ** b ** c", "matrix[i][j], f[x](y), 5*3 and 4*2, a ** b ** c"),
        ("__init__ and snake_case_name, _slanted words_", "__init__ and snake_case_name, slanted words"),
        ("It costs 100 [1]. So it does [2, 3].", "It costs 100 [1]. So it does [2, 3]."),
    ],
)
def test_what_is_read_of_a_text(text, read):
    assert plain(text) == read


@given(st.text(alphabet="ab *_`[]()<>{}:!#|\n\\", max_size=60))
def test_every_letter_of_the_view_stands_in_the_text(text):
    view, hidden = view_of(text), {place for start, end in markup(text) for place in range(start, end)}
    assert "".join(text[place] for place in view.positions) == view.text
    assert "".join(letter for place, letter in enumerate(text) if place not in hidden) == view.text


def test_a_plain_quote_of_a_text_with_markup_is_word_for_word_and_stands_where_it_stood():
    passage = "See below. The `cache_hash` option keeps the {func}`hash` of [an object](https://a)."
    found = evidence("The cache_hash option keeps the hash of an object.", passage)
    assert found.exact and found.span.of(passage) == passage[11:]
