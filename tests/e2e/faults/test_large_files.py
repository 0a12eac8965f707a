"""A large file that takes long to embed, and a machine that does not last that long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.index.index import Index

TESTS = Path(__file__).parents[2]

KILLED = """
import os, signal, sys
from pathlib import Path
from support.fakes_index import HashingEmbedder
from local_rag.index.index import Index
from local_rag.index.sync import embedding

def die():
    if embedder.embedded > 500:
        os.kill(os.getpid(), signal.SIGKILL)

embedding.MOST = embedding.FIRST = 64
embedder = HashingEmbedder(before_batch=die)
with Index.open(Path(sys.argv[1]), embedder, chunk_size=40, create=True) as index:
    index.sync([Path(sys.argv[2])])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 as Unix has it")
def test_what_was_embedded_of_a_large_file_outlives_a_kill(tmp_path):
    rows = (
        f"{n},The keeper of light {n} writes {n * 7} lines into the log of the year {1800 + n % 99}"
        for n in range(4000)
    )
    (tmp_path / "log.csv").write_text("\n".join(["number,entry", *rows]))
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    command = [sys.executable, "-c", KILLED, str(tmp_path / "index"), str(tmp_path / "log.csv")]
    for run in (1, 2):
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
        if done.returncode != -signal.SIGKILL:
            pytest.fail(f"it was not killed: {done.stderr}", pytrace=False)
        with closing(Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=40)) as index:
            with_vector, chunks = index.embedded_count()
            assert chunks > 2000, "all of the text is stored"
            assert with_vector >= run * (500 - 64), "a kill loses one batch"
            assert index.search("keeper of light", 1)
