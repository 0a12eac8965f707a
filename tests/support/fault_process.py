"""A process with local-rag imported, which forks for every command that it is told to run, and for its fault.

A command costs a fraction of a second so, and may be killed or starved at any moment: nothing but its own process ends.
A request is a line of JSON on stdin (see `faults.Commands`), its reply a line on stdout: what each step showed and, in
the first pipe, the events, so that they are there after a kill, too.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pickle
import re
import resource
import selectors
import shutil
import signal
import sqlite3
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path

SECONDS = 600
"""A command that takes longer hangs, however busy the machine is; the system ends it."""

LIBRARY = os.environ.pop("LD_PRELOAD", "")
"""`system_calls.c`, compiled; the children of a command do without."""

CHANGES = re.compile(
    r"\s*(?:--\s*)?(BEGIN IMMEDIATE|BEGIN EXCLUSIVE|COMMIT|INSERT|REPLACE|UPDATE|DELETE|CREATE|ALTER|DROP"
    r"|PRAGMA wal_checkpoint|PRAGMA journal_mode)\b\s*(.{0,60})",
    re.IGNORECASE | re.DOTALL,
)
"""Statements that write, or begin or end what is written. FTS5's own statements come as comments."""

SYSTEM_CALLS = ("fsync", "unlink", "remove", "replace", "rename", "rmdir", "link", "symlink", "truncate")


class Events:
    """What happens in a command that may have to be interrupted there: one line each, counted from 0."""

    def __init__(self, pipe, fault):
        self.pipe = pipe
        self._kill, self._acts = fault.get("kill"), fault.get("acts", [])
        self._prefix = fault.get("reads", "\0")
        self._count, self._met, self._lock = 0, [0] * len(self._acts), threading.RLock()

    def watch(self):
        sys.addaudithook(self._audit)
        sqlite3.connect = self._traced(sqlite3.connect)
        for name in SYSTEM_CALLS:
            setattr(os, name, self._told(name, getattr(os, name)))

    def _told(self, name, call):
        def told(*arguments, **keywords):
            paths = " ".join(Path(path).name for path in arguments if isinstance(path, (str, Path)))
            self._happens(f"{name} {paths}".strip())
            return call(*arguments, **keywords)

        return told

    def _traced(self, connect):
        def traced(*arguments, **keywords):
            db = connect(*arguments, **keywords)
            db.set_trace_callback(self._statement)
            return db

        return traced

    def _audit(self, event, arguments):
        if event == "open" and str(arguments[0]).startswith(self._prefix):
            self._happens(f"open {arguments[0]}", counts=False)
        elif event == "subprocess.Popen":
            self._happens("start", counts=False)

    def _statement(self, sql):
        if match := CHANGES.match(sql):
            self._happens(f"sql {' '.join(match.group(1, 2))}".replace("\n", " "))

    def _happens(self, what, counts=True):
        with self._lock:
            for position, (pattern, number, calls) in enumerate(self._acts):
                if re.search(pattern, what):
                    self._met[position] += 1
                    if self._met[position] == number:
                        for name, *arguments in calls:
                            module, _, function = name.rpartition(".")
                            getattr(importlib.import_module(module), function)(*arguments)
            if counts:
                os.write(self.pipe, f"{what}\n".encode("utf-8", "replace"))
                if self._count == self._kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                self._count += 1


def prepare(fault):
    """The limits and rights under which the command runs."""
    signal.alarm(SECONDS)
    for name, value in fault.get("constants", {}).items():
        module, _, constant = name.rpartition(".")
        setattr(importlib.import_module(module), constant, value)
    if "limit" in fault:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault["limit"], resource.RLIM_INFINITY))
    if "nofile" in fault:
        resource.setrlimit(resource.RLIMIT_NOFILE, (fault["nofile"], fault["nofile"]))
    if fault.get("folder"):
        os.chdir(fault["folder"])
    if fault.get("gone"):
        shutil.rmtree(fault["folder"])
    if "system_call" in fault:
        ctypes.CDLL(LIBRARY).faults_kill_at(fault["system_call"])
    if fault.get("bound"):
        from support.permissions import give_up_rights

        give_up_rights()


def execute(step, as_program=False):
    if isinstance(step, dict):
        sys.stdout.write(json.dumps(whole(**step)))
        return 0
    if as_program:
        from local_rag.cli import main

        sys.argv[1:] = step
        for number, name in ((1, "stdout"), (2, "stderr")):  # as a process begins
            stream = open(number, "w", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        main()  # it leaves the process with the exit code
    from local_rag.cli.app import run

    return run(step)


def break_pipe(descriptor):
    """Let nobody read what is written there."""
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, descriptor)


def whole(index="default", questions=()):
    """Read all of an index: the texts of each file, and the best passage for each question by vectors and by words.

    Raises what a damaged index raises.
    """
    from local_rag.config.settings import Settings
    from local_rag.runtime.opening import open_index

    texts, best = {}, {}
    with open_index(Settings.load(index=index)) as opened:
        opened.verify()
        for passage in opened.passages():
            texts.setdefault(passage.source, []).append((passage.start, passage.text))
        for question in questions:
            for mode in ("dense", "words"):
                hits = opened.search(question, 1, mode=mode)
                best[f"{mode}: {question}"] = hits[0].page_content if hits else ""
        count = opened.count()
    return {"texts": {path: [text for _, text in sorted(rows)] for path, rows in texts.items()}, "best": best} | {
        "count": count
    }


