"""Provide a person's notes, their index, and commands that meet a fault: killed, without space, without rights."""

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
"""The time of every file of a world, in seconds since 1970: long before it is indexed."""

WHOLE = re.compile(r"index\.sqlite(-wal|-shm)?|writer\.lock|vectors\.faiss\.[0-9a-f]{16}")
"""The files of an undamaged index."""

QUESTION = "What does the greenhouse cost?"
NEW_INDEX = ["index", "NOTES", "--chunk-size", "60"]
DIES = [["signal.raise_signal", 9]]
"""The call for `fault_process.watch` that ends the command."""


@dataclass(frozen=True)
class Done:
    """Hold how a command ended: its exit code, or less than 0 for the signal that killed it."""

    code: int
    out: str
    err: str

    @property
    def value(self):
        """Return the JSON that it wrote."""
        assert self.code == 0, self
        return json.loads(self.out)

    def told(self):
        """Return the line that says what is wrong and its hint, or "" for an answer."""
        if self.code in (0, 4):
            return ""
        assert self.code in (1, 2) and not re.search("Traceback|[a-z]Error:", self.err), self
        *_, line, hint = [line for line in self.err.splitlines() if line.strip()]
        assert line.startswith("error: ") and len(line) < 600, self
        return f"{line} {hint}"


class World:
    """Hold notes (`texts` by their names), a home for their index, and a process that runs commands on them."""

    def __init__(self, base, texts):
        self.base, self.live, self.texts = base, base / "live", texts
        self.notes, self.home = self.live / "notes", self.live / "home"
        self.index = self.home / "data" / "indexes" / "default"
        self.home.mkdir(parents=True)
        for name, text in texts.items():
            self.write(name, text)
        self.keep("unindexed")
        env = {"LOCAL_RAG_CONFIG_DIR": self.home / "config", "LOCAL_RAG_DATA_DIR": self.home / "data"}
        env |= {"HOME": self.home, "COLUMNS": "100", "PYTHONWARNINGS": "error", "PYTHONPATH": TESTS}
        self.process = subprocess.Popen(
            [sys.executable, "-P", TESTS / "support" / "fault_process.py"],
            env=os.environ | {name: str(value) for name, value in env.items()},
            cwd=base,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *words, **fault):
        """Run a command with a fault of `fault_process.command`; the word NOTES stands for the folder of the notes."""
        words = [str(word).replace("NOTES", str(self.notes)) for word in words]
        shown = [self.base / "stdout", self.base / "stderr"]
        for file in shown:
            file.unlink(missing_ok=True)
        print(json.dumps([words, fault]), file=self.process.stdin, flush=True)
        code = int(self.process.stdout.readline())
        return Done(code, *(file.read_text("utf-8", "replace") for file in shown))

    def write(self, name, text, age=0):
        """Write a note, `age` seconds after all others."""
        path = self.notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (CLOCK + age, CLOCK + age))
        return path

    def keep(self, name):
        """Save the current state under a name, to which `reset` returns."""
        shutil.copytree(self.live, self.base / name, symlinks=True)

    def reset(self, name="indexed"):
        shutil.rmtree(self.live)
        shutil.copytree(self.base / name, self.live, symlinks=True)

    def states(self, *choices):
        """Return which of the choices (texts by their names) each stored file equals.

        Check the whole index first.
        """
        stored = {}
        with Index.open(self.index) as index:
            index.verify(deep=True)
            for passage in sorted(index.passages(), key=lambda passage: passage.start):
                stored.setdefault(passage.source.removeprefix(f"{self.notes}/"), []).extend(passage.text.split())
        return {
            name: [choice.get(name, "").split() for choice in choices].index(words) for name, words in stored.items()
        }

    def holds(self, texts):
        """Return whether the index has these texts by their names, and no others."""
        return self.states(texts) == dict.fromkeys(texts, 0)

    def goes_on(self, wanted, words=NEW_INDEX):
        """Check that a command finishes the work, and that no rest is beside the index and no forgotten byte in it."""
        done = self.run(*words)
        assert done.code == 0 and self.holds(wanted), done
        files = [file for file in self.index.iterdir() if file.is_file()]
        assert all(WHOLE.fullmatch(file.name) for file in files), files
        assert sum(file.name.startswith("vectors") for file in files) == 1, files
        content = b"".join(file.read_bytes() for file in files).lower()
        assert not {word for word in long_words(self.texts) - long_words(wanted) if word.encode() in content}

    def answer(self):
        """Return the first passage of a search."""
        return self.run("search", QUESTION, "--json", "--k", "1").value[0]["text"]


def long_words(texts):
    """Return words that are not in a file by chance."""
    return set(re.findall("[a-z]{6,}", " ".join(texts.values()).lower()))
