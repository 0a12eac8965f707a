"""A process with local-rag imported, which forks for every command that it is told to run, and for its fault.

A command costs a fraction of a second so, and may be killed or starved at any moment: nothing but its own process ends.
A request is a line of JSON on stdin, [words, fault] (see `command`); its reply is a line with the exit code, less than
0 for a signal. What the command shows is in the files `out` and `err` of the working folder.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import resource
import signal
import sqlite3
import sys
import threading

from local_rag.cli import main
from local_rag.core import process
from support.fakes_index import HashingEmbedder
from support.permissions import give_up_rights

SECONDS = 600
"""A command that takes longer hangs, however busy the machine is; the system ends it."""

IMPORTED = ["numpy", "faiss", "langgraph.graph", "local_rag.cli.app", "local_rag.diagnostics.doctor"]
IMPORTED += [f"local_rag.cli.{name}" for name in ("ask", "doctor", "index", "remove", "search", "status")]
IMPORTED += [f"local_rag.index.{name}" for name in ("index", "sync.text", "sync.embed", "embed.embedder")]
"""What commands import first; each of them would take its time."""

SMALL = {
    "local_rag.index.store.vectors.FEW": 0,
    "local_rag.index.sync.text._BATCH": 4,
    **dict.fromkeys((f"local_rag.index.sync.embed.{name}" for name in ("FIRST", "LEAST", "MOST")), 4),
}
"""Constants as of a large index: a file of vectors is written for a few, too, and transactions are small."""


def named(name):
    module, _, function = name.rpartition(".")
    return importlib.import_module(module), function


def watch(acts):
    """Do something at some events: `acts` are (pattern, at which event that it finds, [(function, *arguments), …]).

    An event is a statement of SQL that is about to begin, or an audit event of Python with its first argument.
    """
    met, lock = [0] * len(acts), threading.RLock()

    def happens(what):
        with lock:
            for position, (pattern, number, calls) in enumerate(acts):
                if re.match(pattern, what):
                    met[position] += 1
                    for name, *arguments in calls * (met[position] == number):
                        getattr(*named(name))(*arguments)

    def traced(*arguments, **keywords):
        db = connect(*arguments, **keywords)
        db.set_trace_callback(lambda sql: happens(f"sql {sql.strip()}"))
        return db

    connect, sqlite3.connect = sqlite3.connect, traced
    sys.addaudithook(lambda event, arguments: happens(f"{event} {(*arguments, '')[0]}"))


def command(words, acts=(), limit=None, folder=None, bound=False, broken=()):
    """Run `local-rag` with these words, which ends this process.

    No file may grow beyond `limit` bytes; `bound`: permissions bind a superuser, too; nobody reads the descriptors
    `broken`.
    """
    signal.alarm(SECONDS)
    for number, name in enumerate(("out", "err"), 1):
        target = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
        if number in broken:
            reader, target = os.pipe()
            os.close(reader)
        os.dup2(target, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the requests are not for the command
    for number, name in enumerate(("stdout", "stderr"), 1):  # as a process begins
        stream = open(number, "w", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if folder:
        os.chdir(folder)
    if bound:
        give_up_rights()
    if acts:
        watch(acts)
    sys.argv[1:] = words
    main()


def serve(replies):
    for line in sys.stdin:
        words, fault = json.loads(line)
        number = os.fork()
        if not number:
            try:
                command(words, **fault)
            finally:
                os._exit(255)
        _, status = os.waitpid(number, 0)
        print(os.waitstatus_to_exitcode(status), file=replies, flush=True)


def prepare():
    """Import what commands need, and let no model be loaded for vectors: they are bags of words here."""
    process.prepare_own_process(process.CONVERTING)
    for name in IMPORTED:
        importlib.import_module(name)
    for name, value in SMALL.items():
        assert hasattr(*named(name)), name
        setattr(*named(name), value)
    embedder = getattr(*named("local_rag.index.embed.embedder.SentenceTransformerEmbedder"))
    embedder.load = lambda self: None
    embedder._embed = lambda self, texts: HashingEmbedder(self.dimension).embed_documents(texts)  # noqa: SLF001
    return embedder


if __name__ == "__main__":
    sqlite3.enable_callback_tracebacks(True)
    prepare()
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)
        serve(replies)
