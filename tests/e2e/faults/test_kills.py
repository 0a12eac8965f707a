"""kill -9 at any moment: what was stored is whole, every file is the old one or the new, and the same command goes on.

A moment is an event of `fault_process.Events`: a statement that changes a database, or a system call that changes a
folder. The run without a kill counts them; the moments of a command are spread evenly over all of its events.
"""

from __future__ import annotations

import json
import shutil

import pytest
from support.fakes_index import copy_of_minilm, minilm
from support.faults import spread

from local_rag.config.settings import Settings
from local_rag.index.embed.embedder import SentenceTransformerEmbedder

from .conftest import NEW, OLD, QUESTIONS, SMALL, STEADY
from .looking import each_is_one_of, look, nothing_is_left_over


@pytest.fixture(scope="module")
def counted(commands):
    """How many events a command has, counted once."""
    known = {}

    def count(world, arguments, prepare):
        key = (arguments, prepare)
        if key not in known:
            prepare(world)
            done = commands.run(*arguments, constants=SMALL)
            assert done.code in ANSWERED, done.err
            known[key] = done.events
        return known[key]

    return count


def killed(world, commands, counted, arguments, moment, prepare):
    """Run the command until this (number, of how many) moment of it; what it was about to do."""
    number, wanted = moment
    events = counted(world, arguments, prepare)
    at = spread(len(events), wanted)[number]
    prepare(world)
    done = commands.run(*arguments, constants=SMALL, kill=at)
    assert done.code == -9, (done.code, done.err, len(events))
    return done.events[-1]


def moments(count):
    return pytest.mark.parametrize("moment", [(number, count) for number in range(count)], ids=lambda m: str(m[0]))


# --- a new index


def unindexed(world):
    world.reset("unindexed")


@moments(26)
def test_a_new_index_is_there_as_far_as_it_was_stored(empty_world, commands, counted, moment):
    arguments = ("index", str(empty_world.notes), "--chunk-size", "60")
    killed(empty_world, commands, counted, arguments, moment, unindexed)
    if (empty_world.index / "index.sqlite").exists():
        each_is_one_of(empty_world, look(commands, []), OLD | STEADY)
    else:
        _, hint = commands.run("status").failed_plainly()
        assert "local-rag index" in hint
    assert commands.run(*arguments, constants=SMALL).code == 0
    found = look(commands)
    assert each_is_one_of(empty_world, found, OLD | STEADY) == dict.fromkeys([*OLD, *STEADY], 0)
    assert "4,200" in found["best"][f"sparse: {QUESTIONS[0]}"]
    assert "quarter past seven" in found["best"][f"dense: {QUESTIONS[1]}"]
    nothing_is_left_over(empty_world)


# --- changed files


def changed(world):
    world.reset("kept")
    for number, (name, text) in enumerate(NEW.items()):
        world.write(name, text, age=1000 + number)


@moments(26)
def test_a_changed_file_is_the_old_one_or_the_new(world, commands, counted, moment):
    arguments = ("index",)
    killed(world, commands, counted, arguments, moment, changed)
    states = each_is_one_of(world, look(commands), OLD | STEADY, NEW)
    assert states.keys() == {*OLD, *STEADY}, "a file is lost"
    assert commands.run(*arguments, constants=SMALL).code == 0
    found = look(commands)
    assert each_is_one_of(world, found, NEW | STEADY, OLD) == dict.fromkeys([*OLD, *STEADY], 0)
    assert "5,900" in found["best"][f"dense: {QUESTIONS[0]}"] and "5,900" in found["best"][f"sparse: {QUESTIONS[0]}"]
    nothing_is_left_over(world)


# --- files that go


def indexed(world):
    world.reset("kept")