class Remembered:
    """What earlier commands computed with models, so that a command that computes nothing else need not load them.

    The tokenizers that a command read are read before the next one forks.
    """

    known, new, tokenizers = {}, {}, set()

    @classmethod
    def use(cls):
        import numpy as np

        from local_rag.core import cancel
        from local_rag.index.embed import encoders
        from local_rag.index.embed.embedder import SentenceTransformerEmbedder as Embedder

        embed_now = Embedder._embed  # noqa: SLF001  # below it, nothing is different
        load_model, read_tokenizer = encoders.OpenVinoModel, encoders.tokenizer

        def embed(self, texts):
            cancel.check()
            keys = {text: (self.fingerprint, self._quick, text) for text in texts}
            missing = [text for text, key in keys.items() if key not in cls.known]
            if missing:
                cls.learn({keys[text]: row for text, row in zip(missing, embed_now(self, missing), strict=True)})
            return np.stack([cls.known[keys[text]] for text in texts]) if texts else embed_now(self, [])

        class Model:
            """One that is loaded for the first inputs that are not known."""

            def __init__(self, conversion):
                self.conversion, self.loaded = conversion, None

            def compute(self, inputs):
                rows = [(name, each.shape, each.tobytes()) for name, each in inputs.items()]
                key = (str(self.conversion.folder), *rows)
                if key not in cls.known:
                    self.loaded = self.loaded or load_model(self.conversion)
                    cls.learn({key: self.loaded.compute(inputs)})
                return cls.known[key]

        def tokenizer(file, use):
            cls.tokenizers.add((file, use))
            return read_tokenizer(file, use)

        Embedder._embed = embed  # noqa: SLF001
        encoders.OpenVinoModel = Model
        encoders.tokenizer = tokenizer

    @classmethod
    def learn(cls, computed):
        cls.known |= computed
        cls.new |= computed

    @classmethod
    def save(cls, file):
        file.write_bytes(pickle.dumps((cls.new, cls.tokenizers)))

    @classmethod
    def load(cls, file):
        if file.exists():
            from local_rag.index.embed import encoders

            computed, tokenizers = pickle.loads(file.read_bytes())  # noqa: S301  # our own child wrote it
            cls.known |= computed
            with suppress(OSError):
                for each in tokenizers:
                    encoders.tokenizer(*each)


def child(request, pipes, known):
    folder, wrong = Path(request["out"]), ""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the requests are not for the command
    events = Events(pipes[0], request["fault"])
    try:
        Remembered.use()
        prepare(request["fault"])
    except Exception:
        wrong = traceback.format_exc()
    events.watch()
    for number, step in enumerate(request["steps"]):
        for descriptor, pipe in zip((1, 2), pipes[1 + 2 * number :], strict=False):
            os.dup2(pipe, descriptor)
        broken = request["fault"].get("broken", [])
        for descriptor in broken:
            break_pipe(descriptor)
        os.write(events.pipe, b"begun\n")
        started = time.monotonic()
        try:
            if wrong:
                raise RuntimeError(wrong)
            code = execute(step, as_program=bool(broken))
        except BaseException:
            traceback.print_exc()
            code = 255
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os.write(events.pipe, f"ended {code} {time.monotonic() - started:.3f}\n".encode())
    if "system_call" in request["fault"]:
        os.write(events.pipe, b"system call\n" * ctypes.CDLL(LIBRARY).faults_seen())
    new = sorted(name for name, module in sys.modules.items() if module is not None and name not in known)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with suppress(OSError):
        (folder / "modules").write_text("\n".join(new))
        Remembered.save(folder / "vectors")
    os._exit(0)


def collected(readers):
    """All that is written into these pipes until every one of them is closed."""
    contents, selector = [b""] * len(readers), selectors.DefaultSelector()
    for number, reader in enumerate(readers):
        selector.register(reader, selectors.EVENT_READ, number)
    while selector.get_map():
        for key, _ in selector.select():
            if data := os.read(key.fd, 1 << 16):
                contents[key.data] += data
            else:
                selector.unregister(key.fd)
                os.close(key.fd)
    selector.close()
    return [content.decode("utf-8", "replace") for content in contents]


def warm(names):
    """Import what the last command had to import; the next one finds it there."""
    for name in names:
        with suppress(BaseException):
            importlib.import_module(name)


def main():
    from local_rag.cli import app  # noqa: F401
    from local_rag.core import process

    process.prepare_own_process(process.CONVERTING)
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)
        serve(replies)


def serve(replies):
    tried = set()
    for line in sys.stdin:
        request = json.loads(line)
        known = set(sys.modules)
        pipes = [os.pipe() for _ in range(1 + 2 * len(request["steps"]))]
        number = os.fork()
        if not number:
            for reader, _ in pipes:
                os.close(reader)
            child(request, [writer for _, writer in pipes], known)
        for _, writer in pipes:
            os.close(writer)
        contents = collected([reader for reader, _ in pipes])
        _, status = os.waitpid(number, 0)
        modules = Path(request["out"]) / "modules"
        new = set(modules.read_text().split("\n")) - tried if modules.exists() else set()
        warm(sorted(new))
        Remembered.load(Path(request["out"]) / "vectors")
        tried |= new
        replies.write(json.dumps({"status": os.waitstatus_to_exitcode(status), "pipes": contents}) + "\n")
        replies.flush()


if __name__ == "__main__":
    sqlite3.enable_callback_tracebacks(True)
    main()
