"""Two runs side by side in a terminal: what differs, part by part; - is the first one, + the second."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from local_rag.runtime.run_difference import Change, Cost, RunDifference, VerdictChange
from local_rag.runtime.run_passages import RunPassages
from local_rag.terminal.console import PlainTable
from local_rag.terminal.runs import passage_location, setting_text
from local_rag.terminal.verdicts import COLOURS
from local_rag.text.display import joined, plural, shorten

LONGEST = 300
"""Characters of a verdict, such as a rewritten query."""


def difference_parts(difference: RunDifference, passages: RunPassages) -> Iterator[RenderableType]:
    """A row per part that differs, and always the passages and the costs; at the end whether anything changed."""
    table = PlainTable()
    for name, content in (
        ("conditions", _changes(difference.conditions, passages)),
        ("path", _sides(*(" -> ".join(path) for path in difference.path)) if difference.path else None),
        ("passages", _passages(difference, passages)),
        ("verdicts", _verdicts(difference.verdicts, passages)),
        ("answer", _changes(difference.answer, passages)),
        ("costs", _costs(difference.costs)),
    ):
        if content is not None:
            table.add_row(Text(name, "bold"), content)
    yield Text.assemble(
        ("- ", "red"), difference.first or "this run", "   ", ("+ ", "green"), difference.second or "now"
    )
    yield table
    changed = joined(difference.changed)
    same = "path, passages, verdicts and answer are the same"
    yield Text(f"changed: {changed}" if changed else same, "yellow" if changed else "green")


def _changes(changes: tuple[Change, ...], passages: RunPassages) -> RenderableType | None:
    """Short values on a line, long ones below each other."""
    if not changes:
        return None
    rows: list[RenderableType] = []
    for change in changes:
        is_files = change.name in ("cited", "files")
        values = ([*map(passages.label, side or ())] if is_files else side for side in (change.first, change.second))
        first, second = map(setting_text, values)
        if len(first) + len(second) < 40:
            rows.append(Text.assemble((f"{change.name}: ", "dim"), (first, "red"), " -> ", (second, "green")))
        else:
            rows += [Text(f"{change.name}:", "dim"), _sides(first, second)]
    return Group(*rows)


def _sides(first: str, second: str) -> RenderableType:
    table = PlainTable(gap=1)
    table.add_row(Text("-", "red"), first)
    table.add_row(Text("+", "green"), second)
    return table


def _passages(difference: RunDifference, passages: RunPassages) -> RenderableType:
    order = ", in another order" if difference.reordered else ""
    only = [("-", "red", passage) for passage in difference.gone] + [("+", "green", new) for new in difference.new]
    alone = ", none in one alone" if not only else ""
    rows: list[RenderableType] = [f"{plural(difference.common, 'passage')} in both{order}{alone}"]
    table = PlainTable(gap=1)
    for sign, colour, passage in only:
        table.add_row(Text(sign, colour), passage_location(passage, passages))
    return Group(*rows, table) if only else Group(*rows)


def _verdicts(changes: tuple[VerdictChange, ...], passages: RunPassages) -> RenderableType | None:
    table = PlainTable()
    for change in changes:
        text = _verdict(change.first, change.first_score)
        text.append(" -> ").append_text(_verdict(change.second, change.second_score))
        if change.source:
            text.append(f"  {passages.label(change.source)}{passages.place(change.chunk_id)}")
        table.add_row(Text(change.kind, "dim"), text)
    return table if changes else None


def _verdict(verdict: str | None, score: float | None) -> Text:
    text = Text("none", "dim") if verdict is None else Text(shorten(verdict, LONGEST), COLOURS.get(verdict, ""))
    return text.append(f" {score:.2f}") if score is not None else text


def _costs(costs: tuple[Cost, ...]) -> PlainTable:
    table = PlainTable()
    for cost in costs:
        is_time = cost.name.startswith("seconds")
        first, second = (f"{value:.2f}" if is_time else f"{value:,.0f}" for value in (cost.first, cost.second))
        ratio = f"{cost.ratio:.2f} times" if cost.ratio is not None else ""
        if max(cost.first, cost.second) >= 0.005:
            table.add_row(Text(cost.name, "dim"), f"{first} -> {second}", Text(ratio, "dim"))
    return table
