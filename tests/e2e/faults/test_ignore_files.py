"""Ignore files and markers that somebody else wrote: they end nothing, eat nothing, take nothing away unseen."""

from __future__ import annotations

import os
import shutil

import pytest

from .conftest import OLD

NEWS = {"new.md": "The new mill grinds barley.", "letters/new.txt": "The new pier was built of oak."}
CLOSED = {*OLD, "new.md"}
"""What was indexed of the folder stays, and nothing new of it is taken in."""

ALL, RULED, KEPT = {*OLD, *NEWS}, {"new.md", "bees.md", "harvest.md", "plan.md"}, {*OLD}
IGNORE, TAG = "letters/.ragignore", "letters/CACHEDIR.TAG"
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n"


def endless(path):
    path.symlink_to("/dev/zero")


FILES = {
    "a pipe": (IGNORE, os.mkfifo, CLOSED),
    "a pipe of git": ("letters/.gitignore", os.mkfifo, CLOSED),
    "a pipe at the top": (".ragignore", os.mkfifo, KEPT),
    "a folder": (IGNORE, os.mkdir, CLOSED),
    "endless": (IGNORE, endless, CLOSED),
    "huge": (IGNORE, "*.nothing\n" * 200_000, CLOSED),
    "a folder by name": (".ragignore", "letters/\n", RULED),
    "a kind in any folder": (".ragignore", "**/*.txt\n!*.md\n", RULED),
    "many stars": (".ragignore", "*e*e*e*e*b\n", KEPT),
    "stars": (".ragignore", "*e*e*b\n**/**/**/x\n", ALL),
    "classes": (".ragignore", "[" * 4_000 + "\n[z-a]*[a-]*[]-z]*\n", ALL),
    "no text": (".ragignore", b"\xff\xfe\x00\x01\x80nothing\n" + bytes(500), ALL),
    "escapes": (".ragignore", "\x1b]0;PWNED\x07\x1b[31mnothing\n", ALL),
    "out of the folder": (".ragignore", "../*\n/../../*\n!*\n!../**\n", ALL),
    "CRLF and BOM": (".ragignore", "\ufeff# nothing\r\n\r\nnothing-here\r\n", ALL),
    "a tag": (TAG, SIGNATURE, CLOSED),
    "a tag that is a pipe": (TAG, os.mkfifo, ALL),
    "a tag that is endless": (TAG, endless, ALL),
    "an environment": ("letters/pyvenv.cfg", "home = /usr/bin\n", CLOSED),
    "an index": ("letters/index.sqlite", b"SQLite format 3\0" + bytes(84), CLOSED),
}
"""A file, how it is made or its text, and which files are in the index afterwards."""


@pytest.mark.parametrize(("name", "made", "wanted"), FILES.values(), ids=FILES)
def test_a_file_that_leaves_files_out_takes_nothing_away_unseen(world, name, made, wanted):
    """What closes a folder is named, and so is what a rule takes away; the second run does the same."""
    file = world.notes / name
    made(file) if callable(made) else world.write(name, made)
    for new, text in NEWS.items():
        world.write(new, text)
    for named in (file.name if wanted in (CLOSED, KEPT) else "tenant.txt" * (wanted == RULED), ""):
        done = world.run("index")
        assert done.code == 0 and named in done.out and "\x1b" not in done.out + done.err, done
        assert world.states(OLD | NEWS).keys() == wanted
    shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert world.run("index").code == 0 and world.holds(OLD | NEWS)
