"""A copy of an index while others may be reading and writing it."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from local_rag.bundle.copying import Say
from local_rag.bundle.large_files import Progress
from local_rag.core.errors import IndexDamaged, IndexMissing, LocalRagError
from local_rag.core.private_files import make_folder
from local_rag.index.catalog import IndexStatus
from local_rag.index.index import Index
from local_rag.index.store import checks
from local_rag.index.store import folder as index_folder

PAGES = 4096
"""Pages of SQLite that are copied between two looks for Ctrl-C."""

BUSY_SECONDS = 5.0


def snapshot(folder: Path, target: Path, say: Say = lambda line: None) -> IndexStatus:
    """Write the database of an index as of its last commit to `target`, and say what is in the copy.

    SQLite's own backup in one transaction of a reader: who writes meanwhile is not held up, and not seen. The FAISS
    cache is left behind, because it is made anew from the database. Raises IndexMissing, IndexDamaged, LocalRagError.
    """
    checks.must_be_index(folder)
    if not index_folder.has_database(folder):
        raise IndexMissing(f"there is no index at {folder}", hint=index_folder.anew(folder))
    make_folder(target.parent)
    draft = target.with_name(f"{target.name}.part")
    _remove(draft)
    try:
        _back_up(folder, draft, say)
        draft.replace(target)
    except sqlite3.Error as error:
        raise LocalRagError(f"the index at {folder} cannot be copied: {error}", hint="local-rag doctor") from error
    finally:
        _remove(draft)
    status = Index.inspect(target.parent)
    for side_file in target.parent.glob(f"{target.name}-*"):
        side_file.unlink()
    return status


def _back_up(folder: Path, draft: Path, say: Say) -> None:
    source = f"{(folder / index_folder.DATABASE).absolute().as_uri()}?mode=ro"
    with (
        contextlib.closing(sqlite3.connect(source, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as db,
        contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as copy,
    ):
        with contextlib.suppress(OSError):  # some disks know no owner
            draft.chmod(0o600)
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # from here on the reader sees one state
        page, pages = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_size", "page_count"))
        progress = Progress("copied", page * pages, say)
        db.backup(copy, pages=PAGES, progress=lambda *_: progress.add(page * PAGES))
        db.execute("ROLLBACK")
        verdict = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise IndexDamaged(f"the index at {folder} is damaged: {verdict}", hint="local-rag doctor")


def _remove(draft: Path) -> None:
    for file in draft.parent.glob(f"{draft.name}*"):
        file.unlink()
