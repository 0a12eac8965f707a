"""What a reader must know beside the figures: how a run was made, what failed in it, and what is missing and why."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.evaluator_facts import described
from local_rag.evaluation.reports.formatting import one_line
from local_rag.text.display import joined, plural

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case

Manifest = Mapping[str, Any]

_BY_RULES = re.compile(r"proposed: \w+")
"""The note of a case that `eval make` made without a model, and that nobody edited; a model's has its name."""


FIRST = ("notes", "started", "cases", "engine", "evaluator", "index")
"""What a reader wants to know before the figures; the other facts can wait."""


def facts(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """What was run, on what, and with what; what is not known is left out."""
    cases, index, engine = (manifest.get(key) or {} for key in ("cases", "index", "engine"))
    finished = manifest.get("finished")
    pairs = (
        ("notes", manifest.get("notes")),
        ("started", manifest.get("started")),
        ("finished", finished or "not yet: the same command continues where it stopped"),
        ("command", shlex.join(map(str, manifest.get("command") or ()))),
        ("cases", _cases(manifest, cases)),
        ("file of the cases", _hash(cases)),
        (
            "graphs",
            joined(manifest.get("graphs") or ()) if not manifest.get("retrieval_only") else "none: retrieval only",
        ),
        ("retrieval", joined(manifest.get("modes") or ())),
        ("passages per query", manifest.get("k")),
        ("depth of retrieval", manifest.get("depth")),
        ("engine", _engine(engine)),
        ("prompts of one's own", ", ".join(map(" ".join, (engine.get("prompts") or {}).items()))),
        ("evaluator", described(manifest["evaluator"]) if "evaluator" in manifest else None),
        ("passages", "those of the files that a case names as relevant (--gold)" if manifest.get("gold") else None),
        ("judge", manifest.get("judge") or "none"),
        ("index", _index(index)),
        ("fingerprint", index.get("fingerprint")),
        ("fallback corpus", _fallback_corpus(manifest.get("fallback_corpus") or {})),
        ("seed", manifest.get("seed")),
        ("models.yaml", _hash(manifest.get("models_yaml"))),
        ("versions", ", ".join(f"{name} {version}" for name, version in (manifest.get("versions") or {}).items())),
    )
    for name, value in pairs:
        if value not in (None, ""):
            yield name, one_line(value, 2000)


def settings_of(manifest: Manifest) -> list[tuple[str, str]]:
    """The settings in force, by name."""
    settings = manifest.get("settings") or {}
    return [
        (one_line(name), one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))
        for name, value in sorted(settings.items())
    ]


def failure_lines(summary: Mapping[str, Any], first: int) -> list[str]:
    """The first failures, one line each; empty where nothing failed."""
    failures: Sequence[Mapping[str, Any]] = summary.get("failures") or ()
    lines = []
    for failure in failures[:first]:
        where = failure.get("graph") or failure.get("mode") or failure["kind"]
        lines.append(f"{one_line(failure['case'], 60)}, {one_line(where, 40)}: {one_line(failure['error'])}")
    return lines


def failure_head(summary: Mapping[str, Any], first: int) -> str:
    """How many failed, and that they count nowhere; empty where nothing did."""
    total = len(summary.get("failures") or ())
    if not total:
        return ""
    more = f"; the first {first}" if total > first else ""
    return f"{plural(total, 'failure')}, in none of the figures{more}:"


def warnings(manifest: Manifest, cases: Sequence[Case]) -> list[str]:
    """What to know before any figure: how much was embedded, and that most cases were made by rules from the files."""
    return [*parts_embedded(manifest), *filter(None, [_origin(cases)])]


def parts_embedded(manifest: Manifest) -> Iterator[str]:
    """A sentence for each index of the run of which only a part was embedded."""
    for name, what in (("index", "the index"), ("fallback_corpus", "the fallback corpus")):
        index = manifest.get(name) or {}
        if "embedded" in index:
            count = f"{index['embedded']:,} of {plural(index['chunks'], 'passage')} of {what}"
            yield f"Only {count} were embedded (--partial): the others could be found by their words only."


def _origin(cases: Sequence[Case]) -> str:
    by_rules = sum(bool(_BY_RULES.fullmatch(case.note)) for case in cases)
    if 2 * by_rules <= len(cases):
        return ""
    return (
        f"{by_rules:,} of {plural(len(cases), 'case')} were made by rules from the files' own words: word search looks "
        "better than on people's questions, and foreign questions are easy to refuse."
    )


def missing(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[str]:
    """A line for each table that was asked for and is not there, because no case has the labels that it needs."""
    cases = summary.get("cases") or {}
    if not cases.get("total"):
        return
    graphs = () if manifest.get("retrieval_only") else manifest.get("graphs") or ()
    for title, wanted, labelled, why in (
        ("Retrieval", manifest.get("modes"), cases["with_relevant"], "names a relevant place (relevant)"),
        ("Routes", "adaptive" in graphs, cases["with_route"], "names a route (route)"),
        ("Answers", graphs, cases["with_answers"], "has reference answers (answers)"),
        ("Refusals", graphs, cases["answerable"] + cases["unanswerable"], "says whether it is answerable (answerable)"),
    ):
        if wanted and not labelled:
            yield f"no {title}: no case {why}"
    if graphs and _unjudged(manifest, summary):
        yield "no answer could be judged: the judge needs cases with reference answers that were answered"


def _unjudged(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> bool:
    """Whether a judge was there to the end, and had nothing to do; where it failed, the failures say so."""
    if not manifest.get("judge") or not manifest.get("finished"):
        return False
    judged = any((figures.get("judge") or {}).get("verdicts") for figures in (summary.get("graphs") or {}).values())
    return not judged and all(failure["kind"] != "judgement" for failure in summary.get("failures") or ())


def _cases(manifest: Manifest, cases: Manifest) -> str:
    used, total = cases.get("used"), cases.get("total")
    of = f"{used:,} of {plural(total, 'case')}" if used is not None and total is not None else ""
    limit = f"--limit {manifest['limit']}" if manifest.get("limit") else ""
    return ", ".join(filter(None, (of, limit, str(cases.get("path") or ""), str(cases.get("format") or ""))))


def _engine(engine: Manifest) -> str:
    text = str(engine.get("describe") or engine.get("name") or "")
    return f"{text} ({engine['why']})" if engine.get("why") else text


def _index(index: Manifest) -> str:
    parts = (
        str(index.get("path") or ""),
        plural(index["documents"], "file") if "documents" in index else "",
        plural(index["chunks"], "passage") if "chunks" in index else "",
        str(index.get("embedder") or ""),
        f"at most {index['chunk_size']} tokens, overlap {index.get('chunk_overlap')}" if "chunk_size" in index else "",
        "each text one passage" if index.get("passages") == "whole" else "",
    )
    return ", ".join(filter(None, parts))


def _fallback_corpus(source: Manifest) -> str:
    """What was searched in place of the web; empty where nothing was."""
    if not source:
        return ""
    return f"{source['path']}, {plural(source['documents'], 'file')}, {plural(source['chunks'], 'passage')}"


def _hash(file: Manifest | None) -> str:
    """The first 64 bits, enough to tell two files apart; the whole stands in run.json."""
    return f"SHA-256 {file['sha256'][:16]}…" if file and file.get("sha256") else ""
