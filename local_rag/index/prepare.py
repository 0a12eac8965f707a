"""Documents as rows: chunks with their keys, digests and headers, and the fields of full-text search."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from local_rag.core.documents import LoadedDocument
from local_rag.index.tables.lines import tables_of
from local_rag.text import names
from local_rag.text.chunking import Chunk, chunk
from local_rag.text.languages import language_of

if TYPE_CHECKING:
    from local_rag.core.protocols import Embedder
    from local_rag.index.store.values import FileRow, IndexSettings

NewDocument = tuple[LoadedDocument, Sequence[Chunk]]
"""A document with its chunks."""

Chunker = Callable[[LoadedDocument], list[Chunk]]
"""A function that cuts documents into chunks for one index."""


class ChunkRow(NamedTuple):
    """A chunk: its `key` identifies it by file, document, span and text, its `digest` is that of the text, its `header`
    is embedded beside it, "" for none.
    """

    key: str
    digest: bytes
    start: int
    end: int
    heading: str
    header: str
    text: str


@dataclass(frozen=True)
class DocumentRow:
    """A document: its `columns` in the table of documents, the words by which it is `called`, and its chunks."""

    columns: dict[str, object]
    called: str
    chunks: list[ChunkRow]

    def said(self, *names: str) -> list[str]:
        """Return columns that hold text."""
        return [str(self.columns[name]) for name in names]


def prepared(file: FileRow, documents: Sequence[NewDocument], first: int) -> Iterator[DocumentRow]:
    """Yield the rows of a file's documents, of which the first is the file's number `first`."""
    about = {"name": names.name_text(file.path), "folders": " ".join(names.folder_words(_below(file)))}
    called = names.called(file.path)
    language = language_of("\n".join(document.text[:2_000] for document, _ in documents))
    tables = tables_of([document for document, _ in documents])
    for position, (document, spans) in enumerate(documents, start=first):
        columns = about | {
            name: getattr(document, name) for name in ("title", "author", "date", "subject", "page", "url")
        }
        columns["language"] = language_of(document.text) or language
        columns["headings"] = json.dumps([astuple(heading) for heading in document.headings], ensure_ascii=False)
        columns |= {"lines": json.dumps(document.lines), "text": document.text, "tables": tables[position - first]}
        yield DocumentRow(columns, called, list(_chunks(file.path, position, document, spans)))


def _chunks(path: str, position: int, document: LoadedDocument, spans: Sequence[Chunk]) -> Iterator[ChunkRow]:
    of_document = names.document_header(path, document.title)
    for start, end, heading in spans:
        text = document.text[start:end]
        named = hashlib.blake2b(f"{path}\0{position}\0{start}\0{end}\0{text}".encode(), digest_size=12)
        header = names.passage_header(of_document, heading)
        yield ChunkRow(named.hexdigest(), digest(text), start, end, heading, header, text)


def digest(text: str) -> bytes:
    """Return a digest of a text, white space aside: its amount and kind say nothing to the embedders' tokenizers.

    An embedder for which white space counts, as in code, needs digests of its own.
    """
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=12).digest()


def chunks_of(document: LoadedDocument, embedder: Embedder, settings: IndexSettings) -> list[Chunk]:
    """Return the chunks of a document, as an index of these settings makes them."""
    ends = embedder.token_ends(document.text)
    return chunk(document, ends, size=settings.size, overlap=settings.overlap, window=embedder.window)


def _below(file: FileRow) -> str:
    """Return the path of a file from its root on: the folders above the root say nothing about it."""
    path, root = Path(file.path), Path(file.root)
    is_below = path != root and path.is_relative_to(root)
    return str(Path(root.name, path.relative_to(root))) if is_below else file.path
