"""The contract of a store: what the index asks of the place where it is kept.

`Files` and `Passages` hold the SQL that all stores share; each store implements the abstract methods here in a package
of its own.
"""

from __future__ import annotations

import shlex
import threading
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from local_rag.config.server_index import IndexAddress
from local_rag.core.errors import EarlierIndex, IndexDamaged, IndexMismatch
from local_rag.index.store.cache import Cache
from local_rag.index.store.commands import anew, index_name
from local_rag.index.store.files import VERSION, Files
from local_rag.index.store.matrices import cosines
from local_rag.index.store.passages import Passages
from local_rag.index.store.rows import listed
from local_rag.index.store.values import FileRow, Filter, IndexSettings
from local_rag.index.store.words import Frequencies, Term, Words
from local_rag.text.display import plural

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors
    from local_rag.index.prepare import NewDocument

EVERYTHING = Filter()


class Store(Files, Passages):
    """One index where it is kept. Any thread may call any method.

    Every method raises IndexDamaged, those that write IndexBusy and DiskFull; what was committed by then stays.
    """

    def __init__(self, address: Any) -> None:
        """Open an index that exists. Raises IndexMissing, IndexDamaged, and IndexMismatch for another version."""
        self.address: IndexAddress = address
        self._threads = threading.local()
        self._cache = Cache()

    @classmethod
    @abstractmethod
    def create(cls, address: Any, settings: IndexSettings) -> Self:
        """Make an empty index, also in the place of an earlier version's, or open the one that exists."""

    @staticmethod
    @abstractmethod
    def is_there(address: Any) -> bool:
        """Return whether there is an index."""

    @staticmethod
    @abstractmethod
    def destroy(address: Any) -> None:
        """Delete an index, damaged or not, and nothing else. Raises IndexMissing and IndexBusy."""

    def _check_version(self) -> None:
        made_with = int(self.meta().get("schema", 0))
        if made_with > VERSION:
            raise IndexMismatch(
                f"the index at {self.address} was made by a newer version", hint="pip install --upgrade local-rag"
            )
        if made_with < VERSION:
            raise EarlierIndex(
                f"the index at {self.address} was made by an earlier version",
                hint=f"{anew(self.address)}   makes it again",
            )
        self.settings()

    def close(self) -> None:
        """Let go of the memory and of all connections; the next call opens new ones."""
        self._cache.clear()
        self._threads = threading.local()

    # --- transactions

    @abstractmethod
    def locked(self, roots: Collection[str] = (), *, alone: bool = False) -> AbstractContextManager[None]:
        """Hold the lock of the writer of this index. Raises IndexBusy.

        On a server there may be several writers, but none of the same `roots`, and no other at all where this one is
        `alone`.
        """

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """Run one transaction of this thread: all of it, or nothing. The caller holds the writer's lock."""

    # --- files come and go

    @abstractmethod
    def replace(self, file: FileRow, documents: Sequence[NewDocument], *, more: bool = False) -> int:
        """Store a file in place of what was stored under its path, and return how many chunks have the vector of their
        text.

        With `more` the documents follow those that are stored of the file already. A chunk whose text the index has
        already, in this file or another, gets the vector of that text; the vectors of other chunks come later.
        """

    @abstractmethod
    def remove(self, paths: Collection[str]) -> None:
        """Remove files with everything that was made of them, and of the files inside of them."""

    def must_forget(self) -> bool:
        """Return whether the files of the store may still hold something that was removed; of a server that is not
        known.
        """
        return False

    def forget(self) -> None:
        """Erase what was removed from the files of the store. The caller holds the writer's lock."""

    # --- vectors

    @abstractmethod
    def set_vectors(self, chunks: Sequence[int], texts: Mapping[int, Any], headers: Mapping[int, Any]) -> None:
        """Store the vectors (d,) of texts, by chunk, and of headers, by their number, and let vector search see
        `chunks`.

        Chunks of equal texts share a vector. Chunks and headers that are gone by now are left out.
        """

    @abstractmethod
    def drop_vectors(self, *, unusable: bool) -> None:
        """Delete all vectors, or only the unusable ones; their chunks are pending afterwards."""

    @abstractmethod
    def nearest(self, vector: Vectors, k: int, filter: Filter = EVERYTHING) -> list[tuple[int, float]]:
        """Return (chunk, cosine) of the k chunks that pass the filter and are nearest to a unit vector (d,), best
        first.
        """

    def cosines(self, vector: Vectors, chunks: Collection[int]) -> dict[int, float]:
        """Return the cosines of these chunks; a chunk without a vector is left out."""
        return dict(self._exact(vector, chunks))

    _embedded: str
    """SQL for (chunk, vector of its text, vector of its header) of the chunks that vector search sees."""

    def _exact(self, vector: Vectors, chunks: Collection[int]) -> list[tuple[int, float]]:
        """Return (chunk, cosine), best first; chunks that are gone or have no vector are left out."""
        rows = self._execute(f"{self._embedded} WHERE chunk {self._in(1)}", listed(chunks)) if chunks else []
        return cosines(rows, vector)

    @abstractmethod
    def refresh(self) -> None:
        """Renew what search needs beside the tables, if much has changed. The caller holds the writer's lock."""

    def degraded(self) -> str:
        """Return in a line why search is slower than it should be; "" where it is not."""
        return ""

    def is_fresh(self) -> bool:
        """Return whether `refresh` has nothing to do about vectors."""
        return True

    # --- words

    @abstractmethod
    def match(self, query: str, k: int, filter: Filter = EVERYTHING) -> dict[int, float]:
        """Return the k chunks that pass and match the words of a query best, each with its BM25 as a share of the
        highest possible.
        """

    @abstractmethod
    def match_among(self, query: str, chunks: Collection[int]) -> dict[int, float]:
        """Return the shares of those of these chunks that hold a word of the query."""

    @abstractmethod
    def passing(self, filter: Filter, chunks: Sequence[int]) -> list[int]:
        """Return those of these chunks that pass the filter, in their order."""

    @abstractmethod
    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """Count the chunks in which each term occurs, as a word or as a stem; a term of several words counts as its
        rarest word.
        """

    def spelled_like(self, word: str) -> list[str]:
        """Return words of the passages that are spelled nearly like a word; none where no vocabulary is kept."""
        return []

    @abstractmethod
    def is_rare_elsewhere(self, word: str, files: Collection[int], share: float) -> bool:
        """Return whether a word stands in at most this share of the chunks of other files, or in at most one of
        them.
        """

    @abstractmethod
    def named_like(self, terms: Collection[str], limit: int) -> list[tuple[int, str, str, str]]:
        """Return (file, title, words of the file's name, title as it was indexed) of the documents whose name or title
        has one of these words, those with the rarest word first.
        """

    def restore_words(self) -> None:
        """Make the full text again from the stored texts."""

    @abstractmethod
    def _counted(self, chunks: int, terms: Sequence[Term]) -> dict[Term, int]:
        """Return the number of chunks, of `chunks` in all, in which each term occurs; for a frequent term an
        estimate.
        """

    def _words(self, query: str) -> Words:
        """Return the words of a query; the frequencies of words are kept until the next commit."""

        def frequencies() -> Frequencies:
            chunks = self._value("SELECT count(*) FROM chunks")
            return Frequencies(chunks, [*self.languages()], partial(self._counted, chunks))

        return Words(query, self._cache.get("frequencies", self.generation(), frequencies))

    # --- whether it is whole

    def verify(self, *, deep: bool) -> bool:
        """Read the whole index; return False if only what search needs beside the tables was not whole. Raises
        IndexDamaged.
        """
        if deep and (paths := self.changed()):
            which = index_name(self.address)
            raise IndexDamaged(
                f"the index at {self.address} holds text that has changed in {plural(len(paths), 'file')}, such as"
                f" {paths[0]}",
                hint=f"local-rag remove {shlex.join(paths)} --index {which}"
                f" && local-rag index --reembed --index {which}",
            )
        return True

    @abstractmethod
    def size(self) -> int:
        """Return the bytes on disk."""
