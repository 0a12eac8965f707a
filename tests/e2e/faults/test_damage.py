"""Damaged files: the right answer, or a line with a command that mends it, which is typed here before asking again."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from .conftest import OLD, QUESTIONS, SMALL, STEADY
from .looking import each_is_one_of, look

ALL = OLD | STEADY
NEVER = ("rm -", "rm '", "--prune")


def typed(commands, hint, world):
    """Type the commands of a hint; gives the index that they are about."""
    assert "local-rag" in hint, hint
    assert not any(word in hint for word in NEVER), hint
    index = "default"
    for part in hint.removeprefix("hint: ").split("&&"):
        words = shlex.split(part.split("   ")[0])
        assert words[0] == "local-rag", part
        known = [str(world.notes) if word in ("PATH…", "FOLDER", "PATH") else word for word in words[1:]]
        done = commands.run(*known)
        assert done.code == 0, (part, done.err)
        if "--index" in known:
            index = known[known.index("--index") + 1]
    return index


def mended(commands, world, hint):
    """Type the hint; afterwards everything can be asked. Nothing of the old index was lost before that."""
    index = typed(commands, hint, world)
    assert each_is_one_of(world, look(commands, index=index), ALL) == dict.fromkeys(ALL, 0)


def bad(doctor):
    """What doctor says is wrong with the index."""
    assert doctor.code == 1 and "Traceback" not in doctor.err, doctor.out
    found = [check for check in json.loads(doctor.out) if check["state"] == "bad"]
    assert found and all(check["fix"] for check in found), found
    return found[0]


# --- the file of quantized vectors


@pytest.fixture(scope="module")
def many(world, commands):
    """An index of a hundred notes, and what some of them say."""
    world.reset("unindexed")
    for number in range(100):
        world.write(
            f"many/{number:03}.txt",
            f"Entry {number}: {WORDS[number % 10]} were seen {number} times at pier {number}.\n",
        )
    done = commands.run("index", world.notes, constants=SMALL)
    assert done.code == 0, done.err
    world.keep("many")
    return world


WORDS = "gulls seals crabs whales terns eels otters herons prawns cormorants".split()


def entry(number):
    return f"Entry {number}: {WORDS[number % 10]} were seen {number} times at pier {number}."


ENTRIES = [entry(number) for number in range(0, 100, 7)]


def codes_of(world):
    (file,) = [path for path in world.index.iterdir() if path.name.startswith("vectors.cache.")]
    return file


def zeroed(share, first=0.0):
    def damage(file):
        data = bytearray(file.read_bytes())
        begin, size = int(len(data) * first), int(len(data) * share)
        data[begin : begin + size] = bytes(size)
        file.write_bytes(data)

    return damage


def flipped(position):
    def damage(file):
        data = bytearray(file.read_bytes())
        data[int(position * (len(data) - 1))] ^= 0xFF
        file.write_bytes(data)

    return damage


def cut(share):
    return lambda file: os.truncate(file, int(file.stat().st_size * share))


def noise(file):
    file.write_bytes(np.random.default_rng(1).bytes(file.stat().st_size))


def longer(file):
    file.write_bytes(file.read_bytes() + b"\xff" * 5_000)


def shuffled(file):
    """Rows that are whole, in another order."""
    data = file.read_bytes()
    half = len(data) // 3
    file.write_bytes(data[:half] + data[-half:] + data[half : len(data) - half])


def deleted(file):
    file.unlink()


def made_a_folder(file):
    file.unlink()
    file.mkdir()


def made_a_pipe(file):
    file.unlink()
    os.mkfifo(file)


CODES = {
    "all zero": zeroed(1),
    "a tenth zero": zeroed(0.1, 0.45),
    "the end zero": zeroed(0.1, 0.9),
    "the beginning zero": zeroed(0.02),
    "a flipped byte at the beginning": flipped(0.0),
    "a flipped byte in the middle": flipped(0.5),
    "a flipped byte at the end": flipped(1.0),
    "empty": cut(0),
    "half": cut(0.5),
    "nearly whole": cut(0.99),
    "noise": noise,
    "longer": longer,
    "shuffled": shuffled,
    "gone": deleted,
    "a folder": made_a_folder,
    "a pipe": made_a_pipe,
}


@pytest.mark.parametrize("damage", CODES.values(), ids=CODES)
def test_a_damaged_codes_file_loses_no_answer(many, commands, damage):
    many.reset("many")
    damage(codes_of(many))
    found, doctor = commands.steps([{"index": "default", "questions": ENTRIES}, ["doctor", "--json"]])
    best = found.value["best"]
    wrong = [entry for entry in ENTRIES if best[f"dense: {entry}"] != entry]
    assert not wrong, f"{len(wrong)} of {len(ENTRIES)} texts are not found by their own words"
    assert "damaged" not in found.err
    index = [check for check in doctor.value if check["name"] == "index"]
    assert index and index[0]["state"] == "ok", index
    assert commands.run("index", constants=SMALL).code == 0
    again = commands.steps([{"index": "default", "questions": ENTRIES}])[0].value
    assert again["best"] == best


# --- the database


def header(file):
    with file.open("r+b") as stream:
        stream.write(bytes(100))


def pages(file):
    with file.open("r+b") as stream:
        stream.seek(8192)
        stream.write(b"\xff" * (file.stat().st_size - 8192 - 4096))


def text(file):
    file.write_text("This is no database.\n" * 500)


def of_others(file):
    file.unlink()
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
        db.commit()


def empty(file):
    file.write_bytes(b"")


def without(sql):
    def damage(file):
        with closing(sqlite3.connect(file)) as db:
            db.execute(sql)
            db.commit()

    return damage


DATABASE = {
    "header": header,
    "pages": pages,
    "text": text,
    "half": cut(0.5),
    "a page": cut(0.02),
    "no vectors": without("DELETE FROM vectors WHERE chunk % 2"),
    "short vectors": without("UPDATE vectors SET vector = x'00' WHERE chunk = 2"),
    "NaN": without("UPDATE vectors SET vector = zeroblob(0) || replace(hex(vector), hex(vector), '') WHERE chunk = 3"),
    "no full text": without("DROP TABLE full_text"),
    "no headers": without("DROP TABLE headers"),
    "no header vectors": without("UPDATE headers SET vector = x'00'"),
    "no order of vectors": without("DELETE FROM embedded"),
    "no chunks": without("DROP TABLE chunks"),
    "no size": without("DELETE FROM meta WHERE name = 'size'"),
    "no dimension": without("DELETE FROM meta WHERE name = 'dimension'"),
    "no generation": without("DELETE FROM meta WHERE name = 'generation'"),
    "no epoch": without("DELETE FROM meta WHERE name = 'epoch'"),
    "no fingerprint": without("DELETE FROM meta WHERE name = 'fingerprint'"),
    "no schema": without("DELETE FROM meta WHERE name = 'schema'"),
    "a size that is no number": without("UPDATE meta SET value = 'x' WHERE name = 'size'"),
}


@pytest.mark.parametrize("damage", DATABASE.values(), ids=DATABASE)
def test_a_damaged_database_is_named_and_its_hint_mends_it(world, commands, damage):
    world.reset("kept")
    damage(world.index / "index.sqlite")
    doctor = commands.run("doctor", "--json")
    for arguments in (("search", QUESTIONS[0]), ("index",), ("status",), ("ask", QUESTIONS[0])):
        done = commands.run(*arguments)
        assert "Traceback" not in done.err and "KeyError" not in done.err, done.err
        if done.code == 1:
            assert done.failed_plainly()[1]
    if doctor.code == 0:  # nothing that is needed is lost
        assert each_is_one_of(world, look(commands), ALL) == dict.fromkeys(ALL, 0)
    else:
        mended(commands, world, bad(doctor)["fix"])


def test_numbers_that_are_none_are_found(world, commands):
    world.reset("kept")
    with closing(sqlite3.connect(world.index / "index.sqlite")) as db:
        (size,) = db.execute("SELECT length(vector) / 4 FROM vectors").fetchone()
        db.execute("UPDATE vectors SET vector = ? WHERE chunk % 2", (np.full(size, np.nan, "<f4").tobytes(),))
        db.commit()
    doctor = commands.run("doctor", "--json")
    check = bad(doctor)
    done = commands.run("ask", QUESTIONS[0])
    assert done.code in (0, 1, 4), "an abstention would be a lie"
    mended(commands, world, check["fix"])


@pytest.mark.parametrize("name", ["index.sqlite-wal", "index.sqlite-shm"])
@pytest.mark.parametrize("size", [0, 32, 4096, 100_000])
def test_rubbish_beside_the_database_is_passed_over(world, commands, name, size):
    world.reset("kept")
    (world.index / name).write_bytes(np.random.default_rng(2).bytes(size))
    assert each_is_one_of(world, look(commands), ALL) == dict.fromkeys(ALL, 0)
    assert commands.run("index").code == 0


@pytest.mark.parametrize("damage", [noise, empty, text, deleted, made_a_folder], ids=lambda damage: damage.__name__)
def test_a_damaged_lock_locks_nobody_out(world, commands, damage):
    world.reset("kept")
    damage(world.index / "writer.lock")
    assert each_is_one_of(world, look(commands), ALL) == dict.fromkeys(ALL, 0)
    done = commands.run("index")
    if done.code:
        _, hint = done.failed_plainly()
        assert hint
    done = commands.run("remove", "--index", "default")
    if done.code:
        _, hint = done.failed_plainly()
        assert hint


LEFT_OVERS = {
    "an empty database": {"index.sqlite": b""},
    "an empty database and a lock": {"index.sqlite": b"", "writer.lock": b""},
    "a lock alone": {"writer.lock": b""},
    "codes and a lock": {"vectors.cache.0123456789abcdef": b"x", "writer.lock": b""},
    "a draft": {"new-index.sqlite": b"half", "new-index.sqlite-wal": b"", "writer.lock": b""},
    "a log": {"index.sqlite-wal": b"x" * 100, "index.sqlite-shm": b"", "writer.lock": b""},
}


@pytest.mark.parametrize("files", LEFT_OVERS.values(), ids=LEFT_OVERS)
def test_left_overs_are_no_dead_end(world, commands, files):
    world.reset("unindexed")
    world.index.mkdir(parents=True)
    for name, data in files.items():
        (world.index / name).write_bytes(data)
    for arguments in (("status",), ("search", QUESTIONS[0])):
        _, hint = commands.run(*arguments).failed_plainly()
        assert "local-rag" in hint
    removed = commands.run("remove", "--index", "default")
    assert removed.code == 0, removed.err
    assert not world.index.exists()
    for name, data in files.items():
        world.index.mkdir(parents=True, exist_ok=True)
        (world.index / name).write_bytes(data)
    done = commands.run("index", world.notes)
    assert done.code == 0, done.err
    assert each_is_one_of(world, look(commands), ALL) == dict.fromkeys(ALL, 0)


# --- settings


SETTINGS = {
    "binary": bytes(range(256)),
    "no text": b"\xff\xfe\xfd",
    "NULs": bytes(500),
    "a tab": b"limits:\n\tseconds: 3\n",
    "a list": b"- a\n- b\n",
    "a word": b"nonsense\n",
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
    "a merge": b"k: 4\n<<: 5\n",
}


@pytest.mark.parametrize("name", ["config.yaml", "models.yaml"])
@pytest.mark.parametrize("data", SETTINGS.values(), ids=SETTINGS)
def test_settings_that_cannot_be_used_are_an_error(world, commands, name, data):
    world.reset("kept")
    config = world.home / "config"
    config.mkdir(exist_ok=True)
    (config / name).write_bytes(data)
    done = commands.run("search", QUESTIONS[0], "--json", folder=str(world.home))
    assert done.code in (1, 2), done.out
    line, hint = done.failed_plainly(done.code)
    assert name in line + hint and "\x1b" not in line + hint
    assert not (world.home / "pwned").exists()
    (config / name).unlink()
    assert "4,200" in commands.run("search", QUESTIONS[0], "--json").out


@pytest.mark.parametrize("name", ["config.yaml", "models.yaml"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "endless", "circle"])
def test_settings_that_are_no_file_are_an_error(world, commands, name, kind):
    world.reset("kept")
    path = world.home / "config" / name
    path.parent.mkdir(exist_ok=True)
    {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "endless": lambda: path.symlink_to("/dev/zero"),
        "circle": lambda: path.symlink_to(name),
    }[kind]()
    done = commands.run("search", QUESTIONS[0], "--json")
    assert done.code in (1, 2), (done.code, done.err)
    line, hint = done.failed_plainly(done.code)
    assert name in line + hint


# --- chats


CHATS = {
    "text": text,
    "header": header,
    "half": cut(0.5),
    "noise": noise,
    "another program's": of_others,
    "a folder": made_a_folder,
    "a pickle": without(f"UPDATE checkpoints SET type = 'pickle', checkpoint = x'{pickle.dumps(print).hex()}'"),
    "a row that is a number": without("UPDATE checkpoints SET checkpoint = x'07'"),
    "a row of noise": without("UPDATE checkpoints SET checkpoint = x'c1ffd9'"),
}


@pytest.fixture(scope="module")
def chatted(world, commands):
    world.reset("kept")
    assert commands.run("ask", QUESTIONS[1], "--thread", "lease").code in (0, 4)
    world.keep("chatted")
    return world


@pytest.mark.parametrize("damage", CHATS.values(), ids=CHATS)
def test_damaged_chats_are_put_aside_by_the_hint(chatted, commands, damage):
    chatted.reset("chatted")
    file = chatted.home / "data" / "threads.sqlite"
    damage(file)
    before = file.read_bytes() if file.is_file() else None
    done = commands.run("ask", QUESTIONS[0], "--thread", "lease")
    _, hint = done.failed_plainly()
    assert before is None or file.read_bytes()[:100] == before[:100]
    words = shlex.split(hint.removeprefix("hint: ").split("   ")[0])
    assert words[0] in ("mv", "ls"), hint
    if words[0] == "mv":
        os.rename(words[1], words[2])  # noqa: PTH104  # what `mv` does
    else:
        file.rmdir()
    done = commands.run("ask", QUESTIONS[0], "--thread", "lease")
    assert done.code in (0, 4), done.err
    assert commands.run("ask", QUESTIONS[0]).code in (0, 4)


def test_questions_without_a_chat_do_not_need_its_database(chatted, commands):
    chatted.reset("chatted")
    noise(chatted.home / "data" / "threads.sqlite")
    assert commands.run("ask", QUESTIONS[0]).code in (0, 4)
    assert commands.run("search", QUESTIONS[0]).code == 0


# --- where it is started


@pytest.mark.parametrize(
    "arguments", [["status"], ["search", QUESTIONS[0]], ["index"], ["index", "."], ["ask", QUESTIONS[0]]], ids=str
)
def test_a_working_directory_that_is_gone_is_no_traceback(world, commands, arguments):
    world.reset("kept")
    gone = world.base / "live" / "gone"
    gone.mkdir()
    done = commands.run(*arguments, folder=str(gone), gone=True)
    assert "Traceback" not in done.err and "FileNotFoundError" not in done.err, done.err
    if done.code == 1:
        assert done.failed_plainly()[1]
    assert len(look(commands, [])["texts"]) == 5
