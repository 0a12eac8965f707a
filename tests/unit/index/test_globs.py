"""The regular expressions of globs match what globs mean: here plain ones, which try every way, say so."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from local_rag.index.globs import ANY_FOLDERS, ANY_SIGN, STAR, name_regex, path_regex

SIGNS = st.lists(st.sampled_from(["a", "b", STAR, STAR, ANY_SIGN]), max_size=7)


def plain(signs):
    return "".join("[^/]*" if sign == STAR else sign for sign in signs)


@given(
    globs=st.lists(st.one_of(st.just(ANY_FOLDERS), SIGNS), max_size=5),
    last=SIGNS,
    names=st.lists(st.text("ab", max_size=8), min_size=1, max_size=6),
)
def test_a_path(globs, last, names):
    folders = "".join("(?:[^/]*/)*" if glob == ANY_FOLDERS else f"{plain(glob)}/" for glob in globs)
    regex = path_regex([glob if glob == ANY_FOLDERS else name_regex(glob) for glob in [*globs, last]])
    expected = re.fullmatch(folders + plain(last), "/".join(names))
    assert bool(re.fullmatch(regex, "/".join(names))) == bool(expected)
