"""Run cases in a child of test_linear_work with much more processor time than they need, mostly a hundred times.

A case with quadratic work needs more: the system then ends the child, and the case is the last line it printed.
"""

import signal
import sys
from contextlib import suppress
from itertools import product
from pathlib import Path

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse import loaders
from local_rag.text import chunking, display, encoding, fences, marks, numbers, support, words
from local_rag.text.sentences import sentences

SIZE = 20_000
SECONDS = 1.5
UNITS = """[ ] ( " ' ` # * _ . - = | : , ; 1 a < & — 日 1. 1, a' a- [1, :a:` <!-- </ \\ {# ://""".split()
UNITS += [" ", "\t", "\n", " \n", "a\n", "- ", "a. ", "\u0323\u0301", "\u00ad", "\x1b]", "\x1b[0"]
SENTENCE = "The keeper of 1 lamp lights it at dusk."


def chunks(text):
    """Cut a quarter of the text, which takes longer than all other work on a whole one."""
    text = text[: SIZE // 4]
    ends = [position for position in range(4, len(text), 5)]
    return chunking.chunk(LoadedDocument(text), ends, size=50, overlap=10, window=100)


TEXT = (
    words.words,
    words.content_stems,
    sentences,
    chunks,
    marks.claims,
    marks.tables,
    numbers.quantities,
    numbers.names,
    numbers.written_names,
    words.tidy,
    lambda text: support.evidence(SENTENCE, text),
    lambda text: support.evidence(text, SENTENCE),
    lambda text: display.shorten(text, 80),
    display.printable,
    display.for_terminal,
    fences.fenced,
    lambda text: encoding.decode(f"a{text}".encode()),
    lambda text: encoding.declared_charset(text.encode()),
)

HTML = "Content-Type: text/html"
FILES = {
    "prose": {
        ".txt": ["{}"],
        ".md": ["# a{}b\n\nx", "---\ntitle: a{}b\n---\n# x", "a\n{}b\n", "# [a]{}\n", "|a|b|\n|-|-|\n{}"],
        ".rst": ["a{}b\n=====\n", ":Title: a{}b\n", ":a:`{}\n===\n", "aaa\n{}b"],
    },
    "records": {
        ".csv": ["a,b\n{}", "{}\na\nb", '"{}'],
        ".json": ['{"a": "{}"}', "[{}]"],
        ".jsonl": ['{"a": "{}"}\n', "{}"],
        ".srt": ["1\n00:00:01,000 --> 00:00:02,000\n{}"],
        ".ics": ["BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:{}\nEND:VEVENT\nEND:VCALENDAR"],
    },
    "markup": {
        ".mhtml": [f"{HTML}\n\n<!-- saved from url=(1){{}}", f"{HTML}; x={{}}\n\n<p>a</p>"],
        ".html": ["<p>a{}b</p>", "<script>{}", "<p style='{}'>a</p>{}", "<title>{}", "<div>" * 3000 + "{}"],
        ".eml": ["From: {}b\nSubject: x\n\nbody", "From: a\nContent-Type: text/plain; a={}\n\nbody", "To: a{}\n\n{}"],
        ".mbox": ["From x\nTo: {}b\n\nbody", "From x\nTo: a\n\n{}"],
    },
}


def cases(kind, folder):
    """Yield (name, what to call, its argument)."""
    if kind == "text":
        for work, form, unit in product(TEXT, ("{}", 'a{}" '), UNITS):
            yield f"{work.__name__} {form!r} {unit!r}", work, filled(form, unit)
        return
    for suffix, forms in FILES[kind].items():
        (path := folder / f"first{suffix}").write_text("a")
        load(path)  # what it imports is no work of a case
        for form, unit in product(forms, UNITS):
            path = folder / f"file{suffix}"
            path.write_bytes(filled(form, unit).encode())
            yield f"{suffix} {form!r} {unit!r}", load, path


def filled(form, unit):
    return form.replace("{}", unit * (SIZE // len(unit)))


def load(path):
    with suppress(FileSkipped), loaders.told():
        loaders.load(path)


def main(kind, folder):
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for name, work, argument in cases(kind, folder):
        print(name, flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        work(argument)
        signal.setitimer(signal.ITIMER_PROF, 0)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
