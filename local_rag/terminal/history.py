"""Show the history in a terminal: runs, one run in detail, and what quotes a person's files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from local_rag.core.serialization import from_plain, to_plain
from local_rag.core.verdicts import Call, Graded
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.export import when
from local_rag.runtime.kept import Kept, KeptRun, Line, RunPassages, RunSummary
from local_rag.runtime.trace_lines import call_line, usage_line
from local_rag.terminal.answers import (
    COLOURS,
    QUOTE_WIDTH,
    TEXT_WIDTH,
    answer_parts,
    citation_of,
    location,
    verdict_text,
)
from local_rag.terminal.console import PlainTable
from local_rag.text.answer_texts import ENGLISH
from local_rag.text.blocks import source_of
from local_rag.text.display import plural, short_path, shorten
from local_rag.text.markup import as_read, unmarked
from local_rag.text.metadata import short_id


def runs_table(runs: Sequence[RunSummary]) -> PlainTable:
    """Return a row per run, with its question cut to the terminal's width, and its index if there are several."""
    several = len({run.index for run in runs}) > 1
    head = ["id", "when (UTC)", "status", "seconds", "graph", *(["index"] if several else []), "question"]
    table = PlainTable(*head)
    table.columns[3].justify = "right"
    for run in runs:
        status = Text(run.status, COLOURS.get(run.status, ""))
        names = [run.graph, *([shorten(run.index, 20)] if several else [])]
        question = Text(shorten(run.question, 100), no_wrap=True, overflow="ellipsis")
        table.add_row(Text(run.id, "bold"), when(run.at), status, f"{run.seconds:.1f}", *names, question)
    return table


def run_parts(run: KeptRun, passages: RunPassages, *, whole: bool = False) -> Iterator[RenderableType]:
    """Yield everything that a run did, node by node, and its answer; `whole` shows passages and drafts in full."""
    then, label = run.conditions, passages.label
    chat = f", in the chat {run.thread}" if run.thread else ""
    yield Text.assemble(
        (f"run {run.id}", "bold"), (f"  {when(run.at)} UTC, index {then['index']['name']}{chat}", "dim")
    )
    yield Text(f"{run.graph}; {then['engine']['describe']}", "dim")
    if given := {name: then["settings"].get(name) for name in then["origins"] if name in then["settings"]}:
        yield Text(f"set: {', '.join(f'{name} {setting_text(value)}' for name, value in given.items())}", "dim")
    if note := passages.note(then["index"].get("content", "")):
        yield Text(f"note: {note}", "yellow")
    yield ""
    yield Text(run.question, "bold")
    yield from _nodes(run, passages, whole)
    yield ""
    yield from ending_parts(run, label)


def plain_run(run: KeptRun, passages: RunPassages) -> dict[str, Any]:
    """Return a run for programs: a summary, the recorded lines, and its passages with their texts of today.

    The text of a passage is None if it is gone, and `why` tells the reason.
    """
    texts = [(passage, *passages.text(passage)) for passage in run.passages]
    return {
        **to_plain(run.summary()),
        "conditions": run.conditions,
        "path": run.path,
        "prompts": run.prompts,
        "passages": [passage | {"text": text, "why": why} for passage, text, why in texts],
        "lines": run.lines,
        "answer": run.answer,
    }


def ending_parts(run: KeptRun, label: PathLabel) -> Iterator[RenderableType]:
    """Yield the answer of a run with its costs, or the reason that it has none."""
    if run.answer:
        yield Text(run.status, COLOURS.get(run.status, ""))
        yield from answer_parts(run.answer, label)
        yield Text(usage_line(run.answer), "dim")
        return
    why = f"{run.reason}{f' ({run.hint})' if run.hint else ''}"
    meaning = {
        "stopped": "stopped before there was an answer",
        "failed": f"failed: {why}",
        "refused": f"refused: {why}",
        "running": "not finished: it is still running, or its process was ended",
    }
    yield Text(f"{meaning[run.status]}, after {run.seconds:.2f} s", COLOURS.get(run.status, "yellow"))


def _nodes(run: KeptRun, passages: RunPassages, whole: bool) -> Iterator[RenderableType]:
    rejected = 0
    for number, step in enumerate(run.steps, start=1):
        yield ""
        ended = "not finished" if number == len(run.steps) and not run.answer else ""
        took = ended if step.seconds is None else f"{step.seconds:.2f} s"
        yield Text.assemble((step.node or "at its end", "cyan"), (f"  {took}", "dim"))
        rows = PlainTable()
        for line in step.lines:
            if line["event"] == "step":
                drafts = line["state"].get("drafts", [])[rejected:]
                rejected += len(drafts)
                for draft in drafts:
                    said = unmarked(draft["text"]) if whole else shorten(as_read(draft["text"]), TEXT_WIDTH)
                    why = (f" ({shorten(draft['why'], TEXT_WIDTH)})", "dim")
                    rows.add_row("", Text("rejected", "red"), Text.assemble(f'"{said}"', why))
            else:
                for kind, text in _rows(line, passages, whole):
                    rows.add_row("", Text(kind, "dim"), text)
        if rows.row_count:
            yield rows


def _rows(line: Line, passages: RunPassages, whole: bool) -> Iterator[tuple[str, RenderableType]]:
    event = line["event"]
    if event == "retrieved":
        count = plural(len(line["documents"]), "passage")
        yield "retrieved", Text(f'{count} for "{shorten(line["query"], TEXT_WIDTH)}"')
        for passage in line["documents"]:
            yield "", _passage(passage, passages, whole)
    elif event == "graded":
        graded = from_plain(Graded, line)
        yield graded.kind, verdict_text(graded, passages.label, passages.place(graded.chunk_id))
    elif event == "called":
        call = from_plain(Call, line["call"])
        digest = f", prompt {call.prompt}" if call.prompt else ""
        yield "call", Text(call_line(call) + digest, "dim")
    elif event == "note":
        yield "note", Text(shorten(line["text"], TEXT_WIDTH), "yellow")
    elif event == "web_query":
        yield "web", Text(f"asked {line['engine']}: {line['query']}")


def _passage(passage: Line, passages: RunPassages, whole: bool) -> Text:
    """Return a passage's source, ID, similarity and text: notes/plan.md, p. 4 (a1b2c3) 0.71  "It costs…"."""
    text, score = location(source_of(citation_of(passage), ENGLISH, passages.label)), passage.get("score")
    similarity = f" {score:.2f}" if isinstance(score, float) else ""
    text.append(f" ({short_id(passage['chunk_id'])}){similarity}", "dim").append("  ")
    content, why = passages.text(passage)
    if content is None:
        return text.append(f"({why})", "yellow")
    return text.append(unmarked(content) if whole else f'"{shorten(as_read(content), QUOTE_WIDTH)}"', "dim")


def setting_text(value: object) -> str:
    """Return the value of a setting, or of a part of an answer, on one line."""
    if value is None or value in ("", [], ()):
        return "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else shorten(str(value), TEXT_WIDTH)


def kept_table(everything: Iterable[Kept]) -> PlainTable:
    """Return a row for each chat, run, export or file that quotes files, in the given order."""
    table = PlainTable("kind", "last (UTC)", "quotes", "name")
    for item in everything:
        name = (
            item.name
            if item.kind in ("chat", "question", "feedback", "file answer")
            else short_path(item.folder or item.name)
        )
        table.add_row(item.kind, when(item.at), plural(len(item.sources), "file"), name)
    return table
