"""Turn an answer and its events into a record of plain values, which `folder` stores and `summary` counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.core.answer import Answer, Citation
from local_rag.core.events import Event, Retrieved, Step
from local_rag.core.serialization import to_plain
from local_rag.evaluation.matching import held, same_file
from local_rag.text.citations import reads_as_refusal
from local_rag.text.marks import claims, without_bullet, without_marks
from local_rag.text.words import words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.evaluation.cases import Case
    from local_rag.evaluation.folder import Record

_METADATA = "chunk_id source title page heading start end score rank_score origin url fallback_corpus".split()

CUT = 300
"""The length from which a cited sentence may be cut off: citations keep 400 characters."""

SCORES = 6
"""The number of decimals to keep of a score."""


def answer_record(case: Case, answer: Answer, events: Iterable[Event], single: Collection[str] = ()) -> Record:
    """Return an answer with its passages, verdicts, steps and costs, each beside the case's labels.

    `single` names the files that are a single passage.
    """
    events = list(events)
    passages = [_passage(case, query, document) for query, document in _seen(events)]
    by_id = {passage["chunk_id"]: passage for passage in passages}
    return {
        "answer": to_plain(answer),
        "passages": passages,
        "cited": [_cited(citation, passages) for citation in answer.citations],
        "sentences": _sentences(answer),
        "grades": [
            {
                "chunk_id": decision.chunk_id,
                "verdict": decision.verdict,
                "score": decision.score,
                "gold": _gold(case, by_id.get(decision.chunk_id), single),
            }
            for decision in answer.decisions
            if decision.kind == "relevance" or by_id.get(decision.chunk_id, {}).get("fallback_corpus")
        ],
        "steps": [{"node": step.node, "seconds": round(step.seconds, 4)} for step in events if isinstance(step, Step)],
    }


def _seen(events: Iterable[Event]) -> Iterable[tuple[str, Document]]:
    """Yield every passage once, with the query that found it first."""
    known: set[str] = set()
    for event in events:
        if isinstance(event, Retrieved):
            for document in event.documents:
                key = str(document.metadata.get("chunk_id") or document.metadata.get("url"))
                if key not in known:
                    known.add(key)
                    yield event.query, document


def _passage(case: Case, query: str, document: Document) -> dict[str, Any]:
    metadata: dict[str, Any] = {key: document.metadata.get(key) for key in _METADATA}
    for key in ("score", "rank_score"):
        metadata[key] = None if metadata[key] is None else round(float(metadata[key]), SCORES)
    return {**metadata, "text": document.page_content, "query": query, "holds": list(held(case, document))}


def _gold(case: Case, passage: dict[str, Any] | None, single: Collection[str]) -> bool | None:
    """Return whether a passage is relevant by the labels; None if they do not tell.

    A target that names a file without page and words labels no passage of the file, unless the file has only one.
    """
    if passage is None or not (case.relevant or case.answerable is False):
        return None
    targets = [case.relevant[number] for number in passage["holds"]]
    if not targets:
        return False
    if passage["source"] in single or any(target.quote or target.page is not None for target in targets):
        return True
    return None


def _cited(citation: Citation, passages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return which targets the passage of a citation holds; a long passage counts if it contains the quote."""
    targets: set[int] = set()
    for passage in passages:
        inside = passage["start"] is not None and passage["start"] <= citation.start and citation.end <= passage["end"]
        if same_file(passage["source"], citation.source) and passage["page"] == citation.page and inside:
            targets.update(passage["holds"])
    return {"number": citation.number, "verified": citation.verified, "holds": sorted(targets)}


def _sentences(answer: Answer) -> dict[str, int]:
    """Return the number of claims of an answer, and how many of them have a verified citation."""
    if answer.status == "abstained" or reads_as_refusal(answer.text):
        return {"total": 0, "verified": 0}
    lines = [" ".join(words(without_bullet(claim.text))) for claim in claims(answer.text)]
    backed = [f" {' '.join(words(without_marks(line.sentence)))} " for line in answer.citations if line.verified]
    return {"total": len(lines), "verified": sum(any(_backs(text, line) for text in backed) for line in lines)}


def _backs(cited: str, sentence: str) -> bool:
    """Return whether a cited text contains a sentence in whole words, or is its beginning cut off."""
    return f" {sentence} " in cited or (len(cited) > CUT and sentence.startswith(cited.strip()))
