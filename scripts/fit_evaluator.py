"""Fit the calibration of an evaluator on questions in SQuAD v2's JSON, and say what it then does on them.

    python scripts/fit_evaluator.py DEV.json [--other TEST.json] [--sample N] [--cache FILE] [--keep .78] [--write]

Questions are asked of an index of the file's own passages, as `local-rag eval --corpus` makes it: the answerable ones
(inside), those that the article does not answer (adversarial), and the answerable ones again with their article left
out (outside) and with the gold paragraph alone (shown). Everything is fitted on the first file; `--write` puts it into
the `calibration.json` beside the weights of the evaluator that the settings name. The figures of the other file are
with the coefficients and thresholds of the first.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from local_rag.config.settings import Settings
from local_rag.core.progress import Silent
from local_rag.core.readings import Calibration, Reading, ReadSpan, log_odds, probability
from local_rag.engines.evaluator.calibration import FILE
from local_rag.engines.evaluator.evaluator import TrainedEvaluator
from local_rag.engines.evaluator.inputs import header_of
from local_rag.engines.extractive.reader import labels
from local_rag.evaluation.answer_metrics import token_f1
from local_rag.evaluation.cases import Case
from local_rag.evaluation.corpus import index_of
from local_rag.evaluation.formats import open_cases
from local_rag.evaluation.reliability import bins_of, calibration_error
from local_rag.index.index import Index
from local_rag.runtime.opening import open_embedder, open_evaluator
from local_rag.text.short_answers import ranked

K = 4
RIDGE = 1.0
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReadQuestion:
    """A question with what was read in the passages that a search brought; `holds` says which of them is gold."""

    kind: str
    case: Case
    readings: list[Reading]
    holds: list[bool]


class CachedReadings:
    """An evaluator whose readings are kept in a file; `answerable` is always of the calibration of now."""

    def __init__(self, evaluator: TrainedEvaluator, file: Path | None) -> None:
        self.evaluator, self.file, self.calibration = evaluator, file, Calibration()
        self.fingerprint, self._known = evaluator.files.fingerprint, dict[str, Any]()
        for line in file.read_text("utf-8").splitlines() if file and file.exists() else ():
            key, kept = json.loads(line)
            self._known[key] = kept

    def read(self, question: str, documents: Sequence[Any]) -> list[Reading]:
        keys = [json.dumps([self.fingerprint, question, header_of(d), d.page_content]) for d in documents]
        new = [number for number, key in enumerate(keys) if key not in self._known]
        for number, reading in zip(new, self.evaluator.read(question, [documents[n] for n in new]), strict=True):
            self._known[keys[number]] = asdict(reading)
            if self.file:
                with self.file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps([keys[number], asdict(reading)]) + "\n")
        return [calibrated(reading_of(self._known[key]), self.calibration) for key in keys]

    def supports(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return self.evaluator.supports(pairs)

    def close(self) -> None:
        self.evaluator.close()


def reading_of(kept: dict[str, Any]) -> Reading:
    return Reading(**{**kept, "spans": tuple(ReadSpan(**span) for span in kept["spans"])})


def calibrated(reading: Reading, calibration: Calibration) -> Reading:
    if not reading.spans:
        return reading
    return replace(reading, answerable=calibration.answerable(reading.spans[0].logit, reading.present))


def read_questions(
    file: Path, settings: Settings, evaluator: CachedReadings, sample: int | None, seed: int
) -> Iterator[ReadQuestion]:
    """The sampled questions, half of them adversarial; answerable ones inside and outside."""
    cases, embedder = open_cases([file]), open_embedder(settings)
    of_article = {name: name.rpartition("/")[0] for name, _ in cases.documents}
    draw = random.Random(seed)
    kinds = [[case for case in cases.cases if bool(case.answerable) is kind] for kind in (True, False)]
    chosen = [case for kind in kinds for case in draw.sample(kind, min(len(kind), (sample or 10**6) // 2))]
    with Index.open(Path(index_of(cases, settings, embedder).values.index), embedder) as index:
        everywhere = [(passage.key, passage.source) for passage in index.passages()]
        for case in chosen:
            gold = {str(target.file) for target in case.relevant}
            documents = index.search(case.question, K)
            holds = [document.metadata["source"] in gold for document in documents]
            kind = "inside" if case.answerable else "adversarial"
            yield ReadQuestion(kind, case, evaluator.read(case.question, documents), holds)
            if case.answerable:
                left_out = {of_article[name] for name in gold}
                own = [key for key, path in everywhere if of_article.get(path) in left_out]
                others = index.search(case.question, K, exclude=own)
                shown = index.search(case.question, K, within=sorted(gold))
                yield ReadQuestion("shown", case, evaluator.read(case.question, shown), [True] * len(shown))
                yield ReadQuestion("outside", case, evaluator.read(case.question, others), [False] * len(others))


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


def logistic(rows: Floats, labels: Floats, counts: Floats | None = None) -> tuple[list[float], float]:
    """Weights and bias for features as they are, from a ridge regression on standardised ones.

    No weight is below 0: more of a feature never lowers a probability. A feature whose weight would be
    below 0 counts nothing, and the others are fitted without it. `counts`: how often each row counts.
    """
    counts = np.ones(len(rows)) if counts is None else counts
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread == 0] = 1.0
    weights, kept = np.zeros(rows.shape[1]), list(range(rows.shape[1]))
    while True:
        beta = fit(((rows - mean) / spread)[:, kept], labels, counts, RIDGE)
        if not kept or beta[:-1].min() >= 0:
            break
        kept.pop(int(beta[:-1].argmin()))
    weights[kept] = beta[:-1] / spread[kept]
    return [float(weight) for weight in weights], float(beta[-1] - weights @ mean)


def fitted(questions: Sequence[ReadQuestion], about: str, keep: float) -> Calibration:
    """All of it: passages, then questions by their best passage, then the thresholds.

    `answers` has the best balanced accuracy that answers at least `keep` of the answerable questions. The best passage
    of a question that is just answered is just relevant; 99 % of the passages with the answer reach `reads`.
    """
    questions = [read for read in questions if read.kind != "shown"]
    read = [(r, held) for read in questions for r, held in zip(read.readings, read.holds, strict=True) if r.spans]
    rows = np.array([[r.spans[0].logit, log_odds(r.present)] for r, _ in read])
    (span, present), bias = logistic(rows, np.array([held for _, held in read], dtype=float))
    known = Calibration(bias=bias, span=span, present=present, fitted_on=about)
    questions = recalibrated(questions, known)
    near = [read for read in questions if read.kind != "outside"]
    best = np.array([[log_odds(max(r.answerable for r in read.readings))] for read in near])
    (question,), question_bias = logistic(best, np.array([read.kind == "inside" for read in near], dtype=float))
    known = replace(known, question=question, question_bias=question_bias)
    answers = threshold(near, known, keep)
    relevant = probability((log_odds(answers) - question_bias) / question)
    gold = [r.answerable for read in questions for r, held in zip(read.readings, read.holds, strict=True) if held]
    reads = float(np.quantile(gold, 0.01))
    return replace(known, answers=answers, relevant=relevant, reads=min(reads, relevant))


def recalibrated(questions: Sequence[ReadQuestion], known: Calibration) -> list[ReadQuestion]:
    return [replace(read, readings=[calibrated(reading, known) for reading in read.readings]) for read in questions]


def threshold(questions: Sequence[ReadQuestion], known: Calibration, keep: float) -> float:
    scores = np.array([known.of_question(read.readings) for read in questions])
    inside = np.array([read.kind == "inside" for read in questions])
    limits = sorted({round(float(limit), 4) for limit in scores})
    good = [limit for limit in limits if (scores[inside] >= limit).mean() >= keep]
    return max(good, key=lambda limit: (scores[inside] >= limit).mean() + (scores[~inside] < limit).mean())


def report(name: str, questions: Sequence[ReadQuestion], known: Calibration) -> None:
    """What the calibration does with these questions."""
    print(f"{name}:")
    questions = recalibrated(questions, known)
    for kind in ("shown", "inside"):
        print(f"  {kind}: token F1 of the short answer, refused or not: {short_f1(questions, kind):.3f}")
    scores = {
        kind: np.array([known.of_question(read.readings) for read in questions if read.kind == kind])
        for kind in ("inside", "adversarial", "outside")
    }
    kept = float((scores["inside"] >= known.answers).mean())
    refused = float((scores["adversarial"] < known.answers).mean())
    print(f"  {len(scores['inside'])} answerable, {len(scores['adversarial'])} adversarial questions")
    balanced = (kept + refused) / 2
    print(f"  answered {kept:.3f}, refused {refused:.3f}, balanced accuracy {balanced:.3f} at {known.answers:.3f}")
    near = np.concatenate([scores["inside"], scores["adversarial"]])
    answerable = np.arange(len(near)) < len(scores["inside"])
    error = calibration_error(bins_of(zip(near.tolist(), answerable.tolist(), strict=True)))
    print(f"  expected calibration error of questions {error:.3f}")
    print(f"  not in the corpus: {outside(scores['inside'], scores['outside'], known.answers)}")
    print(f"  grading accuracy {accuracy(questions, known):.3f}")


def short_f1(questions: Sequence[ReadQuestion], kind: str) -> float:
    scores = []
    for read in questions:
        if read.kind == kind:
            best = next(iter(ranked(read.readings)), None)
            scores.append(token_f1(best.span.text if best else "", read.case.answers))
    return float(np.mean(scores))


def outside(inside: Floats, left_out: Floats, least: float) -> str:
    """Refusals of questions whose article is left out: at the threshold, and where precision and recall are equal."""

    def at(limit: float) -> tuple[float, float]:
        hits = int((left_out < limit).sum())
        return hits / max(1, hits + int((inside < limit).sum())), hits / len(left_out)

    limits = [float(limit) for limit in np.concatenate([inside, left_out]) if at(float(limit))[1] > 0]
    balance = min(limits, key=lambda limit: abs(np.subtract(*at(limit))))
    both = zip(("at the threshold", "in balance"), (least, balance), strict=True)
    return ", ".join("{}: precision {:.3f} recall {:.3f}".format(where, *at(limit)) for where, limit in both)


def accuracy(questions: Sequence[ReadQuestion], known: Calibration) -> float:
    """Share of right verdicts on the retrieved passages, as the engine gives them."""
    right = []
    for read in questions:
        if read.kind in ("inside", "adversarial"):
            verdicts = labels(read.case.question, read.readings, known.relevant)
            right += [(verdict == "relevant") is held for verdict, held in zip(verdicts, read.holds, strict=True)]
    return float(np.mean(right))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="SQuAD v2 JSON to fit on")
    parser.add_argument("--other", type=Path, help="another file, to report on")
    parser.add_argument("--sample", type=int, help="questions of each file, half of them adversarial (all by default)")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--keep", type=float, default=0.78, help="share of answerable questions to answer at least")
    parser.add_argument("--cache", type=Path, help="keeps what was read between runs (.jsonl)")
    parser.add_argument("--write", action="store_true", help=f"write {FILE}")
    given = parser.parse_args()
    settings = Settings.load()
    evaluator, error = open_evaluator(settings, Silent())
    if evaluator is None:
        raise SystemExit(f"error: {error or 'the evaluator is off'}")
    cached = CachedReadings(evaluator, given.cache)
    questions = list(read_questions(given.file, settings, cached, given.sample, given.seed))
    about = f"{given.file.name}, {len({read.case.id for read in questions})} questions"
    known = fitted(
        questions, f"{about}, weights {evaluator.files.config.sha256[:12]}, scripts/fit_evaluator.py", given.keep
    )
    print(json.dumps(asdict(known), indent=1))
    report(given.file.stem, questions, known)
    if given.other:
        report(given.other.stem, list(read_questions(given.other, settings, cached, given.sample, given.seed)), known)
    if given.write:
        plain = asdict(known).items()
        rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in plain}
        (evaluator.files.folder / FILE).write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
