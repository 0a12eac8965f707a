"""What a client sees of answers, passages and events: plain values, with every string of a file or a model harmless.

An `AnswerView` is an Answer with what a page needs besides: its text as a tree, its status in words, and for every
citation the file's ID, its short name and where in it the quote stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from local_rag.core.answer import Answer, Citation, Conflict, Position
from local_rag.core.serialization import to_plain
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.export import conflict_line, document_line, position_date
from local_rag.server.answer_tree import answer_tree
from local_rag.server.file_ids import file_id
from local_rag.server.marked_text import Node, same_length
from local_rag.text.answer_texts import AnswerTexts, ran_out_of_time, texts_in
from local_rag.text.display import is_url, local_iso, printable, short_path

if TYPE_CHECKING:
    from langchain_core.documents import Document


@dataclass(frozen=True, slots=True)
class CitationView(Citation):
    """A citation; `where` is its page or heading, `line` what its document says of itself, `how` how it was located."""

    file_id: str = ""
    label: str = ""
    where: str = ""
    line: str = ""
    how: str = ""


@dataclass(frozen=True, slots=True)
class PositionView(Position):
    """A side; `when` is its day in words, which say so where that is only when its file was changed."""

    citations: tuple[CitationView, ...]
    when: str = ""


@dataclass(frozen=True, slots=True)
class ConflictView(Conflict):
    """Files that disagree; `line` says so, and in which order the sides stand."""

    positions: tuple[PositionView, ...]
    line: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Sentences about an answer in its language, empty where they do not apply."""

    understood: str = ""
    removed: str = ""
    nearest: str = ""
    nothing_near: str = ""
    about: str = ""
    dropped: str = ""
    unrecorded: str = ""


@dataclass(frozen=True, slots=True)
class AnswerView(Answer):
    """An answer as a page shows it: `blocks` is its text as a tree, `turn` its number in its thread, 0 outside of one.

    `status_text` is its status in words, with the reason.
    """

    citations: tuple[CitationView, ...] = ()
    nearest: tuple[CitationView, ...] = ()
    conflicts: tuple[ConflictView, ...] = ()
    blocks: tuple[Node, ...] = ()
    status_text: str = ""
    lines: Lines = field(default_factory=Lines)
    turn: int = 0
    at: str = ""


@dataclass(frozen=True, slots=True)
class PassageView:
    """A passage: `score` orders a search, `dense` is the cosine (None where it is not embedded), `sparse` BM25's share.

    `start` and `end` are code points of its document.
    """

    chunk_id: str
    file_id: str
    label: str
    page: int | None
    heading: str
    text: str
    score: float | None
    dense: float | None
    sparse: float | None
    url: str
    start: int
    end: int
    title: str = ""
    date: str = ""
    origin: str = "files"


def answer_view(
    answer: Answer, label: PathLabel = short_path, *, turn: int = 0, at: str = "", whole: bool = True
) -> dict[str, Any]:
    """The AnswerView of an answer as plain values. `label` names files; `at` is when it was given, ISO 8601.

    Without `whole` it is what its thread alone keeps of it.
    """
    texts = texts_in(answer.language)
    own = {each.name: getattr(answer, each.name) for each in fields(Answer)}
    own["citations"] = tuple(citation_view(citation, label, texts) for citation in answer.citations)
    own["nearest"] = tuple(replace(citation_view(citation, label, texts), how="") for citation in answer.nearest)
    own["conflicts"] = tuple(_conflict_view(conflict, label, texts) for conflict in answer.conflicts)
    view = AnswerView(
        **own,
        blocks=tuple(answer_tree(answer)),
        status_text=status_text(answer, texts),
        lines=_lines(answer, texts, whole=whole),
        turn=turn,
        at=at,
    )
    return {**shown(view), "text": same_length(answer.text)}  # others count code points of it


def citation_view(citation: Citation, label: PathLabel, texts: AnswerTexts) -> CitationView:
    """A citation with where it stands in words."""
    own = {each.name: getattr(citation, each.name) for each in fields(Citation)}
    where = citation.heading and f"§ {citation.heading}"
    if citation.page is not None:
        where = texts.page.format(page=citation.page)
    return CitationView(
        **own,
        file_id=_file_id(citation.source, citation.origin, citation.fallback_corpus),
        label=citation.url if is_url(citation.url) else label(citation.source),
        where=where,
        line=document_line(citation),
        how=texts.how(citation),
    )


def _file_id(source: str, origin: str, fallback_corpus: str = "") -> str:
    """The ID of a file of the index; empty for what is none."""
    return file_id(source) if origin == "files" and source and not fallback_corpus else ""


def _conflict_view(conflict: Conflict, label: PathLabel, texts: AnswerTexts) -> ConflictView:
    sides = [
        PositionView(
            side.text,
            side.date,
            tuple(citation_view(each, label, texts) for each in side.citations),
            side.dated,
            position_date(side, texts),
        )
        for side in conflict.positions
    ]
    return ConflictView(tuple(sides), conflict_line(conflict, texts))


def status_text(answer: Answer, texts: AnswerTexts) -> str:
    """The status in words, with the reason: "Probably: your files disagree"."""
    if answer.status == "grounded":
        return texts.grounded
    late = answer.status == "abstained" and ran_out_of_time(answer.reason)
    lead = texts.no_answer if late else texts.lead(answer)
    return f"{lead}: {answer.reason}" if answer.reason else lead


def _lines(answer: Answer, texts: AnswerTexts, *, whole: bool) -> Lines:
    silent = answer.status == "abstained"
    lacks = whole and silent and not answer.nearest and "retrieve" in answer.path and not ran_out_of_time(answer.reason)
    removed = "; ".join(f'"{sentence}"' for sentence in answer.removed)
    return Lines(
        understood=texts.understood.format(question=answer.asked) if answer.asked not in ("", answer.question) else "",
        removed=texts.removed.format(sentences=removed) if removed else "",
        nearest=texts.nearest if silent and answer.nearest else "",
        nothing_near=texts.nothing_near if lacks else "",
        about=texts.about.format(titles="; ".join(answer.about)) if silent and answer.about else "",
        dropped=texts.count(texts.dropped, answer.dropped_citations) if answer.dropped_citations else "",
        unrecorded="" if whole else texts.unrecorded,
    )


def passage_view(passage: Document, label: PathLabel = short_path) -> dict[str, Any]:
    """The PassageView of a passage as plain values."""
    known = passage.metadata
    url = str(known.get("url") or "")
    source = str(known.get("source", ""))
    view = PassageView(
        chunk_id=str(known.get("chunk_id", "")),
        file_id=_file_id(source, known.get("origin", "files"), known.get("fallback_corpus", "")),
        label=url if is_url(url) else label(source),
        page=known.get("page"),
        heading=str(known.get("heading", "")),
        text=passage.page_content,
        score=known.get("rank_score"),
        dense=known.get("score"),
        sparse=known.get("sparse"),
        url=url,
        start=int(known.get("start", 0)),
        end=int(known.get("end", 0)),
        title=str(known.get("title") or ""),
        date=local_iso(str(known.get("date") or "")),
        origin=str(known.get("origin", "files")),
    )
    plain: dict[str, Any] = shown(view)
    return plain


def shown(value: Any) -> Any:
    """A value as plain ones that are harmless, whatever files, models and people have written into it."""
    return harmless(to_plain(value))


def harmless(value: Any) -> Any:
    """Plain values without control characters and bidirectional overrides."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {name: harmless(item) for name, item in value.items()}
    if isinstance(value, list):
        return [harmless(item) for item in value]
    return value
