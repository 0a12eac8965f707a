"""Make once for all tests a person who has asked about notes, whose state each test finds anew, and a parser."""

import os
import shutil
from contextlib import suppress
from types import MappingProxyType
from typing import ClassVar

import pytest
from support.garden import asked_in, enter, put_back

from local_rag.index.parse.parser import PART_SECONDS, Parser
from local_rag.index.sync import text


@pytest.fixture(scope="session")
def garden(tmp_path_factory, converted):
    """Return the person's folder, and a copy of its first state."""
    base = tmp_path_factory.mktemp("garden") / "now"
    base.mkdir()
    asked_in(base)
    return base, shutil.copytree(base, base.parent / "kept")


@pytest.fixture
def here(garden, monkeypatch, capsys):
    """Be that person, in the folder of the notes, the index and the runs."""
    base, kept = garden
    put_back(base, kept)
    enter(monkeypatch, base)
    monkeypatch.chdir(base)
    capsys.readouterr()
    return base


class Kept(Parser):
    """A parser whose worker, which takes a third of a second to start, serves the next sync too."""

    idle: ClassVar[dict] = {}
    busy = stopped = False

    def parse(self, path):
        self.busy = True
        try:
            yield from super().parse(path)
        finally:
            self.busy = False

    def stop(self):
        if self.busy:
            self.stopped = True
            super().stop()

    def __exit__(self, *exception):
        if self.stopped:
            self.close()
        else:
            self.idle.setdefault(self.use, []).append(self)

    @classmethod
    def of(cls, seconds=PART_SECONDS, loaders=MappingProxyType({})):
        """Return a parser that no sync has now, of any thread, for these arguments; or else a new one."""
        use = (seconds, *loaders.items(), *map(os.environ.get, ("PATH", "TZ")))
        with suppress(IndexError):
            return cls.idle.setdefault(use, []).pop()
        parser = cls(seconds, loaders)
        parser.use = use
        return parser


@pytest.fixture(scope="session", autouse=True)
def one_parser():
    """Let syncs in this process share a worker, so that each costs what it does and no start of a process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text, "Parser", Kept.of)
        yield
    for parsers in Kept.idle.values():
        for parser in parsers:
            parser.close()
