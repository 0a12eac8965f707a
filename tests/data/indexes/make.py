"""Makes an index of `notes` with the sources of any commit: python make.py SOURCES SCRATCH TARGET.sqlite.gz

SOURCES is a checkout of that commit (`git worktree add SOURCES COMMIT`), SCRATCH an empty folder. The paths in the
index are those of SCRATCH/notes; the tests move them to where they have copied the notes.
"""

from __future__ import annotations

import gzip
import importlib
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

CHUNK_SIZE = 60


def main(sources: Path, scratch: Path, target: Path) -> None:
    sys.path.insert(0, str(sources))
    settings = _first("Settings", "local_rag.config.settings", "local_rag.config").load()
    models = _first("load_models", "local_rag.config.models", "local_rag.models")(settings)
    embedders = "local_rag.index.embed.embedder", "local_rag.index.embedding"
    embedder = _first("SentenceTransformerEmbedder", *embedders)(models.embedder("minilm"), settings.cache_folder)
    page = _first("WebPage", "local_rag.core.documents", "local_rag.index.pages")
    notes = scratch / "notes"
    shutil.copytree(Path(__file__).parent / "notes", notes)
    index = _first("Index", "local_rag.index.index")
    made = index.open(scratch / "index", embedder, chunk_size=CHUNK_SIZE, create=True)
    made.sync([notes])
    url = "https://example.org/tides"
    made.sync_pages([url], lambda _: page(url, "Tides of Norby", "High water comes fifty minutes later every day."))
    made.close()
    with sqlite3.connect(scratch / "index" / "index.sqlite") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = (scratch / "index" / "index.sqlite").read_bytes()
    target.write_bytes(gzip.compress(data, 9, mtime=0))


def _first(name: str, *modules: str) -> Any:
    """What is called so in the first of these modules that this commit has."""
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"{name} in {' or '.join(modules)}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
