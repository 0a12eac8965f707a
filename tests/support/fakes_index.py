"""Provide a tiny deterministic embedder, and the real one loaded once, for tests of the index."""

import hashlib
import os
import re
import shutil
from functools import cache

import numpy as np

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core import cancel
from local_rag.core.documents import Heading, LoadedDocument
from local_rag.index.embed import weights
from local_rag.index.embed.embedder import SentenceTransformerEmbedder
from local_rag.index.index import Index

TEXTS = ["The lamp is lit at dusk.", "Taxes rise.", "", "Größe, naïveté — 日本語", "word " * 400]


class HashingEmbedder:
    """Embed bags of words: each word adds one to the dimension of its hash; another `salt` is another model."""

    def __init__(self, dimension=64, window=100, salt="", before_batch=lambda: None):
        self.name, self.dimension, self.window = f"hashing{salt}", dimension, window
        self.fingerprint = f"hashing-{dimension}-{window}{salt}"
        self.salt, self.before_batch, self.embedded = salt, before_batch, 0

    def reads(self, language):
        return True

    def embed_documents(self, texts):
        self.before_batch()
        self.embedded += len(texts)
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                row[int(hashlib.md5((self.salt + word).encode()).hexdigest(), 16) % self.dimension] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if texts else rows

    def embed_queries(self, texts):
        return self.embed_documents(texts)

    def token_ends(self, text):
        return [match.end() for match in re.finditer(r"\w+|[^\w\s]", text)]


def indexed(path, texts, embedder=None, **options):
    """Open an index of texts, or documents, by their names; an existing index gets them too."""
    index = Index.open(path, embedder or HashingEmbedder(), **{"chunk_size": 40, "create": True} | options)
    add(index, texts)
    return index


def add(index, texts, **options):
    documents = {
        name: text if isinstance(text, LoadedDocument) else LoadedDocument(text) for name, text in texts.items()
    }
    return index.sync_texts(list(documents.items()), **options)


def markdown(text, title="", **about):
    """Return a document of this text; its headings are the lines that begin with #."""
    found = re.finditer(r"^(#+) (.+)$", text, re.MULTILINE)
    return LoadedDocument(text, title, headings=tuple(Heading(m.start(), len(m[1]), m[2]) for m in found), **about)


@cache
def minilm():
    settings = Settings.load()
    return SentenceTransformerEmbedder(load_models(settings).embedder("minilm"), settings.cache_folder)


@cache
def quick_minilm():
    """Return MiniLM for embedding passages by the thousand."""
    settings = Settings.load()
    return SentenceTransformerEmbedder(load_models(settings).embedder("minilm"), settings.cache_folder, quick=True)


class RememberingEmbedder(SentenceTransformerEmbedder):
    """Keep the vector of every passage, because many tests ask about the same few passages.

    Vectors would take most of their time.
    """

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.known = {}

    def embed_documents(self, texts):
        cancel.check()
        missing = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known |= zip(missing, super().embed_documents(missing), strict=True)
        return np.stack([self.known[text] for text in texts]) if texts else super().embed_documents(texts)


@cache
def remembering_minilm():
    settings = Settings.load()
    return RememberingEmbedder(load_models(settings).embedder("minilm"), settings.cache_folder)


def copy_of_minilm(folder, **changes):
    """Return a spec of the same weights elsewhere, as links because they have 90 MB."""
    spec = load_models(Settings.load()).embedder("minilm")
    shutil.copytree(weights.folder(spec), folder, copy_function=os.symlink)
    return spec.model_copy(update={"package": "", "path": str(folder)} | changes)


def converted_copy_of_minilm(folder, **changes):
    """Return the same weights under another spec, with MiniLM's own conversion, because converting takes seconds."""
    embedder = SentenceTransformerEmbedder(copy_of_minilm(folder / "model", sha256="", **changes), folder)
    shutil.copytree(minilm().conversion_folder, embedder.conversion_folder)
    return embedder
