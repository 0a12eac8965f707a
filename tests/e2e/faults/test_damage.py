"""Damaged files: the right answer, or a line with a command that mends it, which is typed here before asking again."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from contextlib import closing

import pytest
from support.faults import NEW_INDEX, QUESTION

from .conftest import OLD

NOISE = bytes((number * number * 31 + number // 7) % 251 for number in range(20_000))


def over(data, share):
    """Write other bytes over a file, from a share of it on."""

    def damage(file):
        with file.open("r+b") as stream:
            stream.seek(int(share * file.stat().st_size))
            stream.write(data)

    return damage


def cut(share):
    return lambda file: os.truncate(file, int(file.stat().st_size * share))


def a_pipe(file):
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def harm(file, damage):
    """Do it to a file: write bytes, execute SQL, or call a function."""
    if isinstance(damage, bytes):
        file.write_bytes(damage)
    elif isinstance(damage, str):
        with closing(sqlite3.connect(file)) as db, db:
            db.execute(damage)
    else:
        damage(file)


REEMBED, REBUILD = "local-rag index --reembed", "local-rag remove --index default && local-rag index"
VECTORS = {"zeros": over(bytes(500), 0.5), "empty": b"", "half": cut(0.5), "gone": os.unlink, "a pipe": a_pipe}
LOST = {
    "no database": b"This is no database.\n" * 500,
    "pages": over(b"\xff" * 60_000, 0.1),
    "half": cut(0.5),
    "no full text": "DROP TABLE full_text",
    "no chunks": "DROP TABLE chunks",
    "a size that is no number": "UPDATE meta SET value = 'x' WHERE name = 'size'",
}
DERIVED = {
    "no vectors": "DELETE FROM vectors WHERE rowid % 2",
    "NaN": f"UPDATE vectors SET vector = x'{'0000c07f' * 384}' WHERE rowid % 2",
    "no header vectors": "UPDATE headers SET vector = x'00'",
}
DAMAGE = [
    ("vectors.faiss.*", VECTORS, ""),
    ("index.sqlite-wal", {"a WAL of noise": NOISE}, ""),
    ("index.sqlite", {"no order of vectors": "DELETE FROM embedded"}, ""),
    ("index.sqlite", {"no generation": "DELETE FROM meta WHERE name IN ('generation', 'epoch')"}, ""),
    ("index.sqlite", LOST, REBUILD),
    ("index.sqlite", DERIVED, REEMBED),
    ("index.sqlite", {"another version": "DELETE FROM meta WHERE name = 'schema'"}, "local-rag index"),
]
"""The file, what is done to it, and the command that `doctor` names; none where nothing is lost."""

CASES = [pytest.param(file, each[name], fix, id=f"{file} {name}") for file, each, fix in DAMAGE for name in each]


def vectors_of(world):
    return [file.read_bytes() for file in world.index.glob("vectors.*") if file.is_file()]


@pytest.mark.parametrize(("name", "damage", "fix"), CASES)
def test_damage_is_passed_over_or_named_with_what_mends_it(world, name, damage, fix):
    vectors = vectors_of(world)
    for file in [*world.index.glob(name)] or [world.index / name]:
        harm(file, damage)
    searched, doctor = world.run("search", QUESTION, "--json"), world.run("doctor", "--json")
    bad = [check["fix"] for check in json.loads(doctor.out) if check["state"] == "bad"]
    assert "4,200" in searched.out or (fix and searched.told())
    assert all(hint.startswith(fix) for hint in bad) and bool(bad) == bool(fix), bad
    for words in ("index", "status"):
        world.run(words).told()
    for command in bad[0].split("   ")[0].split("&&") if bad else ():
        _, *words = shlex.split(command.replace("PATH…", "NOTES"))
        assert world.run(*words).code == 0, words
    world.goes_on(OLD, ["index"])
    assert "4,200" in world.answer() and (name != "vectors.faiss.*" or vectors_of(world) == vectors)


def test_a_damaged_lock_is_replaced_and_locks_no_reader_out(world):
    (world.index / "writer.lock").write_bytes(NOISE)
    assert "4,200" in world.answer()
    assert not world.run("index").told()
    assert "4,200" in world.answer()


LEFT_OVERS = {
    "an empty database": {"index.sqlite": b""},
    "vectors": {"vectors.faiss.0123456789abcdef": b"x"},
    "a draft": {"new-index.sqlite": b"half", "new-index.sqlite-wal": b""},
    "a log": {"index.sqlite-wal": bytes(100)},
}


@pytest.mark.parametrize("files", LEFT_OVERS.values(), ids=LEFT_OVERS)
@pytest.mark.parametrize("first", [["remove", "--index", "default"], NEW_INDEX], ids=str)
def test_left_overs_are_no_dead_end(world, files, first):
    world.reset("unindexed")
    world.index.mkdir(parents=True)
    for name, data in (files | {"writer.lock": b""}).items():
        (world.index / name).write_bytes(data)
    assert "local-rag index" in world.run("search", QUESTION).told()
    assert not world.run(*first).told()
    world.goes_on(OLD)


SETTINGS = {
    "a huge number": b"limits:\n  seconds: " + b"9" * 5_000 + b"\n",
    "deep": b"[" * 20_000,
    "a bomb": b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b"*a%d," % (n - 1) * 9) for n in range(1, 9)),
    "code": b"!!python/object/apply:os.system ['touch pwned']\n",
    "escapes": b"\x1b]0;PWNED\x07: 1\n",
    "a pipe": a_pipe,
    "endless": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("name", ["config.yaml", "models.yaml"])
@pytest.mark.parametrize("damage", SETTINGS.values(), ids=SETTINGS)
def test_settings_that_cannot_be_used_are_an_error(world, name, damage):
    file = world.home / "config" / name
    file.parent.mkdir(exist_ok=True)
    harm(file, damage)
    done = world.run("search", QUESTION, "--json", folder=str(world.home))
    assert name in done.told() and "\x1b" not in done.err
    assert not (world.home / "pwned").exists()
