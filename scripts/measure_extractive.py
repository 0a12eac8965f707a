"""Fit and measure the constants of the extractive engine on question sets in SQuAD v2's JSON.

    python scripts/measure_extractive.py DEV.json TEST.json [--more PASSAGES.jsonl …] [--cache FILE.npz]

Weights and thresholds are fitted on the first file and reported on every file. Each answerable question is asked
twice: of an index of all passages, and of the same index without the question's article, where every answer is wrong.
Each file gets an index of its own passages, and one of all passages of all files and of `--more` (objects with title
and text).
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from langchain_core.documents import Document
from numpy.typing import NDArray

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core.documents import Catalog
from local_rag.core.generation import Attempt
from local_rag.engines.extractive import analysis, selection
from local_rag.engines.extractive import engine as extractive_engine
from local_rag.engines.extractive.answerability import Judged, shipped
from local_rag.engines.extractive.quotes import as_written
from local_rag.graphs import rules
from local_rag.index.embed.embedder import SentenceTransformerEmbedder
from local_rag.text.words import content_stems
from local_rag.text.words import stem as stem_of

K = 4
Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]


class Question(NamedTuple):
    text: str
    article: str
    passage: str
    gold: frozenset[str]


class Asked(NamedTuple):
    """A question with its reading of what was retrieved; `outside` says that its article was left out."""

    question: Question
    outside: bool
    reading: analysis.Analysis
    corpus: Passages


class CachedEmbedder(SentenceTransformerEmbedder):
    """Embeds every text once, also between two runs when given a file."""

    def open(self, file: Path | None) -> None:
        self.file = file
        self.rows: dict[str, Vectors] = {}
        if file and file.exists():
            with np.load(file) as kept:
                self.rows = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    def save(self) -> None:
        if self.file:
            np.savez(self.file, keys=np.array(list(self.rows)), vectors=np.stack(list(self.rows.values())))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        keys = [hashlib.sha1(one.encode()).hexdigest() for one in texts]
        missing = {key: one for key, one in zip(keys, texts, strict=True) if key not in self.rows}
        self.rows |= zip(missing, super().embed_documents(list(missing.values())), strict=True)
        return np.stack([self.rows[key] for key in keys])

    embed_queries = embed_documents


class Passages:
    """An exact index, and itself without one article as `Corpus` sees it."""

    def __init__(self, documents: Sequence[Document], embedder: CachedEmbedder, without: str = "") -> None:
        self.embedder = embedder
        self.documents = [document for document in documents if document.metadata["title"] != without]
        self.rows = embedder.embed_documents([document.page_content for document in self.documents])
        stems = (set(content_stems(document.page_content)) for document in self.documents)
        self.frequency = Counter(stem for found in stems for stem in found)

    def search(self, query: str, k: int, **_: Any) -> list[Document]:
        order = np.argsort(-(self.rows @ self.embedder.embed_queries([query])[0]), kind="stable")
        return [self.documents[place] for place in order[:k]]

    def catalog(self) -> Catalog:
        return Catalog(chunks=len(self.documents))

    def count(self) -> int:
        return len(self.documents)

    def neighbours(self, documents: Sequence[Document], reach: int) -> list[list[Document]]:
        return [[] for _ in documents]

    def span(self, chunk_id: str, start: int, end: int) -> str:
        return ""

    def vectors(self, documents: Sequence[Document]) -> list[Vectors | None]:
        return [None] * len(documents)

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: self.frequency[stem_of(term)] for term in terms}


def articles(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["data"]
    return found


def passages(file: Path) -> Iterator[Document]:
    if file.suffix == ".jsonl":
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield Document(row["text"], metadata={"title": row["title"]})
        return
    for article in articles(file):
        for paragraph in article["paragraphs"]:
            yield Document(paragraph["context"], metadata={"title": article["title"]})


def questions(file: Path) -> Iterator[Question]:
    """All questions of a file; an unanswerable one has no gold."""
    for article in articles(file):
        for paragraph in article["paragraphs"]:
            for row in paragraph["qas"]:
                gold = frozenset(answer["text"] for answer in row["answers"] if not row["is_impossible"])
                yield Question(row["question"], article["title"], paragraph["context"], gold)


def ask(file: Path, documents: Sequence[Document], embedder: CachedEmbedder) -> list[Asked]:
    """Every question of a file, and every answerable one again with its article left out."""
    whole = Passages(documents, embedder)
    partial = {title: Passages(documents, embedder, title) for title in {q.article for q in questions(file)}}
    found = []
    for question in questions(file):
        for outside in (False, True) if question.gold else (False,):
            index = partial[question.article] if outside else whole
            near = index.search(question.text, K)
            reading = analysis.Analyses(embedder, index).of(question.text, near)
            found.append(Asked(question, outside, reading, index))
    return found


def fit(rows: Floats, labels: Floats, weights: Floats, ridge: float = 1.0) -> Floats:
    """Logistic regression by Newton's method; the last weight is the bias, which is not penalised."""
    design = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.diag([ridge] * rows.shape[1] + [0.0])
    beta = np.zeros(design.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (weights * (chance - labels)) + penalty @ beta
        curvature = (design * (weights * chance * (1 - chance))[:, None]).T @ design + penalty
        beta -= np.linalg.solve(curvature, gradient)
    return beta


def fit_passages(asked: Sequence[Asked]) -> Floats:
    rows, labels = [], []
    for question, outside, reading, _ in asked:
        for document, features in zip(reading.documents, reading.features, strict=True):
            gold = document.page_content == question.passage and not outside
            if outside or (gold and question.gold):
                rows.append(features)
                labels.append(float(gold))
    y = np.array(labels)
    print(f"gold passages {int(y.sum())}, passages of other articles {int((1 - y).sum())}")
    return fit(np.array(rows), y, np.where(y > 0, 0.5 / y.mean(), 0.5 / (1 - y).mean()))


def fit_quotes(asked: Sequence[Asked]) -> Floats:
    rows, labels = [], []
    for question, outside, reading, _ in asked:
        holds = [any(gold in quote.text for gold in question.gold) for quote in reading.quotes]
        if not outside and any(holds):
            rows += [reading.quote(place) for place in range(len(holds))]
            labels += holds
    print(f"sentences with the gold answer {sum(labels)}, without {len(labels) - sum(labels)}")
    return fit(np.array(rows), np.array(labels, dtype=float), np.ones(len(rows)))


def scores(asked: Sequence[Asked]) -> tuple[Floats, Floats, Floats]:
    """What decides about the best relevant quote (0 where its score does): answerable, left out, adversarial."""
    kinds: tuple[list[float], list[float], list[float]] = ([], [], [])
    for question, outside, reading, _ in asked:
        relevant = [
            place
            for place, quote in enumerate(reading.quotes)
            if analysis.probability(reading.passages[quote.document]) >= extractive_engine.RELEVANT
        ]
        best = max(relevant, key=lambda place: reading.answers[place], default=None)
        judged = Judged(0.0, 0.0) if best is None else shipped().judge(reading, best)
        decides = judged.present if judged.score >= selection.ANSWERS else 0.0
        kinds[1 if outside else 0 if question.gold else 2].append(decides)
    return np.array(kinds[0]), np.array(kinds[1]), np.array(kinds[2])


def report(name: str, asked: Sequence[Asked]) -> None:
    """Refusals of the final decision, and how many answers hold the gold string."""
    inside, outside, adversarial = scores(asked)
    limit = selection.PRESENT
    refused, wrongly = int((outside < limit).sum()), int((inside < limit).sum())
    print(
        f"{name}: not in the corpus: precision {refused / (refused + wrongly):.3f} recall {refused / len(outside):.3f}"
    )
    limits = np.quantile(np.concatenate([inside, outside]), np.linspace(0.01, 0.99, 500))
    curve = [
        ((outside < x).sum() / max(1, (outside < x).sum() + (inside < x).sum()), (outside < x).mean(), x)
        for x in limits
    ]
    balance = min((point for point in curve if point[1] > 0), key=lambda point: abs(point[0] - point[1]))
    print("  balance: precision {:.3f} recall {:.3f} at probability {:.2f}".format(*balance))
    rest = (adversarial < limit).mean(), (inside < limit).mean()
    print("  adversarial: refused {:.3f}; answerable: refused {:.3f}".format(*rest))
    answers = [
        (a.question, a.reading, selection.choose(a.reading, "")) for a in asked if a.question.gold and not a.outside
    ]
    texts = [(q.gold, " ".join(as_written(quote, set(r.weights)) for quote in chosen)) for q, r, chosen in answers]
    hits = sum(any(gold in answer for gold in golds) for golds, answer in texts)
    sentences = sum(len(chosen) for *_, chosen in answers) / len(answers)
    print(f"  gold string in the answer: {hits / len(answers):.3f}, {sentences:.2f} sentences each, n = {len(answers)}")


def report_grounded(asked: Sequence[Asked], embedder: CachedEmbedder) -> None:
    """How many first attempts come out as grounded (usefulness 4 and 5), and how many of them hold the gold string."""
    engines: dict[int, extractive_engine.ExtractiveEngine] = {}
    found: dict[str, list[tuple[int, bool]]] = {"answerable": [], "adversarial": [], "article left out": []}
    for question, outside, reading, corpus in asked:
        engine = engines.setdefault(id(corpus), extractive_engine.ExtractiveEngine(embedder, corpus))
        verdicts = engine.relevance(question.text, reading.documents)
        kept = [one for one, verdict in zip(reading.documents, verdicts, strict=True) if verdict.label == "relevant"]
        written = "".join(piece.text for piece in engine.answer(question.text, kept, Attempt()))
        level = engine.grade(question.text, kept, written).usefulness
        holds = not outside and any(gold in written for gold in question.gold)
        found["article left out" if outside else "answerable" if question.gold else "adversarial"].append(
            (level, holds)
        )
    for kind, rows in found.items():
        useful = [holds for level, holds in rows if level >= rules.USEFUL]
        line = f"  {kind}: grounded {len(useful) / len(rows):.3f} of {len(rows)}"
        if kind == "answerable":
            shown = sum(holds for level, holds in rows if level >= rules.USEFUL - 1) / len(rows)
            line += (
                f", {sum(useful) / len(useful):.3f} of them with the gold string; at usefulness 3 and more {shown:.3f}"
            )
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="SQuAD v2 JSON; the first is the one to fit on")
    parser.add_argument("--more", type=Path, nargs="*", default=[], help="JSON lines of further passages")
    parser.add_argument("--cache", type=Path, help="keeps the vectors between runs (.npz)")
    given = parser.parse_args()
    embedder = CachedEmbedder(load_models(Settings.load()).embedder("minilm"))
    embedder.open(given.cache)
    every = [document for file in [*given.files, *given.more] for document in passages(file)]
    asked = {
        (file, size): ask(file, documents, embedder)
        for file in given.files
        for size, documents in (("own", list(passages(file))), ("all", every))
    }
    fitted = [one for size in ("own", "all") for one in asked[given.files[0], size]]
    print("passage weights, bias:", fit_passages(fitted).round(3).tolist())
    print("quote weights, bias:", fit_quotes(fitted).round(3).tolist())
    for (file, size), rows in asked.items():
        report(f"{file.stem}, index of {size} passages", rows)
        report_grounded(rows, embedder)
    embedder.save()


if __name__ == "__main__":
    main()
