"""The regular expressions of globs match what globs mean."""

from __future__ import annotations

import re
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from local_rag.index.globs import ANY_FOLDERS, ANY_SIGN, STAR, name_regex, path_regex

SIGNS = st.lists(st.sampled_from(["a", "b", STAR, STAR, ANY_SIGN]), max_size=7)
NAMES = st.text("ab", max_size=8)


def matches_name(signs, name):
    """Every way to share a name out among the stars."""

    @cache
    def fits(sign, at):
        if sign == len(signs):
            return at == len(name)
        if signs[sign] == STAR:
            return any(fits(sign + 1, end) for end in range(at, len(name) + 1))
        return at < len(name) and signs[sign] in (name[at], ANY_SIGN) and fits(sign + 1, at + 1)

    return fits(0, 0)


def matches_path(globs, names):
    """Every way to share the folders out among the `**`."""

    @cache
    def fits(glob, at):
        if glob == len(globs):
            return at == len(names)
        if globs[glob] == ANY_FOLDERS:
            return any(fits(glob + 1, end) for end in range(at, len(names) + 1))
        return at < len(names) and matches_name(globs[glob], names[at]) and fits(glob + 1, at + 1)

    return fits(0, 0)


@given(signs=SIGNS, name=NAMES)
def test_a_name(signs, name):
    assert bool(re.fullmatch(name_regex(signs), name)) == matches_name(tuple(signs), name)


@given(
    globs=st.lists(st.one_of(st.just(ANY_FOLDERS), SIGNS.map(tuple)), max_size=5),
    last=SIGNS.map(tuple),
    names=st.lists(NAMES, min_size=1, max_size=6),
)
def test_a_path(globs, last, names):
    globs = [*globs, last]
    regex = path_regex([glob if glob == ANY_FOLDERS else name_regex(glob) for glob in globs])
    assert bool(re.fullmatch(regex, "/".join(names))) == matches_path(tuple(globs), tuple(names))
