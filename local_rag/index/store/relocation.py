"""Files that have moved: what was made of them goes on under their new paths; nothing is read or embedded again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from sqlite3 import Connection

from local_rag.index.header import HEADER_VERSION, document_header, passage_header
from local_rag.index.store import embedded, former, full_text, headers, upgrade, writes
from local_rag.index.store.schema import FileRow


def relocate(db: Connection, moves: Sequence[tuple[str, FileRow]]) -> None:
    """Give stored files, by their old paths, the path, root and times of a row.

    No new path may be stored, unless as the old one of another move. Passages get the keys of their new places; what
    was written down under the old keys and paths, such as a chat, finds them as before. Headers that are new by it wait
    for their vectors.
    """
    files = {old: _file(db, old) for old, _ in moves}
    if not files.keys().isdisjoint(row.path for _, row in moves):
        for number in files.values():  # two files change places: no path and no key may be there twice
            db.execute("UPDATE files SET path = '~' || id WHERE id = ?", (number,))
            of_file = "SELECT id FROM documents WHERE file = ?"
            db.execute(f"UPDATE chunks SET key = '~' || key WHERE document IN ({of_file})", (number,))
    left: set[int] = set()
    certain = True
    for old, row in moves:
        documents = [
            each[0] for each in db.execute("SELECT id FROM documents WHERE file = ? ORDER BY id", (files[old],))
        ]
        left |= headers.of_documents(db, documents)
        certain = full_text.remove(db, documents) and certain
        _move_file(db, files[old], old, row)
        for position, document in enumerate(documents):
            _move_document(db, document, position, old, row)
        full_text.add(db, documents)
        embedded.take_in(db, [chunk for chunk, _ in writes.chunks_of(db, documents)])
    headers.drop_unused(db, left)
    if not certain:
        writes.restore_words(db)


def merge(db: Connection, files: Sequence[tuple[str, str]]) -> None:
    """Take out files, given with the paths of others that are stored already, and let the others have been these.

    Passages that the other has, too, get their keys as former ones.
    """
    for old, new in files:
        before = former.of_file(db, old)
        keys = {
            key: writes.key(new, position, start, end, text[start:end])
            for position, document in enumerate(upgrade.documents_at(db, old))
            for text in db.execute("SELECT text FROM documents WHERE id = ?", (document,)).fetchone()
            for key, start, end in db.execute("SELECT key, start, end FROM chunks WHERE document = ?", (document,))
        }
        writes.remove(db, [old])
        earlier = [(each, keys[key]) for each, key in before.keys]
        former.add(db, new, former.Former((old, *before.paths), (*earlier, *keys.items())))


def _file(db: Connection, path: str) -> int:
    number: int = db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()[0]
    return number


def _move_file(db: Connection, number: int, old: str, row: FileRow) -> None:
    columns = "path = ?, root = ?, size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, indexed_at = ?"
    values = (row.path, row.root, row.size, row.mtime_ns, row.ctime_ns, row.inode, row.indexed_at)
    db.execute(f"UPDATE files SET {columns} WHERE id = ?", (*values, number))
    db.execute("DELETE FROM former_paths WHERE path = ? AND file = ?", (row.path, number))
    db.execute("INSERT OR IGNORE INTO former_paths (path, file) VALUES (?, ?)", (old, number))
    db.execute("DELETE FROM failures WHERE path IN (?, ?)", (old, row.path))


def _move_document(db: Connection, document: int, position: int, old: str, row: FileRow) -> None:
    title, text = db.execute("SELECT title, text FROM documents WHERE id = ?", (document,)).fetchone()
    if title == Path(old).name:  # the title of what has none
        title = Path(row.path).name
    name, folders = headers.path_words(row.path, row.root)
    header = document_header(row.path, title)
    version = f"CASE WHEN header_version = {HEADER_VERSION} THEN {HEADER_VERSION} ELSE {-HEADER_VERSION} END"
    db.execute(
        f"UPDATE documents SET title = ?, name = ?, folders = ?, header = ?, header_version = {version} WHERE id = ?",
        (title, name, folders, header, document),
    )
    sql = "SELECT id, key, start, end, heading FROM chunks WHERE document = ? ORDER BY id"
    chunks = db.execute(sql, (document,)).fetchall()
    numbers = headers.numbers(db, [passage_header(header, heading) for *_, heading in chunks])
    for (chunk, key, start, end, _), number in zip(chunks, numbers, strict=True):
        new = writes.key(row.path, position, start, end, text[start:end])
        db.execute("UPDATE chunks SET key = ?, header = ? WHERE id = ?", (new, number, chunk))
        db.execute("DELETE FROM former_keys WHERE key = ?", (new,))
        db.execute("INSERT OR REPLACE INTO former_keys (key, chunk) VALUES (?, ?)", (key.lstrip("~"), chunk))
