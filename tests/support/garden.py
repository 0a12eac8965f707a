"""Provide a folder of notes about a garden and a rental contract."""

import shutil
from contextlib import contextmanager

import pytest

PLAN = """# Garden plan

## Costs

The greenhouse costs 4,200 euros. The fence was paid for in 2023.

## Dates

Building starts on 3 May. Until then the beds are covered with straw.
"""
LETTER = "Dear tenant,\n\nthe notice period of your rental contract is three months to the end of a quarter.\n"


def notes_in(base):
    """Make two files with text, one in a subfolder, and an empty one."""
    notes = base / "notes"
    (notes / "letters").mkdir(parents=True)
    (notes / "plan.md").write_text(PLAN)
    (notes / "letters" / "tenant.txt").write_text(LETTER)
    (notes / "empty.txt").write_text("")
    return notes


def enter(patched, base):
    """Be the person whose default index has the notes."""
    patched.setenv("LOCAL_RAG_CONFIG_DIR", str(base / "config"))
    patched.setenv("LOCAL_RAG_DATA_DIR", str(base / "data"))
    patched.setenv("HOME", str(base))
    patched.setenv("COLUMNS", "100")


@contextmanager
def entered(base):
    """Be that person within a block."""
    with pytest.MonkeyPatch.context() as patched:
        enter(patched, base)
        yield patched


GREENHOUSE, CUP = "What does the greenhouse cost?", "Who won the cup final in 1998?"
BEGIN = "When does building start?"


def asked_in(base):
    """Index the notes and ask three questions: one alone, one in a chat, and one that the notes do not answer."""
    from local_rag.cli.app import run

    with entered(base):
        assert run(["index", str(notes_in(base))]) == 0
        assert run(["ask", BEGIN, "--k", "1"]) == 0
        assert run(["ask", GREENHOUSE, "--k", "1", "--thread", "garden"]) == 0
        assert run(["ask", CUP, "--graph", "crag", "--k", "2"]) == 3


def put_back(base, kept):
    """Restore the folder from its copy, at the path that its index names."""
    shutil.rmtree(base)
    shutil.copytree(kept, base)
