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


def over(data, share=0.0):
    """Write other bytes over a file, from a share of it on."""

    def damage(file):
        with file.open("r+b") as stream:
            stream.seek(int(share * file.stat().st_size))
            stream.write(data)

    return damage


def cut(share):
    return lambda file: os.truncate(file, int(file.stat().st_size * share))


def holds(data):
    return lambda file: file.write_bytes(data)


def a_folder(file):
    file.unlink(missing_ok=True)
    file.mkdir()


def a_pipe(file):
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def gone(file):
    file.unlink()


def sql(statement):
    def damage(file):
        with closing(sqlite3.connect(file)) as db, db:
            db.execute(statement)

    return damage


VECTORS, DATABASE = "vectors.faiss.*", "index.sqlite"
REEMBED, REBUILD = "local-rag index --reembed", "local-rag remove --index default && local-rag index"
DAMAGE = {
    "vectors: zeros": (VECTORS, over(bytes(500), 0.5), ""),
    "vectors: longer": (VECTORS, over(NOISE, 0.9), ""),
    "vectors: empty": (VECTORS, cut(0), ""),
    "vectors: half": (VECTORS, cut(0.5), ""),
    "vectors: gone": (VECTORS, gone, ""),
    "vectors: a folder": (VECTORS, a_folder, ""),
    "vectors: a pipe": (VECTORS, a_pipe, ""),
    "a WAL of noise": ("index.sqlite-wal", holds(NOISE), ""),
    "a short WAL": ("index.sqlite-wal", holds(NOISE[:32]), ""),
    "shared memory of noise": ("index.sqlite-shm", holds(NOISE), ""),
    "header": (DATABASE, over(bytes(100)), REBUILD),
    "pages": (DATABASE, over(b"\xff" * 60_000, 0.1), REBUILD),
    "text": (DATABASE, holds(b"This is no database.\n" * 500), REBUILD),
    "half": (DATABASE, cut(0.5), REBUILD),
    "no vectors": (DATABASE, sql("DELETE FROM vectors WHERE chunk % 2"), REEMBED),
    "short vectors": (DATABASE, sql("UPDATE vectors SET vector = x'00' WHERE chunk = 2"), REEMBED),
    "NaN": (DATABASE, sql(f"UPDATE vectors SET vector = x'{'0000c07f' * 384}' WHERE chunk % 2"), REEMBED),
    "no header vectors": (DATABASE, sql("UPDATE headers SET vector = x'00'"), REEMBED),
    "no order of vectors": (DATABASE, sql("DELETE FROM embedded"), ""),
    "no full text": (DATABASE, sql("DROP TABLE full_text"), REBUILD),
    "no headers": (DATABASE, sql("DROP TABLE headers"), REBUILD),
    "no chunks": (DATABASE, sql("DROP TABLE chunks"), REBUILD),
    "another version": (DATABASE, sql("DELETE FROM meta WHERE name = 'schema'"), "local-rag index"),
    "a size that is no number": (DATABASE, sql("UPDATE meta SET value = 'x' WHERE name = 'size'"), REBUILD),
} | {
    f"no {name}": (DATABASE, sql(f"DELETE FROM meta WHERE name = '{name}'"), REBUILD)
    for name in ("size", "generation", "epoch", "fingerprint")
}
"""The file, what is done to it, and the command that `doctor` names; none where nothing is lost."""


@pytest.mark.parametrize(("name", "damage", "fix"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_passed_over_or_named_with_what_mends_it(world, name, damage, fix):
    file, *_ = [*world.index.glob(name), world.index / name]
    damage(file)
    searched, doctor = world.run("search", QUESTION, "--json"), world.run("doctor", "--json")
    bad = [check["fix"] for check in json.loads(doctor.out) if check["state"] == "bad"]
    assert "4,200" in searched.out or (fix and searched.failed_plainly()[1])
    assert all(hint.startswith(fix) for hint in bad) and bool(bad) == bool(fix), bad
    for words in ("index", "status"):
        world.run(words).failed_plainly_if_at_all()
    for command in bad[0].split("   ")[0].split("&&") if bad else ():
        _, *words = shlex.split(command.replace("PATH…", "NOTES"))
        assert world.run(*words).code == 0, words
    world.goes_on(OLD)
    assert "4,200" in world.answers()


def test_a_damaged_lock_is_named_and_locks_no_reader_out(world):
    (world.index / "writer.lock").write_bytes(NOISE)
    assert "writer.lock" in world.run("index").failed_plainly()[1]
    assert "4,200" in world.answers()


LEFT_OVERS = {
    "an empty database and a lock": {"index.sqlite": b"", "writer.lock": b""},
    "vectors and a lock": {"vectors.faiss.0123456789abcdef": b"x", "writer.lock": b""},
    "a draft": {"new-index.sqlite": b"half", "new-index.sqlite-wal": b"", "writer.lock": b""},
    "a log": {"index.sqlite-wal": b"x" * 100, "writer.lock": b""},
}


@pytest.mark.parametrize("files", LEFT_OVERS.values(), ids=LEFT_OVERS)
@pytest.mark.parametrize("first", [["remove", "--index", "default"], NEW_INDEX], ids=str)
def test_left_overs_are_no_dead_end(world, files, first):
    world.reset("unindexed")
    world.index.mkdir(parents=True)
    for name, data in files.items():
        (world.index / name).write_bytes(data)
    assert "local-rag" in world.run("search", QUESTION).failed_plainly()[1]
    assert world.run(*first).code == 0
    world.goes_on(OLD, *NEW_INDEX)


SETTINGS = {
    "binary": holds(bytes(range(256))),
    "an unknown key": holds(b"nonsense: 1\n"),
    "a huge number": holds(b"limits:\n  seconds: " + b"9" * 5_000 + b"\n"),
    "deep": holds(b"[" * 20_000),
    "a bomb": holds(
        b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b"*a%d," % (n - 1) * 9) for n in range(1, 9))
    ),
    "code": holds(b"!!python/object/apply:os.system ['touch pwned']\n"),
    "escapes": holds(b"\x1b]0;PWNED\x07: 1\n"),
    "a folder": a_folder,
    "a pipe": a_pipe,
    "endless": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("name", ["config.yaml", "models.yaml"])
@pytest.mark.parametrize("damage", SETTINGS.values(), ids=SETTINGS)
def test_settings_that_cannot_be_used_are_an_error(world, name, damage):
    file = world.home / "config" / name
    file.parent.mkdir(exist_ok=True)
    damage(file)
    done = world.run("search", QUESTION, "--json", folder=str(world.home))
    assert done.code in (1, 2), done.out
    told = " ".join(done.failed_plainly(done.code))
    assert name in told and "\x1b" not in told
    assert not (world.home / "pwned").exists()
