"""Ignore files and markers that somebody else wrote: they end nothing, eat nothing, take nothing away unseen."""

from __future__ import annotations

import os

import pytest

from .conftest import OLD, STEADY
from .looking import each_is_one_of, look

ALL = OLD | STEADY
INSIDE = {"letters/tenant.txt", "letters/boat.txt"}
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n"


def pipe(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def endless(path):
    path.symlink_to("/dev/zero")


def terminal(path):
    path.symlink_to("/dev/tty")


def huge(path):
    path.write_bytes(b"*.nothing\n" * 200_000)


def sparse(path):
    path.touch()
    os.truncate(path, 200_000_000_000)


def circle(path):
    path.symlink_to(path.name)


def elsewhere(path):
    outside = path.parents[3] / "rules"
    outside.write_text("*\n")
    path.symlink_to(outside)


def long_line(path):
    path.write_text("b" * 900_000 + "\n")


def many_lines(path):
    path.write_text("".join(f"*nothing{number}*\n" for number in range(20_000)))


def many_stars(path):
    path.write_text("*a*a*a*a*a*a*a*a*b\n")


UNUSABLE = [long_line, many_lines, many_stars, pipe, folder, endless, terminal, huge, sparse, circle, elsewhere]


@pytest.mark.parametrize("name", [".ragignore", ".gitignore"])
@pytest.mark.parametrize("make", UNUSABLE, ids=lambda make: make.__name__)
def test_an_unusable_ignore_file_closes_its_folder_and_is_named(world, commands, make, name):
    """What was indexed stays, nothing new below its folder is taken in, and the rest of the folder is read."""
    world.reset("kept")
    make(world.notes / "letters" / name)
    world.write("letters/new.txt", "The new pier was built of oak.\n")
    world.write("new.md", "The new mill grinds barley.\n")
    done = commands.run("index")
    assert done.code == 0, done.err
    assert name in done.out, done.out
    found = look(commands, [])
    news = {"new.md": "The new mill grinds barley.", "letters/new.txt": "The new pier was built of oak."}
    assert each_is_one_of(world, found, ALL | news).keys() == {*ALL, "new.md"}
    again = commands.run("index")
    assert again.code == 0 and len(look(commands, [])["texts"]) == 6, "the second run takes nothing away either"
    (world.notes / "letters" / name).rmdir() if make is folder else (world.notes / "letters" / name).unlink()
    assert commands.run("index").code == 0
    assert each_is_one_of(world, look(commands, []), ALL | news).keys() == {*ALL, *news}


HARMLESS = {
    "stars": "*a*a*b\n**/**/**/x\n",
    "a class without end": "[" * 4_000 + "\n",
    "ranges": "[z-a]*[a-]*[]-z]*\n",
    "backslashes": "\\" * 4_001 + "\n",
    "a long line": "b" * 4_000 + "\n",
    "many lines": "".join(f"*nothing{number}*\n" for number in range(1_900)),
    "bytes that are no text": b"\xff\xfe\x00\x01\x80nothing\n",
    "NULs": b"\x00" * 500 + b"\n",
    "escapes": "\x1b]0;PWNED\x07\x1b[31mnothing\n",
    "out of the folder": "../*\n/../../*\n",
    "empty": "",
    "only a negation": "!*\n!../**\n",
    "CRLF and BOM": "\ufeff# nothing\r\n\r\nnothing-here\r\n",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_a_hostile_pattern_ends_nothing(world, commands, text):
    world.reset("kept")
    (world.notes / ".ragignore").write_bytes(text if isinstance(text, bytes) else text.encode())
    world.write("a" * 64 + ".md", "A name of sixty-four letters.\n")
    world.write("a/" * 20 + "deep.md", "A note that lies deep.\n")
    done = commands.run("index")
    assert done.code == 0, done.err
    assert "\x1b" not in done.out + done.err
    assert len(look(commands, [])["texts"]) == 7, done.out


@pytest.mark.parametrize("line", ["*", "letters/", "**/*.txt", "/letters/*"])
def test_what_a_rule_takes_away_is_named(world, commands, line):
    """The rules of the person's own folder hold: they forget, and say what."""
    world.reset("kept")
    (world.notes / ".ragignore").write_text(f"{line}\n!*.md\n")
    done = commands.run("index")
    assert done.code == 0, done.err
    assert "tenant.txt" in done.out and "boat.txt" in done.out, done.out
    assert each_is_one_of(world, look(commands, []), ALL).keys() == {*ALL} - INSIDE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CACHEDIR.TAG", ""),
        ("CACHEDIR.TAG", SIGNATURE[:-10]),
        ("CACHEDIR.TAG", SIGNATURE),
        ("CACHEDIR.TAG", b"\xff" * 500),
        ("pyvenv.cfg", ""),
        ("pyvenv.cfg", "home = /usr/bin\n"),
        ("index.sqlite", ""),
        ("index.sqlite", b"SQLite format 3\0" + bytes(84)),
    ],
)
def test_a_marker_takes_nothing_away(world, commands, name, text):
    world.reset("kept")
    (world.notes / "letters" / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    done = commands.run("index")
    assert done.code == 0, done.err
    assert each_is_one_of(world, look(commands, []), ALL) == dict.fromkeys(ALL, 0)
    assert "0 removed" in done.out


@pytest.mark.parametrize("make", [pipe, folder, endless, circle], ids=lambda make: make.__name__)
def test_a_marker_that_is_no_file_takes_nothing_away(world, commands, make):
    world.reset("kept")
    make(world.notes / "letters" / "CACHEDIR.TAG")
    done = commands.run("index")
    assert done.code == 0, done.err
    assert each_is_one_of(world, look(commands, []), ALL) == dict.fromkeys(ALL, 0)


def test_an_unusable_ignore_file_at_the_top_keeps_everything(world, commands):
    world.reset("kept")
    os.mkfifo(world.notes / ".ragignore")
    for _ in range(2):
        done = commands.run("index")
        assert done.code == 0 and ".ragignore" in done.out, done.out + done.err
        assert each_is_one_of(world, look(commands, []), ALL) == dict.fromkeys(ALL, 0)
