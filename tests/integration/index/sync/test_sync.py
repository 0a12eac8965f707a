"""A sync takes in what changed, forgets what is gone, keeps what it cannot see, and survives being stopped."""

import os
import shutil
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from support.fakes_index import indexed
from support.files import done, load_shouted, told
from support.hostile import make_zip
from support.marks import posix
from support.processes import bound_by_permissions

from local_rag.core import cancel
from local_rag.core.documents import MEMBER, LoadedDocument
from local_rag.core.errors import Stopped, UsageError
from local_rag.index.parse import loaders
from local_rag.index.parse.parsed_file import ParsedFile
from local_rag.index.parse.parser import Parser
from local_rag.index.sync import read, text
from local_rag.index.sync.ignore import SECRET


class Notes:
    """A folder of three notes with an index of it: what a person does there, and what a sync says, in a line."""

    def __init__(self, folder, patched, place=None):
        self.folder, self.patched, self.parsed = folder / "notes", patched, []
        for name in ("a.txt", "b.txt", "sub/c.txt"):
            self.write(name, f"The file {Path(name).stem} is about its own letter.")
        self.index = indexed(place or folder / "index", {})
        parse = Parser.parse
        patched.setattr(Parser, "parse", lambda parser, path: self.parsed.append(path.name) or parse(parser, path))

    def path(self, name):
        return Path(os.path.normpath(self.folder / name))

    def write(self, name, content, disguised=False):
        """A file; `disguised`: with the time of change that it had."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        at = path.stat().st_mtime_ns if disguised else time.time_ns()
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(path, ns=(at, at))

    def plant(self, names):
        """Files of which each is about its own name."""
        for name in names.split():
            self.write(name, f"A note named {name}.")

    def zip(self, name, names):
        texts = {each: KEY if "key" in each else f"A note, {each}." for each in names.split()}
        make_zip(self.path(name), {each: text.encode() for each, text in texts.items()})

    def rename(self, old, new):
        self.path(old).rename(self.path(new))

    def delete(self, name):
        path = self.path(name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def link(self, name, target):
        link(self.path(name), target)

    def age(self):
        """As if the files had been indexed an hour after their last change, so that their times prove something."""
        with closing(sqlite3.connect(self.index.path / "index.sqlite")) as db, db:
            db.execute("UPDATE files SET indexed_at = indexed_at + 3600")

    def another_parser(self):
        for module in (read, text):
            self.patched.setattr(module, "parser_version", lambda: "another")

    def remove(self, *names):
        assert self.index.remove([self.path(name) for name in names])

    def keep_out(self, *names):
        self.index.keep_out([self.path(name) for name in names])

    def sync(self, expected, *names, **options):
        self.parsed.clear()
        report = self.index.sync([self.path(name) for name in names] or None, **options)
        assert told(report, self.name, len(self.parsed)) == expected
        assert report.not_embedded == 0 and self.index.has_forgotten() and self.index.verify(deep=True)

    def inside(self, *names):
        """What the index holds of the files in files."""
        assert [path.partition(MEMBER)[2] for path in self.index.store.paths() if MEMBER in path] == list(names)

    def unreadable(self, *names):
        assert list(map(self.name, self.index.store.failures())) == list(names)

    def name(self, path):
        return os.path.relpath(path, self.folder)


def link(path, target):
    try:
        path.symlink_to(target)
    except OSError:
        pytest.skip("this system lets nobody make symbolic links")


@pytest.fixture
def notes(tmp_path, monkeypatch):
    made = Notes(tmp_path, monkeypatch)
    yield made
    made.index.close()


KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"

OWN = {".xyz": load_shouted, ".md": load_shouted}
STEPS = {
    "files come, change and go, and only the content counts": [
        ["write", "a.txt", "Now it is about whales."],
        ["write", "d.txt", "A fourth file."],
        ["delete", "b.txt"],
        ["sync", "new d.txt, updated a.txt, removed b.txt, unchanged 1, parsed 2"],
        ["write", "d.txt", "A fourth file."],
        ["sync", "unchanged 3"],
    ],
    "files that change places are seen, though their sizes and dates stay": [
        ["age"],
        ["rename", "a.txt", "between"],
        ["rename", "b.txt", "a.txt"],
        ["rename", "between", "b.txt"],
        ["sync", "updated a.txt b.txt, unchanged 1, reused 2, parsed 2"],
    ],
    "a change of the same size that sets the date back is seen": [
        ["write", "a.txt", "The file a is about its own LETTER.", {"disguised": True}],
        ["sync", "updated a.txt, unchanged 2, parsed 1"],
        ["age"],
        ["write", "a.txt", "The file a is about its own better.", {"disguised": True}],
        ["sync", "updated a.txt, unchanged 2, parsed 1"],
    ],
    "a file that breaks does not answer, and is tried again when that may help": [
        ["write", "a.txt", bytes(range(256)) * 8],
        ["sync", "removed a.txt, skipped a.txt!, unchanged 2, parsed 1"],
        ["sync", "skipped a.txt, unchanged 2"],
        ["sync", "skipped a.txt, unchanged 2, parsed 1", {"retry": True}],
        ["another_parser"],
        ["sync", "skipped a.txt, unchanged 2, parsed 1"],
        ["sync", "skipped a.txt, unchanged 2"],
        ["unreadable", "a.txt"],
        ["write", "a.txt", "It is text again."],
        ["sync", "new a.txt, unchanged 2, parsed 1"],
        ["unreadable"],
    ],
    "what is gone or removed is no failure any more": [
        ["write", "empty.txt", ""],
        ["write", "nozip.docx", "no document"],
        ["sync", "skipped empty.txt! nozip.docx!, unchanged 3, parsed 2"],
        ["delete", "nozip.docx"],
        ["sync", "skipped empty.txt, unchanged 3"],
        ["unreadable", "empty.txt"],
        ["remove", "."],
        ["unreadable"],
    ],
    "a warning is new once, and again after it was mended": [
        ["write", ".env", "PASSWORD=tulip"],
        ["write", "empty.txt", ""],
        ["sync", "skipped .env! empty.txt!, unchanged 3, parsed 1"],
        ["sync", "unchanged 1", "sub"],
        ["write", "empty.txt", "Not empty."],
        ["sync", "new empty.txt, skipped .env, unchanged 3, parsed 1"],
        ["write", "empty.txt", ""],
        ["sync", "removed empty.txt, skipped .env empty.txt!, unchanged 3, parsed 1"],
    ],
    "a root that is not there is kept, unless pruned": [
        ["rename", ".", "../away"],
        ["sync", "kept .!"],
        ["sync", "kept .", "."],
        ["rename", "../away", "../notes"],
        ["sync", "unchanged 3"],
        ["rename", ".", "../away"],
        ["sync", "removed a.txt b.txt sub/c.txt, skipped .!, forgotten a.txt b.txt sub/c.txt", {"prune": True}],
        ["rename", "../away", "../notes"],
        ["sync", "new a.txt b.txt sub/c.txt, parsed 3", "."],
    ],
    "a root that is suddenly empty is kept, unless pruned": [
        ["delete", "a.txt"],
        ["delete", "b.txt"],
        ["delete", "sub"],
        ["sync", "kept .!"],
        ["sync", "removed a.txt b.txt sub/c.txt, forgotten a.txt b.txt sub/c.txt", {"prune": True}],
    ],
    "what a cloud keeps elsewhere stays, and is named": [
        ["rename", "a.txt", ".a.txt.icloud"],
        ["rename", "b.txt", "b.txt.nextcloud"],
        ["write", ".photo.heic.icloud", ""],
        ["sync", "kept a.txt! b.txt!, unchanged 1"],
        ["rename", ".a.txt.icloud", "a.txt"],
        ["sync", "kept b.txt, unchanged 2"],
        ["delete", "b.txt.nextcloud"],
        ["sync", "removed b.txt, unchanged 2"],
    ],
    "a sync of one root leaves the others alone": [
        ["write", "../other.txt", "The file a is about its own letter."],
        ["sync", "new ../other.txt, reused 1, parsed 1", "../other.txt"],
        ["delete", "../other.txt"],
        ["delete", "b.txt"],
        ["sync", "removed b.txt, unchanged 2", "."],
        ["sync", "kept ../other.txt!, unchanged 2"],
    ],
    "roots that overlap give each file once, and the inner one keeps its files": [
        ["sync", "unchanged 3", ".", "sub", "b.txt"],
        ["sync", "unchanged 1", "sub"],
        ["write", ".ragignore", "sub"],
        ["sync", "unchanged 2", "."],
        ["sync", "unchanged 3"],
    ],
    "what is excluded stays out until it is taken back": [
        ["sync", "removed b.txt, forgotten b.txt, unchanged 2", ".", {"excludes": ["b.txt"]}],
        ["sync", "removed sub/c.txt, forgotten sub/c.txt, unchanged 1", {"excludes": ["c.*"]}],
        ["remove", "."],
        ["sync", "new a.txt, parsed 1", "."],
        ["sync", "new b.txt, unchanged 1, parsed 1", {"no_excludes": ["b.txt"]}],
        ["sync", "new sub/c.txt, unchanged 2, parsed 1", ".", {"no_excludes": ["c.*"]}],
    ],
    "what was removed comes back, unless it is kept out": [
        ["remove", "a.txt"],
        ["sync", "new a.txt, unchanged 2, parsed 1"],
        ["remove", "a.txt", "sub"],
        ["keep_out", "a.txt", "sub"],
        ["sync", "unchanged 1"],
        ["sync", "new sub/c.txt, parsed 1", "sub"],
        ["remove", "sub"],
        ["sync", "new sub/c.txt, unchanged 1, parsed 1"],
    ],
    # --- what a walk leaves out
    "ignore files nest, and the inner one decides": [
        ["write", ".gitignore", "/build/\nlog/*\n!log/keep.txt\ndraft.md\n"],
        ["write", "sub/.gitignore", "\ufeff!draft.md\r\n"],
        ["write", "sub/.ragignore", "other.md\n"],
        ["plant", "log/a.txt log/keep.txt draft.md sub/draft.md sub/other.md build/x.txt y/build/z.txt"],
        ["sync", "new log/keep.txt sub/draft.md y/build/z.txt, unchanged 3, parsed 3"],
    ],
    "excludes stand above ignore files, and in roots below": [
        ["write", "sub/.gitignore", "!c.txt\n"],
        ["sync", "removed b.txt sub/c.txt, forgotten b.txt sub/c.txt, unchanged 1", {"excludes": ["c.*", "b.txt"]}],
        ["sync", "", "sub"],
        ["sync", "new sub/c.txt, parsed 1", "sub", {"excludes": ["!c.txt"]}],
        ["sync", "new b.txt, parsed 1", "b.txt"],
    ],
    "hidden files, packages, caches and backups": [
        ["plant", "node_modules/m.js __pycache__/c.py __MACOSX/d.txt .git/config.txt .hidden.txt x.md~ ~$b.docx"],
        ["sync", "unchanged 3"],
        ["plant", "../.more/a.txt ../.more/.b.txt ../x.strange"],
        ["sync", "new ../.more/a.txt ../x.strange, parsed 2", "../.more", "../x.strange"],
    ],
    "folders that a program made say so, and keep what was indexed of them": [
        ["write", "sub/CACHEDIR.TAG", "Signature: 8a477f597d28d172"],
        ["write", "sub/pyvenv.cfg", "homeless = yes\n"],
        ["sync", "new sub/pyvenv.cfg, unchanged 3, parsed 1"],
        ["write", "sub/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"],
        ["write", "env/pyvenv.cfg", "# made by\n  HOME = no\nhome = /usr/bin\n"],
        ["write", "mine/index.sqlite", "SQLite format 3\0"],
        ["plant", "env/lib/site.py mine/n.txt"],
        ["sync", "skipped env! mine!, kept sub!, unchanged 2"],
    ],
    "secrets are told by their names and beginnings, and taken for the roots that are named with them": [
        ["plant", ".env.local ID_RSA credentials vault.kdbx id_rsa.pub .env.example"],
        ["write", "key.txt", KEY],
        ["write", "about.md", f"A key begins with\n{KEY}"],
        ["write", "../id_ed25519", KEY],
        ["sync", "skipped ../id_ed25519!", "../id_ed25519"],
        [
            "sync",
            "new about.md, skipped .env.local! ID_RSA! credentials! key.txt! vault.kdbx!, unchanged 3, parsed 1",
            ".",
        ],
        ["sync", "new .env.local ID_RSA credentials key.txt vault.kdbx, unchanged 4, parsed 5", ".", {"secrets": True}],
        ["delete", "ID_RSA"],
        ["delete", "vault.kdbx"],
        ["sync", "removed ID_RSA vault.kdbx, skipped ../id_ed25519, unchanged 7"],
        [
            "sync",
            "removed .env.local credentials key.txt, skipped .env.local! credentials! key.txt!,"
            " forgotten .env.local credentials key.txt, unchanged 4",
            ".",
        ],
    ],
    "one's own loaders are stronger, and what they read stays without them": [
        ["write", "plan.xyz", "THE PLAN\nTHE GREENHOUSE COSTS 4,200 EUROS."],
        ["write", "title.md", "NOTHING BUT A TITLE"],
        ["sync", "new plan.xyz, skipped title.md!, unchanged 3, parsed 2", {"loaders": OWN}],
        ["sync", "skipped title.md, unchanged 4", "."],
    ],
    # --- links
    "what a link out of the folder leads to goes with the link, or with the wish to follow it": [
        ["plant", "../far/far.txt"],
        ["link", "link", "../far"],
        ["sync", "skipped link!, unchanged 3"],
        ["sync", "new ../far/far.txt, unchanged 3, parsed 1", {"follow_links": True}],
        ["sync", "unchanged 4", "."],
        [
            "sync",
            "removed ../far/far.txt, skipped link!, forgotten ../far/far.txt, unchanged 3",
            {"follow_links": False},
        ],
        ["sync", "new ../far/far.txt, unchanged 3, parsed 1", {"follow_links": True}],
        ["delete", "../far"],
        ["sync", "kept ../far!, unchanged 3"],
        ["delete", "link"],
        ["sync", "removed ../far/far.txt, unchanged 3"],
    ],
    "links are followed once, never in a circle, and only to what may be read": [
        ["plant", "../far/c.txt ../far/x.bin"],
        ["link", "again", "../far"],
        ["link", "far", "../far"],
        ["link", "sub/up", ".."],
        ["link", "top", "../.."],
        ["link", "same.txt", "a.txt"],
        ["link", "x.bin", "../far/x.bin"],
        ["link", "c.txt", "../far/c.txt"],
        ["link", "gone.txt", "nothing"],
        ["link", "circle.txt", "circle.txt"],
        ["sync", "skipped again! c.txt! circle.txt! far! nothing!, unchanged 3"],
        ["sync", "new ../far/c.txt, skipped circle.txt nothing, unchanged 3, parsed 1", {"follow_links": True}],
        ["link", "../root", "far"],
        ["sync", "unchanged 1", "../root"],
    ],
    "rules hold for what a link leads to": [
        ["plant", "private/diary.txt ../two/b.txt ../two/diary.txt"],
        ["link", "sub/note.txt", "../private/diary.txt"],
        ["link", "sub/all", "../private"],
        ["link", "two.txt", "../two/diary.txt"],
        ["link", "alias", "sub"],
        ["write", "sub/.gitignore", "c.*\n"],
        ["sync", "new ../two/b.txt, parsed 1", "../two", {"excludes": ["diary.txt"]}],
        ["sync", "removed sub/c.txt, forgotten sub/c.txt, unchanged 2", ".", {"excludes": ["/private/"]}],
    ],
    # --- what lies inside of a file
    "rules hold inside of a file as if it were a folder": [
        ["zip", "old.zip", "a/ferry.txt a/draft.txt .hidden/x.txt node_modules/x.js __MACOSX/x.txt a/~$b.txt"],
        ["sync", "new old.zip, unchanged 3, parsed 1"],
        ["inside", "a/draft.txt", "a/ferry.txt"],
        ["write", ".ragignore", "old.zip/a/draft.*"],
        ["sync", "updated old.zip, unchanged 3, reused 1, parsed 1"],
        ["inside", "a/ferry.txt"],
        ["sync", "unchanged 4"],
        ["delete", ".ragignore"],
        ["sync", "updated old.zip, unchanged 3, parsed 1", {"excludes": ["f*.txt"]}],
        ["inside", "a/draft.txt"],
    ],
    "secrets inside of a file are left out and named, unless the root has them": [
        ["zip", "old.zip", "a/secrets.json a/server.key key.txt a/notes.txt"],
        ["sync", "new old.zip, skipped old.zip! old.zip! old.zip!, unchanged 3, parsed 1"],
        ["inside", "a/notes.txt"],
        ["sync", "updated old.zip, unchanged 3, reused 1, parsed 1", ".", {"secrets": True}],
        ["inside", "a/notes.txt", "a/secrets.json", "a/server.key", "key.txt"],
        ["zip", "old.zip", "a/secrets.json"],
        ["sync", "removed old.zip, skipped old.zip!, unchanged 3, parsed 1", "."],
    ],
}

ON_SERVER = [name for name in STEPS if name.startswith(("files come", "what "))]


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_steps(notes, steps):
    notes.sync("new a.txt b.txt sub/c.txt, parsed 3", ".")
    done(notes, steps)


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_SERVER)
def test_steps_on_a_server(tmp_path, monkeypatch, on_server, name):
    notes = Notes(tmp_path, monkeypatch, on_server)
    test_steps(notes, STEPS[name])
    notes.index.close()


def pipe(path):
    os.mkfifo(path) if hasattr(os, "mkfifo") else path.mkdir()


UNUSABLE = {
    "a folder": (Path.mkdir, "is not a regular file"),
    "a pipe": (pipe, "is not a regular file"),
    "endless": (lambda path: link(path, "/dev/zero"), "is not a regular file"),
    "too many lines": (lambda path: path.write_text("x\n" * 200_000), "up to 2,000 lines"),
    "too long a line": (lambda path: path.write_text("x" * 20_000_000), "of 4,096 bytes are read"),
    "too many stars": (lambda path: path.write_text("*a*b*c*d"), "up to 3 stars in a pattern are read, '*a*b*c*d' has"),
}


@pytest.mark.parametrize(("make", "why"), UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_ignore_file_closes_its_folder(notes, make, why):
    notes.index.sync([notes.folder])
    notes.plant("sub/new.txt d.txt")
    make(notes.path("sub/.ragignore"))
    report = notes.index.sync()
    assert told(report, notes.name) == "new d.txt, kept sub!, unchanged 2"
    assert "(.ragignore in it" in report.kept[0].reason and why in report.kept[0].reason


HARMLESS = {
    "stars": "*e*e*b\n**/**/**/x\n",
    "classes": "[" * 4_000 + "\n[z-a]*[a-]*[]-z]*\n",
    "no text": b"\xff\xfe\x00\x01\x80nothing\n" + bytes(500),
    "out of the folder": "../*\n/../../*\n!*\n!../**\n",
}


@pytest.mark.parametrize("content", HARMLESS.values(), ids=HARMLESS)
def test_what_an_ignore_file_cannot_mean_leaves_nothing_out(notes, content):
    notes.write(".ragignore", content)
    notes.sync("new a.txt b.txt sub/c.txt, parsed 3", ".")


@posix  # Windows reads every folder
def test_what_nobody_may_read_is_kept(notes):
    notes.index.sync([notes.folder])
    notes.write("a.txt", "Something new.")
    for name in ("a.txt", "sub"):
        notes.path(name).chmod(0)
    try:
        report = bound_by_permissions(notes.index.sync)
    finally:
        notes.path("sub").chmod(0o700)
    assert told(report, notes.name) == "kept a.txt! sub!, unchanged 1"
    assert all("you have no permission" in file.reason for file in report.kept)
    notes.path("a.txt").chmod(0o600)
    notes.sync("updated a.txt, unchanged 2, parsed 1")


def test_kinds_that_nothing_reads_are_counted(notes):
    notes.plant("x.bin y.BIN sub/Makefile e")
    report = notes.index.sync([notes.folder])
    assert report.ignored == {".bin": 2, "(none)": 1} and len(report.new) == 4


def test_progress_of_both_phases(notes, monkeypatch):
    monkeypatch.setattr(text, "LARGE", 100)
    notes.write("0.txt", f"The file 0 is about whales.{' ' * 100}")
    seen = {"text": [], "vectors": []}
    report = notes.index.sync([notes.folder], progress=lambda told: seen[told.phase].append(told))
    assert (report.chunks, report.embedded) == (4, 4) and 0 < report.text_seconds <= report.seconds
    assert (seen["text"][0].done, seen["text"][0].total, seen["text"][0].chunks) == (0, 4, 0)
    for last in (seen["text"][-1], seen["vectors"][-1]):
        assert (last.done, last.total, last.chunks, last.share) == (4, 4, 4, 1.0)
    names = dict.fromkeys(notes.name(each.path) for each in seen["text"])
    assert [*names] == ["a.txt", "b.txt", "sub/c.txt", "0.txt"], "large files come last"


def test_unchanged_files_are_not_read_and_huge_ones_never(notes, monkeypatch):
    hashed, sha256 = [], read.sha256
    monkeypatch.setattr(read, "sha256", lambda path: hashed.append(notes.name(path)) or sha256(path))
    notes.index.sync([notes.folder])
    assert hashed == ["a.txt", "b.txt", "sub/c.txt"]
    notes.age()
    notes.write("dump [1].log", "")
    os.truncate(notes.folder / "dump [1].log", 200_000_000_000)  # takes no room on the disk
    (skipped,) = notes.index.sync().skipped
    assert "is 200.0 GB large" in skipped.reason and "--exclude 'dump \\[1\\].log'" in skipped.reason
    assert hashed == ["a.txt", "b.txt", "sub/c.txt"]


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        ((), {}, "nothing has been indexed yet"),
        (("nowhere",), {}, "there is no file or folder"),
        ((".",), {"excludes": ["[a"]}, "leaves nothing out"),
        ((".",), {"excludes": ["*a*b*c*d"]}, "up to 3 stars"),
        (("~nosuchuser/x",), {}, "is no path"),
        ((".",), {"no_excludes": ["c.txt"]}, "'c.txt' is not excluded"),
        ((".",), {"loaders": {".xyz": lambda path: None}}, "must be a function at the top of a module"),
        ((".",), {"loaders": {"XYZ": load_shouted}}, "a suffix in small letters with its dot, not for 'XYZ'"),
    ],
)
def test_what_says_nothing_is_refused(notes, names, options, said):
    with pytest.raises(UsageError, match=said) as caught:
        notes.index.sync([Path(name) if name[0] == "~" else notes.folder / name for name in names] or None, **options)
    assert caught.value.hint and notes.index.files() == []


# --- what is read


@pytest.mark.slow
def test_a_file_that_takes_too_long_keeps_its_text_and_is_tried_again_when_it_changes(notes, monkeypatch):
    def sync(expected, **options):
        notes.sync(expected, "plan.xyz", loaders=OWN, **options)

    notes.write("plan.xyz", "THE PLAN\nTHE GREENHOUSE COSTS 4,200 EUROS.")
    sync("new plan.xyz, parsed 1")
    notes.write("plan.xyz", "THE PLAN\nSLEEP")
    with monkeypatch.context() as patched:
        patched.setattr(text, "Parser", partial(Parser, seconds=0.5))
        sync("kept plan.xyz!, parsed 1")
        sync("kept plan.xyz")
        assert "greenhouse costs" in notes.index.search("greenhouse", 1)[0].page_content
        sync("kept plan.xyz, parsed 1", retry=True)
        sync("removed plan.xyz, skipped plan.xyz, parsed 1", prune=True, retry=True)
    notes.write("plan.xyz", "THE PLAN\nIT IS PAID.")
    sync("new plan.xyz, parsed 1")


def test_a_later_version_of_a_loader_reads_its_files_once_more(notes, monkeypatch):
    """Also what lies in other files; a text that comes out the same keeps its vectors."""
    notes.write("d.md", "Markdown is read by another loader.")
    notes.zip("old.zip", "e.txt")
    notes.sync("new a.txt b.txt d.md old.zip sub/c.txt, parsed 5", ".")
    monkeypatch.setitem(loaders.VERSIONS, loaders.load_text, 2)
    notes.sync("updated a.txt b.txt old.zip sub/c.txt, unchanged 1, reused 4, parsed 4")
    notes.sync("unchanged 5")


def test_what_lies_inside_of_a_file_is_found_under_its_name_and_goes_with_it(notes):
    notes.zip("old.zip", "deep/contract.txt secrets.json")
    notes.sync("new a.txt b.txt old.zip sub/c.txt, skipped old.zip!, parsed 4", ".")
    (passage,) = notes.index.search("contract", 1, within=[str(notes.folder / "old.zip » deep/contract.txt")])
    assert notes.name(passage.metadata["source"]) == "old.zip » deep/contract.txt"
    assert passage.metadata["title"] == "contract.txt"
    assert notes.index.files()[2].warnings == (f"secrets.json {SECRET}",)
    notes.delete("old.zip")
    notes.sync("removed old.zip, unchanged 3")
    notes.inside()


def test_a_mailbox_that_was_stopped_between_its_parts_is_read_again(notes, monkeypatch):
    def parts(parser, path):
        for number in range(9):
            yield ParsedFile((LoadedDocument(f"This is part {number} of a mailbox."),))

    notes.write("mails.mbox", "From anna")
    monkeypatch.setattr(Parser, "parse", parts)
    monkeypatch.setattr(text, "BATCH", 1)
    stop = cancel.Cancel()
    with cancel.scope(stop), pytest.raises(Stopped):
        notes.index.sync([notes.path("mails.mbox")], progress=lambda told: told.chunks > 2 and stop.stop())
    assert 2 < notes.index.count() < 9 and notes.index.verify(deep=True)
    assert notes.index.embedded_count()[0] == 0
    notes.age()
    notes.sync("updated mails.mbox")
    assert notes.index.count() == 9
    notes.sync("unchanged 1")
