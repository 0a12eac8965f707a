"""Check that a unit test starts no process, opens no socket and no database, and loads no model."""

import sys

import pytest

from local_rag.diagnostics.recorded import STARTED, TO_ADDRESS

WATCHED = {"os.fork", "sqlite3.connect", *STARTED, *TO_ADDRESS}
MODELS = {"openvino", "torch", "sentence_transformers"}
seen: list[str] = []


def _watch(event, arguments, watched=WATCHED, models=MODELS):
    if event in watched or (event == "import" and arguments[0] in models):
        seen.append(f"{event} {arguments[0]}")


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def light():
    """Fail a test that belongs into tests/integration."""
    before = len(seen)
    yield
    assert seen[before:] == [], "this test belongs into tests/integration"
