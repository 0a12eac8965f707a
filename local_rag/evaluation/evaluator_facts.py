"""What a run says of the evaluator that read its passages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from local_rag.core.serialization import to_plain

if TYPE_CHECKING:
    from local_rag.core.protocols import Evaluator

NONE = "none"


def evaluator_facts(evaluator: Evaluator | None) -> dict[str, Any] | None:
    """Its name, the SHA-256 of its weights and its calibration; None where none reads.

    Of an evaluator that a program made itself only the fingerprint is known.
    """
    from local_rag.engines.evaluator.evaluator import TrainedEvaluator

    if evaluator is None:
        return None
    if not isinstance(evaluator, TrainedEvaluator):
        return {"name": type(evaluator).__name__, "fingerprint": evaluator.fingerprint}
    return {
        "name": evaluator.name,
        "fingerprint": evaluator.fingerprint,
        "weights": evaluator.files.config.sha256,
        "calibration": to_plain(evaluator.files.calibration),
    }


def described(facts: Mapping[str, Any] | None) -> str:
    """The evaluator of a run in a line."""
    if not facts:
        return NONE
    fitted = (facts.get("calibration") or {}).get("fitted_on")
    parts = (
        str(facts["name"]),
        f"weights SHA-256 {facts['weights'][:16]}…" if facts.get("weights") else f"fingerprint {facts['fingerprint']}",
        f"calibration fitted on {fitted}" if fitted else "",
    )
    return ", ".join(filter(None, parts))


def other_evaluators(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """A sentence where the passages of two runs were not read by the same evaluator; empty where they were."""
    facts_a, facts_b = a.get("evaluator"), b.get("evaluator")
    if (facts_a or {}).get("fingerprint") == (facts_b or {}).get("fingerprint"):
        return ""
    return f"Other evaluators: {_brief(facts_a)} in A, {_brief(facts_b)} in B; differences may be theirs."


def _brief(facts: Mapping[str, Any] | None) -> str:
    if not facts:
        return NONE
    return f"{facts['name']} ({str(facts.get('weights') or facts['fingerprint'])[:12]}…)"
