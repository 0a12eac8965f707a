"""Commands of local-rag under faults: killed at a chosen moment, without room, without rights, beside moving files."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

from support import TESTS

CLOCK = 1_700_000_000
"""When every file of a world was written, in seconds since 1970: long before it is indexed."""


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code, or less than 0 for the signal that killed it; None if it never began."""

    code: int | None
    out: str
    err: str
    events: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def value(self):
        """What it wrote as JSON."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    def failed_plainly(self, code=1):
        """Whether it said what is wrong in a line, with what to type next; gives both."""
        assert self.code == code, (self.code, self.out, self.err)
        assert "Traceback" not in self.err, self.err
        lines = [line for line in self.err.splitlines() if line.strip()]
        position = max(number for number, line in enumerate(lines) if line.startswith("error: "))
        assert len(lines[position]) < 600, lines[position]
        hint = lines[position + 1].strip() if len(lines) > position + 1 else ""
        return lines[position], hint


class Commands:
    """Runs commands, each in a fork of one process; use it in a `with`."""

    def __init__(self, env, folder):
        self._folder, self._numbers = folder, itertools.count()
        folder.mkdir(parents=True, exist_ok=True)
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a fork has none of its parent's threads
        path = os.pathsep.join([str(TESTS), *filter(None, [env.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(TESTS / "support" / "fault_process.py")],
            env=env | threads | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def run(self, *arguments, **fault):
        """One command under a fault: see `fault_process.prepare` and `Events`."""
        return self.steps([list(map(str, arguments))], **fault)[0]

    def steps(self, steps, **fault):
        """Several commands, or questions of `fault_process.whole`, one after another in one process."""
        out = self._folder / str(next(self._numbers))
        out.mkdir(mode=0o700)
        request = {"steps": steps, "fault": fault, "out": str(out)}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        reply = json.loads(self._process.stdout.readline())
        lines = reply["pipes"][0].splitlines()
        events = tuple(line for line in lines if line != "begun" and not line.startswith("ended "))
        begun = lines.count("begun")
        ended = [line.split() for line in lines if line.startswith("ended ")]
        done = []
        for number, _ in enumerate(steps):
            shown = reply["pipes"][1 + 2 * number : 3 + 2 * number]
            if number < len(ended):
                done.append(Done(int(ended[number][1]), *shown, events, float(ended[number][2])))
            else:
                done.append(Done(reply["status"] if number < begun else None, *shown, events))
        shutil.rmtree(out)
        return done


class World:
    """A folder with notes, and a person with an index of them; `reset` brings it back as it was first."""

    def __init__(self, base):
        self.base, self.notes, self.home = base, base / "live" / "notes", base / "live" / "home"
        self.notes.mkdir(parents=True)
        self.home.mkdir()

    @property
    def env(self):
        kept = {name: value for name, value in os.environ.items() if name != "LOCAL_RAG_CONFIG_DIR"}
        return kept | {
            "LOCAL_RAG_CONFIG_DIR": str(self.home / "config"),
            "LOCAL_RAG_DATA_DIR": str(self.home / "data"),
            "HOME": str(self.home),
            "COLUMNS": "100",
            "PYTHONWARNINGS": "error",
        }

    @property
    def index(self):
        return self.home / "data" / "indexes" / "default"

    def write(self, name, text, age=0):
        """A note, written `age` seconds after all others."""
        path = self.notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (CLOCK + age, CLOCK + age))
        return path

    def keep(self, name):
        """From now on `reset` brings back what there is now by this name."""
        shutil.copytree(self.base / "live", self.base / name, symlinks=True)

    def reset(self, name):
        shutil.rmtree(self.base / "live")
        shutil.copytree(self.base / name, self.base / "live", symlinks=True)

    def index_files(self):
        return sorted(path.name for path in self.index.iterdir()) if self.index.exists() else []


def spread(total, wanted):
    """`wanted` moments of `total`, evenly from the first to the last."""
    assert total >= wanted, f"{total} moments, {wanted} wanted"
    return [round(number * (total - 1) / (wanted - 1)) for number in range(wanted)]
