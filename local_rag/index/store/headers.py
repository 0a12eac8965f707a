"""Headers of chunks: each text once, with its vector once it is embedded; those that no chunk has any more go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from sqlite3 import Connection

from local_rag.index.name_words import folder_words, name_text
from local_rag.index.store.arrays import IN, array


def path_words(path: str, root: str) -> tuple[str, str]:
    """The words of a file's name, and those of its folders from its root on: what lies above says nothing about it."""
    file, above = Path(path), Path(root)
    is_below = file != above and file.is_relative_to(above)
    shown = str(Path(above.name, file.relative_to(above))) if is_below else path
    return name_text(path), " ".join(folder_words(shown))


def numbers(db: Connection, texts: Sequence[str]) -> list[int | None]:
    """The numbers of headers, new ones where needed; None for an empty one."""
    distinct = [text for text in dict.fromkeys(texts) if text]
    db.executemany("INSERT OR IGNORE INTO headers (text) VALUES (?)", [(text,) for text in distinct])
    sql = f"SELECT text, id FROM headers WHERE text {IN}"
    known: dict[str, int] = dict(db.execute(sql, (array(distinct),)))
    return [known.get(text) for text in texts]


def of_documents(db: Connection, documents: Collection[int]) -> set[int]:
    """The numbers of the headers that chunks of these documents have."""
    sql = f"SELECT DISTINCT header FROM chunks WHERE document {IN}"
    return {row[0] for row in db.execute(sql, (array(documents),)) if row[0] is not None}


def drop_unused(db: Connection, headers: Collection[int]) -> None:
    """Forget those of these headers that no chunk has any more."""
    unused = "NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.header = headers.id)"
    db.executemany(f"DELETE FROM headers WHERE id = ? AND {unused}", [(number,) for number in headers])
