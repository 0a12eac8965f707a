"""Fit `local_rag/engines/extractive/answerability.json` on questions in SQuAD v2's JSON, and measure what it refuses.

    python scripts/fit_answerability.py DEV.json TEST.json [--more PASSAGES.jsonl …] [--cache FILE.npz] [--write]

What is written is fitted on the first file. The figures are crossed: the second file with coefficients and thresholds
of the first, the first with those of the second. Questions are asked as in `measure_extractive.py`: of an index of the
file's own passages and of one of all passages; the answerable ones again with their article left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure_extractive import Asked, CachedEmbedder, Floats, articles, ask, fit, passages
from numpy.typing import NDArray

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.engines.extractive import analysis, engine, selection
from local_rag.engines.extractive.answerability import FILE, Answerability, Evidence, evidence, read
from local_rag.engines.extractive.quotes import as_written

PRESENT = Evidence._fields[:10]
ANSWERS = (
    "passage_cosine best_cosine cosine coverage fits rarest_missing numbered number_missing denied denied_alone "
    "opposite negated narrower lacks_kind"
).split()
"""Chosen by cross-fitting among some 90 features: no word of asking, no length, neither of which is reading."""
RIDGE = 10.0
"""On standardised features; a tenth and ten times as much give the same figures to within .01."""
Index = tuple[str, str]
Truth = NDArray[np.bool_]


class Row(NamedTuple):
    """The evidence for the best quote of a question; `kind` is inside, outside or adversarial."""

    kind: str
    evidence: Evidence
    right: bool
    cosine: float


class Answered(NamedTuple):
    """What the engine made of a question: the score of its answer (0: it refused) and whether it holds the gold."""

    kind: str
    score: float
    right: bool


def kind_of(asked: Asked) -> str:
    return "outside" if asked.outside else "inside" if asked.question.gold else "adversarial"


def rows(asked: Sequence[Asked], open_to_all: Answerability) -> list[Row]:
    found = []
    for one in asked:
        reading = one.reading
        if not reading.quotes:
            continue
        best = int(np.argmax(reading.answers))
        chosen = selection.choose(reading, "", open_to_all, 0.0) or [reading.quotes[best]]
        quoted = " ".join(as_written(quote, set(reading.weights)) for quote in chosen)
        right = not one.outside and any(gold in quoted for gold in one.question.gold)
        cosine = max(features.cosine for features in reading.features)
        found.append(Row(kind_of(one), evidence(reading, best), right, cosine))
    return found


def logistic(features: Sequence[Mapping[str, float]], names: Sequence[str], labels: Truth) -> dict[str, object]:
    """Coefficients for features as they are, from a ridge regression on standardised ones."""
    table = np.array([[one[name] for name in names] for one in features], dtype=float)
    mean, spread = table.mean(axis=0), table.std(axis=0)
    spread[spread == 0] = 1.0
    beta = fit((table - mean) / spread, labels.astype(float), np.ones(len(table)), RIDGE)
    weights = beta[:-1] / spread
    return {
        "bias": round(float(beta[-1] - weights @ mean), 4),
        "weights": {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)},
    }


def fitted(found: Sequence[Row], large: Sequence[Row]) -> dict[str, dict[str, object]]:
    """All coefficients; `large` are the rows of the large index, on which `present` is put in balance at 0.5.

    `score` is fitted on what passes that threshold: it is a chance given that something is quoted at all.
    """

    def one(names: Sequence[str], *kinds: str) -> dict[str, object]:
        kept = [row for row in found if row.kind in kinds]
        return logistic([row.evidence._asdict() for row in kept], names, np.array([r.kind == "inside" for r in kept]))

    data = {"present": one(PRESENT, "inside", "outside"), "answers": one(ANSWERS, "inside", "adversarial")}
    blank = {"bias": 0.0, "weights": {}}
    models = read(data | {"score": blank})
    logits = np.array([models.present.logit(row.evidence._asdict()) for row in large if row.kind != "adversarial"])
    inside = np.array([row.kind == "inside" for row in large if row.kind != "adversarial"])
    data["present"]["bias"] = round(models.present.bias - balance(logits, inside), 4)
    models = read(data | {"score": blank})
    pairs = [
        ({name: getattr(models, name).logit(row.evidence._asdict()) for name in ("present", "answers")}, row.right)
        for row in found
    ]
    given = [(logits, right) for logits, right in pairs if logits["present"] >= 0]
    labels = np.array([right for _, right in given])
    return data | {"score": logistic([logits for logits, _ in given], ("present", "answers"), labels)}


def refusal(scores: Floats, answerable: Truth, least: float) -> tuple[float, float, float]:
    """Precision and recall of refusing what scores below `least`, and the balanced accuracy."""
    refused = scores < least
    hits = int((refused & ~answerable).sum())
    recall, kept = hits / int((~answerable).sum()), float((~refused & answerable).sum() / answerable.sum())
    return hits / max(1, int(refused.sum())), recall, (recall + kept) / 2


def candidates(scores: Floats) -> list[float]:
    return [float(one) for one in np.quantile(scores, np.linspace(0.05, 0.95, 901))]


def balance(scores: Floats, answerable: Truth) -> float:
    """The threshold at which precision and recall are nearest to each other."""
    limits = [one for one in candidates(scores) if refusal(scores, answerable, one)[1] > 0]
    return min(limits, key=lambda one: abs(np.subtract(*refusal(scores, answerable, one)[:2])))


def most_accurate(scores: Floats, answerable: Truth) -> float:
    return max(candidates(scores), key=lambda one: refusal(scores, answerable, one)[2])


def answered(asked: Sequence[Asked], embedder: CachedEmbedder, models: Answerability) -> list[Answered]:
    """What the engine would answer with no threshold on the score, and that score."""
    found = []
    for one in asked:
        kept = [
            document
            for document, logit in zip(one.reading.documents, one.reading.passages, strict=True)
            if analysis.probability(logit) >= engine.RELEVANT
        ]
        reading = analysis.Analyses(embedder, one.corpus).of(one.question.text, kept) if kept else None
        chosen = selection.choose(reading, "", models, 0.0) if reading else []
        if reading is None or not chosen:
            found.append(Answered(kind_of(one), 0.0, False))
            continue
        best = max(map(reading.quotes.index, chosen), key=lambda place: reading.answers[place])
        quoted = " ".join(as_written(quote, set(reading.weights)) for quote in chosen)
        right = not one.outside and any(gold in quoted for gold in one.question.gold)
        found.append(Answered(kind_of(one), models.judge(reading, best).score, right))
    return found


def of(found: Sequence[Row] | Sequence[Answered], other: str, field: str) -> tuple[Floats, Truth]:
    kept = [row for row in found if row.kind in ("inside", other)]
    return np.array([getattr(row, field) for row in kept], dtype=float), np.array([r.kind == "inside" for r in kept])


def report_crossed(
    name: str, plain: Sequence[Row], plain_own: Sequence[Row], own: Sequence[Answered], other: Sequence[Answered]
) -> None:
    """The figures of `other`: what the engine refuses by itself, and with the thresholds found on `own`."""
    print(name)
    for task, choose_limit in (("outside", balance), ("adversarial", balance)):
        line = refusal(*of(plain, task, "cosine"), choose_limit(*of(plain_own, task, "cosine")))
        print("  {}: bare cosine: precision {:.3f} recall {:.3f} balanced {:.3f}".format(task, *line))
    scores, answerable = of(other, "outside", "score")
    print(
        "  outside: refused by itself: precision {:.3f} recall {:.3f} balanced {:.3f}".format(
            *refusal(scores, answerable, 1e-9)
        )
    )
    for rule in (most_accurate, balance):
        limit = rule(*of(own, "adversarial", "score"))
        line = refusal(*of(other, "adversarial", "score"), limit)
        print("  adversarial, {} at {:.3f}: precision {:.3f} recall {:.3f} balanced {:.3f}".format(
            rule.__name__, limit, *line))  # fmt: skip


def report_scores(found: Sequence[Answered]) -> None:
    """How far the scores of given answers can be believed, and what thresholds on them cost and bring."""
    given = sorted((row.score, row.right) for row in found if row.score > 0)
    parts = [part for part in np.array_split(np.array(given, dtype=float), 10) if len(part)]
    print("  score, right:", " ".join(f"{part[:, 0].mean():.2f}/{part[:, 1].mean():.2f}" for part in parts))
    error = sum(len(part) * abs(part[:, 0].mean() - part[:, 1].mean()) for part in parts) / len(given)
    print(f"  expected calibration error {error:.3f} over {len(given)} answers")
    inside = [row for row in found if row.kind == "inside"]
    for limit in (1e-9, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5):
        right = sum(row.right and row.score >= limit for row in inside) / len(inside)
        kept = sum(row.score >= limit for row in inside) / len(inside)
        rest = {kind: [row.score < limit for row in found if row.kind == kind] for kind in ("outside", "adversarial")}
        refused = ", ".join(f"{kind} refused {np.mean(of_kind):.3f}" for kind, of_kind in rest.items())
        print(f"  least score {limit:.2f}: right {right:.3f}, answerable answered {kept:.3f}, {refused}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs=2, help="SQuAD v2 JSON; the first is the one to fit on")
    parser.add_argument("--more", type=Path, nargs="*", default=[], help="JSON lines of further passages")
    parser.add_argument("--cache", type=Path, help="keeps the vectors between runs (.npz)")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    given = parser.parse_args()
    embedder = CachedEmbedder(load_models(Settings.load()).embedder("minilm"))
    embedder.open(given.cache)
    every = [document for file in [*given.files, *given.more] for document in passages(file)]
    asked = {
        (file, size): ask(file, documents, embedder)
        for file in given.files
        for size, documents in (("own", list(passages(file))), ("all", every))
    }
    open_to_all = read({name: {"bias": 50.0, "weights": {}} for name in ("present", "answers", "score")})
    found = {key: rows(one, open_to_all) for key, one in asked.items()}
    data = {file: fitted(found[file, "own"] + found[file, "all"], found[file, "all"]) for file in given.files}
    if given.write:
        about = f"fitted on {given.files[0].name} ({len(articles(given.files[0]))} articles) in indexes of "
        about += f"{len(list(passages(given.files[0])))} and {len(every)} passages by scripts/fit_answerability.py"
        FILE.write_text(json.dumps({"about": about, **data[given.files[0]]}, indent=1) + "\n", encoding="utf-8")
    for one, other in (given.files, given.files[::-1]):
        models = read(data[one])
        own = answered([row for row in asked[one, "own"] if not row.outside], embedder, models)
        for size in ("own", "all"):
            name = f"{one.stem} -> {other.stem}, index of {size} passages"
            theirs = answered(asked[other, size], embedder, models)
            report_crossed(name, found[other, size], found[one, size], own, theirs)
            report_scores(theirs)
    embedder.save()


if __name__ == "__main__":
    main()
