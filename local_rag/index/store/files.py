"""Standard SQL that every store runs about the index as a whole, its roots and its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple

from local_rag.index.store.rows import Rows, listed
from local_rag.index.store.values import (
    Counts,
    Failure,
    FileName,
    FileRow,
    IndexedFile,
    IndexSettings,
    Root,
    UnusableRow,
    of_scans,
)
from local_rag.text.display import is_page

VERSION = 8
"""The version of the schema of both stores. An index of another version is made again."""


class Files(Rows):
    """The part of a store that keeps settings, roots, files, and what was reported of them."""

    # --- the index as a whole

    def meta(self) -> dict[str, str]:
        """Return the rows of `meta`, read once in a snapshot; a row that the next command renews may be missing."""
        kept: dict[str, str] | None = getattr(self._threads, "meta", None)
        known = kept or {"generation": "", "epoch": "", **dict(self._execute("SELECT name, value FROM meta"))}
        if kept is not None:
            self._threads.meta = known
        return known

    def generation(self) -> str:
        """Return the generation, which changes with every commit."""
        return self.meta()["generation"]

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Insert or update rows of `meta`."""
        sql = "INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._many(sql, list(values.items()))

    def settings(self) -> IndexSettings:
        """Return the settings that made the index. Raises IndexDamaged."""

        def read() -> IndexSettings:
            known = self.meta()
            try:
                numbers = [int(known[name]) for name in ("dimension", "size", "overlap")]
                return IndexSettings(known["embedder"], known["fingerprint"], *numbers)
            except (KeyError, ValueError) as error:
                raise UnusableRow(f"its table meta lacks a row, or has one that is no number: {error}") from error

        return self.snapshot(read)

    def set_settings(self, settings: IndexSettings) -> None:
        """Replace the settings of the index."""
        self.set_meta({name: str(value) for name, value in asdict(settings).items()})

    def counts(self) -> Counts:
        """Count files, pages, documents and chunks."""
        page = "(path LIKE 'http://%' OR path LIKE 'https://%')"
        (numbers,) = self._execute(
            f"SELECT (SELECT count(*) FROM files WHERE container = '' AND NOT {page}"
            " AND id IN (SELECT file FROM documents)),"
            f" (SELECT count(*) FROM files WHERE {page}), (SELECT count(*) FROM documents),"
            " (SELECT count(*) FROM chunks), (SELECT count(*) FROM embedded),"
            " (SELECT count(*) FROM documents WHERE date != '')"
        )
        return Counts(*numbers)

    def languages(self) -> dict[str, int]:
        """Count the documents in each language, by its code; documents of an unknown language are left out."""
        sql = "SELECT language, count(*) FROM documents WHERE language != '' GROUP BY language ORDER BY language"
        return dict(self._execute(sql))

    def content(self) -> str:
        """Return 16 hex digits of the keys of all chunks, which depend on their file, position and text."""
        known = sorted(self._column("SELECT key FROM chunks"))
        return hashlib.sha256("".join(f"{key}\n" for key in known).encode()).hexdigest()[:16]

    # --- roots, and what was said of files

    def roots(self, *, forgotten: bool = False) -> list[Root]:
        """Return the roots that a person asked to index; with `forgotten` those that were taken out, kept for their
        excludes.
        """
        sql = "SELECT path, excludes, secrets, follow_links FROM roots WHERE forgotten = $1 ORDER BY path"
        rows = self._execute(sql, forgotten)
        return [
            Root(path, tuple(json.loads(excludes)), bool(secrets), bool(links))
            for path, excludes, secrets, links in rows
        ]

    def set_roots(self, roots: Sequence[Root]) -> None:
        """Insert roots, or replace those of the same path."""
        self._many("DELETE FROM roots WHERE path = $1", [(root.path,) for root in roots])
        rows = [(root.path, json.dumps(root.excludes), root.secrets, root.follow_links, False) for root in roots]
        self._many("INSERT INTO roots VALUES ($1, $2, $3, $4, $5)", rows)

    def forget_roots(self, paths: Iterable[str]) -> None:
        """Forget roots, but not what a person excluded from them."""
        paths = list(paths)
        self._execute(f"DELETE FROM roots WHERE excludes = '[]' AND path {self._in(1)}", paths)
        self._execute(f"UPDATE roots SET forgotten = $2 WHERE path {self._in(1)}", paths, True)

    def reported(self) -> set[tuple[str, str]]:
        """Return the (path, reason) pairs that earlier syncs reported as skipped."""
        return set(self._execute("SELECT path, reason FROM reported"))

    def set_reported(self, warnings: Iterable[tuple[str, str]]) -> None:
        """Remember the (path, reason) pairs that were reported, and no others."""
        self._execute("DELETE FROM reported")
        self._many("INSERT INTO reported VALUES ($1, $2) ON CONFLICT DO NOTHING", list(warnings))

    def failures(self) -> dict[str, Failure]:
        """Return the failures by path: why the content of a file could not be read."""
        return {row[0]: Failure(*row) for row in self._execute("SELECT path, sha256, parser, reason FROM failures")}

    def set_failure(self, failure: Failure) -> None:
        """Remember a failure in place of an earlier one of the same file."""
        self.forget_unread([failure.path])
        self._execute("INSERT INTO failures VALUES ($1, $2, $3, $4)", *astuple(failure))

    def forget_unread(self, paths: Iterable[str], *, reported: bool = False) -> None:
        """Forget that files could not be read, and where `reported` is set, that it was reported."""
        paths = list(paths)
        self._execute(f"DELETE FROM failures WHERE path {self._in(1)}", paths)
        if reported:
            self._execute(f"DELETE FROM reported WHERE path {self._in(1)}", paths)

    # --- files and pages

    def files(self) -> list[FileRow]:
        """Return all files and pages, without the files inside of others."""
        return self._file_rows("WHERE container = ''")

    def file(self, path: str) -> FileRow | None:
        """Return the file or page that is stored under a path."""
        return next(iter(self._file_rows("WHERE path = $1", path)), None)

    def pages(self, urls: Iterable[str]) -> list[FileRow]:
        """Return the pages that are stored under one of these URLs, or were indexed through one."""
        return self._file_rows(f"WHERE path {self._in(1)} OR root {self._in(1)}", list(urls))

    def scanned(self) -> list[FileRow]:
        """Return the files with pages that wait for OCR, those with the fewest first."""
        return sorted(self._file_rows("WHERE scans != '[]' AND complete"), key=lambda file: len(file.scans))

    def _file_rows(self, where: str, *values: object) -> list[FileRow]:
        names = "path, root, sha256, size, mtime_ns, ctime_ns, inode, warnings, indexed_at, container, scans, complete"
        rows = self._execute(f"SELECT {names} FROM files {where} ORDER BY path", *values)
        return [
            FileRow(*(*row[:7], tuple(json.loads(row[7])), *row[8:10], tuple(json.loads(row[10])), bool(row[11])))
            for row in rows
        ]

    def touch(self, file: FileRow) -> None:
        """Update root, size and times of a file, and of the files inside of it."""
        columns = "root = $1, size = $2, mtime_ns = $3, ctime_ns = $4, inode = $5, indexed_at = $6"
        values = (file.root, file.size, file.mtime_ns, file.ctime_ns, file.inode, file.indexed_at, file.path)
        self._execute(f"UPDATE files SET {columns} WHERE path = $7 OR container = $7", *values)

    def finish(self, file: FileRow) -> None:
        """Mark a file as complete: all of its parts are stored, and a later sync does not read it again."""
        sql = "UPDATE files SET complete = $1, warnings = $2, scans = $3 WHERE path = $4"
        self._execute(sql, True, json.dumps(file.warnings), json.dumps(file.scans), file.path)

    def paths(self) -> dict[str, int]:
        """Return the paths of all files and the URLs of pages, in order, each with the id of its row."""
        return dict(self._execute("SELECT path, id FROM files ORDER BY path"))

    def named(self) -> list[str]:
        """Return everything that a person asked to index: roots, then the URLs of pages."""
        urls = self._column("SELECT DISTINCT root FROM files WHERE path LIKE 'http%' ORDER BY root")
        return [*(root.path for root in self.roots()), *filter(is_page, urls)]

    def addresses(self, paths: Collection[str]) -> dict[str, str]:
        """Return the URL that each of these files was saved from, as far as it is known."""
        of_files = (
            f"SELECT path, url FROM documents JOIN files ON files.id = file WHERE url != '' AND path {self._in(1)}"
        )
        return dict(self._execute(of_files, list(paths)))

    def file_names(self) -> list[FileName]:
        """Return every file, as its own row and that of its first document have it; no row of a chunk is read."""
        rows = self._execute(
            "SELECT files.id, path, coalesce(title, ''), coalesce(author, ''), size, mtime_ns / 1e9 FROM files"
            " LEFT JOIN (SELECT min(id) AS first, file FROM documents GROUP BY file) AS f ON f.file = files.id"
            " LEFT JOIN documents ON documents.id = first ORDER BY path"
        )
        return [FileName(*row) for row in rows]

    def indexed_files(self, files: Collection[int] | None = None) -> list[IndexedFile]:
        """Return the files with these ids, or all files, as a person sees them."""
        chosen = () if files is None else (listed(files),)
        rows = self._execute(
            "SELECT path, size, count(DISTINCT documents.id), count(chunks.id), indexed_at, warnings,"
            " coalesce(max(first.title), ''), mtime_ns / 1e9, coalesce(max(first.author), ''),"
            " coalesce(max(first.date), ''), count(embedded.chunk), scans FROM files"
            " LEFT JOIN documents ON documents.file = files.id"
            " LEFT JOIN documents AS first ON first.id = (SELECT min(id) FROM documents WHERE file = files.id)"
            " LEFT JOIN chunks ON chunks.document = documents.id LEFT JOIN embedded ON embedded.chunk = chunks.id"
            f" {f'WHERE files.id {self._in(1)}' if chosen else ''} GROUP BY files.id ORDER BY path",
            *chosen,
        )
        return [
            IndexedFile(*(*row[:5], (*json.loads(row[5]), *of_scans(json.loads(row[-1]))), *row[6:-1])) for row in rows
        ]

    def states(self) -> dict[str, tuple[str, int, int]]:
        """Return for each path its SHA-256, its number of chunks, and how many of these have vectors.

        A file that holds others comes before them.
        """
        rows = self._execute(
            "SELECT path, sha256, count(chunks.id), count(embedded.chunk) FROM files"
            " LEFT JOIN documents ON documents.file = files.id LEFT JOIN chunks ON chunks.document = documents.id"
            " LEFT JOIN embedded ON embedded.chunk = chunks.id GROUP BY files.id ORDER BY container, path"
        )
        return {path: (sha256, chunks, known) for path, sha256, chunks, known in rows}

    def authors(self) -> list[str]:
        """Return every author of a document, each once, in order."""
        return self._column("SELECT DISTINCT author FROM documents WHERE author != '' ORDER BY author")

    def _row_of(self, file: FileRow, *, is_new: bool) -> tuple[int, int, set[str]]:
        """Return the id of a file's row, how many documents are stored of it, and their titles; insert the row if it is
        new.
        """
        if is_new:
            lists = {"warnings": json.dumps(file.warnings), "scans": json.dumps(file.scans)}
            return self._insert("files", asdict(file) | lists), 0, set()
        number = self._value("SELECT id FROM files WHERE path = $1", file.path)
        titles = self._column("SELECT title FROM documents WHERE file = $1", number)
        return number, len(titles), set(titles)
