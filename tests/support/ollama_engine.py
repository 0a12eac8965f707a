"""Make an OllamaEngine on a test server, and ask it in short ways."""

import json
import re
import time
from contextlib import contextmanager

from local_rag.config.models import ROLES, OllamaModelSpec
from local_rag.config.values import Ollama
from local_rag.core.protocols import Attempt
from local_rag.engines.ollama.engine import OllamaEngine
from local_rag.engines.ollama.server import PATIENCE, OllamaApi
from support.fakes import passage

QUESTION = "What does the plan cost?"
YES = '{"r": "yes yes"}'
FULLY = '{"s": "fully", "u": 5}'
LONG = 120.0
"""Seconds within which every fault must show on the slowest machine: the first call imports the client."""


@contextmanager
def engine_on(
    server,
    model="tiny",
    num_ctx=4096,
    think=False,
    explain=False,
    texts=None,
    evaluator=None,
    assessor=None,
    patience=PATIENCE,
    **settings,
):
    """Give an engine for all roles; `server` is a test server or an address, `settings` those of `ollama:`.

    `patience` is the maximum of seconds for a question about models.
    """
    host = getattr(server, "host", server)
    config = Ollama(host=host, **settings)
    with_server = OllamaApi(config.host, config.allow_hosts, patience)
    try:
        spec = OllamaModelSpec(name=model, think=think)
        specs = dict.fromkeys(ROLES, spec)
        engine = OllamaEngine(
            with_server, specs, num_ctx, config, explain=explain, texts=texts, evaluator=evaluator, assessor=assessor
        )
    except BaseException:
        with_server.close()
        raise
    try:
        yield engine
    finally:
        engine.close()


def load_ahead(engine, server):
    """Prepare the engine, and wait until the server has been told to load its model."""
    engine.prepare()
    until = time.monotonic() + LONG
    while not server.preloads and time.monotonic() < until:
        time.sleep(0.005)


def passages(count=2, words=0):
    """Return passages of about `words` words; 0 means one short sentence."""
    text = "The plan costs a few hundred euros in all. " * (words // 9)
    return [passage(number, f"Passage {number}. {text}" if words else "") for number in range(1, count + 1)]


def grades(letters):
    """Return the reply of a retrieval grader, with a letter for each passage."""
    return json.dumps({"r": " ".join({"y": "yes", "n": "no"}[letter] for letter in letters)})


def shown(body):
    """Return the numbers of the passages in a prompt."""
    return [int(number) for number in re.findall(r'<passage n="(\d+)"', contents(body)[-1][1])]


def labels(verdicts):
    return [verdict.label for verdict in verdicts]


def graded(server, *replies, documents=None, **settings):
    """Return the verdicts of the retrieval grader for these replies."""
    server.script(*replies)
    with engine_on(server, **settings) as engine:
        return engine.relevance(QUESTION, documents or passages())


def answered(engine, documents=None, attempt=None):
    """Return the parts of an answer, and the text as a reader has it at the end."""
    pieces = list(engine.answer(QUESTION, passages() if documents is None else documents, attempt or Attempt()))
    return pieces, read(pieces)


def read(pieces):
    text = ""
    for piece in pieces:
        text = "" if piece.restart else text + piece.text
    return text


def contents(body):
    """Return the messages of a chat as (role, content)."""
    return [(message["role"], message["content"]) for message in body["messages"]]