@moments(10)
def test_a_removed_file_is_whole_or_gone(world, commands, counted, moment):
    arguments = ("remove", str(world.notes / "harvest.md"), str(world.notes / "bees.md"))
    killed(world, commands, counted, arguments, moment, indexed)
    states = each_is_one_of(world, look(commands), OLD | STEADY)
    assert len(states) in (3, 5)
    done = commands.run(*arguments, constants=SMALL)
    if len(states) == 3:
        assert "is not in the index" in done.failed_plainly(2)[0]
    else:
        assert done.code == 0, done.err
    found = look(commands)
    assert each_is_one_of(world, found, OLD | STEADY).keys() == {"plan.md", "letters/tenant.txt", "letters/boat.txt"}
    assert "honey" not in found["best"][f"sparse: {QUESTIONS[2]}"]
    for name in ("harvest.md", "bees.md"):
        (world.notes / name).unlink()
    assert commands.run("index", constants=SMALL).code == 0
    nothing_is_left_over(world)


def deleted(world):
    world.reset("kept")
    (world.notes / "harvest.md").unlink()
    (world.notes / "bees.md").unlink()


@moments(8)
def test_a_deleted_file_is_whole_or_gone(world, commands, counted, moment):
    killed(world, commands, counted, ("index",), moment, deleted)
    assert len(each_is_one_of(world, look(commands), OLD | STEADY)) in (3, 5)
    assert commands.run("index", constants=SMALL).code == 0
    assert len(each_is_one_of(world, look(commands), OLD | STEADY)) == 3
    nothing_is_left_over(world)


# --- the whole index


@moments(5)
def test_a_removed_index_is_whole_or_can_be_removed_again(world, commands, counted, moment):
    arguments = ("remove", "--index", "default")
    killed(world, commands, counted, arguments, moment, indexed)
    if (world.index / "index.sqlite").exists():
        each_is_one_of(world, look(commands), OLD | STEADY)
    done = commands.run(*arguments)
    assert not world.index_files(), done.err
    assert commands.run("index", world.notes, "--chunk-size", "60", constants=SMALL).code == 0
    assert len(each_is_one_of(world, look(commands), OLD | STEADY)) == 5
    nothing_is_left_over(world)


def with_a_backup(world):
    world.reset("kept")
    (world.index / "index.sqlite.backup-2025").write_text("mine")


@moments(3)
def test_a_removal_leaves_the_files_of_others(world, commands, counted, moment):
    arguments = ("remove", "--index", "default")
    killed(world, commands, counted, arguments, moment, with_a_backup)
    commands.run(*arguments)
    assert world.index_files() == ["index.sqlite.backup-2025"]
    assert (world.index / "index.sqlite.backup-2025").read_text() == "mine"


# --- another embedder


@pytest.fixture(scope="module")
def other(world, commands):
    """A second embedder in models.yaml: MiniLM with a prefix before each text."""
    world.reset("kept")
    spec = copy_of_minilm(world.home / "other-minilm", name="other", sha256="", document_prefix="note: ")
    embedder = SentenceTransformerEmbedder(spec, Settings.load().cache_folder)
    if not embedder.conversion_folder.exists():
        shutil.copytree(minilm().conversion_folder, embedder.conversion_folder)
    entry = {"path": spec.path, "dimension": spec.dimension, "window": spec.window, "document_prefix": "note: "}
    (world.home / "config").mkdir(exist_ok=True)
    (world.home / "config" / "models.yaml").write_text(json.dumps({"embedders": {"other": entry}}))
    world.keep("with another embedder")
    done = commands.run("index", "--reembed", "--embedder", "other")  # the sum of the weights is remembered from now on
    assert done.code == 0, done.err
    return world


def with_another(world):
    world.reset("with another embedder")


@moments(14)
def test_another_embedder_has_all_passages_or_none(other, commands, counted, moment):
    arguments = ("index", "--reembed", "--embedder", "other")
    killed(other, commands, counted, arguments, moment, with_another)
    status = commands.run("status", "--json").value
    assert status["embedder"] in ("minilm", "other")
    found = look(commands)
    assert len(each_is_one_of(other, found, OLD | STEADY)) == 5
    assert "4,200" in found["best"][f"dense: {QUESTIONS[0]}"]
    assert commands.run(*arguments, constants=SMALL).code == 0
    assert commands.run("status", "--json").value["embedder"] == "other"
    again = look(commands)
    assert again == found, "the same passages, the same answers"
    nothing_is_left_over(other)


