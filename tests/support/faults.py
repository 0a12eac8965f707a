"""A person's notes, the index of them, and commands that meet a fault: killed, without room, without rights."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

from local_rag.index.index import Index
from support import TESTS

CLOCK = 1_700_000_000
"""When every file of a world was written, in seconds since 1970: long before it is indexed."""

WHOLE = re.compile(r"index\.sqlite(-wal|-shm)?|writer\.lock|vectors\.faiss\.[0-9a-f]{16}")
"""The files of a whole index."""

QUESTION = "What does the greenhouse cost?"
NEW_INDEX = ["index", "NOTES", "--chunk-size", "60"]


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code, or less than 0 for the signal that killed it."""

    code: int
    out: str
    err: str

    @property
    def value(self):
        """What it wrote as JSON."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    def failed_plainly(self, code=1):
        """The line that says what is wrong, and the one with what to type next."""
        assert self.code == code and not re.search("Traceback|[a-z]Error:", self.err), (self.code, self.out, self.err)
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        position = max(number for number, line in enumerate(lines) if line.startswith("error: "))
        assert len(lines[position]) < 600 and lines[position + 1 :], self.err
        return lines[position], lines[position + 1]

    def failed_plainly_if_at_all(self, *said):
        """Whether it failed; then the line and the hint have one of `said` each."""
        told = self.failed_plainly() if self.code else said
        assert all(words in line for words, line in zip(said, told, strict=bool(said))), told
        return bool(self.code)


class World:
    """Notes (`texts` by their names) and a home for their index; use it in a `with`.

    `run` runs a command, `keep` and `reset` bring all files back to what they were.
    """

    def __init__(self, base, texts):
        self.base, self.live, self.texts = base, base / "live", texts
        self.notes, self.home = self.live / "notes", self.live / "home"
        self.index = self.home / "data" / "indexes" / "default"
        self.home.mkdir(parents=True)
        for name, text in texts.items():
            self.write(name, text)
        self.keep("unindexed")

    def __enter__(self):
        own = {"CONFIG_DIR": self.home / "config", "DATA_DIR": self.home / "data"}
        more = {f"LOCAL_RAG_{name}": str(folder) for name, folder in own.items()}
        more |= {"HOME": str(self.home), "COLUMNS": "100", "PYTHONWARNINGS": "error", "PYTHONPATH": str(TESTS)}
        more |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a fork has none of its parent's threads
        command = [sys.executable, "-P", str(TESTS / "support" / "fault_process.py")]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, env=os.environ | more, cwd=self.base, **pipes)
        return self

    def __exit__(self, *_):
        self._process.communicate()

    def run(self, *words, **fault):
        """Run a command under a fault of `fault_process.command`. The word NOTES is the folder of the notes."""
        shown = [self.base / "out", self.base / "err"]
        for file in shown:
            file.unlink(missing_ok=True)
        words = [str(word).replace("NOTES", str(self.notes)) for word in words]
        print(json.dumps([words, fault]), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        return Done(code, *(file.read_text("utf-8", "replace") if file.exists() else "" for file in shown))

    def kill(self, *words, at, number=1):
        """Run a command and end it by SIGKILL just before an event (see `fault_process.watch`)."""
        done = self.run(*words, acts=[[at, number, [["signal.raise_signal", 9]]]])
        assert done.code == -9, (done, "no such moment")

    def write(self, name, text, age=0):
        """A note, written `age` seconds after all others."""
        path = self.notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (CLOCK + age, CLOCK + age))
        return path

    def rewrite(self, texts):
        """Write these texts a while later, as far as they are others."""
        for number, (name, text) in enumerate(texts.items()):
            if (self.notes / name).read_text() != text:
                self.write(name, text, age=1000 + number)

    def keep(self, name):
        """From now on `reset` brings back what there is now by this name."""
        shutil.copytree(self.live, self.base / name, symlinks=True)

    def reset(self, name="indexed"):
        shutil.rmtree(self.live)
        shutil.copytree(self.base / name, self.live, symlinks=True)

    def states(self, *choices):
        """Which of the choices (texts by their names) each stored file is, as a whole, after a check of all."""
        stored = {}
        with Index.open(self.index) as index:
            index.verify(deep=True)
            for passage in sorted(index.passages(), key=lambda passage: passage.start):
                stored.setdefault(passage.source.removeprefix(f"{self.notes}/"), []).extend(passage.text.split())
        states = {}
        for name, words in stored.items():
            states[name] = [choice.get(name, "").split() == words for choice in choices]
            assert any(states[name]), f"{name} is a mix: {words}"
        return {name: which.index(True) for name, which in states.items()}

    def holds(self, texts):
        """Whether the index holds these texts by their names, and no others."""
        return self.states(texts) == dict.fromkeys(texts, 0)

    def answers(self):
        """What a search finds first."""
        return self.run("search", QUESTION, "--json", "--k", "1").value[0]["text"]

    def goes_on(self, wanted, *words):
        """A command gets there; nothing is left beside the index, and in it no byte of what is forgotten."""
        done = self.run(*(words or ["index"]))
        assert done.code == 0 and self.holds(wanted), done
        files = [file for file in self.index.iterdir() if file.is_file()]
        assert all(WHOLE.fullmatch(file.name) for file in files), files
        assert sum(file.name.startswith("vectors") for file in files) == 1, files
        content = b"".join(file.read_bytes() for file in files).lower()
        left = {word for word in long_words(self.texts) - long_words(wanted) if word.encode() in content}
        assert not left


def long_words(texts):
    """Words that do not stand in a file by chance."""
    return set(re.findall("[a-z]{6,}", " ".join(texts.values()).lower()))
