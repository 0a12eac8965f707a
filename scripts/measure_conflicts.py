"""Measure, and fit, when files disagree: on made-up pairs of documents, and on questions to which no files do.

    python scripts/measure_conflicts.py [--squad FILE …] [--hotpot FILE …] [--pairs FILE] [--cache FILE] [--fit]

Of the pairs that are made from templates (`conflict_pairs.py`) one half is for tuning and the other one is reported;
those that were written by hand (`conflict_pairs.json`) are for tuning. Question sets are SQuAD's, each paragraph a
file, and HotpotQA's: of both the four passages nearest to each question are read. With `--fit` the weights are fitted
to what is for tuning and to the question sets, and written to `local_rag/graphs/disagreement.json`.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from conflict_pairs import Pair, halves
from fit_evaluator import logistic
from langchain_core.documents import Document

from local_rag.core.protocols import Evaluator
from local_rag.core.readings import Reading
from local_rag.graphs import disagreement
from local_rag.graphs.disagreement import Evidence, Weights
from local_rag.text.fact_questions import asks_for_one_fact

K = 4
WEIGHTS = Path(disagreement.__file__).with_name("disagreement.json")
WRITTEN = Path(__file__).with_name("conflict_pairs.json")
ALARMS, PRECISION = 0.008, 0.92
"""Where the weights are fitted: the share of the questions of the sets for which a disagreement may be claimed, and of
the claims about pairs that are right, those about templates and those about written pairs each.
"""
COUNTS = {"template": 1.0, "written": 2.0, "set": 0.3}
"""How often a pair of statements counts in the fit, by where it is from; a question of the sets has several."""


class Read(NamedTuple):
    """A question with the evidence for a disagreement between its passages, and whether there is one."""

    question: str
    disagree: bool
    sort: str
    evidence: tuple[Evidence, ...]
    answers: tuple[str, ...]


class Cached:
    """An evaluator that keeps what it reads in a file, so that a fit costs it once."""

    def __init__(self, evaluator: Evaluator, file: Path | None) -> None:
        self.evaluator, self.file = evaluator, file
        self.fingerprint, self.calibration = evaluator.fingerprint, evaluator.calibration
        self._kept = pickle.loads(file.read_bytes()) if file and file.exists() else {}  # noqa: S301  # our own file
        self._known: dict[tuple[str, ...], Any] = self._kept.setdefault(self.fingerprint, {})

    def read(self, question: str, documents: Sequence[Document]) -> list[Reading]:
        return [self._reading(question, document) for document in documents]

    def _reading(self, question: str, document: Document) -> Reading:
        about = [str(document.metadata.get(name)) for name in ("source", "title", "heading")]
        key = (question, *about, document.page_content)
        if key not in self._known:
            (self._known[key],) = self.evaluator.read(question, [document])
        reading: Reading = self._known[key]
        return reading

    def supports(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return self.evaluator.supports(pairs)

    def close(self) -> None:
        """Keep what was read."""
        if self.file:
            self.file.write_bytes(pickle.dumps(self._kept))


def reading_of(
    question: str, documents: Sequence[Document], evaluator: Evaluator, disagree: bool = False, sort: str = ""
) -> Read:
    """The evidence between the passages of a question."""
    stated = []
    if asks_for_one_fact(question):
        stated = disagreement.statements(question, documents, evaluator)
    compared = (disagreement.evidence_of(question, first, second) for first, second in combinations(stated, 2))
    evidence = [each for each in compared if each]
    answers = tuple(f"{statement.answer.wide} ({statement.answerable:.2f})" for statement in stated)
    return Read(question, disagree, sort, tuple(evidence), answers)


def pair_documents(pair: Pair) -> list[Document]:
    return [
        Document(file.text, metadata={"source": f"/files/{file.name}", "title": file.title, "origin": "files"})
        for file in (pair.first, pair.second)
    ]


def pairs_of(file: Path | None) -> Iterator[tuple[str, list[Document], bool, str]]:
    """Questions with two documents each, whether these disagree, and how they differ."""
    for pair in json.loads(file.read_text("utf-8")) if file else ():
        documents = [
            Document(part["text"], metadata={"source": f"/files/{part['name']}", "title": "", "origin": "files"})
            for part in (pair["first"], pair["second"])
        ]
        yield pair["question"], documents, pair["kind"] == "disagree", pair["why"].partition(":")[0]


def squad(file: Path) -> tuple[list[Document], list[str]]:
    """Every paragraph as a file of its own, and the questions."""
    documents, questions = [], []
    for article in json.loads(file.read_text("utf-8"))["data"]:
        title = article["title"].replace("_", " ")
        for number, paragraph in enumerate(article["paragraphs"]):
            about = {"source": f"/squad/{title} {number}.txt", "title": title, "origin": "files"}
            documents.append(Document(paragraph["context"], metadata=about))
            questions += [entry["question"] for entry in paragraph["qas"]]
    return documents, questions


def hotpot(file: Path) -> Iterator[tuple[str, list[Document]]]:
    """Each question with its ten paragraphs."""
    for line in file.read_text("utf-8").splitlines():
        case = json.loads(line)
        context = case["context"]
        titled = zip(context["title"], context["sentences"], strict=True) if isinstance(context, dict) else context
        yield (
            case["question"],
            [
                Document("".join(parts), metadata={"source": f"/hotpot/{title}.txt", "title": title, "origin": "files"})
                for title, parts in titled
            ],
        )


def nearest(questions: Sequence[str], documents: Sequence[Document], embedder: Any) -> list[list[Document]]:
    """The passages that each question is answered from."""
    rows = embedder.embed_documents([document.page_content for document in documents])
    order = np.argsort(-(embedder.embed_queries(list(questions)) @ rows.T), axis=1)[:, :K]
    return [[documents[place] for place in places] for places in order]


def likeliest(read: Read, weights: Weights) -> float:
    """The probability that some of the statements disagree."""
    return max(map(weights.probability, read.evidence), default=0.0)


def disagrees(read: Read, weights: Weights) -> bool:
    return likeliest(read, weights) >= weights.least


def scores(pairs: Sequence[Read], weights: Weights) -> tuple[float, float]:
    """Precision and recall; precision is 1 where nothing is claimed."""
    claimed = [read for read in pairs if disagrees(read, weights)]
    right = sum(read.disagree for read in claimed)
    return right / len(claimed) if claimed else 1.0, right / sum(read.disagree for read in pairs)


def fit(templates: Sequence[Read], written: Sequence[Read], others: Sequence[Read]) -> Weights:
    """A logistic regression, and the least probability with ALARMS at most among the others and PRECISION."""
    sources = (("template", templates), ("written", written), ("set", others))
    rows = [
        (evidence, read.disagree, COUNTS[name])
        for name, reads in sources
        for read in reads
        for evidence in read.evidence
    ]
    evidence, labels, counts = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    coefficients, bias = logistic(evidence, labels, counts)
    weights = Weights(bias, Evidence(*coefficients), 0.0)
    chances = sorted((likeliest(read, weights) for read in others), reverse=True)
    least = chances[int(ALARMS * len(chances))] + 0.001 if chances else 0.5
    limits = [weights._replace(least=limit / 100) for limit in range(100) if limit / 100 >= least]
    right = (
        chosen for chosen in limits if min(scores(reads, chosen)[0] for reads in (templates, written)) >= PRECISION
    )
    return next(right, weights._replace(least=0.99))


def report(name: str, pairs: Sequence[Read], weights: Weights) -> None:
    precision, recall = scores(pairs, weights)
    print(f"{name}: {len(pairs)} pairs, precision {precision:.3f}, recall {recall:.3f}")
    claimed = Counter(read.sort for read in pairs if disagrees(read, weights))
    for sort, count in Counter(read.sort for read in pairs).items():
        print(f"  {sort}: {claimed[sort]} of {count}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--squad", type=Path, nargs="*", default=[])
    parser.add_argument("--hotpot", type=Path, nargs="*", default=[])
    parser.add_argument("--pairs", type=Path, help="further pairs, which nothing is fitted on (.json)")
    parser.add_argument("--sample", type=int, default=0, help="questions of each set; all by default")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--mistakes", action="store_true", help="show pairs and questions where it is wrong")
    measure(parser.parse_args(), *opened())


def opened() -> tuple[Evaluator, Any]:
    """The evaluator and the embedder of the settings."""
    from local_rag.config.settings import Settings
    from local_rag.runtime.opening import open_embedder, open_evaluator

    settings = Settings.load()
    evaluator, lacking = open_evaluator(settings)
    if evaluator is None:
        raise SystemExit(lacking or "the settings have no evaluator: local-rag config show")
    return evaluator, open_embedder(settings)


def measure(options: argparse.Namespace, opened_evaluator: Evaluator, embedder: Any) -> None:
    evaluator = Cached(opened_evaluator, options.cache)
    tune, reported = (
        [reading_of(pair.question, pair_documents(pair), evaluator, pair.disagree, pair.sort) for pair in half]
        for half in halves()
    )
    sets: dict[str, list[Read]] = {}
    for file in options.squad:
        documents, questions = squad(file)
        questions = sampled(questions, options.sample)
        near = nearest(questions, documents, embedder)
        sets[file.stem] = [reading_of(*read, evaluator) for read in zip(questions, near, strict=True)]
    for file in options.hotpot:
        cases = sampled(list(hotpot(file)), options.sample)
        sets[file.stem] = [
            reading_of(question, nearest([question], documents, embedder)[0], evaluator)
            for question, documents in cases
        ]
    written, unseen = (
        [
            reading_of(question, documents, evaluator, disagree, sort)
            for question, documents, disagree, sort in pairs_of(file)
        ]
        for file in (WRITTEN, options.pairs)
    )
    evaluator.close()
    others = [read for reads in sets.values() for read in reads]
    weights = fit(tune, written, others) if options.fit else disagreement.fitted()
    print(weights)
    for name, reads in (("tuning half", tune), ("written", written), ("reported half", reported)):
        report(name, reads, weights)
    if unseen:
        report(options.pairs.stem, unseen, weights)
    for name, reads in sets.items():
        alarms = [read for read in reads if disagrees(read, weights)]
        print(f"{name}: {len(reads)} questions, {len(alarms)} disagreements ({len(alarms) / len(reads):.2%})")
    if options.mistakes:
        for read in [*tune, *written, *others]:
            if disagrees(read, weights) != read.disagree:
                print(f"  {read.sort}: {read.question} | {' | '.join(read.answers)} | {read.evidence}")
    if options.fit:
        about = f"half of the templates, {len(written)} written pairs and {len(others)} questions of SQuAD and HotpotQA"
        fitted = {"weights": {name: round(value, 4) for name, value in weights.weights._asdict().items()}}
        known = {"bias": round(weights.bias, 4), **fitted, "least": round(weights.least, 4)}
        known["fitted_on"] = f"{about}, evaluator {evaluator.fingerprint}"
        WEIGHTS.write_text(json.dumps(known, indent=1) + "\n")


def sampled(cases: list[Any], sample: int) -> list[Any]:
    return random.Random(20).sample(cases, sample) if 0 < sample < len(cases) else cases


if __name__ == "__main__":
    main()
