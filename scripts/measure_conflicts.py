"""Measure, and fit, when files disagree: on made-up pairs of documents, and on questions to which no files do.

    python scripts/measure_conflicts.py [--squad FILE …] [--hotpot FILE …] [--sample N] [--cache FILE] [--fit]

Of the pairs (`conflict_pairs.py`) one half is for tuning and the other one is reported. Question sets are SQuAD's, each
paragraph a file, and HotpotQA's: of both the four passages nearest to each question are read. With `--fit` the bounds
are chosen on the tuning half and the question sets, and written to `local_rag/graphs/disagreement.json`.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from conflict_pairs import Pair, halves
from langchain_core.documents import Document

from local_rag.core.protocols import Evaluator
from local_rag.core.readings import Reading
from local_rag.graphs import disagreement
from local_rag.graphs.disagreement import Bounds, Evidence
from local_rag.graphs.statements import ALIKE
from local_rag.text.fact_questions import asks_for_one_fact

K = 4
BOUNDS = Path(disagreement.__file__).with_name("disagreement.json")
LEAST = 0.05
"""The least probability of an answer among which bounds are looked for."""
RECALL, ALARMS = 0.75, 0.005
"""What bounds must reach where they are fitted; the aims, .6 and 1 %, hold for what they were not fitted on."""


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
        kept = pickle.loads(file.read_bytes()) if file and file.exists() else {}  # noqa: S301  # our own file
        self._known: dict[tuple[str, ...], Any] = kept.get(self.fingerprint, {})

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
        for pair in pairs:
            if pair not in self._known:
                (self._known[pair],) = self.evaluator.supports([pair])
        return [self._known[pair] for pair in pairs]

    def close(self) -> None:
        """Keep what was read."""
        if self.file:
            self.file.write_bytes(pickle.dumps({self.fingerprint: self._known}))


def reading_of(question: str, documents: Sequence[Document], evaluator: Evaluator, pair: Pair | None = None) -> Read:
    """The evidence between the passages of a question."""
    stated = []
    if asks_for_one_fact(question):
        stated = disagreement.statements(question, documents, evaluator, LEAST)
    evidence = [
        compared
        for first, second in combinations(stated, 2)
        for compared in disagreement.evidence_of(question, first, second, evaluator)
    ]
    answers = tuple(f"{statement.answer.wide} ({statement.answerable:.2f})" for statement in stated)
    return Read(question, bool(pair and pair.disagree), pair.sort if pair else "", tuple(evidence), answers)


def pair_documents(pair: Pair) -> list[Document]:
    return [
        Document(file.text, metadata={"source": f"/files/{file.name}", "title": file.title, "origin": "files"})
        for file in (pair.first, pair.second)
    ]


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
        yield (
            case["question"],
            [
                Document("".join(parts), metadata={"source": f"/hotpot/{title}.txt", "title": title, "origin": "files"})
                for title, parts in zip(case["context"]["title"], case["context"]["sentences"], strict=True)
            ],
        )


def nearest(questions: Sequence[str], documents: Sequence[Document], embedder: Any) -> list[list[Document]]:
    """The passages that each question is answered from."""
    rows = embedder.embed_documents([document.page_content for document in documents])
    order = np.argsort(-(embedder.embed_queries(list(questions)) @ rows.T), axis=1)[:, :K]
    return [[documents[place] for place in places] for places in order]


def disagrees(read: Read, bounds: Bounds) -> bool:
    return any(disagreement.holds(evidence, bounds) for evidence in read.evidence)


def scores(pairs: Sequence[Read], bounds: Bounds) -> tuple[float, float]:
    """Precision and recall; precision is 1 where nothing is said."""
    claimed = [read for read in pairs if disagrees(read, bounds)]
    right = sum(read.disagree for read in claimed)
    return right / len(claimed) if claimed else 1.0, right / sum(read.disagree for read in pairs)


def fit(pairs: Sequence[Read], others: Sequence[Read]) -> Bounds:
    """The bounds that are most often right among those that reach RECALL and ALARMS, of equal ones the mildest."""
    grid = product(
        (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        (0.0, 0.3, 0.5, 0.7),
        (1.0, 0.8, 0.6, 0.4, 0.2),
        (0.15, 0.25, 0.35),
        (ALIKE,),
        (0.35, 0.5, 0.6, 0.7),
    )
    best, chosen = (0.0, 0.0), disagreement.fitted()
    for values in grid:
        bounds = Bounds(*values)
        reached = scores(pairs, bounds)
        if reached[1] >= RECALL and reached > best:
            alarms = sum(disagrees(read, bounds) for read in others) / max(1, len(others))
            if alarms <= ALARMS:
                best, chosen = reached, bounds
    return chosen


def report(name: str, pairs: Sequence[Read], bounds: Bounds) -> None:
    precision, recall = scores(pairs, bounds)
    print(f"{name}: {len(pairs)} pairs, precision {precision:.3f}, recall {recall:.3f}")
    claimed = Counter(read.sort for read in pairs if disagrees(read, bounds))
    for sort, count in Counter(read.sort for read in pairs).items():
        print(f"  {sort}: {claimed[sort]} of {count}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--squad", type=Path, nargs="*", default=[])
    parser.add_argument("--hotpot", type=Path, nargs="*", default=[])
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
        [reading_of(pair.question, pair_documents(pair), evaluator, pair) for pair in half] for half in halves()
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
    evaluator.close()
    others = [read for reads in sets.values() for read in reads]
    bounds = fit(tune, others) if options.fit else disagreement.fitted()
    print(bounds)
    report("tuning half", tune, bounds)
    report("reported half", reported, bounds)
    for name, reads in sets.items():
        alarms = [read for read in reads if disagrees(read, bounds)]
        print(f"{name}: {len(reads)} questions, {len(alarms)} disagreements ({len(alarms) / len(reads):.2%})")
    if options.mistakes:
        for read in [*tune, *others]:
            if disagrees(read, bounds) != read.disagree:
                print(f"  {read.sort}: {read.question} | {' | '.join(read.answers)} | {read.evidence}")
    if options.fit:
        about = f"the tuning half of the pairs and {len(others)} questions, evaluator {evaluator.fingerprint}"
        BOUNDS.write_text(json.dumps({"bounds": bounds._asdict(), "fitted_on": about}, indent=1) + "\n")


def sampled(cases: list[Any], sample: int) -> list[Any]:
    return random.Random(20).sample(cases, sample) if 0 < sample < len(cases) else cases


if __name__ == "__main__":
    main()
