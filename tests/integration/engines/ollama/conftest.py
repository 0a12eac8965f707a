"""An engine on the scripted server."""

import pytest
from support.ollama_engine import engine_on


@pytest.fixture
def engine(ollama):
    with engine_on(ollama) as engine:
        yield engine
