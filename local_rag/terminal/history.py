"""The history in a terminal: runs, one with all that led to its answer, and what quotes a person's files."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from local_rag.core.errors import LocalRagError
from local_rag.core.serialization import from_plain, to_plain
from local_rag.core.verdicts import Call, Graded
from local_rag.diagnostics import kept as keeping
from local_rag.diagnostics.kept import Kept
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.kept import KeptRun, Line, RunPassages, RunSummary
from local_rag.runtime.trace_lines import call_line, usage_line
from local_rag.terminal.answers import (
    COLOURS,
    LONGEST,
    QUOTE_WIDTH,
    answer_parts,
    citation_of,
    location,
    verdict_text,
)
from local_rag.terminal.console import PlainTable
from local_rag.text.answer_texts import ENGLISH
from local_rag.text.blocks import source_of
from local_rag.text.display import is_url, joined, normal, plural, short_path, shorten
from local_rag.text.markup import as_read, unmarked
from local_rag.text.metadata import short_id

if TYPE_CHECKING:
    from local_rag.config.settings import Settings

NOUNS = {
    "chat": "chat",
    "question": "recorded question",
    "feedback": "answer with feedback",
    "run": "evaluation run",
    "export": "exported chat",
    "cases": "file of cases",
    "bundle": "bundle",
    "fallback corpus": "index of a fallback corpus",
}
MANY = {
    "feedback": "answers with feedback",
    "cases": "files of cases",
    "fallback corpus": "indexes of fallback corpora",
}
FEW = 5
"""Files that a command names; of more, all that is kept is listed."""


def runs_table(runs: Sequence[RunSummary]) -> PlainTable:
    """A row per run, its question cut to the width of the terminal; the index only where there are several."""
    several = len({run.index for run in runs}) > 1
    head = ["id", "when (UTC)", "status", "seconds", "graph", *(["index"] if several else []), "question"]
    table = PlainTable(*head)
    table.columns[3].justify = "right"
    for run in runs:
        status = Text(run.status, COLOURS.get(run.status, ""))
        names = [run.graph, *([shorten(run.index, 20)] if several else [])]
        question = Text(shorten(run.question, 100), no_wrap=True, overflow="ellipsis")
        table.add_row(Text(run.id, "bold"), _when(run.at), status, f"{run.seconds:.1f}", *names, question)
    return table


def run_parts(run: KeptRun, passages: RunPassages, *, whole: bool = False) -> Iterator[RenderableType]:
    """Everything that a run did, node by node, and its answer; `whole` shows passages and drafts in full."""
    then, label = run.conditions, passages.label
    chat = f", in the chat {run.thread}" if run.thread else ""
    yield Text.assemble(
        (f"run {run.id}", "bold"), (f"  {_when(run.at)} UTC, index {then['index']['name']}{chat}", "dim")
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
    """A run for programs: in short, its lines as they were recorded, and its passages with their texts of today.

    The text of a passage is None where there is none any more, and `why` says why.
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


def ending_parts(run: KeptRun, label: PathLabel = short_path) -> Iterator[RenderableType]:
    """The answer of a run with its costs, or why it has none."""
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
                    said = unmarked(draft["text"]) if whole else shorten(as_read(draft["text"]), LONGEST)
                    why = (f" ({shorten(draft['why'], LONGEST)})", "dim")
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
        yield "retrieved", Text(f'{count} for "{shorten(line["query"], LONGEST)}"')
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
        yield "note", Text(shorten(line["text"], LONGEST), "yellow")
    elif event == "web_query":
        yield "web", Text(f"asked {line['engine']}: {line['query']}")


def _passage(passage: Line, passages: RunPassages, whole: bool) -> Text:
    """Where a passage stands, its ID, similarity and text: notes/plan.md, p. 4 (a1b2c3) 0.71  "It costs…"."""
    text, score = location(source_of(citation_of(passage), ENGLISH, passages.label)), passage.get("score")
    similarity = f" {score:.2f}" if isinstance(score, float) else ""
    text.append(f" ({short_id(passage['chunk_id'])}){similarity}", "dim").append("  ")
    content, why = passages.text(passage)
    if content is None:
        return text.append(f"({why})", "yellow")
    return text.append(unmarked(content) if whole else f'"{shorten(as_read(content), QUOTE_WIDTH)}"', "dim")


def setting_text(value: object) -> str:
    """A setting, or a part of an answer, in a line."""
    if value is None or value in ("", [], ()):
        return "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else shorten(str(value), LONGEST)


def _when(moment: str) -> str:
    return moment[:16].replace("T", " ")


def kept_table(everything: Iterable[Kept]) -> PlainTable:
    """A row for each, the oldest first."""
    table = PlainTable("kind", "last (UTC)", "quotes", "name")
    for item in everything:
        name = item.name if item.kind in ("chat", "question", "feedback") else short_path(item.folder or item.name)
        table.add_row(item.kind, _when(item.at), plural(len(item.sources), "file"), name)
    return table


def counted(everything: Sequence[Kept]) -> str:
    """2 chats and 3 evaluation runs."""
    counts = Counter[str](item.kind for item in everything)
    return joined(plural(counts[kind], noun, MANY.get(kind, "")) for kind, noun in NOUNS.items() if counts[kind])


def locations(paths: Sequence[str]) -> list[str]:
    """Files and folders as an index names them, and URLs and names as they are."""
    named: list[str] = []
    for path in paths:
        if is_url(path):
            named.append(normal(path))
        else:
            given = Path(path).expanduser()
            named += dict.fromkeys([path, str(given.absolute()), str(given.resolve())])
    return named


def what_quotes(settings: Settings, gone: Sequence[str] = (), typed: Sequence[str] = ()) -> list[str]:
    """What still quotes files that have left an index, in a line, and the command that deletes it.

    `gone` are the files, `typed` what a person wrote for them; neither where the whole index is gone. A bundle has a
    copy of the whole index.
    """
    try:
        everything = keeping.kept(settings)
    except LocalRagError as error:
        return [f"Chats may quote it, and cannot be read: {error}"]
    named = locations(typed)
    whole = keeping.about(everything, index=settings.index_path)
    quoting = keeping.about(everything, [*named, *gone], named) if gone or typed else whole
    quoting = [item for item in quoting if item.kind != "bundle"]
    bundles = [keeping.why_left(item) for item in whole if item.kind == "bundle"] if gone or not typed else []
    if not quoting:
        return bundles
    what = f"--index {shlex.quote(settings.values.index)} --delete"
    if gone or typed:
        quoted = typed or [file for file in gone if keeping.about(quoting, [file])]
        what = f"{shlex.join(quoted)} --delete" if len(quoted) <= FEW else "  lists all"
    it = "them" if len(gone) > 1 else "it"
    return [f"{counted(quoting)} still quote{'s' if len(quoting) == 1 else ''} {it}: local-rag kept {what}", *bundles]