# --- a chat

ANSWERED = (0, 4)
"""Exit codes of an answer, with reservations or without."""


@pytest.fixture(scope="module")
def asked(world, commands):
    world.reset("kept")
    done = commands.run("ask", QUESTIONS[1], "--thread", "lease")
    assert done.code in ANSWERED, done.err
    world.keep("with a thread")
    return world


def with_a_thread(world):
    world.reset("with a thread")


@moments(6)
def test_a_first_chat_is_whole_or_not_there(asked, commands, counted, moment):
    arguments = ("ask", QUESTIONS[1], "--thread", "lease")
    killed(asked, commands, counted, arguments, moment, indexed)
    assert [chat["turns"] for chat in commands.run("threads", "list", "--json").value] in ([], [1])
    assert commands.run(*arguments).code in ANSWERED
    turns = commands.run("threads", "show", "lease", "--json").value["turns"]
    assert {turn["question"] for turn in turns} == {QUESTIONS[1]} and "quarter past seven" in turns[-1]["answer"]


@moments(6)
def test_a_chat_keeps_what_was_said_and_has_the_next_turn_whole(asked, commands, counted, moment):
    arguments = ("ask", QUESTIONS[0], "--thread", "lease")
    killed(asked, commands, counted, arguments, moment, with_a_thread)
    turns = commands.run("threads", "show", "lease", "--json").value["turns"]
    assert [turn["question"] for turn in turns] in ([QUESTIONS[1]], [QUESTIONS[1], QUESTIONS[0]])
    assert "quarter past seven" in turns[0]["answer"] and all(turn["answer"] for turn in turns)
    assert commands.run(*arguments).code in ANSWERED
    turns = commands.run("threads", "show", "lease", "--json").value["turns"]
    assert [turn["question"] for turn in turns][:2] == [QUESTIONS[1], QUESTIONS[0]] and len(turns) <= 3
    assert "4,200" in turns[-1]["answer"]


@moments(4)
def test_a_deleted_chat_is_whole_or_gone(asked, commands, counted, moment):
    arguments = ("threads", "delete", "lease")
    killed(asked, commands, counted, arguments, moment, with_a_thread)
    kept = commands.run("threads", "list", "--json").value
    if kept:
        assert "quarter past seven" in commands.run("threads", "show", "lease", "--json").out
        assert commands.run(*arguments).code == 0
    assert commands.run("threads", "list", "--json").value == []


# --- in the middle of a write


@pytest.mark.parametrize("size", [1, 4096, 6_000, 20_000, 33_000, 50_000, 100_000, 200_000])
def test_a_file_cut_in_the_middle_of_a_write_is_no_damage(world, commands, size):
    """The system kills the process where a file would grow beyond a size: half a frame of the log, half a file."""
    changed(world)
    largest = max(file.stat().st_size for file in world.index.iterdir())
    done = commands.run("index", constants=SMALL, limit=size, deadly=True)
    assert done.code in (-25, 0) if size > largest else done.code == -25, (done.code, done.err)
    states = each_is_one_of(world, look(commands), OLD | STEADY, NEW)
    assert states.keys() == {*OLD, *STEADY}
    assert commands.run("index", constants=SMALL).code == 0
    assert each_is_one_of(world, look(commands), NEW | STEADY, OLD) == dict.fromkeys([*OLD, *STEADY], 0)
    nothing_is_left_over(world)


# --- again and again


def test_a_command_killed_at_every_run_gets_there(empty_world, commands):
    """Each run stores something before it is killed, however often that happens."""
    unindexed(empty_world)
    arguments = ("index", str(empty_world.notes), "--chunk-size", "60")
    stored = [0]
    for _ in range(20):
        done = commands.run(*arguments, constants=SMALL, kill=70)
        if done.code == 0:
            break
        stored.append(look(commands, [])["count"])
    assert done.code == 0 and stored == sorted(stored), stored
    assert each_is_one_of(empty_world, look(commands), OLD | STEADY) == dict.fromkeys([*OLD, *STEADY], 0)
