import sys
from pathlib import Path

import pytest
from support.hostile import make_good, make_hostile
from support.permissions import bound_by_permissions

from local_rag.index.store.schema import Root
from local_rag.index.sync import walk as walking
from local_rag.index.sync.walk import SECRET, Walk, is_secret_name

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"


def plant(root: Path, *names: str, text: str = "lamp\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def walk(paths: list[Path], excludes: tuple[str, ...] = (), secrets: bool = False) -> Walk:
    return walking.walk([Root(str(path), excludes, secrets) for path in paths])


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
    plant(tmp_path, "env/pyvenv.cfg", "env/lib/site.py", "mine/index.sqlite", "mine/n.txt", "c/CACHEDIR.TAG", "c/d.txt")
    assert seen(walk([tmp_path]), tmp_path) == ["a.txt"]


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
    assert path == str(tmp_path.resolve() / "locked") and "Permission denied" in reason


def test_an_unreadable_ignore_file_makes_its_folder_unseen(tmp_path):
    plant(tmp_path, "a.txt", "sub/b.txt")
    (tmp_path / "sub" / ".gitignore").mkdir()
    walked = walk([tmp_path])
    assert seen(walked, tmp_path) == ["a.txt"]
    assert list(walked.unseen) == [str(tmp_path.resolve() / "sub")]


def test_links_are_followed_once_and_never_in_a_circle(tmp_path):
    root, far = tmp_path / "root", tmp_path / "far"
    plant(root, "a.txt", "sub/b.txt")
    plant(far, "c.txt", "d.md")
    link(root / "sub" / "up", root, folder=True)
    link(root / "top", tmp_path, folder=True)
    link(root / "far", far, folder=True)
    link(root / "again", far, folder=True)
    link(root / "same.txt", root / "a.txt")
    assert seen(walk([root]), tmp_path) == ["far/c.txt", "far/d.md", "root/a.txt", "root/sub/b.txt"]


def test_a_real_folder_is_entered_under_its_own_rules_first(tmp_path):
    plant(tmp_path, "sub/a.txt", "sub/b.txt")
    (tmp_path / "sub" / ".gitignore").write_text("b.txt\n")
    link(tmp_path / "alias", tmp_path / "sub", folder=True)
    assert seen(walk([tmp_path]), tmp_path) == ["sub/a.txt"]


def test_a_link_to_a_missing_file_keeps_what_it_led_to_unseen(tmp_path):
    plant(tmp_path, "a.txt")
    link(tmp_path / "b.txt", tmp_path / "disk" / "b.txt")
    assert list(walk([tmp_path]).unseen) == [str(tmp_path.resolve() / "disk" / "b.txt")]


def test_hostile_names_are_skipped_and_good_ones_found(tmp_path):
    expected = make_hostile(tmp_path / "bad")
    good = make_good(tmp_path / "good", huge=1000)
    walked = walk([tmp_path])
    assert set(map(str, good)) <= set(walked.files)
    skipped = {Path(entry.path).name: entry.reason for entry in walked.skipped}
    assert skipped.keys() == expected.keys() & {"circle.txt", "pipe.txt"}
    assert all(expected[name] in reason for name, reason in skipped.items())
    assert not walked.unseen
