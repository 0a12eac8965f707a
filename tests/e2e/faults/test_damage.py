"""Test damaged files: the right answer, or a line with a command that repairs them, which is then typed."""

import json
import os
import shlex

import pytest
from support.faults import QUESTION

from .conftest import OLD

NOISE = bytes((number * number * 31 + number // 7) % 251 for number in range(20_000))


def over(data, share):
    """Return a function that overwrites a file, from a share of it on, with other bytes."""

    def damage(file):
        with file.open("r+b") as stream:
            stream.seek(int(share * file.stat().st_size))
            stream.write(data)

    return damage


def a_pipe(file):
    file.unlink(missing_ok=True)
    os.mkfifo(file)


LOST = "local-rag remove --index default && local-rag index"
CASES = {
    "vectors of zeros": ("vectors.faiss.*", over(bytes(500), 0.5), ""),
    "a pipe of vectors": ("vectors.faiss.*", a_pipe, ""),
    "a WAL of noise": ("index.sqlite-wal", lambda file: file.write_bytes(NOISE), ""),
    "no database": ("index.sqlite", over(NOISE, 0), LOST),
    "pages": ("index.sqlite", over(b"\xff" * 60_000, 0.1), LOST),
}
"""The file, the damage, and the command that `doctor` names, or none if nothing is lost."""


def vectors_of(world):
    return [file.read_bytes() for file in world.index.glob("vectors.*") if file.is_file()]


@pytest.mark.parametrize(("name", "damage", "fix"), CASES.values(), ids=CASES)
def test_damage_is_passed_over_or_named_with_what_mends_it(world, name, damage, fix):
    vectors = vectors_of(world)
    for file in [*world.index.glob(name)] or [world.index / name]:
        damage(file)
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


SETTINGS = {
    "a huge number": b"limits:\n  seconds: " + b"9" * 5_000 + b"\n",
    "deep": b"[" * 20_000,
    "a bomb": b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b"*a%d," % (n - 1) * 9) for n in range(1, 9)),
    "code": b"!!python/object/apply:os.system ['touch pwned']\n",
    "escapes": b"\x1b]0;PWNED\x07: 1\n",
    "endless": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize(
    ("name", "damage"), [("config.yaml", "escapes"), *(("models.yaml", damage) for damage in SETTINGS)]
)
def test_settings_that_cannot_be_used_are_an_error(world, name, damage):
    file = world.home / "config" / name
    file.parent.mkdir(exist_ok=True)
    damage(file) if callable(damage := SETTINGS[damage]) else file.write_bytes(damage)
    done = world.run("search", QUESTION, "--json", folder=str(world.home))
    assert name in done.told() and "\x1b" not in done.err
    assert not (world.home / "pwned").exists()
