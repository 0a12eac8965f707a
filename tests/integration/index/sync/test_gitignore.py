"""Patterns of .gitignore decide as git does, whoever wrote them, and take no time to do so."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from local_rag.index.sync.ignore import MAX_STARS, Pattern, Rules
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
    for command in (["init", "-q"], ["config", "core.ignorecase", "false"]):
        subprocess.run(["git", *command], cwd=folder, check=True, timeout=60)
    return folder


def ignored_by_git(repository):
    """Those of the tree that git ignores."""
    names = "\0".join([*TREE, *FOLDERS]).encode()
    command = ["git", "check-ignore", "-z", "--stdin", "--no-index"]
    told = subprocess.run(command, cwd=repository, input=names, capture_output=True, check=False, timeout=60)
    assert told.returncode in (0, 1), told.stderr
    return set(told.stdout.decode().split("\0")) - {""}


def ignored(repository):
    """Those of the tree that our rules ignore, from the outermost folder on."""
    above = Rules().within(repository, {".gitignore"})
    below = above.within(repository / "d", {".gitignore"})
    gone = set()
    for name in [*FOLDERS, *TREE]:
        rules = below if name.startswith("d/") else above
        if {*map(str, Path(name).parents)} & gone or rules.why_ignored(repository / name, name in FOLDERS):
            gone.add(name)
    return gone


def same(repository, outer, inner=()):
    for folder, lines in ((repository, outer), (repository / "d", inner)):
        (folder / ".gitignore").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    assert ignored(repository) == ignored_by_git(repository)


# pathspec reads otherwise: [!a] beside a /, [[:alpha:]], \ in brackets, three stars at once, blanks before the last /.
# Git before 2.41 compares addresses of memory to tell what stars behind a letter mean. Nobody writes any of these.
names = st.lists(
    st.sampled_from([*"abdex.*?- ", "[ab]", "[a-d]", "\\*"]), min_size=1, max_size=4,
).map("".join)  # fmt: skip
ODD = re.compile(r"\*\*\*|[^/!]\*\*|\*\*[^/ ]| /\s*$")
lines_of_git = st.builds(
    lambda sign, slash, parts, end: sign + slash + "/".join(parts) + end,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(st.one_of(names, st.just("**")), min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", "/*", " ", "\r"]),
).filter(lambda line: not ODD.search(line) and line.count("*") <= MAX_STARS)
some_lines = st.lists(lines_of_git, max_size=4)


@given(outer=some_lines, inner=some_lines)
@example(outer=["*", "!*/", "!*.md"], inner=[])
@example(outer=["d/**", "!d/e/"], inner=["!a"])
@example(outer=["d/*", "!d/d/", "d", "!d/"], inner=["d"])
@example(outer=["[ab", "[z-a]", "\\", "/", "!", "[]", "a[!-]b", "[!a]"], inner=["[^a]", "[]-]b", "", "  ", "a\\"])
@example(outer=["\\#a", "\\!a", "#b", "a\\ "], inner=["a//", "//a"])
def test_what_git_ignores_is_ignored(repository, outer, inner):
    same(repository, outer, inner)


@pytest.mark.parametrize("name", ["a", "d/a", "a b", "a[b]", "*", "#a", "!a", "a ", "a\\b", "d/e"])
def test_an_escaped_name_is_the_only_one_that_it_leaves_out(repository, name):
    same(repository, [f"/{escaped(name)}"])
    assert ignored(repository) == {each for each in [*TREE, *FOLDERS] if each == name or each.startswith(f"{name}/")}


@pytest.mark.parametrize("line", ["*a*a*a*b", "/a/**/b/**/*c*", "**/*a*/**/*b*/**", "*a" * 60])
def test_a_pattern_with_many_stars_is_refused(line):
    with pytest.raises(ValueError, match="up to 3 stars"):
        Pattern.of(line)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("*a*a*b", "a" * 255),
        ("[a]*[a]*[a]*[b]", "a" * 255),
        ("**/a/**/a/**/*b", "a/" * 300 + "a"),
        ("?" * 200 + "b", "a" * 255),
        ("\\*" * 60 + "b", "*" * 255),
    ],
)
def test_the_others_end(line, path):
    assert not Pattern.of(line).matches(path, False)
