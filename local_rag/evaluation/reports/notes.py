"""What a reader must know beside the figures: where the cases are from, and why a table is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.text.display import plural

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case

_BY_RULES = re.compile(r"proposed: \w+")
"""The note of a case that `eval make` made without a model, and that nobody edited; a model's has its name."""


def origin(cases: Sequence[Case]) -> str:
    """A warning where most cases were made by rules from the files themselves; else empty."""
    made = sum(bool(_BY_RULES.fullmatch(case.note)) for case in cases)
    if 2 * made <= len(cases):
        return ""
    return (
        f"{made:,} of {plural(len(cases), 'case')} were made by rules from the files' own words: word search looks "
        "better than on people's questions, and foreign questions are easy to refuse."
    )


def missing(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[str]:
    """A line for each table that was asked for and is not there, because no case has the labels that it needs."""
    cases = summary.get("cases") or {}
    if not cases.get("total"):
        return
    graphs = () if manifest.get("retrieval_only") else manifest.get("graphs") or ()
    for title, wanted, found, why in (
        ("Retrieval", manifest.get("modes"), cases["with_relevant"], "names a relevant place (relevant)"),
        ("Routes", "adaptive" in graphs, cases["with_route"], "names a route (route)"),
        ("Answers", graphs, cases["with_answers"], "has reference answers (answers)"),
        ("Refusals", graphs, cases["answerable"] + cases["unanswerable"], "says whether it is answerable (answerable)"),
    ):
        if wanted and not found:
            yield f"no {title}: no case {why}"
    if graphs and _unjudged(manifest, summary):
        yield "no answer could be judged: the judge needs cases with reference answers that were answered"


def _unjudged(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> bool:
    """Whether a judge was there to the end, and had nothing to do; where it failed, the failures say so."""
    if not manifest.get("judge") or not manifest.get("finished"):
        return False
    judged = any((figures.get("judge") or {}).get("verdicts") for figures in (summary.get("graphs") or {}).values())
    return not judged and all(failure["kind"] != "judgement" for failure in summary.get("failures") or ())
