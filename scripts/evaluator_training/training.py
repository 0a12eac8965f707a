"""The training loop: checkpoints that it goes on from, and measurements on dev."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from evaluator_training.batches import Batch, Encoded, collate
from evaluator_training.measuring import Measured, measure
from evaluator_training.network import autocast, shipped
from local_rag.engines.evaluator.model import EvaluatorModel

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from evaluator_training.rounds import Material

CHECKPOINT, BEST, LOG = "checkpoint.pt", "best.safetensors", "log.jsonl"
SUPPORT_SHARE = 0.7
"""Weight of a batch of support pairs: they are short and many."""
SHARES = (0.6, 0.35)
"""Averages of the weights before and after a training that are tried: Wortsman et al., arXiv 2109.01903."""
_REPORT = 50
"""Steps between two lines."""


@dataclass(frozen=True)
class Plan:
    """How long and how fast. `examples`: inputs that are shown in all; the learning rate falls to 0 until then."""

    examples: int
    rate: float = 1e-4
    warm_up: int = 100
    decay: float = 0.01
    clip: float = 1.0
    save_every: float = 300.0
    measure_every: int = 12_000
    seed: int = 7


@dataclass
class Progress:
    """Where a training stands."""

    seen: int = 0
    steps: int = 0
    round: int = 1
    batch: int = 0
    best: float = -1.0


def loss_of(network: EvaluatorModel, batch: Batch) -> Any:
    """The loss of a batch: cross-entropy of start, end and relevance, or of support."""
    span, relevance, support = network(batch.ids, batch.mask, batch.types)
    if batch.labels is not None:
        return SUPPORT_SHARE * nn.functional.cross_entropy(support.float(), batch.labels)
    span = span.float().masked_fill(~batch.allowed.unsqueeze(-1), -1e4)
    ends = nn.functional.cross_entropy(span[..., 0], batch.start, reduction="none")
    ends = ends + nn.functional.cross_entropy(span[..., 1], batch.end, reduction="none")
    weight = batch.spans * torch.where(batch.start > 0, 1.0, 0.5)
    return 0.5 * (ends * weight).mean() + 0.5 * nn.functional.cross_entropy(relevance.float(), batch.relevance)


class Training:
    """A training in a folder: started, or gone on with."""

    def __init__(
        self,
        folder: Path,
        network: EvaluatorModel,
        plan: Plan,
        device: str = "cpu",
        *,
        start: Mapping[str, Any] | None = None,
        rank: int = 0,
        processes: int = 1,
    ) -> None:
        """`start` holds the tensors of the weights that it begins with; `rank` is the number of this process among
        `processes` that share every batch.
        """
        self._start = start or {}
        self._rank, self._processes = rank, processes
        self.folder, self.network, self.plan, self.device = folder, network.to(device), plan, device
        learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self._learned = learned
        groups = [
            {"params": [p for p in learned if p.dim() > 1], "weight_decay": plan.decay},
            {"params": [p for p in learned if p.dim() <= 1], "weight_decay": 0.0},
        ]
        self._optimizer = torch.optim.AdamW(groups, lr=plan.rate, betas=(0.9, 0.98))
        self.progress = Progress()

    def resume(self) -> bool:
        """Go on from the checkpoint of the folder, if there is one."""
        file = self.folder / CHECKPOINT
        if not file.exists():
            return False
        state = torch.load(file, map_location=self.device, weights_only=True)
        self.network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.progress = Progress(**state["progress"])
        return True

    def save(self) -> None:
        """Write the checkpoint; a kill in between leaves the former one."""
        state = {
            "network": self.network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "progress": asdict(self.progress),
        }
        draft = self.folder / f"{CHECKPOINT}.new"
        torch.save(state, draft)
        draft.replace(self.folder / CHECKPOINT)

    def run(self, material: Material, tokenizer: Tokenizer, dev: Path | None) -> None:
        """Train until the plan is fulfilled; measure on `dev` on the way and at the end, keep the best weights."""
        progress, plan = self.progress, self.plan
        began, saved, first = time.monotonic(), time.monotonic(), progress.seen
        losses: deque[tuple[bool, float]] = deque(maxlen=4 * _REPORT)
        while progress.seen < plan.examples:
            batches = self._round(material)
            self.network.train()
            for inputs in batches[progress.batch :]:
                if progress.seen >= plan.examples:
                    break
                batch = collate(inputs[self._rank :: self._processes]).to(self.device)
                losses.append((batch.labels is not None, self._step(batch)))
                before = progress.seen
                progress.batch += 1
                progress.steps += 1
                progress.seen += len(inputs)
                if progress.steps % _REPORT == 0:
                    self._report(losses, (progress.seen - first) / (time.monotonic() - began))
                if self._first and time.monotonic() - saved > plan.save_every:
                    self.save()
                    saved = time.monotonic()
                if before // plan.measure_every != progress.seen // plan.measure_every:
                    self.measure(material, tokenizer, dev)
            else:
                progress.round, progress.batch = progress.round + 1, 0
        if self._first:
            self.save()
        self.measure(material, tokenizer, dev)
        trained = {name: value.clone() for name, value in self.network.state_dict().items()}
        for share in SHARES if self._start and dev else ():
            mixed = {name: share * trained[name] + (1 - share) * value.float() for name, value in self._start.items()}
            self.network.load_state_dict(trained | mixed)
            self.measure(material, tokenizer, dev, share)
        self.network.load_state_dict(trained)

    @property
    def _first(self) -> bool:
        return self._rank == 0

    def _round(self, material: Material) -> list[list[Encoded]]:
        """The batches of the round, without those that are too small to be shared; the first process makes them."""
        shared = [material.round(self.progress.round) if self._first else []]
        if self._processes > 1:
            torch.distributed.broadcast_object_list(shared)
        return [inputs for inputs in shared[0] if len(inputs) >= self._processes]

    def _share_gradients(self) -> None:
        """The mean of the gradients of all processes takes the place of this one's."""
        known = torch.tensor([float(parameter.grad is not None) for parameter in self._learned])
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._learned]
        flat = torch.cat([known, *(gradient.reshape(-1) for gradient in gradients)])
        torch.distributed.all_reduce(flat)
        known, place = flat[: len(self._learned)], len(self._learned)
        for parameter, count in zip(self._learned, known.tolist(), strict=True):
            mean = flat[place : place + parameter.numel()].view_as(parameter) / self._processes
            parameter.grad = mean if count else None  # a head that no process used stays as it is
            place += parameter.numel()

    def _step(self, batch: Batch) -> float:
        done = self.progress.seen / self.plan.examples
        rate = self.plan.rate * min(1.0, (self.progress.steps + 1) / self.plan.warm_up) * (1 - done)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        torch.manual_seed(self.plan.seed * 1_000_000 + self.progress.steps * self._processes + self._rank)
        with autocast(self.device):
            loss = loss_of(self.network, batch)
        loss.backward()
        if self._processes > 1:
            self._share_gradients()
        nn.utils.clip_grad_norm_(self._learned, self.plan.clip)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def _report(self, losses: deque[tuple[bool, float]], pace: float) -> None:
        reading = [loss for support, loss in losses if not support] or [float("nan")]
        support = [loss for is_support, loss in losses if is_support] or [float("nan")]
        self._log(
            seen=self.progress.seen,
            steps=self.progress.steps,
            per_second=round(pace, 1),
            reading=round(sum(reading) / len(reading), 4),
            support=round(sum(support) / len(support), 4),
        )

    def measure(
        self, material: Material, tokenizer: Tokenizer, dev: Path | None, share: float = 1.0
    ) -> Measured | None:
        """The figures on dev; the weights are kept if they are the best so far. `share` is that of the trained ones."""
        if not self._first:
            return None
        if dev is None:
            self.export()
            return None
        self.network.eval()
        measured = measure(self.network, tokenizer, dev, material.support[1], self.device)
        self.network.train()
        self._log(seen=self.progress.seen, share=share, **asdict(measured), score=round(measured.score, 4))
        if measured.score > self.progress.best:
            self.progress.best = measured.score
            self.export()
        return measured

    def export(self) -> None:
        """Write the weights as they are shipped."""
        from safetensors.torch import save_file

        draft = self.folder / f"{BEST}.new"
        save_file(shipped(self.network), str(draft))
        draft.replace(self.folder / BEST)

    def _log(self, **values: Any) -> None:
        if not self._first:
            return
        line = json.dumps(values)
        print(line, flush=True)
        with (self.folder / LOG).open("a", encoding="utf-8") as log:
            log.write(line + "\n")
