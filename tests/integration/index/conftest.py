"""One server for the tests of a worker; each test has indexes of its own names."""

from itertools import count

import pytest
from support.postgres import Server

NUMBERS = count()


@pytest.fixture(scope="session")
def server():
    made = Server.made()
    yield made
    made.remove()


@pytest.fixture
def on_server(server):
    """The place of an index that is not there yet."""
    return server.index(f"n{next(NUMBERS)}")


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """Where an index may lie."""
    return request.getfixturevalue("on_server") if request.param == "server" else tmp_path / "index"
