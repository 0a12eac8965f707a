import os
import sys
from pathlib import Path

import pytest
from support.hostile import make_good, make_hostile
from support.permissions import bound_by_permissions

from local_rag.index.store.schema import Root
from local_rag.index.sync import walk as walking
from local_rag.index.sync.ignore_rules import MAX_LINE, MAX_LINES
from local_rag.index.sync.secrets import is_secret_name
from local_rag.index.sync.walk import LEADS_OUT, SECRET
from local_rag.index.sync.walked import Walk

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"


def plant(root: Path, *names: str, text: str = "lamp\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def walk(paths: list[Path], excludes: tuple[str, ...] = (), secrets: bool = False, follow_links: bool = False) -> Walk:
    roots = [Root(str(path), excludes, secrets, follow_links) for path in paths]
    return walking.walk(roots, roots)


def seen(walked: Walk, root: Path) -> list[str]:
    return sorted(Path(path).relative_to(root.resolve()).as_posix() for path in walked.files)


def link(path: Path, target: Path | str, folder: bool = False) -> None:
    try:
        path.symlink_to(target, target_is_directory=folder)
    except OSError:
        pytest.skip("this system lets nobody make symbolic links")


def test_readable_files_sorted_and_the_rest_counted(tmp_path):
    plant(tmp_path, "b.md", "a/x.txt", "a/Makefile", "c.xlsx", "d.XLSX", "e")
    walked = walk([tmp_path])
    assert seen(walked, tmp_path) == ["a/Makefile", "a/x.txt", "b.md"]
    assert walked.ignored == {".xlsx": 2, "(none)": 1}
    assert not walked.skipped and not walked.unseen
    assert all(Path(path).is_absolute() for path in walked.files)


def test_ignore_files_nest_and_the_inner_one_decides(tmp_path):
    plant(
        tmp_path,
        "log/a.txt",
        "log/keep.txt",
        "draft.md",
        "sub/draft.md",
        "sub/other.md",
        "build/x.txt",
        "y/build/z.txt",
    )
    (tmp_path / ".gitignore").write_text("/build/\nlog/*\n!log/keep.txt\ndraft.md\n")
    (tmp_path / "sub" / ".gitignore").write_text("!draft.md\n")
    (tmp_path / "sub" / ".ragignore").write_text("other.md\n")
    assert seen(walk([tmp_path]), tmp_path) == ["log/keep.txt", "sub/draft.md", "y/build/z.txt"]


def test_excludes_have_the_last_word(tmp_path):
    plant(tmp_path, "a.txt", "old/b.txt", "new/c.txt", "new/old.md")
    (tmp_path / "new" / ".gitignore").write_text("!c.txt\n")
    assert seen(walk([tmp_path], excludes=("old/", "c.*")), tmp_path) == ["a.txt", "new/old.md"]


def test_folders_that_nobody_wrote_by_hand_are_left_out(tmp_path):
    plant(
        tmp_path,
        "a.txt",
        "node_modules/m.js",
        "__pycache__/c.py",
        ".git/config.txt",
        ".hidden.txt",
        "x.md~",
        "~$b.docx",
    )
    plant(tmp_path, "env/lib/site.py", "mine/n.txt", "c/d.txt")
    for name, start in MARKERS.items():
        plant(tmp_path, name, text=f"{start}and more\n")
    walked = walk([tmp_path])
    assert seen(walked, tmp_path) == ["a.txt"]
    assert {Path(path).name: why for path, why in walked.marked.items()} == {
        "env": "looks like a virtual environment of Python (pyvenv.cfg)",
        "mine": "looks like an index (index.sqlite)",
        "c": "looks like a cache (CACHEDIR.TAG)",
    }


MARKERS = {
    "env/pyvenv.cfg": "# made by\n  HOME = no\nhome = /usr/bin\n",
    "mine/index.sqlite": "SQLite format 3\0",
    "c/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55",
}


@pytest.mark.parametrize("name", MARKERS)
@pytest.mark.parametrize("text", ["", "Signature: 8a477f597d28d172", "homeless = yes\nSQLite format 3"])
def test_a_file_that_only_has_the_name_of_a_marker_hides_nothing(tmp_path, name, text):
    plant(tmp_path, str(Path(name).parent / "a.txt"))
    plant(tmp_path, name, text=text)
    walked = walk([tmp_path])
    assert f"{Path(name).parent.name}/a.txt" in seen(walked, tmp_path) and not walked.marked


def test_a_root_is_walked_whatever_its_own_name(tmp_path):
    plant(tmp_path, ".notes/a.txt", ".notes/.b.txt", ".notes/index.sqlite")
    assert seen(walk([tmp_path / ".notes"]), tmp_path) == [".notes/a.txt"]


def test_a_root_that_is_a_file_is_taken_whatever_its_suffix(tmp_path):
    plant(tmp_path, "a.strange", "b.txt", ".gitignore", text="b.txt\n")
    assert seen(walk([tmp_path / "a.strange", tmp_path / "b.txt"]), tmp_path) == ["a.strange", "b.txt"]


def test_roots_that_overlap_give_each_file_once(tmp_path):
    plant(tmp_path, "sub/a.txt", "b.txt")
    (tmp_path / ".gitignore").write_text("sub/\n")
    assert seen(walk([tmp_path, tmp_path / "sub", tmp_path / "b.txt"]), tmp_path) == ["b.txt", "sub/a.txt"]


def test_secrets_are_named_and_taken_only_when_asked(tmp_path):
    plant(tmp_path, ".env", ".env.local", ".env.example", "server.pem", "notes.txt")
    plant(tmp_path, "key.txt", text=KEY)
    plant(tmp_path, "about.md", text="A key begins with\n" + KEY)
    names = [".env", ".env.local", "key.txt", "server.pem"]
    walked = walk([tmp_path])
    assert seen(walked, tmp_path) == ["about.md", "notes.txt"]
    assert [(Path(skipped.path).name, skipped.reason) for skipped in walked.skipped] == [
        (name, SECRET) for name in names
    ]
    with_secrets = walk([tmp_path], secrets=True)
    assert seen(with_secrets, tmp_path) == sorted(["about.md", "notes.txt", *names])
    assert not with_secrets.skipped


def test_a_secret_named_as_root_still_has_to_be_asked_for(tmp_path):
    plant(tmp_path, "id_ed25519", text=KEY)
    assert [skipped.reason for skipped in walk([tmp_path / "id_ed25519"]).skipped] == [SECRET]
    assert seen(walk([tmp_path / "id_ed25519"], secrets=True), tmp_path) == ["id_ed25519"]


@pytest.mark.parametrize(
    ("name", "secret"),
    [("ID_RSA", True), ("id_rsa.pub", False), (".env.sample", False), ("credentials", True), ("vault.kdbx", True)],
)
def test_names_of_secrets(name, secret):
    assert is_secret_name(name) is secret


def test_a_root_that_does_not_exist_is_unseen_not_empty(tmp_path):
    plant(tmp_path, "a.txt")
    walked = walk([tmp_path, tmp_path / "disk" / "gone"])
    assert seen(walked, tmp_path) == ["a.txt"]
    assert walked.unseen == {str(tmp_path / "disk" / "gone"): "does not exist, or its disk is not mounted"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows reads every folder")
def test_an_unreadable_folder_is_unseen(tmp_path):
    plant(tmp_path, "a.txt", "locked/b.txt")
    (tmp_path / "locked").chmod(0)
    try:
        walked = bound_by_permissions(lambda: walk([tmp_path]))
    finally:
        (tmp_path / "locked").chmod(0o700)
    assert seen(walked, tmp_path) == ["a.txt"]
    ((path, reason),) = walked.unseen.items()
    assert path == str(tmp_path.resolve() / "locked") and "you have no permission" in reason


def make_pipe(path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(path)


ELSEWHERE = "is a link to a file elsewhere"
UNUSABLE = {
    "a pipe": (make_pipe, "is not a regular file"),
    "a folder": (Path.mkdir, "is not a regular file"),
    "a device": (lambda path: link(path, "/dev/zero"), ELSEWHERE),
    "a link to a file elsewhere": (
        lambda path: link(path, path.parents[2] / "far.txt"),
        "is a link to a file elsewhere",
    ),
    "a link to nothing": (lambda path: link(path, path.parent / "nothing"), "there is no such file"),
    "a circle": (lambda path: link(path, path), ""),
    "too large": (lambda path: path.write_bytes(b"x" * 1_000_001), "is larger than 1.0 MB"),
    "too many lines": (lambda path: path.write_text("x\n" * MAX_LINES), "up to 10,000 lines"),
    "too long a line": (lambda path: path.write_text("x" * (MAX_LINE + 1)), "of 4,096 characters are read"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("name", [".gitignore", ".ragignore"])
def test_an_unusable_ignore_file_closes_its_folder(tmp_path, kind, name):
    root = tmp_path / "root"
    plant(tmp_path, "far.txt", "root/a.txt", "root/sub/b.txt", "root/sub/deep/c.txt")
    make, why = UNUSABLE[kind]
    make(root / "sub" / name)
    walked = walk([root])
    assert seen(walked, root) == ["a.txt"]
    ((path, reason),) = walked.unseen.items()
    assert path == str(root.resolve() / "sub")
    assert reason.startswith(f"{name} in it cannot be used (") and why in reason and "that file" in reason


def test_an_ignore_file_may_be_a_link_within_the_root(tmp_path):
    plant(tmp_path, "a.txt", "b.txt", "sub/b.txt")
    (tmp_path / "rules").write_bytes(b"\xef\xbb\xbfb.txt\r\n")
    link(tmp_path / "sub" / ".ragignore", tmp_path / "rules")
    assert seen(walk([tmp_path]), tmp_path) == ["a.txt", "b.txt"]


def test_links_are_followed_once_and_never_in_a_circle(tmp_path):
    root, far = tmp_path / "root", tmp_path / "far"
    plant(root, "a.txt", "sub/b.txt")
    plant(far, "c.txt", "d.md")
    link(root / "sub" / "up", root, folder=True)
    link(root / "top", tmp_path, folder=True)
    link(root / "far", far, folder=True)
    link(root / "again", far, folder=True)
    link(root / "same.txt", root / "a.txt")
    assert seen(walk([root], follow_links=True), tmp_path) == ["far/c.txt", "far/d.md", "root/a.txt", "root/sub/b.txt"]
    walked = walk([root])
    assert seen(walked, tmp_path) == ["root/a.txt", "root/sub/b.txt"]
    named = [(Path(skipped.path).name, skipped.reason) for skipped in walked.skipped]
    assert named == [("again", LEADS_OUT), ("far", LEADS_OUT)]


def test_a_link_to_a_file_elsewhere_has_to_be_asked_for(tmp_path):
    root = tmp_path / "root"
    plant(tmp_path, "far/c.txt", "far/x.xlsx", "root/a.txt")
    link(root / "c.txt", tmp_path / "far" / "c.txt")
    link(root / "x.xlsx", tmp_path / "far" / "x.xlsx")
    walked = walk([root])
    assert seen(walked, root) == ["a.txt"]
    assert [Path(skipped.path).name for skipped in walked.skipped] == ["c.txt"] and walked.ignored == {".xlsx": 1}
    assert seen(walk([root], follow_links=True), tmp_path) == ["far/c.txt", "root/a.txt"]


def test_a_root_that_is_a_link_is_walked(tmp_path):
    plant(tmp_path, "far/c.txt", "far/sub/d.txt")
    link(tmp_path / "root", tmp_path / "far", folder=True)
    walked = walk([tmp_path / "root"])
    assert seen(walked, tmp_path) == ["far/c.txt", "far/sub/d.txt"] and not walked.skipped


def test_another_root_decides_about_what_a_link_into_it_leads_to(tmp_path):
    plant(tmp_path, "one/a.txt", "two/b.txt", "two/diary.txt")
    link(tmp_path / "one" / "diary.txt", tmp_path / "two" / "diary.txt")
    roots = [Root(str(tmp_path / "one")), Root(str(tmp_path / "two"), ("diary.txt",))]
    walked = walking.walk(roots, roots)
    assert seen(walked, tmp_path) == ["one/a.txt", "two/b.txt"] and not walked.skipped


def test_what_is_excluded_is_not_found_through_a_link_either(tmp_path):
    plant(tmp_path, "a.txt", "private/diary.txt", "sub/b.txt")
    link(tmp_path / "sub" / "note.txt", tmp_path / "private" / "diary.txt")
    link(tmp_path / "sub" / "all", tmp_path / "private", folder=True)
    assert seen(walk([tmp_path], excludes=("/private/",)), tmp_path) == ["a.txt", "sub/b.txt"]


def test_excludes_of_a_root_hold_in_roots_below_it(tmp_path):
    plant(tmp_path, "sub/a.txt", "sub/diary.txt", "sub/keep.txt")
    around = [Root(str(tmp_path), ("diary.txt", "sub/", "keep.txt"))]
    below = Root(str(tmp_path / "sub"), ("!keep.txt",))
    assert seen(walking.walk([below], around), tmp_path) == ["sub/a.txt", "sub/keep.txt"]
    named = Root(str(tmp_path / "sub" / "diary.txt"))
    assert seen(walking.walk([named], around), tmp_path) == ["sub/diary.txt"]


def test_what_a_rule_leaves_out_is_known_by_its_rule(tmp_path):
    plant(tmp_path, "a.log", "b.txt", "old/c.txt", "never.log")
    (tmp_path / ".gitignore").write_text("*.log\n")
    root = Root(str(tmp_path), ("old/",))
    walked = walking.walk([root], [root], {str(tmp_path / "a.log"), str(tmp_path / "old" / "c.txt")})
    assert walked.left_out == {str(tmp_path / "a.log"): ".gitignore: *.log", str(tmp_path / "old"): "--exclude old/"}


def test_a_real_folder_is_entered_under_its_own_rules_first(tmp_path):
    plant(tmp_path, "sub/a.txt", "sub/b.txt")
    (tmp_path / "sub" / ".gitignore").write_text("b.txt\n")
    link(tmp_path / "alias", tmp_path / "sub", folder=True)
    assert seen(walk([tmp_path]), tmp_path) == ["sub/a.txt"]


def test_a_link_to_a_missing_file_keeps_what_it_led_to_unseen(tmp_path):
    root = tmp_path / "root"
    plant(root, "a.txt")
    link(root / "b.txt", tmp_path / "disk" / "b.txt")
    link(root / "c.txt", root / "gone.txt")
    far, near = str(tmp_path.resolve() / "disk" / "b.txt"), str(root.resolve() / "gone.txt")
    assert set(walk([root], follow_links=True).unseen) == {far, near}
    walked = walk([root])
    assert list(walked.unseen) == [near] and [Path(skipped.path).name for skipped in walked.skipped] == ["b.txt"]


def test_hostile_names_are_skipped_and_good_ones_found(tmp_path):
    expected = make_hostile(tmp_path / "bad")
    good = make_good(tmp_path / "good", huge=1000)
    walked = walk([tmp_path])
    assert set(map(str, good)) <= set(walked.files)
    skipped = {Path(entry.path).name: entry.reason for entry in walked.skipped}
    assert skipped.keys() == expected.keys() & {"circle.txt", "pipe.txt"}
    assert all(expected[name] in reason for name, reason in skipped.items())
    assert not walked.unseen
