"""What every store reads and writes of the index as a whole, of its roots and of its files: standard SQL."""

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
"""The schema of both stores. An index of another one is made again."""


class Files(Rows):
    """The index, its roots, its files, and what was said of them."""

    # --- the index as a whole

    def meta(self) -> dict[str, str]:
        """The rows of `meta`, which a snapshot reads once; what the next command renews may be missing."""
        kept: dict[str, str] | None = getattr(self._threads, "meta", None)
        known = kept or {"generation": "", "epoch": "", **dict(self._execute("SELECT name, value FROM meta"))}
        if kept is not None:
            self._threads.meta = known
        return known

    def generation(self) -> str:
        """What changes with every commit."""
        return self.meta()["generation"]

    def set_meta(self, values: Mapping[str, str]) -> None:
        sql = "INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._many(sql, list(values.items()))

    def settings(self) -> IndexSettings:
        """What made the index. Raises IndexDamaged."""

        def read() -> IndexSettings:
            known = self.meta()
            try:
                numbers = [int(known[name]) for name in ("dimension", "size", "overlap")]
                return IndexSettings(known["embedder"], known["fingerprint"], *numbers)
            except (KeyError, ValueError) as error:
                raise UnusableRow(f"its table meta lacks a row, or has one that is no number: {error}") from error

        return self.snapshot(read)

    def set_settings(self, settings: IndexSettings) -> None:
        """Say what makes the index from now on."""
        self.set_meta({name: str(value) for name, value in asdict(settings).items()})

    def counts(self) -> Counts:
        page = "(path LIKE 'http://%' OR path LIKE 'https://%')"
        (numbers,) = self._execute(
            f"SELECT (SELECT count(*) FROM files WHERE container = '' AND NOT {page}"
            " AND id IN (SELECT file FROM documents)),"
            f" (SELECT count(*) FROM files WHERE {page}), (SELECT count(*) FROM documents),"
            " (SELECT count(*) FROM chunks), (SELECT count(*) FROM embedded),"
            " (SELECT count(*) FROM documents WHERE date != '')"
        )
        return Counts(*numbers)

    def content(self) -> str:
        """16 hex digits of the keys of all chunks, which name their file, position and text."""
        known = sorted(key for (key,) in self._execute("SELECT key FROM chunks"))
        return hashlib.sha256("".join(f"{key}\n" for key in known).encode()).hexdigest()[:16]

    # --- roots, and what was said of files

    def roots(self, *, forgotten: bool = False) -> list[Root]:
        """What a person asked to index; or what was forgotten of that, for its excludes."""
        sql = "SELECT path, excludes, secrets, follow_links FROM roots WHERE forgotten = $1 ORDER BY path"
        rows = self._execute(sql, forgotten)
        return [
            Root(path, tuple(json.loads(excludes)), bool(secrets), bool(links))
            for path, excludes, secrets, links in rows
        ]

    def set_roots(self, roots: Sequence[Root]) -> None:
        self._many("DELETE FROM roots WHERE path = $1", [(root.path,) for root in roots])
        rows = [(root.path, json.dumps(root.excludes), root.secrets, root.follow_links, False) for root in roots]
        self._many("INSERT INTO roots VALUES ($1, $2, $3, $4, $5)", rows)

    def forget_roots(self, paths: Iterable[str]) -> None:
        """Forget roots, but not what a person excluded from them."""
        paths = list(paths)
        self._execute(f"DELETE FROM roots WHERE excludes = '[]' AND path {self._in(1)}", paths)
        self._execute(f"UPDATE roots SET forgotten = $2 WHERE path {self._in(1)}", paths, True)

    def reported(self) -> set[tuple[str, str]]:
        """What earlier syncs reported as skipped: (path, reason)."""
        return set(self._execute("SELECT path, reason FROM reported"))

    def set_reported(self, warnings: Iterable[tuple[str, str]]) -> None:
        """Remember the (path, reason) pairs that were reported, and no others."""
        self._execute("DELETE FROM reported")
        self._many("INSERT INTO reported VALUES ($1, $2) ON CONFLICT DO NOTHING", list(warnings))

    def failures(self) -> dict[str, Failure]:
        """Path -> why its content could not be read."""
        return {row[0]: Failure(*row) for row in self._execute("SELECT path, sha256, parser, reason FROM failures")}

    def set_failure(self, failure: Failure) -> None:
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
        """All files and pages, without what lies inside of a file."""
        return self._file_rows("WHERE container = ''")

    def file(self, path: str) -> FileRow | None:
        """The file or page that is stored under a path."""
        return next(iter(self._file_rows("WHERE path = $1", path)), None)

    def pages(self, urls: Iterable[str]) -> list[FileRow]:
        """The pages that are stored under one of these URLs, or were indexed through one."""
        return self._file_rows(f"WHERE path {self._in(1)} OR root {self._in(1)}", list(urls))

    def scanned(self) -> list[FileRow]:
        """The files with pages that wait for OCR, those with the fewest first."""
        return sorted(self._file_rows("WHERE scans != '[]' AND complete"), key=lambda file: len(file.scans))

    def _file_rows(self, where: str, *values: object) -> list[FileRow]:
        names = "path, root, sha256, size, mtime_ns, ctime_ns, inode, warnings, indexed_at, container, scans, complete"
        rows = self._execute(f"SELECT {names} FROM files {where} ORDER BY path", *values)
        return [
            FileRow(*(*row[:7], tuple(json.loads(row[7])), *row[8:10], tuple(json.loads(row[10])), bool(row[11])))
            for row in rows
        ]

    def touch(self, file: FileRow) -> None:
        """A file, and what lies inside of it, was found with this time of change, from this root."""
        columns = "root = $1, size = $2, mtime_ns = $3, ctime_ns = $4, inode = $5, indexed_at = $6"
        values = (file.root, file.size, file.mtime_ns, file.ctime_ns, file.inode, file.indexed_at, file.path)
        self._execute(f"UPDATE files SET {columns} WHERE path = $7 OR container = $7", *values)

    def finish(self, file: FileRow) -> None:
        """All parts of a file are stored: a later sync does not read it again."""
        sql = "UPDATE files SET complete = $1, warnings = $2, scans = $3 WHERE path = $4"
        self._execute(sql, True, json.dumps(file.warnings), json.dumps(file.scans), file.path)

    def paths(self) -> dict[str, int]:
        """The paths of all files, and the URLs of pages, in order, each with the id of its row."""
        return dict(self._execute("SELECT path, id FROM files ORDER BY path"))

    def named(self) -> list[str]:
        """All that was asked to be indexed: roots, then the URLs of pages."""
        urls = self._execute("SELECT DISTINCT root FROM files WHERE path LIKE 'http%' ORDER BY root")
        return [*(root.path for root in self.roots()), *(url for (url,) in urls if is_page(url))]

    def addresses(self, paths: Collection[str]) -> dict[str, str]:
        """Where these files were saved from, as far as that is known."""
        of_files = (
            f"SELECT path, url FROM documents JOIN files ON files.id = file WHERE url != '' AND path {self._in(1)}"
        )
        return dict(self._execute(of_files, list(paths)))

    def file_names(self) -> list[FileName]:
        """Every file with what its first document says of itself; no row of a chunk is read."""
        rows = self._execute(
            "SELECT files.id, path, coalesce(title, ''), coalesce(author, '') FROM files"
            " LEFT JOIN (SELECT min(id) AS first, file FROM documents GROUP BY file) AS f ON f.file = files.id"
            " LEFT JOIN documents ON documents.id = first ORDER BY path"
        )
        return [FileName(*row) for row in rows]

    def indexed_files(self, files: Collection[int] | None = None) -> list[IndexedFile]:
        """These files by their ids, or all of them."""
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
        """Of each file its SHA-256, its chunks and those that have their vectors; what holds others comes first."""
        rows = self._execute(
            "SELECT path, sha256, count(chunks.id), count(embedded.chunk) FROM files"
            " LEFT JOIN documents ON documents.file = files.id LEFT JOIN chunks ON chunks.document = documents.id"
            " LEFT JOIN embedded ON embedded.chunk = chunks.id GROUP BY files.id ORDER BY container, path"
        )
        return {path: (sha256, chunks, known) for path, sha256, chunks, known in rows}

    def authors(self) -> list[str]:
        """Who is named as an author of any document."""
        return [
            row[0] for row in self._execute("SELECT DISTINCT author FROM documents WHERE author != '' ORDER BY author")
        ]

    def _row_of(self, file: FileRow, *, is_new: bool) -> tuple[int, int, set[str]]:
        """The id of a file's row, how many documents are stored of it, and under which titles."""
        if is_new:
            lists = {"warnings": json.dumps(file.warnings), "scans": json.dumps(file.scans)}
            return self._insert("files", asdict(file) | lists), 0, set()
        ((number,),) = self._execute("SELECT id FROM files WHERE path = $1", file.path)
        titles = [title for (title,) in self._execute("SELECT title FROM documents WHERE file = $1", number)]
        return number, len(titles), set(titles)
