"""What a checkpoint holds of passages: those of files as references, without text; those of the web with their text.

So no text of a file lies in two places, and what is removed from the index is gone from every checkpoint, whoever keeps
it. References are made where a saver makes bytes of values, because a saver is also given what nodes return. They are
read again by the first node that goes on from a checkpoint (`restored`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.documents import Document
from langgraph._internal._serde import build_serde_allowlist  # nothing public lists the types of a state
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from local_rag.core.protocols import Corpus
from local_rag.graphs.rules import last_retrieved
from local_rag.graphs.state import CragState, Draft, State, Update
from local_rag.text import citations
from local_rag.text.citations import BETWEEN
from local_rag.text.marks import claims

CorpusOf = Callable[[Document], Corpus | None]
"""Where the text of a passage can be read again, None where that is not known."""

TYPES = frozenset(build_serde_allowlist(schemas=[CragState]))
"""(module, name) of every type that a state consists of; a checkpoint is read as nothing else."""


class Serializer(SerializerProtocol):
    """A saver's own serializer, which gets no text of a file to keep, and makes no objects but those of a state."""

    def __init__(self, inner: SerializerProtocol) -> None:
        self.inner = _restricted(inner)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return self.inner.dumps_typed(_without_texts(obj))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return self.inner.loads_typed(data)


def without_file_texts(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """The same saver, over the same storage, with a `Serializer`."""
    if isinstance(saver.serde, Serializer):
        return saver
    clone = copy.copy(saver)
    clone.serde = Serializer(saver.serde)
    return clone


def restored(state: State, corpus_of: CorpusOf) -> tuple[Update, int]:
    """What a node has to read again of a state that comes from a checkpoint, and how many passages are gone since then.

    Empty for any other state. The marks of what is written count in what is left; what cites nothing but passages that
    are gone goes with them.
    """
    documents, nearest, drafts = state.get("documents", []), state.get("nearest", []), state.get("drafts", [])
    of_drafts = [document for draft in drafts for document in draft.documents]
    if not any(map(_is_reference, [*documents, *nearest, *of_drafts])):
        return {}, 0
    texts = {id(document): _read(document, corpus_of) for document in documents}
    read = [document for document in map(texts.__getitem__, map(id, documents)) if document]
    update: Update = {
        "documents": read,
        "nearest": [passage for document in nearest if (passage := _read(document, corpus_of))],
        "drafts": [_draft_read(draft, corpus_of) for draft in drafts],
    }
    if gone := len(documents) - len(read):
        update |= _remarked(state, [texts[id(document)] for document in documents])
    return update, gone


def _remarked(state: State, read: Sequence[Document | None]) -> Update:
    """Everything in the state whose marks count in its documents, now that some of them are gone."""
    update: Update = {}
    if text := state.get("generation"):
        update["generation"] = _marks_left(text, read)
    if text := state.get("written"):
        update["written"] = _marks_left(text, read)
    if text := state.get("segment"):
        last, documents = last_retrieved(state), state.get("documents", [])
        new = [chosen for chosen, known in zip(read, documents, strict=True) if known in last]
        update["segment"] = _marks_left(text, new)
    if candidates := state.get("candidates"):
        update["candidates"] = [replace(draft, text=_marks_left(draft.text, read)) for draft in candidates]
    return update


def _draft_read(draft: Draft, corpus_of: CorpusOf) -> Draft:
    read = [_read(document, corpus_of) for document in draft.documents]
    text = draft.text if all(read) else _marks_left(draft.text, read)
    return replace(draft, text=text, documents=tuple(document for document in read if document))


def _marks_left(text: str, documents: Sequence[Document | None]) -> str:
    """A text whose mark [n] names the n-th document, where some are None: their marks go, the others count on.

    So do the sentences that cite nothing else, with those before them that have no mark of their own.
    """
    behind = False
    for claim in reversed(claims(text)):
        gone = [number <= len(documents) and documents[number - 1] is None for number in claim.numbers]
        behind = all(gone) if gone else behind
        if behind:
            text = f"{text[: claim.span.start].rstrip(' ')} {text[claim.span.end :].lstrip(' ')}"
    left = [number for number, document in enumerate(documents, start=1) if document]
    return citations.remapped(text.strip(), {number: position for position, number in enumerate(left, start=1)})[0]


def _is_reference(document: Document) -> bool:
    return not document.page_content and _is_of_a_file(document)


def _is_of_a_file(document: Document) -> bool:
    """Whether its text can be read again: of the index, or of a fallback corpus."""
    metadata = document.metadata
    return bool(metadata.get("chunk_id") and (metadata.get("origin") == "files" or metadata.get("fallback_corpus")))


def _read(document: Document, corpus_of: CorpusOf) -> Document | None:
    """A passage with its text; of a refined one that of all its pieces. None where it is gone."""
    if not _is_reference(document):
        return document
    corpus, metadata = corpus_of(document), dict(document.metadata)
    if corpus is None:
        return None
    own = str(metadata["chunk_id"])
    spans = [(metadata["start"], metadata["end"])]
    if metadata.get("pieces"):
        spans = metadata["pieces"] = [(start, end) for start, end in metadata["pieces"]]
    texts = [corpus.span(own, start, end) for start, end in spans]
    if not all(texts):
        return None
    return document.model_copy(update={"page_content": BETWEEN.join(texts), "metadata": metadata})


def _without_texts(value: Any) -> Any:
    """The value with every passage of a file in it as a reference."""
    if isinstance(value, Document):
        return value.model_copy(update={"page_content": ""}) if _is_of_a_file(value) else value
    if isinstance(value, Draft):
        return replace(value, documents=tuple(map(_without_texts, value.documents)))
    if isinstance(value, dict):
        return {key: _without_texts(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_without_texts, value))
    return value


def _restricted(inner: SerializerProtocol) -> SerializerProtocol:
    """A serializer that makes objects of the types of a state, and not, as LangGraph's do by default, of any type."""
    if isinstance(inner, EncryptedSerializer):
        return EncryptedSerializer(inner.cipher, _restricted(inner.serde))
    if not isinstance(inner, JsonPlusSerializer):
        return inner
    # Only a serializer that has a list of types takes another one; one that makes objects of any type, as LangGraph's
    # do by default, gives itself back and is replaced.
    if inner.with_msgpack_allowlist([("local_rag", "any")]) is not inner:
        return inner.with_msgpack_allowlist(TYPES)
    return JsonPlusSerializer(pickle_fallback=inner.pickle_fallback, allowed_msgpack_modules=TYPES)
