"""Damaged files: the right answer, or a line with a command that mends it, which is typed here before asking again."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from contextlib import closing

import pytest

from .conftest import OLD, QUESTIONS, SMALL, STEADY
from .looking import each_is_one_of, failed_plainly_if_at_all, goes_on, look

ALL = OLD | STEADY
NEVER = ("rm -", "rm '", "--prune")
ANSWERED = (0, 4)
NOISE = bytes((number * number * 31 + number // 7) % 251 for number in range(20_000))


def mended(commands, world, hint):
    """Type the commands of a hint; afterwards everything can be asked."""
    assert "local-rag" in hint and not any(word in hint for word in NEVER), hint
    index = "default"
    for part in hint.removeprefix("hint: ").split("&&"):
        program, *words = shlex.split(part.split("   ")[0])
        known = [str(world.notes) if word in ("PATH…", "FOLDER", "PATH") else word for word in words]
        done = commands.run(*known)
        assert (program, done.code) == ("local-rag", 0), (part, done.err)
        if "--index" in known:
            index = known[known.index("--index") + 1]
    assert each_is_one_of(world, look(commands, index=index), ALL) == dict.fromkeys(ALL, 0)


# --- what is done to a file


def over(data, share=0.0):
    """Write other bytes over it, from a share of it on."""

    def damage(file):
        with file.open("r+b") as stream:
            stream.seek(int(share * file.stat().st_size))
            stream.write(data)

    return damage


def cut(share):
    return lambda file: os.truncate(file, int(file.stat().st_size * share))


def text(file):
    file.write_text("This is no database.\n" * 500)


def deleted(file):
    file.unlink()


def made_a_folder(file):
    file.unlink()
    file.mkdir()


def made_a_pipe(file):
    file.unlink()
    os.mkfifo(file)


def changed(sql):
    def damage(file):
        with closing(sqlite3.connect(file)) as db, db:
            db.execute(sql)

    return damage


VECTORS = {
    "zeros": over(bytes(500), 0.5),
    "a byte": over(b"\x55", 0.7),
    "longer": over(NOISE, 0.9),
    "empty": cut(0),
    "half": cut(0.5),
    "gone": deleted,
    "a folder": made_a_folder,
    "a pipe": made_a_pipe,
}


@pytest.mark.parametrize("damage", VECTORS.values(), ids=VECTORS)
def test_a_damaged_file_of_vectors_loses_no_answer(world, commands, damage):
    world.reset("kept")
    before = look(commands)
    (file,) = world.index.glob("vectors.faiss.*")
    damage(file)
    found, doctor = commands.steps(
        [{"index": "default", "questions": QUESTIONS}, ["doctor", "--json"]], constants=SMALL
    )
    assert found.value == before
    assert [check["state"] for check in doctor.value if check["name"] == "index"] == ["ok"], doctor.out
    assert look(commands) == before
    assert commands.run("index", constants=SMALL).code == 0
    assert look(commands) == before


DATABASE = {
    "header": over(bytes(100)),
    "pages": over(b"\xff" * 60_000, 0.1),
    "text": text,
    "half": cut(0.5),
    "a page": cut(0.02),
    "no vectors": changed("DELETE FROM vectors WHERE rowid % 2"),
    "short vectors": changed("UPDATE vectors SET vector = x'00' WHERE rowid = (SELECT max(rowid) FROM vectors)"),
    "NaN": changed(f"UPDATE vectors SET vector = x'{'0000c07f' * 384}' WHERE rowid % 2"),
    "no full text": changed("DROP TABLE full_text"),
    "no headers": changed("DROP TABLE headers"),
    "no header vectors": changed("UPDATE headers SET vector = x'00'"),
    "no order of vectors": changed("DELETE FROM embedded"),
    "no chunks": changed("DROP TABLE chunks"),
    "no size": changed("DELETE FROM meta WHERE name = 'size'"),
    "no generation": changed("DELETE FROM meta WHERE name = 'generation'"),
    "no epoch": changed("DELETE FROM meta WHERE name = 'epoch'"),
    "no fingerprint": changed("DELETE FROM meta WHERE name = 'fingerprint'"),
    "no schema": changed("DELETE FROM meta WHERE name = 'schema'"),
    "a size that is no number": changed("UPDATE meta SET value = 'x' WHERE name = 'size'"),
}


@pytest.mark.parametrize("damage", DATABASE.values(), ids=DATABASE)
def test_a_damaged_database_is_named_and_its_hint_mends_it(world, commands, damage):
    world.reset("kept")
    damage(world.index / "index.sqlite")
    doctor = commands.run("doctor", "--json")
    for arguments in (("search", QUESTIONS[0]), ("index",), ("status",), ("ask", QUESTIONS[0])):
        done = commands.run(*arguments)
        assert "Traceback" not in done.err and "KeyError" not in done.err, done.err
        assert done.code != 3, "to find nothing would be a lie"
        if done.code == 1:
            assert done.failed_plainly()[1]
    if doctor.code == 0:  # nothing that is needed is lost
        assert each_is_one_of(world, look(commands), ALL) == dict.fromkeys(ALL, 0)
    else:
        bad = [check for check in json.loads(doctor.out) if check["state"] == "bad"]
        assert bad and all(check["fix"] for check in bad), bad
        mended(commands, world, bad[0]["fix"])


@pytest.mark.parametrize("name", ["index.sqlite-wal", "index.sqlite-shm"])
def test_rubbish_beside_the_database_is_passed_over(world, commands, name):
    for size in (0, 32, 20_000):
        world.reset("kept")
        (world.index / name).write_bytes(NOISE[:size])
        goes_on(world, commands, ALL)


@pytest.mark.parametrize("damage", [over(NOISE), text, deleted, made_a_folder])
def test_a_damaged_lock_locks_nobody_out(world, commands, damage):
    world.reset("kept")
    damage(world.index / "writer.lock")
    assert each_is_one_of(world, look(commands), ALL) == dict.fromkeys(ALL, 0)
    failed_plainly_if_at_all(commands.run("index"))
    failed_plainly_if_at_all(commands.run("remove", "--index", "default"))


LEFT_OVERS = {
    "an empty database and a lock": {"index.sqlite": b"", "writer.lock": b""},
    "a lock alone": {"writer.lock": b""},
    "vectors and a lock": {"vectors.faiss.0123456789abcdef": b"x", "writer.lock": b""},
    "a draft": {"new-index.sqlite": b"half", "new-index.sqlite-wal": b"", "writer.lock": b""},
    "a log": {"index.sqlite-wal": b"x" * 100, "writer.lock": b""},
}


@pytest.mark.parametrize("files", LEFT_OVERS.values(), ids=LEFT_OVERS)
def test_left_overs_are_no_dead_end(world, commands, files):
    world.reset("unindexed")

    def leave():
        world.index.mkdir(parents=True)
        for name, data in files.items():
            (world.index / name).write_bytes(data)

    leave()
    for arguments in (("status",), ("search", QUESTIONS[0])):
        assert "local-rag" in commands.run(*arguments).failed_plainly()[1]
    removed = commands.run("remove", "--index", "default")
    assert removed.code == 0 and not world.index.exists(), removed.err
    leave()
    goes_on(world, commands, ALL, "index", world.notes)


# --- settings

SETTINGS = {
    "binary": bytes(range(256)),
    "NULs": bytes(500),
    "a tab": b"limits:\n\tseconds: 3\n",
    "a list": b"- a\n- b\n",
    "an unknown key": b"nonsense: 1\n",
    "another type": b"limits: yes\n",
    "not a number": b"limits:\n  seconds: .nan\n",
    "a huge number": b"limits:\n  seconds: " + b"9" * 5_000 + b"\n",
    "deep": b"[" * 20_000,
    "a bomb": b"".join(
        b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9) if n else b"x") for n in range(9)
    ),
    "code": b"!!python/object/apply:os.system ['touch pwned']\n",
    "escapes": b"\x1b]0;PWNED\x07: 1\n",
    "two documents": b"---\nk: 4\n---\nk: 5\n",
    "a folder": lambda file: file.mkdir(),
    "a pipe": lambda file: os.mkfifo(file),
    "endless": lambda file: file.symlink_to("/dev/zero"),
    "a circle": lambda file: file.symlink_to(file.name),
}


@pytest.mark.parametrize("name", ["config.yaml", "models.yaml"])
@pytest.mark.parametrize("made", SETTINGS.values(), ids=SETTINGS)
def test_settings_that_cannot_be_used_are_an_error(world, commands, name, made):
    world.reset("kept")
    file = world.home / "config" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(made) if isinstance(made, bytes) else made(file)
    done = commands.run("search", QUESTIONS[0], "--json", folder=str(world.home))
    assert done.code in (1, 2), done.out
    told = " ".join(done.failed_plainly(done.code))
    assert name in told and "\x1b" not in told
    assert not (world.home / "pwned").exists()


def test_a_working_directory_that_is_gone_is_no_traceback(world, commands):
    world.reset("kept")
    gone = world.base / "live" / "gone"
    for arguments in (["status"], ["search", QUESTIONS[0]], ["index"], ["index", "."], ["ask", QUESTIONS[0]]):
        gone.mkdir()
        done = commands.run(*arguments, folder=str(gone), gone=True)
        assert "Traceback" not in done.err and "FileNotFoundError" not in done.err, done.err
        if done.code not in ANSWERED:
            assert done.failed_plainly(done.code)[1]
    assert len(look(commands, [])["texts"]) == 5
