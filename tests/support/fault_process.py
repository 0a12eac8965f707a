"""Fork from a process with local-rag imported for every command that it is told to run, and for its fault.

A command then takes a fraction of a second, and may be killed or starved at any moment: only its own process ends. A
request is a line of JSON on stdin, [words, fault] (see `command`); its reply is a line with the exit code, less than 0
for a signal. The output of the command is in the files `out` and `err` of the working folder.
"""

import importlib
import json
import os
import pkgutil
import re
import signal
import sqlite3
import sys
import threading

from local_rag.cli import main
from local_rag.core import process
from local_rag.index.embed import encoders
from local_rag.index.embed.embedder import SentenceTransformerEmbedder
from local_rag.index.parse.parser import Parser
from local_rag.index.store.sqlite import vectors
from local_rag.index.sync import embed, text
from support.fakes_index import HashingEmbedder

SECONDS = 600
"""Seconds after which the system ends a command, because it hangs, however busy the machine is."""

IMPORTED = """
faiss langgraph.graph snowballstemmer local_rag.cli.app local_rag.diagnostics.doctor local_rag.graphs.adaptive
local_rag.engines.evaluator.evaluator local_rag.engines.extractive.engine local_rag.engines.ollama.engine
local_rag.index.joint local_rag.runtime.indexing
local_rag.runtime.rag local_rag.terminal.answers local_rag.terminal.diagnostics local_rag.terminal.questions
"""
"""The modules to import first, which would take each command a second."""


def watch(pattern, number, calls):
    """Do `calls`, (function, *arguments) each, at the `number`-th event that begins with the pattern.

    An event is a statement of SQL that is about to begin, or an audit event of Python with its first argument.
    """
    met, lock = [], threading.RLock()

    def happens(what):
        with lock:
            if re.match(pattern, what):
                met.append(what)
                for name, *arguments in calls * (len(met) == number):
                    pkgutil.resolve_name(name)(*arguments)

    def traced(*arguments, **keywords):
        db = connect(*arguments, **keywords)
        db.set_trace_callback(lambda sql: happens(f"sql {sql.strip()}"))
        return db

    connect, sqlite3.connect = sqlite3.connect, traced
    sys.addaudithook(lambda event, arguments: happens(f"{event} {(*arguments, '')[0]}"))


def command(words, at=None, folder=".", broken=()):
    """Run `local-rag` with these words, which ends this process.

    `at` are arguments of `watch`; nobody reads the descriptors `broken`.
    """
    signal.alarm(SECONDS)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the requests are not for the command
    for number, name in enumerate(("stdout", "stderr"), 1):  # as a process begins
        target = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
        if number in broken:
            reader, target = os.pipe()
            os.close(reader)
        os.dup2(target, number)
        stream = open(number, "w", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.chdir(folder)
    if at:
        watch(*at)
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
    """Import what commands need, and set constants as for a large index, with bags of words instead of a model.

    A file of vectors is written even for a few, transactions are small, and the wait for a parser is shorter.
    """
    process.prepare_own_process()
    for name in IMPORTED.split():
        importlib.import_module(name)
    encoders.import_openvino()
    Parser.__init__.__defaults__ = (20.0, {})
    vectors.COMPARED = 0
    text.BATCH = embed.FIRST = embed.SMALLEST = embed.LARGEST = 4
    bag_of_words = HashingEmbedder(384)
    SentenceTransformerEmbedder.load = lambda self: None
    SentenceTransformerEmbedder._embed = lambda self, texts: bag_of_words.embed_documents(texts)  # noqa: SLF001


if __name__ == "__main__":
    prepare()
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)
        serve(replies)
