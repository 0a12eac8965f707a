"""A case as the page shows it: its labels, its passages once, and how each graph ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reports.formatting import block, count, one_line, seconds, share
from local_rag.evaluation.reports.outcomes import outcome, ranks, searched
from local_rag.text.display import joined, plural

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case, Target

Record = Mapping[str, Any]

REFERENCE, WHY = 1000, 240
"""Characters that are shown of a reference answer or a labelled quote, and of the reason of a verdict."""

FIRST_NAMED = 5
"""How many of the things that a search found are named."""


@dataclass(frozen=True)
class Limits:
    """How many characters are shown of each passage, answer and quote."""

    passage: int
    answer: int
    quote: int


@dataclass(frozen=True)
class Passage:
    """A passage that one or more graphs saw. `seen_by` says by whom, with score, verdict and label."""

    number: int
    location: str
    text: str
    holds: str
    seen_by: tuple[str, ...]


@dataclass(frozen=True)
class Quote:
    """A citation: `passage` is the number of the passage on the page, None where it is not among them."""

    number: int
    location: str
    text: str
    verified: bool
    holds: str
    passage: int | None


@dataclass(frozen=True)
class GraphOutcome:
    """How a graph ended on the case; only `error` where it failed. `facts` are pairs of a name and a text."""

    graph: str
    outcome: str
    error: str = ""
    status: str = ""
    reason: str = ""
    answer: str = ""
    quotes: tuple[Quote, ...] = ()
    nearest: tuple[Quote, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    decisions: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseView:
    """Everything that is shown of a case; `marks` are (graph or mode, outcome)."""

    id: str
    question: str
    labels: tuple[tuple[str, str], ...]
    marks: tuple[tuple[str, str], ...]
    outcomes: tuple[GraphOutcome, ...]
    passages: tuple[Passage, ...]
    searches: tuple[tuple[str, str], ...]

    @property
    def judged(self) -> tuple[tuple[str, str], ...]:
        """The marks by which a case is ordered: those of the graphs, or of the searches where no graph was asked."""
        return self.marks[: len(self.outcomes)] or self.marks


@dataclass
class NumberedPassages:
    """The passages of a case as they are numbered.

    `root` is the folder that all files of the run lie in; it is left out of their names.
    """

    limits: Limits
    root: str
    first: dict[tuple[str, str], Record] = field(default_factory=dict)
    lines: dict[tuple[str, str], dict[str, list[str]]] = field(default_factory=dict)

    def add(self, graph: str, record: Record) -> None:
        """Take in what a graph saw, with its verdicts."""
        for passage in record["passages"]:
            key = _key(passage)
            self.first.setdefault(key, passage)
            grades = [grade for grade in record["grades"] if grade["chunk_id"] == passage["chunk_id"]]
            verdicts = Counter(map(_verdict, grades))
            parts = [f"cosine {share(passage['score'])}" if passage["score"] is not None else ""]
            parts += [verdict if times == 1 else f"{verdict}, {times} times" for verdict, times in verdicts.items()]
            if passage["query"] and passage["query"] != record["answer"]["question"]:
                parts.append(f"brought by “{one_line(passage['query'], 120)}”")
            description = ", ".join(filter(None, parts)) or "not graded"
            self.lines.setdefault(key, {}).setdefault(description, []).append(one_line(graph, 40))

    def number(self, source: str, page: int | None, start: int) -> int | None:
        """The number of the passage in which a citation stands."""
        for number, passage in enumerate(self.first.values(), start=1):
            same = source in (passage["source"], passage["url"]) and page == passage["page"]
            if same and (passage["start"] is None or passage["start"] <= start < passage["end"]):
                return number
        return None

    def numbers(self, record: Record) -> str:
        """The numbers of the passages that a graph saw, in its order."""
        order = {key: number for number, key in enumerate(self.first, start=1)}
        return ", ".join(str(order[_key(passage)]) for passage in record["passages"])

    def shown(self) -> Iterator[Passage]:
        """The passages, in the order in which they were first seen."""
        for number, (key, passage) in enumerate(self.first.items(), start=1):
            text = block(passage["text"], self.limits.passage)
            seen_by = tuple(f"{joined(graphs)}: {line}" for line, graphs in self.lines[key].items())
            yield Passage(number, location_of(passage, self.root), text, _holds(passage["holds"]), seen_by)


def case_view(case: Case, records: Sequence[Record], limits: Limits, root: str) -> CaseView:
    """Everything that the page shows of a case, from its records."""
    numbered = NumberedPassages(limits, root)
    answers = [record for record in records if record["kind"] == "answer"]
    for record in answers:
        if "error" not in record:
            numbered.add(record["graph"], record)
    judged = {record["graph"]: record for record in records if record["kind"] == "judgement"}
    outcomes = tuple(_outcome(case, record, judged.get(record["graph"]), numbered) for record in answers)
    searches = [record for record in records if record["kind"] == "retrieval"]
    marks = [(entry.graph, entry.outcome) for entry in outcomes]
    marks += [(search["mode"], searched(search)) for search in searches]
    return CaseView(
        one_line(case.id, 120),
        one_line(case.question, 1000),
        tuple(_labels(case, root, records)),
        tuple(marks),
        outcomes,
        tuple(numbered.shown()),
        tuple((record["mode"], _search(record, root)) for record in searches),
    )


def location_of(metadata: Record, root: str) -> str:
    """File (or address), page and heading of a passage or a citation."""
    page = f"p. {metadata['page']}" if metadata["page"] is not None else ""
    heading = f"§ {one_line(metadata['heading'], 120)}" if metadata["heading"] else ""
    web = "web" if metadata["origin"] == "web" else ""
    web = "fallback corpus" if metadata.get("fallback_corpus") else web
    return ", ".join(filter(None, (_file(metadata["url"] or metadata["source"], root), page, heading, web)))


def _file(source: str, root: str) -> str:
    return one_line(source.removeprefix(root) if root else source, 300)


def _key(passage: Record) -> tuple[str, str]:
    return str(passage["chunk_id"] or passage["url"] or passage["source"]), passage["text"]


def _holds(positions: Sequence[int]) -> str:
    return f"holds relevant {joined(str(position + 1) for position in positions)}" if positions else ""


def _verdict(grade: Record) -> str:
    score = f" {share(grade['score'])}" if grade["score"] is not None else ""
    label = {True: "label: relevant", False: "label: irrelevant", None: "no label"}[grade["gold"]]
    wrong = grade["gold"] is not None and (grade["verdict"] == "relevant") is not grade["gold"]
    return f"graded {one_line(grade['verdict'], 20)}{score} ({label}{', so wrong' if wrong else ''})"


def _labels(case: Case, root: str, records: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """What is known of the case, and what the router made of it."""
    if case.answerable is not None:
        yield "the files hold an answer", "yes" if case.answerable else "no"
    for answer in case.answers:
        yield "reference answer", one_line(answer, REFERENCE)
    for number, target in enumerate(case.relevant, start=1):
        yield f"relevant {number}", _target(target, root)
    if case.hops != 1:
        yield "places to put together", str(case.hops)
    if case.note:
        yield "note", one_line(case.note)
    route = next((record for record in records if record["kind"] == "route"), None)
    if case.route or route:
        taken = "not asked" if route is None else one_line(route.get("error") or route["source"] or "unparsed")
        yield "route", f"expected {case.route}, taken: {taken}"


def _target(target: Target, root: str) -> str:
    parts = (
        _file(target.file, root) if target.file else "",
        f"p. {target.page}" if target.page is not None else "",
        f"“{one_line(target.quote, REFERENCE)}”" if target.quote else "",
        f"gain {target.gain:g}" if target.gain != 1 else "",
    )
    return ", ".join(filter(None, parts))


def _outcome(case: Case, record: Record, judged: Record | None, numbered: NumberedPassages) -> GraphOutcome:
    if "error" in record:
        return GraphOutcome(one_line(record["graph"], 40), outcome(case, record), error=one_line(record["error"], 1000))
    answer = record["answer"]
    citations = zip(answer["citations"], record["cited"], strict=True)
    nearest = answer["nearest"] if answer["status"] == "abstained" else ()
    decisions = [decision for decision in answer["decisions"] if decision["kind"] != "relevance"]
    return GraphOutcome(
        one_line(record["graph"], 40),
        outcome(case, record),
        status=one_line(answer["status"], 20),
        reason=one_line(answer["reason"], 600),
        answer=block(answer["text"], numbered.limits.answer),
        quotes=tuple(_quote(citation, cited["holds"], numbered) for citation, cited in citations),
        nearest=tuple(_quote(citation, (), numbered) for citation in nearest),
        facts=tuple((name, text) for name, text in facts_shown(record, judged, numbered) if text),
        decisions=tuple(_decision(decision, numbered.root) for decision in decisions),
    )


def _quote(citation: Record, holds: Sequence[int], numbered: NumberedPassages) -> Quote:
    return Quote(
        number=citation["number"],
        location=location_of(citation, numbered.root),
        text=one_line(citation["quote"], numbered.limits.quote),
        verified=bool(citation["verified"]),
        holds=_holds(holds),
        passage=numbered.number(citation["source"], citation["page"], citation["start"]),
    )


def facts_shown(record: Record, judged: Record | None, numbered: NumberedPassages) -> Iterator[tuple[str, str]]:
    answer, usage = record["answer"], record["answer"]["usage"]
    steps = " → ".join(f"{one_line(step['node'], 40)} {seconds(step['seconds'])} s" for step in record["steps"])
    yield "path", steps or one_line(" → ".join(answer["path"]))
    yield "passages", numbered.numbers(record)
    dropped = answer["dropped_citations"]
    yield "dropped", f"{plural(dropped, 'citation')} of unknown passages" if dropped else ""
    sentences = record["sentences"]
    backed = f"{sentences['verified']} of {sentences['total']} with a verified citation"
    yield "sentences", backed if sentences["total"] else ""
    for conflict in answer.get("conflicts", ()):
        yield "files disagree", "; ".join(_position(position, numbered.root) for position in conflict["positions"])
    yield "cost", _cost(answer["seconds"], usage)
    yield "notes", one_line("; ".join(usage["notes"]), 600)
    yield "judge", _judgement(judged)


def _position(position: Record, root: str) -> str:
    files = joined(f"[{citation['number']}] {location_of(citation, root)}" for citation in position["citations"])
    day = position["date"].partition("T")[0]
    return f"{day}{' ' if day else ''}“{one_line(position['text'], 120)}” in {files}"


def _cost(wall: float, usage: Record) -> str:
    parts = [f"{seconds(wall)} s"]
    if usage["calls"]:
        tokens = f"{count(usage['prompt_tokens'])} tokens read and {count(usage['output_tokens'])} written"
        parts += [plural(usage["calls"], "call"), tokens]
    named = ((usage["loads"], "model load", ""), (usage["retries"], "retry", "retries"))
    parts += [plural(number, *names) for number, *names in named if number]
    if usage["unparsed"]:
        parts.append(plural(usage["unparsed"], "unusable verdict"))
    return ", ".join(parts)


def _judgement(judged: Record | None) -> str:
    if judged is None or judged.get("verdict") == "abstained":
        return ""
    if "error" in judged:
        return f"failed: {one_line(judged['error'])}"
    why = f": {one_line(judged['why'], WHY)}" if judged["why"] else ""
    return f"{one_line(judged['verdict'], 20)}{why}"


def _decision(decision: Record, root: str) -> str:
    score = f" {share(decision['score'])}" if decision["score"] is not None else ""
    file = f" {_file(decision['source'], root)}" if decision["source"] else ""
    why = f" ({one_line(decision['why'], WHY)})" if decision["why"] else ""
    return f"{one_line(decision['kind'], 40)}{file}: {one_line(decision['verdict'], 120)}{score}{why}"


def _search(record: Record, root: str) -> str:
    """Where the relevant things stood, and what came first."""
    if "error" in record:
        return f"failed: {one_line(record['error'])}"
    ranks_of_relevant, total = ranks(record), len(record["gains"])
    at = f" at rank {joined(map(str, ranks_of_relevant[:10]))}" if ranks_of_relevant else ""
    relevant = f"{len(ranks_of_relevant)} of {total} relevant found{at}" if total else "no labels"
    locations = record.get("shown") or [_file(str(unit), root) for unit in record["units"]]
    first = "; ".join(one_line(location, 300) for location in locations[:FIRST_NAMED])
    return f"{relevant}; {seconds(record['seconds'])} s; first: {first or 'nothing'}"
