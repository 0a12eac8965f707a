"""Patterns of .gitignore decide as git does, whoever wrote them, and take no time to do so."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from local_rag.index.sync.gitignore import Patterns, parse
from local_rag.index.sync.ignore_rules import Rules
from local_rag.index.sync.roots import escaped

TREE = [
    "a", "b", "ab", "abb", "a b", "a-b", "a[b]", "*", "#a", "!a", "a ", "x.md", "x.txt", ".b", "a\\b",
    "d/a", "d/b", "d/ab", "d/d/a", "d/d/x.md", "d/e/a", "d/e/d/b", "e/d/a", "e/a/b", "e/x.txt", "e/d/e/d/a",
]  # fmt: skip
FOLDERS = sorted({str(parent) for name in TREE for parent in Path(name).parents} - {"."})


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A folder in which git says what it ignores."""
    if shutil.which("git") is None:
        pytest.skip("there is no git to compare with")
    folder = tmp_path_factory.mktemp("repository")
    for name in TREE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            (folder / name).touch()
        except OSError:
            pytest.skip("this system does not allow all names")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True, timeout=60)
    subprocess.run(["git", "config", "core.ignorecase", "false"], cwd=folder, check=True, timeout=60)
    return folder


def write_lines(file, lines):
    file.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")


def ignored_by_git(repository, lines):
    """Those of the tree that git ignores."""
    write_lines(repository / ".gitignore", lines)
    names = "\0".join([*TREE, *FOLDERS]).encode()
    command = ["git", "check-ignore", "-z", "--stdin", "--no-index"]
    told = subprocess.run(command, cwd=repository, input=names, capture_output=True, check=False, timeout=60)
    assert told.returncode in (0, 1), told.stderr
    return set(told.stdout.decode().split("\0")) - {""}


def ignored(lines):
    """Those of the tree that our patterns ignore, from the outermost folder on."""
    patterns = Patterns([line.removesuffix("\r") for line in lines])
    gone = set()
    for name in [*FOLDERS, *TREE]:
        for path in [*reversed(Path(name).parents), Path(name)]:
            if str(path) != ".":
                decides = patterns.deciding(path.as_posix(), path.as_posix() in FOLDERS)
                if decides is not None and decides.ignores:
                    gone.add(name)
                    break
    return gone


names = st.lists(
    st.sampled_from([*"abdex.*?- ", "**", "[ab]", "[!a]", "[a-d]", "[^[:alpha:]]", "\\*"]),
    min_size=1,
    max_size=4,
).map("".join)  # fmt: skip
GLUED = re.compile(r"[^/!*]\*\*")
"""Stars right behind a letter: git before 2.41 compares addresses of memory to tell what they mean."""

lines_of_git = st.builds(
    lambda sign, slash, parts, end: sign + slash + "/".join(parts) + end,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(st.one_of(names, st.just("**")), min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", "/*", " ", "\\ ", "\r"]),
).filter(lambda line: not GLUED.search(line))


@given(lines=st.lists(lines_of_git, min_size=1, max_size=4))
@example(lines=["a[[:digit:]-]b", "a[]-]b", "a[!]", "[[:nonsense:]]", "[]", "[z-a]", "\\"])
@example(lines=["*", "!*/", "!*.md"])
@example(lines=["d/**", "!d/e/"])
@example(lines=["d[/]a", "d\\/a", "**/d/**/a"])
@example(lines=["\\#a", "\\!a", "#b", "a\\ ", "/"])
@example(lines=["***", "!**/a", "/***/b"])
def test_what_git_ignores_is_ignored(repository, lines):
    assert ignored(lines) == ignored_by_git(repository, lines)


@given(text=st.text(alphabet="ab*?[]!^-\\/:# ", max_size=12).filter(lambda line: not GLUED.search(line)))
def test_any_line_is_read_as_git_reads_it(repository, text):
    assert ignored([text]) == ignored_by_git(repository, [text])


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("a**/**", {"a", "ab", "a/b", "ax/y/z"}, {"b", "b/a"}),
        ("a**/b", {"ab", "a/b", "ax/b", "a/x/b"}, {"b", "a/bc"}),
        ("d/a**/b", {"d/ab", "d/a/b", "d/ax/y/b"}, {"a/b", "d/b"}),
        ("/a**", {"a", "ab", "a/b"}, {"ba"}),
    ],
)
def test_stars_behind_letters_mean_what_they_mean_to_git_since_2_41(pattern, fitting, others):
    assert {path for path in fitting | others if parse(pattern).matches(path, is_folder=False)} == fitting


@given(outer=st.lists(lines_of_git, min_size=1, max_size=3), inner=st.lists(lines_of_git, min_size=1, max_size=3))
def test_ignore_files_in_folders_below_decide_as_in_git(repository, outer, inner):
    write_lines(repository / "d" / ".gitignore", inner)
    try:
        by_git = ignored_by_git(repository, outer)
        above = Rules().within(repository, {".gitignore"}, None)
        below = above.within(repository / "d", {".gitignore"}, None)
    finally:
        (repository / "d" / ".gitignore").unlink()
    gone = set()
    for name in [*FOLDERS, *TREE]:
        rules = below if name.startswith("d/") else above
        parents = {str(parent) for parent in Path(name).parents}
        if parents & gone or rules.why_ignored(repository / name, name in FOLDERS):
            gone.add(name)
    assert gone == by_git


@pytest.mark.parametrize("name", ["a", "d/a", "a b", "a[b]", "*", "#a", "!a", "a ", "a\\b", "d/e"])
def test_an_escaped_name_is_the_only_one_that_it_leaves_out(repository, name):
    pattern = f"/{escaped(name)}"
    below = {each for each in [*TREE, *FOLDERS] if each.startswith(f"{name}/")}
    assert ignored([pattern]) == ignored_by_git(repository, [pattern]) == {name} | below


@pytest.mark.parametrize("line", ["", "  ", "# a", "/", "!", "[a", "a\\"])
def test_lines_that_match_nothing_are_no_patterns(line):
    assert parse(line) is None


HOSTILE = [
    ("*a" * 60 + "b", "a" * 255),
    ("**/*a*a*a*a*a*a*a*b/**/*a*a*a*a*b", "/".join(["a" * 100] * 20)),
    ("**/a/" * 30 + "b", "a/" * 1000 + "a"),
    ("?*" * 100 + "b", "a" * 255),
    ("[a]*" * 100 + "[b]", "a" * 255),
    ("**/" * 200 + "*a*a*a*b", "a/" * 500 + "a" * 200),
]


@pytest.mark.parametrize(("line", "path"), HOSTILE)
def test_no_pattern_is_tried_in_every_way(line, path):
    """Each of these took a translation into a plain regular expression longer than anybody waits."""
    assert Patterns([line, f"x{line}"]).deciding(path, False) is None
    assert Patterns([line]).deciding(path + "b", False) is None or not line.endswith("a")
