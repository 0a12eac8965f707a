"""Write events as lines, for --trace and for the runs of an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local_rag.core.answer import Answer
from local_rag.core.events import Called, Event, Retrieved, Step
from local_rag.core.verdicts import Call, Graded
from local_rag.index.path_labels import PathLabel
from local_rag.text.display import home_path, joined, plural, printable, shorten
from local_rag.text.markup import as_read
from local_rag.text.metadata import short_id

_KINDS = {
    "rewrites": ("rewrite",),
    "generations": ("generation",),
    "web_searches": ("web search", "web searches"),
    "steps": ("step of reasoning", "steps of reasoning"),
}


_IN_PLACE = {"web_searches": ("search of the fallback corpus", "searches of the fallback corpus")}


def trace_line(event: Event, label: PathLabel = home_path) -> str:
    """Return one line of --trace, empty for an event that --trace leaves out."""
    if isinstance(event, Step):
        return f"  {event.node}: {event.seconds:.2f} s"
    if isinstance(event, Called):
        return f"    {call_line(event.call)}"
    if isinstance(event, Retrieved):
        passages = joined(_passage(document.metadata, label) for document in event.documents)
        count = plural(len(event.documents), "passage")
        return f'    {count} for "{_line(shorten(event.query, 200))}"{f": {passages}" if passages else ""}'
    if isinstance(event, Graded):
        of = " of 5, score" if event.kind == "usefulness" and event.score is not None else ""
        score = f"{of} {event.score:.2f}" if event.score is not None else ""
        passage = f" {label(event.source)} ({short_id(event.chunk_id)})" if event.chunk_id else ""
        why = f" ({_line(as_read(event.why))})" if event.why else ""
        return f"    {event.kind}{passage}: {_line(event.verdict)}{score}{why}"
    return ""


def _line(text: str) -> str:
    return " ".join(printable(text).split())


def _passage(metadata: Mapping[str, Any], label: PathLabel) -> str:
    """Return a passage's file, the beginning of its ID, and its similarity."""
    score = f" {metadata['score']:.2f}" if metadata.get("score") is not None else ""
    location = printable(metadata.get("url") or label(str(metadata.get("source", ""))))
    return f"{location} ({short_id(metadata.get('chunk_id', ''))}){score}"


def call_line(call: Call) -> str:
    """Return one line on a call to a language model: role, model, tokens, and where the time went."""
    again = ", asked again" if call.retry else ""
    load = f", {call.load_seconds:.1f} s loading the model" if call.loaded else ""
    times = f"{call.seconds:.2f} s ({call.prompt_seconds:.2f} reading, {call.output_seconds:.2f} writing{load})"
    return f"{call.role} {call.model}: {call.prompt_tokens:,} + {call.output_tokens:,} tokens, {times}{again}"


def usage_line(answer: Answer) -> str:
    """Return the last line of --trace."""
    run = [f"run {answer.run}"] if answer.run else []
    return "; ".join([f"{answer.graph}: {' -> '.join(answer.path)}", f"{answer.seconds:.2f} s", *_costs(answer), *run])


def verdicts_line(answer: Answer) -> str:
    """Return the path, verdicts and cost of a stored answer in one line, as far as they are known."""
    path = f"{answer.graph}: {' -> '.join(answer.path)}" if answer.path else ""
    return "; ".join(filter(None, [path, *_verdicts(answer.decisions), *_costs(answer)]))


def _verdicts(decisions: Sequence[Graded]) -> Iterator[str]:
    """Yield how many passages were relevant, by the last verdict on each, and the last verdicts on the answer."""
    for kind, noun in (("relevance", "passage"), ("web", "page")):
        verdicts = {graded.chunk_id: graded.verdict for graded in decisions if graded.kind == kind}
        if verdicts:
            relevant = list(verdicts.values()).count("relevant")
            yield f"{relevant} of {plural(len(verdicts), noun)} relevant"
    last = {graded.kind: graded.verdict for graded in decisions}
    if "support" in last:
        yield f"support: {_line(last['support'])}"
    if "usefulness" in last:
        yield f"usefulness: {_line(last['usefulness'])} of 5"


def _costs(answer: Answer) -> list[str]:
    usage = answer.usage
    parts = []
    if usage.calls:
        parts.append(f"{plural(usage.calls, 'call')}, {usage.prompt_tokens:,} + {usage.output_tokens:,} tokens")
    if usage.loads:
        parts.append(plural(usage.loads, "model load"))
    if usage.retries:
        parts.append(plural(usage.retries, "retry", "retries"))
    if usage.unparsed:
        parts.append(plural(usage.unparsed, "unusable verdict"))
    if answer.tries:
        kinds = _KINDS | (_IN_PLACE if answer.fallback_corpus else {})
        parts.append(joined(plural(count, *kinds[kind]) for kind, count in answer.tries.items()))
    return parts
